/* pack_simd.h - codes to bit streams and back, 8 at a time: PEXT and PDEP are the
 * packing rule in one instruction whatever the width. */
#include "src/format/dtype.h"

SIMD vf v_load(enum dtype t, const void *p)
{
	return t == DT_BF16 ? v_load_bf16(p) : t == DT_F16 ? v_load_f16(p) : v_load_f32(p);
}

/* Nearest even by integers: VCVTNEPS2BF16 would flush subnormals. */
SIMD void v_store_bf16(void *p, vf v)
{
	vi u = i_of(v), odd = i_and(i_right(u, 16), i_set(1));
	vi rounded = i_right(i_add(i_add(u, odd), i_set(0x7fff)), 16);

	i_store_u16(p, i_pick(v_ne(v, v), i_or(i_right(u, 16), i_set(0x40)), rounded));
}

SIMD void v_store(enum dtype t, void *p, vf v)
{
	if (t == DT_BF16)
		v_store_bf16(p, v);
	else if (t == DT_F16)
		v_store_f16(p, v);
	else
		v_store_f32(p, v);
}

SIMD uint64_t code_mask(unsigned bits)
{
	return 0x0101010101010101u * ((1u << bits) - 1);
}

/* LANES codes, each in a lane, as a stream of LANES * bits / 8 bytes. */
SIMD void codes_store(uint8_t *out, vi code, unsigned bits, uint64_t mask)
{
	uint64_t eight[LANES / 8];

	if (bits == 8) {
		i_store_u8(out, code);
		return;
	}
	i_bytes(code, eight);
	UNROLL for (unsigned i = 0; i < LANES / 8; i++, out += bits) {
		uint64_t c = _pext_u64(eight[i], mask);
		uint32_t low = (uint32_t)c;
		uint16_t mid = (uint16_t)(c >> 32);
		uint8_t byte = (uint8_t)(c >> (bits - 1) * 8);

		/* Pieces of fixed size: a copy of `bits` bytes would be a call. */
		if (bits >= 4)
			memcpy(out, &low, 4);
		else
			memcpy(out, &c, 2);
		if (bits == 6)
			memcpy(out + 4, &mid, 2);
		else if (bits != 4 && bits != 2)
			out[bits - 1] = byte;
	}
}

/* The next LANES codes of a stream that ends at `end`; reads 8 bytes where there are
 * as many. */
SIMD vi codes_load(const uint8_t *p, const uint8_t *end, unsigned bits, uint64_t mask)
{
	uint64_t eight[LANES / 8];

	if (bits == 8)
		return i_load_u8(p);
	UNROLL for (unsigned i = 0; i < LANES / 8; i++, p += bits) {
		uint64_t c = 0;

		if (end - p >= 8)
			memcpy(&c, p, 8);
		else
			memcpy(&c, p, bits);
		eight[i] = _pdep_u64(c, mask);
	}
	return i_from_bytes(eight);
}
