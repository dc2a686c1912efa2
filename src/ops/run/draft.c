#include "config.h"

#include "src/ops/run/draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/run/guess.h"
#include "src/store/model.h"

struct draft {
	struct chat_model *m;		/* borrowed */
	struct session *s;
	struct sampler *sampler;
	struct token_ids held;		/* what its cache holds */
	uint32_t vocab, target_vocab;
};

/* Is token id the same in both?  Files may write one token in two ways. */
static bool
same_token(const struct tokenizer *a, const struct tokenizer *b, uint32_t id)
{
	const char *x = tokenizer_piece(a, id), *y = tokenizer_piece(b, id);
	struct tb_buf p = TB_BUF(1 << 16), q = TB_BUF(1 << 16);
	bool same;

	if (!x || !y || !strcmp(x, y))
		return !x == !y;
	tokenizer_decode(a, id, false, &p);
	tokenizer_decode(b, id, false, &q);
	same = p.len == q.len && p.len && !memcmp(p.p, q.p, p.len);
	tb_buf_free(&p);
	tb_buf_free(&q);
	return same;
}

enum tb_status
draft_same_vocabulary(const struct chat_model *m, const struct chat_model *other, struct tb_err *err)
{
	const struct tokenizer *a = m->tokenizer, *b = other->tokenizer;
	size_t n = tokenizer_size(a);
	char x[64], y[64];

	if (tokenizer_size(b) != n)
		return tb_fail(err, TB_EUSAGE, "%s knows %zu tokens, %s %zu",
			       other->model->loc.name, tokenizer_size(b), m->model->loc.name, n);
	for (uint32_t id = 0; id < n; id++) {
		const char *p = tokenizer_piece(a, id), *q = tokenizer_piece(b, id);

		if (!same_token(a, b, id))
			return tb_fail(err, TB_EUSAGE, "token %u of %s is \"%s\", that of %s \"%s\"",
				       id, other->model->loc.name,
				       tb_text_clean(q ? q : "", y, sizeof(y)), m->model->loc.name,
				       tb_text_clean(p ? p : "", x, sizeof(x)));
	}
	return TB_OK;
}

static enum tb_status
check_vocabulary(const struct chat_model *m, const struct chat_model *draft, struct tb_err *err)
{
	struct tb_err why;

	if (!draft_same_vocabulary(m, draft, &why))
		return TB_OK;
	return tb_fail(err, TB_EUSAGE, "%s cannot guess for %s: %s; take a draft model of the same "
		       "family", draft->model->loc.name, m->model->loc.name, why.msg);
}

enum tb_status
chat_model_draft(struct chat_model *m, const struct op_ctx *ctx, const char *ref,
		 struct tb_job *job, struct tb_err *err)
{
	struct chat_model *draft;
	enum tb_status status;

	if ((status = chat_model_open(&draft, ctx, ref, job, err)))
		return status;
	if ((status = check_vocabulary(m, draft, err))) {
		chat_model_free(draft);
		return status;
	}
	chat_model_free(m->draft);
	m->draft = draft;
	return TB_OK;
}

static enum tb_status
open_own(struct chat_model *d, const struct chat_model *m, const struct op_ctx *ctx,
	 struct tb_err *err)
{
	struct engine_opts opts = { .threads = ctx->threads, .exact = ctx->exact, .kv = ctx->kv };
	enum tb_status status = model_draft(&d->model, m->model, err);

	if (!status)
		status = engine_open(&d->engine, d->model, &opts, err);
	if (!status)
		status = model_tokenizer(d->model, &d->tokenizer, err);
	return status ? status : check_vocabulary(m, d, err);
}

