/* cmd_chat.c - "chat": a conversation, line by line, or one question with -p. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/line.h"
#include "src/cli/run_model.h"
#include "src/cli/table.h"
#include "src/cli/wrap.h"
#include "src/format/json.h"
#include "src/ops/chat/chat.h"

struct chatting {
	struct cli *cli;
	struct chat *chat;
	struct chat_model *model;
	struct chat_opts opts;
	char *system;			/* what /set system gave; owned */
	bool figures;			/* after each answer */
	const char *text;		/* what is said next */
	struct chat_answer answer;
};

/* On a terminal lines end between words. */
static void
show_wrapped(void *arg, const char *text, size_t len)
{
	struct tb_buf clean = TB_BUF(len * 4 + 16), out = TB_BUF(len * 8 + (2u << 20));

	tb_text_clean_lines(&clean, text, len);
	wrap_add(arg, tb_buf_cstr(&clean), clean.len, &out);
	if (tb_buf_failed(&clean))
		cli_lost();
	cli_put_buf(&out);
	fflush(stdout);
	tb_buf_free(&clean);
	tb_buf_free(&out);
}

static void
no_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	(void)text;
	(void)len;
}

static enum tb_status
say(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chatting *c = arg;
	struct wrap wrap = WRAP(cli_columns());
	struct tb_buf last = TB_BUF(2u << 20);
	gen_text_fn *fn = c->cli->json ? no_text : wrap.columns == SIZE_MAX ? run_show_text
									: show_wrapped;
	enum tb_status status = chat_say(c->chat, c->text, fn, &wrap, job, &c->answer, err);

	wrap_end(&wrap, &last);
	cli_put_buf(&last);
	tb_buf_free(&last);
	return status;
}

static enum cli_exit
print_json(const struct chatting *c)
{
	cJSON *o = json_object();

	json_set_str(o, "text", c->answer.gen.text);
	json_set_u64(o, "tokens", c->answer.gen.ids.n);
	json_set_u64(o, "dropped", c->answer.dropped);
	run_json_figures(o, &c->answer.gen);
	return cli_print_json(o);
}

/* One question and its answer. */
static enum cli_exit
turn(struct chatting *c, const char *text)
{
	enum cli_exit status = CLI_OK;
	struct tb_err err;

	c->text = text;
	if (run_quietly(c->cli, say, c, &err))
		return cli_fail(&err);
	if (c->cli->json) {
		status = print_json(c);
	} else {
		putchar('\n');
		if (c->answer.dropped)
			fprintf(stderr, "(dropped %u %s from the beginning: the context is full)\n",
				c->answer.dropped, c->answer.dropped == 1 ? "turn" : "turns");
		if (c->answer.gen.stop == GEN_CANCELLED || c->answer.gen.stop == GEN_CONTEXT)
			fprintf(stderr, "(%s)\n", c->answer.gen.stop == GEN_CANCELLED
				? "stopped" : "the context is full");
		if (c->figures)
			run_print_figures(&c->answer.gen.figures);
	}
	if (c->answer.gen.stop == GEN_CANCELLED)
		status = CLI_WRONG;
	chat_answer_free(&c->answer);
	return status;
}

static void
apply(struct chatting *c)
{
	struct tb_err err;

	if (chat_configure(c->chat, &c->opts, &err))
		(void)cli_fail(&err);
}

static void
cmd_help(struct chatting *c, char *rest)
{
	(void)c;
	(void)rest;
	printf("/set system TEXT       what the model is told first\n"
	       "/set parameter N V     temperature top_p min_p top_k repeat_penalty repeat_last_n\n"
	       "                       num_predict seed\n"
	       "/set verbose|quiet     figures after each answer, or none\n"
	       "/clear                 forget the conversation\n"
	       "/bye                   leave (also ^D)\n"
	       "\"\"\"                    begins and ends a message of several lines\n"
	       "^C                     stops an answer\n");
}

static void
cmd_clear(struct chatting *c, char *rest)
{
	(void)rest;
	chat_clear(c->chat);
	printf("The conversation is forgotten.\n");
}

static char *
word(char **rest)
{
	char *w = *rest + strspn(*rest, " "), *end = w + strcspn(w, " ");

	*rest = end + strspn(end, " ");
	*end = 0;
	return w;
}

