/* ggml_k_encode.h - private to src/quant: the encoders of Q2_K .. Q6_K, compiled once for
 * each instruction set: ggml_encode_k.c, ggml_encode_k_avx2.c and ggml_encode_k_avx512.c
 * include their words and define K_NAME. */
#include "src/base/half.h"
#include "src/quant/ggml_blocks.h"
#include "src/quant/ggml_encoders.h"

#include "src/quant/ggml_k_lanes.h"
#include "src/quant/ggml_k_search.h"
#include "src/quant/ggml_k_share.h"
#include "src/quant/ggml_k_pack.h"

/* ---- what an error weighs ---- */

SIMD void k_weigh_size(struct k_fit *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		f->w[i] = v_abs(f->x[i]);
}

SIMD void k_weigh_square(struct k_fit *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		f->w[i] = v_mul(f->x[i], f->x[i]);
}

/* The magnitude, with that of the group's average added. */
SIMD void k_weigh_average(struct k_fit *f, unsigned n)
{
	vf sum = v_set(0), average;

	for (unsigned i = 0; i < n; i++)
		sum = v_add(sum, v_mul(f->x[i], f->x[i]));
	average = v_sqrt(v_div(sum, v_set((float)n)));
	for (unsigned i = 0; i < n; i++)
		f->w[i] = v_add(average, v_abs(f->x[i]));
}

/* Times the magnitude of what the super-block varies by and of the element. */
SIMD void k_weigh_varied(struct k_fit *f, vf sigma2, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		vf square = v_mul(f->x[i], f->x[i]);

		f->w[i] = v_mul(f->w[i], v_sqrt(v_add(sigma2, square)));
	}
}

SIMD vf k_square_sum(const vf x[K_BLOCK])
{
	vf sum = v_set(0);

	for (unsigned i = 0; i < K_BLOCK; i++)
		sum = v_add(sum, v_mul(x[i], x[i]));
	return sum;
}

/* ---- searches of all groups ---- */

SIMD void k_fit_begin(struct k_fit *f, struct k_batch *b, unsigned first)
{
	f->x = b->x + first;
	f->code = b->code + first;
}

enum k_weigh { K_SIZE, K_SQUARE, K_AVERAGE, K_GIVEN, K_VARIED };

SIMD void k_weigh(struct k_fit *f, const struct k_batch *b, unsigned first, unsigned n,
		  enum k_weigh how)
{
	if (how == K_SIZE)
		k_weigh_size(f, n);
	else if (how == K_SQUARE)
		k_weigh_square(f, n);
	else if (how == K_AVERAGE)
		k_weigh_average(f, n);
	else
		k_load(b->weights, first, n, f->w);
	if (how == K_VARIED)
		k_weigh_varied(f, b->sigma2, n);
}

SIMD void k_all_min(struct k_batch *b, enum k_weigh how, const struct k_steps *k)
{
	enum { ABREAST = 2 };
	struct k_fit f[ABREAST];

	for (unsigned j = 0; j < K_BLOCK / k->n; j += ABREAST) {
		UNROLL for (unsigned g = 0; g < ABREAST; g++) {
			k_fit_begin(f + g, b, (j + g) * k->n);
			k_weigh(f + g, b, (j + g) * k->n, k->n, how);
		}
		k_search_min(f, ABREAST, k);
		UNROLL for (unsigned g = 0; g < ABREAST; g++) {
			b->scale[j + g] = f[g].scale;
			b->min[j + g] = f[g].min;
			b->sum_w[j + g] = f[g].sum_w;
		}
	}
}

SIMD void k_all_scale(struct k_batch *b, enum k_weigh how, int half)
{
	enum { ABREAST = 2 };
	struct k_fit f[ABREAST];

	for (unsigned j = 0; j < 16; j += ABREAST) {
		UNROLL for (unsigned g = 0; g < ABREAST; g++) {
			vf sum = v_set(0);

			k_fit_begin(f + g, b, (j + g) * 16);
			k_weigh(f + g, b, (j + g) * 16, 16, how);
			for (unsigned i = 0; i < 16; i++)
				sum = v_add(sum, f[g].w[i]);
			b->sum_w[j + g] = sum;
		}
		k_search_scale(f, ABREAST, 16, half);
		UNROLL for (unsigned g = 0; g < ABREAST; g++)
			b->scale[j + g] = f[g].scale;
	}
}

SIMD void k_all_moves(struct k_batch *b, int half)
{
	enum { ABREAST = 4 };
	struct k_fit f[ABREAST];

	for (unsigned j = 0; j < 16; j += ABREAST) {
		UNROLL for (unsigned g = 0; g < ABREAST; g++) {
			k_fit_begin(f + g, b, (j + g) * 16);
			k_weigh_square(f + g, 16);
		}
		k_search_moves(f, ABREAST, 16, half);
		UNROLL for (unsigned g = 0; g < ABREAST; g++)
			b->scale[j + g] = f[g].scale;
	}
}

