#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>

#include "src/base/arena.h"
#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

static void
buf_stops_at_its_ceiling(void **state)
{
	struct tb_buf b = TB_BUF(10);
	struct tb_err err;
	char *s;

	(void)state;
	tb_buf_str(&b, "12345");
	tb_buf_printf(&b, "%d", 67890);
	assert_false(tb_buf_failed(&b));
	assert_string_equal(tb_buf_cstr(&b), "1234567890");
	tb_buf_chr(&b, '!');
	assert_true(tb_buf_failed(&b));
	assert_fails(tb_buf_status(&b, "digits", &err), err, TB_ELIMIT, "digits: over 10 bytes");
	tb_buf_str(&b, "");
	assert_true(tb_buf_failed(&b));
	assert_string_equal(tb_buf_cstr(&b), "1234567890");
	assert_null(tb_buf_take(&b));
	assert_int_equal(b.len, 0);

	tb_buf_str(&b, "again");
	assert_ok(tb_buf_status(&b, "digits", &err), err);
	s = tb_buf_take(&b);
	assert_string_equal(s, "again");
	free(s);
	s = tb_buf_take(&b);
	assert_string_equal(s, "");
	free(s);
	tb_buf_free(&b);
}

static void
buf_keeps_every_byte(void **state)
{
	struct tb_buf b = TB_BUF(1u << 20);

	(void)state;
	assert_string_equal(tb_buf_cstr(&b), "");
	for (int i = 0; i < 10000; i++) {
		char c = (char)i;

		tb_buf_add(&b, &c, 1);
		assert_int_equal(b.p[b.len], 0);
	}
	assert_int_equal(b.len, 10000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(b.p[i], (char)i);
	tb_buf_clear(&b);
	assert_int_equal(b.len, 0);
	tb_buf_add(&b, NULL, 0);
	tb_buf_add(&b, "x", SIZE_MAX);
	assert_true(tb_buf_failed(&b));
	tb_buf_clear(&b);
	assert_false(tb_buf_failed(&b));
	tb_buf_free(&b);
}

static void
products_do_not_overflow(void **state)
{
	size_t cap = 0, huge = SIZE_MAX / 2;
	int *v = NULL;
	void *p;

	(void)state;
	assert_null(tb_calloc(huge, 4));
	p = tb_calloc(0, 0);
	assert_non_null(p);
	free(p);
	assert_null(tb_aligned(SIZE_MAX));
	assert_null(tb_aligned(SIZE_MAX - 64));
	assert_false(tb_grow(&v, &cap, huge, sizeof(*v)));
	assert_null(v);
	assert_int_equal(cap, 0);
	for (size_t n = 1; n < 5000; n++) {
		assert_true(tb_grow(&v, &cap, n, sizeof(*v)));
		assert_true(cap >= n);
		assert_int_equal(v[n - 1], 0);	/* new items are zeroed */
		v[n - 1] = (int)n;
	}
	for (size_t n = 1; n < 5000; n++)
		assert_int_equal(v[n - 1], n);
	assert_false(tb_grow(&v, &cap, SIZE_MAX / sizeof(*v) + 1, sizeof(*v)));
	assert_int_equal(v[4998], 4999);
	free(v);
}

static void
memory_is_aligned(void **state)
{
	(void)state;
	for (size_t n = 0; n < 300; n += 7) {
		unsigned char *p = tb_aligned(n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 64, 0);
		memset(p, 1, n);
		free(p);
	}
}

/* Of any size and order: zeroed, aligned, apart from one another, where they were. */
static void
an_arena_keeps_things_apart(void **state)
{
	struct tb_arena a = { 0 };
	unsigned char *p[200];
	const char *s[200];

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		size_t n = i % 50 ? i * 7 : i * 3000;

		p[i] = tb_arena_get(&a, n);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(p[i][k], 0);
			p[i][k] = (unsigned char)i;
		}
		s[i] = tb_arena_cat(&a, "layers.1234567", i % 14, ".weight");
	}
	for (size_t i = 0; i < 200; i++) {
		size_t n = i % 50 ? i * 7 : i * 3000;

		assert_true(!n || (p[i][0] == i % 256 && p[i][n - 1] == i % 256));
		assert_memory_equal(s[i], "layers.1234567", i % 14);
		assert_string_equal(s[i] + i % 14, ".weight");
	}
	assert_null(tb_arena_get(&a, SIZE_MAX));
	assert_null(tb_arena_get(&a, SIZE_MAX - 20));
	tb_arena_free(&a);
	tb_arena_free(&a);
	assert_null(a.chunks);
}

