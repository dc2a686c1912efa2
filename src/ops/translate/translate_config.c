/* translate_config.c - which architecture a config.json is, and the numbers in it that say how
 * rows lie. */
#include "config.h"

#include "src/ops/translate/translate_rows.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/engine/arch.h"
#include "src/ops/model_text/model_text.h"

static uint32_t
number(const cJSON *config, const char *key)
{
	const cJSON *text = json_get(config, "text_config");
	uint64_t n;

	if (!json_u64(json_get(text, key), &n) && !json_u64(json_get(config, key), &n))
		return 0;
	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static enum tb_status
unknown_type(const char *type, const char *path, struct tb_err *err)
{
	return tb_fail(err, TB_EUNSUP, "%s: it is not known how GGUF files describe \"%.80s\" models; "
		       "convert to safetensors (a folder) instead", path, type);
}

static bool
find_row(struct translate *out, const char *type, const cJSON *config)
{
	const struct arch *a;

	if (!type)
		return false;
	for (const struct translate_arch *r = translate_archs; r->type; r++) {
		if (strcmp(r->type, type) || (r->key && !json_get(config, r->key)))
			continue;
		*out = (struct translate){ .gguf = r->gguf, .type = r->type, .ways = r->ways,
			.pairs = r->pairs, .norm_add = r->norm_add, .fewer_layers = r->fewer_layers };
		return true;
	}
	a = arch_find(type, NULL);
	if (!a || !a->gguf_name)
		return false;
	*out = (struct translate){ .gguf = a->gguf_name, .type = a->name, .ways = a->ways,
		.pairs = a->gguf_pairs, .norm_add = a->norm_add };
	return true;
}

enum tb_status
translate_hf(struct translate *out, const struct model *m, struct tb_err *err)
{
	cJSON *config;
	const char *type, *text;
	enum tb_status status = strict_json(m, "config.json", &config, err);

	*out = (struct translate){ 0 };
	if (status)
		return status;
	if (!config)
		return tb_fail(err, TB_ENOENT, "%s: has no config.json, without which nobody knows what "
			       "model a GGUF would be", m->loc.path);
	type = json_str(json_get(config, "model_type"));
	text = json_str(json_path(config, "text_config.model_type"));
	/* The whole's first: some texts of larger models have a name of their own in GGUF. */
	if (!find_row(out, type, config) && !find_row(out, text, config)) {
		status = unknown_type(text ? text : type ? type : m->arch, m->loc.path, err);
		json_free(config);
		return status;
	}
	out->layers = number(config, "num_hidden_layers");
	out->heads = number(config, "num_attention_heads");
	out->kv_heads = number(config, "num_key_value_heads");
	if (!out->kv_heads)
		out->kv_heads = out->heads;
	out->nope = number(config, "qk_nope_head_dim");
	out->v_head = number(config, "v_head_dim");
	out->mtp = number(config, "mtp_num_hidden_layers");
	out->groups = number(config, "mamba_n_groups");
	if (!out->groups)
		out->groups = number(config, "n_groups");
	out->k_heads = number(config, "linear_num_key_heads");
	out->v_heads = number(config, "linear_num_value_heads");
	out->k_dim = number(config, "linear_key_head_dim");
	out->v_dim = number(config, "linear_value_head_dim");
	json_free(config);
	return TB_OK;
}
