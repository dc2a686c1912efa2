#include "config.h"

#include "src/ops/serve/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/httpd.h"
#include "src/ops/serve/forced.h"
#include "src/ops/serve/reply.h"
#include "src/text/answer.h"
#include "src/text/constraint.h"
#include "src/text/grammar.h"

#define PROMPT_MAX (64u << 20)
#define REPLY_MAX (256u << 20)

static answer_fn on_part;

struct exchange {
	struct hosted *on;
	struct httpd_request *http;
	struct serve_request ask;
	struct batch_task task;
	struct tb_job *job;		/* owned: the task's */
	struct grammar *grammar;	/* owned, with … */
	struct constraint *constraint;	/* NULL: any text */
	struct answer *answer;		/* owned; NULL: all of it is text */
	struct reply reply;
	char id[40];
	const char *stops[CHAT_MAX_STOPS + REQUEST_STOPS];
	bool first;			/* nothing was sent yet */
	bool called;			/* tools */
	/* Where tokens are told: the text before them waits. */
	struct tb_buf text;
	size_t offset;			/* of it in the whole */
	struct gen_token *tokens;
	size_t ntokens, cap;
	exchange_done_fn *done;
	void *arg;
	double began;
};

static void
exchange_free(struct exchange *x)
{
	serve_request_free(&x->ask);
	gen_result_free(&x->task.result);
	free(x->task.prompt.v);
	constraint_free(x->constraint);
	grammar_free(x->grammar);
	answer_free(x->answer);
	tb_job_free(x->job);
	tb_buf_free(&x->text);
	free(x->tokens);
	free(x);
}

static void
tell_done(struct exchange *x, unsigned status, const char *how)
{
	const struct gen_figures *f = &x->task.result.figures;
	const struct exchange_end end = {
		.on = x->on, .model = x->on->name, .status = status, .how = how,
		.figures = f->prompt_tokens + f->reused_tokens ? f : NULL,
	};

	x->done(x->arg, x->http, &end, x->began);
}

/* ---- what the model reads ---- */

/* The messages of the request, behind what the model wants every conversation to begin with, as
 * Ollama has it: its system prompt unless there is another, and its messages. */
static enum tb_status
begin_conversation(struct exchange *x, struct tb_err *err)
{
	const struct chat_model *m = x->on->model;
	struct serve_request *ask = &x->ask;
	struct chat_message *all = tb_arena_get(&ask->texts, (ask->nmessages + m->nsaid + 1) *
						sizeof(*all));
	bool system = ask->nmessages && !strcmp(ask->messages[0].role, "system");
	size_t n = 0;

	if (!all)
		return tb_nomem(err);
	if (system)
		all[n++] = ask->messages[0];
	else if (m->system && *m->system)
		all[n++] = (struct chat_message){ .role = "system", .content = m->system };
	for (size_t i = 0; i < m->nsaid; i++)
		all[n++] = m->said[i];
	for (size_t i = system; i < ask->nmessages; i++)
		all[n++] = ask->messages[i];
	ask->messages = all;
	ask->nmessages = n;
	return TB_OK;
}

/* Without a template: each message of the person on a line of its own. */
static void
as_text(const struct serve_request *ask, struct tb_buf *text)
{
	for (size_t i = 0; i < ask->nmessages; i++) {
		if (i && text->len && text->p[text->len - 1] != '\n' &&
		    strcmp(ask->messages[i].role, "assistant"))
			tb_buf_chr(text, '\n');
		tb_buf_str(text, ask->messages[i].content);
	}
}

static enum tb_status
render(struct exchange *x, struct tb_buf *text, struct tb_err *err)
{
	const struct chat_model *m = x->on->model;
	const struct serve_request *ask = &x->ask;
	struct chat_vars vars = {
		.messages = ask->messages, .nmessages = ask->nmessages, .tools = ask->tools,
		.bos_token = m->bos, .eos_token = m->eos, .think = ask->think,
		.think_level = ask->think_level, .add_generation_prompt = true,
		.forgive_no_tools = true,
	};
	enum tb_status status = TB_OK;

	if (ask->prompt)
		tb_buf_str(text, ask->prompt);
	else if (m->template)
		status = chat_template_render(m->template, &vars, text, err);
	else if (m->template_err.code == TB_ENOENT)
		as_text(ask, text);
	else
		status = tb_pass(err, &m->template_err);
	return status ? status : tb_buf_status(text, "the conversation", err);
}

