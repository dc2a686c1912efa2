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
