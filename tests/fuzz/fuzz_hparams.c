/* fuzz_hparams.c - config.json as numbers of a model: what is accepted has sizes that all hold
 * together, and memory that can be told. */
#include "config.h"

#include <stdlib.h>

#include "src/engine/hparams.h"
#include "src/engine/need.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool held)
{
	if (!held)
		abort();
}

static void
look_at_layer(const struct hparams *hp, uint32_t layer)
{
	const struct layer_shape *l = &hp->layer[layer];

	must(l->kv_from <= layer);
	if (l->mixer == MIX_ATTENTION || l->mixer == MIX_MLA) {
		must(l->heads && l->kv_heads && l->heads % l->kv_heads == 0);
		must(hparams_dim(hp, layer, DIM_Q) <= HP_MAX_DIM);
	}
	for (unsigned s = 0; s < SLOT_COUNT; s++)
		must(hparams_has(hp, layer, (enum slot)s) || !hparams_needs(hp, layer, (enum slot)s));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct engine_need need;
	struct tb_err err = { 0 };
	struct hparams hp;

	if (hparams_parse(&hp, (const char *)data, size, &err)) {
		must(err.code && *err.msg && !hp.layer);
		return 0;
	}
	must(hp.layers && hp.vocab && hp.dim && hp.experts_used <= hp.experts);
	for (uint32_t i = 0; i < hp.layers; i++)
		look_at_layer(&hp, i);
	engine_need(&hp, NULL, hp.context, &need);
	must(need.work > 0);
	hparams_free(&hp);
	return 0;
}
