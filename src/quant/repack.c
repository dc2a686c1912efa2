#include "config.h"

#include "src/quant/repack.h"

#include <math.h>
#include <string.h>

#include "src/base/half.h"
#include "src/format/ggml_type.h"
#include "src/quant/bits.h"

#define BLOCK 32u		/* of all of them */

/* Codes of a block in order, one a byte. */
typedef void codes_fn(const uint8_t *p, uint8_t code[BLOCK]);

/* The low nibbles are the first half. */
static void
nibbles(const uint8_t *p, uint8_t code[BLOCK])
{
	for (unsigned i = 0; i < BLOCK / 2; i++) {
		code[i] = p[i] & 15;
		code[i + BLOCK / 2] = p[i] >> 4;
	}
}

/* A fifth bit of each comes first, in four bytes. */
static void
fives(const uint8_t *p, uint8_t code[BLOCK])
{
	nibbles(p + 4, code);
	for (unsigned i = 0; i < BLOCK; i++)
		code[i] |= (uint8_t)((p[i / 8] >> i % 8 & 1) << 4);
}

/* Signed ones, from -128 on. */
static void
bytes(const uint8_t *p, uint8_t code[BLOCK])
{
	for (unsigned i = 0; i < BLOCK; i++)
		code[i] = p[i] ^ 0x80;
}

static const struct repack_row {
	enum ggml_type type;
	enum scheme_kind kind;
	unsigned bits, bytes;	/* of a code, of a block */
	unsigned codes;		/* where they begin */
	codes_fn *read;
	float zero;		/* the code that stands for 0; < 0: the block has its minimum */
} rows[] = {
	{ GGML_Q4_0, SCHEME_AFFINE, 4, 18, 2, nibbles, 8 },
	{ GGML_Q4_1, SCHEME_AFFINE, 4, 20, 4, nibbles, -1 },
	{ GGML_Q5_0, SCHEME_AFFINE, 5, 22, 2, fives, 16 },
	{ GGML_Q5_1, SCHEME_AFFINE, 5, 24, 4, fives, -1 },
	{ GGML_Q8_0, SCHEME_AFFINE, 8, 34, 2, bytes, 128 },
	{ GGML_MXFP4, SCHEME_MXFP4, 4, 17, 1, nibbles, 0 },
};

static const struct repack_row *
row_of(const struct scheme *blocks)
{
	for (size_t i = 0; scheme_form(blocks) == FORM_BLOCKS && i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].type == blocks->ggml)
			return &rows[i];
	return NULL;
}

bool
repack_scheme(const struct scheme *blocks, struct scheme *out)
{
	const struct repack_row *r = row_of(blocks);

	if (r)
		*out = (struct scheme){ .kind = r->kind, .bits = r->bits, .group = BLOCK };
	return r != NULL;
}

/* bits_pack() of a block, for the widths that most have in a form that compilers make
 * vectors of. */
static void
put_codes(const uint8_t code[BLOCK], unsigned bits, uint8_t *out)
{
	if (bits == 8)
		memcpy(out, code, BLOCK);
	else if (bits == 4)
		for (unsigned i = 0; i < BLOCK / 2; i++)
			out[i] = (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
	else
		bits_pack(code, BLOCK, bits, out);
}

/* false: the bias would be infinite, or the scale is NaN where a block has a number. */
static bool
put_scales(const struct repack_row *r, const uint8_t *p, size_t i, const struct quant_parts *out)
{
	uint16_t d, bias;
	float x;

	if (r->kind == SCHEME_MXFP4) {
		((uint8_t *)out->scales)[i] = *p;
		return *p != 255;
	}
	d = (uint16_t)(p[0] | p[1] << 8);
	bias = (uint16_t)(p[2] | p[3] << 8);
	if (r->zero >= 0) {
		x = -r->zero * tb_f16_f32(d);
		bias = tb_f32_f16(x);
		if (isfinite(x) && !isfinite(tb_f16_f32(bias)))
			return false;
	}
	memcpy((char *)out->scales + 2 * i, &d, 2);
	memcpy((char *)out->biases + 2 * i, &bias, 2);
	return true;
}

size_t
repack(const struct scheme *blocks, const void *src, size_t n, const struct quant_parts *out)
{
	const struct repack_row *r = row_of(blocks);
	const uint8_t *p = src;
	uint8_t code[BLOCK];

	for (size_t i = 0; i < n / BLOCK; i++, p += r->bytes) {
		if (!put_scales(r, p, i, out))
			return i * BLOCK;
		r->read(p + r->codes, code);
		put_codes(code, r->bits, (uint8_t *)out->codes + i * BLOCK * r->bits / 8);
	}
	return n;
}
