/* Recipes: what policies are called, files of them, and choices by errors. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "src/base/file.h"
#include "src/ops/plan/plan.h"
#include "tests/unit/unit.h"

#define MAX 64

static struct tensor tensors[MAX];
static char names[MAX][64];
static struct model model = { .tensors = tensors };

static void
begin(void)
{
	model.arch = model.model_type = (char *)"";
	model.loc.path = model.loc.name = (char *)"test";
	model.ntensors = 0;
}

static void
add(const char *name, uint64_t rows, uint64_t cols)
{
	struct tensor *t = &tensors[model.ntensors];

	snprintf(names[model.ntensors], sizeof(*names), "%s", name);
	*t = (struct tensor){ .name = names[model.ntensors++], .scheme = scheme_plain(DT_BF16),
			      .ndim = rows ? 2 : 1, .dim = { rows ? rows : cols, cols },
			      .elems = (rows ? rows : 1) * cols };
	t->bytes = t->elems * 2;
	t->weight = (struct tensor_part){ .dtype = DT_BF16, .ndim = t->ndim, .len = t->bytes };
	memcpy(t->weight.dim, t->dim, sizeof(t->dim));
}

static void
layers(unsigned n)
{
	static const char *const parts[] = { "mlp.down_proj", "mlp.up_proj", "self_attn.q_proj" };
	char name[64];

	begin();
	add("lm_head.weight", 256, 128);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), "model.layers.%u.%s.weight", i, parts[k]);
			add(name, 128 << k, 128);
		}
	add("model.norm.weight", 0, 128);
}

static struct plan *
plan_of(const char *quant, const char *policy, enum plan_dest dest)
{
	struct plan_request req = { .model = &model, .dest = dest };
	struct plan *p;
	struct tb_err err;

	assert_ok(plan_ask(&req, quant, policy, &err), err);
	assert_ok(plan_new(&p, &req, &err), err);
	return p;
}

static void
test_words(void **state)
{
	static const struct { const char *quant, *policy, *means; } good[] = {
		{ "int4", NULL, "ollama" }, { "int4", "uniform", "uniform" },
		{ NULL, "mlx", "mlx" }, { NULL, "mlx:mixed_3_6", "mlx:mixed_3_6" },
		{ "affine:4:32", "mlx:mixed_3_6", "mlx:mixed_3_6" }, { NULL, "keep", "keep" },
		{ NULL, "llama:q4_k_m", "llama:Q4_K_M" }, { "Q4_K_M", NULL, "llama:Q4_K_M" },
		{ "q4_k", NULL, "llama:Q4_K_M" }, { "Q3_K_L", "llama:Q3_K_L", "llama:Q3_K_L" },
		{ NULL, "budget:4.5bpw", "budget:4.5bpw" }, { NULL, "budget:2GB", "budget:2000000000" },
		{ NULL, "budget:1.5 MiB", "budget:1572864" }, { NULL, "budget:77", "budget:77" },
		{ NULL, "budget:3k", "budget:3000" },
		{ NULL, "loss:3%", "loss:3%" }, { NULL, "loss:0.03", "loss:3%" },
	};
	static const struct { const char *quant, *policy, *part; } bad[] = {
		{ NULL, NULL, "which scheme" }, { NULL, "uniform", "which scheme" },
		{ NULL, "llama:Q4_K_X", "did you mean \"Q4_K_S\"" }, { NULL, "ollma", "\"ollama\"" },
		{ NULL, "uniform:3", "no such policy" }, { NULL, "llama", "none of its mixes" },
		{ NULL, "mlx:mixed_3_7", "mixed_3_6" }, { NULL, "budget:", "how much" },
		{ NULL, "budget:0.4", "how much" }, { NULL, "budget:0GB", "how much" },
		{ NULL, "budget:-3GB", "how much" }, { NULL, "budget:4 parsecs", "how much" },
		{ NULL, "loss:three", "which error" }, { "int4", "budget:1GB", "leave out -q" },
		{ "Q4_K_M", "ollama", "leave out" }, { "Q4_K_M", "llama:Q6_K", "two mixes" },
		{ "mxfp4", "mlx:mixed_3_6", "widths itself" }, { "int9", NULL, "no scheme" },
	};
	struct plan_request req;
	char text[PLAN_POLICY_MAX];
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_ok(plan_ask(&req, good[i].quant, good[i].policy, &err), err);
		assert_string_equal(plan_policy_text(req.policy, req.mix, &req.limit, text),
				    good[i].means);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_fails(plan_ask(&req, bad[i].quant, bad[i].policy, &err), err, TB_EUSAGE,
			     bad[i].part);
	for (size_t i = 0; plan_policy_word(i, text); i++)
		assert_ok(plan_ask(&req, i < 2 ? "int4" : NULL, plan_policy_word(i, text), &err), err);
}

/* The mixes of mlx_lm: high widths for the head, and for what suffers most in the first and
 * last layers and each third between. */
