#include "config.h"

#include "src/ops/about/about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/hparams.h"
#include "src/format/gguf_array.h"
#include "src/format/json.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"

#define CONFIG_MAX (4u << 20)
#define SANE ((uint64_t)1 << 32)	/* numbers over it are not believed */

/* field, key behind "<architecture>." in GGUF, keys of config.json */
static const struct number {
	size_t at;
	const char *gguf, *config[4];
} numbers[] = {
#define AT(field) offsetof(struct model_shape, field)
	{ AT(layers), "block_count", { "num_hidden_layers", "n_layer", "num_layers" } },
	{ AT(dim), "embedding_length", { "hidden_size", "n_embd", "d_model" } },
	{ AT(heads), "attention.head_count", { "num_attention_heads", "n_head" } },
	{ AT(kv_heads), "attention.head_count_kv", { "num_key_value_heads" } },
	{ AT(head_dim), "attention.key_length", { "head_dim" } },
	{ AT(context), "context_length", { "max_position_embeddings", "n_positions" } },
	{ AT(experts), "expert_count", { "num_local_experts", "num_experts", "n_routed_experts" } },
	{ AT(experts_used), "expert_used_count", { "num_experts_per_tok", "experts_per_token",
						   "moe_topk" } },
#undef AT
};
#define NNUMBERS (sizeof(numbers) / sizeof(*numbers))

/* Keys of architectures that keep something else than keys and values of every head. */
static const char *const other_caches[] = { "kv_lora_rank", "ssm_state_size", "mamba_d_state",
	"linear_num_key_heads", "state_size" };
static const char *const other_gguf[] = { "attention.kv_lora_rank", "ssm.state_size",
	"wkv.head_size" };

static uint64_t *
field(struct model_shape *s, const struct number *n)
{
	return (uint64_t *)(void *)((char *)s + n->at);
}

/* What the engine made of it; that it does not run the model is no failure. */
static enum tb_status
keep_hparams(struct model_shape *s, enum tb_status read, struct hparams *hp, struct tb_err *err)
{
	if (read)
		return read == TB_ENOMEM ? tb_nomem(err) : TB_OK;
	s->hp = tb_calloc(1, sizeof(*s->hp));
	if (s->hp)
		*s->hp = *hp;
	else
		hparams_free(hp);
	return s->hp ? TB_OK : tb_nomem(err);
}

static void
finish_shape(struct model_shape *s, uint64_t kv_sum)
{
	if (!s->kv_heads)
		s->kv_heads = s->heads;
	if (!s->head_dim && s->heads)
		s->head_dim = s->dim / s->heads;
	s->kv_width = 2 * s->head_dim * (kv_sum ? kv_sum : s->layers * s->kv_heads);
}

/* ---- config.json ---- */

static void
from_config(struct model_shape *s, const cJSON *config)
{
	const cJSON *text = json_get(config, "text_config");
	bool other = false;

	if (json_is_object(text))
		config = text;
	for (size_t i = 0; i < NNUMBERS; i++)
		for (size_t k = 0; k < 4 && numbers[i].config[k] && !*field(s, &numbers[i]); k++)
			if (json_u64(json_get(config, numbers[i].config[k]), field(s, &numbers[i])) &&
			    *field(s, &numbers[i]) > SANE)
				*field(s, &numbers[i]) = 0;
	for (size_t i = 0; i < sizeof(other_caches) / sizeof(*other_caches); i++)
		other |= json_is_number(json_get(config, other_caches[i]));
	finish_shape(s, 0);
	if (other)
		s->kv_width = 0;
}

static enum tb_status
shape_config(const struct model *m, struct model_shape *s, struct tb_err *err)
{
	struct hparams hp;
	cJSON *config = NULL;
	char *text;
	size_t len;
	enum tb_status status = model_read(m, "config.json", CONFIG_MAX, &text, &len, err);

	if (status)
		return status;
	status = keep_hparams(s, hparams_parse(&hp, text, len, NULL), &hp, err);
	if (!status)
		status = json_parse_python(&config, text, len, "config.json", err);
	if (!status)
		from_config(s, config);
	json_free(config);
	free(text);
	return status;
}

/* ---- GGUF ---- */

static const struct gguf_kv *
find_kv(const struct model_meta *mm, const char *arch, const char *key)
{
	char name[192];

	snprintf(name, sizeof(name), "%.100s.%s", arch, key);
	return gguf_find(&mm->g, name);
}

/* A number for each layer: their sum (0: not to be had), and the largest as the number. */
static enum tb_status
sum_array(const struct model_meta *mm, const struct gguf_kv *kv, uint64_t *largest,
	  uint64_t *out, struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	uint64_t sum = 0, n;
	enum tb_status status = gguf_array_open(&a, kv, &mm->file, err);

	*out = 0;
	if (status)
		return status;
	while (sum < SANE && gguf_array_next(a, &item))
		if (!item.s && gguf_number_u64(kv->elem, item.bits, &n) && n < SANE) {
			sum += n;
			*largest = n > *largest ? n : *largest;
		}
	status = gguf_array_close(a);
	*out = status ? 0 : sum;
	return status;
}

/* Fails only when memory runs out. */
static enum tb_status
from_gguf(struct model_shape *s, const struct model_meta *mm, const char *arch,
	  struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t kv_sum = 0;
	bool other = false;

	for (size_t i = 0; i < NNUMBERS && status != TB_ENOMEM; i++) {
		const struct gguf_kv *kv = find_kv(mm, arch, numbers[i].gguf);
		uint64_t *to = field(s, &numbers[i]), sum;

		if (kv && kv->type == GGUF_ARRAY) {
			status = sum_array(mm, kv, to, &sum, err);
			kv_sum = to == &s->kv_heads ? sum : kv_sum;
		} else if (!gguf_u64(kv, to) || *to > SANE) {
			*to = 0;
		}
	}
	for (size_t i = 0; i < sizeof(other_gguf) / sizeof(*other_gguf); i++)
		other |= find_kv(mm, arch, other_gguf[i]) != NULL;
	finish_shape(s, kv_sum);
	if (other)
		s->kv_width = 0;
	return status == TB_ENOMEM ? status : TB_OK;
}

static enum tb_status
shape_gguf(const struct model *m, struct model_shape *s, struct tb_err *err)
{
	struct hparams hp;
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	status = keep_hparams(s, hparams_gguf(&hp, &mm, NULL), &hp, err);
	if (!status)
		status = from_gguf(s, &mm, m->arch, err);
	model_meta_close(&mm);
	return status;
}

enum tb_status
model_shape(const struct model *m, struct model_shape *out, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct model_shape){ 0 };
	status = shape_gguf(m, out, err);
	if (status && status != TB_ENOMEM)
		status = shape_config(m, out, err);
	if (status != TB_ENOMEM)
		return TB_OK;
	model_shape_free(out);
	return status;
}

void
model_shape_free(struct model_shape *s)
{
	if (s->hp)
		hparams_free(s->hp);
	free(s->hp);
	*s = (struct model_shape){ 0 };
}
