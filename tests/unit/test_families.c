/* Small models of each family in files, run by the engine and computed in doubles. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/engine/engine.h"
#include "src/format/safetensors.h"
#include "src/quant/codec.h"
#include "src/store/store.h"
#include "tests/unit/families.h"
#include "tests/unit/gguf_make.h"

#define S(n) #n
#define SIZES(vocab, dim, ffn, layers) "\"vocab_size\":" S(vocab) ",\"hidden_size\":" S(dim) \
	",\"intermediate_size\":" S(ffn) ",\"num_hidden_layers\":" S(layers)
#define HEADS(heads, kv, hd) ",\"num_attention_heads\":" S(heads) \
	",\"num_key_value_heads\":" S(kv) ",\"head_dim\":" S(hd) ",\"max_position_embeddings\":32" \
	",\"rms_norm_eps\":1e-6"

static const struct spec specs[] = {
	{ .dir = "gemma", .prefix = "model.",
	  .config = "{\"model_type\":\"gemma\",\"hidden_act\":\"gelu\","
		    SIZES(50, 24, 40, 2) HEADS(4, 1, 8) "}",
	  .vocab = 50, .dim = 24, .ffn = 40, .layers = 2, .heads = 4, .kv = 1, .hd = 8,
	  .gelu = true, .norm_add = 1, .embed = 4.898979486, .theta = 10000 },
	{ .dir = "gemma2", .prefix = "model.",
	  .config = "{\"model_type\":\"gemma2\",\"sliding_window\":5,\"query_pre_attn_scalar\":3,"
		    "\"attn_logit_softcapping\":2,\"final_logit_softcapping\":1.5,"
		    SIZES(50, 16, 40, 3) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 3, .heads = 4, .kv = 2, .hd = 8,
	  .post_norms = true, .gelu = true, .norm_add = 1, .embed = 4, .scalar = 3,
	  .attn_cap = 2, .final_cap = 1.5, .window = 5, .windowed = 5, .theta = 10000 },
	/* nested, with a picture's part beside it, and silent about what is usual */
	{ .dir = "gemma3", .prefix = "language_model.model.", .vision = true,
	  .config = "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],"
		    "\"model_type\":\"gemma3\",\"vision_config\":{\"hidden_size\":7},"
		    "\"text_config\":{\"model_type\":\"gemma3_text\",\"sliding_window\":6,"
		    "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},"
		    SIZES(50, 16, 24, 6) "}}",
	  .vocab = 50, .dim = 16, .ffn = 24, .layers = 6, .heads = 8, .kv = 4, .hd = 256,
	  .post_norms = true, .qk_norms = true, .gelu = true, .norm_add = 1, .embed = 4,
	  .window = 6, .windowed = 31, .theta = 1e6, .local = 10000, .factor = 8 },
	{ .dir = "phi3", .prefix = "model.", .fused = true,
	  .config = "{\"model_type\":\"phi3\",\"sliding_window\":9,\"partial_rotary_factor\":0.5,"
		    "\"original_max_position_embeddings\":8,\"rope_scaling\":{\"type\":\"longrope\","
		    "\"short_factor\":[1,1],\"long_factor\":[1.25,3.5]},"
		    SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .window = 9, .windowed = 3, .theta = 10000, .rot = 4, .divide = { 1.25, 3.5 },
	  .longer = 1.2909944487358056 },	/* sqrt(1 + ln 4 / ln 8) */
	{ .dir = "qwen2", .prefix = "model.",
	  .config = "{\"model_type\":\"qwen2\",\"use_sliding_window\":true,\"sliding_window\":4,"
		    "\"max_window_layers\":1," SIZES(50, 16, 40, 3) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 3, .heads = 4, .kv = 2, .hd = 8,
	  .biases = true, .window = 4, .windowed = 6, .theta = 10000 },
	{ .dir = "qwen3", .prefix = "model.",
	  .config = "{\"model_type\":\"qwen3\",\"use_sliding_window\":true,\"sliding_window\":3,"
		    "\"layer_types\":[\"sliding_attention\",\"full_attention\"],"
		    "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500},"
		    SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .qk_norms = true, .window = 3, .windowed = 1, .theta = 500 },
	{ .dir = "olmo2", .prefix = "model.",
	  .config = "{\"model_type\":\"olmo2\",\"rope_theta\":700," SIZES(50, 16, 40, 2)
		    HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .post_norms = true, .behind = true, .qk_norms = true, .whole = true, .theta = 700 },
	{ .dir = "cohere2", .prefix = "model.",
	  .config = "{\"model_type\":\"cohere2\",\"layer_norm_eps\":1e-6,\"logit_scale\":0.25,"
		    "\"sliding_window\":5,\"sliding_window_pattern\":3," SIZES(50, 16, 40, 4)
		    ",\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":8,"
		    "\"max_position_embeddings\":32}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 4, .heads = 4, .kv = 2, .hd = 8,
	  .beside = true, .centered = true, .pairs = true, .window = 5, .windowed = 11,
	  .still = 4, .logits = 0.25, .theta = 10000 },
	{ .dir = "hunyuan", .prefix = "model.",
	  .config = "{\"model_type\":\"hunyuan_v1_dense\",\"rope_scaling\":{\"type\":\"dynamic\","
		    "\"alpha\":27}," SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .qk_norms = true, .late = true, .theta = 810000 },	/* 27 ^ (8 / 6) is 81 */
	{ .dir = "granite", .prefix = "model.",
	  .config = "{\"model_type\":\"granite\",\"embedding_multiplier\":3,"
		    "\"attention_multiplier\":0.5,\"residual_multiplier\":0.75,"
		    "\"logits_scaling\":2," SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .embed = 3, .scalar = 4, .residual = 0.75, .logits = 0.5, .theta = 10000 },
	{ .dir = "smollm3", .prefix = "model.",
	  .config = "{\"model_type\":\"smollm3\",\"rope_theta\":900,\"no_rope_layer_interval\":2,"
		    SIZES(50, 16, 40, 3) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 3, .heads = 4, .kv = 2, .hd = 8,
	  .still = 2, .theta = 900 },
};

