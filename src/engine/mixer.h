/* mixer.h - what happens between the tokens of a layer: one row a mixer. */
#ifndef TBTUI_ENGINE_MIXER_H
#define TBTUI_ENGINE_MIXER_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/arch.h"

struct hparams;

struct mixer_row {
	const char *name;
	/* From work.h [m][dim], normed, to work.out: the answer for the last `want` of m
	 * tokens, which begin at the session's position; all m are remembered.  Biases and
	 * norms behind it are the caller's. */
	enum tb_status (*run)(struct run *run, const struct layer *l, uint32_t layer, size_t m,
			      size_t want);
	/* Floats that a layer keeps of all tokens so far, besides keys and values; NULL: none. */
	size_t (*state)(const struct hparams *hp, uint32_t layer);
	/* Floats a token of work.scratch that a layer needs; NULL: none. */
	size_t (*scratch)(const struct hparams *hp, uint32_t layer);
};

/* run NULL: no such layers can be run. */
extern const struct mixer_row mixers[MIX_COUNT];

/* The most that any layer needs. */
size_t mixer_scratch(const struct hparams *hp);
#endif
