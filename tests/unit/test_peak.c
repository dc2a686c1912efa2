/* What peak_found() says "no" of has no such number: one at a time, at every place, against
 * the decoder. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/format/ggml_type.h"
#include "src/quant/codec.h"
#include "src/quant/peak.h"
#include "tests/unit/unit.h"

#define N 96u

static bool
is_odd(const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]) || fabsf(x[i]) >= (float)PEAK)
			return true;
	return false;
}

/* Every pattern of 16 bits (of F32 and F64: the upper ones) among zeros. */
static void
test_every_number(void **state)
{
	static const enum dtype types[] = { DT_F16, DT_BF16, DT_F32, DT_F64, DT_F8_E4M3,
					    DT_F8_E5M2, DT_F8_E8M0 };

	(void)state;
	for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++) {
		struct scheme s = scheme_plain(types[k]);
		unsigned size = peak_unit(&s), patterns = size == 1 ? 256 : 65536;

		assert_int_equal(size, dtype_bits(types[k]) / 8);
		for (unsigned bits = 0; bits < patterns; bits++) {
			uint8_t raw[N * 8 + 1] = { 0 }, *p = raw + 1;	/* no alignment */
			unsigned at = bits * 7 % N;
			float x;

			if (size == 1)
				p[at] = (uint8_t)bits;
			else
				memcpy(p + at * size + size - 2, &(uint16_t){ (uint16_t)bits }, 2);
			dtype_to_f32(types[k], p + at * size, 1, &x);
			assert_int_equal(peak_found(&s, p, N), is_odd(&x, 1));
			if (types[k] == DT_F16 || types[k] == DT_BF16 || types[k] == DT_F32)
				assert_int_equal(peak_zero(types[k], p + at * size, 1), x == 0);
		}
	}
}

/* Blocks of random bytes: those with a NaN, an infinity or a large value are found. */
static void
test_blocks(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (unsigned type = 0; type < 64; type++) {
		struct scheme s = { 0 };
		const struct ggml_info *info = ggml_info(type);
		unsigned seen = 0;

		if (!info || info->dtype != DT_COUNT)
			continue;
		s = scheme_ggml(type);
		if (!peak_unit(&s) || !scheme_readable(&s))
			continue;
		assert_int_equal(peak_unit(&s), info->bytes);
		for (unsigned i = 0; i < 20000; i++) {
			uint8_t raw[300];
			float x[GGML_BLOCK_MAX];

			for (unsigned k = 0; k < info->bytes; k++)
				raw[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
			quant_decode(&s, &(struct quant_src){ .codes = raw }, info->block, x);
			if (!is_odd(x, info->block))
				continue;
			seen++;
			assert_true(peak_found(&s, raw, 1));
		}
		assert_true(seen > 0 || type == GGML_NVFP4);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
