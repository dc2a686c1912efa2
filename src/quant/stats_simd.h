/* stats_simd.h - private to src/quant: a block's statistics in the words of simd_*.h.
 * Four registers take turns, so that no sum waits for its last addition. */

#define SETS 4
#define STEP (SETS * LANES)		/* values of one round */
#define AHEAD 4096			/* bytes: the machine looks no further than a page */

struct sums { vf min[SETS], max[SETS], sum[SETS], sq[SETS]; unsigned zeros; };

/* Each loads a round and gives how many zeros are in it. */

SIMD unsigned four_f32(const char *p, vf x[SETS])
{
	unsigned zeros = 0;

	for (int k = 0; k < SETS; k++) {
		x[k] = v_load_f32(p + 4 * LANES * k);
		zeros += v_zeros(x[k]);
	}
	return zeros;
}

SIMD unsigned four_f16(const char *p, vf x[SETS])
{
	for (int k = 0; k < SETS; k++)
		x[k] = v_load_f16(p + 2 * LANES * k);
	return half_zeros(i_load(p)) + half_zeros(i_load(p + 4 * LANES));
}

/* Two registers full of halves: the even values, then the odd ones.  No sum knows. */
SIMD unsigned four_bf16(const char *p, vf x[SETS])
{
	unsigned zeros = 0;

	for (int k = 0; k < SETS; k += 2) {
		vi two = i_load(p + 2 * LANES * k);

		x[k] = v_of(i_left(two, 16));
		x[k + 1] = v_of(i_and(two, i_set(0xffff0000)));
		zeros += half_zeros(two);
	}
	return zeros;
}

SIMD void take_four(struct sums *s, const vf x[SETS], vf shift, int shifted)
{
	UNROLL
	for (int k = 0; k < SETS; k++) {
		vf d = shifted ? v_sub(x[k], shift) : x[k];

		s->min[k] = v_min(x[k], s->min[k]);
		s->max[k] = v_max(x[k], s->max[k]);
		s->sum[k] = v_add(s->sum[k], d);
		s->sq[k] = v_fma(d, d, s->sq[k]);
	}
}

SIMD void start(struct sums *s, float first)
{
	for (int k = 0; k < SETS; k++) {
		s->min[k] = s->max[k] = v_set(first);
		s->sum[k] = s->sq[k] = v_set(0);
	}
	s->zeros = 0;
}

SIMD vf sum_four(const vf x[SETS])
{
	return v_add(v_add(x[0], x[1]), v_add(x[2], x[3]));
}

SIMD void finish(const struct sums *s, struct stats_block *out)
{
	float min[LANES], max[LANES], sum[LANES], sq[LANES];

	v_store_f32(min, v_min(v_min(s->min[0], s->min[1]), v_min(s->min[2], s->min[3])));
	v_store_f32(max, v_max(v_max(s->max[0], s->max[1]), v_max(s->max[2], s->max[3])));
	v_store_f32(sum, sum_four(s->sum));
	v_store_f32(sq, sum_four(s->sq));
	*out = (struct stats_block){ .min = min[0], .max = max[0], .zeros = s->zeros };
	for (unsigned i = 0; i < LANES; i++) {
		out->min = min[i] < out->min ? min[i] : out->min;
		out->max = max[i] > out->max ? max[i] : out->max;
		out->sum += (double)sum[i];
		out->sq += (double)sq[i];
	}
}

#define STATS_ROUNDS_FN(name, load, four, size) \
SIMD size_t name##_rounds(const char *p, size_t n, float shift, int shifted, \
			  struct stats_block *out) \
{ \
	struct sums s; \
	vf x[SETS]; \
	size_t i; \
\
	start(&s, load(p, 0)); \
	for (i = 0; i + STEP <= n; i += STEP) { \
		for (size_t k = 0; k < STEP * size; k += 64) \
			__builtin_prefetch(p + i * size + k + AHEAD); \
		s.zeros += four(p + i * size, x); \
		take_four(&s, x, v_set(shift), shifted); \
	} \
	finish(&s, out); \
	return i; \
}

#define STATS_BLOCK_FN(name, load, four, size) \
STATS_ROUNDS_FN(name, load, four, size) \
static void \
name(const void *src, size_t n, float shift, struct stats_block *out) \
{ \
	size_t done = shift == 0 ? name##_rounds(src, n, 0, 0, out) \
				 : name##_rounds(src, n, shift, 1, out); \
\
	for (size_t i = done; i < n; i++) \
		block_one(out, load(src, i), shift); \
}
