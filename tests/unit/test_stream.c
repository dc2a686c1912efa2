#include "config.h"

#include "tests/unit/unit.h"

#include "src/ops/run/stream.h"

/* Feeds bytes one by one; what came through so far is in s->text. */
static bool
feed(struct stream *s, const char *bytes, size_t n)
{
	bool stopped = false;

	for (size_t i = 0; i < n && !stopped; i++) {
		tb_buf_chr(&s->raw, bytes[i]);
		(void)stream_pass(s, false, &stopped);
	}
	return stopped;
}

static void
finish(struct stream *s)
{
	bool stopped;

	(void)stream_pass(s, true, &stopped);
}

static void
test_characters(void **state)
{
	struct stream s = STREAM(NULL, 0);

	(void)state;
	assert_false(feed(&s, "a\xe2\x82", 3));
	assert_string_equal(tb_buf_cstr(&s.text), "a");
	assert_false(feed(&s, "\xac\xf0\x9f\x98", 4));
	assert_string_equal(tb_buf_cstr(&s.text), "a€");
	assert_false(feed(&s, "\x80!", 2));
	assert_string_equal(tb_buf_cstr(&s.text), "a€😀!");
	stream_free(&s);
}

static void
test_not_utf8(void **state)
{
	struct stream s = STREAM(NULL, 0);

	(void)state;
	assert_false(feed(&s, "x\xff\x80y\xe2\x82", 6));
	assert_string_equal(tb_buf_cstr(&s.text), "x\xef\xbf\xbd\xef\xbf\xbdy");
	finish(&s);		/* what never became whole */
	assert_true(s.text.len > 8);
	assert_memory_equal(s.text.p + 8, "\xef\xbf\xbd", 3);
	stream_free(&s);
}

static void
test_stop(void **state)
{
	static const char *const stops[] = { "<end>", "END", "" };
	struct stream s = STREAM(stops, 3);

	(void)state;
	assert_false(feed(&s, "one <en", 7));
	assert_string_equal(tb_buf_cstr(&s.text), "one ");	/* may become a stop */
	assert_false(feed(&s, "t <<en", 6));
	assert_string_equal(tb_buf_cstr(&s.text), "one <ent <");
	assert_true(feed(&s, "d> more", 7));
	assert_string_equal(tb_buf_cstr(&s.text), "one <ent <");
	stream_free(&s);
}

/* Both in one piece: the first one counts. */
static void
test_first_stop(void **state)
{
	static const char *const stops[] = { "BBB", "AA" };
	struct stream s = STREAM(stops, 2);
	bool stopped;

	(void)state;
	tb_buf_str(&s.raw, "xAAyBBBz");
	assert_int_equal(stream_pass(&s, false, &stopped), 0);
	assert_true(stopped);
	assert_string_equal(tb_buf_cstr(&s.text), "x");
	stream_free(&s);
}

static void
test_held_at_end(void **state)
{
	static const char *const stops[] = { "stop" };
	struct stream s = STREAM(stops, 1);

	(void)state;
	assert_false(feed(&s, "do not sto", 10));
	assert_string_equal(tb_buf_cstr(&s.text), "do not ");
	finish(&s);
	assert_string_equal(tb_buf_cstr(&s.text), "do not sto");
	stream_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_not_utf8),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_first_stop),
		cmocka_unit_test(test_held_at_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
