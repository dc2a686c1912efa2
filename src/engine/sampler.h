/* sampler.h - choosing the next token from logits. */
#ifndef TBTUI_ENGINE_SAMPLER_H
#define TBTUI_ENGINE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct sampler_opts {
	float temperature;	/* 0 = greedy */
	uint32_t top_k;		/* 0 = all */
	float top_p;		/* 1 = all */
	float min_p;		/* 0 = all */
	float repeat_penalty;	/* 1 = none */
	uint32_t repeat_last;	/* how many recent tokens penalties see */
	float frequency;	/* taken from a logit for each time that its token is among them … */
	float presence;		/* … and once where it is at all; 0 = nothing */
	uint64_t seed;
};
/* Where neither a person nor the model says anything; the help tells them, too. */
#define SAMPLER_TEMPERATURE 0.8
#define SAMPLER_TOP_K 40
#define SAMPLER_TOP_P 0.9
#define SAMPLER_MIN_P 0
#define SAMPLER_REPEAT_PENALTY 1.1
#define SAMPLER_DEFAULTS { .temperature = (float)SAMPLER_TEMPERATURE, .top_k = SAMPLER_TOP_K, \
			   .top_p = (float)SAMPLER_TOP_P, .min_p = (float)SAMPLER_MIN_P, \
			   .repeat_penalty = (float)SAMPLER_REPEAT_PENALTY, .repeat_last = 64, \
			   .seed = 0 }

struct sampler;
enum tb_status sampler_new(struct sampler **out, const struct sampler_opts *opts, size_t vocab,
			   struct tb_err *err) TB_MUST_USE;
void sampler_free(struct sampler *s);
/* s draws the numbers that `other` will draw next. */
void sampler_follow(struct sampler *s, const struct sampler *other);
/* Tokens that may be chosen, a bit each; those from n on may not. */
struct sampler_allowed {
	const uint64_t *bits;
	size_t n;
};
/* Order: allowed (NULL: all), penalties, top-k, softmax with temperature, min-p, top-p,
 * draw.  recent: the last tokens, oldest first. logits are not changed.  Of some that are
 * allowed one is chosen, whatever the logits. */
uint32_t sampler_pick(struct sampler *s, const float *logits, const uint32_t *recent, size_t n,
		      const struct sampler_allowed *allowed);
#endif
