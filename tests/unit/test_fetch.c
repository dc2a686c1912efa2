#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/unit/fetch_world.h"

static void
all_comes_once(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 7, 4096, WORLD_PART - 1, WORLD_PART, WORLD_PART + 1, 10 * WORLD_PART + 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		world_new(7, sizes[i], 100 + i);
		assert_int_equal(world_run(4), world_size());
	}
}

static void
one_digest_is_one_file(void **state)
{
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(3, 5000, 1);
	world.items[1] = world.items[0];
	f = world_fetch("pull x", 2);
	assert_ok(fetch_run(f, NULL, &err), err);
	assert_string_equal(fetch_path(f, 0), fetch_path(f, 1));
	assert_int_equal(fetch_moved(f), world.items[0].size + world.items[2].size);
	world.items[1].size++;
	assert_fails(fetch_add(f, &world.items[1], &err), err, TB_EFORMAT, "two sizes");
	snprintf(world.items[1].digest, TB_DIGEST_MAX, "sha256:../../x");
	assert_fails(fetch_add(f, &world.items[1], &err), err, TB_EFORMAT, "no digest");
	fetch_free(f);
}

/* Who shows rows may be at it while another round takes the fetch's place. */
static void
rows_outlive_the_fetch(void **state)
{
	struct fetch_row rows[2];
	struct fetch *f;
	struct tb_err err;
	char name[400];

	(void)state;
	world_new(1, 5000, 1);
	memset(name, 'n', sizeof(name));
	memcpy(name + sizeof(name) - FETCH_WHAT_MAX - 1, "\303\244", 2);	/* it would be cut in two */
	memcpy(name + sizeof(name) - sizeof(".gguf"), ".gguf", sizeof(".gguf"));
	world.items[1] = (struct fetch_item){ .what = name, .size = 9 };
	f = world_fetch("pull x", 2);
	assert_ok(fetch_add(f, &world.items[1], &err), err);
	assert_int_equal(fetch_look(f, rows, 2), 2);
	fetch_free(f);
	assert_string_equal(rows[0].what, "a thing");
	assert_string_equal(rows[0].digest, world.items[0].digest);
	assert_string_equal(rows[1].what, name + sizeof(name) - FETCH_WHAT_MAX + 1);
}

static void
other_digests(void **state)
{
	static const char hello[] = "hello\n";
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(2, 5000, 2);
	*world.items[0].digest = 0;
	memcpy(world.data[1], hello, 6);
	world.items[1].size = 6;
	snprintf(world.items[1].digest, TB_DIGEST_MAX,
		 "gitsha1:ce013625030ba8dba906f756967f9e9ca394464a");
	for (int i = 0; i < 2; i++) {
		f = world_fetch("pull x", 2);
		assert_ok(fetch_run(f, NULL, &err), err);
		world_is_right(f);
		assert_int_equal(fetch_moved(f), i ? 5000 : 5006);	/* what nothing says, again */
		fetch_free(f);
	}
}

/* What breaks is asked for again, and only what is missing of it. */
static void
faults_are_gone_round(void **state)
{
	static const struct { enum fault fault; uint64_t after; double most; } rows[] = {
		{ CUT, 30000, 1 }, { CUT, 0, 1 }, { CUT, 5000, 1 }, { SHORT, 20000, 1 }, { BUSY, 0, 1 },
		{ WRONG, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		world_new(5, 5 * WORLD_PART + 77, 200 + i);
		world.fault = rows[i].fault;
		world.after = rows[i].after;
		world.times = rows[i].fault == WRONG ? 2 : rows[i].after >= 4096 ? 60 : 5;
		assert_true((double)world_run(3) <= rows[i].most * (double)world_size());
		assert_int_equal(world.times, 0);
	}
}

static void
fails_with(enum fault fault, uint64_t after, enum tb_status code, const char *part)
{
	struct fetch *f = world_fetch("pull x", 3);
	struct fetch_row rows[WORLD_MAX];
	struct tb_err err;
	bool failed = false;

	world.fault = fault;
	world.times = -1;
	world.after = after;
	assert_fails(fetch_run(f, NULL, &err), err, code, part);
	assert_non_null(strstr(err.msg, "a thing: "));
	for (size_t i = 0; i < fetch_look(f, rows, WORLD_MAX); i++)
		failed |= rows[i].state == FETCH_FAILED && *rows[i].why;
	assert_true(failed);
	fetch_free(f);
}

static void
what_does_not_end_well(void **state)
{
	(void)state;
	world_new(2, 3 * WORLD_PART, 3);
	fails_with(CUT, 0, TB_EIO, "tried 6 times");
	fails_with(GONE, 0, TB_ENOENT, "404");
	fails_with(LONGER, 0, TB_EFORMAT, "more comes than");
	fails_with(WRONG_ALWAYS, 0, TB_EFORMAT, "not what its digest says");
	assert_int_equal(world_names(".done"), 0);
	world.fault = NONE;
	world_run(3);
}

static void
no_ranges(void **state)
{
	(void)state;
	world_new(3, 6 * WORLD_PART + 5, 4);
	world.fault = WHOLE;
	world.times = -1;
	world_run(4);
}

struct second { struct fetch *f; enum tb_status status; struct tb_err err; };

static void *
run_second(void *arg)
{
	struct second *s = arg;

	s->status = fetch_run(s->f, NULL, &s->err);
	return NULL;
}

static void
two_of_the_same_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 600; seed < 606; seed++) {
		struct second s[2];
		pthread_t id[2];

		world_new(6, 4 * WORLD_PART, seed);
		for (int i = 0; i < 2; i++) {
			s[i].f = world_fetch(i ? "pull y" : "pull x", 2);
			assert_int_equal(pthread_create(&id[i], NULL, run_second, &s[i]), 0);
		}
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_join(id[i], NULL), 0);
		for (int i = 0; i < 2; i++) {
			assert_ok(s[i].status, s[i].err);
			world_is_right(s[i].f);
		}
		assert_int_equal(fetch_moved(s[0].f) + fetch_moved(s[1].f), world_size());
		fetch_clear(s[0].f);
		world_is_right(s[1].f);		/* the other may want them still */
		fetch_free(s[0].f);
		fetch_clear(s[1].f);
		assert_true(tb_absent(world.dir));
		fetch_free(s[1].f);
	}
}

