/* hf_dtype.c - GGUF files have vectors and routers as F32, whatever the model had.  What
 * holds all of their numbers exactly is what it had, and as that they go back. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/model/values.h"
#include "src/ops/translate/hf_parts.h"

#define SMALL_MAX (64u << 20)		/* bytes of a tensor that is looked at */

enum tb_status
hf_numbers(const struct hf_making *h, const struct tensor *t, float **out)
{
	struct values v;
	enum tb_status status = values_open(&v, h->gguf, t, NULL, h->err);

	*out = NULL;
	if (status)
		return status;
	*out = tb_calloc(t->elems, sizeof(**out));
	if (*out)
		values_any(&v, 0, t->elems, *out);
	status = *out ? values_check(&v, h->err) : tb_nomem(h->err);
	values_close(&v);
	if (status) {
		free(*out);
		*out = NULL;
	}
	return status;
}

static bool
same(float a, float b)
{
	return !memcmp(&a, &b, sizeof(a));
}

/* Bits: 1 << DT_BF16, 1 << DT_F16, those that hold it. */
static unsigned
dtypes_that_hold(float x)
{
	return (unsigned)same(tb_bf16_f32(tb_f32_bf16(x)), x) << DT_BF16 |
	       (unsigned)same(tb_f16_f32(tb_f32_f16(x)), x) << DT_F16;
}

/* Which hold all of a tensor, as it is after its change.  *rounded counts those of which the
 * change cannot be undone in F32. */
static enum tb_status
holds_all(const struct hf_making *h, size_t i, unsigned *out, size_t *rounded)
{
	const struct tensor *t = &h->v->model->tensors[i];
	const struct change *c = &h->v->changes[i];
	bool exact = true;
	float *x;
	enum tb_status status;

	*out = 0;
	if (t->elems * sizeof(*x) > SMALL_MAX)
		return TB_OK;
	status = hf_numbers(h, t, &x);
	if (status)
		return status;
	*out = 1u << DT_BF16 | 1u << DT_F16;
	for (uint64_t k = 0; k < t->elems; k++) {
		float y = change_apply(c, x[k]);

		*out &= dtypes_that_hold(y);
		exact &= c->what != CHANGE_ADD || y - c->number == x[k];
	}
	*rounded += !exact;
	free(x);
	return TB_OK;
}

/* F32, or what its change may not leave as small as it is. */
static bool
is_looked_at(const struct hf_making *h, size_t i, enum dtype most)
{
	const struct tensor *t = &h->v->model->tensors[i];

	return scheme_is_plain(&t->scheme) && (h->v->changes[i].what != CHANGE_NONE ||
					       (most != DT_F32 && t->scheme.dtype == DT_F32));
}

/* The dtype of most matrices' bytes: of plain numbers, DT_COUNT: they are in blocks. */
static enum dtype
matrices(const struct model *m)
{
	uint64_t bytes[DT_COUNT + 1] = { 0 };
	enum dtype best = DT_COUNT;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];

		if (t->ndim > 1)
			bytes[scheme_is_plain(&t->scheme) ? t->scheme.dtype : DT_COUNT] += t->bytes;
	}
	for (enum dtype d = 0; d < DT_COUNT; d++)
		if (bytes[d] > bytes[best])
			best = d;
	return best;
}

enum tb_status
hf_dtypes(struct hf_making *h, enum dtype decode)
{
	struct model *m = h->v->model;
	unsigned *fit = tb_calloc(m->ntensors, sizeof(*fit)), all = 1u << DT_BF16 | 1u << DT_F16;
	enum dtype most = matrices(m);
	enum tb_status status = fit ? TB_OK : tb_nomem(h->err);
	size_t rounded = 0;

	for (size_t i = 0; i < m->ntensors && !status; i++)
		if (is_looked_at(h, i, most)) {
			status = holds_all(h, i, &fit[i], &rounded);
			all &= fit[i];
		}
	/* Blocks have scales of F16: that loses least where nothing says BF16. */
	h->dtype = most != DT_COUNT ? most : all & 1u << DT_BF16 ? DT_BF16 : DT_F16;
	for (size_t i = 0; i < m->ntensors && !status; i++) {
		struct tensor *t = &m->tensors[i];

		if (scheme_form(&t->scheme) == FORM_BLOCKS)
			t->home = decode != DT_COUNT ? decode : h->dtype;
		else if (is_looked_at(h, i, most))
			t->home = fit[i] & 1u << h->dtype ? h->dtype : DT_F32;
	}
	free(fit);
	return status || !rounded ? status
		: hf_note(h, tb_asprintf("%zu norm%s rounded to the nearest F32", rounded,
					 rounded == 1 ? " is" : "s are"));
}
