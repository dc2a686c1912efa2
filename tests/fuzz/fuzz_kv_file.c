#define _GNU_SOURCE
/* fuzz_kv_file.c - a kept session with other bytes in it: three a change, where and what; the
 * first one cuts it, or puts something behind it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/run/run.h"
#include "src/store/model.h"
#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKENS 5
#define VOCAB 16

static struct chat_model m;
static struct session *s;
static char *good, *bad;
static size_t len;

static void
make_model(void)
{
	static const char config[] = "{\"model_type\":\"llama\",\"hidden_size\":8,\"vocab_size\":16,"
		"\"intermediate_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
		"\"num_key_value_heads\":1,\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,"
		"\"tie_word_embeddings\":true}";
#define L "model.layers.0."
	static const struct folder_tensor t[] = {
		{ "model.embed_tokens.weight", DT_F32, 2, { VOCAB, 8 } },
		{ "model.norm.weight", DT_F32, 1, { 8 } },
		{ L "input_layernorm.weight", DT_F32, 1, { 8 } },
		{ L "post_attention_layernorm.weight", DT_F32, 1, { 8 } },
		{ L "self_attn.q_proj.weight", DT_F32, 2, { 8, 8 } },
		{ L "self_attn.k_proj.weight", DT_F32, 2, { 4, 8 } },
		{ L "self_attn.v_proj.weight", DT_F32, 2, { 4, 8 } },
		{ L "self_attn.o_proj.weight", DT_F32, 2, { 8, 8 } },
		{ L "mlp.gate_proj.weight", DT_F32, 2, { 8, 8 } },
		{ L "mlp.up_proj.weight", DT_F32, 2, { 8, 8 } },
		{ L "mlp.down_proj.weight", DT_F32, 2, { 8, 8 } },
	};
	struct model_loc loc = { MODEL_SAFETENSORS_DIR, (char *)"fuzz", (char *)folder(),
				 (char *)"", 0 };
	static const struct engine_opts opts = { .threads = 1 };
	struct tb_err err;

	folder_put("config.json", config, sizeof(config) - 1);
	folder_tensors("model.safetensors", t, sizeof(t) / sizeof(*t));
	if (model_open(&m.model, &loc, &err) || engine_open(&m.engine, m.model, &opts, &err) ||
	    session_new(&s, m.engine, 0, &err))
		abort();
}

static void
begin(void)
{
	static uint32_t ids[TOKENS] = { 1, 2, 3, 4, 5 };
	struct token_ids held = { .v = ids, .n = TOKENS };
	char *path = tb_path_join(folder(), "kept");
	const float *logits;
	struct tb_err err;

	make_model();
	if (!path || session_eval(s, ids, TOKENS, false, NULL, &logits, &err) ||
	    kv_file_save(&m, s, &held, path, NULL, &err) ||
	    tb_file_slurp(path, 1 << 20, &good, &len, &err) || !(bad = malloc(len + 256)))
		abort();
	free(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_ids held = { 0 };
	size_t end = len;
	const float *logits;
	char *path;
	uint32_t id = 7;
	struct tb_err err = { 0 };

	if (!good)
		begin();
	memcpy(bad, good, len);
	memset(bad + len, 0, 256);
	for (size_t i = 0; i + 3 <= size; i += 3) {
		size_t at = data[i] | (size_t)data[i + 1] << 8;

		if (i)
			bad[at % len] = (char)data[i + 2];
		else
			end = at & 1 ? len - at / 2 % len : len + data[2];
	}
	folder_put("kept", bad, end);
	path = tb_path_join(folder(), "kept");
	if (!kv_file_load(&m, s, &held, path, NULL, &err)) {
		if (held.n != session_pos(s) || held.n > session_context(s))
			abort();
		(void)!session_eval(s, &id, 1, false, NULL, &logits, &err);
	} else if (!err.code || !*err.msg || held.n || session_pos(s)) {
		abort();
	}
	free(path);
	free(held.v);
	return 0;
}
