/* mv_avx2_nibbles.c - 4-bit codes times digits, by VPMADDUBSW.
 *
 * Two products of a code (at most 24) and a digit make at most 6096, so that the
 * sums of even and odd codes still fit 16 bits; VPMADDWD with 256 and with 1 then
 * adds pairs up and joins the digits at once.  See mv_avx512_nibbles.c for E2M1. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx2.h"
#include "src/engine/mv_digits.h"

#define CHUNK 64		/* codes of a vector */

/* The integers of a group, in order; *sum is unit times their sum. */
INLINE bool
to_integers(const float *x, uint32_t n, int16_t *q, float *unit, float *sum)
{
	uint32_t high = largest_magnitude(x, n);
	__m256i total = _mm256_setzero_si256();
	int32_t sums[8], all = 0;
	__m256 steps;
	float max;

	memcpy(&max, &high, sizeof(max));
	if (!mv_digits_fit(max))
		return false;
	steps = _mm256_set1_ps(max > 0 ? MV_DIGITS_MAX / max : 0);
	for (uint32_t i = 0; i < n; i += 8) {
		__m256i v = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), steps));

		total = _mm256_add_epi32(total, v);
		_mm_storeu_si128((void *)(q + i), _mm_packs_epi32(_mm256_castsi256_si128(v),
								  _mm256_extracti128_si256(v, 1)));
	}
	_mm256_storeu_si256((void *)sums, total);
	for (unsigned i = 0; i < 8; i++)
		all += sums[i];
	*unit = max / MV_DIGITS_MAX;
	*sum = *unit * (float)all;
	return true;
}

/* 8 integers as 4 even and 4 odd digits, high and low: bytes `at` of the four parts. */
INLINE void
put_digits(__m128i q, int8_t *out, unsigned at)
{
	const __m128i deal = _mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14,
					   -1, -1, -1, -1, -1, -1, -1, -1);
	__m128i h = _mm_srai_epi16(_mm_add_epi16(q, _mm_set1_epi16(128)), 8);
	__m128i l = _mm_sub_epi16(q, _mm_slli_epi16(h, 8));
	uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_shuffle_epi8(h, deal));
	uint64_t low = (uint64_t)_mm_cvtsi128_si64(_mm_shuffle_epi8(l, deal));

	memcpy(out + at, &high, 4);
	high >>= 32;
	memcpy(out + 32 + at, &high, 4);
	memcpy(out + 64 + at, &low, 4);
	low >>= 32;
	memcpy(out + 96 + at, &low, 4);
}

/* Of every 64 elements the high digits of even and of odd ones, then the low ones. */
bool
mv_avx2_prepare_nibbles(struct mv_x *x)
{
	const uint32_t groups = x->cols / x->group;
	int16_t q[MV_BLOCK];

	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		uint32_t n = x->cols - c < MV_BLOCK ? x->cols - c : MV_BLOCK;

		memset(q + n, 0, (MV_BLOCK - n) * sizeof(*q));
		for (uint32_t i = 0, j = c / x->group; i < n; i += x->group, j++)
			if (!to_integers(x->x + c + i, x->group, q + i, &x->unit[j], &x->sum[j]))
				return false;
		for (unsigned i = 0; i < MV_BLOCK; i += 8)
			put_digits(_mm_loadu_si128((const void *)(q + i)),
				   x->digit + 2 * ((size_t)c + i / CHUNK * CHUNK), i % CHUNK / 2);
	}
	memset(x->unit + groups, 0, MV_PAD * sizeof(float));
	memset(x->sum + groups, 0, MV_PAD * sizeof(float));
	return true;
}

INLINE __m256i
dot_chunk(__m256i even, __m256i odd, const __m256i *q)
{
	__m256i high = _mm256_add_epi16(_mm256_maddubs_epi16(even, q[0]),
					_mm256_maddubs_epi16(odd, q[1]));
	__m256i low = _mm256_add_epi16(_mm256_maddubs_epi16(even, q[2]),
				       _mm256_maddubs_epi16(odd, q[3]));

	return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(256)),
				_mm256_madd_epi16(low, _mm256_set1_epi16(1)));
}

