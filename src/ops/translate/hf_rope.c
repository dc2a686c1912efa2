/* hf_rope.c - how frequencies are stretched, as config.json says it: GGUF files have the
 * numbers that follow. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"
#include "src/ops/translate/hf_parts.h"

#define CLOSE 1e-4

static enum tb_status
factors_of(const struct hf_making *h, const char *name, float **out)
{
	const struct tensor *t = model_tensor(h->gguf, name);

	*out = NULL;
	if (!t || t->elems != h->hp.rope_dims / 2)
		return t ? tb_fail(h->err, TB_EFORMAT, "%.200s: %s has not %u numbers",
				   h->gguf->loc.path, name, h->hp.rope_dims / 2) : TB_OK;
	return hf_numbers(h, t, out);
}

/* Are these factors what llama3's rule makes of such numbers? */
static bool
is_llama3(const struct hf_making *h, const float *f, double factor, double original)
{
	const struct hparams *hp = &h->hp;
	struct rope plain = { .theta = hp->rope.theta };
	struct rope r = { .kind = ROPE_LLAMA3, .theta = hp->rope.theta, .factor = factor,
			  .low = 1, .high = 4, .original = original };

	for (uint32_t i = 0; i < hp->rope_dims / 2; i++) {
		double want = hparams_inv_freq(hp, &plain, i, 0) / hparams_inv_freq(hp, &r, i, 0);

		if (!(fabs(want - (double)f[i]) <= CLOSE * want))
			return false;
	}
	return true;
}

/* Its rule is the same in all models of the kind but for the factor and the length of
 * the context that they were first trained for. */
static cJSON *
llama3(const struct hf_making *h, const float *f)
{
	double factor = 1;
	cJSON *o;

	for (uint32_t i = 0; i < h->hp.rope_dims / 2; i++)
		factor = (double)f[i] > factor ? (double)f[i] : factor;
	for (double original = 8192; original >= 16; original = original == 8192 ? 131072
	     : original == 16384 ? 4096 : original / 2) {
		if (!is_llama3(h, f, factor, original))
			continue;
		o = json_object();
		json_set_f64(o, "factor", hf_neat((float)factor));
		json_set_f64(o, "high_freq_factor", 4);
		json_set_f64(o, "low_freq_factor", 1);
		json_set_u64(o, "original_max_position_embeddings", (uint64_t)original);
		json_set_str(o, "rope_type", "llama3");
		return o;
	}
	return NULL;
}

static void
set_list(const struct hf_making *h, cJSON *o, const char *key, const float *f)
{
	cJSON *list = json_array();

	for (uint32_t i = 0; i < h->hp.rope_dims / 2; i++)
		json_push_f64(list, hf_neat(f[i]));
	json_set(o, key, list);
}

/* A list for each length of context. */
static cJSON *
longrope(const struct hf_making *h, const float *near, const float *far)
{
	const struct rope *r = &h->hp.rope;
	double stretch = r->original > 0 ? h->hp.context / r->original : 1;
	double usual = stretch > 1 ? sqrt(1 + log(stretch) / log(r->original)) : 1;
	double magnitude = r->magnitude > 0 ? r->magnitude : 1;
	cJSON *o = json_object();

	set_list(h, o, "long_factor", far);
	set_list(h, o, "short_factor", near);
	json_set_str(o, "type", "longrope");
	json_set_str(o, "rope_type", "longrope");
	if (fabs(magnitude - usual) > CLOSE)
		json_set_f64(o, "attention_factor", hf_neat((float)magnitude));
	return o;
}

static cJSON *
linear(double factor)
{
	cJSON *o = json_object();

	json_set_f64(o, "factor", hf_neat((float)factor));
	json_set_str(o, "rope_type", "linear");
	json_set_str(o, "type", "linear");
	return o;
}

cJSON *
hf_rope_scaling(const struct hf_making *h, enum tb_status *status)
{
	float *freqs = NULL, *near = NULL, *far = NULL;
	cJSON *o = NULL;

	*status = factors_of(h, "rope_freqs.weight", &freqs);
	if (!*status)
		*status = factors_of(h, "rope_factors_short.weight", &near);
	if (!*status)
		*status = factors_of(h, "rope_factors_long.weight", &far);
	if (!*status && near && far)
		o = longrope(h, near, far);
	else if (!*status && freqs && !(o = llama3(h, freqs)))
		o = longrope(h, freqs, freqs);
	else if (!*status && h->hp.rope.kind == ROPE_LINEAR)
		o = linear(h->hp.rope.factor);
	free(freqs);
	free(near);
	free(far);
	return o;
}
