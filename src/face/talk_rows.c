/* talk_rows.c - the table of commands, their help, and what Tab makes of a line. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"
#include "src/ops/home/home.h"

/* In the order of /help; run NULL: leaves. */
const struct talk_row talk_rows[] = {
	{ "/set", "[NAME [VALUE]]", "how it answers from now on; alone: all that can be set",
	  talk_run_set, true, TALK_ARG_SETTING, NULL },
	{ "/system", "[TEXT]", "what the model is told first; alone: what that is",
	  talk_run_system, true, TALK_ARG_NONE, NULL },
	{ "/show", "WHAT", "about the model: info license modelfile parameters system template",
	  talk_run_show, false, TALK_ARG_NONE, "info license modelfile parameters system template" },
	{ "/model", "[REF]", "another model answers from now on; alone: which one does",
	  talk_run_model, false, TALK_ARG_MODEL, NULL },
	{ "/load", "REF|N", "another model and a new conversation, or a kept session",
	  talk_run_load, false, TALK_ARG_MODEL, "last" },
	{ "/sessions", "[WORDS]", "what is kept; those with these words", talk_run_sessions, false,
	  TALK_ARG_NONE, NULL },
	{ "/save", "[TITLE]", "what this session is called (it is kept anyway)", talk_run_save,
	  false, TALK_ARG_NONE, NULL },
	{ "/fork", NULL, "a session of its own that begins with all this", talk_run_fork, false,
	  TALK_ARG_NONE, NULL },
	{ "/export", "FILE", "this session as Markdown, or JSON where it ends so", talk_run_export,
	  false, TALK_ARG_FILE, NULL },
	{ "/format", "json|FILE|off", "answers are JSON, or what a schema or grammar allows",
	  talk_run_format, false, TALK_ARG_FILE, "json off" },
	{ "/read", "FILE", "a text goes with the next message",
	  talk_run_read, false, TALK_ARG_FILE, NULL },
	{ "/regen", NULL, "another answer to the same", talk_run_regen, false, TALK_ARG_NONE, NULL },
	{ "/edit", "[TEXT]", "say the last message otherwise; alone: type it again",
	  talk_run_edit, false, TALK_ARG_NONE, NULL },
	{ "/undo", NULL, "take the last message and its answer back", talk_run_undo, false,
	  TALK_ARG_NONE, NULL },
	{ "/redo", NULL, "forward again after /undo", talk_run_redo, false,
	  TALK_ARG_NONE, NULL },
	{ "/other", "[back]", "the next of several answers or versions, or the one before",
	  talk_run_other, false, TALK_ARG_NONE, "back" },
	{ "/clear", NULL, "begin anew with the same model", talk_run_clear, false, TALK_ARG_NONE,
	  NULL },
	{ "/copy", "[code [N]]", "the last answer, or its Nth block of code, to the clipboard",
	  talk_run_copy, false, TALK_ARG_NONE, "code" },
	{ "/tokens", "[TEXT]", "tokens of the conversation, and of a text said next",
	  talk_run_tokens, false, TALK_ARG_NONE, NULL },
	{ "/think", "[HOW]", "whether it thinks before it answers: on off low medium high max",
	  talk_run_think, true, TALK_ARG_NONE, "on off low medium high max" },
	{ "/tools", "[FILE]", "tools that it may call (JSON; none: no more); none is ever run here",
	  talk_run_tools, false, TALK_ARG_FILE, "none" },
	{ "/result", "TEXT", "what a tool said that it has called",
	  talk_run_result, false, TALK_ARG_NONE, NULL },
	{ "/template", NULL, "which template is used, and what it makes of the conversation",
	  talk_run_template, false, TALK_ARG_NONE, NULL },
	{ "/help", "[COMMAND]", "this list, or one of it", talk_run_help, true, TALK_ARG_COMMAND,
	  "shortcuts" },
	{ "/?", NULL, NULL, talk_run_help, true, TALK_ARG_COMMAND, "shortcuts" },
	{ "/bye", NULL, "leave", NULL, true, TALK_ARG_NONE, NULL },
	{ "/exit", NULL, NULL, NULL, true, TALK_ARG_NONE, NULL },
	{ "/quit", NULL, NULL, NULL, true, TALK_ARG_NONE, NULL },
};
const size_t talk_nrows = sizeof(talk_rows) / sizeof(*talk_rows);

/* ---- help ---- */

enum talk_where { BOTH_FACES, IN_LINES, ON_SCREEN };
static const struct { const char *key, *does; enum talk_where where; } talk_keys[] = {
	{ "\"\"\"", "begins and ends a message of several lines", BOTH_FACES },
	{ "^J", "a new line; so does Alt-Enter", BOTH_FACES },
	{ "^G", "the message in your editor ($VISUAL, $EDITOR)", BOTH_FACES },
	{ "^R", "search what was typed before", BOTH_FACES },
	{ "Up Down", "what was typed before", IN_LINES },
	{ "Up Down", "what was typed before; first what waits to be sent", ON_SCREEN },
	{ "Tab", "completes commands, files and names", BOTH_FACES },
	{ "^C", "stops an answer; else a new line, Up brings this one back", IN_LINES },
	{ "Esc ^C", "stops an answer; then the keys are those for reading", ON_SCREEN },
	{ "PgUp PgDn", "scroll", ON_SCREEN },
	{ "^Z", "stops the program; fg brings it back", BOTH_FACES },
	{ "^D", "leaves", IN_LINES },
};

