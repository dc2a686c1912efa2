#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/text.h"

static void
a_job_may_be_missing(void **state)
{
	struct tb_progress p;
	struct tb_err err;

	(void)state;
	tb_job_begin(NULL);
	tb_job_total(NULL, 1, 1);
	tb_job_step(NULL, 1, 1);
	tb_job_there(NULL, 1, 1);
	tb_job_what(NULL, "x");
	tb_job_post(NULL, 1, "x", 1);
	tb_job_cancel(NULL);
	tb_job_end(NULL, TB_OK, NULL);
	assert_false(tb_job_cancelled(NULL));
	assert_ok(tb_job_check(NULL, &err), err);
	assert_null(tb_job_take(NULL));
	tb_job_progress(NULL, &p);
	assert_int_equal(p.done, 0);
	tb_job_free(NULL);
}

static void
what_was_there_is_no_speed(void **state)
{
	struct tb_job *job = tb_job_new(-1);
	struct tb_progress p;

	(void)state;
	assert_non_null(job);
	tb_job_begin(job);
	tb_job_total(job, 2000000000, 2);
	tb_job_there(job, 1000000000, 1);
	usleep(150000);
	tb_job_step(job, 1000, 0);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, 1000001000);
	assert_int_equal(p.items, 1);
	assert_true(p.rate > 0 && p.rate < 10000);
	assert_true(p.eta > 10000);
	tb_job_end(job, TB_OK, NULL);
	tb_job_progress(job, &p);
	assert_true(p.rate > 0 && p.rate < 10000);
	tb_job_free(job);
}

/* An operation that reads more than it promised is at its end, not at 19355200 %. */
static void
progress_ends_at_the_end(void **state)
{
	struct tb_progress p = { .done = 193552, .total = 1, .items = 3, .items_total = 4 };
	uint64_t done, total;

	(void)state;
	tb_progress_part(&p, &done, &total);
	assert_int_equal(done, 1);
	assert_int_equal(total, 1);
	assert_int_equal(tb_percent(193552, 1), 100);
	assert_int_equal(tb_percent(999, 1000), 99);
	assert_int_equal(tb_percent(0, 1), 0);
	assert_int_equal(tb_percent(UINT64_MAX - 1, UINT64_MAX), 100);
	p.total = 0;		/* bytes that nobody has promised: items say how far it is */
	tb_progress_part(&p, &done, &total);
	assert_int_equal(done, 3);
	assert_int_equal(total, 4);
	p.items_total = 0;
	tb_progress_part(&p, &done, &total);
	assert_int_equal(done, 193552);
	assert_int_equal(total, 0);
}

static void
progress_adds_up(void **state)
{
	struct tb_job *job = tb_job_new(-1);
	struct tb_progress p;
	struct tb_err err;

	(void)state;
	tb_job_progress(job, &p);
	assert_int_equal(p.state, TB_JOB_QUEUED);
	assert_true(p.eta < 0);
	tb_job_begin(job);
	tb_job_total(job, 1000, 10);
	tb_job_step(job, 300, 2);
	tb_job_step(job, 300, 1);
	tb_job_what(job, "blob %d", 3);
	tb_job_progress(job, &p);
	assert_int_equal(p.state, TB_JOB_RUNNING);
	assert_int_equal(p.done, 600);
	assert_int_equal(p.total, 1000);
	assert_int_equal(p.items, 3);
	assert_int_equal(p.items_total, 10);
	assert_string_equal(p.what, "blob 3");
	tb_job_what(job, "%0500d", 0);
	tb_job_progress(job, &p);
	assert_int_equal(strlen(p.what), sizeof(p.what) - 1);

	(void)tb_fail(&err, TB_EFORMAT, "broken");
	tb_job_end(job, TB_EFORMAT, &err);
	tb_job_progress(job, &p);
	assert_int_equal(p.state, TB_JOB_FAILED);
	assert_string_equal(p.err.msg, "broken");
	assert_true(p.eta < 0);
	assert_true(p.seconds >= 0 && p.seconds < 60);
	tb_job_free(job);
}

static void
ends_have_states(void **state)
{
	static const struct { enum tb_status status; enum tb_job_state state; } ends[] = {
		{ TB_OK, TB_JOB_DONE }, { TB_ECANCEL, TB_JOB_CANCELLED }, { TB_EIO, TB_JOB_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct tb_job *job = tb_job_new(-1);
		struct tb_progress p;

		tb_job_end(job, ends[i].status, NULL);	/* it may never have begun */
		tb_job_progress(job, &p);
		assert_int_equal(p.state, ends[i].state);
		assert_true(p.seconds == 0);
		tb_job_free(job);
	}
}

static size_t
bytes_in(int fd)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	return n > 0 ? (size_t)n : 0;
}

