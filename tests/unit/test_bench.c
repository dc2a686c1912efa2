/* test_bench.c - the benchmark measures what it says; how fast is not a test. */
#include "config.h"

#include "src/base/job.h"
#include "src/base/sha256_lanes.h"
#include "src/engine/peak.h"
#include "src/engine/probe.h"
#include "src/engine/team.h"
#include "src/ops/bench/bench_parts.h"
#include "src/ops/home/home.h"
#include "tests/unit/unit.h"

struct surroundings {
	struct op_ctx ctx;
	struct bench_request request;
	struct bench_result result;
	struct bench bench;
	struct tb_err err;
};

static struct surroundings *
set_up(const char *root)
{
	static struct surroundings s;

	memset(&s, 0, sizeof(s));
	s.request = (struct bench_request){ .pp = 16, .tg = 4 };
	assert_ok(op_ctx_init(&s.ctx, unit_path("index.db"), &root, 1, 2, &s.err), s.err);
	s.bench = (struct bench){ .ctx = &s.ctx, .req = &s.request, .result = &s.result,
				  .team = team_new(2), .err = &s.err, .read = 10, .sha = 1 };
	assert_non_null(s.bench.team);
	return &s;
}

static void
tear_down(struct surroundings *s)
{
	bench_result_free(&s->result);
	team_free(s->bench.team);
	op_ctx_free(&s->ctx);
}

static void
expect_rows(const struct surroundings *s, size_t n, size_t limits)
{
	size_t without = 0;

	assert_int_equal(s->result.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(s->result.rows[i].value > 0);
		assert_non_null(s->result.rows[i].unit);
		without += s->result.rows[i].limit == 0;
	}
	assert_int_equal(without, limits);
}

static void
median_of_values(void **state)
{
	double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 };

	(void)state;
	assert_true(bench_median(odd, 3) == 3);
	assert_true(bench_median(even, 4) == 2.5);
}

static void
parts_by_word(void **state)
{
	unsigned parts;

	(void)state;
	assert_true(bench_parts("limits", &parts));
	assert_int_equal(parts, 1u << BENCH_LIMITS);
	assert_true(bench_parts("stats,model", &parts));
	assert_int_equal(parts, 1u << BENCH_STATS | 1u << BENCH_MODEL);
	assert_false(bench_parts("limit", &parts));
	assert_false(bench_parts("limits,", &parts));
	assert_false(bench_parts("", &parts));
}

/* Behind a context, and no further than it has room. */
static void
behind_a_context(void **state)
{
	const char *ref = unit_shared("data/models/stories260K/hf-f32");	/* or skips */
	struct surroundings *s = set_up(unit_tmp());

	(void)state;
	s->request.depth = 100;
	assert_ok(bench_model(&s->bench, ref), s->err);
	assert_non_null(strstr(s->result.rows[0].what, "4 tokens behind 100"));
	assert_non_null(strstr(s->result.rows[2].what, "16 tokens behind 100"));
	s->request.depth = 100000;
	assert_ok(bench_model(&s->bench, ref), s->err);
	tear_down(s);
}

static void
machine_limits(void **state)
{
	struct surroundings *s = set_up(unit_tmp());
	size_t len = (size_t)8 << 20;
	char *memory = aligned_alloc(64, len);
	unsigned peaks = 0;
	double rate = 0;

	(void)state;
	assert_non_null(memory);
	memset(memory, 1, len);
	assert_true(probe_read(s->bench.team, memory, len) > 0);
	assert_ok(probe_sgemm(2, 3, 17, 33, 2, &rate, &s->err), s->err);
	assert_true(rate > 0);
	for (const struct peak *p; (p = peak_at(peaks)); peaks++)
		assert_true(peak_measure(p, s->bench.team) > 0);
	assert_ok(bench_sha(&s->bench), s->err);
	expect_rows(s, 1, 1);
	free(memory);
	tear_down(s);
}

/* A small file does; that it is gone afterwards is part of it. */
static void
statistics(void **state)
{
	struct surroundings *s = set_up(unit_tmp());

	(void)state;
	setenv("TMPDIR", unit_tmp(), 1);
	assert_ok(bench_stats(&s->bench, BENCH_STATS_BF16, 16), s->err);
	assert_ok(bench_stats(&s->bench, BENCH_STATS_INT4, 16), s->err);
	expect_rows(s, 4, 2);
	unsetenv("TMPDIR");
	tear_down(s);
}

static void
bytes_in_bytes_out(void **state)
{
	struct surroundings *s = set_up(unit_tmp());
	const struct sha_way *ways;
	size_t n = sha_ways(&ways), rows = 22;	/* 19 encodings; one file; many: 1 and 2 threads */

	(void)state;
	assert_ok(bench_encode(&s->bench), s->err);
	assert_ok(bench_hash(&s->bench), s->err);
	for (size_t i = 1; i < n; i++)
		rows += ways[i].usable;
	expect_rows(s, rows, 0);
	tear_down(s);
}

static void
a_model_of_ones_own(void **state)
{
	const char *ref = unit_shared("data/models/stories260K/hf-f32");	/* or skips */
	struct surroundings *s = set_up(unit_tmp());

	(void)state;
	assert_ok(bench_model(&s->bench, ref), s->err);
	expect_rows(s, 4, 2);
	assert_fails(bench_model(&s->bench, unit_path("none")), s->err, TB_ENOENT, "none");
	tear_down(s);
}

static void
stops_when_cancelled(void **state)
{
	struct surroundings *s = set_up(unit_tmp());
	struct tb_job *job = tb_job_new(-1);

	(void)state;
	assert_non_null(job);
	tb_job_cancel(job);
	s->bench.job = job;
	assert_int_equal(bench_encode(&s->bench), TB_ECANCEL);
	tb_job_free(job);
	tear_down(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_values),    cmocka_unit_test(machine_limits),
		cmocka_unit_test(statistics),	       cmocka_unit_test(parts_by_word),
		cmocka_unit_test(behind_a_context),
		cmocka_unit_test(bytes_in_bytes_out),  cmocka_unit_test(a_model_of_ones_own),
		cmocka_unit_test(stops_when_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
