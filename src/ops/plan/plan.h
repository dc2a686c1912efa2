/* plan.h - a conversion as data: what each tensor becomes, what it costs, where it
 * goes.  Built without I/O from an open model, changed row by row (totals follow at
 * once), priced on samples and executed by convert.h.
 *
 * Experts: `<prefix>.<number>.<projection>.weight` tensors are stored together, one
 * blob a layer.  Stacked: one 3-D tensor a projection; a projection has one scheme,
 * so setting one expert sets its siblings.  Mixtral's `block_sparse_moe.experts.E.w1`
 * (w3, w2) become `mlp.experts` gate_proj (up_proj, down_proj) and its router
 * `block_sparse_moe.gate` becomes `mlp.gate`: readers then need one way only. */
#ifndef TBTUI_OPS_PLAN_H
#define TBTUI_OPS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/quant/codec.h"
#include "src/quant/scheme.h"
#include "src/ops/translate/translate.h"
#include "src/store/model.h"

struct quant_feedback;

/* id, word, what follows its colon, what it means.  Those that need something behind the
 * colon come last. */
#define PLAN_POLICY_LIST(X) \
	X(PLAN_OLLAMA, "ollama", "", "what Ollama's program would choose") \
	X(PLAN_UNIFORM, "uniform", "", "every floating matrix that fits") \
	X(PLAN_MLX, "mlx", "[:MIX]", "what mlx_lm.convert would choose") \
	X(PLAN_KEEP, "keep", "", "everything as it is") \
	X(PLAN_LLAMA, "llama", ":TYPE", "what llama-quantize would choose") \
	X(PLAN_BUDGET, "budget", ":SIZE", "least error in so many bytes, or NUMBERbpw") \
	X(PLAN_LOSS, "loss", ":ERROR", "least size with no more error than, say, 3%")
#define X(id, name, arg, help) id,
enum plan_policy { PLAN_POLICY_LIST(X) PLAN_POLICY_COUNT };
#undef X
const char *plan_policy_name(enum plan_policy p);
bool plan_policy_complete(enum plan_policy p);	/* needs nothing behind its name */
bool plan_policy_measures(enum plan_policy p);	/* chooses by errors: see plan_choose() */

/* How far a choice by errors may go; one of them, the others 0. */
struct plan_limit {
	uint64_t bytes;			/* of tensor data */
	double bits;			/* a weight */
	double error;			/* struct plan_total.error */
};

/* What is written: a model of an Ollama store, a directory (HF/MLX), one file,
 * a GGUF. */
enum plan_dest { PLAN_TO_STORE, PLAN_TO_DIR, PLAN_TO_FILE, PLAN_TO_GGUF };

/* How experts are laid out.  The default: stacked in stores; in directories stacked by MLX's
 * name where they are codes, each for itself where a store had stacked them, else as they
 * are, as in files. */
#define PLAN_EXPERTS_LIST(X) \
	X(PLAN_EXPERTS_DEFAULT, "default") \
	X(PLAN_EXPERTS_KEEP, "keep") \
	X(PLAN_EXPERTS_STACKED, "stacked") \
	X(PLAN_EXPERTS_EACH, "per-expert") \
	X(PLAN_EXPERTS_PROJECTION, "per-projection")	/* stacked, one blob each */ \
	X(PLAN_EXPERTS_SWITCH, "switch-mlp")	/* stacked, by MLX's name also in a store */
#define X(id, name) id,
enum plan_experts { PLAN_EXPERTS_LIST(X) PLAN_EXPERTS_COUNT };
#undef X
const char *plan_experts_name(enum plan_experts e);
bool plan_experts_stack(enum plan_experts e);	/* are all of a projection one tensor? */
/* Shared experts, in a store: a blob of their own where experts have one each, else apart. */
#define PLAN_SHARED_LIST(X) \
	X(PLAN_SHARED_DEFAULT, "default") \
	X(PLAN_SHARED_PACKED, "packed") \
	X(PLAN_SHARED_APART, "apart")
#define X(id, name) id,
enum plan_shared { PLAN_SHARED_LIST(X) PLAN_SHARED_COUNT };
#undef X
const char *plan_shared_name(enum plan_shared s);
bool plan_shared_parse(const char *s, enum plan_shared *out);
bool plan_experts_parse(const char *s, enum plan_experts *out);

