/* Of every architecture: a pass of a few tokens gives what passes of one give, to the last bit,
 * and a session that went back, or took over from another, gives what one gives that did not. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/engine/engine.h"
#include "src/store/model.h"

#define TOKENS 60
#define ROOM 200
#define ROOM 200

static void
some_ids(const struct engine *e, uint32_t seed, uint32_t *ids, size_t n)
{
	struct engine_info info;

	engine_info(e, &info);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		ids[i] = (seed >> 8) % info.vocab;
	}
}

static const float *
eval(struct session *s, const uint32_t *ids, size_t n, bool all)
{
	const float *logits;
	struct tb_err err;

	assert_ok(session_eval(s, ids, n, all, NULL, &logits, &err), err);
	return logits;
}

static struct session *
begin(struct engine *e)
{
	struct session *s;
	struct tb_err err;

	assert_ok(session_new(&s, e, 128, &err), err);
	return s;
}

static void
few_as_one(const char *name, struct engine *e, size_t vocab)
{
	struct session *one = begin(e), *many = begin(e);
	uint32_t ids[TOKENS];

	some_ids(e, 5, ids, TOKENS);
	for (size_t at = 0, n = 1; at + n <= TOKENS; at += n, n = n % 8 + 1) {
		const float *b = eval(many, ids + at, n, true);

		for (size_t i = 0; i < n; i++)
			if (memcmp(eval(one, ids + at + i, 1, false), b + i * vocab,
				   vocab * sizeof(*b)))
				fail_msg("%s: token %zu has other logits in a pass of %zu", name,
					 at + i, n);
	}
	session_free(one);
	session_free(many);
}

/* One that has read n tokens. */
static struct session *
begun(struct engine *e, const uint32_t *ids, size_t n)
{
	struct session *s;
	struct tb_err err;

	assert_ok(session_new(&s, e, (uint32_t)n + ROOM, &err), err);
	if (n)
		(void)eval(s, ids, n, false);
	return s;
}

/* Sessions at positions of their own, some far enough that attention is cut in parts, in passes
 * with one another: of each one or two tokens, and others sit out each time. */
static void
together_as_alone(const char *name, struct engine *e, size_t vocab)
{
	struct session *alone[SESSION_ROWS], *joint[SESSION_ROWS];
	static const size_t read[SESSION_ROWS] = { 0, 3, 700, 1, 25, 1300, 9, 530 };
	static uint32_t ids[SESSION_ROWS][1300 + TOKENS];
	struct tb_err err;

	for (uint32_t i = 0; i < SESSION_ROWS; i++) {
		some_ids(e, 20 + i, ids[i], read[i] + TOKENS);
		alone[i] = begun(e, ids[i], read[i]);
		joint[i] = begun(e, ids[i], read[i]);
	}
	for (size_t pass = 0; pass < 12; pass++) {
		size_t count = 2 + pass % (SESSION_ROWS - 1), each = 2 * count <= SESSION_ROWS ? 2 : 1;
		struct session_part part[SESSION_ROWS];

		for (size_t i = 0; i < count; i++) {
			size_t k = (i + pass) % SESSION_ROWS;

			part[i] = (struct session_part){ .s = joint[k], .n = i % 2 ? each : 1,
							 .ids = ids[k] + session_pos(joint[k]) };
		}
		assert_ok(session_eval_batch(part, count, NULL, &err), err);
		for (size_t i = 0; i < count; i++)
			for (size_t row = 0; row < part[i].n; row++) {
				const float *b = part[i].logits + row * vocab;

				if (memcmp(eval(alone[(i + pass) % SESSION_ROWS], part[i].ids + row, 1,
						false), b, vocab * sizeof(*b)))
					fail_msg("%s: session %zu has other logits among %zu", name,
						 (i + pass) % SESSION_ROWS, count);
			}
	}
	for (uint32_t i = 0; i < SESSION_ROWS; i++) {
		session_free(alone[i]);
		session_free(joint[i]);
	}
}

/* Prompts that are read in one pass; what follows is as if each had been read alone. */
static void
read_together(const char *name, struct engine *e, size_t vocab)
{
	static const size_t n[SESSION_ROWS] = { 9, 100, 17, 64, 10, 33, 150, 100 };
	static uint32_t ids[SESSION_ROWS][200];
	struct session *joint[SESSION_ROWS];
	struct session_part part[SESSION_ROWS];
	struct tb_err err;

	for (uint32_t i = 0; i < SESSION_ROWS; i++) {
		some_ids(e, 40 + i, ids[i], i + n[i] + 1);
		joint[i] = begun(e, ids[i], i);
		part[i] = (struct session_part){ .s = joint[i], .ids = ids[i] + i, .n = n[i] };
	}
	assert_ok(session_read_batch(part, SESSION_ROWS, NULL, &err), err);
	for (uint32_t i = 0; i < SESSION_ROWS; i++) {
		struct session *alone = begun(e, ids[i], i);
		struct session_part one = { .s = alone, .ids = ids[i] + i, .n = n[i] };

		if (n[i] > 60) {		/* and in other pieces */
			one.n = 41;
			assert_ok(session_read_batch(&one, 1, NULL, &err), err);
			one.ids += 41;
			one.n = n[i] - 41;
		}
		assert_ok(session_read_batch(&one, 1, NULL, &err), err);
		if (memcmp(eval(alone, ids[i] + i + n[i], 1, false),
			   eval(joint[i], ids[i] + i + n[i], 1, false), vocab * sizeof(float)))
			fail_msg("%s: a prompt of %zu tokens is read otherwise among others", name, n[i]);
		session_free(alone);
		session_free(joint[i]);
	}
}

