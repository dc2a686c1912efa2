/* chat_settings.c - how a session's answers are made, as it is kept: parameters, what answers have
 * to look like, tools. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/chat_parts.h"
#include "src/text/grammar.h"

static const char *const forms[] = { [GRAMMAR_GBNF] = "gbnf", [GRAMMAR_SCHEMA] = "schema",
				     [GRAMMAR_JSON] = "json" };
#define FORMS (sizeof(forms) / sizeof(*forms))

/* With what it was made from: the file may be another one the next time. */
static cJSON *
format_json(const struct chat *c)
{
	enum grammar_form form;
	const char *source = grammar_source(c->grammar, &form);
	cJSON *o = json_object();

	json_set_str(o, "name", c->grammar_name);
	json_set_str(o, "form", forms[form]);
	if (form != GRAMMAR_JSON)
		json_set_str(o, "text", source);
	return o;
}

char *
kept_settings(const struct chat *c)
{
	cJSON *o = json_object();
	char *text;

	chat_opts_put(&c->o, o);
	if (c->grammar)
		json_set(o, "format", format_json(c));
	if (c->tools)
		json_set(o, "tools", json_copy(c->tools));
	text = json_print(o);
	json_free(o);
	return text;
}

static enum tb_status
take_format(struct chat *c, const cJSON *format, struct tb_err *err)
{
	const char *name = json_str(json_get(format, "name"));
	const char *form = json_str(json_get(format, "form"));
	const char *text = json_str(json_get(format, "text"));
	struct grammar *g = NULL;
	enum tb_status status = TB_OK;
	size_t i = 0;

	while (format && i < FORMS && (!form || strcmp(forms[i], form)))
		i++;
	if (format && (i == FORMS || !name || (!text && i != GRAMMAR_JSON)))
		status = tb_fail(err, TB_EFORMAT, "it is not one that is known here");
	else if (format && i == GRAMMAR_JSON)
		status = grammar_json(&g, err);
	else if (format)
		status = i == GRAMMAR_GBNF ? grammar_gbnf(&g, text, strlen(text), name, err)
					   : grammar_schema(&g, text, strlen(text), name, err);
	return status ? status : chat_constrain(c, g, name, err);
}

static enum tb_status
take_tools(struct chat *c, const cJSON *tools, struct tb_err *err)
{
	char *text = tools ? json_print(tools) : NULL;
	enum tb_status status;

	if (tools && !text)
		return tb_nomem(err);
	status = chat_set_tools(c, text, err);
	free(text);
	return status;
}

/* A session goes on without what cannot be had any more; its person is told. */
static enum tb_status
or_notice(struct chat *c, const char *what, enum tb_status status, const struct tb_err *err)
{
	struct keeping *k = &c->keep;

	if (status && status != TB_ENOMEM && !*k->notice)
		snprintf(k->notice, sizeof(k->notice), "the %s of this session cannot be used any "
			 "more: %.300s", what, err->msg);
	return status == TB_ENOMEM ? status : TB_OK;
}

enum tb_status
kept_take_settings(struct chat *c, const char *json, struct chat_opts *o, struct tb_err *err)
{
	struct tb_err why;
	cJSON *settings = NULL;
	enum tb_status status;

	*o->stops = 0;
	if (json_parse(&settings, json, strlen(json), "settings", NULL))
		settings = NULL;
	chat_opts_take(o, settings);
	(void)!chat_constrain(c, NULL, NULL, NULL);
	status = or_notice(c, "format", take_format(c, json_get(settings, "format"), &why), &why);
	(void)!chat_set_tools(c, NULL, NULL);
	if (!status)
		status = or_notice(c, "tools", take_tools(c, json_get(settings, "tools"), &why), &why);
	json_free(settings);
	return status ? tb_pass(err, &why) : TB_OK;
}