/* Why a row has its target: id, what people read. */
#define PLAN_WHY_LIST(X) \
	X(PLAN_ASKED, "as asked") \
	X(PLAN_RULE, "a rule") \
	X(PLAN_EDITED, "set by hand") \
	X(PLAN_HEAD, "output head: 8 bits") \
	X(PLAN_SENSITIVE, "sensitive: 8 bits") \
	X(PLAN_ARCH, "the architecture's own rule") \
	X(PLAN_NAME, "kept: norm, embedding or bias") \
	X(PLAN_RANK, "kept: not a matrix") \
	X(PLAN_SMALL, "kept: under 1024 elements") \
	X(PLAN_GATE, "kept: routing gate") \
	X(PLAN_VISION, "kept: vision") \
	X(PLAN_ALIGN, "kept: rows are no multiple of the group") \
	X(PLAN_DTYPE, "kept: not BF16, F16 or F32") \
	X(PLAN_QUANTIZED, "kept: quantized already") \
	X(PLAN_REPACKED, "repacked: the same codes, lossless") \
	X(PLAN_DECODED, "decoded: no scheme has its groups") \
	X(PLAN_HOME, "as the model had it: holds all of it") \
	X(PLAN_VECTOR, "GGUF: vectors, norms and routers are F32") \
	X(PLAN_LEFT_OUT, "left out: GGUF files have none") \
	X(PLAN_BESIDE, "left out: adapter, projector or draft") \
	X(PLAN_KEPT, "kept") \
	X(PLAN_MIX, "the mix: this kind of tensor") \
	X(PLAN_INSTEAD, "instead: rows are no multiple of the block") \
	X(PLAN_CHOSEN, "chosen by its error") \
	X(PLAN_RECIPE, "the recipe")
#define X(id, text) id,
enum plan_why { PLAN_WHY_LIST(X) PLAN_WHY_COUNT };
#undef X
const char *plan_why_text(enum plan_why w);
bool plan_left_out(enum plan_why w);

/* A target: a scheme, or "as it is". */
struct plan_target {
	bool keep;
	struct scheme scheme;		/* unless keep */
};
/* "keep" or what scheme_parse() takes. */
enum tb_status plan_target_parse(const char *s, struct plan_target *out, struct tb_err *err)
	TB_MUST_USE;

/* A glob on names and what becomes of them. */
struct plan_rule { char *pattern; struct plan_target target; };	/* pattern: owned */
/* "PATTERN=SCHEME"; the caller frees out->pattern, NULL where this fails. */
enum tb_status plan_rule_parse(const char *text, struct plan_rule *out, struct tb_err *err)
	TB_MUST_USE;

/* What is taken care of while a tensor is encoded.  Borrowed from whoever asks for a plan,
 * as long as it lives; threads ask at the same time. */
struct plan_care {
	/* How much each column of a tensor counts; matrix: 0, or which one of a stack.
	 * NULL, as the function may be: all count alike. */
	const float *(*weights)(const void *arg, const struct tensor *t, uint64_t matrix);
	const void *arg;
	unsigned search;		/* for scales that are better than the usual; 0: none */
	/* What an error in a column means for those behind it, until done() with it; *out NULL:
	 * nothing is known.  The function NULL: nobody asks. */
	enum tb_status (*feedback)(const void *arg, const struct tensor *t, uint64_t matrix,
				   const struct quant_feedback **out, struct tb_err *err);
	void (*done)(const void *arg, const struct quant_feedback *f);
	uint64_t key;			/* equal numbers: all that is the same */
};

struct plan_recipe;

struct plan_request {
	const struct model *model;	/* borrowed as long as the plan lives, as is view */
	const struct hf_view *view;	/* that `model` is of; NULL: it is as it lies */
	struct plan_target target;
	enum plan_policy policy;
	unsigned mix;			/* of PLAN_MLX and PLAN_LLAMA: set by plan_ask() */
	struct plan_limit limit;	/* of those that measure */
	const struct plan_recipe *recipe;	/* its rules and tensors count before `rules`;
						 * NULL: none; borrowed for the call */
	enum flavour flavour;
	enum plan_dest dest;
	enum plan_experts experts;
	enum plan_shared shared;
	uint64_t shard_max;		/* bytes of tensors in a file of a directory or a GGUF;
					 * 0: 5 GB, one GGUF */
	/* "PATTERN=SCHEME"; borrowed for the call; the last match wins. */
	const char *const *rules;
	size_t nrules;
	bool requantize;		/* touch tensors that are quantized already */
	struct plan_care care;
};

