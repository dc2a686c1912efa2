#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>

#include "src/engine/sampler.h"

#define VOCAB 50
#define DRAWS 20000

static struct sampler *
make(struct sampler_opts o, size_t vocab)
{
	struct sampler *s;
	struct tb_err err;

	assert_ok(sampler_new(&s, &o, vocab, &err), err);
	return s;
}

static struct sampler_opts
plain(void)
{
	return (struct sampler_opts){ .temperature = 1, .top_p = 1, .repeat_penalty = 1, .seed = 5 };
}

static void
count(struct sampler_opts o, const float *logits, unsigned seen[VOCAB])
{
	struct sampler *s = make(o, VOCAB);

	memset(seen, 0, VOCAB * sizeof(*seen));
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t id = sampler_pick(s, logits, NULL, 0, NULL);

		assert_true(id < VOCAB);
		seen[id]++;
	}
	sampler_free(s);
}

/* Logits whose probabilities are known: softmax is 1/2, 1/4, 1/8, … of 10 tokens. */
static void
halves(float logits[VOCAB])
{
	for (unsigned i = 0; i < VOCAB; i++)
		logits[i] = -INFINITY;
	for (unsigned i = 0; i < 10; i++)
		logits[i * 5] = (float)(-(double)i * log(2));
}

static void
test_greedy(void **state)
{
	float logits[VOCAB] = { 0 };
	struct sampler_opts o = plain();
	struct sampler *s;

	(void)state;
	o.temperature = 0;
	s = make(o, VOCAB);
	logits[7] = logits[9] = 3;
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 7);	/* the first of equals */
	logits[0] = NAN;
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 7);
	logits[30] = INFINITY;
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 30);
	sampler_free(s);
}

static void
test_distribution(void **state)
{
	float logits[VOCAB];
	unsigned seen[VOCAB];

	(void)state;
	halves(logits);
	count(plain(), logits, seen);
	for (unsigned i = 0; i < 5; i++) {
		double p = pow(0.5, i + 1), sd = sqrt(DRAWS * p * (1 - p));

		assert_true(fabs(seen[i * 5] - DRAWS * p) < 5 * sd + DRAWS * 0.002);
	}
	for (unsigned i = 0; i < VOCAB; i++)
		assert_true(i % 5 == 0 || !seen[i]);	/* impossible stays impossible */
}

static void
test_temperature(void **state)
{
	float logits[VOCAB];
	unsigned cold[VOCAB], hot[VOCAB];
	struct sampler_opts o = plain();

	(void)state;
	halves(logits);
	o.temperature = 0.5f;	/* 1/4 : 1/16 : … of 1/3 */
	count(o, logits, cold);
	assert_true(fabs(cold[0] - DRAWS * 0.75) < 500);
	o.temperature = 50;	/* nearly even */
	count(o, logits, hot);
	assert_true(fabs(hot[45] - DRAWS * 0.1) < 500);
}

static void
test_cuts(void **state)
{
	float logits[VOCAB];
	unsigned seen[VOCAB];
	struct sampler_opts o = plain();

	(void)state;
	halves(logits);
	o.top_k = 3;
	count(o, logits, seen);
	assert_true(seen[0] && seen[5] && seen[10] && !seen[15]);
	assert_true(fabs(seen[0] - DRAWS * 4 / 7.0) < 500);
	o = plain();
	o.top_p = 0.8f;		/* 0.5 + 0.25 + 0.125 reaches it */
	count(o, logits, seen);
	assert_true(seen[0] && seen[5] && seen[10] && !seen[15]);
	o = plain();
	o.min_p = 0.3f;		/* 1/2 is, 1/4 is not */
	count(o, logits, seen);
	assert_true(seen[0] && seen[5] && !seen[10]);
	o.top_p = 0;		/* the likeliest alone */
	count(o, logits, seen);
	assert_int_equal(seen[0], DRAWS);
}

/* top-k through the heap against sorting: the same tokens, whatever the order. */
static void
test_heap(void **state)
{
	float logits[VOCAB];
	unsigned seen[VOCAB];
	struct sampler_opts o = plain();

	(void)state;
	for (unsigned i = 0; i < VOCAB; i++)
		logits[i] = (float)(i * 17 % VOCAB) / 40;
	for (o.top_k = 1; o.top_k < VOCAB; o.top_k += 6) {
		count(o, logits, seen);
		for (unsigned i = 0; i < VOCAB; i++)
			assert_int_equal(seen[i] > 0, i * 17 % VOCAB >= VOCAB - o.top_k);
	}
}

