/* What names say, and what others call the same. */
#include "config.h"

#include "src/store/tensor_name.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static void
test_layers(void **state)
{
	static const struct { const char *name; size_t stem, len; uint64_t layer; } rows[] = {
		{ "model.layers.12.mlp.up_proj.weight", 6, 15, 12 },
		{ "layers.0.norm.weight", 0, 8, 0 }, { "blk.7.attn_q.weight", 0, 5, 7 },
		{ "v.blk.3.ln1.weight", 2, 7, 3 },
		{ "a.layers.x.layers.007.b", 11, 21, 7 },
		{ "encoder_layers.3.weight", 0, 0, 0 }, { "blk.-1.weight", 0, 0, 0 },
		{ "blk.x.weight", 0, 0, 0 }, { "model.layers.3", 0, 0, 0 },
		{ "layers..a", 0, 0, 0 }, { "layers.9999999999999999999.a", 0, 0, 0 },
		{ "layers.", 0, 0, 0 }, { ".", 0, 0, 0 }, { "", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tname_layer l = { 0 };

		if (tname_layer(rows[i].name, &l) != (rows[i].len > 0) || (rows[i].len &&
		    (l.stem != rows[i].stem || l.len != rows[i].len || l.number != rows[i].layer)))
			fail_msg("%s: %zu %zu %ju", rows[i].name, l.stem, l.len, (uintmax_t)l.number);
	}
	assert_string_equal(tname_behind_stem("language_model.model.norm.weight"), "norm.weight");
	assert_string_equal(tname_behind_stem("model."), "model.");
}

static void
test_patterns(void **state)
{
	static const char pattern[] = "layers.{n}.x.{e}.w";
	uint32_t layer, expert;
	char out[18];

	(void)state;
	assert_true(tname_match(pattern, "layers.12.x.4294967295.w", &layer, &expert));
	assert_true(layer == 12 && expert == UINT32_MAX);
	assert_false(tname_match(pattern, "layers.12.x.4294967296.w", &layer, &expert));
	assert_false(tname_match(pattern, "layers.012.x.3.w", &layer, &expert));
	assert_false(tname_match(pattern, "layers.12.x.3.w.", &layer, &expert));
	assert_false(tname_match(pattern, "layers.12.x.3", &layer, &expert));
	assert_false(tname_match(pattern, "layers..x.3.w", &layer, &expert));
	assert_true(tname_fill(pattern, 1, 2345, out, sizeof(out)));
	assert_string_equal(out, "layers.1.x.2345.w");
	assert_true(tname_fill(pattern, 1, TNAME_ALL, out, sizeof(out)));
	assert_string_equal(out, "layers.1.x.*.w");
	assert_false(tname_fill(pattern, 1, 23456, out, sizeof(out)));
	assert_false(tname_fill(pattern, 1, TNAME_ALL, out, 14));
}

static void
test_roles(void **state)
{
	static const struct { const char *name; enum tname_role role; } cases[] = {
		{ "model.embed_tokens.weight", TNAME_EMBED }, { "token_embd.weight", TNAME_EMBED },
		{ "model.layers.3.self_attn.q_proj.weight", TNAME_ATTENTION },
		{ "model.layers.3.self_attn.q_norm.weight", TNAME_NORM },
		{ "blk.3.attn_norm.weight", TNAME_NORM }, { "blk.3.attn_q.bias", TNAME_ATTENTION },
		{ "blk.3.attn_output.weight", TNAME_ATTENTION }, { "output.weight", TNAME_HEAD },
		{ "output_norm.weight", TNAME_NORM }, { "lm_head.weight", TNAME_HEAD },
		{ "model.layers.3.post_attention_layernorm.weight", TNAME_NORM },
		{ "model.layers.3.mlp.up_proj.weight", TNAME_FFN }, { "blk.3.ffn_up.weight", TNAME_FFN },
		{ "model.layers.3.mlp.gate_proj.weight", TNAME_FFN },
		{ "model.layers.3.mlp.gate.weight", TNAME_ROUTER },
		{ "blk.3.ffn_gate_inp.weight", TNAME_ROUTER },
		{ "model.layers.3.block_sparse_moe.gate.weight", TNAME_ROUTER },
		{ "blk.3.ffn_gate_exps.weight", TNAME_EXPERTS },
		{ "model.layers.3.mlp.experts.7.up_proj.weight", TNAME_EXPERTS },
		{ "model.layers.3.mlp.switch_mlp.up_proj.weight", TNAME_EXPERTS },
		{ "model.layers.3.mlp.shared_expert.up_proj.weight", TNAME_SHARED },
		{ "blk.3.ffn_up_shexp.weight", TNAME_SHARED },
		{ "v.blk.0.attn_q.weight", TNAME_MEDIA },
		{ "vision_tower.encoder.layers.0.mlp.fc1.weight", TNAME_MEDIA },
		{ "backbone.layers.3.mixer.gate.weight", TNAME_ROUTER },
		{ "rope_freqs.weight", TNAME_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (tname_role(cases[i].name) != cases[i].role)
			fail_msg("%s: %s", cases[i].name, tname_role_words(tname_role(cases[i].name)));
}

static void
test_experts(void **state)
{
	/* Projection, index, what it is; NULL: no expert's.  Grouped is what Ollama does. */
	static const struct { const char *name, *says; } rows[] = {
		{ "model.layers.12.mlp.experts.3.gate_proj.weight",
		  "gate_proj 3 grouped" },
		{ "layers.0.moe.experts.0.w1.weight",
		  "w1 0 grouped" },
		{ "mtp.layers.0.mixer.shared_experts.0.up.weight",
		  "up 0 grouped" },
		{ "model.language_model.backbone.layers.0.mlp.switch_mlp.7.a.weight",
		  "a 7 grouped" },
		{ "model.layers.1.mlp.experts.3.a.b.weight",
		  "a.b 3 grouped" },
		{ "model.layers.1.block_sparse_moe.experts.3.w1.weight",
		  "gate_proj 3" },
		{ "model.layers.1.block_sparse_moe.experts.w2.weight",
		  "down_proj 0 stacked" },
		{ "model.layers.1.mlp.experts.gate_up_proj.weight",
		  "gate_up_proj 0 stacked" },
		{ "model.layers.1.moe.switch_mlp.up_proj.weight",
		  "up_proj 0 stacked" },
		{ "model.layers.1.mixer.switch_mlp.4.up_proj.weight",
		  "up_proj 4" },
		{ "model.layers.1.mlp.shared_experts.gate_proj.weight",
		  "gate_proj 0 shared" },
		{ "model.layers.1.mlp.experts.a.b.weight", NULL },
		{ "model.layers.1.mlp.experts.3.gate_proj.bias", NULL },
		{ "model.layers.1.mlp.experts.3.weight", NULL },
		{ "model.layers.1.mlp.experts.3a.b.weight", NULL },
		{ "model.layers.1.mlp.experts.weight", NULL }, { "model.layers.1.mlp.experts.", NULL },
		{ "model.layers.x.mlp.experts.3.gate_proj.weight", NULL },
		{ "other.layers.1.mlp.experts.3.gate_proj.weight", NULL },
		{ "blk.1.mlp.experts.3.gate_proj.weight", NULL },
		{ "model.layers.1.a.mlp.experts.3.gate_proj.weight", NULL },
		{ "model.layers.1.mlp.experts.99999999999999999999.w1.weight", NULL },
		{ "", NULL }, { ".mlp.experts.", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tname_expert e;
		char says[80] = "";

		if (tname_expert(rows[i].name, &e))
			snprintf(says, sizeof(says), "%.*s %ju%s%s%s", (int)e.proj_len, e.proj,
				 (uintmax_t)e.index, e.stacked ? " stacked" : "",
				 e.shared ? " shared" : "", e.grouped ? " grouped" : "");
		if (strcmp(says, rows[i].says ? rows[i].says : ""))
			fail_msg("%s: %s", rows[i].name, says);
	}
}

/* How a name reads in a store and in a directory of a Mixtral; NULL: as it is. */
static void
test_dialects(void **state)
{
	static const struct { const char *name, *ollama, *mixtral; } rows[] = {
		{ "model.layers.7.block_sparse_moe.experts.3.w1.weight",
		  "model.layers.7.mlp.experts.3.gate_proj.weight", NULL },
		{ "model.layers.7.mlp.experts.3.down_proj.weight", NULL,
		  "model.layers.7.block_sparse_moe.experts.3.w2.weight" },
		{ "model.layers.7.mlp.experts.down_proj.weight", NULL,
		  "model.layers.7.block_sparse_moe.switch_mlp.down_proj.weight" },
		{ "model.layers.7.block_sparse_moe.gate.weight", "model.layers.7.mlp.gate.weight", NULL },
		{ "model.layers.7.mlp.gate.weight", NULL, "model.layers.7.block_sparse_moe.gate.weight" },
		{ "model.layers.7.mlp.switch_mlp.up_proj.weight",
		  "model.layers.7.mlp.experts.up_proj.weight",
		  "model.layers.7.block_sparse_moe.switch_mlp.up_proj.weight" },
		{ "model.layers.7.moe.switch_mlp.up_proj.weight",
		  "model.layers.7.moe.experts.up_proj.weight", NULL },
		{ "model.layers.7.mixer.switch_mlp.up_proj.weight",
		  "model.layers.7.mixer.experts.up_proj.weight", NULL },
		{ "model.layers.7.mlp.shared_experts.up_proj.weight", NULL, NULL },
		{ "model.layers.x.mlp.experts.3.up_proj.weight", NULL, NULL },
		{ "other.layers.7.mlp.experts.3.up_proj.weight", NULL, NULL },
		{ "other.layers.7.mlp.gate.weight", NULL, NULL },
		{ "", NULL, NULL },
	};
	char name[2 * TNAME_MAX], buf[TNAME_MAX];
	struct tname_expert e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *n = rows[i].name;

		assert_string_equal(tname_in(n, TNAME_DIR, buf), n);
		assert_string_equal(tname_in(n, TNAME_OLLAMA, buf), rows[i].ollama ? rows[i].ollama : n);
		assert_string_equal(tname_in(n, TNAME_MIXTRAL, buf),
				    rows[i].mixtral ? rows[i].mixtral : n);
	}
	assert_true(tname_expert("layers.0.block_sparse_moe.experts.1.w2.weight", &e));
	assert_string_equal(tname_write(&e, TNAME_DIR, 5, buf),
			    "layers.0.block_sparse_moe.experts.5.w2.weight");
	assert_string_equal(tname_write(&e, TNAME_DIR, TNAME_ALL, buf),
			    "layers.0.block_sparse_moe.switch_mlp.down_proj.weight");
	assert_string_equal(tname_group(&e, buf), "layers.0.mlp.experts");
	snprintf(name, sizeof(name), "model.layers.7.mlp.switch_mlp.%0*d.weight", TNAME_MAX, 0);
	assert_ptr_equal(tname_in(name, TNAME_OLLAMA, buf), name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_dialects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
