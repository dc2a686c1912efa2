/* search_kernel.h - private to src/quant: the search, compiled once for each instruction
 * set: search_scalar.c, search_avx2.c, search_avx512.c define SEARCH_NAME and LANES.
 * A lane is a group: no sum crosses lanes, so that all sets compute the same. */
#include <math.h>
#include <string.h>

#include "src/quant/search_block.h"

#define SIMD static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

SIMD vf
v_load(const float *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD vf
v_set(float x)
{
	return (vf){ 0 } + x;
}

SIMD vi
i_set(int32_t x)
{
	return (vi){ 0 } + x;
}

SIMD vf
v_pick(vi mask, vf yes, vf no)
{
	return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

SIMD vf
v_min(vf a, vf b)
{
	return v_pick(a < b, a, b);
}

SIMD vf
v_max(vf a, vf b)
{
	return v_pick(a > b, a, b);
}

SIMD vf
v_abs(vf a)
{
	return (vf)((vi)a & 0x7fffffff);
}

/* To a multiple of what the last bit of 1.5 * 2^23 * unit is worth. */
SIMD vf
v_round_to(vf a, vf unit)
{
	vf magic = unit * 0x1.8p23f;

	return (a + magic) - magic;
}

/* 2^e of 2^e <= a < 2^(e+1). */
SIMD vf
v_binade(vf a)
{
	return (vf)((vi)a & 0x7f800000);
}

/* As it will be stored; what F16 cannot hold is held back. */
SIMD vf
v_stored(vf a, enum dtype t)
{
	vi u = (vi)a;

	if (t == DT_BF16)
		return (vf)((u + 0x7fff + ((u >> 16) & 1)) & (int32_t)0xffff0000);
	if (t != DT_F16)
		return a;
	a = v_max(v_min(a, v_set(65504)), v_set(-65504));
	return v_round_to(a, v_max(v_binade(v_abs(a)), v_set(0x1p-14f)) * 0x1p-10f);
}

/* Sums over a group, weighted: of codes, their squares, what is left of x, and that
 * times the code. */
struct affine_sums { vf q, qq, r, rq, error; };

SIMD vf
affine_quotient(vf x, vf bias, vf inverse, vf top)
{
	vf v = v_max(v_min((x - bias) * inverse, top), v_set(0));

	return v_round_to(v, v_set(1));
}

SIMD vf
v_inverse(vf scale)
{
	return v_pick(scale == 0, v_set(0), 1 / v_pick(scale == 0, v_set(1), scale));
}

SIMD struct affine_sums
affine_try(const struct search_block *b, unsigned lane, vf scale, vf bias, vf top)
{
	struct affine_sums f = { 0 };
	vf inverse = v_inverse(scale);

	for (unsigned j = 0; j < b->group; j++) {
		vf x = v_load(&b->x[j][lane]), w = v_load(&b->cost[j][lane]);
		vf q = affine_quotient(x, bias, inverse, top);
		vf r = x - (q * scale + bias), wr = w * r, wq = w * q;

		f.error += wr * r;
		f.r += wr;
		f.rq += wr * q;
		f.q += wq;
		f.qq += wq * q;
	}
	return f;
}

struct choice { vf scale, bias, error; };

SIMD void
affine_take(struct choice *best, vf scale, vf bias, vf error)
{
	vi better = error < best->error;

	best->scale = v_pick(better, scale, best->scale);
	best->bias = v_pick(better, bias, best->bias);
	best->error = v_pick(better, error, best->error);
}

/* The line that fits the codes as they are: least squares, first the scale, rounded as it
 * is stored, then the bias that goes with it. */
SIMD void
affine_refit(const struct affine_sums *f, vf weight, enum dtype t, vf *scale, vf *bias)
{
	vf det = weight * f->qq - f->q * f->q, one = v_set(1);
	vi good = det > weight * weight * 1e-6f;
	vf step = (weight * f->rq - f->r * f->q) / v_pick(good, det, one);
	vf to = v_stored(*scale + v_pick(good, step, v_set(0)), t);

	*bias = v_stored(*bias + (f->r - (to - *scale) * f->q) / weight, t);
	*scale = to;
}

SIMD void
affine_from(const struct search_block *b, unsigned lane, struct choice *best, vf scale, vf bias,
	    vf weight, unsigned refits)
{
	const vf top = v_set((float)((1u << b->bits) - 1));

	for (unsigned i = 0;; i++) {
		struct affine_sums f = affine_try(b, lane, scale, bias, top);

		affine_take(best, scale, bias, f.error);
		if (i == refits)
			return;
		affine_refit(&f, weight, b->scale_dtype, &scale, &bias);
	}
}

/* How much of the range is covered: fewer codes gain by leaving out more.  Of each end,
 * in parts of the range. */
struct cut { float low, high; };
static const struct cut cuts_few[] = {
	{ 0, 0 }, { .04f, .04f }, { .08f, .08f }, { .12f, .12f }, { .16f, .16f }, { .2f, .2f },
	{ .12f, 0 }, { 0, .12f }, { .2f, .08f }, { .08f, .2f },
}, cuts_some[] = {
	{ 0, 0 }, { .02f, .02f }, { .04f, .04f }, { .07f, .07f }, { .1f, .1f }, { .14f, .14f },
	{ .07f, 0 }, { 0, .07f }, { .14f, 0 }, { 0, .14f },
}, cuts_many[] = {
	{ 0, 0 }, { .008f, .008f }, { .016f, .016f }, { .03f, .03f }, { .05f, .05f },
	{ .02f, 0 }, { 0, .02f }, { .05f, 0 }, { 0, .05f },
}, cuts_most[] = {
	{ -.002f, -.002f }, { 0, 0 }, { .002f, .002f }, { .004f, .004f }, { .008f, 0 }, { 0, .008f },
};
#define CUTS(list) (n = sizeof(list) / sizeof((list)[0]), list)

static void
affine_lanes(struct search_block *b, unsigned lane)
{
	size_t n;
	const struct cut *cut = b->bits <= 2 ? CUTS(cuts_few) : b->bits <= 4 ? CUTS(cuts_some)
			      : b->bits <= 6 ? CUTS(cuts_many) : CUTS(cuts_most);
	const float top = (float)((1u << b->bits) - 1);
	vf lo = v_load(b->x[0] + lane), hi = lo, weight = v_set(0), range, start;
	struct choice best = { v_load(b->scale + lane), v_load(b->bias + lane), v_set(0) };
	vi better;

	for (unsigned j = 0; j < b->group; j++) {
		vf x = v_load(&b->x[j][lane]), w = v_load(&b->cost[j][lane]);
		vf d = v_load(&b->now[j][lane]) - x;

		lo = v_min(x, lo);
		hi = v_max(x, hi);
		weight += w;
		best.error += w * d * d;
	}
	start = best.error;
	range = hi - lo;
	affine_from(b, lane, &best, best.scale, best.bias, weight, 1);
	for (size_t i = 0; i < n; i++) {
		vf from = lo + range * cut[i].low;
		vf width = range * (1 - cut[i].low - cut[i].high);

		affine_from(b, lane, &best, v_stored(width / top, b->scale_dtype),
			    v_stored(from, b->scale_dtype), weight, 1);
	}
	affine_from(b, lane, &best, best.scale, best.bias, weight, 2);
	better = best.error < start;
	for (unsigned j = 0; j < b->group; j++) {
		vf q = affine_quotient(v_load(&b->x[j][lane]), best.bias, v_inverse(best.scale),
				       v_set(top));
		vi code = __builtin_convertvector(q, vi);

		for (unsigned i = 0; i < LANES; i++)
			b->code[j][lane + i] = (uint8_t)code[i];
	}
	memcpy(b->scale + lane, &best.scale, sizeof(vf));
	memcpy(b->bias + lane, &best.bias, sizeof(vf));
	for (unsigned i = 0; i < LANES; i++)
		b->better[lane + i] = better[i] != 0;
}

/* The small floats: magnitudes with `mantissa` bits, from 2^least on normal. */
struct small { float most, least; int mantissa; };
static const struct small e2m1 = { 6, 1, 1 }, e4m3 = { 448, 0x1p-6f, 3 };

SIMD vf
small_round(vf a, const struct small *s)
{
	a = v_min(a, v_set(s->most));
	return v_round_to(a, v_max(v_binade(a), v_set(s->least)) * (s->mantissa == 1 ? .5f : .125f));
}

/* Its code, without the sign. */
SIMD vi
small_code(vf a, const struct small *s)
{
	int shift = 23 - s->mantissa;
	int32_t first;			/* what lies below the smallest normal one */
	vi normal, few;

	memcpy(&first, &s->least, sizeof(first));
	first = (first >> shift) - (1 << s->mantissa);
	normal = ((vi)a >> shift) - first;
	few = __builtin_convertvector(a * ((float)(1 << s->mantissa) / s->least), vi);
	return (few & (a < s->least)) | (normal & ~(a < s->least));
}

SIMD vf
byte_scale(const struct search_block *b, vi byte)
{
	vi normal = byte >= 8;
	vf sub = __builtin_convertvector(byte, vf) * 0x1p-9f;

	if (b->kind != SCHEME_NVFP4)
		return (vf)(byte << 23);
	return v_pick(normal, (vf)((((byte >> 3) + 120) << 23) | ((byte & 7) << 20)), sub);
}

SIMD vf
small_error(const struct search_block *b, unsigned lane, vf scale, const struct small *s)
{
	vf inverse = 1 / scale, error = v_set(0);

	for (unsigned j = 0; j < b->group; j++) {
		vf a = v_abs(v_load(&b->x[j][lane]));
		vf d = small_round(a * inverse, s) * scale - a;

		error += v_load(&b->cost[j][lane]) * d * d;
	}
	return error;
}

static void
small_lanes(struct search_block *b, unsigned lane)
{
	const struct small *s = b->bits == 8 ? &e4m3 : &e2m1;
	int from = b->kind == SCHEME_NVFP4 ? -6 : -1, to = b->kind == SCHEME_NVFP4 ? 6 : 1;
	int32_t most = b->kind == SCHEME_NVFP4 ? 0x7e : 0xfd;
	vi usual, best, sign = i_set(b->bits == 8 ? 0x80 : 8), better;
	vf error = v_set(0), start;

	memcpy(&usual, b->byte + lane, sizeof(usual));
	best = usual;
	for (unsigned j = 0; j < b->group; j++) {
		vf d = v_load(&b->now[j][lane]) - v_load(&b->x[j][lane]);

		error += v_load(&b->cost[j][lane]) * d * d;
	}
	start = error;
	for (int i = from; i <= to; i++) {
		vi byte = usual + i, low = byte < 1, high = byte > most;
		vf e;

		byte = (byte & ~(low | high)) | (low & 1) | (high & most);
		e = small_error(b, lane, byte_scale(b, byte), s);
		better = e < error;
		best = (byte & better) | (best & ~better);
		error = v_pick(better, e, error);
	}
	better = error < start;
	for (unsigned j = 0; j < b->group; j++) {
		vf x = v_load(&b->x[j][lane]), a = v_abs(x);
		vi code = small_code(small_round(a * (1 / byte_scale(b, best)), s), s);
		vi minus = ((vi)x < 0) & sign;

		if (b->plus_zero)
			minus &= code != 0;
		code |= minus;
		for (unsigned i = 0; i < LANES; i++)
			b->code[j][lane + i] = (uint8_t)code[i];
	}
	memcpy(b->byte + lane, &best, sizeof(best));
	for (unsigned i = 0; i < LANES; i++)
		b->better[lane + i] = better[i] != 0;
}

static void
search_all(struct search_block *b)
{
	for (unsigned lane = 0; lane < SEARCH_GROUPS; lane += LANES) {
		if (b->kind == SCHEME_AFFINE)
			affine_lanes(b, lane);
		else
			small_lanes(b, lane);
	}
}

/* Code and value of x, for the scales of these lanes. */
SIMD vi
code_of(const struct search_block *b, vf x, vf scale, vf bias, vf *value)
{
	const struct small *s = b->bits == 8 ? &e4m3 : &e2m1;
	vi sign = (vi)x & INT32_MIN, code;
	vf a;

	if (b->kind == SCHEME_AFFINE) {
		a = affine_quotient(x, bias, v_inverse(scale), v_set((float)((1u << b->bits) - 1)));
		*value = a * scale + bias;
		return __builtin_convertvector(a, vi);
	}
	a = small_round(v_abs(x) * v_inverse(scale), s);
	*value = (vf)((vi)(a * scale) | sign);
	code = small_code(a, s);
	sign = (sign != 0) & (b->bits == 8 ? 0x80 : 8);
	return code | (b->plus_zero ? sign & (code != 0) : sign);
}

static void
feed_all(struct search_block *b, const struct search_feed *f)
{
	const size_t begin = f->first / f->block * f->block;
	const size_t end = f->cols - begin < f->block ? f->cols : begin + f->block;

	for (unsigned lane = 0; lane < SEARCH_GROUPS; lane += LANES) {
		vf scale = v_load(b->scale + lane), bias = v_load(b->bias + lane);
		vi byte;

		memcpy(&byte, b->byte + lane, sizeof(byte));
		if (b->kind != SCHEME_AFFINE)
			scale = byte_scale(b, byte);
		for (unsigned j = 0; j < b->group; j++) {
			size_t at = f->first + j;
			const float *share = f->share + at * f->block - begin;
			vf x = v_load(f->side + at * SEARCH_GROUPS + lane), value, lost;
			vi code = code_of(b, x, scale, bias, &value);

			for (unsigned i = 0; i < LANES; i++)
				b->code[j][lane + i] = (uint8_t)code[i];
			lost = x - value;
			for (size_t k = at + 1; k < end; k++) {
				float *to = f->side + k * SEARCH_GROUPS + lane;
				vf v = v_load(to) + lost * share[k];

				memcpy(to, &v, sizeof(v));
			}
		}
	}
}

const struct search_kernels SEARCH_NAME = { search_all, feed_all };
