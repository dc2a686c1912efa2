#include "config.h"

#include "src/engine/sampler.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"

struct candidate {
	float logit;		/* after softmax: probability */
	uint32_t id;
};

struct sampler {
	struct sampler_opts o;
	size_t vocab;
	uint64_t state;			/* splitmix64 */
	float *logits;			/* owned: penalized copy */
	struct candidate *c;		/* owned */
	uint32_t *mark;			/* owned; [vocab]: penalized in pick number… */
	uint32_t picks;
};

enum tb_status
sampler_new(struct sampler **out, const struct sampler_opts *opts, size_t vocab,
	    struct tb_err *err)
{
	const struct { const char *name; float is, min, max; } check[] = {
		{ "temperature", opts->temperature, 0, 100 },
		{ "top-p", opts->top_p, 0, 1 },
		{ "min-p", opts->min_p, 0, 1 },
		{ "repeat penalty", opts->repeat_penalty, 0.01f, 100 },
		{ "frequency penalty", opts->frequency, -2, 2 },
		{ "presence penalty", opts->presence, -2, 2 },
	};
	struct sampler *s;

	*out = NULL;
	for (size_t i = 0; i < sizeof(check) / sizeof(*check); i++)
		if (!(check[i].is >= check[i].min && check[i].is <= check[i].max))
			return tb_fail(err, TB_EUSAGE, "%s %g is not from %g to %g", check[i].name,
				       (double)check[i].is, (double)check[i].min,
				       (double)check[i].max);
	s = tb_calloc(1, sizeof(*s));
	if (!s)
		return tb_nomem(err);
	*s = (struct sampler){ .o = *opts, .vocab = vocab, .state = opts->seed };
	s->logits = tb_calloc(vocab, sizeof(*s->logits));
	s->c = tb_calloc(vocab, sizeof(*s->c));
	s->mark = tb_calloc(vocab, sizeof(*s->mark));
	if (!vocab || !s->logits || !s->c || !s->mark) {
		sampler_free(s);
		return tb_nomem(err);
	}
	*out = s;
	return TB_OK;
}

void
sampler_free(struct sampler *s)
{
	if (!s)
		return;
	free(s->logits);
	free(s->c);
	free(s->mark);
	free(s);
}

void
sampler_follow(struct sampler *s, const struct sampler *other)
{
	s->state = other->state;
}

/* The largest, the first of equals; NaN loses to everything. */
static uint32_t
greedy(const float *logits, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (logits[i] > logits[best] || (isnan(logits[best]) && !isnan(logits[i])))
			best = i;
	return (uint32_t)best;
}

static void
penalize(struct sampler *s, const uint32_t *recent, size_t n)
{
	float p = s->o.repeat_penalty;

	s->picks++;
	if (n > s->o.repeat_last) {
		recent += n - s->o.repeat_last;
		n = s->o.repeat_last;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t id = recent[i];

		if (id >= s->vocab)
			continue;
		if (s->mark[id] != s->picks) {
			s->logits[id] = s->logits[id] > 0 ? s->logits[id] / p : s->logits[id] * p;
			s->logits[id] -= s->o.presence;
		}
		s->mark[id] = s->picks;
		s->logits[id] -= s->o.frequency;
	}
}

static bool
better(const struct candidate *a, const struct candidate *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static int
by_logit(const void *a, const void *b)
{
	return better(a, b) ? -1 : better(b, a) ? 1 : 0;
}

static void
sift(struct candidate *c, size_t n, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		struct candidate t = c[i];

		if (child + 1 < n && better(&c[child], &c[child + 1]))
			child++;
		if (!better(&c[i], &c[child]))
			return;
		c[i] = c[child];
		c[child] = t;
	}
}

/* The k best, sorted, through a heap whose top is the worst of them. */
static size_t
best_candidates(struct sampler *s, const float *logits)
{
	size_t k = s->o.top_k && s->o.top_k < s->vocab ? s->o.top_k : s->vocab, n = 0;

	for (size_t i = 0; i < s->vocab; i++) {
		struct candidate c = { logits[i], (uint32_t)i };

		if (!(c.logit > -INFINITY))
			continue;
		if (n < k) {
			s->c[n++] = c;
			for (size_t j = n == k ? n / 2 : 0; j-- > 0;)
				sift(s->c, n, j);
		} else if (better(&c, &s->c[0])) {
			s->c[0] = c;
			sift(s->c, n, 0);
		}
	}
	qsort(s->c, n, sizeof(*s->c), by_logit);
	return n;
}

/* Logits to probabilities; how many of the n best stay. */
static size_t
likely_enough(struct sampler *s, size_t n)
{
	double sum = 0, kept = 0;
	float max = s->c[0].logit;
	size_t keep;

	for (size_t i = 0; i < n; i++) {
		s->c[i].logit = expf((s->c[i].logit - max) / s->o.temperature);
		sum += s->c[i].logit;
	}
	for (keep = 1; keep < n && s->c[keep].logit >= s->o.min_p; keep++)
		;
	for (size_t i = 0; i < keep; i++) {
		kept += s->c[i].logit;
		if (kept >= s->o.top_p * sum)
			return i + 1;
	}
	return keep;
}

/* What is not allowed cannot be chosen, and what is, can: also where the model gave it no
 * number. */
static void
restrict_to(struct sampler *s, const struct sampler_allowed *a)
{
	for (size_t i = 0; i < s->vocab; i++)
		if (i >= a->n || !(a->bits[i / 64] >> i % 64 & 1))
			s->logits[i] = -INFINITY;
		else if (!(s->logits[i] > -FLT_MAX))
			s->logits[i] = -FLT_MAX;
}

uint32_t
sampler_pick(struct sampler *s, const float *logits, const uint32_t *recent, size_t n,
	     const struct sampler_allowed *allowed)
{
	bool penalized = n && (s->o.repeat_penalty != 1 || s->o.frequency != 0 || s->o.presence != 0);
	size_t left;
	double sum = 0, at;

	if (penalized || allowed) {
		memcpy(s->logits, logits, s->vocab * sizeof(*logits));
		logits = s->logits;
	}
	if (penalized)
		penalize(s, recent, n);
	if (allowed)
		restrict_to(s, allowed);
	if (s->o.temperature <= 0)
		return greedy(logits, s->vocab);
	left = best_candidates(s, logits);
	if (!left || !isfinite(s->c[0].logit))
		return greedy(logits, s->vocab);
	left = likely_enough(s, left);
	for (size_t i = 0; i < left; i++)
		sum += s->c[i].logit;
	at = (double)(tb_splitmix(&s->state) >> 11) * 0x1p-53 * sum;	/* [0, 1): 53 bits */
	for (size_t i = 0; i < left; i++)
		if ((at -= s->c[i].logit) < 0)
			return s->c[i].id;
	return s->c[0].id;
}
