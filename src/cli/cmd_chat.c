/* cmd_chat.c - "chat": a conversation, line by line, or one question with -p. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/cli/chat_session.h"
#include "src/cli/line.h"
#include "src/cli/run_model.h"
#include "src/cli/table.h"
#include "src/cli/wrap.h"
#include "src/face/clipboard.h"
#include "src/face/history.h"
#include "src/face/talk.h"
#include "src/format/json.h"

struct chatting {
	struct cli *cli;
	struct talk *talk;		/* a reference */
	const char *tools, *think;	/* of the options; NULL: as usual */
	const char *file;		/* keeps what was evaluated; NULL: none */
	struct chat_session session;
	struct tb_buf with;		/* files that go with the next message */
	bool terminal;
	bool hides_thinking;
	struct run_format format;	/* what answers have to look like */
};

/* An answer on its way. */
struct showing {
	struct chatting *c;
	struct talk_call *call;
	struct wrap wrap;
	bool thinking;			/* what came last is what it thinks */
};

/* On a terminal lines end between words. */
static void
show_text(struct showing *w, const char *text, size_t len)
{
	struct tb_buf clean = TB_BUF(len * 4 + 16), out = TB_BUF(len * 8 + (2u << 20));

	if (w->wrap.columns == SIZE_MAX) {
		cli_put_lines(text, len);
		fflush(stdout);
		return;
	}
	tb_text_clean_lines(&clean, text, len);
	wrap_add(&w->wrap, tb_buf_cstr(&clean), clean.len, &out);
	if (tb_buf_failed(&clean))
		cli_lost();
	cli_put_buf(&out);
	fflush(stdout);
	tb_buf_free(&clean);
	tb_buf_free(&out);
}

/* Where what it thinks begins and ends: said, and shown by a weaker colour. */
static void
show_thinking(struct showing *w, bool begins)
{
	const bool mono = w->c->talk->ctx->mono;
	struct tb_buf last = TB_BUF(2u << 20);

	if (w->thinking == begins)
		return;
	w->thinking = begins;
	wrap_end(&w->wrap, &last);
	cli_put_buf(&last);
	tb_buf_free(&last);
	if (begins)
		printf("%sThinking...\n", mono ? "" : "\033[2m");
	else
		printf("\n...done thinking.%s\n\n", mono ? "" : "\033[m");
}

/* What it thinks is for a person who watches. */
static void
show_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	struct showing *w = arg;

	if (w->c->cli->json || (kind == GEN_MSG_THINKING &&
				(w->c->hides_thinking || !isatty(STDOUT_FILENO))))
		return;
	show_thinking(w, kind == GEN_MSG_THINKING);
	show_text(w, text, len);
}

static enum tb_status
chat_work(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct showing *w = arg;
	struct tb_buf last = TB_BUF(2u << 20);
	enum tb_status status;

	w->wrap.columns = w->c->talk->unwrapped ? SIZE_MAX : cli_columns(STDOUT_FILENO);
	status = talk_work(w->call, show_piece, w, job, err);
	show_thinking(w, false);
	wrap_end(&w->wrap, &last);
	cli_put_buf(&last);
	tb_buf_free(&last);
	return status;
}

/* Calls are of the answer; how to go on is said beside it. */
static void
show_calls(const struct chatting *c, const struct chat_answer *a)
{
	struct tb_buf calls = TB_BUF(SIZE_MAX), clean = TB_BUF(SIZE_MAX);

	talk_calls_say(a->tool_calls, &calls);
	tb_text_clean_lines(&clean, tb_buf_cstr(&calls), calls.len);
	if (calls.len) {
		puts(tb_buf_cstr(&clean));
		fflush(stdout);
		cli_note(c->cli, TALK_CALLS_HINT);
	}
	tb_buf_free(&calls);
	tb_buf_free(&clean);
}

/* What a call, or thinking, is as JSON. */
static void
show_parts_json(cJSON *o, const struct chat_answer *a)
{
	cJSON *calls;

	if (a->thinking)
		json_set_str(o, "thinking", a->thinking);
	if (a->tool_calls &&
	    !json_parse(&calls, a->tool_calls, strlen(a->tool_calls), "calls", NULL))
		json_set(o, "tool_calls", calls);
}

static enum tb_status
chat_open_file(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chatting *c = arg;
	enum tb_status status = chat_take_up(c->talk->chat, c->file, job, err);

	return status == TB_ENOENT ? TB_OK : status;
}

