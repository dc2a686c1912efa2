/* Metadata of GGUF files become a model's numbers, or are refused by the key's name. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "src/engine/hparams.h"
#include "src/store/model_meta.h"
#include "tests/unit/gguf_make.h"
#include "tests/unit/unit.h"

/* A value: "7" u32, "7.0" f32, "t" or "f" bool, "7,8" an array of u32, else a string. */
struct kv { const char *key, *value; };

/* Behind the architecture's name. */
static const struct kv base[] = {
	{ "context_length", "64" }, { "embedding_length", "16" }, { "block_count", "3" },
	{ "feed_forward_length", "24" }, { "attention.head_count", "4" },
	{ "attention.head_count_kv", "2" }, { "vocab_size", "10" },
	{ "attention.layer_norm_rms_epsilon", "0.25" },
};
#define NBASE (sizeof(base) / sizeof(*base))

static void
put_value(struct tb_buf *b, const struct kv *kv)
{
	const char *v = kv->value;
	bool number = strspn(v, "0123456789.,-") == strlen(v);
	float f = strtof(v, NULL);
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if (!number && strlen(v) == 1) {
		make_key(b, kv->key, GGUF_BOOL);
		make_num(b, *v == 't', 1);
	} else if (!number) {
		make_key(b, kv->key, GGUF_STRING);
		make_str(b, v);
	} else if (strchr(v, ',')) {
		make_key(b, kv->key, GGUF_ARRAY);
		make_num(b, GGUF_U32, 4);
		make_num(b, 1 + (strchr(v, ',') != strrchr(v, ',')) + 1u, 8);
		for (; v; v = strchr(v, ',') ? strchr(v, ',') + 1 : NULL)
			make_num(b, strtoul(v, NULL, 10), 4);
	} else {
		make_key(b, kv->key, strchr(v, '.') ? GGUF_F32 : GGUF_U32);
		make_num(b, strchr(v, '.') ? bits : strtoul(v, NULL, 10), 4);
	}
}

/* The keys above for an architecture, some of them changed, added, or without a value
 * left out. */
static enum tb_status
parse(struct hparams *hp, const char *arch, const struct kv *change, size_t n,
      struct tb_err *err)
{
	struct kv all[NBASE + 8] = { { "general.architecture", arch } };
	struct model_meta mm = { .file = { .fd = -1 } };
	char names[NBASE][80];
	enum tb_status status;
	struct tb_buf b;
	size_t nall = NBASE + 1, kept = 0;

	for (size_t i = 0; i < NBASE; i++) {
		snprintf(names[i], sizeof(names[i]), "%s.%s", arch, base[i].key);
		all[i + 1] = (struct kv){ names[i], base[i].value };
	}
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < nall && strcmp(all[at].key, change[i].key))
			at++;
		nall += at == nall;
		all[at] = change[i];
	}
	for (size_t i = 0; i < nall; i++)
		kept += all[i].value != NULL;
	b = make_head(0, kept);
	for (size_t i = 0; i < nall; i++)
		if (all[i].value)
			put_value(&b, &all[i]);
	make_pad(&b, 32, 0);
	assert_ok(tb_file_open(&mm.file, unit_write("meta.gguf", b.p, b.len), err), *err);
	assert_ok(gguf_read(&mm.g, &mm.file, err), *err);
	status = hparams_gguf(hp, &mm, err);
	model_meta_close(&mm);
	tb_buf_free(&b);
	return status;
}