static void
test_mlx(void **state)
{
	struct plan *p;

	(void)state;
	layers(16);
	p = plan_of(NULL, "mlx:mixed_3_6", PLAN_TO_DIR);
	for (size_t i = 0; i < p->nrows; i++) {
		unsigned layer = 99;
		bool down = sscanf(names[i], "model.layers.%u.mlp.down", &layer) == 1 &&
			    strstr(names[i], "down_proj") != NULL;
		bool more = layer < 2 || layer >= 14 || (layer - 2) % 3 == 2;
		unsigned want = !i || (down && more) ? 6 : 3;

		if (i + 1 < p->nrows)
			assert_int_equal(p->rows[i].target.bits, want);
		else
			assert_true(p->rows[i].target.kind == SCHEME_PLAIN);
	}
	plan_free(p);
	begin();
	model.model_type = (char *)"qwen3_moe";
	add("model.layers.0.mlp.gate.weight", 64, 64);
	add("model.embed_tokens.weight", 64, 64);
	p = plan_of("int4", "mlx", PLAN_TO_DIR);
	assert_int_equal(p->rows[0].target.bits, 8);
	assert_int_equal(p->rows[1].target.bits, 4);
	plan_free(p);
	model.model_type = (char *)"deepseek_v3";
	p = plan_of("int4", "mlx", PLAN_TO_DIR);
	assert_true(p->rows[0].why == PLAN_GATE);
	plan_free(p);
}

static void
test_files(void **state)
{
	static const struct { const char *text, *part; } bad[] = {
		{ "{}", "is no recipe" }, { "[1]", "is no recipe" }, { "{\"recipe\":2}", "newer" },
		{ "{\"recipe\":1,\"rulez\":[]}", "no key \"rulez\"; did you mean \"rules\"" },
		{ "{\"recipe\":1,\"rules\":[\"a=int4\",\"b=int9\"]}", "rules[1]: \"int9\" is no scheme" },
		{ "{\"recipe\":1,\"tensors\":{\"a\":\"int7\"}}", "tensors.a: \"int7\" is no scheme" },
		{ "{\"recipe\":1,\"tensors\":{\"a\":4}}", "tensors.a is no text" },
		{ "{\"recipe\":1,\"policy\":7}", "policy is no text" },
		{ "{\"recipe\":1,", "not JSON" },
	};
	struct plan_request req = { .model = &model, .dest = PLAN_TO_DIR };
	struct plan_recipe *r;
	struct plan_target keep = { .keep = true };
	struct plan *p, *q;
	struct tb_err err;
	size_t row = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		enum tb_status status = plan_recipe_load(&r, unit_write("bad.json", bad[i].text,
							 strlen(bad[i].text)), &err);

		assert_true(status == TB_EUSAGE || status == TB_EFORMAT);
		assert_non_null(strstr(err.msg, bad[i].part));
		assert_null(r);
	}
	layers(4);
	p = plan_of(NULL, "mlx:mixed_2_6", PLAN_TO_DIR);
	assert_ok(plan_set(p, &row, 1, &keep, &err), err);
	assert_ok(plan_recipe_save(p, unit_path("r.json"), &err), err);
	assert_fails(plan_recipe_save(p, unit_path("r.json"), &err), err, TB_EEXIST, "r.json");
	assert_ok(plan_recipe_load(&r, unit_path("r.json"), &err), err);
	assert_ok(plan_recipe_ask(r, &req, &err), err);
	assert_ok(plan_new(&q, &req, &err), err);
	for (size_t i = 0; i < p->nrows; i++)
		assert_true(scheme_equal(&p->rows[i].target, &q->rows[i].target));
	plan_free(q);
	req.rules = (const char *const[]){ "*.0.mlp.up_proj.weight=int8" };	/* on top */
	req.nrules = 1;
	assert_ok(plan_new(&q, &req, &err), err);
	for (size_t i = 0; i < p->nrows; i++)
		assert_true(scheme_equal(&p->rows[i].target, &q->rows[i].target) ||
			    (q->rows[i].why == PLAN_RULE && q->rows[i].target.bits == 8));
	plan_free(q);
	plan_free(p);
	layers(2);					/* another model */
	assert_fails(plan_new(&q, &req, &err), err, TB_EUSAGE, "has no such tensor");
	plan_recipe_free(r);
}

/* Errors as they are measured, but made up: some tensors suffer more than others. */
static struct plan_sample *
made_up(const struct plan *p, size_t *n)
{
	struct plan_sample *s;
	struct tb_err err;

	assert_ok(plan_candidates(p, &s, n, &err), err);
	for (size_t i = 0; i < *n; i++) {
		const struct tensor *t = p->rows[s[i].row].src;
		struct plan_bytes b = plan_bytes(&s[i].target, DT_BF16, t->elems);
		double bits = 8 * (double)(b.codes + b.scales + b.biases) / (double)t->elems;

		s[i].error = pow(2, -bits) * (double)(1 + s[i].row * 7 % 5);
		s[i].loss = s[i].error * s[i].error;
	}
	return s;
}