static void
cmd_set(struct chatting *c, char *rest)
{
	const char *what = word(&rest);

	if (!strcmp(what, "verbose") || !strcmp(what, "quiet")) {
		c->figures = *what == 'v';
	} else if (!strcmp(what, "system")) {
		free(c->system);
		c->system = tb_strdup(rest);
		c->opts.system = c->system;
		apply(c);
	} else if (!strcmp(what, "parameter")) {
		const char *name = word(&rest);

		if (chat_opts_set(&c->opts, name, word(&rest)))
			apply(c);
		else
			fprintf(stderr, "No such parameter, or no such value; see /help.\n");
	} else {
		fprintf(stderr, "Set what? See /help.\n");
	}
}

static const struct {
	const char *name;
	void (*run)(struct chatting *c, char *rest);	/* NULL: leave */
} commands[] = {
	{ "/bye", NULL }, { "/exit", NULL }, { "/quit", NULL },
	{ "/clear", cmd_clear }, { "/set", cmd_set },
	{ "/help", cmd_help }, { "/?", cmd_help },
};

/* true: leave. */
static bool
command(struct chatting *c, char *line)
{
	char *rest = line;
	const char *name = word(&rest);

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, name))
			continue;
		if (commands[i].run)
			commands[i].run(c, rest);
		return !commands[i].run;
	}
	fprintf(stderr, "No such command; /help lists them.\n");
	return false;
}

/* Until the end of input.  A failed turn does not end the conversation; without a
 * terminal it is the exit status. */
static enum cli_exit
converse(struct chatting *c)
{
	enum cli_exit status = CLI_OK;
	bool terminal = isatty(STDIN_FILENO), leave = false;
	enum line_end end;
	char *line;

	line_init();
	if (terminal && !c->cli->json)
		printf("Type a message; /help lists the commands, /bye leaves.\n");
	while (!leave && (end = line_read_block(&line)) != LINE_EOF) {
		if (end == LINE_INTERRUPTED)
			continue;
		if (*line == '/')
			leave = command(c, line);
		else if (*line) {
			enum cli_exit s = turn(c, line);

			status = terminal || s < status ? status : s;
		}
		free(line);
	}
	return status;
}

static enum cli_exit
chat_with(struct chatting *c, const struct run_sampling *sampling, const char *system,
	  const char *prompt)
{
	enum cli_exit status;
	struct tb_err err;

	chat_opts_init(&c->opts, c->model);
	if (system)
		c->opts.system = system;
	if (run_sampling_apply(sampling, &c->opts.sampler, &c->opts.max_tokens, &c->opts.context,
			       &err) ||
	    chat_new(&c->chat, c->model, &c->opts, &err))
		return cli_fail(&err);
	if (prompt)
		status = turn(c, prompt);
	else
		status = converse(c);
	chat_free(c->chat);
	free(c->system);
	return status;
}

enum cli_exit
cli_chat(struct cli *cli, int argc, char **argv)
{
	struct run_sampling sampling = RUN_SAMPLING;
	struct chatting c = { .cli = cli };
	const char *prompt = NULL, *system = NULL;
	const struct tb_opt opts[] = {
		{ 'p', "prompt", TB_OPT_STR, &prompt, "TEXT", "say this, print the answer, leave; "
		  "- reads it from standard input" },
		{ 0, "system", TB_OPT_STR, &system, "TEXT", "what the model is told first" },
		RUN_SAMPLING_OPTIONS(sampling, RUN_ELSE(SAMPLER_REPEAT_PENALTY)),
		{ .name = NULL }
	};
	struct run_model r;
	struct tb_err err;
	char *text = NULL;
	size_t len;
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 1, 1, &status))
		return status;
	if (prompt && run_prompt(prompt, &text, &len, &err))
		return cli_fail(&err);
	if (run_model_open(&r, cli, argv[1], &err)) {
		free(text);
		return cli_fail(&err);
	}
	c.model = r.model;
	cli_note(cli, chat_model_note(r.model));
	c.figures = cli->verbose;
	status = chat_with(&c, &sampling, system, text);
	run_model_close(&r);
	free(text);
	return status;
}
