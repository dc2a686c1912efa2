#include "config.h"

#include "tests/unit/unit.h"

#include "src/format/gguf_write.h"

static void
keys_and_tensors_are_read_back(void **state)
{
	struct gguf_keys keys = GGUF_KEYS();
	struct gguf_tensor tensors[] = {
		{ .name = "b.weight", .type = GGML_Q8_0, .ndim = 2, .ne = { 64, 3 } },
		{ .name = "a.weight", .type = GGML_F32, .ndim = 1, .ne = { 3 } },
		{ .name = "c.weight", .type = GGML_BF16, .ndim = 3, .ne = { 2, 2, 2 } },
	};
	struct tb_buf out = TB_BUF(GGUF_HEAD_MAX);
	struct tb_err err;
	struct gguf g;
	uint64_t size, n;
	double x;
	bool b;

	(void)state;
	gguf_put_str(&keys, "general.architecture", "llama");
	gguf_put_u32(&keys, "llama.block_count", 5);
	gguf_put_f32(&keys, "llama.rope.freq_base", 0.5f);
	gguf_put_bool(&keys, "tokenizer.ggml.add_bos_token", true);
	gguf_put_i32(&keys, "i", -3);
	gguf_put_u16(&keys, "split.no", 7);
	gguf_put_array(&keys, "words", GGUF_STRING, 2);
	gguf_item_str(&keys, "one", 3);
	gguf_item_str(&keys, "", 0);
	gguf_put_array(&keys, "numbers", GGUF_I32, 2);
	gguf_item_i32(&keys, 1);
	gguf_item_i32(&keys, -2);
	assert_ok(gguf_layout(&keys, tensors, 3, &out, &size, &err), err);
	assert_int_equal(out.len % GGUF_ALIGNMENT, 0);
	assert_int_equal(tensors[0].off, out.len);
	assert_int_equal(tensors[0].len, 6 * 34);
	assert_int_equal(tensors[1].off, out.len + 224);	/* 204 and padding */
	assert_int_equal(tensors[2].off, tensors[1].off + 32);
	assert_int_equal(size, tensors[2].off + 32);

	assert_ok(gguf_parse(&g, out.p, out.len, size, "FILE", &err), err);
	assert_int_equal(g.version, 3);
	assert_int_equal(g.nkv, 8);
	assert_true(gguf_u64(gguf_find(&g, "llama.block_count"), &n) && n == 5);
	assert_true(gguf_u64(gguf_find(&g, "split.no"), &n) && n == 7);
	assert_true(gguf_f64(gguf_find(&g, "llama.rope.freq_base"), &x) && x == 0.5);
	assert_true(gguf_f64(gguf_find(&g, "i"), &x) && x == -3);
	assert_true(gguf_bool(gguf_find(&g, "tokenizer.ggml.add_bos_token"), &b) && b);
	assert_int_equal(gguf_find(&g, "words")->count, 2);
	assert_int_equal(gguf_find(&g, "numbers")->elem, GGUF_I32);
	assert_int_equal(g.ntensors, 3);
	for (size_t i = 0; i < 3; i++) {	/* sorted: a b c */
		const struct gguf_tensor *want = &tensors[i == 0 ? 1 : i == 1 ? 0 : 2];

		assert_string_equal(g.tensors[i].name, want->name);
		assert_int_equal(g.tensors[i].off, want->off);
		assert_int_equal(g.tensors[i].len, want->len);
		assert_int_equal(g.tensors[i].ne[0], want->ne[0]);
	}
	gguf_free(&g);
	gguf_keys_free(&keys);
	tb_buf_free(&out);
}

static void
what_the_format_does_not_hold(void **state)
{
	static const char long_name[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	struct gguf_keys keys = GGUF_KEYS();
	struct gguf_tensor name = { .name = long_name, .ndim = 1, .ne = { 3 } };
	struct gguf_tensor rows = { .name = "w", .type = GGML_Q8_0, .ndim = 2, .ne = { 33, 2 } };
	struct gguf_tensor dims = { .name = "w", .ndim = 5 };
	struct tb_buf out = TB_BUF(GGUF_HEAD_MAX);
	struct tb_err err;
	uint64_t size;

	(void)state;
	assert_fails(gguf_layout(&keys, &name, 1, &out, &size, &err), err, TB_EFORMAT, "63 bytes");
	assert_fails(gguf_layout(&keys, &rows, 1, &out, &size, &err), err, TB_EFORMAT, "w:");
	assert_fails(gguf_layout(&keys, &dims, 1, &out, &size, &err), err, TB_EFORMAT, "w:");
	tb_buf_free(&out);
	gguf_keys_free(&keys);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_tensors_are_read_back),
		cmocka_unit_test(what_the_format_does_not_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
