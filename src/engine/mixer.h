/* mixer.h - what happens between the tokens of a layer: one row a mixer. */
#ifndef TBTUI_ENGINE_MIXER_H
#define TBTUI_ENGINE_MIXER_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/arch.h"

struct hparams;

/* Calls of one. */
typedef enum tb_status mixer_run(struct run *run, const struct layer *l, uint32_t layer, size_t m,
				 size_t want);
typedef size_t mixer_floats(const struct hparams *hp, uint32_t layer);

struct mixer_row {
	const char *name;
	/* From work.h [m][dim], normed, to work.out: the answer for the last `want` of m
	 * tokens, which begin at the session's position; all m are remembered.  Biases and
	 * norms behind it are the caller's. */
	mixer_run *run;
	/* Floats that a layer keeps of all tokens so far, besides keys and values; NULL: none. */
	mixer_floats *state;
	/* Floats a token of work.scratch that a layer needs; NULL: none. */
	mixer_floats *scratch;
};

/* run NULL: no such layers can be run. */
extern const struct mixer_row mixers[MIX_COUNT];

/* Of what layers keep: floats[layers], and bytes of a session. */
void mixer_states(const struct hparams *hp, size_t *floats);
uint64_t mixer_state_bytes(const struct hparams *hp);

/* Mixers with files of their own, and what they need. */
mixer_run run_attention, run_mla, run_shortconv, run_delta, run_mamba;
mixer_floats attention_scratch, mla_scratch, shortconv_state, shortconv_scratch, delta_state, delta_scratch,
	mamba_state, mamba_scratch;

/* The most that any layer needs. */
size_t mixer_scratch(const struct hparams *hp);
#endif