static const struct { struct kv change; enum tb_status code; const char *says; } rows[] = {
	{ { "general.architecture", NULL }, TB_EFORMAT, "general.architecture is missing" },
	{ { "general.architecture", "7" }, TB_EFORMAT, "general.architecture" },
	{ { "general.architecture", "mamba" }, TB_EUNSUP, "\"mamba\" cannot be run" },
	{ { "llama.expert_count", "4" }, TB_EFORMAT, "llama.expert_used_count is missing" },
	{ { "llama.context_length", NULL }, TB_EFORMAT, "llama.context_length is missing" },
	{ { "llama.context_length", "0" }, TB_EFORMAT, "llama.context_length" },
	{ { "llama.embedding_length", "4000000000" }, TB_EFORMAT, "llama.embedding_length" },
	{ { "llama.embedding_length", "-1" }, TB_EFORMAT, "llama.embedding_length" },
	{ { "llama.embedding_length", "18" }, TB_EFORMAT, "key_length is missing" },
	{ { "llama.block_count", "2.5" }, TB_EFORMAT, "llama.block_count" },
	{ { "llama.block_count", "5000" }, TB_EFORMAT, "llama.block_count" },
	{ { "llama.feed_forward_length", "24,25" }, TB_EFORMAT, "not a number for each of 3 layers" },
	{ { "llama.attention.head_count", "f" }, TB_EFORMAT, "llama.attention.head_count" },
	{ { "llama.attention.head_count_kv", "3" }, TB_EFORMAT, "head_count_kv: 4 heads" },
	{ { "llama.attention.head_count_kv", "2,0" }, TB_EFORMAT, "not a number for each of 3" },
	{ { "llama.attention.key_length", "3" }, TB_EFORMAT, "head_dim 3 is odd" },
	{ { "llama.attention.value_length", "8" }, TB_EUNSUP, "value_length: 8, but keys have 4" },
	{ { "llama.vocab_size", NULL }, TB_EFORMAT, "llama.vocab_size is missing" },
	{ { "llama.attention.layer_norm_rms_epsilon", NULL }, TB_EFORMAT, "epsilon is missing" },
	{ { "llama.attention.layer_norm_rms_epsilon", "2.0" }, TB_EFORMAT, "epsilon" },
	{ { "llama.attention.layer_norm_rms_epsilon", "some" }, TB_EFORMAT, "epsilon" },
	{ { "llama.rope.dimension_count", "2" }, TB_EUNSUP, "rope.dimension_count: 2 of 4" },
	{ { "llama.rope.freq_base", "0.0" }, TB_EFORMAT, "llama.rope.freq_base" },
	{ { "llama.rope.scaling.type", "ntk" }, TB_EUNSUP, "rope.scaling.type: \"ntk\"" },
	{ { "llama.rope.scaling.type", "yarn" }, TB_EFORMAT, "yarn needs a factor" },
	{ { "llama.rope.scaling.attn_factor", "1.5" }, TB_EUNSUP, "attn_factor" },
	{ { "llama.attn_logit_softcapping", "50.0" }, TB_EUNSUP, "attn_logit_softcapping: 50" },
	{ { "llama.expert_weights_scale", "2.5" }, TB_OK, NULL },	/* there are none */
	{ { "llama.feed_forward_length", "24,24" }, TB_OK, NULL },
	{ { "llama.attention.head_count_kv", NULL }, TB_OK, NULL },
};

static void
test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct kv *change = &rows[i].change;
		struct tb_err err = { 0 };
		struct hparams hp;
		enum tb_status got = parse(&hp, "llama", change, 1, &err);

		if (got != rows[i].code || (got && !strstr(err.msg, rows[i].says)))
			fail_msg("%s %s: %d \"%s\"", change->key,
				 change->value ? change->value : "-", got, err.msg);
		if (!got)
			hparams_free(&hp);
	}
}

