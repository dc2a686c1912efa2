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

#define PREFILL_STEP 512	/* tokens between two reports of progress */
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
	*r = (struct gen_result){ 0 };
}

struct gen {
	struct chat_model *m;
	struct session *s;
	size_t vocab;			/* logits of a token */
	struct token_ids *held;		/* what the cache holds … */
	size_t at;			/* … and how many of those are no guesses */
	const struct gen_opts *opts;
	struct sampler *sampler;
	struct stream stream;
	struct tb_job *job;
	struct gen_result *out;
	bool shown;			/* a token that stands for text came already */
	size_t tokens_cap;		/* of out->tokens */
	double began, first, reported;	/* tb_monotonic() */
	struct tb_err *err;
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

/* Evaluates ids that are in held->v already, behind what the cache holds. */
static enum tb_status
eval(struct gen *g, size_t n, bool all, const float **logits)
{
	enum tb_status status = session_eval(g->s, g->held->v + g->held->n, n, all, g->job, logits,
					     g->err);

	g->held->n += status ? 0 : n;
	return status;
}

/* The last token is always evaluated, for its logits. */
static enum tb_status
prefill(struct gen *g, const struct token_ids *prompt, const float **logits)
{
	struct gen_figures *f = &g->out->figures;
	size_t same = 0;
	enum tb_status status = TB_OK;

	while (same < g->held->n && same + 1 < prompt->n && g->held->v[same] == prompt->v[same])
		same++;
	if (!tb_grow(&g->held->v, &g->held->cap, prompt->n, sizeof(*prompt->v)))
		return tb_nomem(g->err);
	rewind_to(g, same);
	same = g->held->n;
	memcpy(g->held->v + same, prompt->v + same, (prompt->n - same) * sizeof(*prompt->v));
	f->reused_tokens = (uint32_t)same;
	f->prompt_tokens = (uint32_t)(prompt->n - same);
	tb_job_what(g->job, "reading the prompt");
	for (size_t at = same, n; at < prompt->n && !status; at += n) {
		n = prompt->n - at < PREFILL_STEP ? prompt->n - at : PREFILL_STEP;
		status = eval(g, n, false, logits);
		tb_job_step(g->job, 0, n);
	}
	g->at = g->held->n;
	f->prefill_seconds = tb_monotonic() - g->began;
	return status;
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

/* Takes one token in: true while more should come.  logits: those it was chosen by. */
static bool
take_token(struct gen *g, uint32_t id, const float *logits, enum tb_status *status)
{
	const struct gen_opts *o = g->opts;
	struct gen_result *out = g->out;
	struct gen_token token = { .id = id };
	bool stopped;

	if (!out->ids.n) {
		g->first = tb_monotonic();
		out->figures.first_token_seconds = g->first - g->began;
	}
	out->stop = GEN_EOS;
	if (!o->ignore_eos && chat_model_is_eos(g->m, id))
		return false;
	if (!tb_grow(&out->ids.v, &out->ids.cap, out->ids.n + 1, sizeof(id)) ||
	    (o->top && !tb_grow(&out->tokens, &g->tokens_cap, out->ids.n + 1, sizeof(token)))) {
		*status = tb_nomem(g->err);
		return false;
	}
	say(g, &token);
	show(g, stream_pass(&g->stream, false, &stopped));
	if (o->top) {
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
	return out->stop == GEN_CANCELLED && !tb_job_cancelled(g->job);
}

/* Guesses behind the last of n ids; none that would not fit or not be shown. */
static enum tb_status
guess(struct gen *g, size_t n, size_t again, size_t *made)
{
	size_t most = GUESS_MOST - again, room = session_context(g->s) - n;
	size_t left = g->opts->max_tokens ? g->opts->max_tokens - g->out->ids.n - 1 : SIZE_MAX;

	*made = 0;
	most = most < room ? most : room;
	most = most < left ? most : left;
	return g->opts->guesser && most ? guess_make(g->opts->guesser, g->held->v, n, most,
						     g->held->v + n, made, g->job, g->err) : TB_OK;
}

/* One pass over the token that was chosen and guesses of what follows it.  *logits are
 * those behind the token; those of the guesses come after them. */
static enum tb_status
look_ahead(struct gen *g, uint32_t id, const float **logits)
{
	size_t at = g->at, again, made;
	double began;
	enum tb_status status;

	rewind_to(g, at);
	if (!tb_grow(&g->held->v, &g->held->cap, at + 1 + GUESS_MOST, sizeof(id)))
		return tb_nomem(g->err);
	g->held->v[at] = id;
	if (at - g->held->n > GUESS_MOST && (status = eval(g, at - g->held->n, false, logits)))
		return status;
	again = at - g->held->n;
	if ((status = guess(g, at + 1, again, &made)))
		return status;
	began = tb_monotonic();
	if ((status = eval(g, again + 1 + made, again + made > 0, logits)))
		return status;
	if (g->opts->guesser)
		guess_timed(g->opts->guesser, again, made, tb_monotonic() - began);
	*logits += again * g->vocab;
	g->at = at + 1;
	g->out->figures.guessed += (uint32_t)made;
	return TB_OK;
}

static enum tb_status
run(struct gen *g, const struct token_ids *prompt)
{
	const float *logits;
	bool stopped;
	enum tb_status status = prefill(g, prompt, &logits);

	g->out->stop = GEN_CANCELLED;
	tb_job_what(g->job, "generating");
	while (!status) {
		uint32_t id = sampler_pick(g->sampler, logits, g->held->v, g->at);

		if (!take_token(g, id, logits, &status) || status)
			break;
		if (g->at < g->held->n && g->held->v[g->at] == id) {
			g->at++;
			g->out->figures.right++;
			logits += g->vocab;
		} else {
			status = look_ahead(g, id, &logits);
		}
	}
	rewind_to(g, g->at);
	if (status == TB_ECANCEL) {
		g->out->stop = GEN_CANCELLED;
		status = TB_OK;
	}
	if (g->out->stop != GEN_STRING)
		show(g, stream_pass(&g->stream, true, &stopped));
	report(g, true);
	return status;
}

enum tb_status
generate(struct chat_model *m, struct session *s, struct token_ids *held,
	 const struct token_ids *prompt, const struct gen_opts *opts, struct tb_job *job,
	 struct gen_result *out, struct tb_err *err)
{
	struct token_ids own = { 0 };
	struct engine_info info;
	struct gen g = {
		.m = m, .s = s, .held = held ? held : &own, .opts = opts, .job = job, .out = out,
		.stream = STREAM(opts->stops, opts->nstops), .began = tb_monotonic(), .err = err,
	};
	enum tb_status status;

	*out = (struct gen_result){ 0 };
	if (!prompt->n)
		return tb_fail(err, TB_EUSAGE, "the prompt is empty");
	if (prompt->n > session_context(s))
		return tb_fail(err, TB_ELIMIT, "the prompt has %zu tokens, the context %u; "
			       "shorten it",
			       prompt->n, session_context(s));
	engine_info(m->engine, &info);
	g.vocab = info.vocab;
	if ((status = sampler_new(&g.sampler, &opts->sampler, info.vocab, err)))
		return status;
	if (!opts->guesser ||
	    !(status = guess_begin(opts->guesser, g.sampler, &opts->sampler, err)))
		status = run(&g, prompt);
	if (!status) {
		for (size_t i = 0, len = g.stream.text.len; out->tokens && i < out->ids.n; i++) {
			struct gen_token *t = &out->tokens[i];

			t->begin = t->begin < len ? t->begin : len;	/* a stop string is cut off */
			t->end = t->end < len ? t->end : len;
		}
		out->text = tb_buf_take(&g.stream.text);
		if (!out->text || tb_buf_failed(&g.stream.raw))
			status = tb_nomem(err);
	}
	if (status)
		gen_result_free(out);
	stream_free(&g.stream);
	sampler_free(g.sampler);
	free(own.v);
	return status;
}
