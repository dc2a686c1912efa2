#include "config.h"

#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "src/base/pool.h"
#include "src/base/text.h"

enum { PARTS = 5000 };

struct count {
	unsigned workers;
	atomic_int seen[PARTS];
	long of[64];			/* a cell a worker: no lock, TSan looks on */
	atomic_bool bad;
};

static void
count_part(void *arg, size_t i, unsigned worker)
{
	struct count *c = arg;

	if (worker >= c->workers || i >= PARTS)
		atomic_store(&c->bad, true);
	else
		c->of[worker]++;
	atomic_fetch_add(&c->seen[i], 1);
}

static void
check_counts(struct count *c, size_t n)
{
	long sum = 0;

	assert_false(c->bad);
	for (size_t i = 0; i < PARTS; i++)
		assert_int_equal(c->seen[i], i < n);
	for (size_t i = 0; i < 64; i++)
		sum += c->of[i];
	assert_int_equal(sum, n);
}

static void
each_part_runs_once(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 64, PARTS };

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct tb_pool *pool = tb_pool_new(threads);

		assert_int_equal(tb_pool_size(pool), threads);
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			struct count c = { .workers = threads };

			tb_pool_each(pool, sizes[k], count_part, &c);
			check_counts(&c, sizes[k]);
		}
		tb_pool_free(pool);
	}
}

static void
no_pool_runs_here(void **state)
{
	struct count c = { .workers = 1 };
	struct tb_pool *pool = tb_pool_new(0);

	(void)state;
	tb_pool_each(NULL, PARTS, count_part, &c);
	check_counts(&c, PARTS);
	assert_int_equal(tb_pool_size(NULL), 1);
	assert_int_equal(tb_pool_size(pool), tb_cpus());
	tb_pool_free(pool);
	tb_pool_free(NULL);
}

struct caller { pthread_t thread; struct tb_pool *pool; bool bad; };

static void *
call_often(void *arg)
{
	struct caller *me = arg;

	for (int round = 0; round < 200; round++) {
		struct count c = { .workers = 3 };

		tb_pool_each(me->pool, 50, count_part, &c);
		for (size_t i = 0; i < 50; i++)
			me->bad |= c.seen[i] != 1;
		me->bad |= c.bad;
	}
	return NULL;
}

static void
several_threads_may_call(void **state)
{
	struct tb_pool *pool = tb_pool_new(3);
	struct caller c[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		c[i] = (struct caller){ .pool = pool };
		assert_int_equal(pthread_create(&c[i].thread, NULL, call_often, &c[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(c[i].thread, NULL);
		assert_false(c[i].bad);
	}
	tb_pool_free(pool);
}

static void
wait_for_the_other(void *arg, size_t i, unsigned worker)
{
	atomic_int *here = arg;
	double end = tb_monotonic() + 20;

	(void)i;
	(void)worker;
	atomic_fetch_add(here, 1);
	while (atomic_load(here) < 2 && tb_monotonic() < end)
		usleep(100);
}

static void
parts_do_run_at_once(void **state)
{
	struct tb_pool *pool = tb_pool_new(2);
	atomic_int here = 0;
	double began = tb_monotonic();

	(void)state;
	tb_pool_each(pool, 2, wait_for_the_other, &here);
	assert_int_equal(here, 2);
	assert_true(tb_monotonic() - began < 15);
	tb_pool_free(pool);
}

struct masks {
	atomic_int here, blocked;
};

/* Each part waits for the other, so that a worker runs one however busy the machine. */
static void
note_mask(void *arg, size_t i, unsigned worker)
{
	struct masks *m = arg;
	sigset_t set;

	wait_for_the_other(&m->here, i, worker);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (worker && (!sigismember(&set, SIGINT) || !sigismember(&set, SIGWINCH) ||
		       sigismember(&set, SIGBUS)))
		atomic_store(&m->blocked, -1000000);
	else if (worker)
		atomic_fetch_add(&m->blocked, 1);
}

static void
signals_go_to_the_caller(void **state)
{
	struct tb_pool *pool = tb_pool_new(2);
	struct masks m = { 0, 0 };
	sigset_t set;

	(void)state;
	tb_pool_each(pool, 2, note_mask, &m);
	assert_int_equal(m.blocked, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	assert_false(sigismember(&set, SIGINT));
	tb_pool_free(pool);
}

static enum tb_status
fail_third(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	(void)arg;
	(void)worker;
	(void)err;
	return i == 2 ? TB_EIO : TB_OK;
}

/* Also when it has no words. */
static void
a_failed_part_fails_all(void **state)
{
	struct tb_err err = { 0 };

	(void)state;
	assert_int_equal(tb_pool_try(NULL, 2, fail_third, NULL, NULL, &err), TB_OK);
	assert_int_equal(tb_pool_try(NULL, 5, fail_third, NULL, NULL, &err), TB_EIO);
	assert_int_equal(err.code, TB_EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_runs_once),
		cmocka_unit_test(no_pool_runs_here),
		cmocka_unit_test(several_threads_may_call),
		cmocka_unit_test(parts_do_run_at_once),
		cmocka_unit_test(signals_go_to_the_caller),
		cmocka_unit_test(a_failed_part_fails_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