static enum tb_status
chat_close_file(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chatting *c = arg;

	return chat_keep(c->talk->chat, c->file, job, err);
}

static enum cli_exit
show_answer(struct chatting *c, const struct chat_answer *a)
{
	enum cli_exit status = CLI_OK;
	cJSON *o;

	if (c->cli->json) {
		o = json_object();
		json_set_str(o, "text", a->gen.text);
		show_parts_json(o, a);
		json_set_u64(o, "tokens", a->gen.ids.n ? a->gen.ids.n : a->gen.figures.tokens);
		json_set_u64(o, "dropped", a->dropped);
		if (chat_number(c->talk->chat))
			json_set_i64(o, "session", chat_number(c->talk->chat));
		run_json_figures(o, &a->gen);
		status = cli_print_json(o);
	} else {
		if (*a->gen.text || !a->tool_calls)
			putchar('\n');
		show_calls(c, a);
		if (a->dropped)
			fprintf(stderr, "(dropped %u %s from the beginning: the context is full)\n",
				a->dropped, a->dropped == 1 ? "turn" : "turns");
		if (talk_broke_off(a->gen.stop))
			fprintf(stderr, "(%s)\n", talk_broke_off(a->gen.stop));
		cli_note(c->cli, a->note);
		if (c->talk->figures)
			run_print_figures(&a->gen.figures);
	}
	return a->gen.stop == GEN_CANCELLED ? CLI_WRONG : status;
}

/* To the terminal's clipboard; where there is none it is printed. */
static void
show_copied(const struct talk_call *call)
{
	struct tb_buf out = TB_BUF(1u << 20);

	if (isatty(STDOUT_FILENO) && clipboard_takes(call->say.len)) {
		clipboard_put(call->say.p, call->say.len, &out);
		cli_put_buf(&out);
		fflush(stdout);
		fprintf(stderr, "Copied %s: %zu bytes.\n", call->copied, call->say.len);
	} else {
		cli_put_lines(tb_buf_cstr(&call->say), call->say.len);
		if (call->say.len && call->say.p[call->say.len - 1] != '\n')
			putchar('\n');
	}
	tb_buf_free(&out);
}

/* What a command has to say: to be read on standard output, else beside it. */
static enum cli_exit
show_result(struct chatting *c, struct talk_call *call)
{
	const char *text = tb_buf_cstr(&call->say);
	struct tb_buf clean = TB_BUF(SIZE_MAX);

	tb_text_clean_lines(&clean, text, strlen(text));
	if (call->did == TALK_COPY && !c->cli->json)
		show_copied(call);
	else if (*text)
		fprintf(call->did == TALK_TEXT ? stdout : stderr, "%s\n", tb_buf_cstr(&clean));
	fflush(stdout);
	tb_buf_free(&clean);
	if (call->put && call->put_long)
		tb_buf_printf(&c->with, "%s\n", call->put);
	else if (call->put && c->terminal)
		line_preset(call->put);
	return call->asks ? show_answer(c, &call->answer) : CLI_OK;
}

/* A line that was sent, and what comes of it. */
static enum cli_exit
say(struct chatting *c, struct talk_call *call)
{
	struct showing w = { c, call, .wrap = WRAP(SIZE_MAX) };
	struct tb_err err;
	enum tb_status status;

	if (talk_is_quick(call)) {
		talk_at_once(call);
		return show_result(c, call);
	}
	talk_start(call);
	status = run_quietly(c->cli, chat_work, &w, &err);
	talk_end(call);
	return status ? cli_fail(&err) : show_result(c, call);
}

/* What was read of files goes in front of a message. */
static struct talk_call *
call_of(struct chatting *c, const char *line)
{
	struct talk_call *call;

	if (!c->with.len || talk_is_command(line))
		return talk_call_new(c->talk, line);
	tb_buf_str(&c->with, line);
	call = tb_buf_failed(&c->with) ? NULL : talk_call_new(c->talk, tb_buf_cstr(&c->with));
	tb_buf_clear(&c->with);
	return call;
}

static enum cli_exit
turn(struct chatting *c, struct talk_call *call, bool *leave)
{
	enum cli_exit status;

	if (!call)
		cli_lost();
	*leave = call->did == TALK_LEAVE;
	status = *leave ? CLI_OK : say(c, call);
	talk_call_free(call);
	return status;
}