bool
mv_avx2_prepare_e2m1(struct mv_x *x)
{
	const __m256i off = _mm256_set1_epi8(MV_E2M1_OFFSET);

	if (!mv_avx2_prepare_nibbles(x))
		return false;
	for (uint32_t c = 0; c < x->cols; c += CHUNK) {
		__m256i sum = dot_chunk(off, off, (const __m256i *)(x->digit + 2 * (size_t)c));

		_mm256_store_si256((void *)(x->start + c / 8),
				   _mm256_sub_epi32(_mm256_setzero_si256(), sum));
	}
	return true;
}

INLINE __m256i
codes_to_bytes(enum scheme_kind kind, __m256i nibbles)
{
	const __m256i e2m1 = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
	__m256i v = _mm256_and_si256(nibbles, _mm256_set1_epi8(15));

	return kind == SCHEME_AFFINE ? v : _mm256_shuffle_epi8(e2m1, v);
}

INLINE __m256i
load_codes(const uint8_t *p, uint32_t left)
{
	uint8_t part[32] = { 0 };

	if (left < 32) {
		memcpy(part, p, left);
		p = part;
	}
	return _mm256_loadu_si256((const void *)p);
}

/* n <= 8 groups of a row from column `col` on. */
INLINE __m256
groups8(enum scheme_kind kind, const struct mv_x *x, const uint8_t *p, uint32_t col, uint32_t n,
	__m256 factors, __m256 acc)
{
	const __m128i shift = _mm_cvtsi32_si128(__builtin_ctz(x->group));
	const uint32_t end = col + n * x->group;
	__m256i element = _mm256_setr_epi32(0, 8, 16, 24, 32, 40, 48, 56);

	for (; col < end; col += CHUNK, p += CHUNK / 2) {
		__m256i v = load_codes(p, (end - col) / 2);
		__m256i lane = _mm256_srl_epi32(element, shift);
		__m256i t = dot_chunk(codes_to_bytes(kind, v),
				      codes_to_bytes(kind, _mm256_srli_epi16(v, 4)),
				      (const __m256i *)(x->digit + 2 * (size_t)col));

		prefetch(p + AHEAD_BYTES);
		if (kind != SCHEME_AFFINE)
			t = _mm256_add_epi32(
				t, _mm256_load_si256((const void *)(x->start + col / 8)));
		acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(t),
				      _mm256_permutevar8x32_ps(factors, lane), acc);
		element = _mm256_add_epi32(element, _mm256_set1_epi32(CHUNK));
	}
	return acc;
}

INLINE void
rows_nibbles(enum scheme_kind kind, const struct matrix *w, const struct mv_x *x, float *y,
	     uint32_t first, uint32_t end)
{
	const uint32_t groups = w->cols / w->scheme.group;
	const size_t size = mv_scale_size(w->scale_dtype);

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)(w->cols / 2) * r;
		__m256 acc = _mm256_setzero_ps();

		for (uint32_t g = 0; g < groups; g += 8) {
			const size_t at = ((size_t)groups * r + g) * size;
			const uint32_t n = groups - g < 8 ? groups - g : 8;
			const uint32_t col = g * w->scheme.group;
			__m256 f = _mm256_mul_ps(
				load_scales(kind, w->scale_dtype, w->scales + at, n),
				_mm256_loadu_ps(x->unit + g));

			if (kind == SCHEME_AFFINE)
				acc = _mm256_fmadd_ps(
					load_scales(kind, w->scale_dtype, w->biases + at, n),
					_mm256_loadu_ps(x->sum + g), acc);
			else	/* codes are doubled */
				f = _mm256_mul_ps(f, _mm256_set1_ps(0.5f));
			acc = groups8(kind, x, codes + col / 2, col, n, f, acc);
		}
		y[r] = sum_of(acc);
	}
}

MV_ROWS(mv_avx2_int4, rows_nibbles(SCHEME_AFFINE, w, x, y, first, end))
MV_ROWS(mv_avx2_mxfp4, rows_nibbles(SCHEME_MXFP4, w, x, y, first, end))
MV_ROWS(mv_avx2_nvfp4, rows_nibbles(SCHEME_NVFP4, w, x, y, first, end))