static void
one_wake_byte_at_a_time(void **state)
{
	struct tb_progress p;
	struct tb_job *job;
	struct tb_msg *m;
	int fd[2];

	(void)state;
	assert_int_equal(pipe2(fd, O_NONBLOCK | O_CLOEXEC), 0);
	job = tb_job_new(fd[1]);
	tb_job_begin(job);
	for (int i = 0; i < 100; i++)
		tb_job_post(job, i, &i, sizeof(i));
	assert_int_equal(bytes_in(fd[0]), 1);
	/* The pipe is empty and the messages not yet taken: no second byte. */
	tb_job_post(job, 100, NULL, 0);
	assert_int_equal(bytes_in(fd[0]), 0);
	m = tb_job_take(job);
	for (int i = 0; i <= 100; i++) {
		struct tb_msg *next;

		assert_non_null(m);
		assert_int_equal(m->kind, i);
		assert_int_equal(m->data[m->len], 0);
		next = m->next;
		free(m);
		m = next;
	}
	assert_null(m);
	assert_null(tb_job_take(job));
	tb_job_post(job, 1, "x", 1);
	assert_int_equal(bytes_in(fd[0]), 1);
	tb_job_progress(job, &p);
	for (int i = 0; i < 1000; i++) {
		tb_job_step(job, 1, 0);
		tb_job_progress(job, &p);
	}
	assert_true(bytes_in(fd[0]) <= 11);	/* ten a second */
	tb_job_end(job, TB_OK, NULL);
	assert_int_equal(bytes_in(fd[0]), 1);
	tb_job_free(job);			/* with a message left */
	close(fd[0]);
	close(fd[1]);
}

enum { THREADS = 4, POSTS = 2000 };

struct talker { pthread_t thread; struct tb_job *job; int id; };

static void *
talk(void *arg)
{
	struct talker *t = arg;

	for (int i = 0; i < POSTS && !tb_job_cancelled(t->job); i++) {
		tb_job_post(t->job, t->id, &i, sizeof(i));
		tb_job_step(t->job, 3, 1);
		tb_job_what(t->job, "thread %d at %d", t->id, i);
	}
	return NULL;
}

/* Nothing is lost or out of order, and the reader never sleeps through a message. */
static void
many_threads_one_reader(void **state)
{
	int next[THREADS] = { 0 }, fd[2], left = THREADS * POSTS;
	struct talker t[THREADS];
	struct tb_progress p;
	struct tb_job *job;

	(void)state;
	assert_int_equal(pipe2(fd, O_NONBLOCK | O_CLOEXEC), 0);
	job = tb_job_new(fd[1]);
	tb_job_begin(job);
	for (int i = 0; i < THREADS; i++) {
		t[i] = (struct talker){ .job = job, .id = i };
		assert_int_equal(pthread_create(&t[i].thread, NULL, talk, &t[i]), 0);
	}
	while (left) {
		struct pollfd pfd = { .fd = fd[0], .events = POLLIN };

		assert_int_equal(poll(&pfd, 1, 20000), 1);
		while (bytes_in(fd[0]))
			;
		tb_job_progress(job, &p);
		for (struct tb_msg *m = tb_job_take(job), *after; m; m = after, left--) {
			int i;

			after = m->next;
			memcpy(&i, m->data, sizeof(i));
			assert_int_equal(i, next[m->kind]++);
			free(m);
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i].thread, NULL);
	tb_job_end(job, TB_OK, NULL);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, 3 * THREADS * POSTS);
	assert_int_equal(p.items, THREADS * POSTS);
	tb_job_free(job);
	close(fd[0]);
	close(fd[1]);
}

static void *
spin_until_cancelled(void *arg)
{
	struct tb_err err;

	while (!tb_job_check(arg, &err))
		tb_job_step(arg, 1, 0);
	return NULL;
}

static void
a_cancel_is_seen(void **state)
{
	struct tb_job *job = tb_job_new(-1);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, spin_until_cancelled, job), 0);
	tb_job_cancel(job);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(tb_job_cancelled(job));
	tb_job_free(job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_may_be_missing),
		cmocka_unit_test(progress_adds_up),
		cmocka_unit_test(what_was_there_is_no_speed),
		cmocka_unit_test(progress_ends_at_the_end),
		cmocka_unit_test(ends_have_states),
		cmocka_unit_test(one_wake_byte_at_a_time),
		cmocka_unit_test(many_threads_one_reader),
		cmocka_unit_test(a_cancel_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