enum tb_status
chat_model_own_draft(struct chat_model *m, const struct op_ctx *ctx, struct tb_err *err)
{
	struct chat_model *d = tb_calloc(1, sizeof(*d));
	struct tb_err why = { 0 };
	enum tb_status status = d ? open_own(d, m, ctx, &why) : TB_ENOMEM;

	if (!status) {
		m->draft = d;
		return TB_OK;
	}
	chat_model_free(d);
	if (status == TB_ENOMEM)
		return tb_nomem(err);
	if (why.code != TB_ENOENT || m->model->draft_params)
		snprintf(m->draft_note, sizeof(m->draft_note), "%.80s: its draft model cannot guess "
			 "ahead (%.200s)", m->model->loc.name, why.msg);
	return TB_OK;
}

enum tb_status
draft_new(struct draft **out, struct chat_model *m, uint32_t context, struct tb_err *err)
{
	struct draft *d = tb_calloc(1, sizeof(*d));
	struct engine_info info;
	enum tb_status status;

	*out = NULL;
	if (!d)
		return tb_nomem(err);
	d->m = m->draft;
	engine_info(m->engine, &info);
	d->target_vocab = info.vocab;
	if (!context)
		context = info.context;
	engine_info(d->m->engine, &info);
	d->vocab = info.vocab;
	if ((status = session_new(&d->s, d->m->engine, context, err)))
		draft_free(d);
	else
		*out = d;
	return status;
}

void
draft_free(struct draft *d)
{
	if (!d)
		return;
	session_free(d->s);
	sampler_free(d->sampler);
	free(d->held.v);
	free(d);
}

enum tb_status
draft_begin(struct draft *d, const struct sampler_opts *opts, struct tb_err *err)
{
	sampler_free(d->sampler);
	return sampler_new(&d->sampler, opts, d->vocab, err);
}

/* Evaluates what of ids[0..n) is not held, the last one in every case: its logits are those
 * of the first guess. */
static enum tb_status
catch_up(struct draft *d, const uint32_t *ids, size_t n, size_t same, const float **logits,
	 struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;

	if (!tb_grow(&d->held.v, &d->held.cap, n + GUESS_MOST, sizeof(*ids)))
		return tb_nomem(err);
	d->held.n = same;
	memcpy(d->held.v + same, ids + same, (n - same) * sizeof(*ids));
	if (!(status = session_eval(d->s, ids + same, n - same, false, job, logits, err)))
		d->held.n = n;
	return status;
}

/* How many of ids[0..n - 1) need not be evaluated again. */
static size_t
still_held(struct draft *d, const uint32_t *ids, size_t n)
{
	size_t same = 0;

	while (same < d->held.n && same + 1 < n && d->held.v[same] == ids[same])
		same++;
	return session_rewind(d->s, (uint32_t)same);
}

enum tb_status
draft_guess(struct draft *d, const struct sampler *like, const uint32_t *ids, size_t n, size_t most,
	    uint32_t *out, size_t *made, double *seconds, struct tb_job *job, struct tb_err *err)
{
	size_t same = still_held(d, ids, n);
	double began = tb_monotonic();
	const float *logits;
	enum tb_status status;

	*made = 0;
	*seconds = 0;
	d->held.n = same;
	if (n + most > session_context(d->s))
		return TB_OK;
	for (size_t i = same; i < n; i++)
		if (ids[i] >= d->vocab)
			return TB_OK;
	status = catch_up(d, ids, n, same, &logits, job, err);
	if (n - same > GUESS_MOST)
		began = tb_monotonic();
	sampler_follow(d->sampler, like);
	while (!status) {
		uint32_t id = sampler_pick(d->sampler, logits, d->held.v, d->held.n,
					   NULL);

		if (id >= d->target_vocab)
			break;
		out[(*made)++] = id;
		if (*made == most)
			break;
		status = session_eval(d->s, &id, 1, false, job, &logits, err);
		if (!status)
			d->held.v[d->held.n++] = id;
	}
	*seconds = tb_monotonic() - began;
	return status ? tb_wrap(err, status, "%s", d->m->model->loc.name) : TB_OK;
}
