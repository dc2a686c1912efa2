#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/buf.h"
#include "src/format/dtype.h"
#include "src/format/json.h"

#define REFUSED(text, part) refused(text, sizeof(text) - 1, part)

static void
refused(const char *text, size_t len, const char *part)
{
	struct tb_err err = { 0 };
	cJSON *v;

	assert_int_equal(json_parse(&v, text, len, "doc", &err), TB_EFORMAT);
	assert_null(v);
	assert_non_null(strstr(err.msg, "doc: "));
	if (!strstr(err.msg, part))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, part);
}

static cJSON *
parsed(const char *text)
{
	struct tb_err err = { 0 };
	cJSON *v;

	if (json_parse(&v, text, strlen(text), "doc", &err))
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void
test_refusals(void **state)
{
	(void)state;
	REFUSED("", "too early");
	REFUSED("{", "too early");
	REFUSED("[1", "too early");
	REFUSED("{\"a\":1,}", "key");
	REFUSED("[1,]", "not a value");
	REFUSED("[1 2]", "','");
	REFUSED("{\"a\" 1}", "':'");
	REFUSED("{a:1}", "key");
	REFUSED("{} x", "text after the end");
	REFUSED("{}\0", "text after the end");
	REFUSED("[1}", "']'");
	REFUSED("[01]", "','");
	REFUSED("[1.]", "bad number");
	REFUSED("[.5]", "not a value");
	REFUSED("[+1]", "not a value");
	REFUSED("[1e]", "bad number");
	REFUSED("[-]", "bad number");
	REFUSED("[NaN]", "not a value");
	REFUSED("[tru]", "not a value");
	REFUSED("[1111111111222222222233333333334444444444555555555566666666667777]", "digits");
	REFUSED("\"a\\u0000b\"", "NUL");
	REFUSED("\"a\0b\"", "control");
	REFUSED("\"a\nb\"", "control");
	REFUSED("\"a\\q\"", "escape");
	REFUSED("\"a\\\0\"", "escape");
	REFUSED("\"\\u12g4\"", "escape");
	REFUSED("\"\\ud800\"", "surrogate");
	REFUSED("\"\\ud800\\u0041\"", "surrogate");
	REFUSED("\"\\udc00\"", "surrogate");
	REFUSED("\"abc", "without an end");
	REFUSED("\"\xff\"", "UTF-8");
	REFUSED("\"\xc0\x80\"", "UTF-8");
	REFUSED("\xef\xbb\xbf{}", "not a value");
	REFUSED("{\"a\":1,\"b\":2,\"a\":3}", "\"a\" is there twice");
	REFUSED("[{\"x\":{\"a\":1,\"\\u0061\":2}}]", "\"a\" is there twice");
}

static void
test_depth(void **state)
{
	char text[600];

	(void)state;
	memset(text, '[', 300);
	memset(text + 300, ']', 300);
	refused(text, 600, "nested");
	text[600 - 172] = 0;
	json_free(parsed(text + 172));	/* 128 deep */
}

static void
test_values(void **state)
{
	cJSON *v = parsed(" {\"s\":\"a\\u00e9\\ud83d\\ude00\\n\",\"t\":true,\"n\":null,"
			  "\"o\":{\"p\":{\"q\":[1,2,3]}},\"f\":-1.5e3,\"huge\":1e999}\n");
	double x;
	bool b;

	(void)state;
	assert_string_equal(json_str(json_get(v, "s")), "a\xc3\xa9\xf0\x9f\x98\x80\n");
	assert_null(json_get(v, "S"));
	assert_true(json_bool(json_get(v, "t"), &b) && b);
	assert_true(json_is_null(json_get(v, "n")));
	assert_int_equal(json_count(json_path(v, "o.p.q")), 3);
	assert_null(json_path(v, "o.p.qq"));
	assert_null(json_path(v, "o.p.q.r"));
	assert_true(json_f64(json_get(v, "f"), &x) && x == -1500);
	assert_false(json_f64(json_get(v, "huge"), &x));
	assert_null(json_str(json_get(NULL, "a")));
	assert_string_equal(json_key(json_first(v)), "s");
	json_free(v);
}

static void
test_integers(void **state)
{
	static const char *const good[] = { "0", "-0", "9007199254740992", "4503599627370497" };
	static const char *const bad[] = { "1.0", "1e3", "-1", "9007199254740993", "1.5",
		"0.99999999999999999999", "18446744073709551616", "true", "\"1\"", "[1]" };
	struct tb_buf b = TB_BUF(4096);
	const cJSON *e;
	uint64_t n;
	cJSON *v;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tb_buf_printf(&b, "%s%s,%s", i ? "," : "[", bad[i], good[i % 4]);
	tb_buf_chr(&b, ']');
	v = parsed(tb_buf_cstr(&b));
	e = json_first(v);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (json_u64(e, &n))
			fail_msg("%s taken for an integer", bad[i]);
		e = json_next(e);
		assert_true(json_u64(e, &n));
		assert_int_equal(n, strtoull(good[i % 4], NULL, 10));
		e = json_next(e);
	}
	assert_null(e);
	json_free(v);
	tb_buf_free(&b);
}

