#include "config.h"

#include "src/engine/mixer.h"

#include "src/engine/run.h"
#include "src/engine/state.h"

static enum tb_status
run_nothing(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	(void)run, (void)l, (void)layer, (void)m, (void)want;
	return TB_OK;
}

const struct mixer_row mixers[MIX_COUNT] = {
	[MIX_ATTENTION] = { .name = "attention", .run = run_attention, .scratch = attention_scratch },
	[MIX_MLA] = { .name = "latent attention", .run = run_mla, .scratch = mla_scratch },
	[MIX_CONV] = { .name = "convolution", .run = run_shortconv, .state = shortconv_state,
		       .scratch = shortconv_scratch },
	[MIX_DELTA] = { .name = "delta rule", .run = run_delta, .state = delta_state,
			.scratch = delta_scratch },
	[MIX_MAMBA] = { .name = "state space", .run = run_mamba, .state = mamba_state,
			.scratch = mamba_scratch },
	[MIX_NONE] = { .name = "none", .run = run_nothing },
};

size_t
mixer_scratch(const struct hparams *hp)
{
	size_t most = 0;

	for (uint32_t i = 0; i < hp->layers; i++) {
		const struct mixer_row *row = &mixers[hp->layer[i].mixer];
		size_t n = row->scratch ? row->scratch(hp, i) : 0;

		most = n > most ? n : most;
	}
	return most;
}

void
mixer_states(const struct hparams *hp, size_t *floats)
{
	for (uint32_t i = 0; i < hp->layers; i++) {
		const struct mixer_row *row = &mixers[hp->layer[i].mixer];

		floats[i] = row->state ? row->state(hp, i) : 0;
	}
}

uint64_t
mixer_state_bytes(const struct hparams *hp)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < hp->layers; i++) {
		const struct mixer_row *row = &mixers[hp->layer[i].mixer];

		sum += row->state ? state_bytes(row->state(hp, i)) : 0;
	}
	return sum;
}
