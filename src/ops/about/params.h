/* params.h - what a model's parameters are spent on, and how many work on a token.
 *
 * Counts are those of unpacked weights: scales and biases of quantized tensors are
 * bytes, not parameters. */
#ifndef TBTUI_OPS_PARAMS_H
#define TBTUI_OPS_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/quant/scheme.h"

struct model;
struct model_shape;

/* id, key in --json, words */
#define PARAM_LIST(X) \
	X(PARAM_EMBED, "embedding", "Embedding") \
	X(PARAM_ATTENTION, "attention", "Attention") \
	X(PARAM_FFN, "ffn", "Feed-forward") \
	X(PARAM_ROUTER, "router", "Router") \
	X(PARAM_EXPERTS, "experts", "Experts") \
	X(PARAM_SHARED, "shared_experts", "Shared experts") \
	X(PARAM_NORM, "norms", "Norms") \
	X(PARAM_HEAD, "head", "Output head") \
	X(PARAM_MEDIA, "media", "Vision, audio") \
	X(PARAM_OTHER, "other", "Other") \
	X(PARAM_DRAFT, "draft", "Draft model")	/* not in any sum */
#define X(id, key, words) id,
enum param_group { PARAM_LIST(X) PARAM_COUNT };
#undef X
const char *param_key(enum param_group g);
const char *param_words(enum param_group g);
/* Where a tensor belongs, by its name in any of the usual conventions; a draft's is in
 * a group of its own whatever its name. */
enum param_group param_group(const char *tensor);

struct param_sum {
	uint64_t tensors, params, bytes;
	uint64_t active;	/* parameters that work on one token */
	uint64_t read;		/* bytes that one token reads */
};

#define PARAM_SCHEMES 64

struct params {
	struct param_sum group[PARAM_COUNT], total;
	struct param_scheme { struct scheme scheme; struct param_sum sum; } scheme[PARAM_SCHEMES];
	size_t nschemes;	/* largest first */
	bool tied;		/* the embedding is the output head */
	uint64_t experts, experts_used;		/* 0: dense; used 0: nobody says how many */
};

void params_count(const struct model *m, const struct model_shape *s, struct params *out);
#endif
