/* need.h - memory that a session takes besides the weights, before there is one. */
#ifndef TBTUI_ENGINE_NEED_H
#define TBTUI_ENGINE_NEED_H

#include <stdint.h>

struct engine_opts;
struct hparams;

struct engine_need {
	uint64_t kv;		/* keys, values and angles of `context` positions,
				 * and the states of layers that have none */
	uint64_t work;		/* activations, scores and logits of a long prompt */
};

/* opts say how many threads there are, and in what keys and values are kept. */
void engine_need(const struct hparams *hp, const struct engine_opts *opts, uint32_t context,
		 struct engine_need *out);
#endif
