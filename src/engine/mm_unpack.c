/* mm_unpack.c - rows of codes become panels of bytes and of their scales: 16 rows' are
 * turned, a lane a row. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include "src/engine/mm_codes.h"

/* Scales of 16 rows, as many groups: groups become rows; each as often as it has steps. */
INLINE void
put_factors(__m512i r[16], float *to, uint32_t groups, uint32_t steps)
{
	transpose_avx512(r);
	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t s = 0; s < steps; s++)
			_mm512_store_si512(to + (g * steps + s) * MM_ROWS, r[g]);
}

INLINE void
unpack_factors(struct mm_type t, bool minima, uint32_t size, const struct mm_x *x,
	       const struct mm_part *part, const struct mm_panel *to)
{
	const uint32_t steps = size / x->step, groups = part->n / size, first = part->col / size;

	for (uint32_t g = 0; g < groups; g += 16) {
		uint32_t n = groups - g < 16 ? groups - g : 16;

		for (unsigned half = 0; half < 2; half++) {
			size_t at = (size_t)g * steps * MM_ROWS + 16 * half;
			__m512i scale[16], bias[16];

			for (unsigned i = 0; i < 16; i++) {
				uint32_t k = 16 * half + i < part->rows ? 16 * half + i : part->rows - 1;
				struct mm_factors f = factors16(t, part->w, part->first + k, first + g, n);

				scale[i] = _mm512_castps_si512(f.scale);
				bias[i] = _mm512_castps_si512(f.bias);
			}
			put_factors(scale, to->scale + at, n, steps);
			if (minima)
				put_factors(bias, to->bias + at, n, steps);
		}
	}
}

INLINE void
unpack(struct mm_type t, bool minima, uint32_t size, const struct mm_x *x,
       const struct mm_part *part, const struct mm_panel *to)
{
	const uint64_t bytes = matrix_row_bytes(part->w);

	for (unsigned i = 0; i < MM_ROWS; i++) {
		uint32_t r = part->first + (i < part->rows ? i : part->rows - 1);
		char *out = to->tiles + i / 16 * MM_TILE + i % 16 * 64;

		for (uint32_t c = 0; c < part->n; c += 64, out += 2 * MM_TILE)
			_mm512_store_si512(out, codes64(t, part->w->codes + bytes * r, part->col + c,
							part->n - c));
	}
	for (uint32_t k = 0; k < (part->n + 63) / 64 * 2; k++)
		transpose_tile(to->tiles + (size_t)k * MM_TILE);
	unpack_factors(t, minima, size, x, part, to);
}

#define UNPACK(name, type, minima, size, off) \
	void \
	mm_unpack_##name(const struct mm_x *x, const struct mm_part *part, \
			 const struct mm_panel *to) \
	{ \
		unpack(type, minima, size ? size : part->w->scheme.group, x, part, to); \
	}
MM_TYPE_LIST(UNPACK)
