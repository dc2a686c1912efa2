/* plan_facts.c - the few numbers of a model that policies ask for. */
#include "config.h"

#include <string.h>

#include "src/format/gguf_array.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/plan/plan_parts.h"
#include "src/store/model_meta.h"
#include "src/store/tensor_name.h"

#include <stdio.h>

static unsigned
count_layers(const struct model *m)
{
	struct tname_layer l;
	uint64_t n = 0;

	for (size_t i = 0; i < m->ntensors; i++)
		if (tname_layer(m->tensors[i].name, &l) && l.number >= n && l.number < 100000)
			n = l.number + 1;
	return (unsigned)n;
}

/* The first of several keys, in the model's own part or in that of its text. */
static unsigned
config_number(const cJSON *config, const char *const *keys)
{
	const cJSON *text = json_get(config, "text_config");
	uint64_t n;

	for (; *keys; keys++)
		if (json_u64(json_get(config, *keys), &n) || json_u64(json_get(text, *keys), &n))
			return n < 1u << 24 ? (unsigned)n : 0;
	return 0;
}

static enum tb_status
from_config(const struct model *m, struct policy_model *out, struct tb_err *err)
{
	static const char *const layers[] = { "num_hidden_layers", "n_layer", "num_layers", NULL };
	static const char *const experts[] = { "num_local_experts", "num_experts",
		"n_routed_experts", "moe_num_experts", NULL };
	static const char *const heads[] = { "num_attention_heads", "n_head", NULL };
	static const char *const kv_heads[] = { "num_key_value_heads", NULL };
	cJSON *config = NULL;
	enum tb_status status = optional_json(m, "config.json", &config, err);

	if (status)
		return status;
	if (config_number(config, layers))
		out->layers = config_number(config, layers);
	out->experts = config_number(config, experts);
	out->heads = config_number(config, heads);
	out->kv_heads = config_number(config, kv_heads);
	if (!out->kv_heads)
		out->kv_heads = out->heads;
	json_free(config);
	return TB_OK;
}

/* A number, or the first of one a layer. */
static unsigned
meta_number(const struct model_meta *mm, const char *arch, const char *key)
{
	char name[256];
	const struct gguf_kv *kv;
	struct gguf_array *a;
	struct gguf_item item;
	uint64_t n = 0;

	snprintf(name, sizeof(name), "%s.%s", arch, key);
	kv = gguf_find(&mm->g, name);
	if (kv && kv->type == GGUF_ARRAY && !gguf_array_open(&a, kv, &mm->file, NULL)) {
		if (!gguf_array_next(a, &item) || !gguf_number_u64(kv->elem, item.bits, &n))
			n = 0;
		(void)!gguf_array_close(a);
	} else if (!kv || !gguf_u64(kv, &n)) {
		return 0;
	}
	return n < 1u << 24 ? (unsigned)n : 0;
}

static enum tb_status
from_keys(const struct model *m, struct policy_model *out, struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	if (meta_number(&mm, m->arch, "block_count"))
		out->layers = meta_number(&mm, m->arch, "block_count");
	out->experts = meta_number(&mm, m->arch, "expert_count");
	out->heads = meta_number(&mm, m->arch, "attention.head_count");
	out->kv_heads = out->heads;
	if (gguf_find(&mm.g, "general.architecture")) {
		char name[256];

		snprintf(name, sizeof(name), "%s.attention.head_count_kv", m->arch);
		if (gguf_find(&mm.g, name))
			out->kv_heads = meta_number(&mm, m->arch, "attention.head_count_kv");
	}
	out->type = m->arch;
	model_meta_close(&mm);
	return TB_OK;
}

enum tb_status
policy_model(const struct model *m, struct policy_model *out, struct tb_err *err)
{
	*out = (struct policy_model){ .arch = m->arch, .type = m->model_type,
				      .layers = count_layers(m) };
	return model_has_keys(m) ? from_keys(m, out, err) : from_config(m, out, err);
}
