/* simd_four.h - the words of simd_avx512.h that ggml's encoders use, with four lanes in
 * vectors that the compiler makes of whatever the machine has. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/base/half.h"

#define SIMD static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define LANES 4

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef uint32_t vi __attribute__((vector_size(4 * LANES)));
/* All bits of a lane, or none. */
typedef int32_t vm __attribute__((vector_size(4 * LANES)));

SIMD vf v_set(float x) { return (vf){ x, x, x, x }; }
SIMD vi i_set(uint32_t x) { return (vi){ x, x, x, x }; }
SIMD vi i_of(vf a) { return (vi)a; }
SIMD vf v_of(vi a) { return (vf)a; }
SIMD vf v_add(vf a, vf b) { return a + b; }
SIMD vf v_sub(vf a, vf b) { return a - b; }
SIMD vf v_mul(vf a, vf b) { return a * b; }
SIMD vf v_div(vf a, vf b) { return a / b; }
SIMD vf v_pick(vm m, vf yes, vf no) { return (vf)(((vm)yes & m) | ((vm)no & ~m)); }
SIMD vm v_gt(vf a, vf b) { return a > b; }
SIMD vm v_ge(vf a, vf b) { return a >= b; }
SIMD vm v_ne(vf a, vf b) { return a != b; }
SIMD vf v_min(vf a, vf b) { return v_pick(a < b, a, b); }
SIMD vf v_max(vf a, vf b) { return v_pick(a > b, a, b); }
SIMD vf v_abs(vf a) { return (vf)((vi)a & 0x7fffffff); }
SIMD vf v_sqrt(vf a)
{
	return (vf){ sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3]) };
}

SIMD vm m_and(vm a, vm b) { return a & b; }
SIMD int m_any(vm m)
{
	uint64_t half[2];

	memcpy(half, &m, sizeof(half));
	return (half[0] | half[1]) != 0;
}

SIMD vi i_and(vi a, vi b) { return a & b; }
SIMD vi i_or(vi a, vi b) { return a | b; }
SIMD vi i_right(vi a, int n) { return a >> n; }
SIMD vi i_left(vi a, int n) { return a << n; }
SIMD vi i_pick(vm m, vi yes, vi no) { return (yes & (vi)m) | (no & ~(vi)m); }
SIMD vi i_less(vm m, vi a) { return a + (vi)m; }
SIMD vi i_add(vi a, vi b) { return a + b; }
SIMD vi i_sub(vi a, vi b) { return a - b; }
SIMD vi i_and_or(vi a, vi b, vi c) { return (a & b) | c; }
SIMD vi i_min(vi a, vi b) { return i_pick((vm)a < (vm)b, a, b); }
SIMD vi i_max(vi a, vi b) { return i_pick((vm)a > (vm)b, a, b); }
/* As the machine does it: INT32_MIN where there is no such int. */
SIMD vi i_trunc(vf a)
{
	vm fits = v_abs(a) < 0x1p31f;
	vm whole = __builtin_convertvector(v_pick(fits, a, v_set(0)), vm);

	return i_pick(fits, (vi)whole, i_set(0x80000000));
}

SIMD vf v_look_up16(const float table[16], vi code)
{
	vi at = code & 15;

	return (vf){ table[at[0]], table[at[1]], table[at[2]], table[at[3]] };
}

SIMD vf v_from_i(vi a) { return __builtin_convertvector((vm)a, vf); }

SIMD vf v_load_f32(const void *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD void v_store_f32(void *p, vf v) { memcpy(p, &v, sizeof(v)); }
SIMD void v_store_f16(void *p, vf v)
{
	for (unsigned i = 0; i < LANES; i++) {
		uint16_t h = tb_f32_f16(v[i]);

		memcpy((char *)p + 2 * i, &h, 2);
	}
}

SIMD void i_store(void *p, vi v) { memcpy(p, &v, sizeof(v)); }

/* The low bytes of the lanes, each below 256. */
SIMD void i_store_u8(void *p, vi v)
{
	for (unsigned i = 0; i < LANES; i++)
		((uint8_t *)p)[i] = (uint8_t)v[i];
}

/* Rows become columns. */
SIMD void v_turn(vf r[LANES])
{
	vf a = r[0], b = r[1], c = r[2], d = r[3];

	UNROLL for (unsigned i = 0; i < LANES; i++)
		r[i] = (vf){ a[i], b[i], c[i], d[i] };
}
