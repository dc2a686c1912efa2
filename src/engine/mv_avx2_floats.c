/* mv_avx2_floats.c - what becomes F32 in a step or two: plain rows, int8, mxfp8.
 * x stays as it is. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx2.h"

INLINE float
row_plain(enum dtype d, const uint8_t *p, const float *x, uint32_t cols)
{
	const size_t size = d == DT_F32 ? 4 : 2;
	__m256 s[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
			_mm256_setzero_ps() };
	float tail[8] = { 0 };
	uint8_t part[32] = { 0 };
	uint32_t c = 0;

	for (; cols - c >= 32; c += 32) {
		prefetch(p + c * size + AHEAD_BYTES);
		if (size == 4)
			prefetch(p + c * size + AHEAD_BYTES + 64);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < 4; i++)
			s[i] = _mm256_fmadd_ps(load_plain(d, p + (c + 8 * i) * size),
					       _mm256_loadu_ps(x + c + 8 * i), s[i]);
	}
	for (; cols - c >= 8; c += 8)
		s[0] = _mm256_fmadd_ps(load_plain(d, p + c * size), _mm256_loadu_ps(x + c), s[0]);
	if (c < cols) {
		memcpy(part, p + c * size, (cols - c) * size);
		memcpy(tail, x + c, (cols - c) * sizeof(float));
		s[1] = _mm256_fmadd_ps(load_plain(d, part), _mm256_loadu_ps(tail), s[1]);
	}
	return sum_of(_mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
}

#define PLAIN(name, dtype, size) \
	MV_ROWS(name, for (uint32_t r = first; r < end; r++) \
		y[r] = row_plain(dtype, w->codes + (size_t)w->cols * (size) * r, x->x, w->cols))
PLAIN(mv_avx2_bf16, DT_BF16, 2)
PLAIN(mv_avx2_f16, DT_F16, 2)
PLAIN(mv_avx2_f32, DT_F32, 4)

/* Sums of x a group. */
bool
mv_avx2_prepare_int8(struct mv_x *x)
{
	uint32_t groups = x->cols / x->group;

	for (uint32_t g = 0; g < groups; g++) {
		__m256 s = _mm256_setzero_ps();

		for (uint32_t i = 0; i < x->group; i += 8)
			s = _mm256_add_ps(s, _mm256_loadu_ps(x->x + (size_t)g * x->group + i));
		x->sum[g] = sum_of(s);
	}
	memset(x->sum + groups, 0, MV_PAD * sizeof(float));
	return true;
}

INLINE __m256
load_bytes(const uint8_t *p)
{
	return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)));
}

/* 16 codes of int8, or of E4M3 times 2^-8, with their x. */
INLINE __m256
dot16(enum scheme_kind kind, const uint8_t *p, const float *x, __m256 sum)
{
	__m256 a, b;

	if (kind == SCHEME_AFFINE) {
		a = load_bytes(p);
		b = load_bytes(p + 8);
	} else {
		__m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p));

		v = e4m3_half(_mm256_slli_epi16(v, 8));
		a = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
		b = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
	}
	sum = _mm256_fmadd_ps(a, _mm256_loadu_ps(x), sum);
	return _mm256_fmadd_ps(b, _mm256_loadu_ps(x + 8), sum);
}

INLINE __m256
dot_group(enum scheme_kind kind, const uint8_t *p, const float *x, uint32_t group)
{
	__m256 a = _mm256_setzero_ps(), b = a;

	for (uint32_t i = 0; i < group; i += 32) {
		prefetch(p + i + AHEAD_BYTES);
		a = dot16(kind, p + i, x + i, a);
		b = dot16(kind, p + i + 16, x + i + 16, b);
	}
	return _mm256_add_ps(a, b);
}

INLINE void
rows_bytes(enum scheme_kind kind, const struct matrix *w, const struct mv_x *x, float *y,
	   uint32_t first, uint32_t end)
{
	const uint32_t group = w->scheme.group, groups = w->cols / group;
	const size_t size = mv_scale_size(w->scale_dtype);

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)w->cols * r;
		__m256 acc = _mm256_setzero_ps(), rest = acc;

		for (uint32_t g = 0; g < groups; g += 8) {
			const size_t at = ((size_t)groups * r + g) * size;
			const uint32_t n = groups - g < 8 ? groups - g : 8;
			float scale[8];

			_mm256_storeu_ps(scale, load_scales(kind, w->scale_dtype, w->scales + at,
							    n));
			if (kind == SCHEME_AFFINE)
				rest = _mm256_fmadd_ps(
					load_scales(kind, w->scale_dtype, w->biases + at, n),
					_mm256_loadu_ps(x->sum + g), rest);
			for (uint32_t i = 0; i < n; i++) {
				const size_t col = (size_t)(g + i) * group;

				acc = _mm256_fmadd_ps(
					dot_group(kind, codes + col, x->x + col, group),
					_mm256_set1_ps(scale[i]), acc);
			}
		}
		if (kind != SCHEME_AFFINE)
			acc = _mm256_mul_ps(acc, _mm256_set1_ps(256));
		y[r] = sum_of(_mm256_add_ps(acc, rest));
	}
}

MV_ROWS(mv_avx2_int8, rows_bytes(SCHEME_AFFINE, w, x, y, first, end))
MV_ROWS(mv_avx2_mxfp8, rows_bytes(SCHEME_MXFP8, w, x, y, first, end))