/* Tools whose calls are looked for in the text: where it has to be a call it is one. */
static const cJSON *
tools_in_text(const struct exchange *x)
{
	return x->ask.must_call ? NULL : x->ask.tools;
}

static enum tb_status
read_prompt(struct exchange *x, struct tb_err *err)
{
	const struct chat_model *m = x->on->model;
	struct tb_buf text = TB_BUF(PROMPT_MAX);
	bool plain = x->ask.prompt || !m->template;
	enum tb_status status = x->ask.prompt ? TB_OK : begin_conversation(x, err);

	if (!status)
		status = render(x, &text, err);
	if (!status && x->ask.prompt)
		status = tokenizer_encode(m->tokenizer, tb_buf_cstr(&text), text.len, true, false,
					  &x->task.prompt, err);
	else if (!status)
		status = chat_model_encode(m, &text, &x->task.prompt, err);
	if (!plain)
		x->task.gen.behind = answer_thinks(m->template, tb_buf_cstr(&text));
	if (!status && !plain)
		status = answer_new(&x->answer, m->template, tools_in_text(x), tb_buf_cstr(&text),
				    on_part, x, err);
	tb_buf_free(&text);
	if (!status && !x->task.prompt.n)
		status = tb_fail(err, TB_EUSAGE, "the prompt is empty");
	if (!status && x->task.prompt.n >= batch_context(x->on->batch))
		status = tb_fail(err, TB_ELIMIT, "this model's context has room for %" PRIu32 " tokens, and "
				 "the prompt has %zu; shorten it, or start the server with a larger "
				 "--ctx", batch_context(x->on->batch), x->task.prompt.n);
	return status;
}

static enum tb_status
set_format(struct exchange *x, struct tb_err *err)
{
	const struct serve_request *ask = &x->ask;
	enum tb_status status;
	char *text;

	if (ask->must_call) {
		status = forced_grammar(&x->grammar, ask->tools, ask->must_name, err);
	} else if (ask->format == FORMAT_TEXT) {
		return TB_OK;
	} else if (ask->format == FORMAT_JSON) {
		status = grammar_json(&x->grammar, err);
	} else {
		if (!(text = json_print(ask->schema)))
			return tb_nomem(err);
		status = grammar_schema(&x->grammar, text, strlen(text), "the schema", err);
		free(text);
	}
	if (!status)
		status = chat_model_constrain(x->on->model, x->grammar, &x->constraint, err);
	if (status)
		x->ask.param = ask->must_call ? "tool_choice" : api_ollama(ask->api) ? "format"
									     : "response_format";
	return status;
}

static void
set_options(struct exchange *x)
{
	const struct chat_model *m = x->on->model;
	struct gen_opts *o = &x->task.gen;

	o->sampler = m->sampler;
	o->max_tokens = m->max_tokens;
	if (x->ask.prompt)
		o->sampler.repeat_penalty = 1;	/* continuing text is no conversation */
	if (!x->ask.said[NUMBER_SEED] &&
	    getrandom(&o->sampler.seed, sizeof(o->sampler.seed), 0) != sizeof(o->sampler.seed))
		o->sampler.seed = x->on->made;
	serve_request_sampling(&x->ask, &o->sampler, &o->max_tokens);
	for (size_t i = 0; i < m->nstops; i++)
		x->stops[o->nstops++] = m->stops[i];
	for (size_t i = 0; i < x->ask.nstops; i++)
		x->stops[o->nstops++] = x->ask.stops[i];
	o->stops = x->stops;
	o->ignore_eos = x->ask.ignore_eos;
	o->begins = !x->ask.prompt && m->template;
	o->constraint = x->constraint;
	o->specials = !x->ask.prompt && m->template && chat_model_hides_tags(m, tools_in_text(x) != NULL);
	o->top = x->ask.logprobs && !x->ask.top ? 1 : x->ask.top;
}

/* ---- what goes back ---- */

static void
send_piece(struct exchange *x, struct reply_piece *p)
{
	struct tb_buf out = TB_BUF(REPLY_MAX);

	p->first = x->first;
	p->called = x->called;
	x->first = false;
	reply_add_piece(&x->reply, p, &out);
	if (p->end)
		reply_add_end(&x->reply, p->end, &out);
	if (tb_buf_failed(&out) || !httpd_write(x->http, tb_buf_cstr(&out), out.len))
		tb_job_cancel(x->job);
	tb_buf_free(&out);
}

