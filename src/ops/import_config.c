#include "config.h"

#include "src/ops/import_config.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"

#define SMALL_FILE (16u << 20)
#define REQUIRES "0.19.0"	/* the first Ollama that reads tensor layers */

/* A JSON file of the model, or NULL when it has none that can be read. */
static cJSON *
load(const struct model *m, const char *name)
{
	cJSON *doc = NULL;
	char *text = NULL;
	size_t len;

	if (!model_read(m, name, SMALL_FILE, &text, &len, NULL))
		(void)!json_parse(&doc, text, len, name, NULL);
	free(text);
	return doc;
}

/* The chat template's text; caller frees. NULL: none. */
static char *
chat_template(const struct model *m)
{
	cJSON *doc;
	const char *text;
	char *out = NULL;

	if (!model_read(m, "chat_template.jinja", SMALL_FILE, &out, NULL, NULL))
		return out;
	doc = load(m, "tokenizer_config.json");
	text = json_str(json_get(doc, "chat_template"));
	out = text ? strdup(text) : NULL;
	json_free(doc);
	return out;
}

static bool
given(const cJSON *config, const char *key)
{
	const cJSON *v = json_get(config, key);
	bool flag;

	return json_is_object(v) || (json_bool(v, &flag) && flag);
}

static cJSON *
capabilities(const struct model *m)
{
	cJSON *list = json_array(), *config = load(m, "config.json");
	char *chat = chat_template(m);

	json_push_str(list, "completion");
	if (given(config, "vision_config") || given(config, "has_vision"))
		json_push_str(list, "vision");
	if (given(config, "audio_config") || given(config, "sound_config"))
		json_push_str(list, "audio");
	if (chat && strstr(chat, "tools"))
		json_push_str(list, "tools");
	if (chat && strstr(chat, "<think>") && strstr(chat, "</think>"))
		json_push_str(list, "thinking");
	free(chat);
	json_free(config);
	return list;
}

enum tb_status
import_config(const struct model *m, const char *quant_type, char **out, struct tb_err *err)
{
	cJSON *doc = json_object();

	json_set_str(doc, "model_format", "safetensors");
	json_set_str(doc, "model_family", "");
	json_set_str(doc, "model_families", NULL);
	json_set_str(doc, "model_type", "");
	json_set_str(doc, "file_type", quant_type ? quant_type : "");
	json_set_str(doc, "requires", REQUIRES);
	json_set(doc, "capabilities", capabilities(m));
	json_set_str(doc, "architecture", "");
	json_set_str(doc, "os", "");
	*out = json_print(doc);
	json_free(doc);
	return *out ? TB_OK : tb_nomem(err);
}