/* ids[from..to) in passes of n; logits of the last. */
static const float *
read_on(struct session *s, const uint32_t *ids, uint32_t from, uint32_t to, uint32_t n)
{
	const float *logits = NULL;

	for (uint32_t at = from; at < to; at += n) {
		n = n < to - at ? n : to - at;
		logits = eval(s, ids + at, n, false);
	}
	return logits;
}

/* Back to some place, and on with other tokens, again and again. */
static void
back_and_on(const char *name, struct engine *e, size_t vocab)
{
	static const uint32_t back[] = { 3, 0, 1, 7, 2, 40, 5 };
	struct session *s = begin(e);
	uint32_t ids[TOKENS + 64], now = TOKENS;

	some_ids(e, 6, ids, TOKENS);
	(void)read_on(s, ids, 0, TOKENS, 5);
	for (uint32_t i = 0; i < sizeof(back) / sizeof(*back); i++) {
		struct session *fresh = begin(e);
		uint32_t pos = session_rewind(s, now - back[i]);

		assert_true(pos <= now - back[i] && pos == session_pos(s));
		now -= back[i];
		some_ids(e, 7 + i, ids + now, 6);
		now += 6;
		if (memcmp(read_on(s, ids, pos, now, 1 + i % 3), read_on(fresh, ids, 0, now, 1),
			   vocab * sizeof(float)))
			fail_msg("%s: other logits at position %u when it came back from further on",
				 name, now);
		session_free(fresh);
	}
	session_free(s);
}

struct carried {
	struct tb_buf bytes;
	size_t at;
	bool back;
};

static enum tb_status
carry(void *arg, void *data, size_t len, struct tb_err *err)
{
	struct carried *c = arg;

	(void)err;
	if (c->back)
		memcpy(data, c->bytes.p + c->at, len);
	else
		tb_buf_add(&c->bytes, data, len);
	c->at += len;
	return TB_OK;
}

/* What a session holds goes on in another. */
static void
carried_over(const char *name, struct engine *e, size_t vocab)
{
	struct session *a = begin(e), *b = begin(e);
	struct carried c = { .bytes = TB_BUF(256 << 20) };
	struct tb_buf x = TB_BUF(1000), y = TB_BUF(1000);
	uint32_t ids[TOKENS];
	struct tb_err err;

	some_ids(e, 9, ids, TOKENS);
	(void)read_on(a, ids, 0, TOKENS - 1, 7);
	(void)read_on(b, ids, 5, 30, 7);	/* something else was there */
	session_layout(a, &x);
	session_layout(b, &y);
	assert_string_equal(tb_buf_cstr(&x), tb_buf_cstr(&y));
	assert_ok(session_pieces(a, carry, &c, &err), err);
	assert_int_equal(c.at, session_bytes(a, TOKENS - 1));
	c.at = 0;
	c.back = true;
	assert_ok(session_place(b, TOKENS - 1, &err), err);
	assert_ok(session_pieces(b, carry, &c, &err), err);
	assert_int_equal(c.at, c.bytes.len);
	if (memcmp(eval(a, ids + TOKENS - 1, 1, false), eval(b, ids + TOKENS - 1, 1, false),
		   vocab * sizeof(float)))
		fail_msg("%s: other logits where another session went on", name);
	tb_buf_free(&c.bytes);
	tb_buf_free(&x);
	tb_buf_free(&y);
	session_free(a);
	session_free(b);
}

static bool
open_engine(struct model **m, struct engine **e, const char *dir)
{
	static const struct engine_opts opts = { .threads = 2 };
	struct model_loc loc = { MODEL_SAFETENSORS_DIR, (char *)"hf", (char *)dir, (char *)"", 0 };
	struct tb_err err;
	enum tb_status status;

	assert_ok(model_open(m, &loc, &err), err);
	status = engine_open(e, *m, &opts, &err);
	if (status) {
		assert_int_equal(status, TB_EUNSUP);	/* not run yet */
		model_free(*m);
	}
	return !status;
}

static void
test_architectures(void **state)
{
	char folder[4096];
	struct tb_names names;
	size_t ran = 0, dense = 0;
	struct tb_err err;

	(void)state;
	snprintf(folder, sizeof(folder), "%s", unit_shared("data/models/arch"));
	assert_ok(tb_names_read(&names, folder, &err), err);
	for (size_t i = 0; i < names.n; i++) {
		struct engine_info info;
		struct engine *e;
		struct model *m;
		char dir[4200];

		snprintf(dir, sizeof(dir), "%s/%s/hf", folder, names.v[i]);
		if (strchr(names.v[i], '.') || !open_engine(&m, &e, dir))
			continue;
		engine_info(e, &info);
		few_as_one(names.v[i], e, info.vocab);
		together_as_alone(names.v[i], e, info.vocab);
		if (!info.fixed_pieces) {
			read_together(names.v[i], e, info.vocab);
			dense++;
		}
		back_and_on(names.v[i], e, info.vocab);
		carried_over(names.v[i], e, info.vocab);
		engine_free(e);
		model_free(m);
		ran++;
	}
	tb_names_free(&names);
	assert_true(ran > 0 && dense > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_architectures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
