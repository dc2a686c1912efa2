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

SIMD void add_lanes(const vf x[SETS], double *sum)
{
	float lane[LANES];

	v_store_f32(lane, sum_four(x));
	*sum = 0;
	for (unsigned i = 0; i < LANES; i++)
		*sum += (double)lane[i];
}

SIMD void finish(const struct sums *s, struct stats_block *out)
{
	float min[LANES], max[LANES];

	v_store_f32(min, v_min(v_min(s->min[0], s->min[1]), v_min(s->min[2], s->min[3])));
	v_store_f32(max, v_max(v_max(s->max[0], s->max[1]), v_max(s->max[2], s->max[3])));
	*out = (struct stats_block){ .min = min[0], .max = max[0], .zeros = s->zeros };
	add_lanes(s->sum, &out->sum);
	add_lanes(s->sq, &out->sq);
	for (unsigned i = 0; i < LANES; i++) {
		out->min = min[i] < out->min ? min[i] : out->min;
		out->max = max[i] > out->max ? max[i] : out->max;
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

STATS_BLOCK_FN(block_f32, load_f32, four_f32, 4)
STATS_BLOCK_FN(block_f16, load_f16, four_f16, 2)
STATS_BLOCK_FN(block_bf16_any, load_bf16, four_bf16, 2)

/* BF16 without a shift, where half the time goes to the smallest and largest: of the
 * patterns as signed numbers the largest is the largest value, of the patterns as
 * unsigned ones it is the smallest, as long as there are values of both signs. */

struct bf16_sums { vf sum[SETS], sq[SETS]; vi top[SETS / 2], bottom[SETS / 2]; unsigned zeros; };

SIMD void bf16_round(struct bf16_sums *s, const char *p)
{
	UNROLL
	for (int k = 0; k < SETS / 2; k++) {
		vi two = i_load(p + 4 * LANES * k);
		vf even = v_of(i_left(two, 16)), odd = v_of(i_and(two, i_set(0xffff0000)));

		__builtin_prefetch(p + 4 * LANES * k + AHEAD);
		s->zeros += half_zeros(two);
		s->top[k] = half_max_signed(two, s->top[k]);
		s->bottom[k] = half_max(two, s->bottom[k]);
		s->sum[2 * k] = v_add(s->sum[2 * k], even);
		s->sum[2 * k + 1] = v_add(s->sum[2 * k + 1], odd);
		s->sq[2 * k] = v_fma(even, even, s->sq[2 * k]);
		s->sq[2 * k + 1] = v_fma(odd, odd, s->sq[2 * k + 1]);
	}
}

/* False: all have the same sign, the patterns do not tell. */
SIMD int bf16_ends(const struct bf16_sums *s, struct stats_block *out)
{
	int16_t top[2 * LANES], most = INT16_MIN;
	uint16_t bottom[2 * LANES], least = 0;

	v_store_f32(top, v_of(half_max_signed(s->top[0], s->top[1])));
	v_store_f32(bottom, v_of(half_max(s->bottom[0], s->bottom[1])));
	for (unsigned i = 0; i < 2 * LANES; i++) {
		most = top[i] > most ? top[i] : most;
		least = bottom[i] > least ? bottom[i] : least;
	}
	out->max = as_float((uint32_t)(uint16_t)most << 16);
	out->min = as_float((uint32_t)least << 16) + 0;	/* no -0 */
	return most >= 0 && least >= 0x8000;
}

static void
block_bf16(const void *src, size_t n, float shift, struct stats_block *out)
{
	struct bf16_sums s = { .zeros = 0 };
	const char *p = src;
	size_t i = 0;

	if (shift != 0 || n < STEP) {
		block_bf16_any(src, n, shift, out);
		return;
	}
	for (int k = 0; k < SETS; k++) {
		s.sum[k] = s.sq[k] = v_set(0);
		s.top[k / 2] = s.bottom[k / 2] = i_load(p);
	}
	for (; i + STEP <= n; i += STEP)
		bf16_round(&s, p + 2 * i);
	*out = (struct stats_block){ .zeros = s.zeros };
	if (!bf16_ends(&s, out)) {
		block_bf16_any(src, n, shift, out);
		return;
	}
	add_lanes(s.sum, &out->sum);
	add_lanes(s.sq, &out->sq);
	for (; i < n; i++)
		block_one(out, load_bf16(src, i), 0);
}