/* ---- the types ---- */

static void
k_fit_q2(struct k_batch *b, bool weighted)
{
	if (weighted) {
		b->sigma2 = v_div(k_square_sum(b->x), v_set(256));
		k_all_min(b, K_VARIED, &(struct k_steps){
			16, 3, -0.9f, 0.05f, 36, false });
		k_share_weighted(b, 16, 15);
	} else {
		k_all_min(b, K_SIZE, &(struct k_steps){ 16, 3, -0.5f, 0.1f, 15, true });
		v_store_f32(b->d, k_share_largest(b->scale, 16, 15, b->ls));
		v_store_f32(b->dmin, k_share_largest(b->min, 16, 15, b->lm));
	}
}

static void
k_fit_q3(struct k_batch *b, bool weighted)
{
	if (weighted) {
		b->sigma2 = v_div(v_mul(v_set(2), k_square_sum(b->x)), v_set(256));
		k_all_scale(b, K_VARIED, 4);
		k_share_six_weighted(b);
	} else {
		k_all_moves(b, 4);
		k_share_six(b);
	}
}

/* Q4_K and Q5_K.  A code of 8 bits above 63 is 63, but for Q4_K with weights, where it
 * runs over into its neighbours as it does in ggml. */
SIMD void k_fit_45(struct k_batch *b, bool weighted, int most, float first, int steps)
{
	bool hold = !weighted || most == 31;

	if (weighted) {
		b->sigma2 = v_div(v_mul(v_set(2), k_square_sum(b->x)), v_set(256));
		k_all_min(b, K_VARIED, &(struct k_steps){
			32, most, -0.9f, 0.05f, 36, false });
		k_share_weighted(b, 8, 63);
	} else {
		k_all_min(b, K_AVERAGE, &(struct k_steps){
			32, most, first, 0.1f, steps, false });
		v_store_f32(b->d, k_share_largest(b->scale, 8, 63, b->ls));
		v_store_f32(b->dmin, k_share_largest(b->min, 8, 63, b->lm));
	}
	for (unsigned j = 0; j < 8 && hold; j++)
		for (unsigned s = 0; s < LANES; s++) {
			b->ls[j][s] = b->ls[j][s] < 63 ? b->ls[j][s] : 63;
			b->lm[j][s] = b->lm[j][s] < 63 ? b->lm[j][s] : 63;
		}
}

static void
k_fit_q4(struct k_batch *b, bool weighted)
{
	k_fit_45(b, weighted, 15, -1.f, 20);
}

static void
k_fit_q5(struct k_batch *b, bool weighted)
{
	k_fit_45(b, weighted, 31, -0.5f, 15);
}

static void
k_fit_q6(struct k_batch *b, bool weighted)
{
	if (weighted)
		k_all_scale(b, K_GIVEN, 32);
	else
		k_all_scale(b, K_SQUARE, 32);
	k_share_eight(b);
}

struct k_type {
	void (*fit)(struct k_batch *b, bool weighted);
	void (*pack)(const struct k_batch *b, unsigned s, uint8_t *out);
	unsigned bytes;
};

/* Lanes without a super-block of their own do the last one again. */
static void
k_encode(const struct k_type *t, const float *src, size_t rows, size_t cols,
	 const float *weights, uint8_t *out)
{
	size_t blocks = rows * (cols / K_BLOCK), last = blocks - 1;
	struct k_batch b;

	for (size_t i = 0; i < blocks; i += LANES) {
		for (unsigned s = 0; s < LANES; s++) {
			size_t at = (i + s < last ? i + s : last) * K_BLOCK;

			b.src[s] = src + at;
			b.weights[s] = weights ? weights + at % cols : NULL;
		}
		k_load(b.src, 0, K_BLOCK, b.x);
		t->fit(&b, weights != NULL);
		for (unsigned s = 0; s < LANES && i + s < blocks; s++)
			t->pack(&b, s, out + (i + s) * t->bytes);
	}
}

#define K_ENCODER(name, ...) \
void \
K_NAME(name)(const float *src, size_t rows, size_t cols, const float *weights, \
	     void *out) \
{ \
	k_encode(&(struct k_type){ __VA_ARGS__ }, src, rows, cols, weights, out); \
}

K_ENCODER(ggml_encode_q2_k, k_fit_q2, k_pack_q2, 84)
K_ENCODER(ggml_encode_q3_k, k_fit_q3, k_pack_q3, 110)
K_ENCODER(ggml_encode_q4_k, k_fit_q4, k_pack_q4, 144)
K_ENCODER(ggml_encode_q5_k, k_fit_q5, k_pack_q5, 176)
K_ENCODER(ggml_encode_q6_k, k_fit_q6, k_pack_q6, 210)
