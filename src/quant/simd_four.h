/* simd_four.h - the words of simd_avx512.h that ggml's encoders use, with four lanes in
 * vectors that the compiler makes of whatever the machine has. */
#include <math.h>
#include <stdint.h>
#include <string.h>

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
SIMD vi i_add(vi a, vi b) { return a + b; }
SIMD vi i_sub(vi a, vi b) { return a - b; }
SIMD vi i_and_or(vi a, vi b, vi c) { return (a & b) | c; }
SIMD vi i_min(vi a, vi b)
{
	vm m = (vm)a < (vm)b;

	return (a & (vi)m) | (b & ~(vi)m);
}

SIMD vi i_max(vi a, vi b)
{
	vm m = (vm)a > (vm)b;

	return (a & (vi)m) | (b & ~(vi)m);
}
SIMD vf v_from_i(vi a) { return __builtin_convertvector((vm)a, vf); }

SIMD vf v_load_f32(const void *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD void v_store_f32(void *p, vf v) { memcpy(p, &v, sizeof(v)); }
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
