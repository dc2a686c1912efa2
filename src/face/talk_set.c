/* talk_set.c - how answers are made: parameters, the system message, what lines show. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"

/* Words that stand for themselves. */
static const struct { const char *word; size_t flag; bool on; const char *says; } talk_flags[] = {
	{ "verbose", offsetof(struct talk, figures), true, "Figures follow each answer." },
	{ "quiet", offsetof(struct talk, figures), false, "No figures follow an answer." },
	{ "wordwrap", offsetof(struct talk, unwrapped), false, "Lines end between words." },
	{ "nowordwrap", offsetof(struct talk, unwrapped), true, "Lines end where the model ends them." },
	{ "history", offsetof(struct talk, forgets), false, "What you type is remembered." },
	{ "nohistory", offsetof(struct talk, forgets), true, "What you type from now on is not remembered." },
};
#define TALK_NFLAGS (sizeof(talk_flags) / sizeof(*talk_flags))

const char *
talk_setting(size_t i)
{
	size_t n = 0;

	while (n < i && chat_opts_name(n))
		n++;
	if (n == i && chat_opts_name(i))
		return chat_opts_name(i);
	i -= n;
	return i == 0 ? "system" : i == 1 ? "parameter" : i - 2 < TALK_NFLAGS ? talk_flags[i - 2].word
									  : NULL;
}

/* As it is said; what nobody set of a model that is elsewhere, its server decides. */
static void
talk_option(const struct chat_opts *o, const char *name, char out[CHAT_OPT_MAX])
{
	(void)chat_opts_get(o, name, out);
	if (!*out)
		snprintf(out, CHAT_OPT_MAX, !strcmp(name, "kv") ? "as usual"
			 : !strcmp(name, "stop") ? "the model's" : "the server's");
}

void
talk_settings_show(const struct chat_opts *o, struct tb_buf *out)
{
	char value[CHAT_OPT_MAX];

	for (size_t i = 0; chat_opts_name(i); i++) {
		talk_option(o, chat_opts_name(i), value);
		tb_buf_printf(out, "%s%-22s %s", out->len ? "\n" : "", chat_opts_name(i), value);
	}
}

/* It is said once more to another model. */
static void
remember_set(struct talk *t, const char *name, const char *value)
{
	size_t i = 0;
	char *copy = tb_strdup(value);

	while (i < t->nsets && strcmp(t->sets[i].name, name))
		i++;
	if (!copy || i == TALK_SETS) {
		free(copy);
		return;
	}
	free(t->sets[i].value);
	t->sets[i] = (struct talk_set){ name, copy };
	if (i == t->nsets)
		t->nsets++;
}

void
talk_tell(struct talk *t, const char *text)
{
	char *copy = tb_strdup(text);

	free(t->system);
	t->system = copy;
	t->opts.system = copy;
}

void
talk_note_sets(struct talk *t, const struct chat_opts *usual)
{
	char is[CHAT_OPT_MAX], was[CHAT_OPT_MAX];

	for (size_t i = 0; chat_opts_name(i); i++)
		if (chat_opts_get(&t->opts, chat_opts_name(i), is) &&
		    chat_opts_get(usual, chat_opts_name(i), was) && strcmp(is, was))
			remember_set(t, chat_opts_name(i), is);
}

void
talk_set_again(struct talk *t)
{
	for (size_t i = 0; i < t->nsets; i++)
		(void)chat_opts_set(&t->opts, t->sets[i].name, t->sets[i].value);
	if (t->system)
		t->opts.system = t->system;
}

/* "old -> new", and from when on. */
static enum tb_status
say_change(struct talk_call *c, const char *name, const char *was, const char *is)
{
	struct talk *t = c->talk;

	t->changed = true;
	tb_buf_printf(&c->say, "%s: %s -> %s%s", name, *was ? was : "none", *is ? is : "none",
		      t->working ? ", from the next answer on" : "");
	return TB_OK;
}

static enum tb_status
no_setting(struct talk_call *c, const char *name)
{
	struct tb_near near = { .word = name };
	char hint[128];

	for (size_t i = 0; talk_setting(i); i++)
		tb_near_try(&near, talk_setting(i));
	tb_near_text(&near, hint, sizeof(hint));
	return talk_refuse(c, "Nothing is called %.40s%s", name,
			   *hint ? hint : "; /set alone lists what can be set.");
}

static enum tb_status
set_parameter(struct talk_call *c, const char *name, const char *value)
{
	struct talk *t = c->talk;
	char was[CHAT_OPT_MAX], is[CHAT_OPT_MAX];
	const char *own = NULL;

	for (size_t i = 0; chat_opts_name(i); i++)
		if (!strcmp(chat_opts_name(i), name))
			own = chat_opts_name(i);
	if (!own)
		return no_setting(c, name);
	talk_option(&t->opts, own, was);
	if (!*value) {
		tb_buf_printf(&c->say, "%s: %s", own, was);
		return TB_OK;
	}
	if (!chat_opts_set(&t->opts, own, value))
		return strcmp(own, "stop")
			? talk_refuse(c, "%s cannot be %.40s: it is %s", own, value, was)
			: talk_refuse(c, "stop takes up to %d texts, in quotes where blanks are in them: "
				      "/set stop END \"\\n\\n\"", CHAT_STOPS);
	remember_set(t, own, value);
	talk_option(&t->opts, own, is);
	return say_change(c, own, was, is);
}

enum tb_status
talk_run_system(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct talk *t = c->talk;
	const char *was = t->opts.system ? t->opts.system : "";
	char *old;

	(void)job;
	if (!*c->rest) {
		tb_buf_printf(&c->say, "system: %s", *was ? was : "none");
		return TB_OK;
	}
	if (!(old = tb_strdup(was)))
		return tb_nomem(err);
	talk_tell(t, !strcmp(c->rest, "\"\"") ? "" : c->rest);
	say_change(c, "system", old, t->system ? t->system : "");
	free(old);
	return TB_OK;
}

enum tb_status
talk_run_set(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	const char *name = talk_word(&c->rest);

	if (!strcmp(name, "system"))
		return talk_run_system(c, job, err);
	if (!strcmp(name, "parameter"))
		name = talk_word(&c->rest);
	if (!*name) {
		c->did = TALK_TEXT;
		talk_settings_show(&c->talk->opts, &c->say);
		return TB_OK;
	}
	for (size_t i = 0; i < TALK_NFLAGS; i++)
		if (!strcmp(talk_flags[i].word, name)) {
			*(bool *)((char *)c->talk + talk_flags[i].flag) = talk_flags[i].on;
			tb_buf_str(&c->say, talk_flags[i].says);
			return TB_OK;
		}
	if (!strcmp(name, "nothink"))
		return set_parameter(c, "think", "off");
	if (!strcmp(name, "think") && !*c->rest)
		return set_parameter(c, name, "on");
	return set_parameter(c, name, strcmp(name, "stop") ? talk_word(&c->rest) : c->rest);
}

enum tb_status
talk_run_think(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	const char *how = talk_word(&c->rest);

	(void)job;
	(void)err;
	return set_parameter(c, "think", *how ? how : "on");
}
