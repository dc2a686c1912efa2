/* ggml_encode_lanes.h - private to src/quant: LANES blocks of 32 elements side by side, a
 * block a lane, so that each sum has the order that ggml's own loop over a block gives it,
 * and a branch is a choice.  Included with one of the simd_*.h. */
#include <float.h>
#include <math.h>

#include "src/quant/ggml_encoders.h"

#define BLOCK 32u
#define UNROLL_ALL _Pragma("GCC unroll 16")

/* Of a call: src is so many blocks, per_row of them in a row. */
struct lanes_in {
	const float *src, *weights;
	size_t blocks, per_row;
};

/* Element j of lane i's block, and how much it counts. */
struct lanes { vf x[BLOCK], w[BLOCK]; };

SIMD vf v_negative(vf a) { return v_of(i_add(i_of(a), i_set(0x80000000))); }
SIMD vf v_inverse(vf d) { return v_pick(v_ne(d, v_set(0)), v_div(v_set(1), d), v_set(0)); }

/* To the nearest whole number as ggml does it, which has a result for whatever comes. */
SIMD vi i_near(vf a)
{
	return i_sub(i_and(i_of(v_add(a, v_set(0x1.8p23f))), i_set(0x7fffff)), i_set(0x400000));
}

SIMD vi i_clamp(vi a, int32_t low, int32_t high)
{
	return i_max(i_min(a, i_set((uint32_t)high)), i_set((uint32_t)low));
}

/* The lanes behind the last block have it once more. */
SIMD size_t lane_block(const struct lanes_in *in, size_t first, unsigned lane)
{
	size_t at = first + lane;

	return at < in->blocks ? at : in->blocks - 1;
}

SIMD void lanes_load(const struct lanes_in *in, size_t first, vf x[BLOCK])
{
	for (unsigned j = 0; j < BLOCK; j += LANES) {
		UNROLL_ALL for (unsigned i = 0; i < LANES; i++)
			x[j + i] = v_load_f32(in->src + lane_block(in, first, i) * BLOCK + j);
		v_turn(x + j);
	}
}

/* weights[column] * sqrt(sigma2 + x * x) */
SIMD void lanes_weigh(const struct lanes_in *in, size_t first, vf sigma2, struct lanes *l)
{
	for (unsigned j = 0; j < BLOCK; j += LANES) {
		UNROLL_ALL for (unsigned i = 0; i < LANES; i++) {
			size_t column = lane_block(in, first, i) % in->per_row * BLOCK;

			l->w[j + i] = v_load_f32(in->weights + column + j);
		}
		v_turn(l->w + j);
	}
	for (unsigned j = 0; j < BLOCK; j++)
		l->w[j] = v_mul(l->w[j], v_sqrt(v_add(sigma2, v_mul(l->x[j], l->x[j]))));
}

/* The largest magnitude, and the first value that has it. */
struct extreme { vf size, value; };

SIMD struct extreme lanes_extreme(const vf x[BLOCK])
{
	struct extreme e = { v_set(0), v_set(0) };

	for (unsigned j = 0; j < BLOCK; j++) {
		vf size = v_abs(x[j]);

		e.value = v_pick(v_gt(size, e.size), x[j], e.value);
		e.size = v_max(size, e.size);
	}
	return e;
}

/* Where a lane's block goes; NULL behind the last. */
struct lanes_out { uint8_t *at[LANES]; };

SIMD void lanes_put(const struct lanes_out *out, unsigned off, const void *of, unsigned size)
{
	for (unsigned i = 0; i < LANES && out->at[i]; i++)
		memcpy(out->at[i] + off, (const uint8_t *)of + i * size, size);
}

/* 16 bytes: element j low in byte j, j + 16 high. */
SIMD void lanes_put_nibbles(const struct lanes_out *out, unsigned off, const vi code[BLOCK])
{
	uint32_t word[LANES];

	for (unsigned k = 0; k < 16; k += 4) {
		vi w = i_set(0);

		UNROLL for (unsigned b = 0; b < 4; b++) {
			vi low = i_and(code[k + b], i_set(15));
			vi high = i_and(code[k + b + 16], i_set(15));

			w = i_or(w, i_left(i_or(low, i_left(high, 4)), (int)(8 * b)));
		}
		i_store(word, w);
		lanes_put(out, off + k, word, 4);
	}
}

/* 4 bytes: bit j is the fifth of element j. */
SIMD void lanes_put_fifths(const struct lanes_out *out, unsigned off, const vi code[BLOCK])
{
	uint32_t bits[LANES];
	vi w = i_set(0);

	UNROLL_ALL for (unsigned j = 0; j < BLOCK; j++)
		w = i_or(w, i_left(i_and(i_right(code[j], 4), i_set(1)), (int)j));
	i_store(bits, w);
	lanes_put(out, off, bits, 4);
}

SIMD void lanes_put_half(const struct lanes_out *out, unsigned off, vf d)
{
	uint16_t half[LANES];

	v_store_f16(half, d);
	lanes_put(out, off, half, 2);
}

/* Sums of squares of `stretch` elements each, in their order: a sum waits for each of its
 * additions, so several go side by side. */
#define SUMS 8u

SIMD void sums_of_squares(const float *src, size_t count, size_t stretch, float *out)
{
	for (size_t i = 0; i < count; i += SUMS) {
		unsigned n = count - i < SUMS ? (unsigned)(count - i) : SUMS;
		const float *at[SUMS];
		float sum[SUMS] = { 0 };

		for (unsigned k = 0; k < SUMS; k++)
			at[k] = src + (i + (k < n ? k : 0)) * stretch;
		for (size_t j = 0; j < stretch; j++)
			UNROLL_ALL for (unsigned k = 0; k < SUMS; k++)
				sum[k] += at[k][j] * at[k][j];
		memcpy(out + i, sum, n * sizeof(*out));
	}
}
