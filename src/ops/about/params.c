#include "config.h"

#include "src/ops/about/params.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/about/shape.h"
#include "src/store/model.h"

static const struct { const char *key, *words; } groups[] = {
#define X(id, key, words) [id] = { key, words },
	PARAM_LIST(X)
#undef X
};

const char *
param_key(enum param_group g)
{
	return groups[g].key;
}

const char *
param_words(enum param_group g)
{
	return groups[g].words;
}

/* The first that fits: names of Hugging Face, MLX, Ollama and llama.cpp.  Of a model with
 * 100,000 tensors each is asked of each, so these are no globs. */
static const struct { enum { BEGINS, HAS } how; const char *part; enum param_group group; }
rules[] = {
	{ BEGINS, "v.", PARAM_MEDIA }, { BEGINS, "a.", PARAM_MEDIA },
	{ BEGINS, "mm.", PARAM_MEDIA }, { HAS, "vision", PARAM_MEDIA },
	{ HAS, "visual.", PARAM_MEDIA }, { HAS, "audio", PARAM_MEDIA },
	{ HAS, "multi_modal_projector", PARAM_MEDIA },
	{ HAS, "shared_expert", PARAM_SHARED }, { HAS, "_shexp", PARAM_SHARED },
	{ HAS, "ffn_gate_inp", PARAM_ROUTER }, { HAS, ".router.", PARAM_ROUTER },
	{ HAS, ".mlp.gate.", PARAM_ROUTER },
	{ HAS, "block_sparse_moe.gate.", PARAM_ROUTER },
	{ HAS, ".experts.", PARAM_EXPERTS }, { HAS, "switch_mlp", PARAM_EXPERTS },
	{ HAS, "_exps.", PARAM_EXPERTS }, { HAS, "norm", PARAM_NORM },
	{ HAS, ".ln_", PARAM_NORM }, { HAS, "embed", PARAM_EMBED },
	{ BEGINS, "token_embd", PARAM_EMBED }, { BEGINS, "position_embd", PARAM_EMBED },
	{ HAS, ".wte.", PARAM_EMBED }, { BEGINS, "wte.", PARAM_EMBED },
	{ HAS, "lm_head", PARAM_HEAD }, { BEGINS, "output.", PARAM_HEAD },
	{ HAS, "attn", PARAM_ATTENTION }, { HAS, "attention", PARAM_ATTENTION },
	{ HAS, ".mlp.", PARAM_FFN }, { HAS, "ffn_", PARAM_FFN },
	{ HAS, "feed_forward", PARAM_FFN },
};
#define NRULES (sizeof(rules) / sizeof(*rules))

static bool
fits(size_t rule, const char *tensor)
{
	if (rules[rule].how == BEGINS)
		return tb_starts(tensor, rules[rule].part);
	return strstr(tensor, rules[rule].part);
}

enum param_group
param_group(const char *tensor)
{
	for (size_t i = 0; i < NRULES; i++)
		if (fits(i, tensor))
			return rules[i].group;
	return PARAM_OTHER;
}

/* As param_group() == PARAM_HEAD, for asking of all tensors. */
static bool
is_head(const char *tensor)
{
	for (size_t i = 0; i < NRULES; i++)
		if (rules[i].group == PARAM_HEAD && fits(i, tensor))
			return param_group(tensor) == PARAM_HEAD;
	return false;
}

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
add(struct param_sum *to, const struct param_sum *t)
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

/* Of an embedding a token reads one row; as a head it reads all. */
static struct param_sum
count(const struct params *p, const struct tensor *t, enum param_group g)
{
	struct param_sum s = { 1, t->elems, t->bytes, t->elems, t->bytes };

	if (g == PARAM_EXPERTS && p->experts_used && p->experts_used <= p->experts) {
		s.active = part(t->elems, p->experts_used, p->experts);
		s.read = part(t->bytes, p->experts_used, p->experts);
	} else if (g == PARAM_EMBED && !p->tied) {
		s.read = 0;
	}
	return s;
}

void
params_count(const struct model *m, const struct model_shape *shape, struct params *out)
{
	*out = (struct params){ .tied = true, .experts = shape->experts,
				.experts_used = shape->experts ? shape->experts_used : 0 };
	for (size_t i = 0; i < m->ntensors; i++)
		out->tied &= m->tensors[i].draft || !is_head(m->tensors[i].name);
	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		enum param_group g = t->draft ? PARAM_DRAFT : param_group(t->name);
		struct param_sum s = count(out, t, g);

		add(&out->group[g], &s);
		if (t->draft)
			continue;
		add(&out->total, &s);
		add(scheme_sum(out, &t->scheme), &s);
	}
	qsort(out->scheme, out->nschemes, sizeof(*out->scheme), largest_first);
}
