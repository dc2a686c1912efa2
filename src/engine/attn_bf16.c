/* attn_bf16.c - products of attention in BF16, for many rows at a time.
 *
 * A register holds pairs of neighbouring elements of KV_BLOCK columns, and is met by
 * one pair of a row: a product of two, added to F32.  Tiles want panels just so. */
#include "config.h"

#include "src/engine/attn_ops.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/target.h"
#include "src/engine/mv.h"

#ifdef __x86_64__
#include <immintrin.h>

TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")

#define ROWS 8			/* 2 panels of each: 16 registers of sums */

#include "src/engine/attn_exp512.h"

/* In turns, `first` in the lower halves. */
static inline __m512i
pair(__m512 first, __m512 second)
{
	const __m512i turns = _mm512_add_epi16(
		_mm512_set1_epi32(16 << 16),
		_mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
						    1, 0), _mm512_set1_epi32(0x10001)));

	return _mm512_permutexvar_epi16(turns, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

static void
round_row(const float *x, float a, size_t n, uint16_t *out)
{
	const __m512 scale = _mm512_set1_ps(a);

	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		__m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + i), scale);

		_mm256_storeu_si256((__m256i_u *)(void *)(out + i), (__m256i)_mm512_cvtneps_pbh(v));
	}
	if (i < n) {		/* masked stores take their time */
		__mmask16 some = (__mmask16)((1u << (n - i)) - 1);
		__mmask16 kept = (__mmask16)((1u << (n - i + 1) / 2 * 2) - 1);
		__m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(some, x + i), scale);

		_mm256_mask_storeu_epi16(out + i, kept, (__m256i)_mm512_cvtneps_pbh(v));
	}
}

static float
weigh(float *s, size_t from, size_t to, size_t n, float *max, float *sum, uint16_t *p)
{
	const float was = *max;
	__m512 most = _mm512_set1_ps(was), acc = _mm512_setzero_ps(), now, down;

	for (size_t i = 0; i < from; i++)
		s[i] = -INFINITY;
	for (size_t i = to; i < n; i++)
		s[i] = -INFINITY;
	for (size_t i = 0; i < n; i += 16)
		most = _mm512_max_ps(_mm512_loadu_ps(s + i), most);
	*max = _mm512_reduce_max_ps(most);
	now = _mm512_set1_ps(*max);
	for (size_t i = 0; i < n; i += 16) {
		__m512 v = attn_exp512(_mm512_sub_ps(_mm512_loadu_ps(s + i), now));

		acc = _mm512_add_ps(acc, v);
		_mm256_storeu_si256((__m256i_u *)(void *)(p + i), (__m256i)_mm512_cvtneps_pbh(v));
	}
	down = attn_exp512(_mm512_sub_ps(_mm512_set1_ps(was), now));
	*sum = *sum * _mm512_cvtss_f32(down) + _mm512_reduce_add_ps(acc);
	return _mm512_cvtss_f32(down);
}

/* Number i on; zeros where there are none. */
static inline __m512
load(struct kv_part part, size_t i, bool there)
{
	const uint16_t *p = (const uint16_t *)part.data + i;

	return there ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(const void *)p))
		     : _mm512_setzero_ps();
}

static void
pack_keys(struct kv_part keys, size_t dim, size_t blocks, uint16_t *out)
{
	for (size_t b = 0; b < blocks; b++)
		for (size_t i = 0; i < dim; i += 2, out += 2 * KV_BLOCK) {
			size_t at = (b * dim + i) * KV_BLOCK;

			_mm512_storeu_si512(out, pair(load(keys, at, true),
						      load(keys, at + KV_BLOCK, i + 1 < dim)));
		}
}

static void
pack_values(struct kv_part values, size_t columns, size_t n, uint16_t *out)
{
	const size_t pairs = (n + 1) / 2;

	for (size_t i = 0; i < pairs; i++)
		for (size_t at = 0; at < columns; at += KV_BLOCK) {
			size_t from = 2 * i * columns + at;

			_mm512_storeu_si512(out + (at / KV_BLOCK * pairs + i) * 2 * KV_BLOCK,
					    pair(load(values, from, true),
						 load(values, from + columns, 2 * i + 1 < n)));
		}
}

/* gcc 12 copies accumulators around its own intrinsic. */
static inline void
dot(__m512 *acc, __m512i a, __m512i b)
{
	__asm__("vdpbf16ps %2, %1, %0" : "+v"(*acc) : "v"(a), "v"(b));
}

static inline __attribute__((always_inline)) void
product_tile(const uint16_t *a, size_t lda, const uint16_t *panels, size_t pairs, float *c,
	     size_t ldc, int add, size_t rows, size_t wide)
{
	__m512 acc[ROWS][2];

#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (size_t w = 0; w < wide; w++)
			acc[r][w] = add ? _mm512_loadu_ps(c + r * ldc + w * KV_BLOCK)
					: _mm512_setzero_ps();
	for (size_t i = 0; i < pairs; i++) {
		__m512i b[2];

#pragma GCC unroll 2
		for (size_t w = 0; w < wide; w++)
			b[w] = _mm512_loadu_si512(panels + (w * pairs + i) * 2 * KV_BLOCK);
#pragma GCC unroll 8
		for (size_t r = 0; r < rows; r++) {
			int32_t two;
			__m512i both;

			memcpy(&two, a + r * lda + 2 * i, sizeof(two));
			both = _mm512_set1_epi32(two);
#pragma GCC unroll 2
			for (size_t w = 0; w < wide; w++)
				dot(&acc[r][w], both, b[w]);
		}
	}
#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (size_t w = 0; w < wide; w++)
			_mm512_storeu_ps(c + r * ldc + w * KV_BLOCK, acc[r][w]);
}

/* Two panels at a time, all rows: they stay in the nearest cache. */
static inline __attribute__((always_inline)) void
panels_rows(const uint16_t *a, size_t lda, size_t rows, const uint16_t *panels, size_t pairs,
	    float *c, size_t ldc, int add, size_t wide)
{
	size_t r = 0;

	for (; r + ROWS <= rows; r += ROWS)
		product_tile(a + r * lda, lda, panels, pairs, c + r * ldc, ldc, add, ROWS, wide);
	for (; r < rows; r++)
		product_tile(a + r * lda, lda, panels, pairs, c + r * ldc, ldc, add, 1, wide);
}

static void
product(const uint16_t *a, size_t lda, size_t rows, const uint16_t *panels, size_t npanels,
	size_t pairs, float *c, size_t ldc, int add)
{
	const size_t panel = pairs * 2 * KV_BLOCK;
	size_t p = 0;

	for (; p + 2 <= npanels; p += 2)
		panels_rows(a, lda, rows, panels + p * panel, pairs, c + p * KV_BLOCK, ldc, add, 2);
	if (p < npanels)
		panels_rows(a, lda, rows, panels + p * panel, pairs, c + p * KV_BLOCK, ldc, add, 1);
}

TARGET_END

static const struct attn_bf16 ops = { round_row, weigh, pack_keys, pack_values, product };

const struct attn_bf16 *
attn_bf16(void)
{
	return mv_level() >= MV_AVX512_BF16 ? &ops : NULL;
}
#else
const struct attn_bf16 *
attn_bf16(void)
{
	return NULL;
}
#endif
