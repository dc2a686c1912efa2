/* Importance matrices: what is written is read back, the older format means the same, and
 * what does not fit together is refused. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/format/gguf_write.h"
#include "src/format/imatrix.h"

static const double sums[] = { 2, 4, 6, 8, 0, 0, 0, 0, 3, 6, 9, 12 };
static const uint64_t counts[] = { 2, 0, 3 };
static const float gram[3 * 2 * 4] = { 2, 1, 1, 4, 6, -5, -5, 8 };

static const char *
write_some(const char *name)
{
	const char *path = unit_path(name);
	const struct imatrix_sums s[] = {
		{ "blk.0.ffn_up_exps.weight", 4, 3, sums, counts, gram, 2 },
		{ "blk.0.attn_q.weight", 4, 1, sums, counts, NULL, 0 },
	};
	struct tb_err err;

	assert_ok(imatrix_write(path, s, 2, 7, 512, "book.txt", false, &err), err);
	return path;
}

static void
test_round_trip(void **state)
{
	const char *path = write_some("im.gguf");
	const struct imatrix_entry *e;
	struct imatrix im;
	struct tb_err err;
	const float *c;
	float g[4];

	(void)state;
	assert_ok(imatrix_read(&im, path, &err), err);
	assert_int_equal(im.n, 2);
	assert_false(im.old);
	assert_int_equal(im.chunks, 7);
	assert_int_equal(im.chunk_size, 512);
	assert_int_equal(im.ndatasets, 1);
	assert_string_equal(im.datasets[0], "book.txt");
	e = imatrix_find(&im, "blk.0.attn_q.weight");
	c = imatrix_columns(e, 4, 0, 1, &err);
	assert_true(c && c[0] == 1 && c[3] == 4 && !e->gram);
	e = imatrix_find(&im, "blk.0.ffn_up_exps.weight");
	c = imatrix_columns(e, 4, 1, 3, &err);
	assert_true(c && c[0] == 1 && c[3] == 1);	/* nothing seen: all alike */
	c = imatrix_columns(e, 4, 2, 3, &err);
	assert_true(c && c[0] == 1 && c[1] == 2 && c[3] == 4);
	assert_int_equal(e->gram, 2);
	assert_ok(imatrix_gram(&im, e, 4, 0, 1, g, &err), err);
	assert_true(g[0] == 3 && g[1] == -2.5f && g[2] == -2.5f && g[3] == 4);
	assert_null(imatrix_columns(e, 5, 0, 3, &err));
	assert_null(imatrix_columns(e, 4, 0, 4, &err));
	assert_non_null(strstr(err.msg, "blk.0.ffn_up_exps.weight"));
	assert_null(imatrix_find(&im, "blk.1.attn_q.weight"));
	imatrix_free(&im);
	assert_fails(imatrix_write(path, &(struct imatrix_sums){ .name = "x" }, 0, 0, 0, "", false,
				   &err), err, TB_EEXIST, "im.gguf");
}

static void
put32(struct tb_buf *b, int32_t v)
{
	tb_buf_add(b, &v, 4);
}

static void
put_entry(struct tb_buf *b, const char *name, int32_t calls, const float *v, int32_t n)
{
	put32(b, (int32_t)strlen(name));
	tb_buf_str(b, name);
	put32(b, calls);
	put32(b, n);
	tb_buf_add(b, v, (size_t)n * 4);
}

