/* test_scan.c - convolutions and states, token after token: on every path what doubles say,
 * and the same bits whether tokens come at once or in pieces. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "src/engine/scan.h"
#include "src/engine/state.h"

#define TOKENS 23
#define WIDTH 150
#define ROWS 37

static const char *const paths[] = { "scalar", "avx2", "avx512" };

static uint32_t seed;

static float
next(void)
{
	seed = seed * 1664525 + 1013904223;
	return (float)(seed >> 8) / (1 << 23) - 1;
}

static void
fill(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = next();
}

static void
assert_near(float is, double should)
{
	if (fabs(is - should) > 1e-5 * (1 + fabs(should)))
		fail_msg("%.9g, but it should be %.9g", is, should);
}

struct conv_case {
	float x[TOKENS][WIDTH + 3], past[SCAN_KERNEL_MAX][WIDTH], w[SCAN_KERNEL_MAX][WIDTH];
	float bias[WIDTH];
};

/* Columns [2, width) in two goes; others stay as they are. */
static void
conv_pieces(struct conv_case *c, size_t width, size_t kernel, bool bias, const size_t *piece)
{
	for (size_t at = 0, n; at < TOKENS; at += n) {
		struct scan_conv conv = {
			.x = c->x[at], .stride = WIDTH + 3, .width = WIDTH, .past = c->past[0],
			.w = c->w[0], .bias = bias ? c->bias : NULL, .kernel = kernel,
			.silu = bias,
		};

		conv.m = n = *piece < TOKENS - at ? *piece : TOKENS - at;
		piece += piece[1] != 0;
		scan_ops()->conv(&conv, 2, width / 2);
		scan_ops()->conv(&conv, width / 2, width);
	}
}

static double
conv_should(const struct conv_case *c, size_t t, size_t j, size_t kernel, bool bias)
{
	double y = bias ? c->bias[j] : 0;

	for (size_t i = 0; i < kernel; i++)
		y += (double)c->w[i][j] *
		     (t + i + 1 < kernel ? c->past[t + i][j] : c->x[t + i + 1 - kernel][j]);
	return bias ? y / (1 + exp(-y)) : y;
}

static void
convolves_as_doubles_do(void **state)
{
	static struct conv_case c, once, bits;

	(void)state;
	for (size_t kernel = 1; kernel <= SCAN_KERNEL_MAX; kernel++) {
		size_t width = WIDTH - 7 * kernel;
		bool bias = kernel % 3 != 0;

		fill(c.x[0], sizeof(c) / sizeof(float));
		once = bits = c;
		conv_pieces(&once, width, kernel, bias, (const size_t[]){ TOKENS, 0 });
		conv_pieces(&bits, width, kernel, bias, (const size_t[]){ 1, 6, 1, 2, 0 });
		assert_memory_equal(&once, &bits, sizeof(c));
		for (size_t t = 0; t < TOKENS; t++)
			for (size_t j = 0; j < WIDTH + 3; j++)
				assert_near(once.x[t][j], j < 2 || j >= width ? c.x[t][j]
					    : conv_should(&c, t, j, kernel, bias));
		for (size_t i = 0; i + 1 < kernel; i++)
			for (size_t j = 2; j < width; j++)
				assert_true(once.past[i][j] == c.x[TOKENS + 1 - kernel + i][j]);
	}
}

struct state_case {
	float s[ROWS * WIDTH], q[TOKENS][ROWS], k[TOKENS][ROWS], v[TOKENS][WIDTH];
	float decay[TOKENS][2], beta[TOKENS][2], out[TOKENS][WIDTH + 1];
};

static void
state_pieces(struct state_case *c, size_t cols, bool delta, const size_t *piece)
{
	for (size_t at = 0, n; at < TOKENS; at += n) {
		struct scan_state s = {
			.s = c->s, .rows = ROWS, .cols = cols, .q = c->q[at], .k = c->k[at],
			.v = c->v[at], .decay = c->decay[at], .beta = c->beta[at],
			.out = c->out[at], .qk_stride = ROWS, .v_stride = WIDTH,
			.gate_stride = 2, .out_stride = WIDTH + 1, .delta = delta,
		};

		s.m = n = *piece < TOKENS - at ? *piece : TOKENS - at;
		piece += piece[1] != 0;
		scan_ops()->state(&s);
	}
}

/* One column in doubles. */
static void
state_should(const struct state_case *c, const struct state_case *is, size_t cols, size_t j,
	     bool delta)
{
	double s[ROWS];

	for (size_t r = 0; r < ROWS; r++)
		s[r] = c->s[r * cols + j];
	for (size_t t = 0; t < TOKENS; t++) {
		double seen = 0, out = 0, d;

		for (size_t r = 0; r < ROWS; r++) {
			s[r] *= c->decay[t][0];
			seen += s[r] * c->k[t][r];
		}
		d = (c->v[t][j] - (delta ? seen : 0)) * c->beta[t][0];
		for (size_t r = 0; r < ROWS; r++) {
			s[r] += c->k[t][r] * d;
			out += s[r] * c->q[t][r];
		}
		assert_near(is->out[t][j], out);
	}
	for (size_t r = 0; r < ROWS; r++)
		assert_near(is->s[r * cols + j], s[r]);
}

