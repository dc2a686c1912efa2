/* What the screens are made of besides lists: plots, pagers, words. */
#include "config.h"

#include "tests/unit/unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/plot.h"
#include "ui/theme.h"

static int
utf8(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return -1;
	theme_locale();
	return 0;
}

static int
ascii(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "C"))
		return -1;
	theme_locale();
	return 0;
}

static const char *
plot(const uint64_t *count, size_t n, int cols, int rows, int row, bool log_scale)
{
	static char out[4096];
	struct tb_buf b = TB_BUF(sizeof(out) - 1);

	plot_row(&b, count, n, cols, rows, row, log_scale);
	snprintf(out, sizeof(out), "%s", tb_buf_cstr(&b));
	tb_buf_free(&b);
	return out;
}

static void
test_plot(void **state)
{
	const uint64_t c[] = { 0, 8, 4, 1 };

	(void)state;
	assert_int_equal(plot_cols(4, 10), 2);
	assert_string_equal(plot(c, 4, 10, 2, 0, false), "⢸ ");
	assert_string_equal(plot(c, 4, 10, 2, 1, false), "⢸⣇");
	/* three of the four in one column of dots: sums, and the widest stays inside */
	for (int cols = 1; cols < 12; cols++)
		for (int n = 0; n <= 4; n++)
			assert_true(plot_cols((size_t)n, cols) <= cols);
	assert_string_equal(plot(c, 0, 10, 2, 1, false), "");
}

/* Next to a very large count a small one still shows, in each scale. */
static void
test_plot_small(void **state)
{
	const uint64_t c[] = { UINT64_C(1) << 60, 0, 1, 0 };

	(void)state;
	assert_string_equal(plot(c, 4, 4, 3, 2, false), "⡇⡀");
	assert_string_equal(plot(c, 4, 4, 3, 0, false), "⡇ ");
	assert_string_equal(plot(c, 4, 4, 3, 2, true), "⡇⡀");
}

static void
test_plot_ascii(void **state)
{
	const uint64_t c[] = { 1, 2, 3, 4, 0, 0 };

	(void)state;
	for (const char *s = plot(c, 6, 10, 1, 0, false); *s; s++)
		assert_true((unsigned char)*s < 0x80);
}

static void
test_words(void **state)
{
	const uint64_t dim[] = { 4096, 128, 2 };
	char out[WORD_MAX];

	(void)state;
	assert_string_equal(word_count(0, "model", out), "0 models");
	assert_string_equal(word_count(1, "model", out), "1 model");
	assert_string_equal(word_count(1234567, "model", out), "1,234,567 models");
	assert_string_equal(word_count(UINT64_MAX, "b", out), "18,446,744,073,709,551,615 bs");
	assert_string_equal(word_shape(dim, 3, "×", out), "4096×128×2");
	assert_string_equal(word_shape(dim, 0, "×", out), "scalar");
	assert_string_equal(word_percent(0, 0, out), "0.0%");
	assert_string_equal(word_percent(1, 1000000, out), "<0.1%");
	assert_string_equal(word_percent(1, 3, out), "33.3%");
	assert_string_equal(word_number(0, out), "0");
	assert_string_equal(word_number(-0.0123, out), "-0.0123");
	assert_string_equal(word_number(1234.56, out), "1234.6");
	assert_string_equal(word_number(NAN, out), "nan");
	assert_string_equal(word_number(-INFINITY, out), "-inf");
}

/* Whatever the number, it fits the nine columns that a table gives it. */
static void
test_numbers_fit(void **state)
{
	char out[WORD_MAX];

	(void)state;
	for (int e = -300; e <= 300; e++)
		for (int s = -1; s <= 1; s += 2) {
			double x = s * 9.99999 * pow(10, e);

			if (tb_width(word_number(x, out)) > (abs(e) >= 99 ? 10 : 9))
				fail_msg("%s", out);
		}
}

static void
test_ages(void **state)
{
	const int64_t now = INT64_C(1700000000) * 1000000000, s = 1000000000;
	char out[WORD_MAX];

	(void)state;
	assert_int_equal(setenv("TBTUI_NOW", "1700000000", 1), 0);
	assert_int_equal(setenv("TZ", "UTC0", 1), 0);
	assert_string_equal(word_age(now, out), "now");
	assert_string_equal(word_age(now - 61 * s, out), "1 min ago");
	assert_string_equal(word_age(now - 7200 * s, out), "2 h ago");
	assert_string_equal(word_age(now - 5 * 86400 * s, out), "5 d ago");
	assert_string_equal(word_age(now - 100 * 86400 * s, out), "Aug 06");
	assert_string_equal(word_age(now - 400 * 86400 * s, out), "2022-10-10");
	assert_string_equal(word_age(now + 86400 * s, out), "2023-11-15");	/* a wrong clock */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plot, utf8),
		cmocka_unit_test_setup(test_plot_small, utf8),
		cmocka_unit_test_setup(test_plot_ascii, ascii),
		cmocka_unit_test_setup(test_words, utf8),
		cmocka_unit_test_setup(test_numbers_fit, utf8),
		cmocka_unit_test_setup(test_ages, utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
