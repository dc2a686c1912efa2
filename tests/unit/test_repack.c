/* Blocks and what they are repacked into give the same numbers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/format/ggml_type.h"
#include "src/quant/repack.h"
#include "tests/unit/unit.h"

#define BLOCKS 512u
#define N (BLOCKS * 32)

static uint8_t blocks[BLOCKS * 34], codes[N], scales[2 * BLOCKS], biases[2 * BLOCKS];
static float want[N], got[N];

/* Random blocks with scales (and minima) of all sizes below 2^9, of both signs. */
static void
fill(unsigned type)
{
	unsigned size = ggml_info(type)->bytes;

	for (size_t i = 0; i < BLOCKS * size; i++)
		blocks[i] = (uint8_t)rand();
	for (size_t i = 0; i < BLOCKS; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint16_t h = (uint16_t)(((unsigned)rand() & 0x83ff) |
						(unsigned)(rand() % 24) << 10);

			if (type == GGML_MXFP4)
				blocks[i * size] = (uint8_t)(rand() % 255);
			else
				memcpy(blocks + i * size + 2 * k, &h, sizeof(h));
		}
}

static void
test_same_numbers(void **state)
{
	static const unsigned types[] = { GGML_Q4_0, GGML_Q4_1, GGML_Q5_0, GGML_Q5_1, GGML_Q8_0,
					  GGML_MXFP4 };

	(void)state;
	srand(1);
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		const struct quant_parts out = { codes, scales, biases };
		const struct scheme from = scheme_ggml(types[t]);
		const struct quant_src a = { blocks, NULL, NULL, DT_F32, 1 };
		struct scheme to;
		struct quant_src b;

		assert_true(repack_scheme(&from, &to));
		b = (struct quant_src){ codes, scales, scheme_has_bias(&to) ? biases : NULL,
					scheme_scale_dtype(&to, DT_F16), 1 };
		fill(types[t]);
		assert_int_equal(repack(&from, blocks, N, &out), N);
		quant_decode(&from, &a, N, want);
		quant_decode(&to, &b, N, got);
		for (size_t i = 0; i < N; i++)
			if (!(want[i] == got[i]))	/* 0 is -0 */
				fail_msg("%s, element %zu: %a, not %a", ggml_info(types[t])->name, i,
					 (double)got[i], (double)want[i]);
	}
}

static void
test_too_large(void **state)
{
	const struct quant_parts out = { codes, scales, biases };
	struct scheme from = scheme_ggml(GGML_Q8_0);
	uint16_t large = tb_f32_f16(512);	/* times 128 is over F16 */

	(void)state;
	fill(GGML_Q8_0);
	memcpy(blocks + 34 * 7, &large, sizeof(large));
	assert_int_equal(repack(&from, blocks, N, &out), 7 * 32);
	from = scheme_ggml(GGML_MXFP4);
	fill(GGML_MXFP4);
	blocks[17 * 3] = 255;
	assert_int_equal(repack(&from, blocks, N, &out), 3 * 32);
}

static void
test_no_counterpart(void **state)
{
	static const unsigned types[] = { GGML_Q4_K, GGML_Q6_K, GGML_Q8_K, GGML_IQ4_NL, GGML_F16 };
	struct scheme to, int4 = scheme_affine(4, 32);

	(void)state;
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		struct scheme from = scheme_ggml(types[t]);

		assert_false(repack_scheme(&from, &to));
	}
	assert_false(repack_scheme(&int4, &to));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_numbers),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_no_counterpart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
