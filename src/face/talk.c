#include "config.h"

#include "src/face/talk.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"

enum tb_status
talk_new(struct talk **out, struct chat_model *model, struct tb_err *err)
{
	struct talk *t = tb_calloc(1, sizeof(*t));

	*out = t;
	if (!t) {
		chat_model_free(model);
		return tb_nomem(err);
	}
	atomic_store(&t->refs, 1);
	t->model = model;
	chat_opts_init(&t->opts, model);
	return TB_OK;
}

enum tb_status
talk_new_remote(struct talk **out, struct speaker *speaker, const struct chat_opts *opts,
		struct tb_err *err)
{
	struct talk *t = tb_calloc(1, sizeof(*t));
	enum tb_status status;

	*out = t;
	if (!t) {
		speaker_free(speaker);
		return tb_nomem(err);
	}
	atomic_store(&t->refs, 1);
	t->opts = *opts;
	if ((status = chat_begin(&t->chat, speaker, opts, err))) {
		talk_unref(t);
		*out = NULL;
	}
	return status;
}

enum tb_status
talk_begin(struct talk *t, struct tb_err *err)
{
	return t->model ? chat_new(&t->chat, t->model, &t->opts, err)
			: chat_configure(t->chat, &t->opts, err);
}

struct talk *
talk_ref(struct talk *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void
talk_unref(struct talk *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	chat_free(t->chat);
	chat_model_free(t->model);
	free(t->system);
	free(t);
}

/* ---- lines that begin with "/" ---- */

/* Cuts the next word off. */
static char *
talk_word(char **rest)
{
	char *w = *rest + strspn(*rest, " "), *end = w + strcspn(w, " ");

	*rest = end + strspn(end, " ");
	*end = 0;
	return w;
}

static enum talk_did
talk_configure(struct talk *t, const char *done, struct tb_buf *say)
{
	struct tb_err err;
	enum tb_status status = chat_configure(t->chat, &t->opts, &err);

	tb_buf_str(say, status ? err.msg : done);
	return status ? TALK_REFUSED : TALK_SET;
}

static enum talk_did
talk_set(struct talk *t, char *rest, struct tb_buf *say)
{
	const char *name = talk_word(&rest);

	if (t->lines && (!strcmp(name, "verbose") || !strcmp(name, "quiet"))) {
		t->figures = *name == 'v';
		tb_buf_str(say, "set");
		return TALK_SET;
	}
	if (!strcmp(name, "system")) {
		free(t->system);
		t->system = tb_strdup(rest);
		t->opts.system = t->system;
		return talk_configure(t, "the system message is another one from now on", say);
	}
	if (!strcmp(name, "parameter"))
		name = talk_word(&rest);
	if (chat_opts_set(&t->opts, name, talk_word(&rest)))
		return talk_configure(t, "set", say);
	tb_buf_str(say, "No such parameter, or no such value; see /help.");
	return TALK_REFUSED;
}

static enum talk_did
talk_clear(struct talk *t, char *rest, struct tb_buf *say)
{
	(void)rest;
	chat_clear(t->chat);
	tb_buf_str(say, "The conversation is forgotten.");
	return TALK_CLEARED;
}

/* What is typed besides messages; ALWAYS: in lines and on a screen. */
enum talk_where { ALWAYS, IN_LINES, ON_SCREEN };
static const struct { const char *what, *does; enum talk_where where; } talk_help_rows[] = {
	{ "/set system TEXT", "what the model is told first", ALWAYS },
	{ "/set NAME VALUE", "temperature top_p min_p top_k repeat_penalty", ALWAYS },
	{ "", "repeat_last_n num_predict seed kv", ALWAYS },
	{ "/set verbose|quiet", "figures after each answer, or none", IN_LINES },
	{ "/clear", "forget the conversation", ALWAYS },
	{ "/bye", "leave (also ^D)", IN_LINES },
	{ "/bye", "leave; the conversation waits for you", ON_SCREEN },
	{ "\"\"\"", "begins and ends a message of several lines", IN_LINES },
	{ "^C", "stops an answer", IN_LINES },
};

static enum talk_did
talk_help(struct talk *t, char *rest, struct tb_buf *say)
{
	const char *end = "";

	(void)rest;
	for (size_t i = 0; i < sizeof(talk_help_rows) / sizeof(*talk_help_rows); i++) {
		if (talk_help_rows[i].where == (t->lines ? ON_SCREEN : IN_LINES))
			continue;
		tb_buf_printf(say, "%s%-20s%s", end, talk_help_rows[i].what, talk_help_rows[i].does);
		end = "\n";
	}
	return TALK_HELP;
}

static const struct {
	const char *name;
	enum talk_did (*run)(struct talk *t, char *rest, struct tb_buf *say);	/* NULL: leave */
} talk_commands[] = {
	{ "/bye", NULL }, { "/exit", NULL }, { "/quit", NULL },
	{ "/clear", talk_clear }, { "/set", talk_set },
	{ "/help", talk_help }, { "/?", talk_help },
};
#define TALK_NCOMMANDS (sizeof(talk_commands) / sizeof(*talk_commands))

enum talk_did
talk_command(struct talk *t, char *line, struct tb_buf *say)
{
	char *rest = line;
	const char *name = talk_word(&rest);

	for (size_t i = 0; i < TALK_NCOMMANDS; i++)
		if (!strcmp(talk_commands[i].name, name))
			return talk_commands[i].run ? talk_commands[i].run(t, rest, say) : TALK_LEAVE;
	tb_buf_str(say, "No such command; /help lists them.");
	return TALK_REFUSED;
}

bool
talk_leaves(const char *line)
{
	for (size_t i = 0; i < TALK_NCOMMANDS; i++)
		if (!talk_commands[i].run && !strcmp(talk_commands[i].name, line))
			return true;
	return false;
}

const char *
talk_broke_off(enum gen_stop stop)
{
	return stop == GEN_CANCELLED ? "stopped" : stop == GEN_CONTEXT ? "the context is full" : NULL;
}