struct opened {
	struct store_roots roots;
	struct model_loc loc;
	struct model *m;
	struct engine *e;
	struct session *s;
};

static void
open_model(struct opened *o, const char *dir)
{
	const char *root = unit_tmp();
	struct tb_err err;

	assert_ok(store_roots_init(&o->roots, &root, 1, &err), err);
	assert_ok(store_resolve(&o->roots, unit_path(dir), &o->loc, &err), err);
	assert_ok(model_open(&o->m, &o->loc, &err), err);
	assert_ok(engine_open(&o->e, o->m, &(struct engine_opts){ .threads = 2, .kv = KV_F32 },
			      &err), err);
	assert_ok(session_new(&o->s, o->e, 0, &err), err);
}

static void
close_model(struct opened *o)
{
	session_free(o->s);
	engine_free(o->e);
	model_free(o->m);
	model_loc_free(&o->loc);
	store_roots_free(&o->roots);
}

static void
check_row(const struct spec *s, size_t pos, const float *got, const double *want)
{
	for (size_t i = 0; i < s->vocab; i++)
		if (!(fabs(got[i] - want[i]) < 2e-4))
			fail_msg("%s: logit %zu of token %zu is %g, not %g", s->dir, i, pos, got[i],
				 want[i]);
}

/* The model in unit_tmp()/where against the arrays, at once and token by token. */
static void
compare(const struct spec *s, const struct arrays *all, const char *where)
{
	double want[FAMILY_TOKENS][64];
	uint32_t ids[FAMILY_TOKENS];
	const float *logits;
	struct opened o;
	struct tb_err err;

	for (uint32_t t = 0; t < FAMILY_TOKENS; t++) {
		ids[t] = (t * t * 11 + 3 * t + 1) % (uint32_t)s->vocab;
		family_token(s, all, ids[t], t, want[t]);
	}
	open_model(&o, where);
	assert_ok(session_eval(o.s, ids, FAMILY_TOKENS, true, NULL, &logits, &err), err);
	for (size_t t = 0; t < FAMILY_TOKENS; t++)
		check_row(s, t, logits + t * s->vocab, want[t]);
	session_rewind(o.s, 0);
	for (size_t t = 0; t < FAMILY_TOKENS; t++) {
		assert_ok(session_eval(o.s, ids + t, 1, false, NULL, &logits, &err), err);
		check_row(s, t, logits, want[t]);
	}
	close_model(&o);
}

static void
test_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct arrays all;

		family_make(&specs[i], &all);
		arrays_save(&all, specs[i].dir, specs[i].config);
		compare(&specs[i], &all, specs[i].dir);
		arrays_free(&all);
	}
}

