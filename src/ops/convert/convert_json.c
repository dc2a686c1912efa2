/* convert_json.c - the small files beside the tensors: config.json with the right
 * words about quantization, the index of shards, the store's config blob. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/convert/dest.h"
#include "src/ops/model_text/model_text.h"

const struct model_file *
source_json(const struct model *m, size_t i)
{
	for (size_t k = 0; k < m->nfiles && !kind_is_bare(m->loc.kind); k++) {
		const struct model_file *f = &m->files[k];
		bool json = !f->missing && !f->is_manifest && f->name &&
			    (f->media_type ? f->media == MEDIA_JSON : tb_ends(f->name, ".json") &&
			     !tb_ends(f->name, ".safetensors.index.json"));

		if (json && i-- == 0)
			return f;
	}
	return NULL;
}

static const struct scheme *
out_scheme(const struct plan *p, size_t out)
{
	return &p->rows[p->parts->outs[out].row].target;
}

/* The scheme of most elements; NULL: nothing is quantized. */
static const struct scheme *
main_scheme(const struct plan *p)
{
	const struct scheme *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < p->parts->nouts; i++) {
		const struct scheme *s = out_scheme(p, i);
		uint64_t n = 0;

		if (scheme_is_plain(s) || (best && scheme_equal(s, best)))
			continue;
		for (size_t k = i; k < p->parts->nouts; k++)
			if (scheme_equal(s, out_scheme(p, k)))
				n += p->parts->outs[k].elems;
		if (n > most) {
			most = n;
			best = s;
		}
	}
	return best;
}

/* As gpt-oss has it, nothing else is quantized. */
static bool
only_gpt_oss(const struct plan *p)
{
	bool any = false;

	for (size_t i = 0; i < p->parts->nouts; i++) {
		bool own = out_is_gpt_oss(p, &p->parts->outs[i]);

		if (!own && !scheme_is_plain(out_scheme(p, i)))
			return false;
		any |= own;
	}
	return any;
}

/* What its class says of itself, where a store has lost it. */
static cJSON *
gpt_oss_json(void)
{
	static const char *const plain[] = { "model.layers.*.self_attn", "model.layers.*.mlp.router",
		"model.embed_tokens", "lm_head" };
	cJSON *o = json_object(), *list = json_array();

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		json_push_str(list, plain[i]);
	json_set(o, "modules_to_not_convert", list);
	json_set_str(o, "quant_method", "mxfp4");
	return o;
}

static cJSON *
scheme_json(const struct scheme *s)
{
	cJSON *o = json_object();

	json_set_u64(o, "group_size", s->group);
	json_set_u64(o, "bits", s->bits);
	json_set_str(o, "mode", scheme_mode(s));
	return o;
}

/* Readers do not let an override inherit: each says everything. */
static cJSON *
quantization(const struct plan *p, const struct scheme *most)
{
	cJSON *q = scheme_json(most);

	for (size_t i = 0; i < p->parts->nouts; i++) {
		const struct scheme *s = out_scheme(p, i);
		const char *name = p->parts->outs[i].name;
		char *module = tb_strndup(name, strlen(name) - (tb_ends(name, ".weight")
								? strlen(".weight") : 0));

		if (!module)
			json_set(q, name, NULL);	/* notes that it is not whole */
		else if (!scheme_is_plain(s) && !scheme_equal(s, most))
			json_set(q, module, scheme_json(s));
		free(module);
	}
	return q;
}

static bool
quant_key(const char *key)
{
	return !strcmp(key, "quantization") || !strcmp(key, "quantization_config") ||
	       !strcmp(key, "compression_config");
}

