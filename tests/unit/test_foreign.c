/* What other programs quantize: packed here one bit after another, as their layouts
 * say, and unpacked by the decoder. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/quant/foreign.h"

#define MAX 4096
#define BYTES 65536

static uint32_t rng_state;

static uint32_t
rng(void)
{
	rng_state = rng_state * 1664525 + 1013904223;
	return rng_state >> 8;
}

/* A matrix as numbers: code, zero and scale of every element come from here. */
static struct plain {
	unsigned rows, cols, bits, groups;
	unsigned code[MAX], zero[MAX];		/* [row][col], [row][group] */
	float scale[MAX];
	unsigned group[MAX];			/* of a column */
} p;

static uint8_t codes[BYTES], zeros[BYTES], scales[BYTES], order[BYTES];

static void
make(unsigned rows, unsigned cols, unsigned bits, unsigned group, bool shuffled)
{
	p = (struct plain){ .rows = rows, .cols = cols, .bits = bits,
			    .groups = (cols + group - 1) / group };
	for (unsigned i = 0; i < rows * cols; i++)
		p.code[i] = rng() & ((1u << bits) - 1);
	for (unsigned i = 0; i < rows * p.groups; i++) {
		p.zero[i] = rng() & ((1u << bits) - 1);
		p.scale[i] = (float)((int)(rng() % 2001) - 1000) / 1024;
	}
	for (unsigned c = 0; c < cols; c++)
		p.group[c] = shuffled ? rng() % p.groups : c / group;
	memset(codes, 0, sizeof(codes));
	memset(zeros, 0, sizeof(zeros));
}

static void
set_bits(uint8_t *to, unsigned long bit, unsigned n, unsigned value)
{
	for (unsigned i = 0; i < n; i++)
		to[(bit + i) / 8] |= (uint8_t)((value >> i & 1) << (bit + i) % 8);
}

/* Code i of a stream down a column of words that is `stride` words wide. */
static void
set_down(uint8_t *to, unsigned column, unsigned stride, unsigned i, unsigned bits, unsigned value)
{
	for (unsigned k = 0; k < bits; k++) {
		unsigned bit = i * bits + k;

		set_bits(to, (bit / 32 * stride + column) * 32ul + bit % 32, 1, value >> k & 1);
	}
}

static void
put_scales(bool down)
{
	for (unsigned r = 0; r < p.rows; r++)
		for (unsigned g = 0; g < p.groups; g++)
			memcpy(scales + 4 * (down ? g * p.rows + r : r * p.groups + g),
			       &p.scale[r * p.groups + g], 4);
	for (unsigned c = 0; c < p.cols; c++)
		memcpy(order + 4 * c, &p.group[c], 4);
}

static void
check(const struct scheme *s, bool with_zeros, bool with_order)
{
	struct foreign_src q = { codes, scales, with_zeros ? zeros : NULL,
				 with_order ? order : NULL, DT_F32, p.rows, p.cols };
	int middle = s->kind == SCHEME_INT8 ? 0 : 1 << (p.bits - 1);
	struct foreign_need need;
	static float out[MAX];
	unsigned n = p.rows * p.cols;

	assert_true(foreign_need(s, p.rows, p.cols, &need));
	assert_int_equal(need.scales, p.rows * p.groups);
	assert_int_equal(foreign_bad_order(s, &q), p.cols);
	for (unsigned first = 0; first < n; first += 100)	/* across the rows' ends */
		foreign_decode(s, &q, first, n - first < 100 ? n - first : 100, out + first);
	for (unsigned i = 0; i < n; i++) {
		unsigned at = i / p.cols * p.groups + p.group[i % p.cols];
		int code = s->kind == SCHEME_INT8 ? (int8_t)p.code[i] : (int)p.code[i];
		int zero = s->kind == SCHEME_INT8 ? (int8_t)p.zero[at] : (int)p.zero[at];
		float want = (float)(code - (with_zeros ? zero : middle)) * p.scale[at];

		if (out[i] != want)
			fail_msg("element %u: %g, not %g", i, (double)out[i], (double)want);
	}
}

