/* simd_avx2.h - the words of simd_avx512.h with 8 lanes. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define SIMD static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define LANES 8

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

SIMD vf v_set(float x) { return _mm256_set1_ps(x); }
SIMD vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
SIMD vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
SIMD vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
SIMD vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
SIMD vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
SIMD vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
SIMD vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
SIMD vf v_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }	/* c - a * b */
SIMD vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
SIMD vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), a); }
SIMD vm v_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
SIMD vm v_ge(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
SIMD vm v_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
SIMD vf v_pick(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }

SIMD vm m_and(vm a, vm b) { return _mm256_and_ps(a, b); }
SIMD int m_any(vm m) { return _mm256_movemask_ps(m) != 0; }
SIMD int m_all(vm m) { return _mm256_movemask_ps(m) == 0xff; }

SIMD vi i_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
SIMD vi i_of(vf a) { return _mm256_castps_si256(a); }
SIMD vf v_of(vi a) { return _mm256_castsi256_ps(a); }
SIMD vi i_and(vi a, vi b) { return _mm256_and_si256(a, b); }
SIMD vi i_or(vi a, vi b) { return _mm256_or_si256(a, b); }
SIMD vi i_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
SIMD vi i_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
SIMD vi i_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
SIMD vi i_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
SIMD vi i_and_or(vi a, vi b, vi c) { return i_or(i_and(a, b), c); }
SIMD vi i_right(vi a, int n) { return _mm256_srli_epi32(a, n); }
SIMD vi i_left(vi a, int n) { return _mm256_slli_epi32(a, n); }
SIMD vi i_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD void i_store(void *p, vi v) { _mm256_storeu_si256((__m256i *)p, v); }
SIMD vm i_gt(vi a, vi b) { return v_of(_mm256_cmpgt_epi32(a, b)); }
SIMD vi i_less(vm m, vi a) { return i_add(a, i_of(m)); }
SIMD vi i_pick(vm m, vi yes, vi no) { return i_of(v_pick(m, v_of(yes), v_of(no))); }
SIMD unsigned v_zeros(vf x)
{
	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(
		_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ)));
}
SIMD unsigned half_zeros(vi x)
{
	__m256i bits = _mm256_and_si256(x, _mm256_set1_epi16(0x7fff));

	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(
		_mm256_cmpeq_epi16(bits, _mm256_setzero_si256()))) / 2;
}

SIMD vi half_max(vi a, vi b) { return _mm256_max_epu16(a, b); }
SIMD vi half_max_signed(vi a, vi b) { return _mm256_max_epi16(a, b); }

SIMD vi i_nearest(vf a) { return _mm256_cvtps_epi32(a); }
SIMD vi i_trunc(vf a) { return _mm256_cvttps_epi32(a); }

SIMD vf v_trunc(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

SIMD vf v_nearest(vf a)
{
	return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD vf v_load_bf16(const void *p)
{
	__m128i h = _mm_loadu_si128((const __m128i *)p);

	return v_of(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

SIMD vf v_load_f16(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
SIMD vf v_load_f32(const void *p) { return _mm256_loadu_ps(p); }
SIMD void v_store_f32(void *p, vf v) { _mm256_storeu_ps(p, v); }

SIMD void v_store_f16(void *p, vf v)
{
	_mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* Unsigned saturation cuts nothing: the upper halves are zero here. */
SIMD void i_store_u16(void *p, vi v)
{
	__m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));

	_mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(low),
							_mm256_extracti128_si256(low, 1)));
}

SIMD void i_store_u8(void *p, vi v)
{
	__m128i w = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(w, w));
}

SIMD void i_store_u4(void *p, vi v)
{
	__m128i w = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	uint32_t nibbles;

	w = _mm_maddubs_epi16(_mm_packus_epi16(w, w), _mm_set1_epi16(0x1001));
	nibbles = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(w, w));
	memcpy(p, &nibbles, 4);
}

SIMD vi i_from_bytes(const uint64_t eight[1])
{
	return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)eight[0]));
}

SIMD vi i_load_u8(const void *p)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
SIMD vf v_from_i(vi a) { return _mm256_cvtepi32_ps(a); }

SIMD vf v_across(const vf r[LANES], int largest)
{
	vf p[2];

#define BEST(a, b) (largest ? _mm256_max_ps(a, b) : _mm256_min_ps(a, b))
	for (int i = 0; i < 2; i++) {
		const vf *a = r + 4 * i;
		__m256d u = _mm256_castps_pd(BEST(_mm256_unpacklo_ps(a[0], a[1]),
						  _mm256_unpackhi_ps(a[0], a[1])));
		__m256d v = _mm256_castps_pd(BEST(_mm256_unpacklo_ps(a[2], a[3]),
						  _mm256_unpackhi_ps(a[2], a[3])));

		p[i] = BEST(_mm256_castpd_ps(_mm256_unpacklo_pd(u, v)),
			    _mm256_castpd_ps(_mm256_unpackhi_pd(u, v)));
	}
	return BEST(_mm256_permute2f128_ps(p[0], p[1], 0x20),
		    _mm256_permute2f128_ps(p[0], p[1], 0x31));
#undef BEST
}

/* Two tables of 8; bit 3 of the code chooses. */
SIMD vf v_look_up16(const float table[16], vi code)
{
	return _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), code),
				_mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), code),
				v_of(_mm256_slli_epi32(code, 28)));
}

SIMD vf v_load_e4m3(const void *p)
{
	__m128i b = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)p));
	__m128i h = _mm_or_si128(_mm_slli_epi16(_mm_and_si128(b, _mm_set1_epi16(0x80)), 8),
				 _mm_slli_epi16(_mm_and_si128(b, _mm_set1_epi16(0x7f)), 7));

	return _mm256_mul_ps(_mm256_cvtph_ps(h), _mm256_set1_ps(256));
}

/* Rows become columns. */
SIMD void v_turn(vf r[LANES])
{
	vf h[LANES];

	UNROLL for (int i = 0; i < 8; i += 4) {
		const vf *a = r + i;
		__m256d u = _mm256_castps_pd(_mm256_unpacklo_ps(a[0], a[1]));
		__m256d v = _mm256_castps_pd(_mm256_unpackhi_ps(a[0], a[1]));
		__m256d x = _mm256_castps_pd(_mm256_unpacklo_ps(a[2], a[3]));
		__m256d y = _mm256_castps_pd(_mm256_unpackhi_ps(a[2], a[3]));

		h[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(u, x));
		h[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(u, x));
		h[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(v, y));
		h[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(v, y));
	}
	UNROLL for (int i = 0; i < 4; i++) {
		r[i] = _mm256_permute2f128_ps(h[i], h[i + 4], 0x20);
		r[i + 4] = _mm256_permute2f128_ps(h[i], h[i + 4], 0x31);
	}
}