/* A matrix as codes, scales and biases, as MLX names them. */
static void
quantized(const struct array *a, const struct scheme *scheme, char (*names)[140],
	  struct st_tensor *t, struct tb_buf *data)
{
	static const char *const endings[] = { "weight", "scales", "biases" };
	size_t n = a->rows * a->cols, codes = scheme_code_bytes(scheme, n);
	size_t scales = scheme_scales(scheme, n) * 4, stem = strlen(a->name) - strlen("weight");
	uint8_t *bytes = malloc(codes + 2 * scales);
	struct quant_parts parts = { bytes, bytes + codes, bytes + codes + scales };

	quant_encode(scheme, FLAVOUR_METAL, DT_F32, a->v, n, &parts);
	for (size_t i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%.*s%s", (int)stem, a->name, endings[i]);
		t[i] = (struct st_tensor){
			.name = names[i], .dtype = i ? DT_F32 : DT_U32, .ndim = 2,
			.dim = { a->rows, i ? a->cols / scheme->group : a->cols * scheme->bits / 32 }
		};
	}
	tb_buf_add(data, bytes, codes + 2 * scales);
	free(bytes);
}

static void
save_quantized(const struct arrays *all, const char *dir, const char *config)
{
	static char names[3 * FAMILY_MAX][140];
	struct st_tensor t[3 * FAMILY_MAX];
	struct tb_buf data = TB_BUF(8 << 20);
	struct scheme scheme;
	struct tb_err err;
	size_t n = 0;

	assert_ok(scheme_parse("int4", &scheme, &err), err);
	for (size_t i = 0; i < all->n; i++) {
		const struct array *a = &all->t[i];

		if (a->cols) {
			quantized(a, &scheme, names + n, t + n, &data);
			n += 3;
		} else {
			t[n++] = (struct st_tensor){ .name = a->name, .dtype = DT_F32, .ndim = 1,
						     .dim = { a->rows } };
			tb_buf_add(&data, a->v, a->rows * 4);
		}
	}
	family_file(dir, config, t, n, &data);
	tb_buf_free(&data);
}

/* The array `name` of layer l, as the rows of several behind each other. */
static void
fuse(const struct spec *s, const struct arrays *from, size_t l, const char *name,
     const char *const parts[3], struct arrays *to)
{
	struct array *t = &to->t[to->n++];

	*t = (struct array){ .cols = s->dim, .v = malloc(512 * s->dim * sizeof(float)) };
	for (size_t i = 0; i < 3 && parts[i]; i++) {
		const struct array *a = arrays_find(from, family_name(s, l, parts[i]));

		assert_true(t->rows + a->rows <= 512);
		memcpy(t->v + t->rows * t->cols, a->v, a->rows * t->cols * sizeof(float));
		t->rows += a->rows;
	}
	snprintf(t->name, sizeof(t->name), "%s", family_name(s, l, name));
}

static void
fuse_all(const struct spec *s, const struct arrays *from, struct arrays *to)
{
	static const char *const qkv[] = { "self_attn.q_proj.weight", "self_attn.k_proj.weight",
					   "self_attn.v_proj.weight" };
	static const char *const mlp[] = { "mlp.gate_proj.weight", "mlp.up_proj.weight", NULL };

	to->n = 0;
	for (size_t l = 0; l < s->layers; l++) {
		fuse(s, from, l, "self_attn.qkv_proj.weight", qkv, to);
		fuse(s, from, l, "mlp.gate_up_proj.weight", mlp, to);
	}
	for (size_t i = 0; i < from->n; i++) {
		const struct array *a = &from->t[i];
		size_t n = a->rows * (a->cols ? a->cols : 1);

		if (strstr(a->name, "q_proj") || strstr(a->name, "k_proj") ||
		    strstr(a->name, "v_proj") || strstr(a->name, "gate_proj") ||
		    strstr(a->name, "up_proj"))
			continue;
		to->t[to->n] = *a;
		to->t[to->n].v = malloc(n * sizeof(float));
		memcpy(to->t[to->n++].v, a->v, n * sizeof(float));
	}
}

static void
check_same(const char *a, const char *b)
{
	static const uint32_t ids[] = { 1, 5, 9, 20, 3, 7, 11 };
	struct opened x, y;
	const float *p, *q;
	struct tb_err err;

	open_model(&x, a);
	open_model(&y, b);
	assert_ok(session_eval(x.s, ids, 7, true, NULL, &p, &err), err);
	assert_ok(session_eval(y.s, ids, 7, true, NULL, &q, &err), err);
	assert_memory_equal(p, q, 7 * 50 * sizeof(float));
	close_model(&x);
	close_model(&y);
}

