/* model_build.h - a model while it is put together. Private to src/store/model*.c. */
#ifndef TBTUI_STORE_MODEL_BUILD_H
#define TBTUI_STORE_MODEL_BUILD_H

#include "src/format/ggml_type.h"
#include "src/format/json.h"
#include "src/base/arena.h"
#include "src/store/model.h"

/* A tensor as some header lists it, with what the header's metadata say about it. */
struct raw {
	const char *name;		/* in the arena */
	struct tensor_part part;
	const char *quant_type;		/* in the arena; NULL: nothing is said */
	unsigned group;			/* 0: not said */
	struct scheme blocks;		/* scales and all are in the part; plain: they are not */
	enum origin origin;		/* whose words quant_type and group are */
	bool used;			/* it is part of a logical tensor */
	bool named;			/* the shard index says that it is in this file */
	bool draft;			/* of the small model that guesses ahead */
};

/* One module's own entry in config.json's quantization block. */
struct quant_override { const char *path; const cJSON *v; };

#define MAX_WIDTHS 16

struct build {
	struct model *m;
	struct tb_arena *arena;		/* m->names */
	size_t files_cap, problems_cap;
	struct raw *raws;		/* owned */
	size_t nraws, raws_cap;
	cJSON *config;			/* config.json; owned; NULL: none */
	const cJSON *quant;		/* its quantization block as MLX writes it, or NULL */
	struct quant_override *overrides;	/* sorted by path; owned */
	size_t noverrides;
	uint64_t width[MAX_WIDTHS];	/* row lengths that config.json lets expect */
	size_t nwidths;
	char hint[32];			/* "int4": what the model is said to be, or "" */
	const struct gguf_mixture *mixture;	/* what a GGUF file is said to be, or NULL */
	struct model_cache *cache;	/* borrowed; NULL: none */
	/* Headers whose tensors are ready, and m->files of theirs; owned by m */
	struct build_ready { struct header *h; unsigned file; } *ready;
	size_t nready, ready_cap;
};

/* Out of memory is the only way in which these fail. */
enum tb_status build_problem(struct build *b, const char *digest, struct tb_err *err,
			     const char *fmt, ...) TB_MUST_USE TB_PRINTF(4, 5);
/* Appends a file (path is taken over, also on failure) and counts it as missing. */
enum tb_status build_file(struct build *b, char *path, const char *name, struct model_file **out,
			  struct tb_err *err) TB_MUST_USE;
/* Looks at a file that has no tensors: identity, size. */
enum tb_status build_stat(struct build *b, struct model_file *f, struct tb_err *err) TB_MUST_USE;
/* Opens a file that should have tensors; when it is missing or cannot be opened, that
 * becomes a problem and *opened is false. */
enum tb_status build_open(struct build *b, struct model_file *f, struct tb_file *file,
			  bool *opened, struct tb_err *err) TB_MUST_USE;
/* What is wrong with its header (*why) becomes a problem. */
enum tb_status build_bad(struct build *b, const struct model_file *f, const struct tb_err *why,
			 struct tb_err *err) TB_MUST_USE;
/* The same of a small file that was to be read whole; one that cannot be read is marked. */
enum tb_status build_small_bad(struct build *b, const char *path, const char *digest,
			       const struct tb_err *why, struct tb_err *err) TB_MUST_USE;
/* Nothing of the model can be shown: its first problem as the error. */
enum tb_status build_nothing(const struct build *b, struct tb_err *err) TB_MUST_USE;
/* The entries of a header, of the file with that index (stays: it lives as long as the model,
 * so that names need no copies); those of a draft and of adapters,
 * whose names may be the model's own, are called "draft.NAME", "adapter.NAME",
 * "adapter2.NAME". */
enum tb_status build_raws(struct build *b, unsigned file, const struct st_header *h, bool stays,
			  struct tb_err *err) TB_MUST_USE;
/* Reads the header of a file that has tensors; what is wrong with it becomes a problem. */
enum tb_status build_weights(struct build *b, struct model_file *f, struct tb_err *err) TB_MUST_USE;

/* model_config.c: config.json's bytes, read and digested; what is wrong is a problem. */
enum tb_status build_config(struct build *b, const char *path, struct tb_err *err) TB_MUST_USE;
/* The scheme that config.json gives to the module `path` (n bytes). */
bool config_scheme(const struct build *b, const char *path, size_t n, struct scheme *out);

/* A row length that config.json lets expect. */
bool config_width(const struct build *b, uint64_t k);

/* model_scheme.c: what a packed weight and its companions are; sets scheme, origin. */
enum tb_status build_scheme(struct build *b, struct tensor *t, const struct raw *w,
			    struct tb_err *err) TB_MUST_USE;

/* model_tensors.c: raws become logical tensors. */
void build_order(struct build *b);	/* by name */
/* Orders them; of those with one name that stays which the index names, or the first. */
/* What sorts bytewise as the name does naturally, in the arena; NULL: no memory. */
const char *build_key(struct tb_arena *a, const char *name);
enum tb_status build_sort(struct build *b, struct tb_err *err) TB_MUST_USE;
struct raw *build_find(const struct build *b, const char *name);
/* The raw tensor called base[0..n) + ending, or NULL; *key is scratch. */
struct raw *build_companion(const struct build *b, struct tb_buf *key, const char *base, size_t n,
			    const char *ending);
/* Makes it a part of a logical tensor; false: there is none. */
bool build_take(struct raw *r, struct tensor_part *part);

/* model_foreign.c: does its name alone say that it is such a weight? */
bool build_foreign_codes(const struct raw *r);
/* A weight that another program quantized; *done: it is one, with
 * name, parts, shape and scheme. */
enum tb_status build_foreign(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key,
			     bool *done, struct tb_err *err) TB_MUST_USE;

enum tb_status build_tensors(struct build *b, struct tb_err *err) TB_MUST_USE;

/* model_gguf.c: what a file says of the model that it is a piece of. */
struct gguf_split {
	bool read, said;		/* its header is sound; it has the keys */
	uint64_t no, count, total;	/* no: from 0; total: tensors of all files */
	size_t ntensors;		/* its own */
};
/* The same of a file that has keys, and what they say; *split may be NULL. */
enum tb_status build_gguf(struct build *b, struct model_file *f, struct gguf_split *split,
			  struct tb_err *err) TB_MUST_USE;

/* Where a file of that name would be in a file's own folder; owned by the caller. */
char *model_beside(const struct model_loc *loc, const char *name);

/* One of them a layout. */
enum tb_status build_manifest(struct build *b, struct tb_err *err) TB_MUST_USE;
enum tb_status build_dir(struct build *b, struct tb_err *err) TB_MUST_USE;
enum tb_status build_file_alone(struct build *b, struct tb_err *err) TB_MUST_USE;
#endif
