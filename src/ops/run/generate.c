#include "config.h"

#include "src/ops/run/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/engine.h"
#include "src/ops/run/best.h"
#include "src/ops/run/guess.h"
#include "src/ops/run/stream.h"
#include "src/text/constraint.h"

#define REPORT_SECONDS 0.1

const char *
gen_stop_name(enum gen_stop s)
{
#define X(id, name) [id] = name,
	static const char *const names[] = { GEN_STOP_LIST(X) };
#undef X
	return names[s];
}

double
gen_prefill_rate(const struct gen_figures *f)
{
	return f->prefill_seconds > 0 ? f->prompt_tokens / f->prefill_seconds : 0;
}

/* The first token came with the prefill. */
double
gen_decode_rate(const struct gen_figures *f)
{
	return f->tokens > 1 && f->decode_seconds > 0 ? (f->tokens - 1) / f->decode_seconds : 0;
}

void
gen_result_free(struct gen_result *r)
{
	free(r->text);
	free(r->ids.v);
	free(r->tokens);
	free(r->portions);
	*r = (struct gen_result){ 0 };
}

struct gen {
	struct chat_model *m;
	struct session *s;
	size_t vocab;			/* logits of a token */
	struct token_ids *held;		/* what the cache holds … */
	struct token_ids own;		/* … where nobody else keeps it; owned */
	size_t at;			/* ids in held->v that are no guesses: the prompt and what
					 * was chosen, all of it evaluated but the last few */
	size_t guesses;			/* behind them, being evaluated */
	size_t rows;			/* being evaluated, in all */
	bool chosen;			/* the prompt is read */
	struct constraint *c;		/* what holds from now on; NULL: nothing, or not yet */
	bool over;			/* nothing comes any more: out->stop says why */
	size_t forced;			/* of what is not evaluated yet: not chosen */
	struct token_ids must;		/* what a grammar wants next; owned */
	const struct gen_opts *opts;
	struct sampler *sampler;
	struct stream stream;
	struct tb_job *job;
	struct gen_result *out;
	bool shown;			/* a token that stands for text came already */
	size_t tokens_cap, portions_cap;		/* of out->tokens */
	double began, first, reported;	/* tb_monotonic() */
};

static void
report(struct gen *g, bool now)
{
	struct gen_figures *f = &g->out->figures;
	struct rusage usage;
	double t = tb_monotonic();

	if (!now && t - g->reported < REPORT_SECONDS)
		return;
	g->reported = t;
	f->context_used = (uint32_t)g->at;
	f->context = session_context(g->s);
	f->tokens = (uint32_t)g->out->ids.n;
	if (f->tokens)
		f->decode_seconds = t - g->first;
	if (!getrusage(RUSAGE_SELF, &usage))
		f->peak_rss = (uint64_t)usage.ru_maxrss * 1024;
	tb_job_post(g->job, GEN_MSG_FIGURES, f, sizeof(*f));
}

static void
show(struct gen *g, size_t from)
{
	size_t len = g->stream.text.len - from;

	if (!len)
		return;
	if (g->opts->text)
		g->opts->text(g->opts->text_arg, g->stream.text.p + from, len);
	else
		tb_job_post(g->job, GEN_MSG_TEXT, g->stream.text.p + from, len);
}

/* What is held behind n is forgotten, and sometimes more: models with a state that changes
 * as they read go back to where they kept one. */
static void
rewind_to(struct gen *g, size_t n)
{
	if (n <= g->held->n)
		g->held->n = session_rewind(g->s, (uint32_t)n);
}

/* What the prompt has in common with what is held is not read again, but its last token, for
 * its logits. */