static void
test_values(void **state)
{
	static const struct kv experts[] = {
		{ "llama.expert_count", "4" }, { "llama.expert_used_count", "2" },
		{ "llama.rope.freq_base", "500000.0" }, { "llama.rope.scale_linear", "4.0" },
		{ "llama.attention.sliding_window", "7" },
	};
	struct hparams hp;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(parse(&hp, "llama", NULL, 0, &err), err);
	assert_string_equal(hp.arch->name, "llama");
	assert_int_equal(hp.head_dim, 4);
	assert_int_equal(hp.vocab, 10);
	assert_true(hp.rope_pairs && !hp.tied_known && hp.window == 0);
	assert_true(hp.rms_eps == 0.25f && hp.rope.theta == 10000);
	hparams_free(&hp);
	assert_ok(parse(&hp, "llama", experts, 5, &err), err);
	assert_string_equal(hp.arch->name, "mixtral");
	assert_true(hp.experts == 4 && hp.experts_used == 2 && hp.routing.renormalize);
	assert_true(hp.rope.kind == ROPE_LINEAR && hp.rope.theta == 500000);
	assert_true(fabs(hparams_inv_freq(&hp, &hp.rope, 0, 64) - 0.25) < 1e-12);
	assert_true(hp.window == 7 && hparams_windowed(&hp, 0) && hparams_windowed(&hp, 1));
	hparams_free(&hp);
}

/* Numbers that are none, or others for some layers, never pass for what is usual. */
static void
test_lists(void **state)
{
	static const struct { const char *arch; struct kv change; const char *says; } bad[] = {
		{ "laguna", { "laguna.attention.head_count", "0,4,4" }, "layer 0 has no heads" },
		{ "laguna", { "laguna.vocab_size", "10" }, "a gate of 0 rows" },
		{ "laguna", { "laguna.expert_used_count", "1,2,2" },
		  "expert_used_count: numbers that differ among layers" },
		{ "laguna", { "laguna.expert_gating_func", "2,2" }, "expert_gating_func" },
		{ "laguna", { "laguna.leading_dense_block_count", "one" }, "leading_dense" },
		{ "gemma4", { "gemma4.attention.shared_kv_layers", "1.5" }, "shared_kv_layers" },
		{ "gemma4", { "gemma4.attention.shared_kv_layers", "3" }, "shared_kv_layers" },
		{ "gemma4", { "gemma4.embedding_length_per_layer_input", "8,8,8" },
		  "embedding_length_per_layer_input" },
	};
	struct tb_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		bool experts = !strcmp(bad[i].arch, "laguna");
		struct kv change[] = {
			bad[i].change, { "laguna.expert_count", "4" },
			{ "laguna.expert_feed_forward_length", "8" },
			{ "laguna.expert_used_count", "2" },
		};
		size_t n = !experts ? 1 : strcmp(change[0].key, change[3].key) ? 4 : 3;
		struct hparams hp;
		enum tb_status got = parse(&hp, bad[i].arch, change, n, &err);

		if (!got || !strstr(err.msg, bad[i].says))
			fail_msg("%s: %d \"%s\"", bad[i].change.key, got, err.msg);
	}
}

/* What Gemma's files say of windows: nothing, a number, a flag a layer. */
static void
test_windows(void **state)
{
	static const struct { const char *value; bool windowed[3]; } patterns[] = {
		{ NULL, { true, true, true } }, { "2", { true, false, true } },
		{ "0,1,0", { false, true, false } },
	};
	struct hparams hp;
	struct tb_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct kv pattern = { "gemma3.attention.sliding_window_pattern",
				      patterns[i].value };

		assert_ok(parse(&hp, "gemma3", &pattern, 1, &err), err);
		for (uint32_t l = 0; l < 3; l++)
			assert_int_equal(hparams_windowed(&hp, l), patterns[i].windowed[l]);
		assert_true(hp.norm_add == 0 && hp.embed_scale == 4 && hp.rope_local.theta == 10000);
		hparams_free(&hp);
	}
	assert_fails(parse(&hp, "gemma3", &(struct kv){ "gemma3.attention.sliding_window_pattern",
							"0,1" }, 1, &err),
		     err, TB_EFORMAT, "not a flag for each of 3 layers");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused), cmocka_unit_test(test_values),
		cmocka_unit_test(test_lists), cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
