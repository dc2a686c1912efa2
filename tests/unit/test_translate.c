/* Names, shapes and numbers of tensors between Hugging Face's files and GGUF, on models that
 * llama.cpp has converted. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/mem.h"
#include "src/format/dtype.h"
#include "src/model/values.h"
#include "src/ops/translate/translate.h"
#include "src/store/model_meta.h"

static struct model *
open_model(enum model_kind kind, const char *path)
{
	struct model_loc loc = { kind, (char *)"m", (char *)path, (char *)"", 0 };
	struct model *m;
	struct tb_err err;

	assert_ok(model_open(&m, &loc, &err), err);
	return m;
}

/* All of a small tensor. */
static float *
numbers(const struct model *m, const struct tensor *t)
{
	float *out = tb_calloc(t->elems, sizeof(*out));
	struct values v;
	struct tb_err err;

	assert_non_null(out);
	assert_ok(values_open(&v, m, t, NULL, &err), err);
	dtype_to_f32(t->scheme.dtype, v.part[PART_WEIGHT].p, t->elems, out);
	values_close(&v);
	return out;
}

/* A piece lies in the GGUF's tensor from `first` on. */
static void
same_numbers(const struct model *hf, const struct tensor *from, const struct translated *o,
	     const struct model *gguf, const struct tensor *to, uint64_t first, uint64_t n)
{
	float *was, *is;

	if (!scheme_is_plain(&from->scheme))
		return;
	was = numbers(hf, from);
	is = numbers(gguf, to);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = o->change.moved ? walk_place(&o->change.walk, i) : i;
		float want = change_apply(&o->change, was[at]);

		if (is[first + i] != want && fabsf(is[first + i] - want) > 1e-6f * fabsf(want))
			fail_msg("%s -> %s: number %ju is %g, not %g", from->name, o->name, (uintmax_t)i,
				 (double)is[first + i], (double)want);
	}
	free(was);
	free(is);
}

static void
check_tensor(const struct translate *t, const struct model *hf, const struct tensor *from,
	     const struct model *gguf, uint64_t *filled)
{
	struct translated out[TRANSLATE_PARTS];
	struct tb_err err;
	uint64_t below = 0;
	unsigned n;

	assert_ok(translate_to_gguf(t, from, out, &n, &err), err);
	for (unsigned i = 0; i < n; i++) {
		const struct translated *o = &out[i];
		const struct tensor *to = model_tensor(gguf, o->name);
		uint64_t elems = 1;
		unsigned d0 = 0;

		if (!to)
			fail_msg("%s -> %s: no such tensor", from->name, o->name);
		for (unsigned d = 0; d < o->ndim; d++)
			elems *= o->dim[d];
		assert_int_equal(to->ndim, o->ndim + o->expert);
		if (o->rows)
			d0 = 1;
		if (memcmp(to->dim + o->expert + d0, o->dim + d0, (o->ndim - d0) * sizeof(*o->dim)))
			fail_msg("%s -> %s: another shape", from->name, o->name);
		if (!o->rows || !o->index)
			below = 0;
		same_numbers(hf, from, o, gguf, to, o->expert ? o->index * elems : below, elems);
		below += elems;
		filled[to - gguf->tensors] += elems;
	}
}

/* All that the file says of the architecture is said in the same type and, of what is one
 * number, the same; lists have the same length. */
static void
check_keys(const struct translate *t, const struct model *hf, const struct model *gguf)
{
	static const char *const ours[] = {	/* written by nobody but who made the file, or: */
		".vocab_size", "gemma.rope.freq_base", "gemma2.rope.freq_base",
		/* HunYuan's whole context, which llama.cpp's converter knows by heart */
		"hunyuan-dense.context_length", "hunyuan-dense.rope.scaling.factor",
		"hunyuan-dense.rope.scaling.original_context_length",
	};
	const struct translate_ask ask = { .file_type = 0 };
	struct translated_keys k;
	struct tb_buf head = TB_BUF(GGUF_HEAD_MAX);
	struct model_meta want;
	struct gguf is;
	struct tb_err err;
	uint64_t size;

	assert_ok(translate_keys(&k, t, hf, &ask, &err), err);
	assert_ok(gguf_layout(&k.keys, NULL, 0, &head, &size, &err), err);
	assert_ok(gguf_parse(&is, head.p, head.len, head.len, "KEYS", &err), err);
	assert_ok(model_meta_open(&want, gguf, &err), err);
	for (size_t i = 0; i < want.g.nkv; i++) {
		const struct gguf_kv *a = &want.g.kv[i], *b = gguf_find(&is, a->key);
		bool skip = strncmp(a->key, t->gguf, strlen(t->gguf)) != 0;

		for (size_t j = 0; j < sizeof(ours) / sizeof(*ours); j++)
			skip |= strstr(a->key, ours[j]) != NULL;
		if (skip)
			continue;
		if (!b || b->type != a->type || b->count != a->count ||
		    (a->type == GGUF_ARRAY ? b->elem != a->elem || b->len != a->len
					   : b->bits != a->bits))
			fail_msg("%s: is not what llama.cpp writes", a->key);
	}
	model_meta_close(&want);
	gguf_free(&is);
	tb_buf_free(&head);
	translated_keys_free(&k);
}

