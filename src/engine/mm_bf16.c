/* mm_bf16.c - pairs of BF16 times pairs of BF16, VDPBF16PS, for many tokens.
 *
 * 32 rows meet 12 tokens: 24 accumulators of floats, into which whole stretches are
 * added.  Whatever has no tile of its own is decoded and rounded. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include "src/engine/mm_bf16.h"

#define TOKENS 12

static size_t
padded_pairs(const struct mm_x *x)
{
	return ((size_t)x->cols + MM_PAIRS - 1) / MM_PAIRS * MM_PAIRS / 2;
}

/* Pairs in turn, of all tokens side by side. */
static size_t
bf16_x_size(const struct mm_x *x)
{
	return padded_pairs(x) * TOKENS * sizeof(uint32_t);
}

static bool
bf16_pack(const struct mm_x *x, size_t block)
{
	uint32_t *to = (uint32_t *)(x->data + bf16_x_size(x) * block);
	size_t first = block * TOKENS, left = x->m - first;

	return pack_tokens(x, first, left < TOKENS ? left : TOKENS, TOKENS, to,
			   MM_PAIRS / 2 * TOKENS);
}

#define DOT(acc, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))

INLINE void
tile(unsigned n, const struct mm_job *j, const uint32_t *x, float *y)
{
	const uint32_t tiles = (j->part.n + MM_PAIRS - 1) / MM_PAIRS;
	const char *w = j->panel->tiles;
	__m512 sum[TOKENS][2];

#pragma GCC unroll 12
	for (unsigned i = 0; i < n; i++)
		sum[i][0] = sum[i][1] = _mm512_setzero_ps();
	for (uint32_t t = 0; t < tiles; t++, w += MM_TILE) {
		for (unsigned u = 0; u < MM_PAIRS / 2; u++, w += 64, x += TOKENS) {
			__m512i w0 = _mm512_load_si512(w), w1 = _mm512_load_si512(w + MM_TILE);

#pragma GCC unroll 12
			for (unsigned i = 0; i < n; i++) {
				__m512i pair = _mm512_set1_epi32((int)x[i]);

				DOT(sum[i][0], w0, pair);
				DOT(sum[i][1], w1, pair);
			}
		}
	}
#pragma GCC unroll 12
	for (unsigned i = 0; i < n; i++) {
#pragma GCC unroll 2
		for (unsigned h = 0; h < 2; h++)
			put_half(j, h, y + (size_t)i * j->part.w->rows, sum[i][h]);
	}
}

static void
bf16_multiply(const struct mm_job *j)
{
	for (size_t b = j->block; b < j->end; b++) {
		const uint32_t *x = (const uint32_t *)(j->x->data + bf16_x_size(j->x) * b) +
				    (size_t)j->part.col / 2 * TOKENS;
		float *y = j->y + b * TOKENS * j->part.w->rows + j->part.first;

		MM_TILE_OF(j->x->m - b * TOKENS, tile, j, x, y)
	}
}

void
mm_unpack_bf16(const struct mm_x *x, const struct mm_part *part, const struct mm_panel *to)
{
	(void)x;
	unpack_rows(part, to);
	for (uint32_t k = 0; k < (part->n + MM_PAIRS - 1) / MM_PAIRS * 2; k++)
		transpose_tile(to->tiles + (size_t)k * MM_TILE);
}

const struct mm_tile mm_bf16 = { .tokens = TOKENS, .x_size = bf16_x_size, .pack = bf16_pack,
				 .multiply = bf16_multiply,
				.instruction = "vdpbf16ps" };
