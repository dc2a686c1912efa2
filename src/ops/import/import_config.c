#include "config.h"

#include "src/ops/import/import_plan.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/metadata/metadata.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model_meta.h"

#define REQUIRES "0.19.0"	/* the first Ollama that reads tensor layers */

/* The chat template's text; caller frees. NULL: none. */
static enum tb_status
chat_template(const struct model *m, char **out, struct tb_err *err)
{
	enum tb_status status = optional_text(m, "chat_template.jinja", out, err);
	const char *text;
	cJSON *doc;

	if (status || *out)
		return status;
	status = optional_json(m, "tokenizer_config.json", &doc, err);
	if (status)
		return status;
	text = json_str(json_get(doc, "chat_template"));
	*out = text ? tb_strdup(text) : NULL;
	json_free(doc);
	return text && !*out ? tb_nomem(err) : TB_OK;
}

static bool
given(const cJSON *config, const char *key)
{
	const cJSON *v = json_get(config, key);
	bool flag;

	return json_is_object(v) || (json_bool(v, &flag) && flag);
}

static enum tb_status
config_capabilities(const struct model *m, cJSON *list, struct tb_err *err)
{
	cJSON *config = NULL;
	char *chat = NULL;
	enum tb_status status = optional_json(m, "config.json", &config, err);

	if (!status)
		status = chat_template(m, &chat, err);

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
	return status;
}

/* As Ollama writes it for GGUF files, the newline behind it included. */
static enum tb_status
import_config_keys(const struct model *m, char **out, struct tb_err *err)
{
	cJSON *doc = json_object(), *families = json_array();
	const char *type = NULL;
	char count[16], *text;
	struct model_meta mm;
	uint64_t n;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (!status && gguf_u64(gguf_find(&mm.g, "general.file_type"), &n))
		type = metadata_file_type(n);
	json_push_str(families, m->arch);
	json_set_str(doc, "model_format", "gguf");
	json_set_str(doc, "model_family", m->arch);
	json_set(doc, "model_families", families);
	json_set_str(doc, "model_type", tb_human_count(m->params, count));
	json_set_str(doc, "file_type", type ? type : m->scheme);
	json_set_str(doc, "architecture", "amd64");
	json_set_str(doc, "os", "linux");
	text = json_print(doc);
	json_free(doc);
	model_meta_close(&mm);
	*out = text && !status ? tb_asprintf("%s\n", text) : NULL;
	free(text);
	return status ? status : *out ? TB_OK : tb_nomem(err);
}

enum tb_status
import_config(const struct model *m, const char *quant_type, char **out, struct tb_err *err)
{
	cJSON *doc, *list;
	enum tb_status status;

	if (model_has_keys(m))
		return import_config_keys(m, out, err);
	doc = json_object();
	list = json_array();
	status = config_capabilities(m, list, err);
	json_set_str(doc, "model_format", "safetensors");
	json_set_str(doc, "model_family", "");
	json_set_str(doc, "model_families", NULL);
	json_set_str(doc, "model_type", "");
	json_set_str(doc, "file_type", quant_type ? quant_type : "");
	json_set_str(doc, "requires", REQUIRES);
	json_set(doc, "capabilities", list);
	json_set_str(doc, "architecture", "");
	json_set_str(doc, "os", "");
	*out = status ? NULL : json_print(doc);
	json_free(doc);
	return status ? status : *out ? TB_OK : tb_nomem(err);
}