/* The output head's counts more. */
static double
counts(const struct plan *p, size_t row, double loss)
{
	bool head = !strcmp(p->rows[row].src->name, "lm_head.weight");

	return loss * (double)p->rows[row].src->elems * (head ? 4 : 1);
}

/* The least loss of all combinations of what rows [i, n) may become; SIZE_MAX bytes are
 * more than there is room for. */
static double
brute(const struct plan *p, const struct plan_sample *s, size_t n, size_t row, int64_t room)
{
	double best = INFINITY;

	if (row == p->nrows)
		return room >= 0 ? 0 : INFINITY;
	if (room < 0)
		return INFINITY;
	best = brute(p, s, n, row + 1, room - (int64_t)p->rows[row].before);
	for (size_t i = 0; i < n; i++) {
		struct plan_bytes b;

		if (s[i].row != row)
			continue;
		b = plan_bytes(&s[i].target, DT_BF16, p->rows[row].src->elems);
		best = fmin(best, counts(p, row, s[i].loss) +
			    brute(p, s, n, row + 1, room - (int64_t)(b.codes + b.scales + b.biases)));
	}
	return best;
}

static void
test_budget(void **state)
{
	struct plan *p;
	struct plan_sample *s;
	struct tb_err err;
	size_t n;
	double last = INFINITY;
	uint64_t least = 0;
	unsigned exact = 0;

	(void)state;
	layers(1);
	p = plan_of(NULL, "budget:9bpw", PLAN_TO_STORE);
	s = made_up(p, &n);
	for (unsigned step = 20; step <= 64; step++) {
		struct plan_limit limit = { .bits = step / 4. };
		enum tb_status status = plan_choose(p, s, n, &limit, &err);
		double elems = (double)(p->total.before / 2), loss, best;

		if (status) {
			assert_non_null(strstr(err.msg, "too little"));
			assert_true(!isfinite(last));
			continue;
		}
		if (!least)
			least = p->total.after;
		assert_true(p->total.after <= (uint64_t)(limit.bits * elems / 8));
		loss = 0;
		for (size_t i = 0; i < p->nrows; i++)
			loss += counts(p, i, p->rows[i].loss);
		last = loss;
		best = brute(p, s, n, 0, (int64_t)(limit.bits * elems / 8));
		assert_true(loss <= best * 2 + 1e-9);	/* with as few tensors as these */
		exact += loss <= best * 1.000001 + 1e-9;
	}
	assert_true(isfinite(last) && least && exact > 35);
	assert_true(p->total.after == p->total.before && p->total.error == 0);
	free(s);
	plan_free(p);
}

/* Rules and rows set by hand stay, the rest makes up for them; a loss is a limit, too. */
static void
test_limits(void **state)
{
	struct plan_request req = { .model = &model, .dest = PLAN_TO_DIR };
	struct plan_limit limit = { .error = .05 }, bytes = { .bytes = 100000 };
	struct plan_target eight = { .scheme = scheme_affine(8, 64) };
	struct plan *p, *again;
	struct plan_sample *s;
	struct tb_err err;
	size_t n, row = 5;

	(void)state;
	layers(6);
	req.rules = (const char *const[]){ "lm_head.weight=keep" };
	req.nrules = 1;
	assert_ok(plan_ask(&req, NULL, "loss:5%", &err), err);
	assert_ok(plan_new(&p, &req, &err), err);
	assert_ok(plan_set(p, &row, 1, &eight, &err), err);
	s = made_up(p, &n);
	assert_ok(plan_choose(p, s, n, &limit, &err), err);
	assert_true(p->total.error <= .05 && p->total.error > .04);
	assert_true(scheme_equal(&p->rows[0].target, &p->rows[0].src->scheme));
	assert_true(p->rows[row].target.bits == 8 && p->rows[row].why == PLAN_EDITED);
	assert_ok(plan_copy(&again, p, &err), err);
	assert_int_equal(again->total.after, p->total.after);
	assert_ok(plan_choose(again, s, n, &limit, &err), err);
	for (size_t i = 0; i < p->nrows; i++)
		assert_true(scheme_equal(&p->rows[i].target, &again->rows[i].target));
	plan_free(again);
	assert_fails(plan_choose(p, s, n, &bytes, &err), err, TB_EUSAGE, "too little");
	free(s);
	plan_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words), cmocka_unit_test(test_mlx), cmocka_unit_test(test_files),
		cmocka_unit_test(test_budget), cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
