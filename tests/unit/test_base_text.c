#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/buf.h"
#include "src/base/text.h"

static const char *
clipped(struct tb_buf *b, const char *s, size_t cols, bool pad)
{
	tb_buf_clear(b);
	tb_text_clip(b, s, cols, pad);
	return tb_buf_cstr(b);
}

static void
clip_counts_columns(void **state)
{
	struct tb_buf b = TB_BUF(4096);

	(void)state;
	assert_string_equal(clipped(&b, "weight", 6, false), "weight");
	assert_string_equal(clipped(&b, "weight", 5, false), "weig…");
	assert_string_equal(clipped(&b, "weight", 8, true), "weight  ");
	assert_string_equal(clipped(&b, "weight", 1, true), "…");
	assert_string_equal(clipped(&b, "weight", 0, true), "");
	assert_string_equal(clipped(&b, "", 3, true), "   ");
	assert_string_equal(clipped(&b, "模型层", 6, true), "模型层");
	assert_string_equal(clipped(&b, "模型层", 5, true), "模型…");
	/* Half a wide character is never shown: a blank stands for it. */
	assert_string_equal(clipped(&b, "模型层", 4, true), "模… ");
	assert_string_equal(clipped(&b, "e\xcc\x81t\xc3\xa9", 4, true), "e\xcc\x81t\xc3\xa9 ");
	tb_buf_free(&b);
}

static void
clip_lets_no_control_through(void **state)
{
	struct tb_buf b = TB_BUF(4096);
	char all[256];

	(void)state;
	assert_string_equal(clipped(&b, "a\033[2Jb", SIZE_MAX, false), "a�[2Jb");
	assert_string_equal(clipped(&b, "a\tb\nc\rd", SIZE_MAX, false), "a b c d");
	assert_string_equal(clipped(&b, "\xe2\x80\xaegnp", SIZE_MAX, false), "�gnp");
	assert_string_equal(clipped(&b, "\xc2\x9b" "31m", SIZE_MAX, false), "�31m");
	assert_string_equal(clipped(&b, "\xff\xc0\x80x", SIZE_MAX, false), "���x");
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = 0;
	clipped(&b, all, SIZE_MAX, false);
	assert_true(tb_utf8_valid(b.p, b.len));
	for (size_t i = 0; i < b.len; i++)
		assert_true((unsigned char)b.p[i] >= 0x20 && b.p[i] != 0x7f);
	tb_buf_free(&b);
}

/* The promise the screens rest on: a padded string has exactly the width asked for. */
static void
clip_fills_the_width_exactly(void **state)
{
	static const char *const pieces[] = {
		"a", "模", "\xcc\x81", "\033", "\xff", "é", "\xf0\x9f\x98\x80", "\xe2\x80\x8b", "\t",
	};
	struct tb_buf b = TB_BUF(4096);
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char s[128];
		size_t len = 0, cols = (size_t)round % 14;

		for (seed = seed * 1103515245 + 12345; len < seed >> 27; ) {
			const char *p;

			seed = seed * 1103515245 + 12345;
			p = pieces[(seed >> 16) % (sizeof(pieces) / sizeof(*pieces))];
			memcpy(s + len, p, strlen(p));
			len += strlen(p);
		}
		s[len] = 0;
		clipped(&b, s, cols, true);
		if (tb_width(tb_buf_cstr(&b)) != cols)
			fail_msg("%zu columns wanted, %zu made: \"%s\"", cols,
				 tb_width(tb_buf_cstr(&b)), tb_buf_cstr(&b));
	}
	tb_buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clip_counts_columns),
		cmocka_unit_test(clip_lets_no_control_through),
		cmocka_unit_test(clip_fills_the_width_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