/* A quadratic check of 200,000 keys would take minutes. */
static void
test_many_keys(void **state)
{
	struct tb_buf b = TB_BUF(16 << 20);
	cJSON *v;

	(void)state;
	for (int i = 0; i < 200000; i++)
		tb_buf_printf(&b, "%s\"key%d\":%d", i ? "," : "{", i, i);
	tb_buf_chr(&b, '}');
	v = parsed(tb_buf_cstr(&b));
	assert_int_equal(json_count(v), 200000);
	json_free(v);
	b.len--;
	tb_buf_str(&b, ",\"key77777\":0}");
	refused(tb_buf_cstr(&b), b.len, "key77777");
	tb_buf_free(&b);
}

static void
test_writing(void **state)
{
	cJSON *v = json_object(), *a = json_array();
	char *text;

	(void)state;
	json_set_u64(v, "max", UINT64_MAX);
	json_set_i64(v, "min", INT64_MIN);
	json_set_f64(v, "minus", -0.0);
	json_set_f64(v, "tenth", 0.1);
	json_set_f64(v, "third", 1.0 / 3);
	json_set_f64(v, "nan", 0.0 / 0.0);
	json_set_f64(v, "inf", -1e308 * 10);
	json_set_str(v, "bad", "a\xff\x01\"\\b");
	json_set_str(v, "acts", "\x7f\xc2\x9b" "31m\xe2\x80\xae\xc3\xa9");
	json_set_str(v, "none", NULL);
	json_set_bool(v, "yes", true);
	json_push_u64(a, 1);
	json_push_str(a, "x");
	json_push_f64(a, 1e300);
	json_push(a, json_array());
	json_set(v, "k\xfe", a);
	text = json_print(v);
	assert_string_equal(text, "{\"max\":18446744073709551615,\"min\":-9223372036854775808,"
		"\"minus\":-0.0,\"tenth\":0.1,\"third\":0.3333333333333333,\"nan\":null,\"inf\":null,"
		"\"bad\":\"a\xef\xbf\xbd\\u0001\\\"\\\\b\","
		"\"acts\":\"\\u007f\\u009b31m\\u202e\xc3\xa9\",\"none\":null,\"yes\":true,"
		"\"k\xef\xbf\xbd\":[1,\"x\",1e+300,[]]}");
	free(text);
	json_free(v);
}

static void
test_pretty_and_back(void **state)
{
	cJSON *v = parsed("{\"a\":[1,2.5,{}],\"b\":{\"c\":9007199254740992}}");
	char *text = json_print_pretty(v);

	(void)state;
	assert_string_equal(text, "{\n  \"a\": [\n    1,\n    2.5,\n    {}\n  ],\n"
				  "  \"b\": {\n    \"c\": 9007199254740992\n  }\n}");
	free(text);
	json_free(v);
}

static void
test_broken_tree(void **state)
{
	cJSON *v = json_object(), *inner = json_object();

	(void)state;
	json_set(inner, "x", NULL);	/* what a failed allocation looks like */
	json_set(v, "inner", inner);
	assert_null(json_print(v));
	assert_null(json_print(NULL));
	json_free(v);
}

static void
test_dtypes(void **state)
{
	static const struct { enum dtype d; uint8_t bytes[16]; float want[4]; size_t n; } rows[] = {
		{ DT_BOOL, { 0, 1 }, { 0, 1 }, 2 },
		{ DT_I8, { 0xff, 0x80 }, { -1, -128 }, 2 },
		{ DT_U16, { 0xff, 0xff }, { 65535 }, 1 },
		{ DT_I32, { 0xfe, 0xff, 0xff, 0xff }, { -2 }, 1 },
		{ DT_F64, { 0, 0, 0, 0, 0, 0, 0xf8, 0x3f }, { 1.5f }, 1 },
		{ DT_C64, { 0, 0, 0x80, 0x3f, 9, 9, 9, 9, 0, 0, 0, 0x40 }, { 1, 2 }, 2 },
		{ DT_F16, { 0x00, 0x3c, 0x01, 0x00 }, { 1, 0x1p-24f }, 2 },
		{ DT_BF16, { 0x80, 0x3f }, { 1 }, 1 },
		{ DT_F8_E4M3, { 0x38, 0x7e, 0x01, 0xb8 }, { 1, 448, 0x1p-9f, -1 }, 4 },
		{ DT_F8_E5M2, { 0x3c, 0x7b, 0x01 }, { 1, 57344, 0x1p-16f }, 3 },
		{ DT_F8_E4M3FNUZ, { 0x40, 0x7f }, { 1, 240 }, 2 },
		{ DT_F8_E5M2FNUZ, { 0x40, 0x7f }, { 1, 57344 }, 2 },
		{ DT_F8_E8M0, { 127, 0, 254 }, { 1, 0x1p-127f, 0x1p127f }, 3 },
		{ DT_F4, { 0x71, 0xf2 }, { .5f, 6, 1, -6 }, 4 },
		/* codes 8 (1), 31 (7.5), 1 (1/8), 32 (-0): 6 bits each, low bits first */
		{ DT_F6_E2M3, { 0xc8, 0x17, 0x80 }, { 1, 7.5f, .125f, 0 }, 4 },
		/* codes 12 (1), 31 (28), 1 (1/16), 63 (-28) */
		{ DT_F6_E3M2, { 0xcc, 0x17, 0xfc }, { 1, 28, .0625f, -28 }, 4 },
	};
	uint8_t shifted[24];
	float out[4];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		memcpy(shifted + 1, rows[i].bytes, 16);
		dtype_to_f32(rows[i].d, shifted + 1, rows[i].n, out);
		for (size_t j = 0; j < rows[i].n; j++)
			if (out[j] != rows[i].want[j])
				fail_msg("%s[%zu]: %a", dtype_name(rows[i].d), j, (double)out[j]);
	}
}