static const char *
complete_talk(void *arg, const char *text, size_t i)
{
	struct chatting *c = arg;

	return c->talk ? talk_complete(c->talk, text, i) : NULL;
}

static void
read_history(struct chatting *c)
{
	struct tb_names past;

	if (history_read(c->talk->history, &past, NULL))
		return;
	for (size_t i = 0; i < past.n; i++)
		line_remember(past.v[i]);
	tb_names_free(&past);
}

/* Until the end of input.  A failed turn does not end the conversation; without a
 * terminal it is the exit status. */
static enum cli_exit
converse(struct chatting *c)
{
	enum cli_exit status = CLI_OK;
	bool leave = false;
	enum line_end end;
	char *text;

	if (c->terminal)
		read_history(c);
	if (c->terminal && !c->cli->json)
		printf("Type a message; /help lists the commands, /bye leaves.\n");
	while (!leave && (end = line_read_block(&text)) != LINE_EOF) {
		if (end == LINE_INTERRUPTED)
			continue;
		if (text[strspn(text, " \t\n")]) {
			enum cli_exit s;

			line_remember(text);
			if (c->terminal)
				talk_remember(c->talk, text);
			s = turn(c, call_of(c, text), &leave);
			status = c->terminal || s < status ? status : s;
		}
		free(text);
	}
	return status;
}

/* A model behind a URL. */
struct reaching {
	const char *url;
	struct speaker *speaker;
	struct chat_opts opts;
};

static enum tb_status
chat_reach(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct reaching *r = arg;

	return speaker_remote_new(&r->speaker, r->url, &r->opts, job, err);
}

/* What the options say counts more than what a session had. */
static enum tb_status
insist(struct chatting *c, struct tb_err *err)
{
	const struct run_format *f = &c->format;
	struct chat_opts *o = &c->talk->opts;
	struct grammar *g;
	enum tb_status status = TB_OK;

	if (c->think && !chat_opts_set(o, "think", c->think))
		return tb_fail(err, TB_EUSAGE, "--think: on, off, low, medium, high or max");
	if (c->think)
		status = chat_configure(c->talk->chat, o, err);
	if (!status && c->tools)
		status = talk_tools_read(c->talk, c->tools, err);
	if (!status)
		status = run_format_apply(f, &g, err);
	return status || !g ? status
	     : chat_constrain(c->talk->chat, g, f->schema ? f->schema : f->grammar ? f->grammar
								     : f->format, err);
}

static enum cli_exit
chat_remote(struct chatting *c, struct run_model *model, const char *url,
	    const struct run_sampling *s, const struct run_guessing *guessing,
	    const char *system, const char *prompt)
{
	struct reaching r = { .url = url };
	struct tb_buf text = TB_BUF(64u << 20);
	enum cli_exit end = CLI_FAILED;
	struct tb_err err;
	bool leave;
	enum tb_status status = run_remote_check(model, c->cli, s, guessing, c->file, &err);

	if (!status)
		status = cli_ctx(c->cli, &model->ctx, &err);
	if (!status && prompt)
		status = cli_read_text(prompt, &text, &err);
	if (!status)
		status = cli_run(c->cli, "Asking", chat_reach, &r, &err);
	if (!status) {
		cli_note(c->cli, speaker_note(r.speaker));
		status = talk_new_remote(&c->talk, r.speaker, &r.opts, &model->ctx, &err);
	}
	if (!status) {
		struct chat_opts *o = &c->talk->opts;

		c->talk->lines = true;
		c->talk->figures = c->cli->verbose;
		if (system)
			talk_tell(c->talk, system);
		status = chat_sampling_apply(s, o, &o->context, &err);
	}
	if (!status)
		status = talk_begin(c->talk, &err);
	if (!status)
		status = chat_session_begin(&c->session, c->cli, c->talk, s, system, prompt, &err);
	if (!status)
		status = insist(c, &err);
	if (status)
		cli_fail(&err);
	else
		end = prompt ? turn(c, talk_call_say(c->talk, tb_buf_cstr(&text)), &leave) : converse(c);
	tb_buf_free(&text);
	return end;
}

