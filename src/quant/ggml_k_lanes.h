/* ggml_k_lanes.h - private to src/quant: super-blocks side by side, one a lane, so that
 * each lane does what a scalar program does for its super-block, in the same order. */
#include <stdbool.h>
#include <stddef.h>

#define K_BLOCK 256	/* elements of a super-block */
#define K_GROUPS 16	/* at most; of 16 elements, or 8 of 32 */

/* LANES super-blocks on their way. */
struct k_batch {
	const float *src[LANES], *weights[LANES];	/* NULL: no weights */
	vf x[K_BLOCK];					/* element i of each */
	vf sigma2;
	/* what was found for groups */
	vf scale[K_GROUPS], min[K_GROUPS], sum_w[K_GROUPS];
	uint8_t code[K_BLOCK][LANES];
	/* what their scales and minima share, and codes of 8 bits */
	float d[LANES], dmin[LANES];
	uint32_t ls[K_GROUPS][LANES], lm[K_GROUPS][LANES];
};

/* Elements first .. first + n of each lane's run, n a multiple of 16. */
static inline void
k_load(const float *const from[LANES], size_t first, unsigned n, vf *out)
{
	for (unsigned i = 0; i < n; i += LANES) {
		UNROLL for (unsigned s = 0; s < LANES; s++)
			out[i + s] = v_load_f32(from[s] + first + i);
		v_turn(out + i);
	}
}

/* Integers are kept as the bits of the float 1.5 * 2^23 + n: adding that number is how
 * ggml rounds, and what is too large or no number at all has the same bits here. */
#define K_MAGIC 0x1.8p23f
#define K_ZERO 0x4b400000u
#define K_LEAST 0x4b000000u

struct k_range { vi low, high; };

SIMD struct k_range k_range(int low, int high)
{
	return (struct k_range){
		i_set(K_ZERO + (uint32_t)low), i_set(K_ZERO + (uint32_t)high)
	};
}

SIMD vi k_nearest(vf a)
{
	vi bits = i_of(v_add(a, v_set(K_MAGIC)));

	return i_and_or(bits, i_set(0x7fffff), i_set(K_LEAST));
}

SIMD vi k_near(vf a, struct k_range r)
{
	return i_min(i_max(k_nearest(a), r.low), r.high);
}

SIMD vf k_value(vi bits)
{
	return v_sub(v_of(bits), v_set(K_MAGIC));
}

/* As an unsigned byte holds it. */
SIMD vi k_byte(vi bits)
{
	return i_and(bits, i_set(0xff));
}

SIMD vf k_byte_value(vi bits)
{
	return k_value(i_and_or(bits, i_set(0xff), i_set(K_ZERO)));
}
