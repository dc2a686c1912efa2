/* What Markdown looks like in rows, that it looks so however its text came, and that this
 * costs no more than its bytes. */
#include "config.h"

#include "src/face/markdown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "tests/unit/unit.h"

/* All rows, with what is styled in {letters:...}. */
static char *
shown(struct mdown *m)
{
	static const char letters[] = "bicChd";
	struct tb_buf b = TB_BUF(256u << 20);

	for (size_t i = 0; i < mdown_rows(m); i++) {
		struct mdown_row row = mdown_row(m, i);
		size_t at = 0;

		for (size_t k = 0; k < row.nruns; at += row.runs[k++].len) {
			unsigned style = row.runs[k].style;

			if (style)
				tb_buf_chr(&b, '{');
			for (size_t s = 0; s < 6; s++)
				if (style & 1u << s)
					tb_buf_chr(&b, letters[s]);
			if (style)
				tb_buf_chr(&b, ':');
			tb_buf_add(&b, row.text + at, row.runs[k].len);
			if (style)
				tb_buf_chr(&b, '}');
		}
		assert_int_equal(at, row.len);
		tb_buf_chr(&b, '\n');
	}
	(void)tb_buf_cstr(&b);
	return b.len ? tb_buf_take(&b) : strdup("");
}

static char *
whole(const char *text, int width, unsigned flags)
{
	struct mdown *m = mdown_new(flags);
	char *s;

	assert_non_null(m);
	mdown_add(m, text, strlen(text));
	mdown_end(m);
	mdown_lay(m, width);
	s = shown(m);
	mdown_free(m);
	return s;
}

/* Character by character, laid out after each. */
static char *
streamed(const char *text, int width, unsigned flags)
{
	struct mdown *m = mdown_new(flags);
	char *s;

	assert_non_null(m);
	for (size_t n, left = strlen(text); left; text += n, left -= n) {
		uint32_t cp;

		n = tb_utf8_next(text, left, &cp);
		mdown_add(m, text, n);
		mdown_lay(m, width);
	}
	mdown_end(m);
	mdown_lay(m, width);
	s = shown(m);
	mdown_free(m);
	return s;
}

static const struct { const char *text; int width; const char *rows; } cases[] = {
	{ "", 20, "" },
	{ "one two three four", 9, "one two\nthree\nfour\n" },
	{ "a\nb\n\n\nc\n", 20, "a\nb\n\nc\n" },
	{ "hard  \nbreak", 20, "hard\nbreak\n" },
	{ "# Head *it*\ntext\n## Two", 20, "{h:Head }{ih:it}\ntext\n{h:Two}\n" },
	{ "Title\n=====\ntext", 20, "{h:Title}\ntext\n" },
	{ "**bold** and *it* and ***both*** `co*de`", 60,
	  "{b:bold} and {i:it} and {bi:both} {c:co*de}\n" },
	{ "snake_case_name 2*3*4 \\*no\\*", 40, "snake_case_name 2{i:3}4 *no*\n" },
	{ "**one two three four**", 9, "{b:one two}\n{b:three}\n{b:four}\n" },
	{ "- a\n- b\n  - c\n- d", 20,
	  "{d:• }a\n{d:• }b\n{d:  • }c\n{d:• }d\n" },
	{ "1. one\n2. two is long\n   - in\n10. ten", 10,
	  "{d:1. }one\n{d:2. }two is\n{d:   }long\n{d:   • }in\n{d:10. }ten\n" },
	{ "- a\n\n- b\n\n  more\n\ntext", 20, "{d:• }a\n\n{d:• }b\n{d:  }\n{d:  }more\n\ntext\n" },
	{ "- [ ] todo\n- [x] done", 20, "{d:• [ ] }todo\n{d:• [x] }done\n" },
	{ "In\n1986. What", 20, "In\n1986. What\n" },
	{ "> quoted text\n> > deeper\n\nafter", 12,
	  "{d:│ }quoted\n{d:│ }text\n{d:│ }\n{d:│ │ }deeper\n\nafter\n" },
	{ "a\n\n---\nb", 5, "a\n\n{d:─────}\nb\n" },
	{ "[text](http://x.y) <http://a.b>", 60, "text{d: <http://x.y>} http://a.b\n" },
	{ "![alt](p.png)", 60, "{d:[image: }alt{d: <p.png>]}\n" },
	{ "a &amp; b &lt;c&gt; &#8594; &zz; <b>no</b>", 60, "a & b <c> → &zz; <b>no</b>\n" },
	{ "```python\nx = 1\n\ty\n```\nafter", 20,
	  "{d:╭ python}\n{d:│ }{C:x = 1}\n{d:│ }{C:        y}\nafter\n" },
	{ "```\nnever closed *a*", 20, "{d:│ }{C:never closed *a*}\n" },
	{ "~~~\na\n```\n~~~\n```\nb\n```", 20,
	  "{d:│ }{C:a}\n{d:│ }{C:```}\n{d:╭ 2}\n{d:│ }{C:b}\n" },
	{ "```\nabcdefghij\n```", 6, "{d:│ }{C:abcd}\n{d:┆ }{C:efgh}\n{d:┆ }{C:ij}\n" },
	{ "1. do:\n   ```sh\n   ls\n\n   cd\n   ```\n2. then", 20,
	  "{d:1. }do:\n{d:   ╭ sh}\n{d:   │ }{C:ls}\n{d:   │ }\n{d:   │ }{C:cd}\n{d:2. }then\n" },
	{ "    four\n", 20, "{d:│ }{C:four}\n" },
	{ "| k | what |\n|---|--:|\n| a | 1 |\n| bb | `22` |", 30,
	  "{b:k} {d: │ }{b:what}\n{d:───┼─────}\na {d: │ }   1\nbb{d: │ }  {c:22}\n" },
	{ "|key|what it does|\n|---|---|\n|Enter|opens the row|\n|q|back|", 16,
	  "{b:key: }Enter\n{b:what it does:}\nopens the row\n\n{b:key: }q\n{b:what it does:}\nback\n" },
	{ "模型模型模型", 5, "模型\n模型\n模型\n" },
	{ "~~gone~~", 20, "{d:~~}gone{d:~~}\n" },
	{ "- \n- b", 20, "{d:• }\n{d:• }b\n" },
	{ "a\r\nb\rc", 20, "a\nbc\n" },
};

