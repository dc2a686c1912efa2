/* show_texts.c - configuration, template, licence and what else a model has as text. */
#include "config.h"

#include "src/cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/about/metadata.h"

const struct show_text show_texts[] = {
	{ "config", "Config", MEDIA_UNKNOWN, "config.json", NULL, true },
	{ "store_config", "Config blob", MEDIA_CONFIG, NULL, NULL, true },
	{ "parameters_set", "Settings", MEDIA_PARAMS, "generation_config.json", NULL, true },
	{ "template", "Template", MEDIA_TEMPLATE, "chat_template.jinja", "tokenizer.chat_template",
	  false },
	{ "system", "System", MEDIA_SYSTEM, NULL, NULL, false },
	{ "messages", "Messages", MEDIA_MESSAGES, NULL, NULL, true },
	{ "license", "Licence", MEDIA_LICENSE, "LICENSE.txt", "general.license", false },
	{ NULL, NULL, MEDIA_UNKNOWN, NULL, NULL, false }
};

static enum tb_status
keep(void *arg, const char *text, size_t len, struct tb_err *err)
{
	char **out = arg;

	free(*out);
	*out = tb_strndup(text, len);
	return *out ? TB_OK : tb_nomem(err);
}

/* A text that is not there is none; one that there was no memory for is missing. */
static bool
got(enum tb_status status)
{
	if (status == TB_ENOMEM)
		cli_lost();
	return status == TB_OK;
}

/* tokenizer_config.json keeps the template of models without a file for it. */
static char *
read_template(const struct model *m)
{
	char *text = NULL, *out = NULL;
	const char *s;
	cJSON *doc;
	size_t len;

	if (!got(model_read(m, "tokenizer_config.json", SHOW_TEXT_MAX, &text, &len, NULL)))
		return NULL;
	if (got(json_parse_python(&doc, text, len, "tokenizer_config.json", NULL))) {
		s = json_str(json_get(doc, "chat_template"));
		out = s ? tb_strdup(s) : NULL;
		if (s && !out)
			cli_lost();
		json_free(doc);
	}
	free(text);
	return out;
}

char *
show_text_read(const struct model *m, const struct show_text *t)
{
	char *text = NULL;
	size_t len;

	if (t->media != MEDIA_UNKNOWN &&
	    got(model_read_layer(m, t->media, 0, SHOW_TEXT_MAX, &text, &len, NULL)))
		return text;
	if (t->file && got(model_read(m, t->file, SHOW_TEXT_MAX, &text, &len, NULL)))
		return text;
	text = NULL;
	if (t->gguf && got(metadata_each(m, t->gguf, keep, &text, NULL, NULL)))
		return text;
	free(text);
	return !strcmp(t->key, "template") ? read_template(m) : NULL;
}

void
show_lines(const char *text)
{
	struct tb_buf b = TB_BUF(8 * (size_t)SHOW_TEXT_MAX);

	tb_text_clean_lines(&b, text, strlen(text));
	cli_put_buf(&b);
	if (b.len && b.p[b.len - 1] != '\n')
		putchar('\n');
	tb_buf_free(&b);
}