static void
an_arena_stops_at_its_ceiling(void **state)
{
	struct tb_arena a = { .max = 64 };

	(void)state;
	assert_non_null(tb_arena_get(&a, 33));		/* 48, as they are aligned */
	assert_null(tb_arena_get(&a, 17));
	assert_string_equal(tb_arena_text(&a, "abcd", 3), "abc");
	assert_null(tb_arena_str(&a, "0123456789ab"));
	assert_string_equal(tb_arena_str(&a, "0123456789a"), "0123456789a");
	assert_null(tb_arena_get(&a, 1));
	tb_arena_free(&a);
	assert_non_null(tb_arena_get(&a, 64));
	tb_arena_free(&a);
}

/* What one gave out is the other's then, and stays where it is. */
static void
an_arena_takes_over_another(void **state)
{
	struct tb_arena a = { 0 }, b = { 0 };
	const char *s[400];

	(void)state;
	for (size_t i = 0; i < 400; i++)
		s[i] = tb_arena_cat(i % 2 ? &a : &b, "layers.123", i % 10, ".weight");
	tb_arena_join(&a, &b);
	assert_null(b.chunks);
	assert_int_equal(b.used, 0);
	tb_arena_join(&a, &b);
	assert_string_equal(tb_arena_str(&b, "new"), "new");
	tb_arena_free(&b);
	assert_string_equal(tb_arena_str(&a, "more"), "more");
	for (size_t i = 0; i < 400; i++)
		assert_string_equal(s[i] + i % 10, ".weight");
	tb_arena_join(&b, &a);
	assert_null(a.chunks);
	tb_arena_free(&b);
}

static void
strings_are_copied(void **state)
{
	char open_end[4] = { 'a', 'b', 'c', 'd' };	/* no NUL */
	char *s = tb_strndup(open_end, sizeof(open_end));

	(void)state;
	assert_string_equal(s, "abcd");
	free(s);
	s = tb_strndup("ab", 10);
	assert_string_equal(s, "ab");
	free(s);
	s = tb_asprintf("%s-%05d", "blob", 42);
	assert_string_equal(s, "blob-00042");
	free(s);
}

static void
messages_say_what_and_why(void **state)
{
	struct tb_err err = { 0 };

	(void)state;
	assert_int_equal(tb_fail(&err, TB_EFORMAT, "%s: bad", "a.safetensors"), TB_EFORMAT);
	assert_string_equal(err.msg, "a.safetensors: bad");
	assert_int_equal(tb_wrap(&err, TB_EFORMAT, "model %d", 3), TB_EFORMAT);
	assert_int_equal(tb_wrap(NULL, TB_ENOMEM, "model %d", 3), TB_ENOMEM);
	assert_string_equal(err.msg, "model 3: a.safetensors: bad");
	/* The message as its own argument. */
	assert_int_equal(tb_fail(&err, TB_ELIMIT, "again: %s", err.msg), TB_ELIMIT);
	assert_string_equal(err.msg, "again: model 3: a.safetensors: bad");
	errno = ENOENT;
	assert_int_equal(tb_fail_errno(&err, "x"), TB_ENOENT);
	assert_string_equal(err.msg, "x: No such file or directory");
	errno = EEXIST;
	assert_int_equal(tb_fail_errno(NULL, "x"), TB_EEXIST);
	assert_int_equal(tb_fail(NULL, TB_EUSAGE, "x"), TB_EUSAGE);
	assert_string_equal(tb_status_text(TB_ECANCEL), "cancelled");
	assert_string_equal(tb_status_text((enum tb_status)999), "unknown status");
}

/* However long the path, the reason is there, and so is its beginning. */
static void
long_paths_do_not_push_the_reason_out(void **state)
{
	struct tb_err err = { 0 };
	char path[4096];

	(void)state;
	for (size_t n = 1; n < sizeof(path); n += 37) {
		memset(path, 'p', sizeof(path));
		path[n] = 0;
		errno = EACCES;
		assert_int_equal(tb_fail_errno(&err, "%s", path), TB_EIO);
		assert_true(tb_ends(err.msg, ": Permission denied"));
		assert_true(tb_starts(err.msg, "p"));
		(void)tb_wrap(&err, TB_EIO, "%s", path);
		assert_true(strlen(err.msg) < sizeof(err.msg));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_stops_at_its_ceiling),
		cmocka_unit_test(buf_keeps_every_byte),
		cmocka_unit_test(products_do_not_overflow),
		cmocka_unit_test(memory_is_aligned),
		cmocka_unit_test(an_arena_keeps_things_apart),
		cmocka_unit_test(an_arena_stops_at_its_ceiling),
		cmocka_unit_test(an_arena_takes_over_another),
		cmocka_unit_test(strings_are_copied),
		cmocka_unit_test(messages_say_what_and_why),
		cmocka_unit_test(long_paths_do_not_push_the_reason_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
