/* What is guessed, how many guesses pay, and what is learned from those that were wrong. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/ops/run/guess.h"

static struct guesser *
start(enum guess_how how)
{
	struct chat_model m = { .draft = NULL };
	struct sampler_opts opts = SAMPLER_DEFAULTS;
	struct guesser *g;
	struct tb_err err;

	assert_ok(guesser_new(&g, &m, how, 0, &err), err);
	assert_ok(guess_begin(g, NULL, &opts, &err), err);
	return g;
}

static size_t
guess(struct guesser *g, const uint32_t *ids, size_t n, size_t most, uint32_t *out)
{
	struct tb_err err;
	size_t made;

	assert_ok(guess_make(g, ids, n, most, out, &made, NULL, &err), err);
	return made;
}

static void
test_what(void **state)
{
	/* the longest match counts, not the latest; and of equal ones the latest */
	static const uint32_t a[] = { 1, 2, 3, 4, 5, 9, 3, 7, 8, 2, 3 };
	static const uint32_t b[] = { 3, 4, 9, 3, 7, 8, 3 };
	static const uint32_t loop[] = { 9, 5, 6, 5, 6, 5 };
	static const uint32_t none[] = { 1, 2, 3, 4 };
	struct guesser *g = start(GUESS_ALWAYS);
	uint32_t out[GUESS_MOST];

	(void)state;
	assert_int_equal(guess(g, a, 11, 3, out), 3);
	assert_memory_equal(out, ((uint32_t[]){ 4, 5, 9 }), 12);
	assert_int_equal(guess(g, b, 7, 2, out), 2);
	assert_memory_equal(out, ((uint32_t[]){ 7, 8 }), 8);
	/* what repeats itself goes on beyond what there is */
	assert_int_equal(guess(g, loop, 6, GUESS_MOST, out), GUESS_MOST);
	assert_memory_equal(out, ((uint32_t[]){ 6, 5, 6, 5, 6, 5, 6 }), 28);
	assert_int_equal(guess(g, none, 4, GUESS_MOST, out), 0);
	assert_int_equal(guess(g, none, 1, GUESS_MOST, out), 0);
	guesser_free(g);
	assert_ok(guesser_new(&g, NULL, GUESS_NEVER, 0, NULL), (struct tb_err){ 0 });
	assert_null(g);
}

/* Passes of one row take 1, each further row `row`. */
static void
timed(struct guesser *g, size_t made, double row)
{
	guess_timed(g, 0, made, 1 + row * (double)made);
}

/* A text that is guessed its way through: seconds, and tokens without guesses. */
static double
read_through(struct guesser *g, uint32_t *ids, size_t from, size_t n, double row)
{
	uint32_t out[GUESS_MOST];
	double seconds = 0;

	for (size_t at = from; at < n;) {
		size_t made = guess(g, ids, at, GUESS_MOST, out), right = 0;

		timed(g, made, row);
		seconds += 1 + row * (double)made;
		while (right < made && at + right < n && ids[at + right] == out[right])
			right++;
		at += 1 + right;
	}
	return seconds;
}

#define N 4000

static uint32_t
lot(uint32_t *state)
{
	return (*state = *state * 1664525 + 1013904223) >> 16;
}

/* Text whose next token nobody knows, though each has been there often: nothing is lost. */
static void
test_prose(void **state)
{
	static uint32_t ids[N];
	uint32_t lots = 7;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		uint32_t a = lot(&lots) % 200, b = lot(&lots) % 200;

		ids[i] = a < b ? a : b;
	}
	for (double row = .02; row < 1.5; row *= 2.5) {
		struct guesser *g = start(GUESS_WORTH);

		assert_true(read_through(g, ids, 50, N, row) < 1.02 * (N - 50));
		guesser_free(g);
	}
}

/* What was there before comes again: as many as there are, whatever was before it. */
static void
test_copy(void **state)
{
	static uint32_t ids[2 * N];
	struct guesser *g = start(GUESS_WORTH);
	uint32_t lots = 7;

	(void)state;
	for (size_t i = 0; i < N; i++)
		ids[i] = ids[N + i] = lot(&lots) % 3000;
	(void)read_through(g, ids, 50, N, .2);
	assert_true(read_through(g, ids, N, 2 * N, .2) < N / 2.5);
	guesser_free(g);
}

/* Rows that cost as much as passes are not worth it, however right. */
static void
test_dear(void **state)
{
	static uint32_t ids[N];
	struct guesser *g = start(GUESS_WORTH);

	(void)state;
	for (size_t i = 0; i < N; i++)
		ids[i] = i % 7;
	assert_true(read_through(g, ids, 50, N, 1.2) < 1.03 * (N - 50));
	guesser_free(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what), cmocka_unit_test(test_prose),
		cmocka_unit_test(test_copy), cmocka_unit_test(test_dear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
