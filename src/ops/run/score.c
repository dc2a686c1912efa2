#include "config.h"

#include "src/ops/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/engine.h"
#include "src/ops/run/best.h"

#define SCORE_BLOCK 128		/* tokens whose logits are kept at once */

void
score_logits_free(struct score_logits *l)
{
	free(l->prompt.v);
	free(l->top);
	*l = (struct score_logits){ 0 };
}

enum tb_status
score_logits(struct chat_model *m, const char *text, size_t len, size_t k, struct tb_job *job,
	     struct score_logits *out, struct tb_err *err)
{
	struct session *s;
	struct engine_info info;
	const float *logits;
	enum tb_status status;

	*out = (struct score_logits){ 0 };
	engine_info(m->engine, &info);
	out->n = k < info.vocab ? k : info.vocab;
	out->top = tb_calloc(out->n + 1, sizeof(*out->top));
	if (!out->top)
		return tb_nomem(err);
	if (!(status = session_new(&s, m->engine, 0, err))) {
		if (!(status = tokenizer_encode(m->tokenizer, text, len, true, true,
						&out->prompt, err)) &&
		    !(status = session_eval(s, out->prompt.v, out->prompt.n, false, job, &logits,
					    err)))
			out->n = best_of(logits, info.vocab, out->n, out->top);
		session_free(s);
	}
	if (status)
		score_logits_free(out);
	return status;
}

struct scorer {
	struct session *s;
	size_t vocab;
	struct tb_job *job;
	double sum;
	uint64_t scored;
	struct tb_err *err;
};

/* ids[0..n): every token behind the first is scored. */
static enum tb_status
score_window(struct scorer *sc, const uint32_t *ids, size_t n)
{
	const float *logits;
	enum tb_status status = TB_OK;

	session_rewind(sc->s, 0);
	for (size_t at = 0, m; at + 1 < n && !status; at += m) {
		m = n - 1 - at < SCORE_BLOCK ? n - 1 - at : SCORE_BLOCK;
		status = session_eval(sc->s, ids + at, m, true, sc->job, &logits, sc->err);
		for (size_t i = 0; i < m && !status; i++) {
			const float *row = logits + i * sc->vocab;

			sc->sum += best_log_sum(row, sc->vocab) - row[ids[at + i + 1]];
			sc->scored++;
		}
		tb_job_step(sc->job, 0, m);
	}
	return status;
}

/* The text's tokens begin with the special ones; each further window gets a copy of
 * the first of them in front. */
static enum tb_status
score_windows(struct scorer *sc, struct token_ids *ids, bool bos)
{
	size_t context = session_context(sc->s);
	enum tb_status status = TB_OK;

	for (size_t at = 0; at < ids->n && !status;) {
		size_t n = ids->n - at < context ? ids->n - at : context;

		status = score_window(sc, ids->v + at, n);
		at += n;
		if (bos && at < ids->n)
			ids->v[--at] = ids->v[0];
	}
	return status;
}

enum tb_status
score_perplexity(struct chat_model *m, const char *text, size_t len, struct tb_job *job,
		 struct score_perplexity *out, struct tb_err *err)
{
	struct token_ids ids = { 0 };
	struct engine_info info;
	struct scorer sc = { .job = job, .err = err };
	double began = tb_monotonic();
	uint32_t bos;
	enum tb_status status;

	engine_info(m->engine, &info);
	sc.vocab = info.vocab;
	if ((status = session_new(&sc.s, m->engine, 0, err)))
		return status;
	status = tokenizer_encode(m->tokenizer, text, len, true, false, &ids, err);
	for (size_t i = 0; i < ids.n && !status; i++)
		if (ids.v[i] >= sc.vocab)
			status = tb_fail(err, TB_EFORMAT, "the tokenizer gives token %u, the model "
					 "knows %zu", ids.v[i], sc.vocab);
	if (!status && (ids.n < 2 || session_context(sc.s) < 2))
		status = tb_fail(err, TB_EUSAGE, "nothing to score: the text is too short");
	if (!status) {
		tb_job_total(job, 0, ids.n);
		status = score_windows(&sc, &ids,
				       tokenizer_bos(m->tokenizer, &bos) && ids.v[0] == bos);
	}
	if (!status) {
		out->tokens = sc.scored;
		out->nll = sc.sum / (double)sc.scored;
		out->perplexity = exp(out->nll);
		out->seconds = tb_monotonic() - began;
	}
	free(ids.v);
	session_free(sc.s);
	return status;
}
