#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/format/gguf_array.h"
#include "tests/unit/gguf_make.h"

static enum tb_status
parse(struct gguf *g, const struct tb_buf *b, struct tb_err *err)
{
	*err = (struct tb_err){ 0 };
	return gguf_parse(g, b->p, b->len, b->len, "FILE", err);
}

/* Takes the buffer. */
static void
refuse(struct tb_buf b, enum tb_status code, const char *part)
{
	struct tb_err err;
	struct gguf g;

	assert_false(tb_buf_failed(&b));
	assert_fails(parse(&g, &b, &err), err, code, part);
	assert_non_null(strstr(err.msg, "FILE: "));
	tb_buf_free(&b);
}

/* ---- what is read ---- */

static const struct { enum gguf_value type; unsigned bytes; } numbers[] = {
	{ GGUF_U8, 1 }, { GGUF_I8, 1 }, { GGUF_U16, 2 }, { GGUF_I16, 2 }, { GGUF_U32, 4 },
	{ GGUF_I32, 4 }, { GGUF_F32, 4 }, { GGUF_BOOL, 1 }, { GGUF_U64, 8 }, { GGUF_I64, 8 },
	{ GGUF_F64, 8 },
};
#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

static void
test_values(void **state)
{
	struct tb_buf b = make_head(0, 2 * NUMBERS);
	struct tb_err err;
	struct gguf g;
	char name[16];
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < NUMBERS; i++) {
		make_key(&b, gguf_value_name(numbers[i].type), numbers[i].type);
		make_num(&b, 0x8182838485868788u, numbers[i].bytes);
		snprintf(name, sizeof(name), "%s[]", gguf_value_name(numbers[i].type));
		make_key(&b, name, GGUF_ARRAY);
		make_num(&b, numbers[i].type, 4);
		make_num(&b, 3, 8);
		make_pad(&b, 1, (size_t)3 * numbers[i].bytes);
	}
	assert_ok(parse(&g, &b, &err), err);
	assert_int_equal(g.nkv, 2 * NUMBERS);
	for (size_t i = 0; i < NUMBERS; i++) {
		const struct gguf_kv *kv = gguf_find(&g, gguf_value_name(numbers[i].type));
		bool whole = kv->type == GGUF_U8 || kv->type == GGUF_U16 || kv->type == GGUF_U32 ||
			     kv->type == GGUF_U64;

		assert_true(kv && kv->type == numbers[i].type && kv->len == numbers[i].bytes);
		assert_int_equal(kv->bits, 0x8182838485868788u << (64 - 8 * kv->len) >>
				 (64 - 8 * kv->len));
		assert_int_equal(gguf_u64(kv, &v), whole);	/* the others are negative or none */
		snprintf(name, sizeof(name), "%s[]", gguf_value_name(numbers[i].type));
		kv = gguf_find(&g, name);
		assert_true(kv && kv->type == GGUF_ARRAY && kv->elem == numbers[i].type);
		assert_int_equal(kv->count, 3);
		assert_int_equal(kv->len, 3 * numbers[i].bytes);
		assert_memory_equal(b.p + kv->off, "\1\1\1", 3);
	}
	assert_null(gguf_find(&g, "none"));
	assert_false(gguf_u64(NULL, &v));
	gguf_free(&g);
	tb_buf_free(&b);
}

