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
#include "src/store/tensor_name.h"

struct model;
struct model_shape;

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
#endif