/* Messages of the job: tokens of the text that waits, which are taken where they are asked for. */
static void
drain(struct exchange *x)
{
	for (struct tb_msg *m = tb_job_take(x->job), *next; m; m = next) {
		next = m->next;
		if (m->kind == GEN_MSG_TOKEN && x->ask.logprobs && x->ask.stream &&
		    tb_grow(&x->tokens, &x->cap, x->ntokens + 1, sizeof(*x->tokens)))
			memcpy(&x->tokens[x->ntokens++], m->data, sizeof(*x->tokens));
		free(m);
	}
}

/* Text that waited, with its tokens. */
static void
send_waiting(struct exchange *x, const struct gen_result *end)
{
	struct reply_piece p = {
		.text = x->text.len || !end ? tb_buf_cstr(&x->text) : NULL, .len = x->text.len,
		.tokens = x->ntokens ? x->tokens : NULL, .ntokens = x->ntokens,
		.offset = x->offset, .end = end,
	};

	send_piece(x, &p);
	x->offset += x->text.len;
	tb_buf_clear(&x->text);
	x->ntokens = 0;
}

/* A piece of what is said or thought, of one that is streamed. */
static void
on_part(void *arg, enum answer_part part, const char *text, size_t len)
{
	struct exchange *x = arg;
	struct reply_piece thought = { .thinking = text, .thinking_len = len };

	if (!x->ask.stream || !len || (x->ask.must_call && part == ANSWER_TEXT))
		return;
	if (x->text.len)
		send_waiting(x, NULL);
	if (part == ANSWER_THINKING) {
		send_piece(x, &thought);
		return;
	}
	tb_buf_add(&x->text, text, len);
	if (!x->ask.logprobs)
		send_waiting(x, NULL);
}

/* A piece of the answer, on the batch's thread. */
static void
on_text(void *arg, const char *text, size_t len)
{
	struct exchange *x = arg;

	drain(x);
	if (x->answer)
		answer_add(x->answer, text, len);
	else
		on_part(x, ANSWER_TEXT, text, len);
}

static const char *
whole_text(const struct exchange *x)
{
	const char *text = x->answer ? answer_text(x->answer) : x->task.result.text;

	return text ? text : "";
}

/* Calls of tools, in fresh memory; NULL: none. */
static char *
end_answer(struct exchange *x)
{
	if (x->answer)
		answer_end(x->answer);
	return x->ask.must_call ? forced_call(whole_text(x), x->ask.tools)
	     : x->answer ? answer_calls(x->answer) : NULL;
}

static void
answer_error(struct exchange *x, unsigned status, const char *message, const char *type,
	     const char *code, const char *header)
{
	struct tb_buf out = TB_BUF(REPLY_MAX);

	reply_add_error(api_ollama(x->ask.api), message, type, x->ask.param, code, &out);
	httpd_answer(x->http, status, "application/json", &out, header);
	tell_done(x, status, code ? code : "error");
}

/* Nothing more will come for a stream. */
static void
end_stream(struct exchange *x, enum tb_status status, const struct tb_err *err)
{
	struct tb_buf out = TB_BUF(REPLY_MAX);
	struct reply_piece called = { .calls = end_answer(x) };

	if (called.calls) {
		if (x->text.len)
			send_waiting(x, NULL);
		send_piece(x, &called);
		x->called = true;
	}
	if (x->ask.must_call && !called.calls)	/* it was cut off, and nothing of it was shown */
		tb_buf_str(&x->text, whole_text(x));
	free((char *)called.calls);
	if (!status) {
		send_waiting(x, &x->task.result);
	} else {
		reply_add_broken(&x->reply, err && *err->msg ? err->msg : "the server is ending", &out);
		(void)httpd_write(x->http, tb_buf_cstr(&out), out.len);
		tb_buf_free(&out);
	}
	httpd_end(x->http);
}

static void
end_whole(struct exchange *x, enum tb_status status, const struct tb_err *err)
{
	const struct gen_result *g = &x->task.result;
	struct reply_piece p = { .end = g };
	struct tb_buf out = TB_BUF(REPLY_MAX);

	if (status) {
		reply_add_error(api_ollama(x->ask.api), status == TB_ECANCEL ? "the server is ending"
				: err->msg, "server_error", NULL, NULL, &out);
		httpd_answer(x->http, status == TB_ECANCEL ? 503 : 500, "application/json", &out, NULL);
		return;
	}
	p.calls = end_answer(x);
	p.called = p.calls;
	p.text = x->ask.must_call && p.calls ? "" : whole_text(x);
	p.len = strlen(p.text);
	p.text = p.len || !p.calls ? p.text : NULL;
	p.thinking = x->answer ? answer_thinking(x->answer) : NULL;
	p.thinking_len = p.thinking ? strlen(p.thinking) : 0;
	if (x->ask.logprobs) {
		p.tokens = g->tokens;
		p.ntokens = g->tokens ? g->ids.n : 0;
	}
	reply_add_whole(&x->reply, &p, &out);
	free((char *)p.calls);
	httpd_answer(x->http, 200, "application/json", &out, NULL);
}

