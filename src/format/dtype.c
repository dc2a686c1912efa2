#include "config.h"

#include "src/format/dtype.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/base/half.h"

static const struct row {
	const char *name;
	unsigned bits;
	bool floating;
} rows[DT_COUNT] = {
#define X(id, name, bits, floating) [id] = { name, bits, floating },
	DTYPE_LIST(X)
#undef X
};

const char *
dtype_name(enum dtype d)
{
	return d < DT_COUNT ? rows[d].name : "?";
}

unsigned
dtype_bits(enum dtype d)
{
	return d < DT_COUNT ? rows[d].bits : 0;
}

bool
dtype_floating(enum dtype d)
{
	return d < DT_COUNT && rows[d].floating;
}

bool
dtype_parse(const char *name, enum dtype *out)
{
	for (enum dtype d = 0; d < DT_COUNT; d++) {
		if (strcmp(name, rows[d].name) == 0) {
			*out = d;
			return true;
		}
	}
	return false;
}

bool
dtype_bytes(enum dtype d, uint64_t n, uint64_t *out)
{
	uint64_t bits;

	if (__builtin_mul_overflow(n, (uint64_t)dtype_bits(d), &bits) || bits % 8)
		return false;
	*out = bits / 8;
	return true;
}

/* A float of 1 sign bit, `e` exponent and `m` mantissa bits. */
static float
small_float(unsigned code, unsigned e, unsigned m, int bias)
{
	unsigned mant = code & ((1u << m) - 1), exp = code >> m & ((1u << e) - 1);
	float v = exp ? ldexpf((float)(mant | 1u << m), (int)exp - bias - (int)m)
		      : ldexpf((float)mant, 1 - bias - (int)m);

	return code >> (e + m) & 1 ? -v : v;
}

static float
f8_f32(enum dtype d, unsigned c)
{
	switch (d) {
	case DT_F8_E4M3:
		return (c & 0x7f) == 0x7f ? NAN : small_float(c, 4, 3, 7);
	case DT_F8_E5M2:
		if ((c & 0x7c) != 0x7c)
			return small_float(c, 5, 2, 15);
		return c & 3 ? NAN : c & 0x80 ? -INFINITY : INFINITY;
	case DT_F8_E4M3FNUZ:
		return c == 0x80 ? NAN : small_float(c, 4, 3, 8);
	case DT_F8_E5M2FNUZ:
		return c == 0x80 ? NAN : small_float(c, 5, 2, 16);
	default:	/* F8_E8M0 */
		return c == 0xff ? NAN : ldexpf(1, (int)c - 127);
	}
}

/* Codes of `bits` bits from a little-endian stream. */
static unsigned
sub_byte(const uint8_t *p, uint64_t i, unsigned bits)
{
	uint64_t at = i * bits;
	unsigned shift = (unsigned)(at % 8), v = p[at / 8] >> shift;

	if (shift + bits > 8)
		v |= (unsigned)p[at / 8 + 1] << (8 - shift);
	return v & ((1u << bits) - 1);
}

#define LOAD(type) ({ type v_; memcpy(&v_, p + i * sizeof(v_), sizeof(v_)); (float)v_; })

static float
element(enum dtype d, const uint8_t *p, uint64_t i)
{
	switch (d) {
	case DT_BOOL:
	case DT_U8:
		return (float)p[i];
	case DT_I8:
		return LOAD(int8_t);
	case DT_U16:
		return LOAD(uint16_t);
	case DT_I16:
		return LOAD(int16_t);
	case DT_U32:
		return LOAD(uint32_t);
	case DT_I32:
		return LOAD(int32_t);
	case DT_U64:
		return LOAD(uint64_t);
	case DT_I64:
		return LOAD(int64_t);
	case DT_F64:
		return LOAD(double);
	case DT_C64:
		i *= 2;
		return LOAD(float);
	case DT_F6_E2M3:
		return small_float(sub_byte(p, i, 6), 2, 3, 1);
	case DT_F6_E3M2:
		return small_float(sub_byte(p, i, 6), 3, 2, 3);
	case DT_F4:
		return small_float(sub_byte(p, i, 4), 2, 1, 1);
	default:
		return f8_f32(d, p[i]);
	}
}

void
dtype_to_f32(enum dtype d, const void *src, uint64_t n, float *dst)
{
	switch (d) {
	case DT_F32:
		memcpy(dst, src, n * sizeof(*dst));
		break;
	case DT_F16:
		tb_f16_to_f32(src, n, dst);
		break;
	case DT_BF16:
		tb_bf16_to_f32(src, n, dst);
		break;
	default:
		for (uint64_t i = 0; i < n; i++)
			dst[i] = element(d, src, i);
	}
}