/* What -q and --policy say, either NULL: sets target, policy, mix and limit.  TB_EUSAGE
 * says what would be understood. */
enum tb_status plan_ask(struct plan_request *req, const char *quant, const char *policy,
			struct tb_err *err) TB_MUST_USE;
/* The other way: "mlx:mixed_3_6", "llama:Q4_K_M", "budget:4.5bpw". */
#define PLAN_POLICY_MAX 40
const char *plan_policy_text(enum plan_policy p, unsigned mix, const struct plan_limit *limit,
			     char out[PLAN_POLICY_MAX]);
/* All that --policy takes, for completion and help: the i-th, NULL behind the last. */
const char *plan_policy_word(size_t i, char out[PLAN_POLICY_MAX]);

struct plan_row {			/* one logical tensor of the source */
	const struct tensor *src;	/* borrowed from the model */
	struct scheme target;		/* equal to src->scheme: bytes are copied */
	enum dtype dtype;		/* of scales and biases, where the target has them of
					 * the numbers' */
	bool repack;			/* blocks' codes are taken as they are */
	enum plan_why why;
	uint64_t before, after;		/* bytes of data */
	double error;			/* relative RMS on a sample; < 0 = not known */
	double loss;			/* its square, weighted by importance where that is
					 * known; < 0 = not known */
	size_t blob;			/* index into plan.blobs */
	size_t stack;			/* private: expert tensors that share a scheme */
};

struct plan_blob {			/* what is stored together */
	char *name;			/* a tensor's name or an expert group's prefix; owned */
	size_t tensors;			/* logical tensors in it */
	uint64_t bytes;			/* of data */
};

struct plan_total {
	uint64_t before, after;		/* bytes of data */
	size_t tensors, changed;
	double bits;			/* a weight, over all */
	double worst;			/* error of the worst sampled row; < 0 = none yet */
	double error;			/* of the whole: root of the mean of the rows' losses,
					 * by elements; < 0 = some row has none yet */
};

/* Whatever changes a byte of the result must be in work_key() (src/ops/convert/work_key.c), too: by
 * it a conversion that was stopped finds what is finished. */
struct plan {
	const struct model *model;	/* borrowed */
	const struct hf_view *view;	/* borrowed; or NULL */
	enum flavour flavour;
	enum plan_dest dest;
	enum plan_experts experts;	/* never DEFAULT */
	enum plan_shared shared;
	uint64_t shard_max;		/* 0: the usual of its destination */
	struct translate *translate;	/* to GGUF; else NULL; owned */
	bool requantize;
	struct plan_care care;
	char quant[SCHEME_NAME_MAX];	/* what was asked for: "int4", "keep", "Q4_K_M" */
	enum plan_policy policy;
	unsigned mix;
	struct plan_limit limit;
	struct plan_row *rows;		/* as model.tensors; owned */
	size_t nrows;
	struct plan_blob *blobs;	/* in the order in which they are written; owned */
	size_t nblobs;
	struct plan_total total;
	struct plan_rule *rules;	/* private; owned */
	size_t nrules;
	struct plan_parts *parts;	/* what is written; owned */
};

enum tb_status plan_new(struct plan **out, const struct plan_request *req, struct tb_err *err)
	TB_MUST_USE;
void plan_free(struct plan *p);
/* The same again, of the same model, with all that was changed and measured. */
enum tb_status plan_copy(struct plan **out, const struct plan *p, struct tb_err *err) TB_MUST_USE;

/* The next rule, from *next on, that no tensor can be stored by, though *named have such a
 * name; NULL: there is none. */
const struct plan_rule *plan_idle_rule(const struct plan *p, size_t *next, size_t *named);

/* Sets rows by index (all or none are set); keep gives each its source's scheme.
 * TB_EUSAGE names the first tensor that cannot be stored so. */
enum tb_status plan_set(struct plan *p, const size_t *rows, size_t n,
			const struct plan_target *target, struct tb_err *err) TB_MUST_USE;
/* Another destination or expert layout; schemes stay. */
enum tb_status plan_set_layout(struct plan *p, enum plan_dest dest, enum plan_experts experts,
			       struct tb_err *err) TB_MUST_USE;