static enum tb_status
take_prompt(struct gen *g, const struct token_ids *prompt, struct tb_err *err)
{
	struct gen_figures *f = &g->out->figures;
	size_t same = 0;

	while (same < g->held->n && same + 1 < prompt->n && g->held->v[same] == prompt->v[same])
		same++;
	if (!tb_grow(&g->held->v, &g->held->cap, prompt->n, sizeof(*prompt->v)))
		return tb_nomem(err);
	rewind_to(g, same);
	same = g->held->n;
	memcpy(g->held->v + same, prompt->v + same, (prompt->n - same) * sizeof(*prompt->v));
	f->reused_tokens = (uint32_t)same;
	f->prompt_tokens = (uint32_t)(prompt->n - same);
	g->at = prompt->n;
	return TB_OK;
}

/* "<s>" and its like are no text, unless one of the stop strings begins so. */
static bool
is_text(const struct gen *g, uint32_t id)
{
	const char *piece = tokenizer_piece(g->m->tokenizer, id);

	if (g->opts->specials || !tokenizer_is_special(g->m->tokenizer, id))
		return true;
	for (size_t i = 0; piece && i < g->opts->nstops; i++)
		if (!strncmp(g->opts->stops[i], piece, strlen(piece)))
			return true;
	return false;
}

/* The bytes of the last token as text, and what is to be known of it. */
static void
say(struct gen *g, struct gen_token *t)
{
	const struct stream *s = &g->stream;

	t->begin = s->text.len + (s->raw.len - s->done);
	if (is_text(g, t->id)) {
		tokenizer_decode(g->m->tokenizer, t->id, g->opts->begins && !g->shown, &g->stream.raw);
		g->shown = true;
	}
	t->end = s->text.len + (s->raw.len - s->done);
}

/* Tokens that may still come. */
static size_t
tokens_left(const struct gen *g)
{
	size_t room = session_context(g->s) - g->at + 1;
	size_t left = g->opts->max_tokens ? g->opts->max_tokens - g->out->ids.n : SIZE_MAX;

	return left < room ? left : room;
}

/* From now on the answer is held to the grammar, if what that begins behind is in the text: from
 * `from` on it is new. */
static enum tb_status
hold(struct gen *g, const struct tb_buf *text, size_t from, struct tb_err *err)
{
	const char *behind = g->opts->behind, *at = tb_buf_cstr(text), *end = at + text->len;
	size_t len = behind ? strlen(behind) : 0;

	if (behind) {
		at += from < len ? 0 : from - len;
		if (!(at = memmem(at, (size_t)(end - at), behind, len)))
			return TB_OK;
		for (at += len; at < end && strchr(" \n\r\t", *at); at++)
			;
	}
	g->c = g->opts->constraint;
	constraint_begin(g->c, g->opts->begins && !text->len);
	return constraint_read(g->c, at, (size_t)(end - at), err);
}

/* Takes one token in: true while more should come.  logits: those it was chosen by, NULL:
 * a grammar wants it. */
static bool
take_token(struct gen *g, uint32_t id, const float *logits, enum tb_status *status,
	   struct tb_err *err)
{
	const struct gen_opts *o = g->opts;
	struct gen_result *out = g->out;
	struct gen_token token = { .id = id };
	size_t from;
	bool stopped;

	if (!out->ids.n) {
		g->first = tb_monotonic();
		out->figures.first_token_seconds = g->first - g->began;
	}
	out->stop = GEN_EOS;
	if ((!o->ignore_eos || g->c) && chat_model_is_eos(g->m, id))
		return false;
	if (g->c && (*status = constraint_take(g->c, id, err)))
		return false;
	if (!tb_grow(&out->ids.v, &out->ids.cap, out->ids.n + 1, sizeof(id)) ||
	    (o->top && !tb_grow(&out->tokens, &g->tokens_cap, out->ids.n + 1, sizeof(token)))) {
		*status = tb_nomem(err);
		return false;
	}
	from = g->stream.raw.len;
	say(g, &token);
	if (o->constraint && !g->c && (*status = hold(g, &g->stream.raw, from, err)))
		return false;
	show(g, stream_pass(&g->stream, false, &stopped));
	if (o->top) {
		if (logits)
			best_beside(logits, g->vocab, o->top, &token);
		out->tokens[out->ids.n] = token;
		tb_job_post(g->job, GEN_MSG_TOKEN, &token, sizeof(token));
	}
	out->ids.v[out->ids.n++] = id;
	tb_job_step(g->job, 0, 1);
	report(g, false);
	out->stop = stopped ? GEN_STRING
		    : o->max_tokens && out->ids.n >= o->max_tokens ? GEN_LENGTH
		    : g->at >= session_context(g->s) ? GEN_CONTEXT
		    : GEN_CANCELLED;
	/* what a grammar takes for whole was not cut off */
	if ((out->stop == GEN_LENGTH || out->stop == GEN_CONTEXT) && g->c && constraint_may_end(g->c))
		out->stop = GEN_EOS;
	return out->stop == GEN_CANCELLED && !tb_job_cancelled(g->job);
}

