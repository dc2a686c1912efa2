/* Plans without a file: what policies choose, how experts are grouped, what an edit
 * changes. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/ops/plan/plan.h"
#include "tests/unit/unit.h"

#define MAX 64

static struct tensor tensors[MAX];
static struct model model = { .tensors = tensors };

static void
begin(const char *arch)
{
	model.arch = (char *)arch;
	model.model_type = (char *)"";
	model.loc.path = (char *)"test";
	model.ntensors = 0;
}

static struct tensor *
add(const char *name, enum dtype d, unsigned ndim, uint64_t a, uint64_t b, uint64_t c)
{
	struct tensor *t = &tensors[model.ntensors++];
	uint64_t dims[] = { a, b, c };

	*t = (struct tensor){ .name = name, .scheme = scheme_plain(d), .ndim = ndim, .elems = 1 };
	for (unsigned i = 0; i < ndim; i++) {
		t->dim[i] = dims[i];
		t->elems *= dims[i];
	}
	t->bytes = t->elems * dtype_bits(d) / 8;
	t->weight = (struct tensor_part){ .dtype = d, .ndim = ndim, .len = t->bytes };
	memcpy(t->weight.dim, t->dim, sizeof(t->dim));
	return t;
}

static struct plan *
plan_of(const char *quant, enum plan_policy policy, enum plan_experts experts)
{
	struct plan_request req = { .model = &model, .policy = policy, .experts = experts };
	struct plan *p;
	struct tb_err err;

	assert_ok(plan_target_parse(quant, &req.target, &err), err);
	assert_ok(plan_new(&p, &req, &err), err);
	return p;
}

static const char *
becomes(const struct plan *p, size_t row)
{
	static char name[SCHEME_NAME_MAX];

	return scheme_name(&p->rows[row].target, name);
}

/* Name, shape, and what int4 and nvfp4 make of it. */
static void
test_ollama_policy(void **state)
{
	static const struct { const char *name; uint64_t a, b; const char *int4, *nvfp4; } rows[] = {
		{ "model.layers.0.self_attn.q_proj.weight", 64, 64, "int4", "nvfp4" },
		{ "model.layers.0.self_attn.k_proj.weight", 64, 64, "int8", "mxfp8" },
		{ "model.layers.0.mlp.down_proj.weight", 64, 128, "int8", "mxfp8" },
		{ "model.layers.0.mlp.down_proj.bias", 64, 128, "BF16", "BF16" },
		{ "model.layers.0.mlp.up_proj.weight", 64, 48, "BF16", "nvfp4" },
		{ "model.layers.0.mlp.up_proj.weight", 8, 64, "BF16", "BF16" },
		{ "model.embed_tokens.weight", 64, 64, "BF16", "BF16" },
		{ "lm_head.weight", 64, 64, "int8", "mxfp8" },
		{ "lm_head.weight", 64, 48, "BF16", "BF16" },
		{ "model.layers.0.mlp.gate.weight", 64, 64, "BF16", "BF16" },
		{ "model.layers.0.block_sparse_moe.gate.weight", 64, 64, "BF16", "BF16" },
		{ "model.vision.proj.weight", 64, 64, "BF16", "BF16" },
		{ "model.layers.0.ln_1.weight", 64, 64, "BF16", "BF16" },
		{ "model.layers.0.mlp.experts.0.down_proj.weight", 64, 64, "int8", "nvfp4" },
		{ "model.layers.0.block_sparse_moe.experts.0.w2.weight", 64, 64, "int8", "nvfp4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct plan *p;

		begin("LlamaForCausalLM");
		add(rows[i].name, DT_BF16, 2, rows[i].a, rows[i].b, 0);
		p = plan_of("int4", PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
		assert_string_equal(becomes(p, 0), rows[i].int4);
		plan_free(p);
		p = plan_of("nvfp4", PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
		assert_string_equal(becomes(p, 0), rows[i].nvfp4);
		plan_free(p);
	}
}

static void
test_architectures(void **state)
{
	struct plan *p;
	char name[12][64];

	(void)state;
	begin("Cohere2MoeForCausalLM");
	for (unsigned i = 0; i < 12; i++) {
		snprintf(name[i], sizeof(name[i]), "model.layers.%u.self_attn.v_proj.weight", i);
		add(name[i], DT_BF16, 2, 64, 64, 0);
	}
	add("model.embed_tokens.weight", DT_BF16, 2, 64, 64, 0);
	p = plan_of("int4", PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
	for (unsigned i = 0; i < 12; i++) {	/* first and last eighth, every third between */
		bool more = i < 1 || i >= 10 || (i - 1) % 3 == 2;

		assert_string_equal(becomes(p, i), more ? "int8" : "int4");
	}
	assert_string_equal(becomes(p, 12), "int8");
	plan_free(p);
	begin("Qwen3NextForCausalLM");
	add("model.layers.0.linear_attn.in_proj_a.weight", DT_BF16, 2, 64, 64, 0);
	add("model.layers.0.linear_attn.in_proj_qkv.weight", DT_BF16, 2, 64, 64, 0);
	p = plan_of("int4", PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
	assert_string_equal(becomes(p, 0), "BF16");
	assert_string_equal(becomes(p, 1), "int4");
	plan_free(p);
}

/* What single architectures do otherwise, in a model of 16 layers. */
static void
test_own_rules(void **state)
{
	static const struct { const char *arch, *name, *quant, *want; } rows[] = {
		{ "LagunaForCausalLM", "model.layers.9.self_attn.v_proj.weight", "nvfp4", "nvfp4" },
		{ "LagunaForCausalLM", "model.layers.9.self_attn.v_proj.weight", "mxfp8", "BF16" },
		{ "LagunaForCausalLM", "model.layers.9.self_attn.v_proj.weight", "int4", "int8" },
		{ "LagunaForCausalLM", "model.layers.9.mlp.experts.3.down_proj.weight", "mxfp8", "mxfp8" },
		{ "LagunaForCausalLM", "model.layers.1.mlp.experts.3.down_proj.weight", "mxfp8", "BF16" },
		{ "LagunaForCausalLM", "model.layers.1.mlp.shared_expert.down_proj.weight", "nvfp4",
		  "mxfp8" },
		{ "LagunaForCausalLM", "model.layers.9.mlp.shared_expert.down_proj.weight", "nvfp4",
		  "nvfp4" },
		{ "LagunaForCausalLM", "model.embed_tokens.weight", "nvfp4", "mxfp8" },
		{ "LagunaForCausalLM", "model.layers.9.some.proj.weight", "nvfp4", "BF16" },
		{ "NemotronHForCausalLM", "backbone.layers.9.mixer.q_proj.weight", "nvfp4", "mxfp8" },
		{ "NemotronHForCausalLM", "backbone.layers.9.mixer.q_proj.weight", "int4", "int4" },
		{ "NemotronHForCausalLM", "backbone.layers.9.mixer.out_proj.weight", "nvfp4", "nvfp4" },
		{ "NemotronHForCausalLM", "backbone.layers.15.mixer.out_proj.weight", "nvfp4", "mxfp8" },
		{ "NemotronHForCausalLM", "backbone.embeddings.weight", "int4", "int8" },
		{ "MuseGlimmerForConditionalGeneration", "model.layers.9.self_attn.q_proj.weight", "int4",
		  "int8" },
		{ "MuseGlimmerForConditionalGeneration", "model.layers.9.self_attn.gate_proj.weight",
		  "int4", "int4" },
		{ "Gemma4ForCausalLM", "model.layers.9.self_attn.k_proj.weight", "int4", "int4" },
		{ "Gemma4ForCausalLM", "model.layers.1.self_attn.v_proj.weight", "nvfp4", "mxfp8" },
		{ "Gemma4ForCausalLM", "model.vision_tower.layers.1.v_proj.weight", "int4", "BF16" },
	};
	struct plan *draft;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct plan *p;

		begin(rows[i].arch);
		add(rows[i].name, DT_BF16, 2, 64, 64, 0);
		add("x.layers.15.norm.weight", DT_BF16, 1, 64, 0, 0);
		p = plan_of(rows[i].quant, PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
		if (strcmp(becomes(p, 0), rows[i].want))
			fail_msg("%s, %s: %s", rows[i].name, rows[i].quant, becomes(p, 0));
		plan_free(p);
	}
	begin("LlamaForCausalLM");			/* a draft's ends are as asked */
	add("lm_head.weight", DT_BF16, 2, 64, 64, 0)->draft = true;
	draft = plan_of("int4", PLAN_OLLAMA, PLAN_EXPERTS_KEEP);
	assert_string_equal(becomes(draft, 0), "int4");
	plan_free(draft);
}

static void
test_uniform(void **state)
{
	struct plan *p;

	(void)state;
	begin("");
	add("embed", DT_F32, 2, 4, 64, 0);
	add("norm", DT_F32, 1, 64, 0, 0);
	add("odd", DT_F32, 2, 4, 40, 0);
	add("ids", DT_I64, 2, 4, 64, 0);
	p = plan_of("affine:3:64", PLAN_UNIFORM, PLAN_EXPERTS_DEFAULT);
	assert_string_equal(becomes(p, 0), "affine:3:64");
	assert_int_equal(p->rows[0].after, 4 * 64 * 3 / 8 + 4 * 4 + 4 * 4);
	assert_int_equal(p->rows[1].why, PLAN_RANK);
	assert_int_equal(p->rows[2].why, PLAN_ALIGN);
	assert_int_equal(p->rows[3].why, PLAN_DTYPE);
	assert_int_equal(p->total.changed, 1);
	assert_int_equal(p->total.before, 1024 + 256 + 640 + 2048);
	assert_int_equal(p->total.after, 128 + 256 + 640 + 2048);
	plan_free(p);
}

/* Three experts of two projections, out of order, and something plain. */
static void
add_experts(enum dtype last)
{
	static const char *const names[] = {
		"model.layers.0.mlp.experts.2.up_proj.weight",
		"model.layers.0.mlp.experts.0.up_proj.weight",
		"model.layers.0.mlp.experts.1.up_proj.weight",
		"model.layers.0.mlp.experts.0.down_proj.weight",
		"model.layers.0.mlp.experts.1.down_proj.weight",
		"model.layers.0.mlp.experts.2.down_proj.weight",
	};

	begin("");
	for (size_t i = 0; i < 6; i++)
		add(names[i], i == 5 ? last : DT_BF16, 2, 32, 64, 0);
	add("model.layers.0.self_attn.q_proj.weight", DT_BF16, 2, 32, 64, 0);
}

static void
test_grouping(void **state)
{
	const struct plan_target eight = { .scheme = scheme_affine(8, 64) };
	struct tb_err err;
	struct plan *p;
	size_t row = 4;

	(void)state;
	add_experts(DT_BF16);
	p = plan_of("nvfp4", PLAN_OLLAMA, PLAN_EXPERTS_DEFAULT);
	assert_int_equal(p->nblobs, 2);
	assert_string_equal(p->blobs[0].name, "model.layers.0.self_attn.q_proj.weight");
	assert_string_equal(p->blobs[1].name, "model.layers.0.mlp.experts");
	assert_int_equal(p->blobs[1].tensors, 2);
	/* one expert takes its siblings along, and the group falls apart */
	assert_ok(plan_set(p, &row, 1, &eight, &err), err);
	for (size_t i = 3; i < 6; i++)
		assert_string_equal(becomes(p, i), "int8");
	assert_string_equal(becomes(p, 0), "nvfp4");
	assert_int_equal(p->nblobs, 3);
	assert_string_equal(p->blobs[1].name, "model.layers.0.mlp.experts.down_proj.weight");
	/* the older layout packs whatever the schemes are, and sets one alone */
	assert_ok(plan_set_layout(p, PLAN_TO_STORE, PLAN_EXPERTS_EACH, &err), err);
	assert_int_equal(p->nblobs, 2);
	assert_int_equal(p->blobs[1].tensors, 6);
	row = 0;
	assert_ok(plan_set(p, &row, 1, &eight, &err), err);
	assert_string_equal(becomes(p, 1), "nvfp4");
	assert_fails(plan_set_layout(p, PLAN_TO_STORE, PLAN_EXPERTS_STACKED, &err), err, TB_EUSAGE,
		     "different schemes");
	assert_int_equal(p->experts, PLAN_EXPERTS_EACH);
	assert_int_equal(p->nblobs, 2);
	plan_free(p);
}

static void
test_bad_groups(void **state)
{
	struct plan_request req = { .model = &model, .target = { .keep = true } };
	struct tb_err err;
	struct plan *p;

	(void)state;
	add_experts(DT_F32);
	assert_fails(plan_new(&p, &req, &err), err, TB_EFORMAT, "expert 2 has another shape or type");
	add_experts(DT_BF16);
	tensors[5].name = "model.layers.0.mlp.experts.3.down_proj.weight";
	assert_fails(plan_new(&p, &req, &err), err, TB_EFORMAT, "expert 2 is missing");
	req.experts = PLAN_EXPERTS_KEEP;
	assert_ok(plan_new(&p, &req, &err), err);
	plan_free(p);
	model.ntensors = 0;
	assert_fails(plan_new(&p, &req, &err), err, TB_EFORMAT, "no tensors");
	add("model.layers.0.mlp.experts.up_proj.weight", DT_BF16, 3, UINT64_MAX, 0, 4);
	req.experts = PLAN_EXPERTS_EACH;
	assert_fails(plan_new(&p, &req, &err), err, TB_ELIMIT, "18446744073709551615 experts");
}

/* Names that have no room to be written otherwise stay as they are. */
static void
test_long_names(void **state)
{
	char name[2][800];
	struct plan *p;

	(void)state;
	begin("");
	for (int i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "model.layers.0.mlp.experts.%d.%0*d.weight", i, 640,
			 i);
		add(name[i], DT_BF16, 2, 32, 64, 0);
	}
	p = plan_of("keep", PLAN_OLLAMA, PLAN_EXPERTS_DEFAULT);
	assert_int_equal(p->nblobs, 2);
	assert_string_equal(p->blobs[0].name, name[0]);
	assert_string_equal(p->blobs[1].name, name[1]);
	plan_free(p);
}

/* What a directory cannot hold is said when the plan is made, not when it has run. */
static void
test_directories(void **state)
{
	struct plan_request req = { .model = &model, .target = { .keep = true },
				    .dest = PLAN_TO_DIR };
	struct tensor *t;
	struct tb_err err;
	struct plan *p;

	(void)state;
	begin("LlamaForCausalLM");
	t = add("w.weight", DT_BF16, 2, 64, 64, 0);
	assert_ok(scheme_parse("nvfp4", &t->scheme, &err), err);
	t->has_scale = t->has_global = true;
	assert_fails(plan_new(&p, &req, &err), err, TB_EUNSUP, "w.weight: an MLX directory");
	t->has_global = false;
	assert_ok(plan_new(&p, &req, &err), err);
	plan_free(p);
	t->name = "w";
	assert_fails(plan_new(&p, &req, &err), err, TB_EUNSUP, "does not end in .weight");
	req.dest = PLAN_TO_STORE;
	assert_ok(plan_new(&p, &req, &err), err);
	assert_fails(plan_set_layout(p, PLAN_TO_DIR, PLAN_EXPERTS_KEEP, &err), err, TB_EUNSUP,
		     "does not end in .weight");
	assert_int_equal(p->dest, PLAN_TO_STORE);
	plan_free(p);
}

/* Nothing but a GGUF file has ggml's blocks, whichever way they are asked for. */
static void
test_blocks(void **state)
{
	static const char *const rule = "*=q8_0";
	struct plan_request req = { .model = &model, .dest = PLAN_TO_DIR };
	struct plan_target keep = { .keep = true };
	struct tb_err err;
	struct plan *p;
	size_t row = 0;

	(void)state;
	begin("LlamaForCausalLM");
	add("w.weight", DT_BF16, 2, 64, 64, 0);
	assert_ok(plan_target_parse("Q8_0", &req.target, &err), err);
	assert_fails(plan_new(&p, &req, &err), err, TB_EUSAGE, "Q8_0 is a type of GGUF files");
	req.rules = &rule;
	req.nrules = 1;
	req.target = keep;
	assert_fails(plan_new(&p, &req, &err), err, TB_EUSAGE, "Q8_0 is a type of GGUF files");
	req.nrules = 0;
	assert_ok(plan_new(&p, &req, &err), err);
	assert_ok(plan_target_parse("q8_0", &req.target, &err), err);
	assert_fails(plan_set(p, &row, 1, &req.target, &err), err, TB_EUSAGE, "GGUF");
	assert_string_equal(becomes(p, 0), "BF16");
	plan_free(p);
}

static void
test_rules(void **state)
{
	struct plan_rule r;
	struct tb_err err;

	(void)state;
	assert_ok(plan_rule_parse("*.a=b=int4", &r, &err), err);
	assert_string_equal(r.pattern, "*.a=b");
	free(r.pattern);
	assert_fails(plan_rule_parse("x", &r, &err), err, TB_EUSAGE, "no rule");
	assert_fails(plan_rule_parse("=int4", &r, &err), err, TB_EUSAGE, "no rule");
	assert_fails(plan_rule_parse("x=int9", &r, &err), err, TB_EUSAGE, "no scheme");
}

/* A figure for a scheme that has changed meanwhile is worth nothing. */
static void
test_stale_price(void **state)
{
	struct plan *p;
	struct plan_sample *s;
	struct plan_target keep = { .keep = true };
	struct tb_err err;
	size_t n, row = 0;

	(void)state;
	begin("");
	add("a.weight", DT_BF16, 2, 64, 64, 0);
	add("b.weight", DT_BF16, 2, 64, 64, 0);
	p = plan_of("int4", PLAN_OLLAMA, PLAN_EXPERTS_DEFAULT);
	assert_ok(plan_unpriced(p, &s, &n, &err), err);
	assert_int_equal(n, 2);
	s[0].error = .25;
	s[1].error = .125;
	assert_ok(plan_set(p, &row, 1, &keep, &err), err);
	plan_priced(p, s, n);
	assert_true(p->rows[0].error == 0);
	assert_true(p->rows[1].error == .125 && p->total.worst == .125);
	free(s);
	row = 2;
	assert_fails(plan_set(p, &row, 1, &keep, &err), err, TB_EUSAGE, "no tensor 2");
	plan_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ollama_policy), cmocka_unit_test(test_architectures),
		cmocka_unit_test(test_own_rules), cmocka_unit_test(test_uniform), cmocka_unit_test(test_grouping),
		cmocka_unit_test(test_bad_groups), cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_directories), cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_rules), cmocka_unit_test(test_stale_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
