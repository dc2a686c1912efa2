/* net_private.h - what a pass leaves for the way back. */
#ifndef TBTUI_DEMO_NET_PRIVATE_H
#define TBTUI_DEMO_NET_PRIVATE_H

#include "data/demo/net.h"

/* Of one layer; a row a token. */
struct layer_acts {
	float *in, *normed1, *scale1;	/* what came in, normed, and 1/rms */
	float *qkv, *mix;		/* q and k turned; what attention made */
	float *share;			/* softmax: text after text, a square a head */
	float *mid, *normed2, *scale2;
	float *gate_up, *act;
};

struct net_acts {
	size_t rows, squares;		/* there is room for */
	struct layer_acts *layer;
	float *end, *end_normed, *end_scale;
	float *picked, *logits;		/* rows that have something to say */
	uint32_t *row;			/* which they are */
	float *cos, *sin;		/* position x half a head */
	float *d_x, *d_a, *d_b, *d_c, *d_share;	/* derivatives on the way back */
};

#define NET_POSITIONS 1024u

/* c = a b^T, c = a b, c += a^T b; sizes as BLAS has them: c is rows x cols, inner between. */
void net_mul_t(float *c, const float *a, const float *b, size_t rows, size_t cols, size_t inner);
void net_mul(float *c, const float *a, const float *b, size_t rows, size_t cols, size_t inner);
void net_mul_grad(float *c, const float *a, const float *b, size_t rows, size_t cols,
		  size_t inner);
/* Pairs of q and k turned by their place; back: the other way. */
void net_turn(const struct net *n, const struct net_batch *b, float *qkv, bool back);
/* d_logits are in acts->logits: everything before them. */
void net_back(struct net *n, const struct net_batch *b, size_t picked);
#endif
