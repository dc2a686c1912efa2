/* stats_lanes.h - private to src/quant: a block's statistics in vectors that the compiler
 * makes of whatever the machine has. */

#define LANES 4

typedef float lanes_f __attribute__((vector_size(4 * LANES)));
typedef int32_t lanes_i __attribute__((vector_size(4 * LANES)));
typedef uint32_t lanes_u __attribute__((vector_size(4 * LANES)));
typedef uint16_t lanes_h __attribute__((vector_size(2 * LANES)));

static inline void
four_f32(const void *p, lanes_f *out)
{
	memcpy(out, p, sizeof(*out));
}

static inline void
four_bf16(const void *p, lanes_f *out)
{
	lanes_h h;

	memcpy(&h, p, sizeof(h));
	*out = (lanes_f)(__builtin_convertvector(h, lanes_u) << 16);
}

static inline void
four_f16(const void *p, lanes_f *out)
{
	lanes_u u;
	lanes_f f;
	lanes_h h;

	memcpy(&h, p, sizeof(h));
	u = __builtin_convertvector(h, lanes_u);
	f = (lanes_f)((u & 0x7fff) << 13) * 0x1p112f;
	*out = (lanes_f)((lanes_u)f | ((lanes_u)(f >= 65536) & 0x7f800000) | (u & 0x8000) << 16);
}

struct lane_sums { lanes_f min, max, sum, sq; lanes_i zeros; };

static inline void
lanes_take(struct lane_sums *l, const lanes_f *x, float shift)
{
	lanes_f d = *x - shift;
	lanes_i less = *x < l->min, more = *x > l->max;

	l->min = (lanes_f)(((lanes_i)*x & less) | ((lanes_i)l->min & ~less));
	l->max = (lanes_f)(((lanes_i)*x & more) | ((lanes_i)l->max & ~more));
	l->sum += d;
	l->sq += d * d;
	l->zeros -= *x == 0;
}

static inline void
lanes_end(const struct lane_sums *l, struct stats_block *out)
{
	*out = (struct stats_block){ .min = l->min[0], .max = l->max[0] };
	for (unsigned i = 0; i < LANES; i++) {
		out->min = l->min[i] < out->min ? l->min[i] : out->min;
		out->max = l->max[i] > out->max ? l->max[i] : out->max;
		out->sum += (double)l->sum[i];
		out->sq += (double)l->sq[i];
		out->zeros += (uint32_t)l->zeros[i];
	}
}

#define STATS_BLOCK_FN(name, load, four, size) \
static void \
name(const void *src, size_t n, float shift, struct stats_block *out) \
{ \
	float first = load(src, 0); \
	struct lane_sums l = { .min = (lanes_f){ 0 } + first, .max = (lanes_f){ 0 } + first }; \
	const char *p = src; \
	size_t i = 0; \
	lanes_f x; \
\
	for (; i + LANES <= n; i += LANES) { \
		four(p + i * size, &x); \
		lanes_take(&l, &x, shift); \
	} \
	lanes_end(&l, out); \
	for (; i < n; i++) \
		block_one(out, load(src, i), shift); \
}

STATS_BLOCK_FN(block_f32, load_f32, four_f32, 4)
STATS_BLOCK_FN(block_bf16, load_bf16, four_bf16, 2)
STATS_BLOCK_FN(block_f16, load_f16, four_f16, 2)