/* Views of rows are the same bytes as matrices of their own, codes and scales too. */
static void
test_fused(void **state)
{
	static const struct spec s = { .prefix = "model.", .vocab = 50, .dim = 64, .ffn = 128,
				       .layers = 2, .heads = 4, .kv = 2, .hd = 16 };
#define BODY SIZES(50, 64, 128, 2) HEADS(4, 2, 16)
#define QUANTIZED BODY ",\"quantization\":{\"group_size\":64,\"bits\":4}"
	static const char llama[] = "{\"model_type\":\"llama\"," BODY "}";
	static const char phi3[] = "{\"model_type\":\"phi3\"," BODY "}";
	static const char llama_q[] = "{\"model_type\":\"llama\"," QUANTIZED "}";
	static const char phi3_q[] = "{\"model_type\":\"phi3\"," QUANTIZED "}";
	struct arrays each, fused;

	(void)state;
	family_make(&s, &each);
	fuse_all(&s, &each, &fused);
	arrays_save(&each, "each", llama);
	arrays_save(&fused, "fused", phi3);
	check_same("each", "fused");
	save_quantized(&each, "each-q", llama_q);
	save_quantized(&fused, "fused-q", phi3_q);
	check_same("each-q", "fused-q");
	arrays_free(&each);
	arrays_free(&fused);
}

/* The name that GGUF has for it. */
static void
gguf_name(const struct spec *s, const char *name, char out[128])
{
	static const char *const names[][2] = {
		{ "post_attention_layernorm", "ffn_norm" },
		{ "embed_tokens", "token_embd" }, { "norm", "output_norm" },
		{ "input_layernorm", "attn_norm" },
		{ "self_attn.qkv_proj", "attn_qkv" }, { "self_attn.q_proj", "attn_q" },
		{ "self_attn.k_proj", "attn_k" }, { "self_attn.v_proj", "attn_v" },
		{ "self_attn.o_proj", "attn_output" }, { "self_attn.q_norm", "attn_q_norm" },
		{ "self_attn.k_norm", "attn_k_norm" }, { "mlp.gate_proj", "ffn_gate" },
		{ "mlp.up_proj", "ffn_up" }, { "mlp.gate_up_proj", "ffn_up" },
		{ "mlp.down_proj", "ffn_down" }, { "pre_feedforward_layernorm", "ffn_norm" },
		{ "post_feedforward_layernorm", "post_ffw_norm" },
	};
	size_t prefix = strlen(s->prefix), n, i = 0;
	unsigned layer;
	int skip = 0;

	snprintf(out, 128, "%s%s", strncmp(name, "rope", 4) ? "v." : "", name);
	if (strncmp(name, s->prefix, prefix))
		return;
	name += prefix;
	if (sscanf(name, "layers.%u.%n", &layer, &skip) == 1)
		name += skip;
	n = strlen(name) - strlen(".weight");
	while (strlen(names[i][0]) != n || strncmp(names[i][0], name, n))
		i++;
	name = i == 0 && s->post_norms ? "post_attention_norm" : names[i][1];
	if (skip)
		snprintf(out, 128, "blk.%u.%s.weight", layer, name);
	else
		snprintf(out, 128, "%s.weight", name);
}

static void
gguf_tensors(const struct spec *s, const struct arrays *all, struct tb_buf *head,
	     struct tb_buf *data)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct array *a = &all->t[i];
		char name[128];

		make_pad(data, 32, 0);
		gguf_name(s, a->name, name);
		make_str(head, name);
		make_num(head, a->cols ? 2 : 1, 4);
		if (a->cols)
			make_num(head, a->cols, 8);
		make_num(head, a->rows, 8);
		make_num(head, 0, 4);	/* F32 */
		make_num(head, data->len, 8);
		for (size_t k = 0; k < a->rows * (a->cols ? a->cols : 1); k++) {
			float x = a->v[k] + (strstr(name, "norm") ? (float)s->norm_add : 0);

			tb_buf_add(data, &x, sizeof(x));
		}
	}
}

/* Numbers under "arch.key", ended by key NULL; "~key" is a float. */
struct number { const char *key; double value; };