/* The model becomes the talk's. */
static enum cli_exit
chat_with(struct chatting *c, struct run_model *r, const struct run_sampling *sampling,
	  const struct run_guessing *guessing, const char *system, const char *prompt)
{
	enum guess_how guess;
	enum cli_exit end;
	bool leave;
	struct tb_err err;
	enum tb_status status;

	if (run_guessing_apply(guessing, c->cli, r, &guess, &err))
		return cli_fail(&err);
	status = talk_new(&c->talk, r->model, &r->ctx, &err);
	r->model = NULL;
	if (!status) {
		struct chat_opts *o = &c->talk->opts;

		o->guess = guess;
		c->talk->lines = true;
		c->talk->figures = c->cli->verbose;
		if (system)
			talk_tell(c->talk, system);
		status = chat_sampling_apply(sampling, o, &o->context, &err);
	}
	if (!status)
		status = talk_begin(c->talk, &err);
	if (!status && c->file)
		status = cli_run(c->cli, "Reading", chat_open_file, c, &err);
	if (!status)
		status = chat_session_begin(&c->session, c->cli, c->talk, sampling, system, prompt, &err);
	if (!status)
		status = insist(c, &err);
	if (status)
		return cli_fail(&err);
	end = prompt ? turn(c, talk_call_say(c->talk, prompt), &leave) : converse(c);
	if (chat_session_end(c->cli, c->talk, &err))
		cli_note(c->cli, err.msg);
	return c->file && cli_run(c->cli, "Keeping", chat_close_file, c, &err) ? cli_fail(&err) : end;
}

COMMAND(cli_chat, "chat", "[REF]", "talk with a model, line by line")
{
	struct run_sampling sampling = RUN_SAMPLING;
	struct run_guessing guessing = { .none = false };
	struct chatting c = { .cli = cli, .with = TB_BUF(64u << 20) };
	struct run_model r = { .ref = NULL };
	const char *prompt = NULL, *system = NULL;
	const struct tb_opt opts[] = {
		{ 'p', "prompt", TB_OPT_STR, &prompt, "TEXT", "say this, print the answer, leave; "
		  "- reads it from standard input" },
		{ 0, "system", TB_OPT_STR, &system, "TEXT", "what the model is told first" },
		RUN_SAMPLING_OPTIONS(sampling, RUN_ELSE(SAMPLER_REPEAT_PENALTY)),
		RUN_ADAPTER_OPTION(r),
		RUN_TEMPLATE_OPTION(cli),
		{ 0, "think", TB_OPT_STR, &c.think, "HOW", "whether it thinks first, where its "
		  "template knows of that: on, off, low, medium, high, max" },
		{ 0, "hide-thinking", TB_OPT_FLAG, &c.hides_thinking, NULL, "do not show what it thinks before the "
		  "answer (a terminal alone does)" },
		{ 0, "tools", TB_OPT_STR, &c.tools, "FILE", "tools that it may call (JSON, as for "
		  "OpenAI's API); calls are shown, nothing is run: /result TEXT is the answer" },
		RUN_ENGINE_OPTIONS(cli),
		RUN_GUESSING_OPTIONS(guessing),
		RUN_FORMAT_OPTIONS(c.format),
		RUN_SESSION_OPTION(c.file),
		CHAT_SESSION_OPTIONS(c.session),
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;
	char *ref = NULL, *url = NULL;
	const char *who;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &status))
		return status;
	if (argc < 2 && !c.session.which)
		return cli_usage("chat with whom?  tbtui chat REF; \"tbtui ls\" lists models");
	if (argc < 2 && chat_session_ref(&c.session, cli, &ref, &err))
		return cli_fail(&err);
	who = ref ? ref : argv[1];
	c.terminal = !prompt && isatty(STDIN_FILENO);
	if (!prompt)
		line_take(complete_talk, &c);
	if (run_address(who, &url, &err)) {
		status = cli_fail(&err);
	} else if (url) {
		status = chat_remote(&c, &r, url, &sampling, &guessing, system, prompt);
	} else if (run_model_open(&r, cli, who, prompt, &err)) {
		status = cli_fail(&err);
	} else {
		cli_note(cli, chat_model_note(r.model));
		status = chat_with(&c, &r, &sampling, &guessing, system,
				   prompt ? tb_buf_cstr(&r.text) : NULL);
	}
	line_give();
	tb_buf_free(&c.with);
	talk_unref(c.talk);
	run_model_close(&r);
	tb_strs_free(&sampling.stops);
	free(url);
	free(ref);
	return status;
}
