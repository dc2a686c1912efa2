/* mm_values.c - rows of codes become panels of BF16, for tiles that add up whole
 * stretches and so have no place for scales. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include "src/engine/mm_bf16.h"
#include "src/engine/mm_codes.h"

/* 16 codes from number 16 k on as numbers. */
INLINE __m512
values16(__m512i codes, unsigned k, const float *scale, const float *bias)
{
	const __m512i at = _mm512_setr_epi64(2 * k, 2 * k + 1, 0, 0, 0, 0, 0, 0);
	__m128i v = _mm512_castsi512_si128(_mm512_permutexvar_epi64(at, codes));

	return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(v)),
			       _mm512_set1_ps(*scale), _mm512_set1_ps(*bias));
}

/* Scales and biases of up to 16 groups of row r; what codes are too large by is taken off. */
INLINE void
row_factors(struct mm_type t, int off, const struct matrix *w, uint32_t r, uint32_t group,
	    uint32_t n, float *scale, float *bias)
{
	struct mm_factors f = factors16(t, w, r, group, n);

	if (off)
		f.bias = _mm512_mul_ps(f.scale, _mm512_set1_ps((float)-off));
	_mm512_store_ps(scale, f.scale);
	_mm512_store_ps(bias, f.bias);
}

INLINE void
unpack_row(struct mm_type t, uint32_t size, int off, const struct mm_part *part, uint32_t r,
	   char *out)
{
	const uint8_t *row = part->w->codes + matrix_row_bytes(part->w) * r;
	_Alignas(64) float scale[16], bias[16];

	for (uint32_t c = 0; c < part->n; c += 64, out += 4 * MM_TILE) {
		uint32_t in = c % (16 * size), left = (part->n - c + size - 1) / size;
		__m512i codes = codes64(t, row, part->col + c, part->n - c), pair[2];

		if (!in)
			row_factors(t, off, part->w, r, (part->col + c) / size,
				    left < 16 ? left : 16, scale, bias);
#pragma GCC unroll 2
		for (unsigned k = 0; k < 2; k++) {
			uint32_t a = (in + 32 * k) / size, b = (in + 32 * k + 16) / size;

			pair[k] = (__m512i)_mm512_cvtne2ps_pbh(
				values16(codes, 2 * k + 1, scale + b, bias + b),
				values16(codes, 2 * k, scale + a, bias + a));
		}
		_mm512_store_si512(out, pair[0]);
		if (part->n - c <= 32)
			break;
		_mm512_store_si512(out + 2 * MM_TILE, pair[1]);
	}
}

#define UNPACK(name, type, minima, size, off) \
	void \
	mm_values_##name(const struct mm_x *x, const struct mm_part *part, \
			 const struct mm_panel *to) \
	{ \
		(void)x; \
		for (unsigned i = 0; i < MM_ROWS; i++) \
			unpack_row(type, size ? size : part->w->scheme.group, off, part, \
				   part->first + (i < part->rows ? i : part->rows - 1), \
				   to->tiles + i / 16 * MM_TILE + i % 16 * 64); \
	}
MM_TYPE_LIST(UNPACK)

void
mm_rows_bf16(const struct mm_x *x, const struct mm_part *part, const struct mm_panel *to)
{
	(void)x;
	unpack_rows(part, to);
}
