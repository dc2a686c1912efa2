/* What trains the demo's model: derivatives against differences, and that it learns. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/demo/net.h"
#include "tests/unit/unit.h"

static const struct net_shape tiny = { 24, 16, 2, 4, 2, 8, 24, 1e-5f, 100 };

/* Three texts, of which some tokens do not count. */
#define NTEXTS 3
static const size_t begins[NTEXTS + 1] = { 0, 1, 6, 13 };
static uint32_t ids[13], wants[13];
static float weights[13];

static struct net_batch
some_texts(void)
{
	for (unsigned i = 0; i < 13; i++) {
		ids[i] = (i * 7 + 3) % 24;
		wants[i] = (i * 5 + 1) % 24;
		weights[i] = i % 4 == 2 ? 0 : i % 3 ? 1 : .25f;
	}
	return (struct net_batch){ ids, wants, weights, begins, NTEXTS };
}

/* Along a direction in w[from, to): what the derivative says, and what the loss does. */
static void
compare_along(struct net *n, const struct net_batch *b, size_t from, size_t to, uint64_t seed)
{
	const float step = 2e-3f;
	float *before = malloc(n->n * sizeof(*before));
	float *along = calloc(n->n, sizeof(*along));
	double said = 0, up, down, did;

	assert_non_null(before);
	assert_non_null(along);
	memcpy(before, n->w, n->n * sizeof(*before));
	(void)net_loss(n, b, true);
	for (size_t i = from; i < to; i++) {
		along[i] = net_random(&seed);
		said += (double)(n->grad[i] * along[i]);
	}
	for (size_t i = from; i < to; i++)
		n->w[i] = before[i] + step * along[i];
	up = net_loss(n, b, false);
	for (size_t i = from; i < to; i++)
		n->w[i] = before[i] - step * along[i];
	down = net_loss(n, b, false);
	memcpy(n->w, before, n->n * sizeof(*before));
	did = (up - down) / (2 * (double)step);
	if (fabs(said - did) > .004 + .01 * fabs(did))
		fail_msg("weights %zu to %zu: %g said, %g seen", from, to, said, did);
	free(before);
	free(along);
}

/* Larger weights than those it begins with, so that everything bends. */
static void
roughen(struct net *n)
{
	uint64_t seed = 5;

	for (size_t i = 0; i < n->n; i++)
		n->w[i] += .3f * net_random(&seed);
}

static void
test_derivatives(void **state)
{
	struct net_batch b = some_texts();
	struct net n;

	(void)state;
	assert_true(net_new(&n, &tiny, 17));
	roughen(&n);
	for (uint64_t seed = 1; seed < 4; seed++) {
		compare_along(&n, &b, 0, n.layer[0].norm1, seed);
		for (unsigned l = 0; l < tiny.layers; l++) {
			const struct net_layer *y = &n.layer[l];
			size_t q = y->qkv + (size_t)tiny.heads * tiny.head_dim * tiny.dim;
			size_t k = q + (size_t)tiny.kv_heads * tiny.head_dim * tiny.dim;
			size_t end = l + 1 < tiny.layers ? n.layer[l + 1].norm1 : n.norm;

			compare_along(&n, &b, y->norm1, y->qkv, seed);
			compare_along(&n, &b, y->qkv, q, seed);
			compare_along(&n, &b, q, k, seed);
			compare_along(&n, &b, k, y->out, seed);
			compare_along(&n, &b, y->out, y->norm2, seed);
			compare_along(&n, &b, y->norm2, y->gate_up, seed);
			compare_along(&n, &b, y->gate_up, y->down, seed);
			compare_along(&n, &b, y->down, end, seed);
		}
		compare_along(&n, &b, n.norm, n.n, seed);
	}
	net_free(&n);
}

/* A text does not see the others: alone it costs the same. */
static void
test_alone(void **state)
{
	struct net_batch b = some_texts(), one = b;
	const size_t own[2] = { 0, 7 };
	double all[NTEXTS] = { 0 }, alone;
	struct net n;

	(void)state;
	assert_true(net_new(&n, &tiny, 17));
	roughen(&n);
	for (unsigned i = 0; i < 13; i++)
		weights[i] = i >= 6;
	all[0] = net_loss(&n, &b, false);
	one.ids += 6;
	one.want += 6;
	one.weight += 6;
	one.begin = own;
	one.ntexts = 1;
	alone = net_loss(&n, &one, false);
	assert_true(fabs(all[0] - alone) < 1e-5);
	net_free(&n);
}

static void
test_learns(void **state)
{
	struct net_batch b = some_texts();
	const struct net_rate rate = { 1e-2f, .9f, .98f, .01f, 1 };
	double before, after = 0;
	struct net n;

	(void)state;
	assert_true(net_new(&n, &tiny, 17));
	before = net_loss(&n, &b, false);
	assert_true(fabs(before - log(24)) < .1);	/* it knows nothing */
	for (int i = 0; i < 200; i++) {
		after = net_loss(&n, &b, true);
		(void)net_step(&n, &rate);
	}
	assert_true(after < .1);
	net_free(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derivatives),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_learns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