static void
features(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *s = whole(cases[i].text, cases[i].width, MDOWN_UTF8);

		if (strcmp(s, cases[i].rows))
			fail_msg("case %zu:\n%s\nis shown as\n%s\nand not\n%s", i, cases[i].text, s,
				 cases[i].rows);
		free(s);
	}
}

/* Piece by piece it ends as the whole does, and other widths between change nothing. */
static void
pieces(void **state)
{
	struct tb_buf all = TB_BUF(1u << 20);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tb_buf_str(&all, cases[i].text);
		tb_buf_str(&all, "\n\n");
		for (int width = 3; width < 40; width += 9) {
			char *a = whole(cases[i].text, width, 0);
			char *b = streamed(cases[i].text, width, 0);

			assert_string_equal(a, b);
			free(a);
			free(b);
		}
	}
	for (unsigned flags = 0; flags < 4; flags++) {
		char *a = whole(tb_buf_cstr(&all), 33, flags);
		char *b = streamed(tb_buf_cstr(&all), 33, flags);

		assert_string_equal(a, b);
		free(a);
		free(b);
	}
	tb_buf_free(&all);
}

static void
widths(void **state)
{
	struct mdown *m = mdown_new(MDOWN_UTF8);
	char *a, *b = whole(cases[5].text, 12, MDOWN_UTF8);

	(void)state;
	mdown_add(m, cases[5].text, strlen(cases[5].text));
	mdown_lay(m, 40);
	mdown_lay(m, 3);
	mdown_lay(m, 12);
	a = shown(m);
	assert_string_equal(a, b);
	free(a);
	free(b);
	mdown_free(m);
}

/* No row is wider than it may be, and none has what a terminal would obey. */
static void
check_rows(struct mdown *m, int width)
{
	mdown_lay(m, width);
	for (size_t i = 0; i < mdown_rows(m); i++) {
		struct mdown_row row = mdown_row(m, i);
		char *text = strndup(row.text, row.len);

		assert_int_equal(strlen(text), row.len);
		if (tb_width(text) > (size_t)width)
			fail_msg("row %zu has %zu columns of %d: %s", i, tb_width(text), width, text);
		for (size_t k = 0; k < row.len; k++)
			assert_true((unsigned char)text[k] >= ' ' && text[k] != 0x7f);
		assert_null(strstr(text, "\xe2\x80\xae"));
		free(text);
	}
}

