#include "config.h"

#include "src/format/ggml_type.h"

#include <stddef.h>

static const struct ggml_info rows[] = {
#define X(id, number, name, block, bytes, dtype) [number] = { name, block, bytes, dtype },
	GGML_TYPE_LIST(X)
#undef X
};

static const char *const removed[] = {
	[4] = "Q4_2", [5] = "Q4_3", [31] = "Q4_0_4_4", [32] = "Q4_0_4_8", [33] = "Q4_0_8_8",
	[36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8",
};

const struct ggml_info *
ggml_info(uint32_t number)
{
	if (number >= sizeof(rows) / sizeof(*rows) || !rows[number].name)
		return NULL;
	return &rows[number];
}

const char *
ggml_removed(uint32_t number)
{
	return number < sizeof(removed) / sizeof(*removed) ? removed[number] : NULL;
}

#define SAME(type) GGML_##type, GGML_##type
static const struct gguf_mixture mixtures[] = {
	[0] = { "F32", SAME(F32) }, [1] = { "F16", SAME(F16) }, [32] = { "BF16", SAME(BF16) },
	[2] = { "Q4_0", SAME(Q4_0) }, [3] = { "Q4_1", SAME(Q4_1) }, [7] = { "Q8_0", SAME(Q8_0) },
	[8] = { "Q5_0", SAME(Q5_0) }, [9] = { "Q5_1", SAME(Q5_1) },
	[10] = { "Q2_K", GGML_Q2_K, GGML_Q4_0 }, [21] = { "Q2_K_S", GGML_Q2_K, GGML_Q4_0 },
	[11] = { "Q3_K_S", GGML_Q3_K, GGML_Q4_0 }, [12] = { "Q3_K_M", GGML_Q3_K, GGML_Q4_0 },
	[13] = { "Q3_K_L", GGML_Q3_K, GGML_Q4_0 }, [14] = { "Q4_K_S", GGML_Q4_K, GGML_Q5_0 },
	[15] = { "Q4_K_M", GGML_Q4_K, GGML_Q5_0 }, [16] = { "Q5_K_S", GGML_Q5_K, GGML_Q5_1 },
	[17] = { "Q5_K_M", GGML_Q5_K, GGML_Q5_1 }, [18] = { "Q6_K", GGML_Q6_K, GGML_Q8_0 },
	[19] = { "IQ2_XXS", GGML_IQ2_XXS, GGML_IQ4_NL }, [20] = { "IQ2_XS", GGML_IQ2_XS, GGML_IQ4_NL },
	[28] = { "IQ2_S", GGML_IQ2_XS, GGML_IQ4_NL }, [29] = { "IQ2_M", GGML_IQ2_S, GGML_IQ4_NL },
	[23] = { "IQ3_XXS", GGML_IQ3_XXS, GGML_IQ4_NL }, [22] = { "IQ3_XS", GGML_IQ3_S, GGML_IQ4_NL },
	[26] = { "IQ3_S", GGML_IQ3_S, GGML_IQ4_NL }, [27] = { "IQ3_M", GGML_IQ3_S, GGML_IQ4_NL },
	[24] = { "IQ1_S", GGML_IQ1_S, GGML_IQ4_NL }, [31] = { "IQ1_M", GGML_IQ1_M, GGML_IQ4_NL },
	[25] = { "IQ4_NL", SAME(IQ4_NL) }, [30] = { "IQ4_XS", GGML_IQ4_XS, GGML_IQ4_NL },
	[36] = { "TQ1_0", GGML_TQ1_0, GGML_Q4_0 }, [37] = { "TQ2_0", GGML_TQ2_0, GGML_Q4_0 },
	[38] = { "MXFP4_MOE", SAME(MXFP4) }, [39] = { "NVFP4", SAME(NVFP4) },
	[40] = { "Q1_0", SAME(Q1_0) }, [41] = { "Q2_0", SAME(Q2_0) },
};

const struct gguf_mixture *
gguf_mixture(uint64_t file_type)
{
	if (file_type >= sizeof(mixtures) / sizeof(*mixtures) || !mixtures[file_type].name)
		return NULL;
	return &mixtures[file_type];
}
