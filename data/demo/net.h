/* net.h - a small model of llama's kind as it learns: all in F32, matrices by BLAS, what it
 * did kept until it has learned from it.  No part of the program: data/demo/train.c uses it.
 *
 * Matrices have a row for each output, as files have them.  q, k and v are one matrix,
 * gate and up another; the head is the embedding. */
#ifndef TBTUI_DEMO_NET_H
#define TBTUI_DEMO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_shape {
	unsigned vocab, dim, layers, heads, kv_heads, head_dim, ffn;
	float eps, theta;
};

/* Where in net.w, net.grad and the like a layer's weights lie. */
struct net_layer { size_t norm1, qkv, out, norm2, gate_up, down; };

struct net {
	struct net_shape s;
	size_t n;			/* weights */
	float *w, *grad, *m, *v;	/* owned; m and v: what AdamW remembers */
	struct net_layer *layer;	/* owned */
	size_t norm;			/* the last; the embedding begins at 0 */
	struct net_acts *acts;		/* private */
	uint64_t steps;
};

/* Texts side by side: text i has the tokens [begin[i], begin[i + 1]), and sees itself alone.
 * The token behind id j is want[j]; its loss counts weight[j] times (0: nothing to say). */
struct net_batch {
	const uint32_t *ids, *want;
	const float *weight;
	const size_t *begin;
	size_t ntexts;
};

struct net_rate { float lr, beta1, beta2, decay, clip; };

bool net_new(struct net *n, const struct net_shape *s, uint64_t seed);
void net_free(struct net *n);
/* What the tokens of a batch cost: the mean over weights, in nats.  learn: grad is set. */
double net_loss(struct net *n, const struct net_batch *b, bool learn);
/* A step against grad; what its norm was. */
double net_step(struct net *n, const struct net_rate *r);
/* Is w[i] of a vector?  Those do not decay. */
bool net_is_norm(const struct net *n, size_t i);
/* Nearly normal, of variance 1. */
float net_random(uint64_t *state);
#endif
