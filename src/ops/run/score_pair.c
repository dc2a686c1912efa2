/* score_pair.c - what two models of one vocabulary think of the same text, token by token. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/engine/engine.h"
#include "src/ops/run/draft.h"
#include "src/ops/run/run.h"

#define PAIR_BLOCK 64		/* tokens of which both have their logits at once */

struct pair {
	struct chat_model *model[2];
	struct session *s[2];
	size_t vocab[2];	/* floats a row has; tokens are the least of both */
	size_t vocab_both;
	struct tb_job *job;
	struct score_pair *out;
	double sum[2];
};

void
score_pair_free(struct score_pair *p)
{
	free(p->token);
	*p = (struct score_pair){ 0 };
}

static size_t
best(const float *logits, size_t n)
{
	size_t top = 0;

	for (size_t i = 1; i < n; i++)
		if (logits[i] > logits[top])
			top = i;
	return top;
}

static double
log_sum(const float *logits, size_t n, size_t top)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += exp(logits[i] - (double)logits[top]);
	return logits[top] + log(sum);
}

static enum tb_status
compare(struct pair *p, const float *a, const float *b, uint32_t id, struct tb_err *err)
{
	struct score_pair *out = p->out;
	size_t n = p->vocab_both, top_a = best(a, n), top_b = best(b, n);
	double norm_a = log_sum(a, n, top_a), norm_b = log_sum(b, n, top_b), kl = 0;
	struct score_pair_token *t;

	for (size_t i = 0; i < n; i++) {
		double la = a[i] - norm_a, lb = b[i] - norm_b;

		kl += la > -80 ? exp(la) * (la - lb) : 0;
	}
	if (!tb_grow(&out->token, &out->cap, out->n + 1, sizeof(*out->token)))
		return tb_nomem(err);
	t = &out->token[out->n++];
	*t = (struct score_pair_token){
		.id = id, .first = { (uint32_t)top_a, (uint32_t)top_b },
		.logprob = { a[id] - norm_a, b[id] - norm_b }, .kl = kl > 0 ? kl : 0,
	};
	out->kl += t->kl;
	out->kl_most = t->kl > out->kl_most ? t->kl : out->kl_most;
	out->same += top_a == top_b;
	for (size_t i = 0; i < 2; i++)
		p->sum[i] -= t->logprob[i];
	return TB_OK;
}

/* ids[0..n) fit into both; those from number `from` on are compared. */
static enum tb_status
window(struct pair *p, const uint32_t *ids, size_t n, size_t from, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < 2; i++)
		session_rewind(p->s[i], 0);
	for (size_t at = 0, m; at + 1 < n && !status; at += m) {
		const float *a, *b;

		m = n - 1 - at < PAIR_BLOCK ? n - 1 - at : PAIR_BLOCK;
		if ((status = session_eval(p->s[0], ids + at, m, true, p->job, &a, err)) ||
		    (status = session_eval(p->s[1], ids + at, m, true, p->job, &b, err)))
			return status;
		for (size_t i = 0; i < m && !status; i++)
			if (at + i + 1 >= from)
				status = compare(p, a + i * p->vocab[0], b + i * p->vocab[1],
						 ids[at + i + 1], err);
		tb_job_step(p->job, 0, m);
	}
	return status;
}

/* Windows that do not overlap, as for a perplexity: each but the first with the token that
 * begins a text in front. */
static enum tb_status
windows(struct pair *p, struct token_ids *ids, size_t from, struct tb_err *err)
{
	size_t a = session_context(p->s[0]), b = session_context(p->s[1]), context = a < b ? a : b;
	enum tb_status status = TB_OK;
	uint32_t bos;
	bool begins = tokenizer_bos(p->model[0]->tokenizer, &bos) && ids->v[0] == bos;

	if (context < 2)
		return tb_fail(err, TB_EUSAGE, "a context of one token compares nothing");
	for (size_t at = 0; at + 1 < ids->n && !status;) {
		size_t n = ids->n - at < context ? ids->n - at : context;

		status = window(p, ids->v + at, n, from > at ? from - at : 0, err);
		at += n;
		if (begins && at < ids->n) {
			ids->v[--at] = bos;
		}
	}
	return status;
}

static enum tb_status
tokens(const struct chat_model *m, const char *text, size_t len, struct token_ids *ids,
       struct tb_err *err)
{
	size_t n = m->bos ? strlen(m->bos) : 0;
	bool begun = n && len >= n && !memcmp(text, m->bos, n);

	ids->n = 0;
	return tokenizer_encode(m->tokenizer, text, len, !begun, true, ids, err);
}

static enum tb_status
sessions(struct pair *p, const struct token_ids *ids, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < 2 && !status; i++) {
		struct engine_info info;

		engine_info(p->model[i]->engine, &info);
		p->vocab[i] = info.vocab;
		status = session_new(&p->s[i], p->model[i]->engine, 0, err);
	}
	p->vocab_both = p->vocab[0] < p->vocab[1] ? p->vocab[0] : p->vocab[1];
	for (size_t i = 0; i < ids->n && !status; i++)
		if (ids->v[i] >= p->vocab_both)
			status = tb_fail(err, TB_EFORMAT, "the tokenizer gives token %u, the models "
					 "know %zu", ids->v[i], p->vocab_both);
	return status;
}

enum tb_status
score_pair(struct chat_model *a, struct chat_model *b, const char *text, size_t len, size_t from,
	   struct tb_job *job, struct score_pair *out, struct tb_err *err)
{
	struct pair p = { .model = { a, b }, .job = job, .out = out };
	struct token_ids ids = { 0 };
	size_t first = 1;
	enum tb_status status = draft_same_vocabulary(a, b, err);

	*out = (struct score_pair){ 0 };
	if (!status && from && !(status = tokens(a, text, from, &ids, err)))
		first = ids.n;
	if (!status)
		status = tokens(a, text, len, &ids, err);
	if (!status && (ids.n < 2 || first >= ids.n))
		status = tb_fail(err, TB_EUSAGE, "nothing to compare: the text is too short");
	if (!status)
		status = sessions(&p, &ids, err);
	if (!status) {
		tb_job_total(job, 0, ids.n);
		status = windows(&p, &ids, first, err);
	}
	for (size_t i = 0; i < 2; i++) {
		session_free(p.s[i]);
		out->nll[i] = out->n ? p.sum[i] / (double)out->n : 0;
	}
	out->kl /= out->n ? (double)out->n : 1;
	free(ids.v);
	if (status)
		score_pair_free(out);
	return status;
}
