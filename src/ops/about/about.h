/* about.h - how large a model is: its shape, what its parameters are spent on, what running
 * it takes. */
#ifndef TBTUI_OPS_ABOUT_H
#define TBTUI_OPS_ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/engine.h"
#include "src/quant/scheme.h"
#include "src/store/tensor_name.h"

struct hparams;
struct model;

/* The numbers that a model's sizes follow from, whoever has them: what the engine read of a
 * model that it can run, else config.json or GGUF as they stand.  0: nobody says so. */
struct model_shape {
	uint64_t layers, dim, heads, kv_heads, head_dim, context;
	uint64_t experts, experts_used;
	uint64_t kv_width;	/* of keys and values of a position, all layers together */
	struct hparams *hp;	/* the engine's; owned; NULL: it does not run the model */
};

/* Fails only when memory runs out: what is not said is 0.  model_shape_free() it. */
enum tb_status model_shape(const struct model *m, struct model_shape *out, struct tb_err *err)
	TB_MUST_USE;
void model_shape_free(struct model_shape *s);

/* What parameters are spent on, and how many work on a token.  Counts are those of unpacked
 * weights: scales and biases of quantized tensors are bytes, not parameters. */
struct param_sum {
	uint64_t tensors, params, bytes;
	uint64_t active;	/* parameters that work on one token */
	uint64_t read;		/* bytes that one token reads */
};

#define PARAM_SCHEMES 64

struct params {
	struct param_sum group[TNAME_ROLES], total;	/* the draft is in no sum */
	struct param_scheme { struct scheme scheme; struct param_sum sum; } scheme[PARAM_SCHEMES];
	size_t nschemes;	/* largest first */
	bool tied;		/* the embedding is the output head */
	uint64_t experts, experts_used;		/* 0: dense; used 0: nobody says how many */
};

void params_count(const struct model *m, const struct model_shape *s, struct params *out);

/* What running it takes: weights, keys and values, room to work. */
#define MEMORY_ROWS 5

struct memory_row {
	uint64_t context;	/* tokens */
	uint64_t kv[KV_TYPES];	/* keys and values, by what they are kept as */
	uint64_t total;		/* weights, keys and values in F16, and work */
};

struct memory {
	uint64_t weights;	/* bytes of the tensors: mapped, shared with the page cache */
	uint64_t token;		/* of these, what one token reads */
	uint64_t work;		/* activations while a prompt is read; 0: not known */
	struct memory_row row[MEMORY_ROWS];
	size_t n;		/* 0: sizes of keys and values are not known, see why */
	const char *why;	/* "" or a sentence; static */
	bool runs;		/* these are the engine's own sizes */
	uint64_t machine, available;	/* bytes of this machine; 0: not known */
};

/* Bytes of this machine, or what a container leaves of it; 0: not known. */
void memory_machine(uint64_t *total, uint64_t *available);
/* Bytes a second that so many threads read together, measured now: a tenth of a second, in a piece
 * of memory of its own.  0: there is too little of that. */
enum tb_status memory_speed(unsigned threads, double *out, struct tb_err *err) TB_MUST_USE;
void memory_needed(const struct model_shape *s, const struct params *p, unsigned threads,
		   struct memory *out);
#endif
