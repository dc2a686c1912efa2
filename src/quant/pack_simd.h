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

/* 2 * LANES elements.  BF16 comes apart into even and odd ones without a shuffle;
 * of the others x is the first half. */
struct pair { vf x, y; };

SIMD struct pair v_load_pair(enum dtype t, const uint8_t *p)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	vi both;

	if (t != DT_BF16)
		return (struct pair){ v_load(t, p), v_load(t, p + LANES * size) };
	both = i_load(p);
	return (struct pair){ v_of(i_left(both, 16)), v_of(i_and(both, i_set(0xffff0000))) };
}

/* 8 codes at `code` to `bits` bytes, in pieces of fixed size: a copy of `bits` bytes
 * would be a call. */
SIMD void codes_pack8(const uint8_t *code, unsigned bits, uint64_t mask, uint8_t *out)
{
	uint64_t c;
	uint32_t low;

	memcpy(&c, code, 8);
	c = _pext_u64(c, mask);
	low = (uint32_t)c;
	if (bits == 4)
		memcpy(out, &low, 4);
	else
		memcpy(out, &c, 2);
	if (bits >= 5) {
		c >>= 16;
		memcpy(out + 2, &c, 2);
		c >>= 16;
	} else {
		c >>= 16;
	}
	if (bits == 6)
		memcpy(out + 4, &c, 2);
	else if (bits == 3 || bits == 5)
		out[bits - 1] = (uint8_t)c;
}

/* A pair's codes as a stream of 2 * LANES * bits / 8 bytes. */
SIMD void codes_store_pair(enum dtype t, uint8_t *out, vi x, vi y, unsigned bits)
{
	uint8_t code[2 * LANES], *to = bits == 8 ? out : code;

	if (bits == 4 && t == DT_BF16) {
		i_store_u8(out, i_or(x, i_left(y, 4)));
	} else if (bits == 4) {
		i_store_u4(out, x);
		i_store_u4(out + LANES / 2, y);
	} else {
		if (t == DT_BF16) {
			i_store_u16(to, i_or(x, i_left(y, 8)));
		} else {
			i_store_u8(to, x);
			i_store_u8(to + LANES, y);
		}
		if (bits != 8)
			UNROLL for (unsigned i = 0; i < 2 * LANES; i += 8)
				codes_pack8(code + i, bits, code_mask(bits), out + i / 8 * bits);
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
