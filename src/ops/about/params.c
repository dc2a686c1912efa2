#include "config.h"

#include "src/ops/about/about.h"

#include <stdlib.h>

#include "src/store/model.h"
#include "src/store/tensor_name.h"

static int
largest_first(const void *a, const void *b)
{
	const struct param_scheme *x = a, *y = b;

	return (x->sum.bytes < y->sum.bytes) - (x->sum.bytes > y->sum.bytes);
}

static struct param_sum *
scheme_sum(struct params *p, const struct scheme *s)
{
	size_t k = 0;

	while (k < p->nschemes && !scheme_equal(&p->scheme[k].scheme, s))
		k++;
	if (k == PARAM_SCHEMES)
		k--;
	if (k == p->nschemes)
		p->scheme[p->nschemes++] = (struct param_scheme){ .scheme = *s };
	return &p->scheme[k].sum;
}

static void
param_add(struct param_sum *to, const struct param_sum *t)
{
	to->tensors += t->tensors;
	to->params += t->params;
	to->bytes += t->bytes;
	to->active += t->active;
	to->read += t->read;
}

static uint64_t
part(uint64_t n, uint64_t used, uint64_t of)
{
	return (uint64_t)((double)n * (double)used / (double)of);
}

void
params_count(const struct model *m, const struct model_shape *shape, struct params *out)
{
	*out = (struct params){ .tied = true, .experts = shape->experts,
				.experts_used = shape->experts ? shape->experts_used : 0 };
	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		enum tname_role g = t->draft ? TNAME_DRAFT : tname_role(t->name);
		struct param_sum s = { 1, t->elems, t->bytes, t->elems, t->bytes };

		if (g == TNAME_EXPERTS && out->experts_used && out->experts_used <= out->experts) {
			s.active = part(t->elems, out->experts_used, out->experts);
			s.read = part(t->bytes, out->experts_used, out->experts);
		}
		out->tied &= g != TNAME_HEAD;
		param_add(&out->group[g], &s);
		if (t->draft)
			continue;
		param_add(&out->total, &s);
		param_add(scheme_sum(out, &t->scheme), &s);
	}
	if (!out->tied) {	/* then a token reads one row of the embedding */
		out->total.read -= out->group[TNAME_EMBED].read;
		out->group[TNAME_EMBED].read = 0;
	}
	qsort(out->scheme, out->nschemes, sizeof(*out->scheme), largest_first);
}
