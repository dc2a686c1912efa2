#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/format/safetensors.h"

static void
same(const struct st_header *a, const struct st_header *b)
{
	assert_int_equal(a->ntensors, b->ntensors);
	assert_int_equal(a->nmeta, b->nmeta);
	for (size_t i = 0; i < a->ntensors; i++) {
		const struct st_tensor *x = &a->tensors[i], *y = &b->tensors[i];

		assert_string_equal(x->name, y->name);
		assert_int_equal(x->dtype, y->dtype);
		assert_int_equal(x->ndim, y->ndim);
		assert_memory_equal(x->dim, y->dim, sizeof(x->dim));
		assert_int_equal(x->off - a->data_off, y->off - b->data_off);
		assert_int_equal(x->len, y->len);
	}
	for (size_t i = 0; i < a->nmeta; i++) {
		assert_string_equal(a->meta[i].key, b->meta[i].key);
		assert_string_equal(a->meta[i].value, b->meta[i].value);
	}
}

/* With an escape in it a header is read by way of a tree: the same must come out as of the
 * quick way. */
static void
both_ways(const char *json, uint64_t data_len, enum tb_status status, const struct st_header *h)
{
	struct tb_buf twin = TB_BUF(1 << 20);
	struct st_header t;
	enum tb_status other;

	for (const char *p = json; *p; )
		if (!strncmp(p, "\"dtype\"", 7)) {
			tb_buf_str(&twin, "\"\\u0064type\"");
			p += 7;
		} else {
			tb_buf_chr(&twin, *p++);
		}
	other = st_parse(&t, tb_buf_cstr(&twin), twin.len, data_len, "FILE", NULL);
	assert_int_equal(other, status);
	if (!status) {
		same(h, &t);
		st_free(&t);
	}
	tb_buf_free(&twin);
}

static enum tb_status
parse(struct st_header *h, const char *json, uint64_t data_len, struct tb_err *err)
{
	enum tb_status status;

	*err = (struct tb_err){ 0 };
	status = st_parse(h, json, strlen(json), data_len, "FILE", err);
	both_ways(json, data_len, status, h);
	return status;
}

static const struct { const char *json; uint64_t data; const char *part; } refusals[] = {
	{ "", 0, "no safetensors header" },
	{ " {}", 0, "no safetensors header" },
	{ "[]", 0, "no safetensors header" },
	{ "{}", 1, "1 bytes at 10 belong to no tensor" },
	{ "{\"__metadata__\":{\"format\":\"pt\"}}", 3, "3 bytes at" },
	{ "{} x", 0, "not JSON" },
	{ "{\"a\":1}", 0, "tensor a: is not described" },
	{ "{\"a\":{}}", 0, "tensor a: has no dtype" },
	{ "{\"a\":{\"dtype\":1}}", 0, "has no dtype" },
	{ "{\"a\":{\"dtype\":\"f32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "unknown dtype \"f32\"" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "two exact integers" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 4, "two exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4,4]}}", 4, "two exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4.0]}}", 4, "two exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[-4,0]}}", 4, "two exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,\"4\"]}}", 4, "two exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,9007199254740993]}}", 4, "exact" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,0]}}", 4, "backwards" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 3, "the file at 64" },
	{ "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "has no shape" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "dimension 0" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,-1],\"data_offsets\":[0,4]}}", 4, "dimension 1" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "needs 8 bytes" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4294967296],"
	  "\"data_offsets\":[0,0]}}", 0, "overflows" },
	{ "{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,1073741824],"
	  "\"data_offsets\":[0,0]}}", 0, "no whole number of bytes" },
	{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "no whole number" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
	  "more than 8 dimensions" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	  "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3, "tensor b: data at 114 overlaps" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	  "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "overlaps" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3, "hole of 1 bytes" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 5, "3 bytes at" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
	  "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "\"a\" is there twice" },
	{ "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "twice" },
	{ "{\"__metadata__\":[]}", 0, "neither null nor an object" },
	{ "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ a is not a string" },
	{ "{\"__metadata__\":{\"a\":null}}", 0, "is not a string" },
	{ "{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "NUL" },
};

static void
test_refusals(void **state)
{
	struct st_header h;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		enum tb_status s = parse(&h, refusals[i].json, refusals[i].data, &err);

		if ((s != TB_EFORMAT && s != TB_EUNSUP) || !strstr(err.msg, refusals[i].part) ||
		    !strstr(err.msg, "FILE"))
			fail_msg("%s: %d \"%s\", not \"%s\"", refusals[i].json, s, err.msg,
				 refusals[i].part);
		assert_null(h.tensors);
	}
}

