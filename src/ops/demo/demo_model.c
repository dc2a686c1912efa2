/* demo_model.c - weights from a seed.  The model says nothing, but in letters: the
 * head's rows of all other tokens are zero. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/format/safetensors.h"
#include "src/ops/demo/demo.h"

#define DIM 128u
#define FFN 256u
#define HEADS 4u
#define KV_HEADS 2u
#define HEAD_DIM 32u

/* Rows and columns of a layer's tensors; 0 columns: a norm.  {e}: for each expert. */
struct shape { const char *name; unsigned rows, cols; };
static const struct shape attention[] = {
	{ "input_layernorm", DIM, 0 }, { "post_attention_layernorm", DIM, 0 },
	{ "self_attn.q_proj", HEADS * HEAD_DIM, DIM }, { "self_attn.k_proj", KV_HEADS * HEAD_DIM, DIM },
	{ "self_attn.v_proj", KV_HEADS * HEAD_DIM, DIM }, { "self_attn.o_proj", DIM, HEADS * HEAD_DIM },
};
static const struct shape dense[] = {
	{ "mlp.gate_proj", FFN, DIM }, { "mlp.up_proj", FFN, DIM }, { "mlp.down_proj", DIM, FFN },
};
static const struct shape expert[] = { { "w1", FFN, DIM }, { "w3", FFN, DIM }, { "w2", DIM, FFN } };

struct writer {
	const struct demo_model *m;
	struct st_tensor *tensors;
	size_t n, cap;
	uint64_t state;
	bool failed;
};

static void
add_tensor(struct writer *w, char *name, unsigned rows, unsigned cols)
{
	if (!name || !tb_grow(&w->tensors, &w->cap, w->n + 1, sizeof(*w->tensors))) {
		free(name);
		w->failed = true;
		return;
	}
	w->tensors[w->n++] = (struct st_tensor){ .name = name, .dtype = DT_BF16,
						 .ndim = cols ? 2 : 1, .dim = { rows, cols } };
}

static void
add_layer(struct writer *w, unsigned layer)
{
	static const size_t na = sizeof(attention) / sizeof(*attention);

	for (size_t i = 0; i < na; i++)
		add_tensor(w, tb_asprintf("model.layers.%u.%s.weight", layer, attention[i].name),
			   attention[i].rows, attention[i].cols);
	for (size_t i = 0; i < 3 && !w->m->experts; i++)
		add_tensor(w, tb_asprintf("model.layers.%u.%s.weight", layer, dense[i].name),
			   dense[i].rows, dense[i].cols);
	if (w->m->experts)
		add_tensor(w, tb_asprintf("model.layers.%u.block_sparse_moe.gate.weight", layer),
			   w->m->experts, DIM);
	for (unsigned e = 0; e < w->m->experts; e++)
		for (size_t i = 0; i < 3; i++)
			add_tensor(w, tb_asprintf("model.layers.%u.block_sparse_moe.experts.%u.%s.weight",
					   layer, e, expert[i].name), expert[i].rows, expert[i].cols);
}

/* Nearly normal: four even numbers added, of variance 1. */
float
demo_normal(uint64_t *s)
{
	float sum = 0;

	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	for (int i = 0; i < 4; i++)
		sum += (float)(*s >> 16 * i & 0xffff) / 65536 - .5f;
	return sum * 1.7320508f;
}

static void
fill(struct writer *w, const struct st_tensor *t, uint8_t *out)
{
	bool head = !strcmp(t->name, "lm_head.weight");
	uint64_t cols = t->ndim == 2 ? t->dim[1] : 1;

	for (uint64_t i = 0; i < t->len / 2; i++) {
		float x = demo_normal(&w->state);
		uint16_t h;

		if (t->ndim == 1)
			x = 1 + x / 16;
		else
			x /= sqrtf((float)cols);
		if (head)
			x = demo_readable((unsigned)(i / cols)) ? 3 * x : 0;
		h = tb_f32_bf16(x);
		memcpy(out + 2 * i, &h, 2);
	}
}

static enum tb_status
write_tensors(struct writer *w, const char *dir, struct tb_err *err)
{
	static const struct st_meta format = { "format", "pt" };
	struct tb_buf head = TB_BUF(1u << 20);
	struct tb_out o;
	enum tb_status status = st_layout(w->tensors, w->n, &format, 1, &head, err);
	char *path = tb_path_join(dir, "model.safetensors");
	uint8_t *data;

	if (!status)
		status = path ? tb_out_open(&o, dir, err) : tb_nomem(err);
	if (!status) {
		status = tb_out_write(&o, head.p, head.len, err);
		for (size_t i = 0; i < w->n && !status; i++) {
			data = malloc(w->tensors[i].len);
			if (data)
				fill(w, &w->tensors[i], data);
			status = data ? tb_out_write(&o, data, w->tensors[i].len, err) : tb_nomem(err);
			free(data);
		}
		if (!status)
			status = tb_out_commit(&o, path, false, err);
		tb_out_abort(&o);
	}
	tb_buf_free(&head);
	free(path);
	return status;
}

static enum tb_status
write_config(const struct demo_model *m, const char *dir, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(1u << 16);
	char *path = tb_path_join(dir, "config.json");
	enum tb_status status;

	tb_buf_printf(&b, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n",
		      m->experts ? "MixtralForCausalLM" : "LlamaForCausalLM",
		      m->experts ? "mixtral" : "llama");
	if (m->experts)
		tb_buf_printf(&b, "  \"num_local_experts\": %u,\n  \"num_experts_per_tok\": 2,\n",
			      m->experts);
	tb_buf_printf(&b, "  \"hidden_size\": %u,\n  \"intermediate_size\": %u,\n"
		      "  \"num_hidden_layers\": %u,\n  \"num_attention_heads\": %u,\n"
		      "  \"num_key_value_heads\": %u,\n  \"head_dim\": %u,\n  \"vocab_size\": %u,\n",
		      DIM, FFN, m->layers, HEADS, KV_HEADS, HEAD_DIM, demo_vocab());
	tb_buf_str(&b, "  \"hidden_act\": \"silu\",\n  \"max_position_embeddings\": 2048,\n"
		   "  \"rms_norm_eps\": 1e-05,\n  \"rope_theta\": 10000.0,\n"
		   "  \"tie_word_embeddings\": false,\n  \"torch_dtype\": \"bfloat16\",\n"
		   "  \"bos_token_id\": 288,\n  \"eos_token_id\": 289\n}\n");
	status = path && !tb_buf_failed(&b) ? tb_out_file(path, b.p, b.len, false, err)
					    : tb_nomem(err);
	tb_buf_free(&b);
	free(path);
	return status;
}

enum tb_status
demo_write(const struct demo_model *m, const char *dir, struct tb_err *err)
{
	struct writer w = { .m = m, .state = m->seed };
	enum tb_status status = tb_mkdirs(dir, err);

	if (!status)
		status = write_config(m, dir, err);
	if (!status)
		status = demo_write_text(dir, err);
	if (!status) {
		add_tensor(&w, tb_strdup("model.embed_tokens.weight"), demo_vocab(), DIM);
		for (unsigned l = 0; l < m->layers; l++)
			add_layer(&w, l);
		add_tensor(&w, tb_strdup("model.norm.weight"), DIM, 0);
		add_tensor(&w, tb_strdup("lm_head.weight"), demo_vocab(), DIM);
		status = w.failed ? tb_nomem(err) : write_tensors(&w, dir, err);
	}
	for (size_t i = 0; i < w.n; i++)
		free((char *)w.tensors[i].name);
	free(w.tensors);
	return status;
}