static void
test_awq(void **state)
{
	static const unsigned holds[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
	struct scheme s = { .kind = SCHEME_AWQ, .bits = 4, .group = 32 };
	struct foreign_need need;

	(void)state;
	make(24, 96, 4, 32, false);
	for (unsigned c = 0; c < p.cols; c++)
		for (unsigned r = 0; r < p.rows; r++)
			set_bits(codes, (c * p.rows + r / 8 * 8 + r % 8) * 4ul, 4,
				 p.code[(r / 8 * 8 + holds[r % 8]) * p.cols + c]);
	for (unsigned g = 0; g < p.groups; g++)
		for (unsigned r = 0; r < p.rows; r++)
			set_bits(zeros, (g * p.rows + r) * 4ul, 4,
				 p.zero[(r / 8 * 8 + holds[r % 8]) * p.groups + g]);
	put_scales(true);
	check(&s, true, false);
	assert_true(foreign_need(&s, 24, 96, &need));
	assert_int_equal(need.codes, 24 * 96 / 2);
	assert_int_equal(need.zeros, 24 * 3 / 2);
	assert_false(foreign_need(&s, 20, 96, &need));
}

/* Zeros of the first version: 1 less each, subtracted from the words as numbers. */
static void
put_gptq_zeros(bool v2)
{
	for (unsigned g = 0; g < p.groups; g++)
		for (unsigned r = 0; r < p.rows; r++) {
			unsigned z = p.zero[r * p.groups + g];

			if (!v2 && p.bits == 3)
				z = (z - 1) & 7;
			set_bits(zeros, (unsigned long)g * p.rows * p.bits + r * p.bits, p.bits, z);
		}
	for (unsigned i = 0; !v2 && p.bits != 3 && i < p.groups * p.rows * p.bits / 32; i++) {
		uint32_t w, ones = 0;

		for (unsigned k = 0; k < 32; k += p.bits)
			ones |= 1u << k;
		memcpy(&w, zeros + 4 * i, 4);
		w -= ones;
		memcpy(zeros + 4 * i, &w, 4);
	}
}

static void
test_gptq(void **state)
{
	static const unsigned bits[] = { 2, 3, 4, 8 };

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		bool v2 = i / 4 % 2, shuffled = i / 8;
		struct scheme s = { .kind = v2 ? SCHEME_GPTQ_V2 : SCHEME_GPTQ, .bits = bits[i % 4],
				    .group = 32 };

		make(32, 64, s.bits, 32, shuffled);
		for (unsigned c = 0; c < p.cols; c++)
			for (unsigned r = 0; r < p.rows; r++)
				set_down(codes, r, p.rows, c, s.bits, p.code[r * p.cols + c]);
		put_gptq_zeros(v2);
		put_scales(true);
		check(&s, true, shuffled);
		check(&s, false, shuffled);
	}
}

static void
test_compressed_tensors(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits <= 8; bits++) {
		struct scheme s = { .kind = SCHEME_CT_INT, .bits = bits, .group = 16 };

		make(13, 48, bits, 16, bits == 4);
		for (unsigned r = 0; r < p.rows; r++)
			for (unsigned c = 0; c < p.cols; c++)
				set_bits(codes, r * ((p.cols * bits + 31) / 32) * 32ul + c * bits,
					 bits, p.code[r * p.cols + c]);
		for (unsigned r = 0; r < p.rows; r++)
			for (unsigned g = 0; g < p.groups; g++)
				set_down(zeros, g, p.groups, r, bits, p.zero[r * p.groups + g]);
		put_scales(false);
		check(&s, true, bits == 4);
		check(&s, false, bits == 4);
	}
}

static void
test_int8(void **state)
{
	struct scheme s = { .kind = SCHEME_INT8, .bits = 8, .group = SCHEME_PER_ROW };

	(void)state;
	make(7, 33, 8, 33, false);
	for (unsigned i = 0; i < p.rows * p.cols; i++)
		codes[i] = (uint8_t)p.code[i];
	for (unsigned i = 0; i < p.rows; i++)
		zeros[i] = (uint8_t)p.zero[i];
	put_scales(false);
	check(&s, true, false);
	check(&s, false, false);
}