static void
test_accepted(void **state)
{
	static const char json[] = "{\"z\":{\"shape\":[],\"data_offsets\":[3,7],\"dtype\":\"F32\"},"
		"\"__metadata__\":{\"b\":\"2\",\"a\":\"1\"},"
		"\"e\":{\"dtype\":\"BF16\",\"shape\":[4,0,9],\"data_offsets\":[3,3],\"more\":{}},"
		"\"f\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[0,3]}}  \n";
	const struct st_tensor *t;
	struct st_header h;
	struct tb_err err;

	(void)state;
	assert_ok(parse(&h, json, 7, &err), err);
	assert_int_equal(h.ntensors, 3);
	assert_string_equal(h.tensors[0].name, "e");
	assert_string_equal(h.tensors[2].name, "z");
	t = st_find(&h, "z");
	assert_int_equal(t->ndim, 0);
	assert_int_equal(t->off, 8 + strlen(json) + 3);
	assert_int_equal(t->len, 4);
	t = st_find(&h, "e");
	assert_true(t->ndim == 3 && t->dim[0] == 4 && t->dim[1] == 0 && t->dim[2] == 9);
	assert_int_equal(t->len, 0);
	assert_null(st_find(&h, "y"));
	assert_string_equal(st_meta_find(&h, "a"), "1");
	assert_string_equal(st_meta_find(&h, "b"), "2");
	assert_null(st_meta_find(&h, "c"));
	st_free(&h);
	assert_ok(parse(&h, "{\"__metadata__\":{\"a.b.c\":\"1\",\"a.b\":\"2\",\"a\":\"3\",\"ab.c\":\"4\"}}", 0,
			&err), err);
	assert_string_equal(st_meta_of(&h, "a.b", ".c"), "1");
	assert_string_equal(st_meta_of(&h, "a", ".b.c"), "1");
	assert_string_equal(st_meta_of(&h, "a", ".b"), "2");
	assert_string_equal(st_meta_of(&h, "", "a"), "3");
	assert_string_equal(st_meta_of(&h, "ab", ".c"), "4");
	assert_null(st_meta_of(&h, "a", ".c"));
	assert_null(st_meta_of(&h, "a.b.c", ".d"));
	assert_null(st_meta_of(&h, "ab", ""));
	st_free(&h);
	assert_ok(parse(&h, "{\"__metadata__\":null}", 0, &err), err);
	assert_int_equal(h.ntensors + h.nmeta, 0);
	assert_null(st_find(&h, "a"));
	assert_null(st_meta_find(&h, "a"));
	st_free(&h);
	assert_ok(parse(&h, "{}", 0, &err), err);
	st_free(&h);
}

static void
test_every_dtype(void **state)
{
	char json[256];
	struct st_header h;
	struct tb_err err;

	(void)state;
	for (enum dtype d = 0; d < DT_COUNT; d++) {
		snprintf(json, sizeof(json), "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,4],"
			 "\"data_offsets\":[0,%u]}}", dtype_name(d), dtype_bits(d));
		assert_ok(parse(&h, json, dtype_bits(d), &err), err);
		assert_int_equal(h.tensors[0].dtype, d);
		st_free(&h);
	}
}

static void
refuse_file(const char *name, const void *data, size_t len, const char *part)
{
	const char *path = unit_write(name, data, len);
	struct tb_err err = { 0 };
	struct st_header h;
	struct tb_file f;

	assert_ok(tb_file_open(&f, path, &err), err);
	assert_fails(st_read(&h, &f, &err), err, TB_EFORMAT, part);
	assert_non_null(strstr(err.msg, path));
	tb_file_close(&f);
}