static void
test_penalty(void **state)
{
	float logits[VOCAB] = { [3] = 4, [4] = 3, [5] = -1 }, before[VOCAB];
	const uint32_t recent[] = { 3, 9, 9, 3, 3, 4000 };
	struct sampler_opts o = plain();
	struct sampler *s;
	struct tb_err err;

	(void)state;
	memcpy(before, logits, sizeof(logits));
	o.temperature = 0;
	o.repeat_penalty = 1.5f;
	o.repeat_last = 64;
	s = make(o, VOCAB);
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 3);
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 4);	/* 4 / 1.5 < 3, once only */
	assert_memory_equal(logits, before, sizeof(logits));
	logits[4] = 2.5f;
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 3);
	sampler_free(s);
	o.repeat_last = 1;	/* sees the last one only */
	s = make(o, VOCAB);
	logits[4] = 3;
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 3);
	sampler_free(s);
	o = plain();
	o.temperature = 0;
	o.repeat_last = 64;
	o.frequency = 0.3f;	/* of 3, which is there three times: 4 - 0.9 */
	s = make(o, VOCAB);
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 3);
	logits[4] = 3.2f;
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 4);
	sampler_free(s);
	o.frequency = 0;
	o.presence = 0.7f;	/* once: 3.3 */
	s = make(o, VOCAB);
	assert_int_equal(sampler_pick(s, logits, recent, 6, NULL), 3);
	o.presence = 3;
	sampler_free(s);
	assert_fails(sampler_new(&s, &o, VOCAB, &err), err, TB_EUSAGE, "presence");
}

static void
test_seed(void **state)
{
	float logits[VOCAB] = { 0 };
	struct sampler_opts o = plain();
	struct sampler *a = make(o, VOCAB), *b = make(o, VOCAB), *c;
	unsigned same = 0;

	(void)state;
	o.seed = 6;
	c = make(o, VOCAB);
	for (unsigned i = 0; i < 200; i++) {
		uint32_t id = sampler_pick(a, logits, NULL, 0, NULL);

		assert_int_equal(id, sampler_pick(b, logits, NULL, 0, NULL));
		same += id == sampler_pick(c, logits, NULL, 0, NULL);
	}
	assert_true(same < 30);
	sampler_free(a);
	sampler_free(b);
	sampler_free(c);
}

static void
test_hostile(void **state)
{
	float logits[VOCAB];
	struct sampler *s = make(plain(), VOCAB);

	(void)state;
	for (unsigned i = 0; i < VOCAB; i++)
		logits[i] = NAN;
	assert_true(sampler_pick(s, logits, NULL, 0, NULL) < VOCAB);
	logits[8] = 1;
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 8);
	logits[9] = INFINITY;
	assert_int_equal(sampler_pick(s, logits, NULL, 0, NULL), 9);
	for (unsigned i = 0; i < VOCAB; i++)
		logits[i] = -INFINITY;
	assert_true(sampler_pick(s, logits, NULL, 0, NULL) < VOCAB);
	sampler_free(s);
}

static void
test_refusals(void **state)
{
	struct sampler_opts o = plain();
	struct sampler *s;
	struct tb_err err;

	(void)state;
	o.temperature = -1;
	assert_fails(sampler_new(&s, &o, VOCAB, &err), err, TB_EUSAGE, "temperature");
	o = plain();
	o.top_p = 1.5f;
	assert_fails(sampler_new(&s, &o, VOCAB, &err), err, TB_EUSAGE, "top-p");
	o = plain();
	o.min_p = NAN;
	assert_fails(sampler_new(&s, &o, VOCAB, &err), err, TB_EUSAGE, "min-p");
	o = plain();
	o.repeat_penalty = 0;
	assert_fails(sampler_new(&s, &o, VOCAB, &err), err, TB_EUSAGE, "repeat");
}

/* Of those that are allowed alone, however little the model thinks of them. */
static void
test_allowed(void **state)
{
	const uint64_t bits = UINT64_C(1) << 3 | UINT64_C(1) << 20 | UINT64_C(1) << 40;
	const struct sampler_allowed allowed = { &bits, 30 };
	static const float temperatures[] = { 0, 1 };
	const uint32_t recent[] = { 3 };
	float logits[VOCAB];

	(void)state;
	for (unsigned t = 0; t < 2; t++) {
		struct sampler_opts o = plain();
		struct sampler *s;
		unsigned seen[VOCAB] = { 0 };

		o.temperature = temperatures[t];
		o.repeat_penalty = 2;
		o.repeat_last = 8;
		s = make(o, VOCAB);
		for (unsigned i = 0; i < VOCAB; i++)
			logits[i] = 10;
		logits[3] = logits[20] = 1;
		for (unsigned i = 0; i < 1000; i++)
			seen[sampler_pick(s, logits, recent, 1, &allowed)]++;
		assert_int_equal(seen[3] + seen[20], 1000);	/* 40 is past the end */
		assert_true(seen[20] > seen[3]);		/* which is penalized */
		logits[3] = NAN;
		logits[20] = -INFINITY;
		for (unsigned i = 0; i < 100; i++) {
			uint32_t id = sampler_pick(s, logits, NULL, 0, &allowed);

			assert_true(id == 3 || id == 20);
		}
		sampler_free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greedy), cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_distribution),
		cmocka_unit_test(test_temperature),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_penalty),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
