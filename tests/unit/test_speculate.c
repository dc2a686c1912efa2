/* Guessing ahead changes nothing but the time: the same ids, whatever was guessed, chosen
 * greedily and by lot, of models and schemes of all kinds. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/ops/convert/convert.h"
#include "src/ops/home/home.h"
#include "src/ops/run/run.h"
#include "src/store/model.h"
#include "src/text/constraint.h"

#define PROMPTS 50
#define TOKENS 24

static struct op_ctx ctx;
static char *text;		/* what prompts are cut from */
static size_t text_len;
static struct constraint *constraint;	/* of what is generated; NULL: none */

static int
setup(void **state)
{
	const char *dir = unit_tmp();
	struct tb_err err;

	(void)state;
	return op_ctx_init(&ctx, unit_path("index.db"), &dir, 1, 1, &err) != TB_OK;
}

static int
teardown(void **state)
{
	(void)state;
	free(text);
	op_ctx_free(&ctx);
	return 0;
}

/* The i-th prompt: from another place each time, some of them said twice. */
static void
prompt(const struct chat_model *m, unsigned i, struct token_ids *out)
{
	size_t len = 12 + i * 5 % 97, at = i * 131 % (text_len - len);
	struct tb_err err;

	out->n = 0;
	for (unsigned again = 0; again <= i % 3; again++)
		assert_ok(tokenizer_encode(m->tokenizer, text + at, len, !again, false, out, &err),
			  err);
}

static void
run(struct chat_model *m, const struct token_ids *ids, unsigned seed, enum guess_how how,
    struct gen_result *out)
{
	struct gen_opts opts = { .sampler = SAMPLER_DEFAULTS, .max_tokens = TOKENS,
				 .ignore_eos = true, .constraint = constraint };
	struct session *s;
	struct tb_err err;

	if (constraint)
		opts.max_tokens = 80;
	opts.sampler.seed = seed;
	if (!seed)
		opts.sampler.temperature = 0;
	if (seed % 2 == 0)
		opts.sampler.repeat_penalty = 1;
	assert_ok(session_new(&s, m->engine, 0, &err), err);
	assert_ok(guesser_new(&opts.guesser, m, how, 0, &err), err);
	assert_ok(generate(m, s, NULL, ids, &opts, NULL, out, &err), err);
	guesser_free(opts.guesser);
	session_free(s);
}

/* Logits of a pass of several tokens are those of passes of one, to the last bit. */
static void
same_logits(const struct chat_model *m)
{
	struct token_ids ids = { 0 };
	struct session *one, *many;
	struct engine_info info;
	const float *a, *b;
	struct tb_err err;

	engine_info(m->engine, &info);
	prompt(m, 8, &ids);
	assert_ok(session_new(&one, m->engine, 0, &err), err);
	assert_ok(session_new(&many, m->engine, 0, &err), err);
	for (size_t at = 0, n = 1; at + n <= ids.n; at += n, n = n % 8 + 1) {
		assert_ok(session_eval(many, ids.v + at, n, true, NULL, &b, &err), err);
		for (size_t i = 0; i < n; i++) {
			assert_ok(session_eval(one, ids.v + at + i, 1, false, NULL, &a, &err), err);
			if (memcmp(a, b + i * info.vocab, info.vocab * sizeof(*a)))
				fail_msg("%s: token %zu has other logits in a pass of %zu",
					 m->model->loc.name, at + i, n);
		}
	}
	session_free(one);
	session_free(many);
	free(ids.v);
}

struct sums { unsigned guessed, right; };

static void
same_ids(struct chat_model *m, struct sums *sum)
{
	struct token_ids ids = { 0 };

	same_logits(m);
	for (unsigned i = 0; i < PROMPTS; i++) {
		struct gen_result plain, ahead;

		prompt(m, i, &ids);
		run(m, &ids, i % 2 ? i : 0, GUESS_NEVER, &plain);
		run(m, &ids, i % 2 ? i : 0, GUESS_ALWAYS, &ahead);
		assert_int_equal(plain.figures.guessed, 0);
		if (ahead.ids.n != plain.ids.n ||
		    memcmp(ahead.ids.v, plain.ids.v, plain.ids.n * sizeof(*plain.ids.v)))
			fail_msg("%s, prompt %u: other ids when it is guessed ahead",
				 m->model->loc.name, i);
		assert_string_equal(ahead.text, plain.text);
		assert_int_equal(ahead.figures.context_used, plain.figures.context_used);
		assert_int_equal(ahead.stop, plain.stop);
		assert_true(ahead.figures.right <= ahead.figures.guessed);
		sum->guessed += ahead.figures.guessed;
		sum->right += ahead.figures.right;
		gen_result_free(&plain);
		gen_result_free(&ahead);
	}
	free(ids.v);
}

