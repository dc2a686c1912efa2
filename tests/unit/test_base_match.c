#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/text.h"

static void
globs(void **state)
{
	static const struct { const char *pattern, *s; bool hit; } rows[] = {
		{ "", "", true }, { "", "a", false }, { "*", "", true }, { "*", "abc", true },
		{ "a*c", "abbbc", true }, { "a*c", "abbbd", false }, { "*.weight", "x.weight", true },
		{ "*.weight", "x.weight2", false }, { "*layers.?.*", "model.layers.3.x", true },
		{ "*layers.?.*", "model.layers.13.x", false }, { "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false }, { "[!a-c]x", "dx", true }, { "[^a]", "a", false },
		{ "[]a]", "]", true }, { "[!]a]", "]", false }, { "[a-]", "-", true },
		{ "[[]", "[", true }, { "[", "[", true }, { "a[b", "a[b", true }, { "[ab", "a", false },
		{ "*[0-9]", "layer7", true }, { "*[0-9]", "layer", false },
		{ "?", "é", true }, { "??", "é", false }, { "*?", "é", true }, { "*??", "é", false },
		{ "[à-ü]", "é", true }, { "[!a]", "模", true }, { "模*层", "模型层", true },
		{ "?", "", false }, { "a", "A", false }, { "**a**", "bab", true },
		{ "a*b*c", "aXbXbXc", true }, { "*a*b", "ab", true }, { "a?", "a", false },
		{ "\xff", "\xfe", false }, { "\xff", "\xff", true }, { "?", "\xff", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (tb_glob(rows[i].pattern, rows[i].s) != rows[i].hit)
			fail_msg("\"%s\" and \"%s\"", rows[i].pattern, rows[i].s);
}

/* A pattern made to blow up a matcher that goes back to every star. */
static void
globs_stay_quick(void **state)
{
	enum { N = 20000 };
	char *s = malloc(N + 1), pattern[200] = "";
	double began = tb_monotonic();

	(void)state;
	memset(s, 'a', N);
	s[N] = 0;
	for (size_t i = 0; i + 4 < sizeof(pattern); i += 4)
		memcpy(pattern + i, "*a?a", 5);
	memcpy(pattern + strlen(pattern), "*b", 3);
	assert_false(tb_glob(pattern, s));
	assert_false(tb_glob("*????????????????????????????????????????b", s));
	assert_true(tb_monotonic() - began < 5);
	free(s);
}

static void
natural_order(void **state)
{
	static const char *const sorted[] = {
		"", "1", "2", "10", "a", "a01", "a1", "a1b", "a2", "a10", "a10.b2", "a10.b10",
		"a18446744073709551616", "a18446744073709551617", "b",
	};
	size_t n = sizeof(sorted) / sizeof(*sorted);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			int d = tb_natural_cmp(sorted[i], sorted[k]);
			char a[64], b[64];

			tb_natural_key(sorted[i], a);
			tb_natural_key(sorted[k], b);
			if (strcmp(a, b) && (strcmp(a, b) < 0) != (i < k))
				fail_msg("keys of \"%s\" and \"%s\"", sorted[i], sorted[k]);
			if (!strcmp(a, b) && i != k && strncmp(sorted[i], "a01", 3) &&
			    strncmp(sorted[k], "a01", 3))
				fail_msg("\"%s\" and \"%s\" have one key", sorted[i], sorted[k]);
			if ((d < 0) != (i < k) || (d > 0) != (i > k))
				fail_msg("\"%s\" and \"%s\": %d", sorted[i], sorted[k], d);
		}
}

static void
small_questions(void **state)
{
	uint64_t n;

	(void)state;
	assert_true(tb_contains("Llama-3", "LLAMA") && tb_contains("x", "") && tb_contains("ab", "B"));
	assert_false(tb_contains("", "x") || tb_contains("ab", "abc"));
	assert_true(tb_parse_u64("18446744073709551615", &n) && n == UINT64_MAX);
	assert_true(tb_parse_u64("007", &n) && n == 7);
	assert_false(tb_parse_u64("18446744073709551616", &n) || tb_parse_u64("", &n) ||
		     tb_parse_u64("-1", &n) || tb_parse_u64("1 ", &n) || tb_parse_u64("+1", &n) ||
		     tb_parse_u64("0x1", &n));
	assert_true(tb_parse_bytes("123456", &n) && n == 123456);
	assert_true(tb_parse_bytes("3.5GB", &n) && n == 3500000000);
	assert_true(tb_parse_bytes("900 MiB", &n) && n == 900u << 20);
	assert_true(tb_parse_bytes("4k", &n) && n == 4000);
	assert_true(tb_parse_bytes("7 b", &n) && n == 7);
	assert_true(tb_parse_bytes("2tIb", &n) && n == 2ull << 40);
	assert_false(tb_parse_bytes("", &n) || tb_parse_bytes("0", &n) || tb_parse_bytes("0.4", &n) ||
		     tb_parse_bytes("-3GB", &n) || tb_parse_bytes("4Mi", &n) ||
		     tb_parse_bytes("4GBs", &n) || tb_parse_bytes("1.2.3M", &n) ||
		     tb_parse_bytes("0x10", &n) || tb_parse_bytes("GB", &n) ||
		     tb_parse_bytes("99999999999 TB", &n) || tb_parse_bytes(".", &n));
	assert_true(tb_starts("abc", "ab") && tb_starts("a", "") && !tb_starts("a", "ab"));
	assert_true(tb_ends("abc", "bc") && tb_ends("a", "") && !tb_ends("c", "bc"));
}

static void
numbers_for_people(void **state)
{
	static const struct { uint64_t n; const char *bytes, *count; } rows[] = {
		{ 0, "0 B", "0" }, { 999, "999 B", "999" }, { 1000, "1.0 kB", "1.0K" },
		{ 1949, "1.9 kB", "1.9K" }, { 99949, "99.9 kB", "99.9K" }, { 99999, "100 kB", "100K" },
		{ 999499, "999 kB", "999K" }, { 999500, "1.0 MB", "1.0M" },
		{ 8190000000, "8.2 GB", "8.2B" }, { 46700000000, "46.7 GB", "46.7B" },
		{ UINT64_MAX, "18.4 EB", "18446744T" },
	};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_string_equal(tb_human_bytes(rows[i].n, out), rows[i].bytes);
		assert_string_equal(tb_human_count(rows[i].n, out), rows[i].count);
	}
	assert_string_equal(tb_human_time(0, out), "0:00");
	assert_string_equal(tb_human_time(21.4, out), "0:21");
	assert_string_equal(tb_human_time(3599.6, out), "1:00:00");
	assert_string_equal(tb_human_time(-5, out), "0:00");
	assert_string_equal(tb_human_time(1e300, out), "0:00");
}

static void
clocks(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(tb_time_rfc3339(0, out), "1970-01-01T00:00:00Z");
	assert_string_equal(tb_time_rfc3339(INT64_C(1700000000999999999), out),
			    "2023-11-14T22:13:20Z");
	assert_string_equal(tb_time_rfc3339(-1, out), "1969-12-31T23:59:59Z");
	assert_string_equal(tb_time_rfc3339(INT64_MAX, out), "2262-04-11T23:47:16Z");
	setenv("TBTUI_NOW", "1700000000", 1);
	assert_true(tb_now_ns() == INT64_C(1700000000000000000));
	setenv("TBTUI_NOW", "soon", 1);
	assert_true(tb_now_ns() > INT64_C(1700000000000000000));
	unsetenv("TBTUI_NOW");
	assert_true(tb_monotonic() <= tb_monotonic());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs),
		cmocka_unit_test(globs_stay_quick),
		cmocka_unit_test(natural_order),
		cmocka_unit_test(small_questions),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