static void
test_file_lengths(void **state)
{
	(void)state;
	refuse_file("empty", "", 0, "0 bytes are no safetensors");
	refuse_file("short", "\2\0\0\0\0\0\0", 7, "7 bytes are no safetensors");
	refuse_file("zero", "\0\0\0\0\0\0\0\0", 8, "no safetensors header");
	refuse_file("cut", "\3\0\0\0\0\0\0\0{}", 10, "header of 3 bytes in a file of 10");
	refuse_file("cap", "\1\xe1\xf5\5\0\0\0\0{}", 10, "100000001 bytes, at most 100000000");
	refuse_file("huge", "\377\377\377\377\377\377\377\377{}", 10, "at most");
	refuse_file("gguf", "GGUF\3\0\0\0\0\0\0\0", 12, "header of");
}

/* A header that does not fit the first read of a file. */
static void
test_large_header(void **state)
{
	struct st_tensor *t = calloc(3000, sizeof(*t));
	struct tb_buf b = TB_BUF(64 << 20);
	struct tb_err err = { 0 };
	char names[3000][16];
	struct st_header h;
	struct tb_file f;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		t[i] = (struct st_tensor){ .name = names[i], .dtype = DT_U8, .ndim = 1, .dim = { 3 } };
	}
	assert_ok(st_layout(t, 3000, NULL, 0, &b, &err), err);
	assert_true(b.len > 128 << 10);
	for (int i = 0; i < 3000; i++)
		tb_buf_add(&b, "abc", 3);
	assert_ok(tb_file_open(&f, unit_write("large", b.p, b.len), &err), err);
	assert_ok(st_read(&h, &f, &err), err);
	assert_int_equal(h.ntensors, 3000);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(st_find(&h, names[i])->off, t[i].off);
	st_free(&h);
	tb_file_close(&f);
	tb_buf_free(&b);
	free(t);
}

/* What Ollama's byte writer makes of it: spec ollama.md 1.2. */
static void
test_layout(void **state)
{
	struct st_tensor t[] = {
		{ .name = "b<&>\n\x7f", .dtype = DT_BF16, .ndim = 2, .dim = { 2, 3 } },
		{ .name = "Upper", .dtype = DT_F32 },
		{ .name = "a", .dtype = DT_U8, .ndim = 1, .dim = { 0 } },
	};
	const struct st_meta meta[] = { { "quant_type", "int4" }, { "group_size", "64" } };
	static const char want[] = "{\"Upper\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]},"
		"\"__metadata__\":{\"group_size\":\"64\",\"quant_type\":\"int4\"},"
		"\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[16,16]},"
		"\"b\\u003c\\u0026\\u003e\\n\x7f\":{\"dtype\":\"BF16\",\"shape\":[2,3],"
		"\"data_offsets\":[0,12]}}";
	size_t len = (strlen(want) + 7) / 8 * 8;
	struct tb_buf b = TB_BUF(4096);
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(st_layout(t, 3, meta, 2, &b, &err), err);
	assert_int_equal(b.len, 8 + len);
	assert_int_equal((unsigned char)b.p[0] | (unsigned char)b.p[1] << 8, len);
	assert_memory_equal(b.p + 8, want, strlen(want));
	for (size_t i = strlen(want); i < len; i++)
		assert_int_equal(b.p[8 + i], ' ');
	assert_int_equal(t[0].off, 8 + len);
	assert_int_equal(t[1].off, 8 + len + 12);
	tb_buf_free(&b);
}

static void
test_layout_refusals(void **state)
{
	struct st_tensor twice[] = { { .name = "a" }, { .name = "a" } };
	struct st_tensor big = { .name = "a", .dtype = DT_U8, .ndim = 2,
				 .dim = { UINT64_MAX, 2 } };
	struct st_tensor meta = { .name = "__metadata__" };
	const struct st_meta pair[] = { { "k", "1" }, { "k", "2" } };
	struct tb_buf b = TB_BUF(4096);
	struct tb_err err = { 0 };

	(void)state;
	assert_fails(st_layout(twice, 2, NULL, 0, &b, &err), err, TB_EFORMAT, "twice");
	assert_fails(st_layout(&big, 1, NULL, 0, &b, &err), err, TB_EFORMAT, "does not fit");
	assert_fails(st_layout(&meta, 1, NULL, 0, &b, &err), err, TB_EFORMAT, "not a name");
	assert_fails(st_layout(twice, 1, pair, 2, &b, &err), err, TB_EFORMAT, "twice");
	assert_int_equal(b.len, 0);
	tb_buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_every_dtype),
		cmocka_unit_test(test_file_lengths),
		cmocka_unit_test(test_large_header),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_layout_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
