/* What a session holds, kept in a file and taken up again: the same to the last bit, or refused
 * with a reason, whatever the file has in it. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/ops/home/home.h"
#include "src/ops/run/run.h"

#define TOKENS 300		/* more than a step of memory has */

static struct op_ctx ctx;
static struct chat_model *m;

static int
setup(void **state)
{
	const char *dir = unit_tmp();
	struct tb_err err;

	(void)state;
	return op_ctx_init(&ctx, unit_path("index.db"), &dir, 1, 1, &err) ||
	       chat_model_open(&m, &ctx, unit_demo(), NULL, &err);
}

static int
teardown(void **state)
{
	(void)state;
	chat_model_free(m);
	op_ctx_free(&ctx);
	return 0;
}

static struct session *
begin(uint32_t context)
{
	struct session *s;
	struct tb_err err;

	assert_ok(session_new(&s, m->engine, context, &err), err);
	return s;
}

/* A session that holds n tokens. */
static struct session *
held_session(struct token_ids *held, size_t n)
{
	struct session *s = begin(0);
	const float *logits;
	struct tb_err err;

	*held = (struct token_ids){ 0 };
	assert_true(tb_grow(&held->v, &held->cap, n + 1, sizeof(*held->v)));
	for (size_t i = 0; i < n; i++)
		held->v[held->n++] = (uint32_t)(3 + i * i % 500);
	if (n)
		assert_ok(session_eval(s, held->v, n, false, NULL, &logits, &err), err);
	return s;
}

static const char *
kept(size_t n)
{
	const char *path = unit_path("kept");
	struct token_ids held;
	struct session *s = held_session(&held, n);
	struct tb_err err;

	assert_ok(kv_file_save(m, s, &held, path, NULL, &err), err);
	session_free(s);
	free(held.v);
	return path;
}

static void
test_same(void **state)
{
	static const size_t sizes[] = { 0, 1, 255, 256, 257, TOKENS };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct token_ids was, is = { 0 };
		struct session *a = held_session(&was, sizes[i]), *b = begin(400);
		const char *path = kept(sizes[i]);
		const float *x, *y;
		uint32_t id = 77;
		struct tb_err err;
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_ok(kv_file_load(m, b, &is, path, NULL, &err), err);
		assert_int_equal(is.n, was.n);
		assert_memory_equal(is.v, was.v, is.n * sizeof(*is.v));
		assert_int_equal(session_pos(b), sizes[i]);
		assert_ok(session_eval(a, &id, 1, false, NULL, &x, &err), err);
		assert_ok(session_eval(b, &id, 1, false, NULL, &y, &err), err);
		assert_memory_equal(x, y, 2048 * sizeof(*x));
		session_free(a);
		session_free(b);
		free(was.v);
		free(is.v);
	}
}

/* TB_OK stands for any code. */
static void
refused(const char *path, uint32_t context, enum tb_status code, const char *part)
{
	struct session *s = begin(context);
	struct token_ids held = { 0 };
	const float *logits;
	uint32_t id = 5;
	struct tb_err err;
	enum tb_status status = kv_file_load(m, s, &held, path, NULL, &err);

	assert_true(status != TB_OK);
	assert_fails(status, err, code ? code : status, part);
	assert_int_equal(held.n, 0);
	assert_int_equal(session_pos(s), 0);
	assert_ok(session_eval(s, &id, 1, false, NULL, &logits, &err), err);	/* it still works */
	session_free(s);
	free(held.v);
}

/* The same model with other numbers in half of it. */
static void
other_weights(void)
{
	static const char *const files[] = { "config.json", "model.safetensors", "tokenizer.json",
					     "tokenizer_config.json" };
	struct tb_err err;

	assert_ok(tb_mkdirs(unit_path("other"), &err), err);
	for (unsigned i = 0; i < 4; i++) {
		char *bytes, name[64];
		size_t len;

		assert_ok(tb_file_slurp(unit_demo_file(files[i]), 64 << 20, &bytes, &len, &err), err);
		if (i == 1)
			for (size_t at = len / 2; at < len; at += 2)
				bytes[at] ^= 1;
		snprintf(name, sizeof(name), "other/%s", files[i]);
		unit_write(name, bytes, len);
		free(bytes);
	}
}

static void
test_refused(void **state)
{
	struct chat_model *mine = m;
	const char *path;
	struct tb_err err;

	(void)state;
	path = kept(TOKENS);
	refused(unit_path("nothing"), 0, TB_ENOENT, "nothing");
	refused(path, 200, TB_ELIMIT, "it holds 300 tokens, the context 200; give it more with --ctx");
	refused(unit_write("text", "what is this\nand this\n", 22), 0, TB_EFORMAT,
		"no session was kept in it");
	refused(unit_write("empty", "", 0), 0, TB_EFORMAT, "no session was kept in it");
	other_weights();
	assert_ok(chat_model_open(&m, &ctx, unit_path("other"), NULL, &err), err);
	refused(path, 0, TB_EUSAGE, "other weights (demo)");
	chat_model_free(m);
	/* the same weights elsewhere are not */
	m = mine;
}

/* Every byte counts, those of memory that nobody reads, too. */
static void
test_damaged(void **state)
{
	char *bytes, *mine;
	size_t len;
	struct tb_err err;

	(void)state;
	assert_ok(tb_file_slurp(kept(20), 64 << 20, &bytes, &len, &err), err);
	mine = malloc(len + 1);
	assert_non_null(mine);
	for (size_t at = 0; at < len; at += at < 500 ? 1 : len / 50) {
		memcpy(mine, bytes, len);
		mine[at] ^= 4;
		refused(unit_write("damaged", mine, len), 0, TB_OK, "damaged");
	}
	for (size_t cut = 1; cut < len; cut = cut * 3 + 1)
		refused(unit_write("cut", bytes, len - cut), 0, TB_EFORMAT, "cut");
	memcpy(mine, bytes, len);
	mine[len] = 0;
	refused(unit_write("longer", mine, len + 1), 0, TB_EFORMAT, "more than one");
	memset(mine + 8, 0xff, 8);
	refused(unit_write("header", mine, len), 0, TB_EFORMAT, "a header of");
	free(mine);
	free(bytes);
}

/* The second conversation reads only what is new. */
static void
test_prefix(void **state)
{
	struct gen_opts opts = { .sampler = SAMPLER_DEFAULTS, .max_tokens = 5, .ignore_eos = true };
	struct token_ids prompt, was, held = { 0 };
	struct session *s;
	struct gen_result cold, warm;
	struct tb_err err;

	(void)state;
	opts.sampler.temperature = 0;
	session_free(held_session(&prompt, TOKENS));
	(void)kept(TOKENS - 20);
	s = held_session(&was, TOKENS - 20);
	assert_ok(generate(m, s, &was, &prompt, &opts, NULL, &cold, &err), err);
	session_free(s);
	free(was.v);
	s = begin(0);
	assert_ok(kv_file_load(m, s, &held, unit_path("kept"), NULL, &err), err);
	assert_ok(generate(m, s, &held, &prompt, &opts, NULL, &warm, &err), err);
	assert_int_equal(warm.figures.reused_tokens, TOKENS - 20);
	assert_int_equal(warm.figures.prompt_tokens, 20);
	assert_memory_equal(warm.ids.v, cold.ids.v, 5 * sizeof(uint32_t));
	session_free(s);
	gen_result_free(&cold);
	gen_result_free(&warm);
	free(held.v);
	free(prompt.v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_prefix),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
