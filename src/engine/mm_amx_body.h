/* mm_amx_body.h - tiles of BF16 times tiles of BF16, for many tokens.
 *
 * Rows of W as they lie are the left side, pairs of 16 tokens the right one: 32 rows meet
 * 32 tokens in four tiles of floats, into which a whole stretch of columns is added.
 *
 * Compiled for the CPU's tiles (mm_amx.c), and by a test for tiles in memory.  Both say
 * what TILES_BEGIN(), TILES_END(), TILE_ZERO(t), TILE_LOAD(t, p), TILE_STORE(t, p) and
 * TILE_DOT(c, a, b) are; tiles are numbers, 1 KB without gaps. */
#include "src/engine/mm_bf16.h"

#define TOKENS 32
#define TILE_PAIRS (MM_TILE / sizeof(uint32_t))		/* 16 pairs of 16 tokens */

/* Of 32 columns: the first 16 tokens' tile, then that of the others. */
static size_t
amx_x_size(const struct mm_x *x)
{
	return ((size_t)x->cols + MM_PAIRS - 1) / MM_PAIRS * 2 * MM_TILE;
}

static bool
amx_pack(const struct mm_x *x, size_t block)
{
	uint32_t *to = (uint32_t *)(x->data + amx_x_size(x) * block);
	size_t first = block * TOKENS, left = x->m - first;

	if (!pack_tokens(x, first, left < 16 ? left : 16, 16, to, 2 * TILE_PAIRS))
		return false;
	left = left > 16 ? left - 16 : 0;
	return pack_tokens(x, first + 16, left < 16 ? left : 16, 16, to + TILE_PAIRS,
			   2 * TILE_PAIRS);
}

/* Products of 16 rows and 16 tokens, a row of them after the other. */
static void
put_tile(const struct mm_job *j, unsigned half, const char *tile, size_t token)
{
	__m512i r[16];

	for (unsigned i = 0; i < 16; i++)
		r[i] = _mm512_load_si512(tile + 64 * i);
	transpose_avx512(r);
	for (unsigned i = 0; i < 16 && token + i < j->x->m; i++)
		put_half(j, half, j->y + (token + i) * j->part.w->rows + j->part.first,
			 _mm512_castsi512_ps(r[i]));
}

/* Up to 16 tokens. */
static void
dot_narrow(const char *w, const char *x, uint32_t n)
{
	TILE_ZERO(0);
	TILE_ZERO(2);
	for (uint32_t t = 0; t < n; t++, w += 2 * MM_TILE, x += 2 * MM_TILE) {
		TILE_LOAD(4, w);
		TILE_LOAD(6, x);
		TILE_DOT(0, 4, 6);
		TILE_LOAD(5, w + MM_TILE);
		TILE_DOT(2, 5, 6);
	}
}

static void
dot_wide(const char *w, const char *x, uint32_t n)
{
	TILE_ZERO(0);
	TILE_ZERO(1);
	TILE_ZERO(2);
	TILE_ZERO(3);
	for (uint32_t t = 0; t < n; t++, w += 2 * MM_TILE, x += 2 * MM_TILE) {
		TILE_LOAD(4, w);
		TILE_LOAD(6, x);
		TILE_DOT(0, 4, 6);
		TILE_LOAD(7, x + MM_TILE);
		TILE_DOT(1, 4, 7);
		TILE_LOAD(5, w + MM_TILE);
		TILE_DOT(2, 5, 6);
		TILE_DOT(3, 5, 7);
	}
}

static void
amx_multiply(const struct mm_job *j)
{
	const uint32_t n = (j->part.n + MM_PAIRS - 1) / MM_PAIRS;
	_Alignas(64) char out[4][MM_TILE];

	TILES_BEGIN();
	for (size_t b = j->block; b < j->end; b++) {
		const char *x = j->x->data + amx_x_size(j->x) * b +
				(size_t)j->part.col / MM_PAIRS * 2 * MM_TILE;
		bool wide = j->x->m - b * TOKENS > 16;

		if (wide)
			dot_wide(j->panel->tiles, x, n);
		else
			dot_narrow(j->panel->tiles, x, n);
		TILE_STORE(0, out[0]);
		TILE_STORE(2, out[2]);
		put_tile(j, 0, out[0], b * TOKENS);
		put_tile(j, 1, out[2], b * TOKENS);
		if (!wide)
			continue;
		TILE_STORE(1, out[1]);
		TILE_STORE(3, out[3]);
		put_tile(j, 0, out[1], b * TOKENS + 16);
		put_tile(j, 1, out[3], b * TOKENS + 16);
	}
	TILES_END();
}