/* Errors on samples.  Pricing reads only the model, so it may run on a worker
 * while the plan is edited: take the rows, convert_price() them, put the results back (those
 * whose target has changed meanwhile are dropped). */
struct plan_sample {
	size_t row;
	struct scheme target;
	unsigned share;			/* rows whose samples are looked at together; a few
					 * stretches of each are enough */
	double error, loss;		/* < 0 until priced */
};
/* The rows without an error figure; caller frees *out. */
enum tb_status plan_unpriced(const struct plan *p, struct plan_sample **out, size_t *n,
			     struct tb_err *err) TB_MUST_USE;
void plan_priced(struct plan *p, const struct plan_sample *samples, size_t n);

/* A choice by errors: what rows may become that nobody has set (by a rule, by hand, in a
 * recipe), which is priced like the rest, but once for all limits; then the choice, which
 * reads nothing, so that it may follow each key.  Tensors that are written as one share a
 * scheme.  The bytes are within the limit, or TB_EUSAGE says what would be possible.
 * Until somebody chooses, a plan of such a policy is an estimate. */
enum tb_status plan_candidates(const struct plan *p, struct plan_sample **out, size_t *n,
			       struct tb_err *err) TB_MUST_USE;
enum tb_status plan_choose(struct plan *p, const struct plan_sample *samples, size_t n,
			   const struct plan_limit *limit, struct tb_err *err) TB_MUST_USE;

/* What is written: tensors put together from pieces of the source's, in blobs. */
struct plan_piece {
	size_t row;
	uint64_t first, elems;		/* of the row's elements; of those of its change's walk,
					 * from 0 on, if that moves them */
	size_t change;			/* into changes; 0: it stays as it is */
};

struct plan_out {
	char *name;			/* owned */
	size_t piece, npieces;		/* into pieces: one after the other */
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS], elems;	/* logical */
	size_t row;			/* its first piece's: scheme, dtypes */
	bool changed;			/* something happens to a piece of it on its way */
	size_t blob;
};

struct plan_parts {
	struct plan_piece *pieces;
	size_t npieces;
	struct change *changes;		/* the first is none; NULL: there are none */
	size_t nchanges;
	struct plan_out *outs;		/* in the order in which they are written */
	size_t nouts;
};

/* general.file_type of a GGUF: the mix asked for, or what most of it is. */
uint32_t plan_file_type(const struct plan *p);

/* Does a directory call its parts as gpt-oss does, whose experts' names end in no .weight? */
bool plan_gpt_oss(const struct plan *p, const char *name, const struct scheme *s);

/* Is it one tensor of the source as it is?  Then its parts are copied whatever they are. */
bool plan_out_whole(const struct plan *p, const struct plan_out *o);

/* Bytes of a tensor's parts as `s`; the companions' are 0 where there are none. */
struct plan_bytes { uint64_t codes, scales, biases; };
struct plan_bytes plan_bytes(const struct scheme *s, enum dtype source, uint64_t elems);

/* ---- recipes: how a plan came about, as a file ---- */

struct plan_recipe {
	char *source;			/* the model it was made for, "" if none is named; these
					 * are owned, and NULL where the file says nothing: */
	char *scheme, *policy, *flavour, *experts, *shared;
	char **rules;			/* "PATTERN=SCHEME" */
	size_t nrules;
	struct plan_fixed { char *name; struct plan_target target; } *tensors;	/* by name */
	size_t ntensors;
	bool requantize;
};
/* A file that plan_recipe_save() wrote, or a person.  What is wrong in it is named by its
 * key.  The caller frees *out. */
enum tb_status plan_recipe_load(struct plan_recipe **out, const char *path, struct tb_err *err)
	TB_MUST_USE;
void plan_recipe_free(struct plan_recipe *r);	/* NULL is fine */
/* Fills what plan_ask() would, flavour, experts and the like from what it says, and itself. */
enum tb_status plan_recipe_ask(const struct plan_recipe *r, struct plan_request *req,
			       struct tb_err *err) TB_MUST_USE;
/* All that has been decided, so that the same model becomes the same again.  The file
 * must not be there yet. */
enum tb_status plan_recipe_save(const struct plan *p, const char *path, struct tb_err *err)
	TB_MUST_USE;
#endif
