#include "config.h"

#include "src/quant/peak.h"

#include <string.h>

#include "src/format/ggml_type.h"
#include "src/quant/ggml_fields.h"

typedef int16_t words __attribute__((vector_size(16)));
typedef int32_t longs __attribute__((vector_size(16)));

/* The largest of n numbers without their signs: as whole numbers they are in the order of
 * their magnitudes, NaN and infinities last. */
static uint32_t
largest16(const uint8_t *p, size_t n)
{
	const words mask = { 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff };
	words a[4] = { { 0 } };
	int16_t top = 0;
	size_t i = 0;

	for (; i + 32 <= n; i += 32) {
		words v[4];

		memcpy(v, p + 2 * i, sizeof(v));
		for (int k = 0; k < 4; k++) {
			words x = v[k] & mask, above = x > a[k];

			a[k] = (x & above) | (a[k] & ~above);
		}
	}
	for (int k = 0; k < 32; k++)
		top = a[k / 8][k % 8] > top ? a[k / 8][k % 8] : top;
	for (; i < n; i++) {
		int16_t x = (int16_t)((p[2 * i] | p[2 * i + 1] << 8) & 0x7fff);

		top = x > top ? x : top;
	}
	return (uint32_t)top;
}

static uint32_t
largest32(const uint8_t *p, size_t n)
{
	const longs mask = { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX };
	longs a[4] = { { 0 } };
	int32_t top = 0;
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		longs v[4];

		memcpy(v, p + 4 * i, sizeof(v));
		for (int k = 0; k < 4; k++) {
			longs x = v[k] & mask, above = x > a[k];

			a[k] = (x & above) | (a[k] & ~above);
		}
	}
	for (int k = 0; k < 16; k++)
		top = a[k / 4][k % 4] > top ? a[k / 4][k % 4] : top;
	for (; i < n; i++) {
		int32_t x;

		memcpy(&x, p + 4 * i, sizeof(x));
		x &= INT32_MAX;
		top = x > top ? x : top;
	}
	return (uint32_t)top;
}

static bool
found_bytes(const uint8_t *p, size_t n, uint8_t mask, uint8_t from)
{
	uint8_t top = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t x = p[i] & mask;

		top = x > top ? x : top;
	}
	return top >= from;
}

/* Of F64 the first half has the exponent. */
static bool
found_doubles(const uint8_t *p, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t x;

		memcpy(&x, p + 8 * i + 4, sizeof(x));
		found |= (x & INT32_MAX) >= 0x408f4000;
	}
	return found;
}

/* Scales under which codes could be as large as PEAK, and those that are no numbers: F16 from
 * 3/16 (Q6_K multiplies by 127 * 32), powers of two from 256, E4M3 from 128. */
static bool
found_in_field(const struct ggml_field *f, const uint8_t *p, size_t n, unsigned step)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = p + i * step + f->off;

		if (f->kind == FIELD_F16)
			found |= ((at[0] | at[1] << 8) & 0x7fff) >= 0x3200;
		else if (f->kind == FIELD_E8M0)
			found |= *at >= 127 + 8;
		else if (f->kind == FIELD_UE4M3)
			for (unsigned k = 0; k < f->len; k++)
				found |= (at[k] & 0x7f) >= 0x70;
	}
	return found;
}

/* Those of IQ1_M lie apart. */
static bool
has_spread_scale(unsigned type)
{
	const struct ggml_field *f;
	bool scale = false;

	for (unsigned i = 0; (f = ggml_field(type, i)); i++) {
		if (f->kind == FIELD_D_SPREAD)
			return true;
		scale |= f->kind == FIELD_F16 || f->kind == FIELD_E8M0 || f->kind == FIELD_UE4M3;
	}
	return !scale;
}

unsigned
peak_unit(const struct scheme *s)
{
	const struct ggml_info *info;

	if (s->kind == SCHEME_GGML) {
		info = ggml_info(s->ggml);
		return info && !has_spread_scale(s->ggml) ? info->bytes : 0;
	}
	if (!scheme_is_plain(s))
		return 0;
	switch (s->dtype) {
	case DT_F16: case DT_BF16: case DT_F32: case DT_F64:
	case DT_F8_E4M3: case DT_F8_E5M2: case DT_F8_E8M0:
		return dtype_bits(s->dtype) / 8;
	default:
		return 0;
	}
}

bool
peak_found(const struct scheme *s, const uint8_t *p, size_t n)
{
	const struct ggml_field *f;
	unsigned step = peak_unit(s);

	if (s->kind == SCHEME_GGML) {
		for (unsigned i = 0; (f = ggml_field(s->ggml, i)); i++)
			if (found_in_field(f, p, n, step))
				return true;
		return false;
	}
	switch (s->dtype) {
	case DT_F16:
		return largest16(p, n) >= 0x63d0;
	case DT_BF16:
		return largest16(p, n) >= 0x447a;
	case DT_F32:
		return largest32(p, n) >= 0x447a0000;
	case DT_F64:
		return found_doubles(p, n);
	case DT_F8_E4M3:
		return found_bytes(p, n, 0x7f, 0x7f);
	case DT_F8_E5M2:
		return found_bytes(p, n, 0x7f, 0x64);	/* 1024 */
	case DT_F8_E8M0:
		return found_bytes(p, n, 0xff, 127 + 10);
	default:
		return true;
	}
}

bool
peak_zero(enum dtype d, const uint8_t *p, size_t n)
{
	unsigned size = dtype_bits(d) / 8;
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t x = 0;

		memcpy(&x, p + i * size, size == 2 ? 2 : 4);
		found |= !(x & (size == 2 ? 0x7fffu : 0x7fffffffu));
	}
	return found;
}
