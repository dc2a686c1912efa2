/* translate_made.c - tensors that a GGUF has instead of numbers of config.json: what the
 * frequencies of positions are divided by. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/translate/translate_config.h"
#include "src/ops/translate/translate_rows.h"

#define PAIRS_MAX 4096u

/* Room for n numbers of a further tensor; NULL: no memory. */
static float *
make(struct translated_keys *out, const char *name, size_t n)
{
	float *v = tb_calloc(n, sizeof(*v));

	if (!v)
		return NULL;
	out->made[out->nmade].name = name;
	out->made[out->nmade].v = v;
	out->made[out->nmade++].n = n;
	return v;
}

/* Llama 3.1: slow turns are stretched, fast ones are not, and between them it is smooth.
 * In F32 where llama.cpp's converter computes so. */
static enum tb_status
llama3(struct translated_keys *out, const struct hf_json *c, uint32_t dim, struct tb_err *err)
{
	double base = config_number(c, "rope.rope_theta|rope_theta", 10000);
	double factor = config_number(c, "rope.factor", 8);
	double low = config_number(c, "rope.low_freq_factor", 1);
	double high = config_number(c, "rope.high_freq_factor", 4);
	double was = config_number(c, "rope.original_max_position_embeddings", 8192);
	float *v;

	if (dim < 2 || dim / 2 > PAIRS_MAX || !(base > 0) || !(factor > 0) || !(low > 0) ||
	    !(high > low) || !(was > 0))
		return tb_fail(err, TB_EFORMAT, "config.json: rope scaling llama3: its numbers cannot be");
	v = make(out, "rope_freqs.weight", dim / 2);
	for (uint32_t i = 0; v && i < dim / 2; i++) {
		float freq = 1.0f / powf((float)base, (float)(2 * i) / (float)dim);
		float wave = (float)(2 * M_PI) / freq;

		if (wave < (float)(was / high)) {
			v[i] = 1;
		} else if (wave > (float)(was / low)) {
			v[i] = (float)factor;
		} else {
			float smooth = ((float)was / wave - (float)low) / (float)(high - low);

			v[i] = 1 / ((1 - smooth) / (float)factor + smooth);
		}
	}
	return v ? TB_OK : tb_nomem(err);
}

static enum tb_status
factors(struct translated_keys *out, const char *name, const cJSON *list, size_t want,
	struct tb_err *err)
{
	size_t n = json_count(list), i = 0;
	float *v;
	double x;

	if (!n || n != want)
		return tb_fail(err, TB_EFORMAT, "config.json: %zu factors for %zu pairs that turn", n,
			       want);
	v = make(out, name, n);
	for (const cJSON *f = json_first(list); v && f; f = json_next(f)) {
		if (!json_f64(f, &x))
			return tb_fail(err, TB_EFORMAT, "config.json: a factor of positions is no number");
		v[i++] = (float)x;
	}
	return v ? TB_OK : tb_nomem(err);
}

/* Gemma 4: pairs behind the first quarter do not turn in layers that see everything. */
static enum tb_status
still_pairs(struct translated_keys *out, const struct hf_json *c, struct tb_err *err)
{
	uint32_t dim = config_u32(c, "global_head_dim|head_dim");
	double part = config_number(c, "rope.partial_rotary_factor", 1);
	uint32_t turn;
	float *v;

	if (dim < 2 || dim / 2 > PAIRS_MAX || !(part > 0 && part <= 1))
		return tb_fail(err, TB_EFORMAT, "config.json: partial_rotary_factor cannot be");
	turn = (uint32_t)(part * dim / 2);
	v = make(out, "rope_freqs.weight", dim / 2);
	for (uint32_t i = 0; v && i < dim / 2; i++)
		v[i] = i < turn ? 1.0f : 1e30f;
	return v ? TB_OK : tb_nomem(err);
}

enum tb_status
translate_made(struct translated_keys *out, const struct translate *t, struct hf_json *c,
	       struct tb_err *err)
{
	const char *type = json_str(config_find(c, "rope.rope_type|rope.type"));
	const cJSON *longs = config_find(c, "rope.long_factor");
	double dim, pairs;
	enum tb_status status;

	if (!strcmp(t->gguf, "gemma4"))
		return still_pairs(out, c, err);
	if (!config_computed(c, t, "head_dim", NAN, &dim))
		return TB_OK;
	if (!(dim >= 0 && dim <= 2.0 * PAIRS_MAX))
		return tb_fail(err, TB_EFORMAT, "config.json: head_dim cannot be %g", dim);
	if (type && !strcmp(type, "llama3"))
		return llama3(out, c, (uint32_t)dim, err);
	if (strcmp(t->gguf, "phi3") != 0 || !longs ||
	    !config_computed(c, t, "rope_dims", 1, &pairs))
		return TB_OK;
	if (!(pairs >= 0 && pairs <= dim))
		return tb_fail(err, TB_EFORMAT, "config.json: %g of %g numbers of a head cannot turn",
			       pairs, dim);
	status = factors(out, "rope_factors_long.weight", longs, (size_t)(pairs / 2), err);
	return status ? status
	     : factors(out, "rope_factors_short.weight", config_find(c, "rope.short_factor"),
		       (size_t)(pairs / 2), err);
}
