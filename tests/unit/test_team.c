/* test_team.c - every chunk runs exactly once, whoever is late, asleep or too many. */
#include "config.h"

#include <stdatomic.h>
#include <time.h>

#include "src/engine/team.h"
#include "tests/unit/unit.h"

#define MOST 3000

struct count {
	_Atomic unsigned hits[MOST];
	_Atomic unsigned strangers;	/* thread numbers outside the team */
	unsigned threads, plain[MOST];	/* plain: a race here is a finding of TSan */
};

static struct count count;

static void
hit(void *arg, unsigned chunk, unsigned thread)
{
	struct count *c = arg;

	atomic_fetch_add(&c->hits[chunk], 1);
	c->plain[chunk]++;
	if (thread >= c->threads)
		atomic_fetch_add(&c->strangers, 1);
}

static void
expect(unsigned chunks, unsigned times)
{
	for (unsigned i = 0; i < MOST; i++) {
		assert_int_equal(count.hits[i], i < chunks ? times : 0);
		assert_int_equal(count.plain[i], i < chunks ? times : 0);
	}
	assert_int_equal(count.strangers, 0);
}

static void
run_times(struct team *t, unsigned chunks, unsigned times)
{
	memset(&count, 0, sizeof(count));
	count.threads = team_size(t);
	for (unsigned i = 0; i < times; i++)
		team_run(t, hit, &count, chunks);
	expect(chunks, times);
}

static void
each_chunk_runs_once(void **state)
{
	static const unsigned sizes[] = { 1, 2, 3, 8, 13 };	/* more than cores, too */
	static const unsigned chunks[] = { 0, 1, 2, 7, 64, 100, MOST };

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		struct team *t = team_new(sizes[s]);

		assert_non_null(t);
		assert_int_equal(team_size(t), sizes[s]);
		for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++)
			run_times(t, chunks[c], 40);
		team_free(t);
	}
}

/* Jobs of changing size one right after the other: threads come late from the last. */
static void
late_comers_do_no_harm(void **state)
{
	struct team *t = team_new(6);
	unsigned want[MOST] = { 0 };

	(void)state;
	assert_non_null(t);
	memset(&count, 0, sizeof(count));
	count.threads = 6;
	for (unsigned i = 0; i < 4000; i++) {
		unsigned chunks = 1 + i * 7919 % 40;

		team_run(t, hit, &count, chunks);
		for (unsigned c = 0; c < chunks; c++)
			want[c]++;
	}
	for (unsigned c = 0; c < MOST; c++)
		assert_int_equal(count.plain[c], want[c]);
	team_free(t);
}

static void
sleepers_wake_up(void **state)
{
	struct team *t = team_new(4);
	struct timespec pause = { 0, 2000000 };	/* longer than anybody spins */

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < 20; i++) {
		nanosleep(&pause, NULL);
		run_times(t, 50, 1);
	}
	team_free(t);
}

static void
unequal(void *arg, unsigned chunk, unsigned thread)
{
	struct timespec pause = { 0, 3000000 };

	if (chunk == 0)
		nanosleep(&pause, NULL);
	hit(arg, chunk, thread);
}

/* The caller, then a member, holds the slow chunk: the others take all the rest, and
 * whoever waits falls asleep and is woken. */
static void
slow_chunks_are_awaited(void **state)
{
	struct team *t = team_new(3);

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < 10; i++) {
		memset(&count, 0, sizeof(count));
		count.threads = 3;
		team_run(t, unequal, &count, 30);
		expect(30, 1);
	}
	team_free(t);
}

static _Atomic unsigned many_sum;

static void
add_chunk(void *arg, unsigned chunk, unsigned thread)
{
	(void)arg;
	(void)thread;
	atomic_fetch_add(&many_sum, chunk % 3 + 1);
}

static void
more_chunks_than_a_range_counts(void **state)
{
	struct team *t = team_new(2);
	unsigned n = 0xfffffu + 5, want = 0;

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < n; i++)
		want += i % 3 + 1;
	team_run(t, add_chunk, NULL, n);
	assert_int_equal(many_sum, want);
	team_free(t);
}

static void
made_and_freed_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++)
		team_free(team_new(1 + i % 5));
	team_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_chunk_runs_once),
		cmocka_unit_test(late_comers_do_no_harm),
		cmocka_unit_test(sleepers_wake_up),
		cmocka_unit_test(slow_chunks_are_awaited),
		cmocka_unit_test(more_chunks_than_a_range_counts),
		cmocka_unit_test(made_and_freed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