static void
help_row(struct tb_buf *say, const char *name, const char *args, const char *help)
{
	char head[64];

	snprintf(head, sizeof(head), "%s %s", name, args ? args : "");
	tb_buf_printf(say, "%s%-22s %s", say->len ? "\n" : "", head, help);
}

enum tb_status
talk_run_help(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	const char *about = talk_word(&c->rest);

	(void)job;
	(void)err;
	c->did = TALK_TEXT;
	if (!strcmp(about, "shortcuts")) {
		for (size_t i = 0; i < sizeof(talk_keys) / sizeof(*talk_keys); i++)
			if (talk_keys[i].where != (c->talk->lines ? ON_SCREEN : IN_LINES))
				help_row(&c->say, talk_keys[i].key, NULL, talk_keys[i].does);
		return TB_OK;
	}
	about += *about == '/';
	for (size_t i = 0; i < talk_nrows; i++)
		if (talk_rows[i].help && (!*about || !strcmp(talk_rows[i].name + 1, about)))
			help_row(&c->say, talk_rows[i].name, talk_rows[i].args, talk_rows[i].help);
	if (!c->say.len)
		return talk_refuse(c, "No command /%.40s; /help lists them.", about);
	if (!*about)
		help_row(&c->say, "/help shortcuts", NULL, "keys; \"\"\" begins and ends several lines");
	else if (!strcmp(about, "set"))
		talk_settings_show(&c->talk->opts, &c->say);
	return TB_OK;
}

/* ---- Tab ---- */

/* A line of `before` and `word` that begins with `line`. */
static void
offer(struct talk *t, const char *line, const char *before, const char *word, const char *end)
{
	char *whole = tb_asprintf("%s%s%s", before, word, end);

	if (whole && tb_starts(whole, line) && tb_names_add(&t->found, whole, NULL))
		tb_names_free(&t->found);
	free(whole);
}

static void
offer_files(struct talk *t, const char *line, const char *before, const char *typed)
{
	const char *slash = strrchr(typed, '/'), *home = getenv("HOME");
	char *shown = slash ? tb_strndup(typed, (size_t)(slash - typed) + 1) : tb_strdup("");
	char *head = shown ? tb_asprintf("%s%s", before, shown) : NULL;
	char *dir = !shown ? NULL : !*shown ? tb_strdup(".") : tb_starts(shown, "~/") && home ?
		    tb_asprintf("%s%s", home, shown + 1) : tb_strdup(shown);
	struct tb_names names = { 0 };
	struct tb_path path;

	if (head && dir && !tb_names_read(&names, dir, NULL))
		for (size_t i = 0; i < names.n; i++)
			if (*names.v[i] != '.' || (slash ? slash[1] : *typed) == '.')
				offer(t, line, head, names.v[i],
				      tb_is_dir(tb_path_in(&path, dir, names.v[i])) ? "/" : "");
	tb_names_free(&names);
	free(shown);
	free(head);
	free(dir);
}

static void
offer_models(struct talk *t, const char *line, const char *before)
{
	struct db_query q = { .limit = 10000 };
	struct db_models models;
	struct db *db;

	if (!t->ctx || db_open_read(&db, t->ctx->db_path, NULL))
		return;
	if (!db_models(db, &q, &models, NULL)) {
		for (size_t i = 0; i < models.n; i++)
			offer(t, line, before, models.rows[i].name, "");
		tb_arena_free(&models.mem);
	}
	db_close(db);
}

static void
offer_words(struct talk *t, const char *line, const char *before, const char *words)
{
	char word[32];

	for (; words && *words; words += strcspn(words, " "), words += strspn(words, " ")) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, " "), words);
		offer(t, line, before, word, "");
	}
}

static void
offer_arguments(struct talk *t, const char *line, const struct talk_row *row)
{
	char before[64];
	const char *typed = line + strlen(row->name);

	typed += strspn(typed, " ");
	snprintf(before, sizeof(before), "%.*s", (int)(typed - line), line);
	offer_words(t, line, before, row->words);
	switch (row->argument) {
	case TALK_ARG_FILE:
		offer_files(t, line, before, typed);
		break;
	case TALK_ARG_MODEL:
		offer_models(t, line, before);
		break;
	case TALK_ARG_SETTING:
		if (tb_starts(typed, "parameter "))
			snprintf(before, sizeof(before), "%s parameter ", row->name);
		for (size_t i = 0; talk_setting(i); i++)
			offer(t, line, before, talk_setting(i), " ");
		break;
	case TALK_ARG_COMMAND:
		for (size_t i = 0; i < talk_nrows; i++)
			if (talk_rows[i].help)
				offer(t, line, before, talk_rows[i].name + 1, "");
		break;
	case TALK_ARG_NONE:
		break;
	}
}

const char *
talk_complete(struct talk *t, const char *line, size_t i)
{
	const struct talk_row *row = NULL;

	if (i)
		return i < t->found.n ? t->found.v[i] : NULL;
	tb_names_free(&t->found);
	t->found = (struct tb_names){ 0 };
	if (*line != '/')
		return NULL;
	for (size_t k = 0; k < talk_nrows; k++) {
		size_t n = strlen(talk_rows[k].name);

		if (!strncmp(line, talk_rows[k].name, n) && line[n] == ' ')
			row = &talk_rows[k];
		if (talk_rows[k].help)
			offer(t, line, "", talk_rows[k].name, talk_rows[k].args ? " " : "");
	}
	if (row)
		offer_arguments(t, line, row);
	return t->found.n ? t->found.v[0] : NULL;
}