/* Blocks that do not divide the matrix, a scale a row, one for all; NaN stays NaN. */
static void
test_fp8(void **state)
{
	static const unsigned groups[] = { 16, SCHEME_PER_ROW, SCHEME_PER_TENSOR };
	static float plain[40 * 50], out[40 * 50];
	struct foreign_need need;

	(void)state;
	for (unsigned i = 0; i < 40 * 50; i++)
		codes[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < 100; i++) {
		float v = 1 + (float)i / 8;

		memcpy(scales + 4 * i, &v, 4);
	}
	dtype_to_f32(DT_F8_E4M3, codes, 40 * 50, plain);
	for (unsigned g = 0; g < 3; g++) {
		struct scheme s = { .kind = SCHEME_FP8, .bits = 8, .group = groups[g] };
		struct foreign_src q = { codes, scales, NULL, NULL, DT_F32, 40, 50 };

		assert_true(foreign_need(&s, 40, 50, &need));
		assert_int_equal(need.scales, g == 0 ? 3 * 4 : g == 1 ? 40 : 1);
		foreign_decode(&s, &q, 0, 3, out);
		foreign_decode(&s, &q, 3, 40 * 50 - 3, out + 3);
		for (unsigned i = 0; i < 40 * 50; i++) {
			unsigned r = i / 50, c = i % 50;
			unsigned at = g == 0 ? r / 16 * 4 + c / 16 : g == 1 ? r : 0;
			float want = plain[i] * (1 + (float)at / 8);

			if (out[i] != want && !(isnan(out[i]) && isnan(want)))
				fail_msg("group %u, element %u: %g, not %g", g, i, (double)out[i],
					 (double)want);
		}
	}
}

static void
test_bad_order(void **state)
{
	struct scheme s = { .kind = SCHEME_GPTQ, .bits = 4, .group = 32 };
	struct foreign_src q = { codes, scales, zeros, order, DT_F32, 8, 64 };
	float out[8 * 64];

	(void)state;
	make(8, 64, 4, 32, false);
	p.group[41] = 2;
	put_scales(true);
	assert_int_equal(foreign_bad_order(&s, &q), 41);
	p.group[41] = (unsigned)-1;
	put_scales(true);
	assert_int_equal(foreign_bad_order(&s, &q), 41);
	foreign_decode(&s, &q, 0, 8 * 64, out);		/* nothing out of bounds */
}

static void
test_names(void **state)
{
	static const struct { struct scheme s; const char *name; } rows[] = {
		{ { .kind = SCHEME_AWQ, .bits = 4, .group = 128 }, "awq:4:128" },
		{ { .kind = SCHEME_GPTQ, .bits = 3, .group = SCHEME_PER_ROW }, "gptq:3:row" },
		{ { .kind = SCHEME_GPTQ_V2, .bits = 8, .group = 32 }, "gptq_v2:8:32" },
		{ { .kind = SCHEME_CT_INT, .bits = 4, .group = 128 }, "ct-int4:128" },
		{ { .kind = SCHEME_INT8, .bits = 8, .group = SCHEME_PER_ROW }, "ct-int8:row" },
		{ { .kind = SCHEME_FP8, .bits = 8, .group = 128 }, "fp8:128x128" },
		{ { .kind = SCHEME_FP8, .bits = 8, .group = SCHEME_PER_TENSOR }, "fp8:tensor" },
	};
	char name[SCHEME_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_string_equal(scheme_name(&rows[i].s, name), rows[i].name);
		assert_true(scheme_foreign(&rows[i].s));
		assert_null(scheme_quant_type(&rows[i].s));
		assert_false(scheme_fits(&rows[i].s, 128));
	}
	assert_false(scheme_foreign(&(struct scheme){ .kind = SCHEME_GGML }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awq),
		cmocka_unit_test(test_gptq),
		cmocka_unit_test(test_compressed_tensors),
		cmocka_unit_test(test_int8),
		cmocka_unit_test(test_fp8),
		cmocka_unit_test(test_bad_order),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
