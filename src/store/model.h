/* model.h - a model on the disk, whatever its layout: files and logical tensors.
 *
 * A logical tensor is what a person means by one: a quantized weight with its
 * scales, biases and global scale is one, with the shape it has unpacked. */
#ifndef TBTUI_STORE_MODEL_H
#define TBTUI_STORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/sha256.h"
#include "src/quant/scheme.h"
#include "src/store/kind.h"

/* Where a model is, before it is opened: what a walk over a store yields. */
struct model_loc {
	enum model_kind kind;
	char *name;		/* how people call it: "qwen3:8b", or the directory's name; owned */
	char *path;		/* manifest, directory or file; owned */
	char *root;		/* store root it was found under; owned; "" if given as a path */
	int64_t mtime_ns;	/* of the manifest, config.json or file */
};
/* After a failure *out is empty, as model_loc_free() leaves it. */
enum tb_status model_loc_copy(struct model_loc *out, const struct model_loc *in,
			      struct tb_err *err) TB_MUST_USE;
void model_loc_free(struct model_loc *loc);

/* A file that belongs to the model: manifest first (Ollama), then as listed. */
struct model_file {
	char *path;			/* owned */
	const char *name;		/* layer name or file name; the model's; may be NULL */
	enum media media;		/* MEDIA_UNKNOWN + media_type for the rest */
	const char *media_type;		/* the model's; NULL for directories */
	char digest[TB_DIGEST_MAX];	/* SHA-256; "" when the layout knows none */
	uint64_t want_size;		/* as the manifest states it */
	struct tb_ident id;		/* size 0 and ino 0: missing */
	bool missing;
	bool unread;			/* it is there, or may be, and cannot be opened */
	bool outside;			/* a link that leads out of its store: not followed */
	bool is_manifest;
	char *text;			/* of one that was made, and is on no disk: all of it;
					 * owned; else NULL */
	char *from;			/* it lies far away, where it is called so; `path` is a mirror
					 * of it; owned; NULL: it lies here */
};
/* What people are shown as its place. */
const char *model_file_place(const struct model_file *f);
/* A small file as a whole; the caller frees *out. */
enum tb_status model_file_read(const struct model_file *f, size_t max, char **out, size_t *len,
			       struct tb_err *err) TB_MUST_USE;

struct tensor_part {
	unsigned file;			/* index into model.files */
	enum dtype dtype;
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS];	/* as stored (packed; blocks of ggml: their bytes) */
	uint64_t off, len;		/* bytes in that file; len may be 0 for an empty tensor */
};

/* Where scheme, bits and group came from, best first. */
#define ORIGIN_LIST(X) \
	X(ORIGIN_NONE, "plain")			/* not quantized */ \
	X(ORIGIN_TENSOR_META, "tensor metadata") \
	X(ORIGIN_BLOB_META, "blob metadata") \
	X(ORIGIN_CONFIG, "config.json") \
	X(ORIGIN_SHAPES, "shapes") \
	X(ORIGIN_UNKNOWN, "unknown")		/* has scales, but nothing fits */ \
	X(ORIGIN_TYPE, "tensor type")		/* GGUF: nothing to find out */
#define X(id, name) id,
enum origin { ORIGIN_LIST(X) };
#undef X
const char *origin_name(enum origin o);

struct tensor {
	const char *name;		/* e.g. "model.layers.0.mlp.up_proj.weight"; owned by the model */
	struct scheme scheme;
	enum origin origin;
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS];	/* logical: unpacked */
	uint64_t elems;			/* product of dim */
	uint64_t bytes;			/* all parts together */
	struct tensor_part weight;
	/* Companions: present when has_*.  Of a foreign scheme `bias` are the zero points,
	 * as codes; order is the group of each column, where that is not its place. */
	struct tensor_part scale, bias, global, order;
	bool has_scale, has_bias, has_global, has_order;
	bool global_inverse;		/* stored as its reciprocal: divide (compressed-tensors) */
	bool draft;			/* of the small model that guesses ahead of this one */
	enum dtype home;		/* as what its numbers go elsewhere, where nobody asks for
					 * more: of blocks what they are decoded to; else its own,
					 * or a smaller one that holds all of them */
};