/* What torch calls the dtype that everything was cast to, or NULL. */
static const char *
torch_name(const struct plan *p)
{
	static const struct { const char *quant, *torch; } names[] = {
		{ "BF16", "bfloat16" }, { "F16", "float16" }, { "F32", "float32" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(p->quant, names[i].quant))
			return names[i].torch;
	return NULL;
}

static char *
new_config(const struct plan *p, const cJSON *old)
{
	const struct scheme *most = p->dest == PLAN_TO_DIR ? main_scheme(p) : NULL;
	const char *torch = torch_name(p);
	cJSON *doc = json_object();
	char *text;

	for (const cJSON *v = json_first(old); v; v = json_next(v)) {
		const char *key = json_key(v);

		if (torch && (!strcmp(key, "torch_dtype") || !strcmp(key, "dtype")) && json_str(v))
			json_set_str(doc, key, torch);
		else if (!quant_key(key))
			json_set(doc, key, json_copy(v));
	}
	if (most && only_gpt_oss(p)) {
		json_set(doc, "quantization_config", gpt_oss_json());
	} else if (most) {
		json_set(doc, "quantization", quantization(p, most));
		json_set(doc, "quantization_config", quantization(p, most));
	}
	text = json_print_pretty(doc);
	json_free(doc);
	return text;
}

enum tb_status
bare_config(const struct plan *p, char **out, struct tb_err *err)
{
	bool quantizes = main_scheme(p) != NULL;

	*out = quantizes ? new_config(p, NULL) : NULL;
	return *out || !quantizes ? TB_OK : tb_nomem(err);
}

/* Does config.json have to say something else than it did? */
static bool
config_changes(const struct plan *p, const cJSON *old)
{
	for (const cJSON *v = json_first(old); v; v = json_next(v))
		if (quant_key(json_key(v)))
			return true;
	return torch_name(p) || (p->dest == PLAN_TO_DIR && main_scheme(p));
}

/* A store has no chat_template.jinja; readers look into tokenizer_config.json.
 * *out NULL: it stays as it is. */
static enum tb_status
with_template(const struct plan *p, const cJSON *old, char **out, struct tb_err *err)
{
	enum tb_status status;
	char *jinja;
	cJSON *doc;

	*out = NULL;
	if (p->dest != PLAN_TO_STORE || json_get(old, "chat_template"))
		return TB_OK;
	status = optional_text(p->model, "chat_template.jinja", &jinja, err);
	if (status || !jinja)
		return status;
	doc = json_copy(old);
	json_set_str(doc, "chat_template", jinja);
	*out = json_print_pretty(doc);
	json_free(doc);
	free(jinja);
	return *out ? TB_OK : tb_nomem(err);
}

enum tb_status
source_text(const struct plan *p, const struct model_file *f, char **out, size_t *len,
	    struct tb_err *err)
{
	bool config = !strcmp(f->name, "config.json");
	enum tb_status status = model_file_read(f, SMALL_FILE_MAX, out, len, err);
	char *text = NULL;
	cJSON *doc = NULL;

	if (status || (!config && strcmp(f->name, "tokenizer_config.json")))
		return status;
	status = json_parse_again(&doc, *out, *len, f->path, err);
	if (!status && config && config_changes(p, doc)) {
		text = new_config(p, doc);
		status = text ? TB_OK : tb_nomem(err);
	} else if (!status && !config) {
		status = with_template(p, doc, &text, err);
	}
	json_free(doc);
	if (status || text)
		free(*out);
	if (text) {
		*out = text;
		*len = strlen(text);
	}
	return status;
}

const char *
shard_name(const struct plan *p, size_t blob, char out[64])
{
	const char *ending = p->dest == PLAN_TO_GGUF ? "gguf" : "safetensors";

	if (p->nblobs == 1)
		snprintf(out, 64, "model.%s", ending);
	else
		snprintf(out, 64, "model-%05zu-of-%05zu.%s", blob + 1, p->nblobs, ending);
	return out;
}

/* The names that blob_layout.c gives in directories. */
static void
index_out(const struct plan *p, const struct plan_out *o, cJSON *map)
{
	static const char *const mlx[] = { ".scales", ".biases" }, *const own[] = { "_blocks", "_scales" };
	const struct scheme *s = &p->rows[o->row].target;
	bool gpt_oss = out_is_gpt_oss(p, o);
	int more = gpt_oss ? 2 : scheme_is_plain(s) ? 0 : 1 + scheme_has_bias(s);
	char shard[64];

	shard_name(p, o->blob, shard);
	if (!gpt_oss)
		json_set_str(map, o->name, shard);
	for (int i = 0; i < more; i++) {
		size_t n = strlen(o->name) - (tb_ends(o->name, ".weight") ? strlen(".weight") : 0);
		char *name = tb_asprintf("%.*s%s", (int)n, o->name, gpt_oss ? own[i] : mlx[i]);

		if (name)
			json_set_str(map, name, shard);
		else
			json_set(map, o->name, NULL);	/* notes that it is not whole */
		free(name);
	}
}

enum tb_status
index_text(const struct plan *p, char **out, struct tb_err *err)
{
	cJSON *doc = json_object(), *meta = json_object(), *map = json_object();

	json_set_u64(meta, "total_size", p->total.after);
	json_set(doc, "metadata", meta);
	for (size_t i = 0; i < p->parts->nouts; i++)
		index_out(p, &p->parts->outs[i], map);
	json_set(doc, "weight_map", map);
	*out = json_print_pretty(doc);
	json_free(doc);
	return *out ? TB_OK : tb_nomem(err);
}

/* What a model says of itself: its chat template and config.json. */
static enum tb_status
capabilities(const struct model *m, cJSON *list, struct tb_err *err)
{
	char *jinja = NULL;
	const char *template;
	cJSON *config = NULL, *tokenizer = NULL;
	enum tb_status status = optional_json(m, "config.json", &config, err);

	if (!status)
		status = optional_json(m, "tokenizer_config.json", &tokenizer, err);
	if (!status)
		status = optional_text(m, "chat_template.jinja", &jinja, err);
	template = jinja ? jinja : json_str(json_get(tokenizer, "chat_template"));
	json_push_str(list, "completion");
	if (json_get(config, "vision_config"))
		json_push_str(list, "vision");
	if (json_get(config, "audio_config") || json_get(config, "sound_config"))
		json_push_str(list, "audio");
	if (template && strstr(template, "tools"))
		json_push_str(list, "tools");
	if (template && strstr(template, "<think>") && strstr(template, "</think>"))
		json_push_str(list, "thinking");
	free(jinja);
	json_free(config);
	json_free(tokenizer);
	return status;
}

static void
carry(cJSON *doc, const cJSON *old, const char *key)
{
	if (json_get(old, key))
		json_set(doc, key, json_copy(json_get(old, key)));
}

/* What was asked for, or what there is, in Ollama's words. */
static const char *
file_type(const struct plan *p)
{
	const struct scheme *most = main_scheme(p);
	struct plan_target t;
	struct tb_err ignored;

	if (!plan_target_parse(p->quant, &t, &ignored) && !t.keep &&
	    !scheme_is_plain(&t.scheme))
		return scheme_quant_type(&t.scheme);
	return most ? scheme_quant_type(most) : "";
}

enum tb_status
store_config(const struct plan *p, char **out, struct tb_err *err)
{
	cJSON *doc = json_object(), *old = NULL, *list = json_array();
	enum tb_status status = optional_layer(p->model, MEDIA_CONFIG, &old, err);
	const char *requires = json_str(json_get(old, "requires"));

	json_set_str(doc, "model_format", "safetensors");
	json_set_str(doc, "model_family", "");
	json_set_str(doc, "model_families", NULL);
	json_set_str(doc, "model_type", "");
	json_set_str(doc, "file_type", file_type(p));
	carry(doc, old, "renderer");
	carry(doc, old, "parser");
	json_set_str(doc, "requires", requires ? requires : "0.19.0");
	if (!status)
		status = capabilities(p->model, list, err);
	if (json_is_array(json_get(old, "capabilities"))) {
		carry(doc, old, "capabilities");
		json_free(list);
	} else {
		json_set(doc, "capabilities", list);
	}
	carry(doc, old, "context_length");
	carry(doc, old, "embedding_length");
	json_set_str(doc, "architecture", "");
	json_set_str(doc, "os", "");
	*out = status ? NULL : json_print(doc);
	json_free(doc);
	json_free(old);
	return status ? status : *out ? TB_OK : tb_nomem(err);
}