static void
open_model(struct chat_model **m, const char *path)
{
	struct tb_err err;

	assert_ok(chat_model_open(m, &ctx, path, NULL, &err), err);
}

static void
read_text(const char *path)
{
	struct tb_err err;

	free(text);
	text = NULL;
	assert_ok(tb_file_slurp(path, 1 << 20, &text, &text_len, &err), err);
}

static void
read_shared_text(void)
{
	read_text(unit_shared("data/prompts/ppl.txt"));
}

static const char *const models[] = {
	"stories260K/hf-f32", "stories260K/hf-bf16", "stories260K/hf-f16-sharded",
	"stories260K/stories260K-Q4_K_M.gguf", "stories260K-untied/hf", "stories260K-moe4/hf",
	"stories260K-rope3/hf", "stories260K-qwen2/hf", "stories260K-qwen3/hf",
	"stories260K-gemma/hf", "stories260K-gemma2/hf", "stories260K-gemma3/hf",
	"stories260K-pad192/stories260K-pad192-Q8_0.gguf",
	"stories260K-pad192/stories260K-pad192-Q4_0.gguf",
	"stories260K-pad192/stories260K-pad192-Q5_1.gguf",
	"stories260K-pad192/stories260K-pad192-IQ4_NL.gguf",
	"stories260K-wide256/stories260K-wide256-Q2_K.gguf",
	"stories260K-wide256/stories260K-wide256-Q6_K.gguf",
	"stories260K-wide256/stories260K-wide256-IQ4_XS.gguf",
};

static void
test_models(void **state)
{
	struct sums sum = { 0 };

	(void)state;
	read_shared_text();
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		struct chat_model *m;
		char path[200];

		snprintf(path, sizeof(path), "data/models/%s", models[i]);
		open_model(&m, unit_shared(path));
		same_ids(m, &sum);
		chat_model_free(m);
	}
	/* otherwise nothing was shown */
	assert_true(sum.right > 1000 && sum.right < sum.guessed);
}

static void
convert(const char *from, const char *scheme, const char *to)
{
	struct model_loc loc = { MODEL_SAFETENSORS_DIR, (char *)"src", (char *)from, (char *)"", 0 };
	struct convert_target target = { PLAN_TO_DIR, (char *)to, NULL, NULL, false };
	struct plan_request req = { .dest = PLAN_TO_DIR };
	struct convert_result result;
	struct model *m;
	struct plan *plan;
	struct tb_err err;

	assert_ok(model_open(&m, &loc, &err), err);
	assert_ok(plan_target_parse(scheme, &req.target, &err), err);
	req.model = m;
	assert_ok(plan_new(&plan, &req, &err), err);
	assert_ok(op_convert(&ctx, &(struct convert_request){ .plan = plan, .target = &target }, NULL,
			     &result, &err), err);
	convert_result_free(&result);
	plan_free(plan);
	model_free(m);
}

static void
test_schemes(void **state)
{
	static const char *const schemes[] = { "int4", "int8", "mxfp4", "mxfp8", "nvfp4" };
	static const char *const from[] = { "stories260K-wide256/hf", "stories260K-moe4/hf" };
	struct sums sum = { 0 };

	(void)state;
	read_shared_text();
	for (size_t i = 0; i < 5 * 2; i++) {
		struct chat_model *m;
		char source[200], path[60];

		snprintf(source, sizeof(source), "data/models/%s", from[i % 2]);
		snprintf(path, sizeof(path), "%s-%zu", schemes[i / 2], i % 2);
		convert(unit_shared(source), schemes[i / 2], unit_path(path));
		open_model(&m, unit_path(path));
		same_ids(m, &sum);
		chat_model_free(m);
	}
	assert_true(sum.right > 500);
}