/* What its bytes are, as a column says it: "BF16", "U32", "Q4_K". */
const char *tensor_dtype(const struct tensor *t);

/* An architecture as people read it, whoever wrote it down: "LlamaForCausalLM", "llama"
 * and "Llama" are llama; "Qwen3MoeForCausalLM" and "qwen3_moe" are qwen3moe. */
#define MODEL_FAMILY_MAX 64
const char *model_family(const char *arch, char out[MODEL_FAMILY_MAX]);

struct model {
	struct model_loc loc;
	char *arch;			/* config.json architectures[0], else model_type; GGUF
					 * general.architecture; else ""; owned */
	char *model_type;		/* owned, "" if none */
	struct model_file *files;	/* owned */
	size_t nfiles;
	struct tensor *tensors;		/* sorted by natural order of names; owned */
	size_t ntensors;
	uint64_t params;		/* elements of all weights (scales, biases not counted) */
	uint64_t draft_params;		/* those of draft tensors, which are not in params */
	uint64_t bytes;			/* of all distinct files as they are */
	char scheme[48];		/* summary: "BF16", "Q4_K/Q6_K" (by bytes, at most two) */
	/* What could not be read or believed (a damaged blob does not hide the rest):
	 * one sentence each; owned. */
	struct model_problem {
		char *message;
		char digest[TB_DIGEST_MAX];
		bool absent;		/* a file is not there, or cannot be opened: its
					 * `missing` or `unread` says so, too */
		bool index;		/* model.safetensors.index.json says otherwise */
		bool opaque;		/* how a tensor is packed is not known, its bytes are there */
	} *problems;
	size_t nproblems;
	char *remark;			/* what is odd and harms nothing; owned; NULL: nothing */
	char draft_prefix[64];		/* how names of a draft's tensors start; "": none has */
	struct tb_arena names;		/* private, as is this: */
	void *held;
	size_t nheld;
};

/* Reads manifests and headers, never tensor data.  Succeeds with problems[] when
 * parts are damaged or missing; fails when there is nothing to show. */
enum tb_status model_open(struct model **out, const struct model_loc *loc, struct tb_err *err)
	TB_MUST_USE;
void model_free(struct model *m);
/* The small model that guesses ahead of m and comes with it, as a model of its own with names of
 * its own; TB_ENOENT: there is none.  The caller frees it. */
enum tb_status model_draft(struct model **out, const struct model *m, struct tb_err *err)
	TB_MUST_USE;
/* For opening many models that share files: what their headers say is kept and read once.
 * Any thread; a cache is for some seconds, since it does not look whether files change. */
struct model_cache;
struct model_cache *model_cache_new(void);		/* NULL: no memory */
void model_cache_free(struct model_cache *c);		/* NULL is fine */
enum tb_status model_open_cached(struct model **out, const struct model_loc *loc,
				 struct model_cache *cache, struct tb_err *err) TB_MUST_USE;

bool model_has_keys(const struct model *m);	/* see kind.h */
/* The format that a file of the model should have; NULL: it has no tensors. */
const struct format *model_file_format(const struct model *m, const struct model_file *f);
const struct tensor *model_tensor(const struct model *m, const char *name);
/* Where a part of the model could not be read, says so in *err, which says that `tensor`
 * (a name, as far as known) is not there or not as it should be.  Returns its code. */
enum tb_status model_blame(const struct model *m, const char *tensor, struct tb_err *err);
/* The first of a foreign scheme (scheme_foreign()), or NULL. */
const struct tensor *model_foreign(const struct model *m);

/* A named small file of the model (config.json, tokenizer.json, …) whatever the
 * layout, of tensors in a file alone one in its folder; TB_ENOENT if it has none.  Caller frees *out. */
enum tb_status model_read(const struct model *m, const char *name, size_t max, char **out,
			  size_t *len, struct tb_err *err) TB_MUST_USE;
/* The layer of a media kind (template, system, params, license), the i-th of them. */
enum tb_status model_read_layer(const struct model *m, enum media kind, unsigned i, size_t max,
				char **out, size_t *len, struct tb_err *err) TB_MUST_USE;
#endif