static void
check_model(const char *dir, const char *file)
{
	struct model *hf = open_model(MODEL_SAFETENSORS_DIR, dir);
	struct model *gguf = open_model(MODEL_GGUF_FILE, file);
	uint64_t *filled = tb_calloc(gguf->ntensors, sizeof(*filled));
	struct translate t;
	struct tb_err err;

	assert_ok(translate_hf(&t, hf, &err), err);
	assert_string_equal(t.gguf, gguf->arch);
	for (size_t i = 0; i < hf->ntensors; i++)
		check_tensor(&t, hf, &hf->tensors[i], gguf, filled);
	for (size_t i = 0; i < gguf->ntensors; i++)
		if (strncmp(gguf->tensors[i].name, "rope_", 5) &&
		    filled[i] != gguf->tensors[i].elems)
			fail_msg("%s: %s: filled by %ju of %ju", dir, gguf->tensors[i].name,
				 (uintmax_t)filled[i], (uintmax_t)gguf->tensors[i].elems);
	check_keys(&t, hf, gguf);
	free(filled);
	model_free(hf);
	model_free(gguf);
}

static void
tensors_are_those_that_llama_cpp_writes(void **state)
{
	static const char *const trained[] = { "rope3", "moe4", "qwen2", "qwen3", "gemma", "gemma2",
					       "gemma3", "untied" };
	static const char *const small[] = {
		"cohere2", "cohere2_moe", "deepseek_v2_lite", "deepseek_v3", "ernie4_5",
		"ernie4_5_moe", "exaone4", "exaone4_swa", "gemma4", "gemma4_e",
		"gemma4_moe", "glm4", "glm4_moe", "glm4_moe_lite", "gpt_oss", "granite",
		"granite_hybrid", "granite_moe", "granite_moe_shared", "hunyuan_dense",
		"laguna", "lfm2", "lfm2_moe", "llama_linear", "llama_yarn", "minimax_m2",
		"ministral3", "mistral3", "nemotron_h", "nemotron_h_moe", "olmo2",
		"olmo3", "olmoe", "qwen2_moe", "qwen3_5", "qwen3_5_moe", "qwen3_5_vl",
		"qwen3_moe", "qwen3_next", "qwen3_vl", "qwen3_vl_moe", "seed_oss",
		"smollm3",
	};
	char dir[4096], file[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(trained) / sizeof(*trained); i++) {
		snprintf(dir, sizeof(dir), "%s-%s/hf", unit_shared("data/models/stories260K"), trained[i]);
		snprintf(file, sizeof(file), "%s-%s/stories260K-%s.gguf",
			 unit_shared("data/models/stories260K"), trained[i], trained[i]);
		check_model(dir, file);
	}
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		snprintf(dir, sizeof(dir), "%s/%s/hf", unit_shared("data/models/arch"), small[i]);
		snprintf(file, sizeof(file), "%s/%s/model.gguf", unit_shared("data/models/arch"), small[i]);
		check_model(dir, file);
	}
}

/* config.json may say anything, and a tensor may have any shape. */
static void
what_does_not_fit_is_refused(void **state)
{
	struct translate t = { .gguf = "qwen35", .type = "qwen3_5_text", .k_heads = 2, .v_heads = 4,
			       .k_dim = 8, .v_dim = 8 };
	struct tensor z = { .name = (char *)"layers.0.linear_attn.in_proj_z.weight", .ndim = 2,
			    .dim = { 32, 16 }, .elems = 512 };
	struct translated out[TRANSLATE_PARTS];
	struct tb_err err;
	unsigned n;

	(void)state;
	assert_ok(translate_to_gguf(&t, &z, out, &n, &err), err);
	assert_int_equal(n, 1);
	assert_int_equal(walk_elems(&out[0].change.walk), 512);
	z = (struct tensor){ .name = z.name, .ndim = 3, .dim = { 1, 32, 16 }, .elems = 512 };
	assert_fails(translate_to_gguf(&t, &z, out, &n, &err), err, TB_EFORMAT, "has not the shape");

	/* 2 * k_dim + 2 * v_heads * v_dim is 16, of 64 bits */
	t = (struct translate){ .gguf = "qwen3next", .type = "qwen3_next", .k_heads = 1,
				.v_heads = 0x80000000, .k_dim = 0x80000008, .v_dim = 0xffffffff };
	z = (struct tensor){ .name = (char *)"layers.0.linear_attn.in_proj_qkvz.weight", .ndim = 2,
			     .dim = { 16, 1 }, .elems = 16 };
	assert_fails(translate_to_gguf(&t, &z, out, &n, &err), err, TB_EFORMAT, "has not the shape");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(tensors_are_those_that_llama_cpp_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