/* The demo's model, each scheme, and one of them as another's draft: no other data. */
static void
test_demo(void **state)
{
	static const char *const schemes[] = { "int4", "int8", "mxfp4", "mxfp8", "nvfp4" };
	struct sums alone = { 0 }, sum = { 0 };
	struct chat_model *m;
	struct tb_err err;

	(void)state;
	read_text(unit_demo_file("heldout.txt"));
	open_model(&m, unit_demo());
	same_ids(m, &alone);
	for (size_t i = 0; i < 5; i++) {
		struct chat_model *small;
		char path[60];

		snprintf(path, sizeof(path), "demo-%s", schemes[i]);
		convert(unit_demo(), schemes[i], unit_path(path));
		open_model(&small, unit_path(path));
		same_ids(small, &sum);
		chat_model_free(small);
	}
	/* otherwise nothing was shown */
	assert_true(alone.right > 20 && sum.right > 100);
	assert_ok(chat_model_draft(m, &ctx, unit_path("demo-int4"), NULL, &err), err);
	sum = (struct sums){ 0 };
	same_ids(m, &sum);
	assert_true(sum.right > alone.right && sum.right > sum.guessed / 2);
	chat_model_free(m);
}

/* A smaller model guesses: the same ids again, and it is right more often than not. */
static void
test_draft(void **state)
{
	struct sums alone = { 0 }, sum = { 0 };
	struct chat_model *m;
	struct tb_err err;

	(void)state;
	read_shared_text();
	open_model(&m, unit_shared("data/models/stories260K/hf-f32"));
	same_ids(m, &alone);
	assert_ok(chat_model_draft(m, &ctx, unit_shared("data/models/stories260K/"
							"stories260K-Q4_K_M.gguf"), NULL, &err), err);
	same_ids(m, &sum);
	assert_true(sum.right > alone.right && sum.right > sum.guessed / 2);
	chat_model_free(m);
}

/* One that can hold less than the model guesses as long as it can. */
static void
test_draft_context(void **state)
{
	struct chat_model *m;
	struct token_ids ids = { 0 }, held = { 0 };
	struct gen_opts opts = { .sampler = SAMPLER_DEFAULTS, .ignore_eos = true };
	struct gen_result r;
	struct session *s;
	struct tb_err err;

	(void)state;
	read_shared_text();
	open_model(&m, unit_shared("data/models/stories260K/hf-f32"));
	assert_ok(chat_model_draft(m, &ctx, unit_shared("data/models/stories260K/hf-bf16"), NULL,
				   &err), err);
	prompt(m, 0, &ids);
	assert_ok(session_new(&s, m->engine, 100, &err), err);
	assert_ok(guesser_new(&opts.guesser, m, GUESS_ALWAYS, 40, &err), err);
	assert_ok(generate(m, s, &held, &ids, &opts, NULL, &r, &err), err);
	assert_int_equal(r.stop, GEN_CONTEXT);
	assert_int_equal(r.figures.context_used, 100);
	assert_int_equal(held.n, 100);
	assert_true(r.figures.right > 0);
	gen_result_free(&r);
	guesser_free(opts.guesser);
	session_free(s);
	free(held.v);
	free(ids.v);
	chat_model_free(m);
}

static void
test_draft_vocabulary(void **state)
{
	struct chat_model *m;
	struct tb_err err;
	char *json, *token;
	size_t len;

	(void)state;
	open_model(&m, unit_shared("data/models/stories260K/hf-f32"));
	assert_ok(tb_mkdirs(unit_path("other"), &err), err);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const files[] = { "config.json", "model.safetensors",
						     "tokenizer.json" };
		char path[100];

		snprintf(path, sizeof(path), "data/models/stories260K/hf-f32/%s", files[i]);
		assert_ok(tb_file_slurp(unit_shared(path), 4 << 20, &json, &len, &err), err);
		snprintf(path, sizeof(path), "other/%s", files[i]);
		/* two tokens change places */
		for (token = json; i == 2 && (token = strstr(token, "\": 51")); token++)
			token[5] = token[5] == '0' ? '1' : token[5] == '1' ? '0' : token[5];
		unit_write(path, json, len);
		free(json);
	}
	assert_fails(chat_model_draft(m, &ctx, unit_path("other"), NULL, &err), err, TB_EUSAGE,
		     "cannot guess for");
	assert_null(m->draft);
	chat_model_free(m);
}

