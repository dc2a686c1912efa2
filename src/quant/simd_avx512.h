/* simd_avx512.h - the vector words that the *_simd.h files are written in, with 16
 * lanes.  Minimum and maximum give their second operand for NaN, as the scalar
 * code's comparisons do. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define SIMD static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define LANES 16

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

SIMD vf v_set(float x) { return _mm512_set1_ps(x); }
SIMD vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
SIMD vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
SIMD vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
SIMD vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
SIMD vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
SIMD vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
SIMD vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
SIMD vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }	/* c - a * b */
SIMD vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
SIMD vf v_abs(vf a) { return _mm512_abs_ps(a); }
SIMD vm v_gt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
SIMD vm v_ge(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SIMD vm v_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
SIMD vf v_pick(vm m, vf yes, vf no) { return _mm512_mask_mov_ps(no, m, yes); }

SIMD vm m_and(vm a, vm b) { return a & b; }
SIMD int m_any(vm m) { return m != 0; }
SIMD int m_all(vm m) { return m == 0xffff; }

SIMD vi i_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
SIMD vi i_of(vf a) { return _mm512_castps_si512(a); }
SIMD vf v_of(vi a) { return _mm512_castsi512_ps(a); }
SIMD vi i_and(vi a, vi b) { return _mm512_and_si512(a, b); }
SIMD vi i_or(vi a, vi b) { return _mm512_or_si512(a, b); }
SIMD vi i_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
SIMD vi i_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
SIMD vi i_min(vi a, vi b) { return _mm512_min_epi32(a, b); }	/* signed */
SIMD vi i_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
/* (a & b) | c */
SIMD vi i_and_or(vi a, vi b, vi c) { return _mm512_ternarylogic_epi32(a, b, c, 0xea); }
SIMD vi i_right(vi a, int n) { return _mm512_srli_epi32(a, (unsigned)n); }
SIMD vi i_left(vi a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
SIMD vi i_load(const void *p) { return _mm512_loadu_si512(p); }
SIMD void i_store(void *p, vi v) { _mm512_storeu_si512(p, v); }
SIMD vm i_gt(vi a, vi b) { return _mm512_cmpgt_epi32_mask(a, b); }	/* signed */
/* a - 1 where m */
SIMD vi i_less(vm m, vi a) { return _mm512_mask_sub_epi32(a, m, a, _mm512_set1_epi32(1)); }
SIMD vi i_pick(vm m, vi yes, vi no) { return _mm512_mask_mov_epi32(no, m, yes); }
/* Lanes that are zero; halves of lanes that are zero but for the highest bit. */
SIMD unsigned v_zeros(vf x)
{
	return (unsigned)__builtin_popcount(
		_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ));
}
SIMD unsigned half_zeros(vi x)
{
	return (unsigned)__builtin_popcount(_mm512_testn_epi16_mask(x, _mm512_set1_epi16(0x7fff)));
}

SIMD vi half_max(vi a, vi b) { return _mm512_max_epu16(a, b); }
SIMD vi half_max_signed(vi a, vi b) { return _mm512_max_epi16(a, b); }

SIMD vi i_nearest(vf a) { return _mm512_cvtps_epi32(a); }
SIMD vi i_trunc(vf a) { return _mm512_cvttps_epi32(a); }

SIMD vf v_trunc(vf a)
{
	return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

SIMD vf v_nearest(vf a)
{
	return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD vf v_load_bf16(const void *p)
{
	__m256i h = _mm256_loadu_si256((const __m256i *)p);

	return v_of(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

SIMD vf v_load_f16(const void *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

SIMD vf v_load_f32(const void *p) { return _mm512_loadu_ps(p); }
SIMD void v_store_f32(void *p, vf v) { _mm512_storeu_ps(p, v); }

SIMD void v_store_f16(void *p, vf v)
{
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* The low halves of the lanes. */
SIMD void i_store_u16(void *p, vi v)
{
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(v));
}

/* The low bytes of the lanes, each below 256. */
SIMD void i_store_u8(void *p, vi v) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v)); }
SIMD vi i_load_u8(const void *p)
{
	return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
/* Codes below 16, even ones in the low nibbles: LANES / 2 bytes. */
SIMD void i_store_u4(void *p, vi v)
{
	_mm_storel_epi64((__m128i *)p, _mm512_cvtepi64_epi8(_mm512_or_si512(
		v, _mm512_srli_epi64(v, 28))));
}

/* Two times 8 bytes as lanes. */
SIMD vi i_from_bytes(const uint64_t eight[2])
{
	return _mm512_cvtepu8_epi32(_mm_set_epi64x((int64_t)eight[1], (int64_t)eight[0]));
}
SIMD vf v_from_i(vi a) { return _mm512_cvtepi32_ps(a); }

/* Lane i of the result: the smallest (largest) lane of r[i]. */
SIMD vf v_across(const vf r[LANES], int largest)
{
	vf p[4], q[2];

#define BEST(a, b) (largest ? _mm512_max_ps(a, b) : _mm512_min_ps(a, b))
	for (int i = 0; i < 4; i++) {
		const vf *a = r + 4 * i;
		__m512d u = _mm512_castps_pd(BEST(_mm512_unpacklo_ps(a[0], a[1]),
						  _mm512_unpackhi_ps(a[0], a[1])));
		__m512d v = _mm512_castps_pd(BEST(_mm512_unpacklo_ps(a[2], a[3]),
						  _mm512_unpackhi_ps(a[2], a[3])));

		p[i] = BEST(_mm512_castpd_ps(_mm512_unpacklo_pd(u, v)),
			    _mm512_castpd_ps(_mm512_unpackhi_pd(u, v)));
	}
	for (int i = 0; i < 2; i++)
		q[i] = BEST(_mm512_shuffle_f32x4(p[2 * i], p[2 * i + 1], 0x44),
			    _mm512_shuffle_f32x4(p[2 * i], p[2 * i + 1], 0xee));
	return BEST(_mm512_shuffle_f32x4(q[0], q[1], 0x88), _mm512_shuffle_f32x4(q[0], q[1], 0xdd));
#undef BEST
}

/* table[code & 15] */
SIMD vf v_look_up16(const float table[16], vi code)
{
	return _mm512_permutexvar_ps(code, _mm512_loadu_ps(table));
}

/* LANES E4M3 bytes: moved into halves, whose exponents are 8 too small. */
SIMD vf v_load_e4m3(const void *p)
{
	__m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
	__m256i h = _mm256_or_si256(
		_mm256_slli_epi16(_mm256_and_si256(b, _mm256_set1_epi16(0x80)), 8),
		_mm256_slli_epi16(_mm256_and_si256(b, _mm256_set1_epi16(0x7f)), 7));

	return _mm512_mul_ps(_mm512_cvtph_ps(h), _mm512_set1_ps(256));
}

/* Rows become columns. */
SIMD void v_turn(vf r[LANES])
{
	vf h[LANES], q[LANES];

	UNROLL for (int i = 0; i < 16; i += 4) {
		const vf *a = r + i;
		__m512d u = _mm512_castps_pd(_mm512_unpacklo_ps(a[0], a[1]));
		__m512d v = _mm512_castps_pd(_mm512_unpackhi_ps(a[0], a[1]));
		__m512d x = _mm512_castps_pd(_mm512_unpacklo_ps(a[2], a[3]));
		__m512d y = _mm512_castps_pd(_mm512_unpackhi_ps(a[2], a[3]));

		h[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(u, x));
		h[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(u, x));
		h[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(v, y));
		h[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(v, y));
	}
	UNROLL for (int i = 0; i < 4; i++) {
		q[i] = _mm512_shuffle_f32x4(h[i], h[i + 4], 0x88);
		q[i + 4] = _mm512_shuffle_f32x4(h[i], h[i + 4], 0xdd);
		q[i + 8] = _mm512_shuffle_f32x4(h[i + 8], h[i + 12], 0x88);
		q[i + 12] = _mm512_shuffle_f32x4(h[i + 8], h[i + 12], 0xdd);
	}
	UNROLL for (int i = 0; i < 8; i++) {
		r[i] = _mm512_shuffle_f32x4(q[i], q[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_f32x4(q[i], q[i + 8], 0xdd);
	}
}