/* Puts a token that was taken behind the others.  false: it is none of the guesses that were
 * evaluated already. */
static bool
gen_put(struct gen *g, uint32_t id)
{
	bool right = g->at < g->held->n && g->held->v[g->at] == id;

	if (!right)
		rewind_to(g, g->at);
	g->held->v[g->at++] = id;
	g->out->figures.right += right;
	return right;
}

/* Takes what the grammar leaves no choice about.  *known: how many of them were guessed, all
 * of them or SIZE_MAX. */
static enum tb_status
force(struct gen *g, size_t *known, bool *more, struct tb_err *err)
{
	struct constraint *c = g->c;
	size_t n;
	enum tb_status status = TB_OK;

	while (*more && !constraint_must_end(c)) {
		status = constraint_forced(c, tokens_left(g), &g->must, err);
		n = g->must.n;
		if (status || !n)
			return status;
		if (!tb_grow(&g->held->v, &g->held->cap, g->at + n + SESSION_ROWS,
			     sizeof(*g->held->v)))
			return tb_nomem(err);
		for (size_t i = 0; i < n && *more && !status; i++) {
			if (g->must.v[i] >= g->vocab)
				return TB_OK;	/* the model has no such token: see what it has */
			*more = take_token(g, g->must.v[i], NULL, &status, err);
			g->out->figures.forced++;
			g->forced++;
			*known = gen_put(g, g->must.v[i]) && *known != SIZE_MAX ? *known + 1 : SIZE_MAX;
		}
	}
	if (*more && constraint_must_end(c)) {
		g->out->stop = GEN_EOS;
		*more = false;
	}
	return status;
}

/* Behind what was chosen, where up to `most` rows are to be had; none that would not fit or
 * not be shown. */
static enum tb_status
guess(struct gen *g, size_t most, struct tb_err *err)
{
	size_t room = session_context(g->s) - g->at;
	size_t left = g->opts->max_tokens ? g->opts->max_tokens - g->out->ids.n - 1 : SIZE_MAX;
	enum tb_status status;

	most = most < room ? most : room;
	most = most < left ? most : left;
	if (!g->opts->guesser || !most)
		return TB_OK;
	status = guess_make(g->opts->guesser, g->held->v, g->at, most, g->held->v + g->at,
			    &g->guesses, g->job, err);
	if (!status && g->c)
		g->guesses = constraint_follows(g->c, g->held->v + g->at, g->guesses);
	return status;
}

bool
gen_reads(const struct gen *g)
{
	size_t unread = g->at - g->held->n;

	/* what a grammar wants is read by few rows at a time: as if each were alone */
	if (g->chosen && g->c)
		return false;
	return g->opts->apart ? unread > SESSION_ROWS + 1 : !g->chosen || unread > SESSION_ROWS;
}

