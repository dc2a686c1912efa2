/* hf_back.c - a GGUF of an architecture that the engine has no row of: what it goes back to,
 * and the numbers that moves of rows need. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/gguf_array.h"
#include "src/ops/translate/hf_parts.h"
#include "src/ops/translate/translate_rows.h"

#define MANTISSA 9007199254740992.0	/* what a double counts to without gaps */
#define NUMBERS_MAX 65536u		/* one a layer */

/* Everybody may make a whole number of it. */
static enum tb_status
sound(const struct hf_making *h, const char *name, double x)
{
	if (fabs(x) <= MANTISSA)
		return TB_OK;
	return tb_fail(h->err, TB_EFORMAT, "key %s: %g cannot be such a number", name, x);
}

enum tb_status
hf_key_numbers(const struct hf_making *h, const char *key, double **out, size_t *n)
{
	char name[160];
	const struct gguf_kv *kv;
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status;
	bool ok = true;

	*out = NULL;
	*n = 0;
	snprintf(name, sizeof(name), "%.60s.%.90s", h->gguf->arch, key);
	kv = gguf_find(&h->mm.g, name);
	if (!kv || (kv->type == GGUF_ARRAY && kv->count > NUMBERS_MAX))
		return TB_OK;
	*out = tb_calloc(kv->type == GGUF_ARRAY ? kv->count + 1 : 1, sizeof(**out));
	if (!*out)
		return tb_nomem(h->err);
	if (kv->type != GGUF_ARRAY) {
		*n = gguf_f64(kv, *out);
		return *n ? sound(h, name, **out) : TB_OK;
	}
	status = gguf_array_open(&a, kv, &h->mm.file, h->err);
	if (!status) {
		while (ok && gguf_array_next(a, &item))
			ok = gguf_number_f64(kv->elem, item.bits, &(*out)[(*n)++]);
		status = gguf_array_close(a);
	}
	if (!ok)
		*n = 0;
	for (size_t i = 0; i < *n && !status; i++)
		status = sound(h, name, (*out)[i]);
	return status;
}

/* The largest, where there is one a layer. */
static enum tb_status
key_u32(const struct hf_making *h, const char *key, uint32_t *out)
{
	double *x, most = 0;
	size_t n;
	enum tb_status status = hf_key_numbers(h, key, &x, &n);

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	*out = most <= UINT32_MAX ? (uint32_t)most : 0;
	free(x);
	return status;
}

/* "a b=2": is a there, and b that? */
static bool
has_signs(const struct hf_making *h, const char *signs)
{
	char key[160];
	double want, is;

	for (; signs && *signs; signs += strcspn(signs, " "), signs += *signs == ' ') {
		size_t n = strcspn(signs, " "), len = strcspn(signs, "= ");

		snprintf(key, sizeof(key), "%.60s.%.*s", h->gguf->arch, (int)len, signs);
		if (!gguf_find(&h->mm.g, key))
			return false;
		want = len < n ? strtod(signs + len + 1, NULL) : 0;
		if (len < n && (!gguf_f64(gguf_find(&h->mm.g, key), &is) || is < want || is > want))
			return false;
	}
	return true;
}

static enum tb_status
read_numbers(struct hf_making *h)
{
	struct translate *t = &h->t;
	uint32_t blocks, turn, key, value, inner;
	const struct { const char *key; uint32_t *to; } numbers[] = {
		{ "block_count", &blocks }, { "nextn_predict_layers", &t->mtp },
		{ "attention.head_count", &t->heads }, { "attention.head_count_kv", &t->kv_heads },
		{ "rope.dimension_count", &turn }, { "attention.key_length_mla", &key },
		{ "attention.value_length_mla", &value }, { "ssm.group_count", &t->groups },
		{ "ssm.time_step_rank", &t->v_heads }, { "ssm.state_size", &t->k_dim },
		{ "ssm.inner_size", &inner }, { "context_length", &h->hp.context },
	};
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !status; i++)
		status = key_u32(h, numbers[i].key, numbers[i].to);
	if (status)
		return status;
	if (!blocks || blocks <= t->mtp || blocks > NUMBERS_MAX)
		return tb_fail(h->err, TB_EFORMAT, "%.200s: %s.block_count is not there or cannot be",
			       h->gguf->loc.path, t->gguf);
	t->layers = blocks - t->mtp;
	t->nope = key > turn ? key - turn : 0;
	t->v_head = value;
	t->k_heads = t->groups;
	t->v_dim = t->v_heads ? inner / t->v_heads : 0;
	h->hp.layers = t->layers;
	return TB_OK;
}

enum tb_status
hf_back(struct hf_making *h, bool *known)
{
	const struct translate_arch *r = translate_archs;
	const struct arch *a;

	while (r->type && (strcmp(r->gguf, h->gguf->arch) || !has_signs(h, r->sign)))
		r++;
	*known = r->type != NULL;
	if (!*known)
		return TB_OK;
	h->row = r;
	a = arch_find(r->type, NULL);
	h->t = (struct translate){ .gguf = r->gguf, .type = r->type, .ways = r->ways,
		.names = r->names, .own = a ? a->names : NULL,
		.pairs = r->pairs, .norm_add = r->norm_add };
	return read_numbers(h);
}
