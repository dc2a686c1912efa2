#include "config.h"

#include "src/ops/model_text.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/store/model.h"
#include "src/text/chat_template.h"
#include "src/text/tokenizer.h"

#define TOKENIZER_MAX (256u << 20)
#define SMALL_MAX (4u << 20)

/* A file that need not be there; *out NULL then. */
static enum tb_status
read_optional(const struct model *m, const char *name, char **out, size_t *len,
	      struct tb_err *err)
{
	enum tb_status status = model_read(m, name, SMALL_MAX, out, len, err);

	if (status)
		*out = NULL;
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
model_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
{
	char *json, *config = NULL;
	size_t len, config_len = 0;
	enum tb_status status = model_read(m, "tokenizer.json", TOKENIZER_MAX, &json, &len, err);

	*out = NULL;
	if (status)
		return status;
	status = read_optional(m, "tokenizer_config.json", &config, &config_len, err);
	if (!status)
		status = tokenizer_new(out, json, len, config, config_len, err);
	free(config);
	free(json);
	return status;
}

/* A string, or { "content": string }. */
static char *
special_piece(const cJSON *config, const char *key)
{
	const cJSON *v = json_get(config, key);
	const char *s = json_is_object(v) ? json_str(json_get(v, "content")) : json_str(v);

	return s ? tb_strdup(s) : NULL;
}

/* A string, or a list of { name, template } of which "default" is meant. */
static const char *
template_in(const cJSON *config)
{
	const cJSON *v = json_get(config, "chat_template");

	if (!json_is_array(v))
		return json_str(v);
	for (const cJSON *t = json_first(v); t; t = json_next(t)) {
		const char *name = json_str(json_get(t, "name"));

		if (name && !strcmp(name, "default"))
			return json_str(json_get(t, "template"));
	}
	return NULL;
}

static enum tb_status
new_template(const struct model *m, const cJSON *config, struct chat_template **out,
	     struct tb_err *err)
{
	const char *text = template_in(config);
	char *file;
	size_t len = 0;
	enum tb_status status = read_optional(m, "chat_template.jinja", &file, &len, err);

	if (!status && file)
		status = chat_template_new(out, file, len, err);
	else if (!status && text)
		status = chat_template_new(out, text, strlen(text), err);
	else if (!status)
		status = tb_fail(err, TB_ENOENT, "there is no chat template that can be used "
				 "(chat_template of tokenizer_config.json)");
	free(file);
	return status;
}

enum tb_status
model_template(const struct model *m, struct chat_template **out, char **bos, char **eos,
	       struct tb_err *err)
{
	cJSON *config = NULL;
	char *text;
	size_t len;
	enum tb_status status = read_optional(m, "tokenizer_config.json", &text, &len, err);

	*out = NULL;
	*bos = *eos = NULL;
	if (!status && text)
		status = json_parse(&config, text, len, "tokenizer_config.json", err);
	free(text);
	if (status)
		return status;
	*bos = special_piece(config, "bos_token");
	*eos = special_piece(config, "eos_token");
	status = new_template(m, config, out, err);
	json_free(config);
	return status;
}