static void
test_dtype_table(void **state)
{
	enum dtype d;
	uint64_t n;

	(void)state;
	for (enum dtype i = 0; i < DT_COUNT; i++)
		assert_true(dtype_parse(dtype_name(i), &d) && d == i);
	assert_false(dtype_parse("f32", &d));
	assert_false(dtype_parse("", &d));
	assert_true(dtype_bytes(DT_F4, 6, &n) && n == 3);
	assert_false(dtype_bytes(DT_F4, 5, &n));
	assert_true(dtype_bytes(DT_F6_E2M3, 4, &n) && n == 3);
	assert_false(dtype_bytes(DT_F6_E2M3, 2, &n));
	assert_false(dtype_bytes(DT_F64, UINT64_MAX / 8, &n));
	assert_true(dtype_bytes(DT_F64, 0, &n) && n == 0);
}

/* Python's json writes what JSON has not; only outside of strings, only such words. */
static void
test_python(void **state)
{
	static const char text[] = "{\"a\":[0.0,Infinity,-Infinity],\"b\":NaN,"
				   "\"c\":\"Infinity \\\" NaN\"}";
	static const char *const bad[] = { "{\"a\":Infinite}", "[nan]", "[NaN", "[NaN1]", "", "[--Infinity]" };
	struct tb_err err = { 0 };
	char *printed;
	cJSON *v;

	(void)state;
	REFUSED("{\"a\":Infinity}", "not a value");
	assert_int_equal(json_parse_python(&v, text, strlen(text), "doc", &err), TB_OK);
	assert_int_equal(err.code, TB_OK);
	assert_int_equal(json_count(json_get(v, "a")), 3);
	assert_true(json_is_null(json_next(json_first(json_get(v, "a")))));
	assert_true(json_is_null(json_get(v, "b")));
	assert_string_equal(json_str(json_get(v, "c")), "Infinity \" NaN");
	json_free(v);
	assert_int_equal(json_parse_again(&v, text, strlen(text), "doc", &err), TB_OK);
	assert_false(json_is_null(json_get(v, "b")) || json_is_number(json_get(v, "b")));
	printed = json_print(v);
	assert_string_equal(printed, "{\"a\":[0,Infinity,-Infinity],\"b\":NaN,"
				     "\"c\":\"Infinity \\\" NaN\"}");
	free(printed);
	json_free(v);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(json_parse_python(&v, bad[i], strlen(bad[i]), "doc", &err),
				 TB_EFORMAT);
}

/* Files that have to equal Ollama's depend on each digit. */
static void
test_go(void **state)
{
	static const struct { double x; const char *text; } rows[] = {
		{ 0, "0" }, { -0.0, "-0" }, { 1, "1" }, { -2.5, "-2.5" }, { 0.05, "0.05" },
		{ 0.7, "0.7" }, { 1e-6, "0.000001" }, { 9.5e-7, "9.5e-7" }, { 1e-10, "1e-10" },
		{ 1e20, "100000000000000000000" }, { 1e21, "1e+21" }, { 1.25e30, "1.25e+30" },
		{ 123456.789, "123456.789" }, { 0x1p53, "9007199254740992" },
		{ 0.1 + 0.2, "0.30000000000000004" }, { 5e-324, "5e-324" },
	};
	static const char doc[] = "{\"b\":[1.50,true,null,\"<&>\"],\"a\":{\"x\":1e2}}";
	struct tb_buf out = TB_BUF(1000);
	cJSON *v;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		tb_buf_clear(&out);
		json_number_go(&out, rows[i].x);
		assert_string_equal(tb_buf_cstr(&out), rows[i].text);
	}
	v = parsed(doc);
	tb_buf_clear(&out);
	json_put_go(&out, v);
	assert_string_equal(out.p, "{\"b\":[1.5,true,null,\"\\u003c\\u0026\\u003e\"],\"a\":{\"x\":100}}");
	json_free(v);
	tb_buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_writing),
		cmocka_unit_test(test_pretty_and_back),
		cmocka_unit_test(test_broken_tree),
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_dtype_table),
		cmocka_unit_test(test_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