static void
test_older(void **state)
{
	static const float v[] = { 2, 4, 6, 8 };
	struct tb_buf b = TB_BUF(4096);
	struct imatrix im;
	struct tb_err err;
	const float *c;

	(void)state;
	put32(&b, 2);
	put_entry(&b, "blk.1.b.weight", 2, v, 4);
	put_entry(&b, "blk.0.a.weight", 4, v, 4);
	for (unsigned tail = 0; tail < 3; tail++) {
		assert_ok(imatrix_read(&im, unit_write("im.dat", b.p, b.len), &err), err);
		assert_true(im.old && im.n == 2 && im.chunks == (tail ? 9 : 0));
		assert_int_equal(im.ndatasets, tail == 2);
		c = imatrix_columns(imatrix_find(&im, "blk.0.a.weight"), 4, 0, 1, &err);
		assert_true(c && c[0] == 0.5f && c[3] == 2);
		/* Of a stack, too: it does not say of how many. */
		c = imatrix_columns(imatrix_find(&im, "blk.1.b.weight"), 2, 1, 2, &err);
		assert_true(c == NULL || c[0] == 3);
		imatrix_free(&im);
		if (tail < 2)
			put32(&b, tail ? 4 : 9);
		if (tail == 1)
			tb_buf_str(&b, "text");
	}
	for (size_t n = 4; n < b.len; n++) {	/* cut anywhere but at those three ends */
		enum tb_status status = imatrix_read(&im, unit_write("cut.dat", b.p, n), &err);

		assert_int_equal(status, n == b.len - 12 || n == b.len - 8 ? TB_OK : TB_EFORMAT);
		imatrix_free(&im);
	}
	tb_buf_free(&b);
}

/* A file of one pair, whose sums, counts and shapes are those given. */
static void
refuse(const float *v, uint64_t cols, const float *n, uint64_t mats, const char *part)
{
	struct gguf_keys keys = GGUF_KEYS();
	struct tb_buf b = TB_BUF(4096);
	struct gguf_tensor t[] = {
		{ .name = "a.in_sum2", .ndim = 2, .ne = { cols, 1, 1, 1 } },
		{ .name = n ? "a.counts" : "b.counts", .ndim = 2, .ne = { 1, mats, 1, 1 } },
	};
	struct imatrix im;
	struct tb_err err;
	uint64_t size;

	assert_ok(gguf_layout(&keys, t, 2, &b, &size, &err), err);
	for (unsigned i = 0; i < 2; i++) {
		const float *from = i ? n ? n : v : v;

		while (b.len < t[i].off)
			tb_buf_chr(&b, 0);
		tb_buf_add(&b, from, t[i].len);
	}
	while (b.len < size)
		tb_buf_chr(&b, 0);
	assert_fails(imatrix_read(&im, unit_write("bad.gguf", b.p, b.len), &err), err, TB_EFORMAT,
		     part);
	gguf_keys_free(&keys);
	tb_buf_free(&b);
}

static void
test_refused(void **state)
{
	static const float tiny[] = { 1e-45f };
	static const float good[] = { 1, 2, 3, 4 }, nan_[] = { 1, NAN, 3, 4 }, minus[] = { 1, 2, -3, 4 };
	struct imatrix im;
	struct tb_err err;

	(void)state;
	refuse(nan_, 4, good, 1, "a.in_sum2: number 1 is not finite");
	refuse(minus, 4, good, 1, "a.in_sum2: number 2 is negative");
	refuse(good, 4, tiny, 1, "a: sum 0 is too large for its count");
	refuse(good, 4, minus, 3, "do not go together");
	refuse(good, 4, minus, 4, "a.counts: number 2 is negative");
	refuse(good, 4, NULL, 1, "has no ");
	assert_fails(imatrix_read(&im, unit_write("few", "abc", 3), &err), err, TB_EFORMAT,
		     "no importance matrix");
	assert_fails(imatrix_read(&im, unit_path("nothing"), &err), err, TB_ENOENT, "nothing");
}

/* Every byte changed, and every length: read or refused, with a sentence. */
static void
test_any_bytes(void **state)
{
	const char *path = write_some("any.gguf");
	struct imatrix im;
	struct tb_err err;
	FILE *f = fopen(path, "rb");
	char all[4096], one[4096];
	size_t n = fread(all, 1, sizeof(all), f);

	(void)state;
	fclose(f);
	for (size_t i = 0; i < n; i++)
		for (unsigned what = 0; what < 2; what++) {
			memcpy(one, all, n);
			one[i] = what ? (char)0xff : (char)(one[i] + 1);
			err.code = TB_OK;
			if (imatrix_read(&im, unit_write("one.gguf", one, n), &err))
				assert_true(err.code && *err.msg);
			imatrix_free(&im);
		}
	for (size_t i = 0; i + 32 < n; i++)	/* its end is padding */
		if (!imatrix_read(&im, unit_write("one.gguf", all, i), &err))
			fail_msg("%zu of %zu bytes are enough", i, n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_older),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