static void
changes_state_as_doubles_do(void **state)
{
	static const size_t widths[] = { 1, 5, 16, SCAN_COLUMNS, 48, 77, 128 };
	static struct state_case c, once, bits;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(widths) / sizeof(*widths); i++) {
		size_t cols = widths[i / 2];

		fill(c.s, sizeof(c) / sizeof(float));
		for (size_t t = 0; t < TOKENS; t++) {
			c.decay[t][0] = fabsf(c.decay[t][0]);
			c.beta[t][0] = fabsf(c.beta[t][0]);
			for (size_t r = 0; r < ROWS; r++)
				c.k[t][r] /= 4;		/* no longer than 1 */
		}
		once = bits = c;
		state_pieces(&once, cols, i % 2, (const size_t[]){ TOKENS, 0 });
		state_pieces(&bits, cols, i % 2, (const size_t[]){ 1, 6, 1, 2, 0 });
		for (size_t j = 0; j < cols; j++) {
			state_should(&c, &once, cols, j, i % 2);
			state_should(&c, &bits, cols, j, i % 2);
		}
		assert_true(once.out[0][cols] == c.out[0][cols]);
		once = c;
		state_pieces(&once, cols, i % 2, (const size_t[]){ SCAN_MANY - 1, 0 });
		assert_memory_equal(&once, &bits, sizeof(c));
	}
}

static void
makes_vectors_as_long(void **state)
{
	static const size_t widths[] = { 1, 7, 16, 37, 128 };
	float x[3 * 128], is[3 * 128];

	(void)state;
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		size_t n = widths[i];

		fill(x, 3 * n);
		memset(x, 0, n * sizeof(*x));
		memcpy(is, x, sizeof(is));
		scan_ops()->unit(is, 3, n, 1e-6f, 0.25f);
		for (size_t v = 0; v < 3; v++) {
			double sum = 0;

			for (size_t j = v * n; j < (v + 1) * n; j++)
				sum += (double)x[j] * x[j];
			for (size_t j = v * n; j < (v + 1) * n; j++)
				assert_near(is[j], x[j] * 0.25 / sqrt(sum + 1e-6));
		}
	}
}

static void
on_every_path(void (*test)(void **))
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		setenv("TBTUI_CPU", paths[i], 1);
		test(NULL);
	}
	unsetenv("TBTUI_CPU");
}

static void
convolution(void **state)
{
	(void)state;
	on_every_path(convolves_as_doubles_do);
}

static void
states(void **state)
{
	(void)state;
	on_every_path(changes_state_as_doubles_do);
}

static void
lengths(void **state)
{
	(void)state;
	on_every_path(makes_vectors_as_long);
}

/* Tokens, one or several at a time, that leave their number in both layers. */
static void
go(struct state *st, uint32_t pos, size_t n)
{
	state_begin(st, pos, n);
	state_layer(st, 0)[0] = (float)(pos + n);
	state_layer(st, 2)[20] = (float)(pos + n);
}

static void
assert_at(const struct state *st, uint32_t is, uint32_t should)
{
	assert_int_equal(is, should);
	assert_true(state_layer(st, 0)[0] == (float)should);
	assert_true(state_layer(st, 2)[20] == (float)should);
}

static void
goes_back_to_what_it_kept(void **state)
{
	struct state st;
	struct tb_err err;

	(void)state;
	assert_ok(state_init(&st, (const size_t[]){ 3, 0, 21 }, 3, &err), err);
	assert_true(state_any(&st));
	assert_true((uintptr_t)state_layer(&st, 2) % 64 == 0);
	assert_at(&st, 0, 0);
	go(&st, 0, 300);
	assert_at(&st, state_rewind(&st, 299), 0);
	go(&st, 0, 300);
	go(&st, 300, 100);
	for (uint32_t i = 400; i < 700; i++)
		go(&st, i, 1);
	assert_at(&st, state_rewind(&st, 690), 656);	/* one by one: every 256 */
	go(&st, 656, 4);				/* guessed, of which 2 were wrong */
	assert_at(&st, state_rewind(&st, 658), 656);
	go(&st, 656, 1);
	assert_at(&st, state_rewind(&st, 655), 400);	/* what a prompt ended with */
	go(&st, 400, 1);
	go(&st, 401, 1);
	assert_at(&st, state_rewind(&st, 401), 400);
	assert_at(&st, state_rewind(&st, 399), 300);
	assert_at(&st, state_rewind(&st, 1000), 300);
	assert_at(&st, state_rewind(&st, 299), 0);
	state_free(&st);
}

/* However many evaluations there were, a few copies lie the closer, the nearer. */
static void
keeps_a_few(void **state)
{
	struct state st;
	struct tb_err err;
	uint32_t pos = 1000;

	(void)state;
	assert_ok(state_init(&st, (const size_t[]){ 3, 0, 21 }, 3, &err), err);
	go(&st, 0, 1000);
	for (; pos < 1400; pos += 4)
		go(&st, pos, 4);
	assert_int_equal(st.copies, STATE_COPIES);
	assert_at(&st, state_rewind(&st, 1397), 1396);
	assert_at(&st, state_rewind(&st, 1395), 1392);
	assert_at(&st, state_rewind(&st, 1003), 1000);
	state_free(&st);
}

static void
may_be_nothing(void **state)
{
	struct state st;
	struct tb_err err;

	(void)state;
	assert_ok(state_init(&st, (const size_t[]){ 0, 0 }, 2, &err), err);
	assert_false(state_any(&st));
	state_begin(&st, 5, 10);
	assert_int_equal(state_rewind(&st, 7), 7);
	assert_int_equal(state_bytes(0), 0);
	assert_int_equal(state_bytes(17), 32 * 4 * (1 + STATE_COPIES));
	state_free(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolution),
		cmocka_unit_test(states),
		cmocka_unit_test(lengths),
		cmocka_unit_test(goes_back_to_what_it_kept),
		cmocka_unit_test(keeps_a_few),
		cmocka_unit_test(may_be_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
