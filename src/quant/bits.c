#include "config.h"

#include "src/quant/bits.h"

void
bits_pack(const uint8_t *codes, size_t n, unsigned bits, uint8_t *out)
{
	uint32_t acc = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		acc |= (uint32_t)codes[i] << have;
		for (have += bits; have >= 8; have -= 8, acc >>= 8)
			*out++ = (uint8_t)acc;
	}
}

void
bits_unpack(const uint8_t *in, size_t n, unsigned bits, uint8_t *codes)
{
	uint32_t acc = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		for (; have < bits; have += 8)
			acc |= (uint32_t)*in++ << have;
		codes[i] = (uint8_t)(acc & ((1u << bits) - 1));
		acc >>= bits;
		have -= bits;
	}
}