enum tb_status
gen_rows(struct gen *g, size_t most, struct gen_rows *out, struct tb_err *err)
{
	size_t unread = g->at - g->held->n, n = unread;
	enum tb_status status;

	if ((status = tb_job_check(g->job, err)))
		return status;
	g->guesses = 0;
	if (gen_reads(g)) {
		n -= g->chosen || g->opts->apart;	/* it is read among few: see guess.h */
		n = n < READ_STEP ? n : READ_STEP;
	}
	if (!tb_grow(&g->held->v, &g->held->cap, g->at + SESSION_ROWS, sizeof(*g->held->v)))
		return tb_nomem(err);
	n = n < most ? n : most;
	most = most < SESSION_ROWS ? most : SESSION_ROWS;
	if (!gen_reads(g))
		n = n < SESSION_ROWS ? n : SESSION_ROWS;
	if (!gen_reads(g) && n == unread && g->chosen && (status = guess(g, most - n, err)))
		return status;
	g->rows = n + g->guesses;
	*out = (struct gen_rows){ g->held->v + g->held->n, g->rows, !gen_reads(g) };
	return TB_OK;
}

/* One of those that are allowed. */
static enum tb_status
pick(struct gen *g, const float *logits, uint32_t *id, struct tb_err *err)
{
	struct constraint *c = g->c;
	struct sampler_allowed allowed = { NULL, tokenizer_size(g->m->tokenizer) };
	enum tb_status status;

	if (c && (status = constraint_allowed(c, tokens_left(g), &allowed.bits, err)))
		return status;
	*id = sampler_pick(g->sampler, logits, g->held->v, g->at, c ? &allowed : NULL);
	return TB_OK;
}

/* Chooses by the logits behind what is settled, and goes on behind guesses that were right. */
static enum tb_status
gen_choose(struct gen *g, const float *logits, bool *more, struct tb_err *err)
{
	size_t known = 0;	/* tokens behind those logits that are evaluated */

	*more = !g->over;
	while (*more && known != SIZE_MAX) {
		uint32_t id;
		enum tb_status status = pick(g, logits + known * g->vocab, &id, err);

		if (status)
			return status;
		*more = take_token(g, id, logits + known * g->vocab, &status, err);
		if (status || !*more)
			return status;
		known = gen_put(g, id) ? known + 1 : SIZE_MAX;
		if (g->c && (status = force(g, &known, more, err)))
			return status;
	}
	return TB_OK;
}

static enum tb_status
note_portion(struct gen *g, struct tb_err *err)
{
	struct gen_result *out = g->out;

	if (!tb_grow(&out->portions, &g->portions_cap, out->nportions + 1, sizeof(*out->portions)))
		return tb_nomem(err);
	out->portions[out->nportions++] = (struct gen_portion){ (uint32_t)g->held->n,
								(uint32_t)g->rows };
	return TB_OK;
}

enum tb_status
gen_take(struct gen *g, const float *logits, double seconds, bool *more, struct tb_err *err)
{
	size_t unread = g->at - g->held->n;
	bool few = !gen_reads(g);
	enum tb_status status;

	*more = true;
	if (g->rows > SESSION_ROWS && (status = note_portion(g, err)))
		return status;
	g->held->n += g->rows;
	tb_job_step(g->job, 0, g->chosen ? 0 : g->rows);
	if (g->held->n < g->at)
		return TB_OK;
	if (few)
		logits += (unread - 1) * g->vocab;
	if (!g->chosen) {
		g->chosen = true;
		g->out->figures.prefill_seconds = tb_monotonic() - g->began;
		tb_job_what(g->job, "generating");
	} else if (few) {
		if (g->opts->guesser && seconds > 0 && !g->forced)
			guess_timed(g->opts->guesser, unread - 1, g->guesses, seconds);
		g->out->figures.guessed += (uint32_t)g->guesses;
	}
	g->forced = 0;
	return gen_choose(g, logits, more, err);
}

/* What the answer has to begin with is read together with the prompt. */
static enum tb_status
begin_grammar(struct gen *g, struct tb_err *err)
{
	struct tb_buf said = TB_BUF(STREAM_MAX);
	size_t known = SIZE_MAX;
	bool more = true;
	enum tb_status status;

	if (g->opts->said)
		tb_buf_str(&said, g->opts->said);
	status = tb_buf_status(&said, "the answer", err);
	if (!status)
		status = hold(g, &said, 0, err);
	tb_buf_free(&said);
	if (!status && g->c)
		status = force(g, &known, &more, err);
	g->over = !more;
	return status;
}

