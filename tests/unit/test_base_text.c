#include "config.h"

#include "tests/unit/unit.h"

#include <locale.h>

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
	tb_buf_clear(&b);
	tb_text_middle(&b, "model.layers.0.mlp.down", 12, true);
	assert_string_equal(tb_buf_cstr(&b), "model…p.down");
	tb_buf_clear(&b);
	tb_text_middle(&b, "模型层模型层模型层", 12, true);
	assert_int_equal(tb_width(tb_buf_cstr(&b)), 12);
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

/* Combining characters neither climb over the lines above nor fall on what stood
 * before; what no terminal knows is replaced. */
static void
marks_stay_with_their_letter(void **state)
{
	struct tb_buf b = TB_BUF(1u << 20);
	char pile[2002] = "a";

	(void)state;
	for (size_t i = 1; i + 1 < sizeof(pile) - 1; i += 2)
		memcpy(pile + i, "\xcc\x81", 2);
	assert_string_equal(clipped(&b, pile, 10, false),
			    "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81");
	assert_string_equal(clipped(&b, "\xcc\x81" "b", 10, false), "�b");
	assert_string_equal(clipped(&b, "\xcd\xb8", 10, false), "�");	/* U+0378, unassigned */
	assert_string_equal(clipped(&b, "\xf4\x8f\xbf\xbf", 10, false), "�");	/* U+10FFFF */
	tb_buf_clear(&b);
	tb_text_clean_lines(&b, "a\tb\nc\r\033d\xe2\x80\x8c" "e", 12);
	assert_string_equal(tb_buf_cstr(&b), "a\tb\nc �d\xe2\x80\x8c" "e");
	tb_buf_free(&b);
}

static void
right_aligned_fills_the_width(void **state)
{
	struct tb_buf b = TB_BUF(4096);
	static const struct { const char *s; size_t cols; const char *want; } rows[] = {
		{ "12", 4, "  12" }, { "12345", 4, "123…" }, { "模型层", 4, "模… " }, { "", 2, "  " },
		{ "ab", 2, "ab" }, { "ab", 0, "" }, { "ab", SIZE_MAX, "ab" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		tb_buf_clear(&b);
		tb_text_right(&b, rows[i].s, rows[i].cols);
		assert_string_equal(tb_buf_cstr(&b), rows[i].want);
	}
	tb_buf_free(&b);
}

static void
clean_fits_its_buffer(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(tb_text_clean("a\033b", out, sizeof(out)), "a�b");
	assert_string_equal(tb_text_clean("abcdefghij", out, sizeof(out)), "abcdefg");
	assert_string_equal(tb_text_clean("abcdef模", out, sizeof(out)), "abcdef");
	assert_string_equal(tb_text_clean("x", out, 1), "");
}

static void
utf8_is_checked(void **state)
{
	static const struct { const char *s; bool valid; } rows[] = {
		{ "", true }, { "aé模\xf0\x9f\x98\x80", true }, { "\xc0\x80", false },
		{ "\xe0\x80\x80", false }, { "\xed\xa0\x80", false }, { "\xf4\x90\x80\x80", false },
		{ "\xc3", false }, { "\xf0\x9f\x98", false }, { "\x80", false }, { "\xff", false },
	};
	uint32_t cp;
	char out[4];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(tb_utf8_valid(rows[i].s, strlen(rows[i].s)), rows[i].valid);
	assert_int_equal(tb_utf8_next("\xe6\xa8", 2, &cp), 1);
	assert_int_equal(cp, 0xfffd);
	for (uint32_t c = 1; c < 0x110000; c++) {
		size_t n = tb_utf8_put(c, out);

		assert_int_equal(tb_utf8_next(out, n, &cp), n);
		assert_int_equal(cp, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	}
	assert_int_equal(tb_utf8_put(0x110000, out), 3);
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
		cmocka_unit_test(marks_stay_with_their_letter),
		cmocka_unit_test(right_aligned_fills_the_width),
		cmocka_unit_test(clean_fits_its_buffer),
		cmocka_unit_test(utf8_is_checked),
		cmocka_unit_test(clip_fills_the_width_exactly),
	};

	/* First by our own tables, then by the C library's, which curses uses. */
	if (cmocka_run_group_tests(tests, NULL, NULL) || !setlocale(LC_ALL, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
