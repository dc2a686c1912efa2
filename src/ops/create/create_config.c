/* create_config.c - the config blob: that of the source, with what a Modelfile says. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/create/create_parts.h"

/* As Ollama has them. */
static const char *const order[] = {
	"model_format", "model_family", "model_families", "model_type", "file_type", "renderer",
	"parser", "requires", "remote_host", "remote_model", "capabilities", "context_length",
	"embedding_length", "base_name", "draft", "architecture", "os",
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static bool
in_order(const char *key)
{
	for (size_t i = 0; i < COUNT(order); i++)
		if (!strcmp(order[i], key))
			return true;
	return false;
}

/* What the Modelfile says of a key; NULL: nothing. */
static const char *
said(const struct create_spec *s, const char *key)
{
	return !strcmp(key, "renderer") ? s->renderer : !strcmp(key, "parser") ? s->parser
	     : !strcmp(key, "requires") ? s->requires : NULL;
}

static void
put(struct tb_buf *out, const char *key, const cJSON *value, const char *text)
{
	tb_buf_chr(out, out->len ? ',' : '{');
	json_quote_go(out, key);
	tb_buf_chr(out, ':');
	if (text)
		json_quote_go(out, text);
	else
		json_put_go(out, value);
}

static void
put_draft(struct tb_buf *out, const char *arch)
{
	tb_buf_str(out, ",\"draft\":{\"model_format\":\"gguf\",\"architecture\":");
	json_quote_go(out, arch);
	tb_buf_chr(out, '}');
}

static bool
changes(const struct create_spec *s, const cJSON *doc)
{
	for (size_t i = 0; i < COUNT(order); i++) {
		const char *now = said(s, order[i]), *was = json_str(json_get(doc, order[i]));

		if (now && (!was || strcmp(now, was)))
			return true;
	}
	return false;
}

enum tb_status
config_say(char **text, const struct create_spec *s, const char *draft_arch, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(CREATE_TEXT_MAX);
	size_t len = strlen(*text);
	enum tb_status status;
	cJSON *doc;

	status = json_parse(&doc, *text, len, "the config of what FROM names", err);
	if (status || (!draft_arch && !changes(s, doc))) {
		json_free(doc);
		return status;
	}
	for (size_t i = 0; i < COUNT(order); i++) {
		const char *now = said(s, order[i]);

		if (!strcmp(order[i], "draft") && draft_arch)
			put_draft(&b, draft_arch);
		else if (now || json_get(doc, order[i]))
			put(&b, order[i], json_get(doc, order[i]), now);
	}
	for (const cJSON *v = json_first(doc); v; v = json_next(v))
		if (!in_order(json_key(v)))
			put(&b, json_key(v), v, NULL);
	tb_buf_str(&b, len && (*text)[len - 1] == '\n' ? "}\n" : "}");
	json_free(doc);
	status = tb_buf_status(&b, "the config", err);
	if (!status) {
		free(*text);
		*text = tb_buf_take(&b);
	}
	tb_buf_free(&b);
	return status;
}
