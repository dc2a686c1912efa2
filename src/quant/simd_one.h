/* simd_one.h - the words of simd_avx512.h that ggml's encoders use, with one lane: what is
 * written in them is then the scalar code that the vectors are compared with. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/base/half.h"

#define SIMD static inline __attribute__((always_inline))
#define UNROLL
#define LANES 1

typedef float vf;
typedef uint32_t vi;
typedef int vm;

SIMD vf v_set(float x) { return x; }
SIMD vf v_add(vf a, vf b) { return a + b; }
SIMD vf v_sub(vf a, vf b) { return a - b; }
SIMD vf v_mul(vf a, vf b) { return a * b; }
SIMD vf v_div(vf a, vf b) { return a / b; }
SIMD vf v_min(vf a, vf b) { return a < b ? a : b; }
SIMD vf v_max(vf a, vf b) { return a > b ? a : b; }
SIMD vf v_sqrt(vf a) { return sqrtf(a); }
SIMD vf v_abs(vf a) { return fabsf(a); }
SIMD vm v_gt(vf a, vf b) { return a > b; }
SIMD vm v_ge(vf a, vf b) { return a >= b; }
SIMD vm v_ne(vf a, vf b) { return a != b; }
SIMD vf v_pick(vm m, vf yes, vf no) { return m ? yes : no; }
SIMD vm m_and(vm a, vm b) { return a & b; }
SIMD int m_any(vm m) { return m; }

SIMD vi i_set(uint32_t x) { return x; }
SIMD vi i_of(vf a)
{
	vi u;

	memcpy(&u, &a, 4);
	return u;
}

SIMD vf v_of(vi a)
{
	vf f;

	memcpy(&f, &a, 4);
	return f;
}

SIMD vi i_and(vi a, vi b) { return a & b; }
SIMD vi i_or(vi a, vi b) { return a | b; }
SIMD vi i_right(vi a, int n) { return a >> n; }
SIMD vi i_left(vi a, int n) { return a << n; }
SIMD vi i_less(vm m, vi a) { return a - (vi)m; }
SIMD vi i_pick(vm m, vi yes, vi no) { return m ? yes : no; }
SIMD vi i_add(vi a, vi b) { return a + b; }
SIMD vi i_sub(vi a, vi b) { return a - b; }
SIMD vi i_min(vi a, vi b) { return (int32_t)a < (int32_t)b ? a : b; }
SIMD vi i_max(vi a, vi b) { return (int32_t)a > (int32_t)b ? a : b; }
SIMD vi i_and_or(vi a, vi b, vi c) { return (a & b) | c; }
SIMD vf v_from_i(vi a) { return (float)(int32_t)a; }
/* As the machine does it: INT32_MIN where there is no such int. */
SIMD vi i_trunc(vf a) { return fabsf(a) < 0x1p31f ? (uint32_t)(int32_t)a : 0x80000000; }
SIMD vf v_look_up16(const float table[16], vi code) { return table[code & 15]; }
SIMD vf v_load_f32(const void *p)
{
	vf f;

	memcpy(&f, p, 4);
	return f;
}

SIMD void v_store_f32(void *p, vf v) { memcpy(p, &v, 4); }
SIMD void v_store_f16(void *p, vf v)
{
	uint16_t h = tb_f32_f16(v);

	memcpy(p, &h, 2);
}

SIMD void i_store(void *p, vi v) { memcpy(p, &v, 4); }
SIMD void i_store_u8(void *p, vi v) { *(uint8_t *)p = (uint8_t)v; }
SIMD void v_turn(vf r[LANES]) { (void)r; }
