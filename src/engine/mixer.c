#include "config.h"

#include "src/engine/mixer.h"

#include "src/engine/run.h"

const struct mixer_row mixers[MIX_COUNT] = {
	[MIX_ATTENTION] = { .name = "attention", .run = run_attention },
	[MIX_MLA] = { .name = "latent attention", .run = run_mla, .scratch = mla_scratch },
	[MIX_CONV] = { .name = "convolution" },
	[MIX_DELTA] = { .name = "delta rule" },
	[MIX_MAMBA] = { .name = "state space" },
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

enum tb_status
run_nothing(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	(void)run, (void)l, (void)layer, (void)m, (void)want;
	return TB_OK;
}