/* The batch has done with it. */
static void
on_done(void *arg, enum tb_status status, const struct tb_err *err)
{
	struct exchange *x = arg;
	bool gone = tb_job_cancelled(x->job);
	const char *how = gone ? "gone" : status == TB_ECANCEL ? "ended" : status ? "error"
				 : reply_finish(&x->task.result, false);

	httpd_when_gone(x->http, NULL, NULL);
	drain(x);
	if (x->ask.stream)
		end_stream(x, status, err);
	else
		end_whole(x, status, err);
	tell_done(x, gone ? 0 : x->ask.stream || !status ? 200 : status == TB_ECANCEL ? 503 : 500, how);
	httpd_drop(x->http);
	exchange_free(x);
}

/* ---- both ---- */

static void
on_gone(void *job)
{
	tb_job_cancel(job);
}

static void
name_answer(struct exchange *x)
{
	snprintf(x->id, sizeof(x->id), "%s-%08" PRIx64 "%08" PRIx64,
		 x->ask.api == API_COMPLETION ? "cmpl" : "chatcmpl",
		 (uint64_t)(tb_now_ns() / 1000000000) & UINT32_MAX, ++x->on->made & UINT32_MAX);
	x->reply = (struct reply){
		.api = x->ask.api, .id = x->id, .model = x->on->name,
		.created = tb_now_ns() / 1000000000, .tokenizer = x->on->model->tokenizer,
		.top = x->ask.top, .usage = x->ask.usage, .began = x->began,
	};
}

/* The batch answers from now on. */
static void
hand_over(struct exchange *x, double seconds)
{
	httpd_hold(x->http);
	x->task.gen.text = on_text;
	x->task.gen.text_arg = x;
	x->task.job = x->job;
	x->task.deadline = seconds > 0 ? x->began + seconds : 0;
	x->task.done = on_done;
	x->task.arg = x;
	httpd_when_gone(x->http, on_gone, x->job);
	if (x->ask.stream)
		httpd_begin(x->http, reply_type(x->ask.api, true));
	batch_add(x->on->batch, &x->task);
}

void
exchange_refuse(struct hosted *h, struct httpd_request *http, struct serve_request *ask,
		unsigned status, const char *message, const char *code, exchange_done_fn *done,
		void *arg)
{
	struct exchange none = { .on = h, .http = http, .ask = *ask, .began = tb_monotonic(),
				 .done = done, .arg = arg };

	answer_error(&none, status, message, "server_error", code, status == 503 ? "Retry-After: 10"
										  : NULL);
	serve_request_free(ask);
}

void
exchange_begin(struct hosted *h, struct httpd_request *http, struct serve_request *ask,
	       double since, double seconds, exchange_done_fn *done, void *arg)
{
	struct exchange *x = tb_calloc(1, sizeof(*x)), none = { .on = h, .http = http, .done = done,
								.arg = arg };
	struct tb_err err = { 0 };
	char retry[40];
	enum tb_status status;

	none.began = since;
	if (x) {
		*x = none;
		x->ask = *ask;
		x->first = true;
		x->text = TB_BUF(REPLY_MAX);
		x->job = tb_job_new(-1);
	}
	if (!x || !x->job) {
		answer_error(&none, 503, "no memory", "server_error", NULL, "Retry-After: 10");
		if (!x)
			serve_request_free(ask);
		else
			exchange_free(x);
		return;
	}
	name_answer(x);
	if (!(status = set_format(x, &err)))
		status = read_prompt(x, &err);
	if (!status)
		set_options(x);
	if (status) {
		answer_error(x, status == TB_ENOMEM ? 503 : 400, err.msg, "invalid_request_error",
			     status == TB_ELIMIT ? "context_length_exceeded" : NULL, NULL);
		exchange_free(x);
	} else if (!batch_reserve(h->batch)) {
		snprintf(retry, sizeof(retry), "Retry-After: %u", batch_patience(h->batch));
		answer_error(x, 503, "all places are taken and the queue is full; try again later",
			     "server_error", "queue_full", retry);
		exchange_free(x);
	} else {
		hand_over(x, seconds);
	}
}
