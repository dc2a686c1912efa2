/* shape.h - the numbers that a model's sizes follow from, whoever has them: what the
 * engine read of a model that it can run, else config.json or GGUF as they stand. */
#ifndef TBTUI_OPS_SHAPE_H
#define TBTUI_OPS_SHAPE_H

#include <stdint.h>

#include "src/base/err.h"

struct hparams;
struct model;

/* 0: nobody says so. */
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
#endif