static void
hostile(void **state)
{
	static const char *const bad[] = {
		"\033]0;title\a **\033[2J** `\033[1m`\n\n```\033c\n\033[H\n```\n",
		"\xe2\x80\xae" "abc &#8238; &#x1b;[2J &#27; &#10; [a](http://\033[2J)",
		"a\xff\xfe\x80 \xf0\x9f **b\xc3**",
		"| a\033 | b |\n|--|--|\n| \xe2\x80\xae | \t |\n",
		"> > > > > > > > > > > > > > > > > > > > > > > > deep\n",
		"- - - - - - - - - - - - - - - - - - - - - - - - deep\n",
		"1. 2. 3. 4. 5. 6. 7. 8. 9. 10. 11. 12. 13. 14. 15. 16. 17. 18. 19. x\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		for (int width = 8; width < 50; width += 3) {
			struct mdown *m = mdown_new(MDOWN_UTF8);

			mdown_add(m, bad[i], strlen(bad[i]));
			check_rows(m, width);
			mdown_free(m);
		}
}

static struct mdown *
repeated(const char *what, size_t bytes, size_t step)
{
	struct mdown *m = mdown_new(MDOWN_UTF8);
	struct tb_buf b = TB_BUF(64u << 20);

	while (b.len < bytes)
		tb_buf_str(&b, what);
	for (size_t at = 0; at < b.len; at += step) {
		mdown_add(m, b.p + at, b.len - at < step ? b.len - at : step);
		mdown_lay(m, 80);
	}
	tb_buf_free(&b);
	return m;
}

/* What one row costs is bounded, and so is what a byte does. */
static void
work(void **state)
{
	static const char *const what[] = {
		"x", " ", "\n", "word ", "word word word\n\n", "- item\n", "1. a\n   - b\n", ">", "> q\n",
		"[", "![](", "*a _b ", "`", "``` \n", "a  \n", "|a|b|\n|---|---|\n", "|", "\t", "&#x41;",
		"a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "# h\n", "---\n",
		"<a ", "\\", "模", "```c\nint x;\n```\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		struct mdown *m = repeated(what[i], (size_t)1 << 20, (size_t)1 << 16);
		size_t len;

		(void)mdown_text(m, &len);
		if (mdown_work(m) > 2 * len)
			fail_msg("\"%s\": %zu bytes laid out for %zu", what[i], mdown_work(m), len);
		if (mdown_rows(m) > 3 * len)
			fail_msg("\"%s\": %zu rows", what[i], mdown_rows(m));
		mdown_free(m);
	}
}

/* Token by token, what has ended is not laid out again. */
static void
tokens(void **state)
{
	struct mdown *m = repeated("Some words of a *paragraph* of `text`, and more of it.\n\n- an item\n"
				   "- another\n\n```c\nint x;\nint y;\n```\n\n", (size_t)1 << 18, 4);
	size_t len;

	(void)state;
	(void)mdown_text(m, &len);
	assert_true(mdown_work(m) < 12 * len);
	mdown_free(m);
}

/* A table whose rows are short and whose head is long would be as large as its square. */
static void
wide_table(void **state)
{
	struct tb_buf b = TB_BUF(1u << 20);
	struct mdown *m = mdown_new(0);

	(void)state;
	for (size_t i = 0; i < 2500; i++)
		tb_buf_str(&b, "|x");
	tb_buf_str(&b, "|\n");
	for (size_t i = 0; i < 2500; i++)
		tb_buf_str(&b, "|---");
	tb_buf_str(&b, "|\n");
	for (size_t i = 0; i < 8000; i++)
		tb_buf_str(&b, "x\n");
	mdown_add(m, b.p, b.len);
	mdown_lay(m, 80);
	assert_true(mdown_rows(m) < 40000);
	assert_true(mdown_rows(m) > 7000);
	mdown_free(m);
	tb_buf_free(&b);
}

static void
codes(void **state)
{
	static const char text[] = "Do\n\n```sh\nls -l\n\tcd\n```\n\n1. or\n   ```\n   pwd\n   ```\n\n~~~\nlast";
	static const char *const want[] = { "ls -l\n\tcd\n", "pwd\n", "last" };

	(void)state;
	for (size_t step = 1; step < sizeof(text); step += 5) {
		struct mdown *m = mdown_new(MDOWN_UTF8);
		size_t n;

		for (size_t at = 0; at < strlen(text); at += step) {
			mdown_add(m, text + at, strlen(text) - at < step ? strlen(text) - at : step);
			mdown_lay(m, 30);
		}
		assert_int_equal(mdown_codes(m), 3);
		for (size_t i = 0; i < 3; i++) {
			const char *code = mdown_code(m, i, &n);

			assert_int_equal(n, strlen(want[i]));
			assert_memory_equal(code, want[i], n);
		}
		mdown_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features), cmocka_unit_test(pieces), cmocka_unit_test(widths),
		cmocka_unit_test(hostile), cmocka_unit_test(work), cmocka_unit_test(tokens),
		cmocka_unit_test(wide_table), cmocka_unit_test(codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