enum tb_status
gen_begin(struct gen **out, struct chat_model *m, struct session *s, struct token_ids *held,
	  const struct token_ids *prompt, const struct gen_opts *opts, struct tb_job *job,
	  struct gen_result *result, struct tb_err *err)
{
	struct engine_info info;
	struct gen *g;
	enum tb_status status;

	*out = NULL;
	*result = (struct gen_result){ 0 };
	if (!prompt->n)
		return tb_fail(err, TB_EUSAGE, "the prompt is empty");
	if (prompt->n > session_context(s))
		return tb_fail(err, TB_ELIMIT, "the prompt has %zu tokens, the context %u; "
			       "shorten it",
			       prompt->n, session_context(s));
	g = tb_calloc(1, sizeof(*g));
	if (!g)
		return tb_nomem(err);
	engine_info(m->engine, &info);
	*g = (struct gen){
		.m = m, .s = s, .vocab = info.vocab, .opts = opts, .job = job, .out = result,
		.stream = STREAM(opts->stops, opts->nstops), .began = tb_monotonic(),
	};
	g->held = held ? held : &g->own;
	result->stop = GEN_CANCELLED;
	tb_job_what(job, "reading the prompt");
	status = sampler_new(&g->sampler, &opts->sampler, info.vocab, err);
	if (!status && opts->guesser)
		status = guess_begin(opts->guesser, g->sampler, &opts->sampler, err);
	if (!status)
		status = take_prompt(g, prompt, err);
	if (!status && opts->constraint)
		status = begin_grammar(g, err);
	if (status)
		return gen_end(g, status, err);
	*out = g;
	return TB_OK;
}

/* The text as a whole, and where its tokens lie. */
static enum tb_status
gen_text(struct gen *g, struct tb_err *err)
{
	struct gen_result *out = g->out;

	for (size_t i = 0, len = g->stream.text.len; out->tokens && i < out->ids.n; i++) {
		struct gen_token *t = &out->tokens[i];

		t->begin = t->begin < len ? t->begin : len;	/* a stop string is cut off */
		t->end = t->end < len ? t->end : len;
	}
	out->text = tb_buf_take(&g->stream.text);
	return !out->text || tb_buf_failed(&g->stream.raw) ? tb_nomem(err) : TB_OK;
}

enum tb_status
gen_end(struct gen *g, enum tb_status status, struct tb_err *err)
{
	bool stopped;

	if (!g)
		return status;
	rewind_to(g, g->at);
	if (status == TB_ECANCEL) {
		g->out->stop = GEN_CANCELLED;
		status = TB_OK;
	}
	if (g->out->stop != GEN_STRING)
		show(g, stream_pass(&g->stream, true, &stopped));
	report(g, true);
	if (!status)
		status = gen_text(g, err);
	if (status)
		gen_result_free(g->out);
	stream_free(&g->stream);
	sampler_free(g->sampler);
	free(g->own.v);
	free(g->must.v);
	free(g);
	return status;
}

/* One pass. */
static enum tb_status
gen_step(struct gen *g, bool *more, struct tb_job *job, struct tb_err *err)
{
	struct gen_rows rows;
	const float *logits;
	double began;
	enum tb_status status = gen_rows(g, SIZE_MAX, &rows, err);

	if (status)
		return status;
	began = tb_monotonic();
	if ((status = session_eval(g->s, rows.ids, rows.n, rows.all, job, &logits, err)))
		return status;
	return gen_take(g, logits, tb_monotonic() - began, more, err);
}

enum tb_status
generate(struct chat_model *m, struct session *s, struct token_ids *held,
	 const struct token_ids *prompt, const struct gen_opts *opts, struct tb_job *job,
	 struct gen_result *out, struct tb_err *err)
{
	struct gen *g;
	bool more = true;
	enum tb_status status = gen_begin(&g, m, s, held, prompt, opts, job, out, err);

	if (status)
		return status;
	while (more && !status)
		status = gen_step(g, &more, job, err);
	return gen_end(g, status, err);
}
