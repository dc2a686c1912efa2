#include "config.h"

#include "src/engine/synthetic_ggml.h"

#include <string.h>

#include "src/base/half.h"
#include "src/format/ggml_type.h"

enum { NONE = 0xffff };

/* Where a block has its numbers of half precision (scale, then minimum) and what the
 * scale is at most multiplied by; `bytes` scales of 8 bits stand at the start. */
static const struct { uint16_t scale, minimum, most, bytes; } places[] = {
	[GGML_Q4_0] = { 0, NONE, 8, 0 }, [GGML_Q4_1] = { 0, 2, 15, 0 },
	[GGML_Q5_0] = { 0, NONE, 16, 0 }, [GGML_Q5_1] = { 0, 2, 31, 0 },
	[GGML_Q8_0] = { 0, NONE, 128, 0 },
	[GGML_Q2_K] = { 80, 82, 3 * 15, 0 }, [GGML_Q3_K] = { 108, NONE, 4 * 32, 0 },
	[GGML_Q4_K] = { 0, 2, 15 * 63, 0 }, [GGML_Q5_K] = { 0, 2, 31 * 63, 0 },
	[GGML_Q6_K] = { 208, NONE, 32 * 128, 0 },
	[GGML_IQ2_XXS] = { 0, NONE, 43 * 8, 0 }, [GGML_IQ2_XS] = { 0, NONE, 43 * 4, 0 },
	[GGML_IQ2_S] = { 0, NONE, 43 * 4, 0 }, [GGML_IQ3_XXS] = { 0, NONE, 62 * 8, 0 },
	[GGML_IQ3_S] = { 0, NONE, 15 * 31, 0 }, [GGML_IQ1_S] = { 0, NONE, 2 * 15, 0 },
	[GGML_IQ4_NL] = { 0, NONE, 127, 0 }, [GGML_IQ4_XS] = { 0, NONE, 127 * 32, 0 },
	[GGML_TQ1_0] = { 52, NONE, 1, 0 }, [GGML_TQ2_0] = { 64, NONE, 2, 0 },
	[GGML_Q1_0] = { 0, NONE, 1, 0 }, [GGML_Q2_0] = { 0, NONE, 2, 0 },
	[GGML_MXFP4] = { NONE, NONE, 0, 1 }, [GGML_NVFP4] = { NONE, NONE, 0, 4 },
	[GGML_IQ1_M] = { NONE, NONE, 0, 0 },
};

static void
put_half(uint8_t *p, float f)
{
	uint16_t h = tb_f32_f16(f);

	memcpy(p, &h, sizeof(h));
}

void
synthetic_ggml(unsigned type, uint8_t *blocks, size_t n)
{
	const size_t bytes = ggml_info(type)->bytes;

	for (size_t i = 0; i < n; i++, blocks += bytes) {
		float part = 1 + (float)(i % 5) / 8, scale = part / (32 * (float)places[type].most);

		if (places[type].scale != NONE)
			put_half(blocks + places[type].scale, scale);
		if (places[type].minimum != NONE)	/* of the K types another factor of 63 */
			put_half(blocks + places[type].minimum, type < GGML_Q2_K ? -part / 64
						: part / 64 / 63);
		for (unsigned k = 0; k < places[type].bytes; k++)	/* 2^-7, 1/64 */
			blocks[k] = type == GGML_MXFP4 ? 120 : 8;
		if (type == GGML_IQ1_M)	/* four nibbles of 0x1400, 2^-10 */
			for (unsigned k = 0; k < 4; k++)
				blocks[49 + 2 * k] = (uint8_t)((blocks[49 + 2 * k] & 15) |
							       (0x1400 >> 4 * k & 15) << 4);
	}
}