static void
what_crawls_is_begun_anew(void **state)
{
	(void)state;
	world_new(12, 300000, 7);
	world.fault = CRAWL;
	world.times = 1;
	fetch_pace.slow = 0.1;
	assert_true(world_run(4) < world_size() + 100000);
	assert_true(world.other_connection);
}

static void *
cancel_soon(void *arg)
{
	double *when = arg;

	world_nap(0.2);
	*when = tb_monotonic();
	tb_job_cancel(world.job);
	return NULL;
}

static void
a_cancel_is_heard_at_once(void **state)
{
	static const enum fault faults[] = { STALL, BUSY, CRAWL };

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct fetch *f;
		pthread_t id;
		struct tb_err err;
		double when;

		world_new(2, 100000, 700 + i);
		world.fault = faults[i];
		world.times = -1;
		world.job = tb_job_new(-1);
		patience_pace = 12;
		f = world_fetch("pull x", 2);
		assert_int_equal(pthread_create(&id, NULL, cancel_soon, &when), 0);
		assert_int_equal(fetch_run(f, world.job, &err), TB_ECANCEL);
		assert_int_equal(pthread_join(id, NULL), 0);
		assert_true(tb_monotonic() - when < 0.5);	/* 0.05 where nobody else runs */
		fetch_free(f);
		tb_job_free(world.job);
	}
}

/* What cannot be cut anew stays cut as it was. */
static void
no_memory_for_parts_leaves_those_there_are(void **state)
{
	struct fetch_file file = { .it.size = 100 };

	(void)state;
	assert_true(fetch_parts_make(&file, 30));
	assert_int_equal(file.nparts, 4);
	file.it.size = UINT64_MAX / 2;
	assert_false(fetch_parts_make(&file, 1));
	assert_int_equal(file.nparts, 4);
	assert_non_null(file.parts);
	assert_int_equal(file.parts[3].len, 10);
	free(file.parts);
}

static void
room_is_looked_for_first(void **state)
{
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(1, 1000, 8);
	world.items[0].size = UINT64_C(1) << 61;
	f = world_fetch("pull x", 2);
	assert_fails(fetch_run(f, NULL, &err), err, TB_ELIMIT, "free are");
	assert_int_equal(world.asked, 0);
	fetch_free(f);
	world.items[0].size = UINT64_MAX;
	f = world_fetch("pull x", 2);
	assert_fails(fetch_run(f, NULL, &err), err, TB_ELIMIT, "more than any disk has");
	fetch_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_comes_once),
		cmocka_unit_test(one_digest_is_one_file),
		cmocka_unit_test(rows_outlive_the_fetch),
		cmocka_unit_test(other_digests),
		cmocka_unit_test(faults_are_gone_round),
		cmocka_unit_test(what_does_not_end_well),
		cmocka_unit_test(no_ranges),
		cmocka_unit_test(two_of_the_same_at_once),
		cmocka_unit_test(what_crawls_is_begun_anew),
		cmocka_unit_test(a_cancel_is_heard_at_once),
		cmocka_unit_test(no_memory_for_parts_leaves_those_there_are),
		cmocka_unit_test(room_is_looked_for_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