/* Nor does it where a grammar says what may come, and puts in what has to; what it puts in is
 * what a model without it would have been held to, token by token. */
static void
test_grammar(void **state)
{
	static const char gbnf[] = "root ::= \"The names are: \" name (\", then \" name){0,5} \". That "
		"is all there is to say about Tom and Lily.\"\nname ::= [A-Z] [a-z]{1,9} | \"nobody\"";
	struct token_ids ids = { 0 };
	struct chat_model *m;
	struct grammar *g;
	struct tb_err err;
	unsigned forced = 0, right = 0;

	(void)state;
	read_text(unit_demo_file("heldout.txt"));
	open_model(&m, unit_demo());
	assert_ok(grammar_gbnf(&g, gbnf, strlen(gbnf), "test", &err), err);
	for (size_t i = 0; i < 2 * PROMPTS; i++) {
		struct gen_result plain, ahead;

		prompt(m, (unsigned)i, &ids);
		assert_ok(chat_model_constrain(m, g, &constraint, &err), err);
		run(m, &ids, i % 2 ? (unsigned)i : 0, GUESS_NEVER, &plain);
		run(m, &ids, i % 2 ? (unsigned)i : 0, GUESS_ALWAYS, &ahead);
		if (ahead.ids.n != plain.ids.n ||
		    memcmp(ahead.ids.v, plain.ids.v, plain.ids.n * sizeof(*plain.ids.v)))
			fail_msg("prompt %zu: \"%s\", guessed ahead \"%s\"", i, plain.text, ahead.text);
		assert_int_equal(plain.figures.forced, ahead.figures.forced);
		assert_int_equal(ahead.stop, plain.stop);
		assert_memory_equal(plain.text, "The names are: ", 15);
		forced += plain.figures.forced;
		right += ahead.figures.right;
		gen_result_free(&plain);
		gen_result_free(&ahead);
		constraint_free(constraint);
		constraint = NULL;
	}
	assert_true(forced > 1000 && right > 0);
	chat_model_free(m);
	grammar_free(g);
	free(ids.v);
}

/* A grammar may begin behind something that is said before, here or in the prompt. */
static void
test_behind(void **state)
{
	static const char gbnf[] = "root ::= \"[\" [0-9]{3} \"]\"";
	static const struct { const char *said, *behind, *comes; } cases[] = {
		{ NULL, NULL, "[" }, { NULL, ".", ".[" }, { "one, two", "two", "[" },
		{ "think[1", "think", NULL }, { "nothing of it", ".", ".[" },
	};
	struct gen_opts opts = { .sampler = SAMPLER_DEFAULTS, .max_tokens = 200, .begins = true };
	struct token_ids ids = { 0 };
	struct chat_model *m;
	struct grammar *g;
	struct tb_err err;

	(void)state;
	read_text(unit_demo_file("heldout.txt"));
	open_model(&m, unit_demo());
	assert_ok(grammar_gbnf(&g, gbnf, strlen(gbnf), "test", &err), err);
	assert_ok(chat_model_constrain(m, g, &opts.constraint, &err), err);
	prompt(m, 30, &ids);
	opts.sampler.temperature = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gen_result r;
		struct session *s;
		const char *at;

		opts.said = cases[i].said;
		opts.behind = cases[i].behind;
		assert_ok(session_new(&s, m->engine, 0, &err), err);
		assert_ok(generate(m, s, NULL, &ids, &opts, NULL, &r, &err), err);
		assert_int_equal(r.stop, GEN_EOS);
		at = cases[i].comes ? strstr(r.text, cases[i].comes) : r.text;
		if (!at || (cases[i].comes && strlen(strchr(at, '[')) != 5) ||
		    (!cases[i].comes && strlen(r.text) != 3))
			fail_msg("case %zu: \"%s\"", i, r.text);
		gen_result_free(&r);
		session_free(s);
	}
	constraint_free(opts.constraint);
	grammar_free(g);
	chat_model_free(m);
	free(ids.v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demo), cmocka_unit_test(test_models), cmocka_unit_test(test_schemes),
		cmocka_unit_test(test_grammar), cmocka_unit_test(test_behind),
		cmocka_unit_test(test_draft), cmocka_unit_test(test_draft_context),
		cmocka_unit_test(test_draft_vocabulary),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