static void
save_gguf(const struct spec *s, const struct arrays *all, const char *arch, unsigned words,
	  const struct number *numbers, const char *file)
{
	struct tb_buf head, data = TB_BUF(8 << 20), whole = TB_BUF(8 << 20);
	size_t n = 0;

	while (numbers[n].key)
		n++;
	head = make_head(all->n, n + 2);
	make_key(&head, "general.architecture", 8);
	make_str(&head, arch);
	make_key(&head, "tokenizer.ggml.tokens", 9);
	make_num(&head, 8, 4);
	make_num(&head, words, 8);
	for (unsigned i = 0; i < words; i++)
		make_str(&head, "x");
	for (size_t i = 0; i < n; i++) {
		float f = (float)numbers[i].value;
		bool real = numbers[i].key[0] == '~';
		char key[100];

		snprintf(key, sizeof(key), "%s.%s", arch, numbers[i].key + real);
		make_key(&head, key, real ? 6 : 4);
		if (real)
			tb_buf_add(&head, &f, sizeof(f));
		else
			make_num(&head, (uint64_t)numbers[i].value, 4);
	}
	gguf_tensors(s, all, &head, &data);
	make_pad(&head, 32, 0);
	tb_buf_add(&whole, head.p, head.len);
	tb_buf_add(&whole, data.p, data.len);
	assert_false(tb_buf_failed(&whole));
	unit_write(file, whole.p, whole.len);
	tb_buf_free(&whole);
	tb_buf_free(&head);
	tb_buf_free(&data);
}

static const struct spec *
spec_of(const char *name)
{
	size_t i = 0;

	while (strcmp(specs[i].dir, name))
		i++;
	return &specs[i];
}

/* As Ollama's converter wrote Gemma 3: neither eps nor theta nor the factor of long
 * contexts, more words than the embedding has rows, pictures in the same file. */
static void
test_gguf_gemma3(void **state)
{
	static const struct number numbers[] = {
		{ "block_count", 6 }, { "context_length", 131072 }, { "embedding_length", 16 },
		{ "feed_forward_length", 24 }, { "attention.head_count", 8 },
		{ "attention.head_count_kv", 4 }, { "attention.key_length", 256 },
		{ "attention.value_length", 256 }, { "attention.sliding_window", 6 },
		{ "vision.block_count", 1 }, { "mm.tokens_per_image", 256 }, { NULL, 0 }
	};
	static const struct number named[] = {
		{ "block_count", 6 }, { "context_length", 32768 }, { "embedding_length", 16 },
		{ "feed_forward_length", 24 }, { "attention.head_count", 8 },
		{ "attention.head_count_kv", 4 }, { "attention.key_length", 256 },
		{ "attention.value_length", 256 }, { "attention.sliding_window", 6 },
		{ "~rope.global.freq_base", 5e5 }, { "~rope.local.freq_base", 3000 }, { NULL, 0 }
	};
	struct spec s = *spec_of("gemma3");
	struct arrays all;

	(void)state;
	family_make(&s, &all);
	save_gguf(&s, &all, "gemma3", 51, numbers, "gemma3.gguf");
	compare(&s, &all, "gemma3.gguf");
	save_gguf(&s, &all, "gemma3", 51, named, "named.gguf");
	s.theta = 5e5;
	s.local = 3000;
	s.factor = 1;
	compare(&s, &all, "named.gguf");
	arrays_free(&all);
}

static void
test_gguf_phi3(void **state)
{
	static const struct number numbers[] = {
		{ "block_count", 2 }, { "context_length", 32 }, { "embedding_length", 16 },
		{ "feed_forward_length", 40 }, { "attention.head_count", 4 },
		{ "attention.head_count_kv", 2 }, { "attention.sliding_window", 9 },
		{ "attention.key_length", 8 }, { "attention.value_length", 8 },
		{ "rope.dimension_count", 4 }, { "rope.scaling.original_context_length", 8 },
		{ "~rope.scaling.attn_factor", 1.2909944487358056 },
		{ "~attention.layer_norm_rms_epsilon", 1e-6 }, { NULL, 0 }
	};
	const struct spec *s = spec_of("phi3");
	struct arrays all;
	struct array *t;

	(void)state;
	family_make(s, &all);
	for (size_t i = 0; i < 2; i++) {
		t = &all.t[all.n++];
		*t = (struct array){ .rows = 2, .v = malloc(2 * sizeof(float)) };
		snprintf(t->name, sizeof(t->name), "rope_factors_%s.weight", i ? "long" : "short");
		t->v[0] = i ? (float)s->divide[0] : 1;
		t->v[1] = i ? (float)s->divide[1] : 1;
	}
	save_gguf(s, &all, "phi3", 50, numbers, "phi3.gguf");
	compare(s, &all, "phi3.gguf");
	arrays_free(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_fused),
		cmocka_unit_test(test_gguf_gemma3),
		cmocka_unit_test(test_gguf_phi3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