static void
test_strings(void **state)
{
	struct tb_buf b = make_head(0, 3);
	struct tb_err err = { 0 };
	const struct gguf_kv *kv;
	struct tb_file f;
	struct gguf g;
	char *s;

	(void)state;
	make_key(&b, "name", GGUF_STRING);
	make_str(&b, "value");
	make_key(&b, "list", GGUF_ARRAY);
	make_num(&b, GGUF_STRING, 4);
	make_num(&b, 3, 8);
	make_str(&b, "one");
	make_str(&b, "");
	make_str(&b, "three");
	make_key(&b, "nul", GGUF_STRING);
	make_num(&b, 3, 8);
	tb_buf_add(&b, "a\0b", 3);
	assert_ok(tb_file_open(&f, unit_write("x.gguf", b.p, b.len), &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	kv = gguf_find(&g, "list");
	assert_true(kv->count == 3 && kv->len == 3 * 8 + 8 && kv->elem == GGUF_STRING);
	assert_memory_equal(b.p + kv->off, "\3\0\0\0\0\0\0\0one", 11);
	assert_fails(gguf_string(kv, &f, 100, &s, &err), err, TB_EFORMAT, "list: is array");
	kv = gguf_find(&g, "name");
	assert_ok(gguf_string(kv, &f, 5, &s, &err), err);
	assert_string_equal(s, "value");
	free(s);
	assert_fails(gguf_string(kv, &f, 4, &s, &err), err, TB_ELIMIT, "5 bytes at offset");
	assert_fails(gguf_string(gguf_find(&g, "nul"), &f, 5, &s, &err), err, TB_EFORMAT, "a NUL");
	gguf_free(&g);
	tb_file_close(&f);
	tb_buf_free(&b);
}

/* Elements one after another, of strings as well as of numbers that are negative. */
static void
test_arrays(void **state)
{
	struct tb_buf b = make_head(0, 3);
	struct tb_err err = { 0 };
	struct gguf_array *a;
	struct gguf_item item;
	struct tb_file f;
	struct gguf g;
	double v;
	uint64_t u;

	(void)state;
	make_key(&b, "words", GGUF_ARRAY);
	make_num(&b, GGUF_STRING, 4);
	make_num(&b, 2, 8);
	make_str(&b, "");
	make_num(&b, 3, 8);
	tb_buf_add(&b, "a\0b", 3);
	make_key(&b, "numbers", GGUF_ARRAY);
	make_num(&b, GGUF_I16, 4);
	make_num(&b, 2, 8);
	make_num(&b, 0xfffe, 2);
	make_num(&b, 7, 2);
	make_key(&b, "one", GGUF_BOOL);
	make_num(&b, 1, 1);
	assert_ok(tb_file_open(&f, unit_write("x.gguf", b.p, b.len), &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	assert_ok(gguf_array_open(&a, gguf_find(&g, "words"), &f, &err), err);
	assert_true(gguf_array_next(a, &item) && item.len == 0 && !*item.s);
	assert_true(gguf_array_next(a, &item) && item.len == 3 && !memcmp(item.s, "a\0b", 4));
	assert_false(gguf_array_next(a, &item));
	assert_ok(gguf_array_close(a), err);
	assert_ok(gguf_array_open(&a, gguf_find(&g, "numbers"), &f, &err), err);
	assert_true(gguf_array_next(a, &item) && !item.s);
	assert_true(gguf_number_f64(GGUF_I16, item.bits, &v) && v == -2.0);
	assert_false(gguf_number_u64(GGUF_I16, item.bits, &u));
	assert_true(gguf_array_next(a, &item) && gguf_number_u64(GGUF_I16, item.bits, &u) && u == 7);
	assert_false(gguf_array_next(a, &item));
	assert_ok(gguf_array_close(a), err);
	assert_fails(gguf_array_open(&a, gguf_find(&g, "one"), &f, &err), err, TB_EFORMAT,
		     "is bool, not an array");
	/* The file is cut while it is open. */
	assert_ok(gguf_array_open(&a, gguf_find(&g, "words"), &f, &err), err);
	assert_int_equal(truncate(unit_path("x.gguf"), 40), 0);
	assert_false(gguf_array_next(a, &item));
	assert_int_equal(gguf_array_close(a), TB_EIO);
	gguf_free(&g);
	tb_file_close(&f);
	tb_buf_free(&b);
}

/* Strings that cross the reader's window, some of them larger than it. */
static void
test_windows(void **state)
{
	static char text[700000];
	struct tb_buf b = { .max = 16 << 20 };
	struct tb_err err = { 0 };
	struct tb_file f;
	struct gguf g;

	(void)state;
	tb_buf_add(&b, "GGUF\2\0\0", 8);
	make_num(&b, 0, 8);
	make_num(&b, 2, 8);
	make_key(&b, "list", GGUF_ARRAY);
	make_num(&b, GGUF_STRING, 4);
	make_num(&b, 200003, 8);
	for (int i = 0; i < 200000; i++)
		make_str(&b, i % 3 ? "abc" : "0123456789");
	for (int i = 0; i < 3; i++) {
		make_num(&b, sizeof(text) - 1 + (size_t)i % 2, 8);
		tb_buf_add(&b, text, sizeof(text) - 1 + (size_t)i % 2);
	}
	make_key(&b, "last", GGUF_U8);
	make_num(&b, 7, 1);
	assert_false(tb_buf_failed(&b));
	assert_ok(tb_file_open(&f, unit_write("big.gguf", b.p, b.len), &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	assert_int_equal(g.version, 2);
	assert_int_equal(gguf_find(&g, "last")->bits, 7);
	assert_int_equal(gguf_find(&g, "last")->off, b.len - 1);
	gguf_free(&g);
	tb_file_close(&f);
	tb_buf_free(&b);
}

static void
test_tensors(void **state)
{
	struct tb_buf b = make_head(3, 1);
	struct tb_err err;
	struct gguf g;

	(void)state;
	make_key(&b, "general.alignment", GGUF_U32);
	make_num(&b, 64, 4);
	make_tensor(&b, "z", 32, 3, GGML_Q4_0, 0);		/* 54 bytes */
	make_tensor(&b, "empty", 0, 5, GGML_F32, 64);
	make_str(&b, "a");					/* a scalar */
	make_num(&b, 0, 4);
	make_num(&b, GGML_F64, 4);
	make_num(&b, 64, 8);
	make_pad(&b, 64, 72);
	assert_ok(parse(&g, &b, &err), err);
	assert_int_equal(g.ntensors, 3);
	assert_string_equal(g.tensors[0].name, "a");
	assert_int_equal(g.tensors[0].ndim, 0);
	assert_int_equal(g.tensors[0].off, g.data_off + 64);
	assert_int_equal(g.tensors[0].len, 8);
	assert_int_equal(g.tensors[1].len, 0);
	assert_string_equal(g.tensors[2].name, "z");
	assert_int_equal(g.tensors[2].len, 54);
	assert_int_equal(g.tensors[2].ne[0], 32);
	assert_int_equal(g.tensors[2].ne[1], 3);
	assert_int_equal(g.tensors[2].ne[2], 1);
	assert_int_equal(g.data_off % 64, 0);
	gguf_free(&g);
	tb_buf_free(&b);
}

/* ---- what is refused ---- */

static void
test_heads(void **state)
{
	static const struct { const char *head; enum tb_status code; const char *part; } t[] = {
		{ "GGUX\3\0\0", TB_EFORMAT, "does not begin with GGUF" },
		{ "GGUF\0\0\0", TB_EUNSUP, "GGUF version 0 at offset 4" },
		{ "GGUF\1\0\0", TB_EUNSUP, "GGUF version 1" },
		{ "GGUF\4\0\0", TB_EUNSUP, "GGUF version 4" },
		{ "GGUF\0\0\0\3", TB_EUNSUP, "big-endian GGUF file (version 3)" },
		{ "GGUF\0\0\0\2", TB_EUNSUP, "big-endian GGUF file (version 2)" },
	};
	struct tb_buf b;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		b = TB_BUF(100);
		tb_buf_add(&b, t[i].head, 8);
		make_pad(&b, 64, 0);
		refuse(b, t[i].code, t[i].part);
	}
	refuse(make_head((uint64_t)-1, 0), TB_EFORMAT, "-1 tensors at offset 8");
	refuse(make_head(1, 0), TB_EFORMAT, "1 tensors at offset 8, in a file of 24");
	refuse(make_head(0, 1), TB_EFORMAT, "1 keys at offset 16");
	b = make_head(0, 1u << 21);
	make_pad(&b, 1, 1 << 19);
	refuse(b, TB_EFORMAT, "2097152 keys");
}

/* A file of one key: `type`, and the value's bytes. */
static struct tb_buf
one_key(unsigned type, const void *value, size_t n)
{
	struct tb_buf b = make_head(0, 1);

	make_key(&b, "k", type);
	tb_buf_add(&b, value, n);
	return b;
}

static void
test_keys(void **state)
{
	struct tb_buf b;

	(void)state;
	refuse(one_key(13, "x", 1), TB_EFORMAT, "key k: unknown type 13 at offset 33");
	refuse(one_key(GGUF_U32, "xyz", 3), TB_EFORMAT, "k: needs 4 bytes at offset 37, the file");
	refuse(one_key(GGUF_STRING, "\0\0\0\0\1\0\0\0", 8), TB_EFORMAT, "k: 4294967296 bytes");
	refuse(one_key(GGUF_STRING, "\1\0\0\0\0\0\0\0", 8), TB_EFORMAT, "k: needs 1 bytes");
	refuse(one_key(GGUF_ARRAY, "\11\0\0\0\1\0\0\0\0\0\0\0", 12), TB_EFORMAT, "array of arrays");
	refuse(one_key(GGUF_ARRAY, "\15\0\0\0\1\0\0\0\0\0\0\0", 12), TB_EFORMAT, "unknown type 13");
	refuse(one_key(GGUF_ARRAY, "\0\0\0\0\1\0\0\100\0\0\0\0", 12), TB_EFORMAT,
	       "k: 1073741825 elements");
	refuse(one_key(GGUF_ARRAY, "\4\0\0\0\1\0\0\0\0\0\0\0abc", 15), TB_EFORMAT, "needs 4 bytes");
	refuse(one_key(GGUF_ARRAY, "\10\0\0\0\1\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377", 20),
	       TB_EFORMAT, "bytes of a string");
	b = make_head(0, 1);
	make_num(&b, 65536, 8);
	make_pad(&b, 1, 100);
	refuse(b, TB_EFORMAT, "key 0 at offset 24 has 65536 bytes");
	b = make_head(0, 1);
	make_num(&b, 2, 8);
	tb_buf_add(&b, "a\0\0\0\0\0\0", 8);
	refuse(b, TB_EFORMAT, "key 0 at offset 24 holds a NUL");
	b = make_head(0, 2);
	make_key(&b, "k", GGUF_U8);
	make_num(&b, 1, 1);
	make_key(&b, "k", GGUF_U8);
	make_num(&b, 1, 1);
	refuse(b, TB_EFORMAT, "key k: is there twice");
}

static void
test_alignment(void **state)
{
	static const struct { unsigned type; uint64_t v; const char *part; } t[] = {
		{ GGUF_U64, 32, "general.alignment: is u64" },
		{ GGUF_U32, 0, "0 at offset 53 is no power" },
		{ GGUF_U32, 24, "24 at offset 53 is no power of two" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct tb_buf b = make_head(0, 1);

		make_key(&b, "general.alignment", t[i].type);
		make_num(&b, t[i].v, t[i].type == GGUF_U64 ? 8 : 4);
		refuse(b, TB_EFORMAT, t[i].part);
	}
}

static void
test_bad_tensors(void **state)
{
	static const struct {
		uint64_t cols, rows, type, off;
		enum tb_status code;
		const char *part;
	} t[] = {
		{ 4, 1, 43, 0, TB_EFORMAT, "tensor t: unknown type 43 at offset 53" },
		{ 4, 1, 5, 0, TB_EUNSUP, "type 5 (Q4_3)" },
		{ 32, 1, 31, 0, TB_EUNSUP, "(Q4_0_4_4) at offset 53 is no longer" },
		{ 31, 1, GGML_Q4_0, 0, TB_EFORMAT, "31 columns are no multiple of the 32" },
		{ 128, 1, GGML_Q6_K, 0, TB_EFORMAT, "of the 256 in a block of Q6_K" },
		{ 4, 1, GGML_F32, 32, TB_EFORMAT, "data offset 32 at offset 57, the tensors before it end at 0" },
		{ 4, 1, GGML_F32, 1, TB_EFORMAT, "data offset 1 at" },
		{ (uint64_t)-4, 1, GGML_F32, 0, TB_EFORMAT, "dimension 0 at offset 37 is negative" },
		{ 4, (uint64_t)-1, GGML_F32, 0, TB_EFORMAT, "dimension 1 at offset 45" },
		{ 1ull << 40, 1ull << 40, GGML_F32, 0, TB_EFORMAT, "shape overflows" },
		{ 1ull << 31, 1ull << 31, GGML_F32, 0, TB_EFORMAT, "its size overflows" },
		{ 4, 5, GGML_F32, 0, TB_EFORMAT, "80 bytes of data at offset 96, the file ends at 160" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct tb_buf b = make_head(1, 0);

		make_tensor(&b, "t", t[i].cols, t[i].rows, (unsigned)t[i].type, t[i].off);
		make_pad(&b, 32, 64);
		refuse(b, t[i].code, t[i].part);
	}
}

static void
test_lists(void **state)
{
	struct tb_buf b = make_head(1, 0);

	(void)state;
	make_str(&b, "t");
	make_num(&b, 5, 4);
	make_pad(&b, 64, 64);
	refuse(b, TB_EFORMAT, "tensor t: 5 dimensions at offset 33");
	b = make_head(1, 0);
	make_str(&b, "a-name-of-sixty-four-bytes-is-one-too-long-for-this-file-format!");
	make_pad(&b, 64, 64);
	refuse(b, TB_EFORMAT, "tensor 0 at offset 24 has 64 bytes");
	b = make_head(2, 0);		/* an overlap, then a hole */
	make_tensor(&b, "a", 4, 3, GGML_F32, 0);
	make_tensor(&b, "b", 4, 3, GGML_F32, 32);
	make_pad(&b, 32, 200);
	refuse(b, TB_EFORMAT, "tensor b: data offset 32 at offset 98, the tensors before it end at 64");
	b = make_head(2, 0);
	make_tensor(&b, "a", 4, 3, GGML_F32, 0);
	make_tensor(&b, "b", 4, 3, GGML_F32, 96);
	make_pad(&b, 32, 200);
	refuse(b, TB_EFORMAT, "tensor b: data offset 96");
	b = make_head(2, 0);
	make_tensor(&b, "a", 4, 3, GGML_F32, 0);
	make_tensor(&b, "a", 4, 3, GGML_F32, 64);
	make_pad(&b, 32, 200);
	refuse(b, TB_EFORMAT, "tensor a: is there twice");
}

/* Wherever a good file is cut, it is refused, and only the data may end early. */
static void
test_cuts(void **state)
{
	struct tb_buf b = make_head(1, 1);
	struct tb_err err;
	struct gguf g;

	(void)state;
	make_key(&b, "k", GGUF_ARRAY);
	make_num(&b, GGUF_STRING, 4);
	make_num(&b, 2, 8);
	make_str(&b, "one");
	make_str(&b, "two");
	make_tensor(&b, "t", 32, 2, GGML_Q8_0, 0);
	make_pad(&b, 32, 68);
	for (size_t n = 0; n < b.len; n++) {
		assert_fails(gguf_parse(&g, b.p, n, n, "FILE", &err), err, TB_EFORMAT, "FILE");
		assert_null(g.kv);
	}
	assert_ok(parse(&g, &b, &err), err);
	gguf_free(&g);
	tb_buf_free(&b);
}

static void
test_types(void **state)
{
	(void)state;
	assert_int_equal(GGML_Q2_0, 42);
	assert_string_equal(ggml_info(GGML_IQ4_XS)->name, "IQ4_XS");
	assert_int_equal(ggml_info(GGML_NVFP4)->bytes, 36);
	assert_int_equal(ggml_info(GGML_BF16)->dtype, DT_BF16);
	assert_null(ggml_info(4));
	assert_null(ggml_info(43));
	assert_null(ggml_info(UINT32_MAX));
	assert_null(ggml_removed(2));
	assert_null(ggml_removed(UINT32_MAX));
	for (uint32_t i = 0; i < 43; i++) {
		const struct ggml_info *info = ggml_info(i);

		assert_true(!info != !ggml_removed(i));
		if (info && info->dtype != DT_COUNT)
			assert_int_equal(info->bytes * 8, dtype_bits(info->dtype));
		else if (info)
			assert_true(GGML_BLOCK_MAX % info->block == 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_bad_tensors),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
