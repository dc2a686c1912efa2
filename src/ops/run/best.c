#include "config.h"

#include "src/ops/run/best.h"

#include <math.h>
#include <string.h>

double
best_log_sum(const float *logits, size_t n)
{
	double max = logits[0], sum = 0;

	for (size_t i = 1; i < n; i++)
		max = logits[i] > max ? logits[i] : max;
	for (size_t i = 0; i < n; i++)
		sum += exp(logits[i] - max);
	return max + log(sum);
}

size_t
best_of(const float *logits, size_t n, size_t k, struct score_top *out)
{
	double norm = best_log_sum(logits, n);
	size_t have = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = have;

		while (at && out[at - 1].logit < logits[i])
			at--;
		if (at == k)
			continue;
		have += have < k;
		memmove(out + at + 1, out + at, (have - at - 1) * sizeof(*out));
		out[at] = (struct score_top){ (uint32_t)i, logits[i], logits[i] - norm };
	}
	return have;
}

void
best_beside(const float *logits, size_t n, size_t k, struct gen_token *t)
{
	struct score_top top[GEN_TOP];

	t->ntop = (unsigned)best_of(logits, n, k, top);
	for (unsigned i = 0; i < t->ntop; i++)
		t->top[i] = (struct gen_alternative){ top[i].id, (float)top[i].logprob };
	if (t->ntop)
		t->logprob = (float)(logits[t->id] - top[0].logit + top[0].logprob);
}
