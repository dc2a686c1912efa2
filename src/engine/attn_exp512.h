/* attn_exp512.h - exp(x) for x <= 0 in AVX-512, to be included where that is allowed. */
#ifndef TBTUI_ENGINE_ATTN_EXP512_H
#define TBTUI_ENGINE_ATTN_EXP512_H

#include <immintrin.h>

/* 2^n * p(r) as exp_lanes() has it; what is too small, and -infinity, becomes 0, a NaN stays
 * one. */
static inline __attribute__((always_inline)) __m512
attn_exp512(__m512 x)
{
	const __m512 v = _mm512_max_ps(_mm512_set1_ps(-110.0f), x);
	const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(v, _mm512_set1_ps(1.44269504f)), 8);
	__m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), v), p;

	r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
	p = _mm512_fmadd_ps(r, _mm512_set1_ps(1.9875691500e-4f), _mm512_set1_ps(1.3981999507e-3f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
	p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1)));
	return _mm512_scalef_ps(p, n);
}
#endif
