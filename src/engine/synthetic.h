/* synthetic.h - a model of any shape made from a seed, in memory: for measuring
 * speed and for tests that compute the same in another way. */
#ifndef TBTUI_ENGINE_SYNTHETIC_H
#define TBTUI_ENGINE_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "src/engine/engine.h"
#include "src/quant/scheme.h"

struct hparams;
struct team;
struct weights;

struct synthetic {
	const char *config;	/* as config.json would say it; borrowed */
	size_t config_len;
	struct scheme scheme;	/* of all matrices; where it does not fit a row: BF16 */
	uint64_t seed;
};

/* The shape of TinyLlama: 1.1 thousand million parameters. */
extern const char synthetic_1b_config[];

/* Weights are random bits of a harmless size: every result is finite. */
enum tb_status engine_synthetic(struct engine **out, const struct synthetic *spec,
				const struct engine_opts *opts, struct tb_err *err) TB_MUST_USE;

/* Private to the engine: fills w, which weights_init() has seen. */
enum tb_status weights_make(struct weights *w, const struct hparams *hp,
			    const struct synthetic *spec, struct team *team,
			    struct tb_err *err) TB_MUST_USE;
#endif
