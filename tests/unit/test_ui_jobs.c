/* The job runner: order, messages, cancelling, owners that go. No sleeps: workers
 * wait for a gate that the test opens. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "ui/jobs.h"

static int wake[2];

struct work {
	sem_t *gate;		/* NULL: does not wait */
	sem_t started;
	enum tb_status status;
	bool until_cancelled;
	int messages;		/* to post */
	int seen, done, freed;	/* counted by the callbacks; freed outlives the job */
	enum tb_status end;
	pthread_t callbacks;
	int agains;
	enum tb_status again;	/* what comes of going on */
};

static enum tb_status
run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct work *w = arg;

	sem_post(&w->started);
	if (w->gate)
		while (sem_wait(w->gate))
			;
	tb_job_total(job, 100, 1);
	for (int i = 0; i < w->messages; i++)
		tb_job_post(job, i, &i, sizeof(i));
	tb_job_step(job, 100, 1);
	while (w->until_cancelled && !tb_job_cancelled(job))
		sched_yield();
	if (tb_job_check(job, err))
		return TB_ECANCEL;
	return w->status ? tb_fail(err, w->status, "it broke") : TB_OK;
}

static void
message(struct view *owner, void *arg, const struct tb_msg *msg)
{
	struct work *w = arg;

	(void)owner;
	assert_int_equal(msg->kind, w->seen);
	w->seen++;
}

static void
done(struct view *owner, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct work *w = arg;

	assert_ptr_equal(owner, w);
	assert_true(status == TB_OK || *err->msg || status == TB_ECANCEL);
	w->done++;
	w->end = status;
	w->callbacks = pthread_self();
}

static void
result(void *arg, struct tb_buf *out)
{
	(void)arg;
	tb_buf_str(out, "all well");
}

static void
freed(void *arg)
{
	((struct work *)arg)->freed++;
}

static enum tb_status
again(void *arg, struct tb_err *err)
{
	struct work *w = arg;

	w->agains++;
	w->until_cancelled = false;
	return w->again ? tb_fail(err, w->again, "not twice") : TB_OK;
}

static void
left(void *arg, struct tb_buf *out)
{
	(void)arg;
	tb_buf_str(out, "half of it stays");
}

#define PLAIN .run = run, .message = message, .done = done, .result = result, .free = freed
static const struct job_ops transfer = {
	.flags = JOB_LISTED | JOB_TRANSFER, PLAIN, .again = again, .left = left,
};
static const struct job_ops quiet = { PLAIN };
static const struct job_ops listed = { .flags = JOB_LISTED, PLAIN };
static const struct job_ops serial = { .flags = JOB_LISTED | JOB_SERIAL, PLAIN };

/* Waits for wake bytes and pumps until nothing runs, as the loop does. */
static void
settle(struct jobs *js)
{
	char buf[16];

	while (jobs_busy(js, false)) {
		struct pollfd p = { wake[0], POLLIN, 0 };

		assert_int_equal(poll(&p, 1, 10000), 1);
		while (read(wake[0], buf, sizeof(buf)) > 0)
			;
		jobs_pump(js);
	}
}

static void
work_init(struct work *w)
{
	*w = (struct work){ 0 };
	sem_init(&w->started, 0, 0);
}

static int
setup(void **state)
{
	(void)state;
	if (pipe(wake))
		return -1;
	for (int i = 0; i < 2; i++)
		if (fcntl(wake[i], F_SETFL, O_NONBLOCK))
			return -1;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	close(wake[0]);
	close(wake[1]);
	return 0;
}

static void
test_runs(void **state)
{
	struct tb_err err;
	struct jobs js;
	struct work w;

	(void)state;
	work_init(&w);
	w.messages = 20;
	jobs_init(&js, wake[1]);
	assert_non_null(jobs_start(&js, &listed, (struct view *)&w, &w, "work", &err));
	assert_true(jobs_busy(&js, true));
	settle(&js);
	assert_int_equal(w.seen, 20);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.end, TB_OK);
	assert_true(pthread_equal(w.callbacks, pthread_self()));
	assert_non_null(js.head);
	assert_string_equal(js.head->result, "all well");
	assert_int_equal(js.head->progress.done, 100);
	assert_null(jobs_current(&js));
	jobs_free(&js);
	assert_int_equal(w.freed, 1);
}

static void
test_fails(void **state)
{
	struct tb_err err;
	struct jobs js;
	struct work w;

	(void)state;
	work_init(&w);
	w.status = TB_EIO;
	jobs_init(&js, wake[1]);
	assert_non_null(jobs_start(&js, &listed, (struct view *)&w, &w, "work", &err));
	settle(&js);
	assert_int_equal(w.end, TB_EIO);
	assert_int_equal(js.head->progress.state, TB_JOB_FAILED);
	assert_string_equal(js.head->progress.err.msg, "it broke");
	assert_null(js.head->result);
	jobs_free(&js);
}

/* The second writer waits for the first; a reader does not. */
static void
test_writers_take_turns(void **state)
{
	struct tb_err err;
	struct work first, second, reader;
	struct jobs js;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	work_init(&first);
	work_init(&second);
	work_init(&reader);
	first.gate = &gate;
	jobs_init(&js, wake[1]);
	assert_non_null(jobs_start(&js, &serial, (struct view *)&first, &first, "first", &err));
	assert_non_null(jobs_start(&js, &serial, (struct view *)&second, &second, "second", &err));
	assert_non_null(jobs_start(&js, &quiet, (struct view *)&reader, &reader, "reader", &err));
	sem_wait(&reader.started);
	sem_wait(&first.started);
	jobs_pump(&js);
	assert_int_equal(sem_trywait(&second.started), -1);
	assert_string_equal(jobs_current(&js)->title, "first");
	sem_post(&gate);
	settle(&js);
	assert_int_equal(sem_trywait(&second.started), 0);
	assert_int_equal(first.done + second.done + reader.done, 3);
	assert_int_equal(reader.freed, 1);	/* nobody lists it: gone at its end */
	jobs_free(&js);
	assert_int_equal(first.freed + second.freed, 2);
}

static void
test_cancel(void **state)
{
	struct tb_err err;
	struct work running, waiting;
	struct ui_job *one, *two;
	struct jobs js;

	(void)state;
	work_init(&running);
	work_init(&waiting);
	running.until_cancelled = true;
	jobs_init(&js, wake[1]);
	one = jobs_start(&js, &serial, (struct view *)&running, &running, "running", &err);
	two = jobs_start(&js, &serial, (struct view *)&waiting, &waiting, "waiting", &err);
	assert_non_null(one);
	assert_non_null(two);
	jobs_cancel(two);
	jobs_cancel(one);
	settle(&js);
	assert_int_equal(running.end, TB_ECANCEL);
	assert_int_equal(waiting.end, TB_ECANCEL);
	assert_int_equal(sem_trywait(&waiting.started), -1);	/* it never ran */
	assert_int_equal(one->progress.state, TB_JOB_CANCELLED);
	jobs_cancel(one);	/* nothing left to cancel */
	jobs_free(&js);
	assert_int_equal(running.freed + waiting.freed, 2);
}

/* Two of them run, however many there are, beside a writer. */
static void
test_transfers_take_turns(void **state)
{
	struct work w[3], writer;
	struct tb_err err;
	struct jobs js;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	jobs_init(&js, wake[1]);
	for (int i = 0; i < 3; i++) {
		work_init(&w[i]);
		w[i].gate = &gate;
		assert_non_null(jobs_start(&js, &transfer, (struct view *)&w[i], &w[i], "t", &err));
	}
	work_init(&writer);
	writer.gate = &gate;
	assert_non_null(jobs_start(&js, &serial, (struct view *)&writer, &writer, "w", &err));
	sem_wait(&w[0].started);
	sem_wait(&w[1].started);
	sem_wait(&writer.started);
	jobs_pump(&js);
	assert_int_equal(sem_trywait(&w[2].started), -1);
	assert_int_equal(jobs_beside(&js), 2);
	for (int i = 0; i < 4; i++)
		sem_post(&gate);
	settle(&js);
	assert_int_equal(sem_trywait(&w[2].started), 0);
	assert_int_equal(jobs_beside(&js), 0);
	jobs_free(&js);
}

static void
pump_until_queued(struct jobs *js, const struct ui_job *j)
{
	while (j->progress.state != TB_JOB_QUEUED) {
		struct pollfd p = { wake[0], POLLIN, 0 };
		char buf[16];

		assert_int_equal(poll(&p, 1, 10000), 1);
		while (read(wake[0], buf, sizeof(buf)) > 0)
			;
		jobs_pump(js);
	}
}

/* What is paused has ended for nobody, holds up nobody, and goes on when it may. */
static void
test_pause(void **state)
{
	struct work w, other;
	struct tb_err err;
	struct ui_job *j;
	struct jobs js;

	(void)state;
	work_init(&w);
	work_init(&other);
	w.until_cancelled = true;
	jobs_init(&js, wake[1]);
	j = jobs_start(&js, &transfer, (struct view *)&w, &w, "pull", &err);
	assert_non_null(j);
	sem_wait(&w.started);
	jobs_pump(&js);
	assert_true(jobs_can_pause(j));
	jobs_pause(&js, j);
	pump_until_queued(&js, j);
	assert_true(j->held && jobs_waits(j));
	assert_false(j->ended);
	assert_false(jobs_busy(&js, false));
	assert_null(jobs_current(&js));
	assert_int_equal(w.done, 0);
	assert_int_equal(w.agains, 0);
	assert_int_equal(j->progress.done, 100);	/* what is there is still shown */
	assert_non_null(jobs_start(&js, &transfer, (struct view *)&other, &other, "o", &err));
	settle(&js);
	assert_int_equal(other.done, 1);
	assert_int_equal(sem_trywait(&w.started), -1);
	jobs_pause(&js, j);
	settle(&js);
	assert_int_equal(w.agains, 1);
	assert_int_equal(w.end, TB_OK);
	assert_int_equal(w.done, 1);
	assert_string_equal(j->result, "all well");
	assert_false(jobs_can_pause(j));		/* there is nothing to pause any more */
	jobs_pause(&js, j);
	assert_true(j->ended);
	jobs_free(&js);
	assert_int_equal(w.freed, 1);
}

/* Paused and let go on before its thread had stopped: it runs again at once. */
static void
test_pause_twice(void **state)
{
	struct tb_err err;
	struct ui_job *j;
	struct jobs js;
	struct work w;

	(void)state;
	work_init(&w);
	w.until_cancelled = true;
	jobs_init(&js, wake[1]);
	j = jobs_start(&js, &transfer, (struct view *)&w, &w, "pull", &err);
	assert_non_null(j);
	jobs_pause(&js, j);
	jobs_pause(&js, j);
	settle(&js);
	assert_int_equal(w.agains, 1);
	assert_int_equal(w.end, TB_OK);
	jobs_free(&js);
}

/* What failed, or was cancelled, can go on as well: it is the same job. */
static void
test_go_on(void **state)
{
	struct tb_err err;
	struct ui_job *j;
	struct jobs js;
	struct work w;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	work_init(&w);
	w.status = TB_EIO;
	jobs_init(&js, wake[1]);
	j = jobs_start(&js, &transfer, (struct view *)&w, &w, "pull", &err);
	assert_non_null(j);
	assert_false(jobs_waits(j));
	settle(&js);
	assert_int_equal(j->progress.state, TB_JOB_FAILED);
	assert_true(jobs_can_pause(j) && jobs_waits(j));
	w.status = TB_OK;
	w.gate = &gate;
	jobs_pause(&js, j);
	jobs_cancel(j);
	sem_post(&gate);
	settle(&js);
	w.gate = NULL;
	jobs_pump(&js);
	assert_int_equal(j->progress.state, TB_JOB_CANCELLED);
	assert_string_equal(j->result, "half of it stays");
	jobs_pause(&js, j);
	settle(&js);
	assert_int_equal(j->progress.state, TB_JOB_DONE);
	assert_string_equal(j->result, "all well");
	assert_int_equal(w.done, 3);
	assert_int_equal(w.agains, 2);
	assert_int_equal(j->progress.err.code, TB_OK);
	jobs_free(&js);
	assert_int_equal(w.freed, 1);
}

static void
test_pause_and_cancel(void **state)
{
	struct work w, waits, broken, plain;
	struct ui_job *j, *k, *l;
	struct tb_err err;
	struct jobs js;

	(void)state;
	work_init(&w);
	work_init(&waits);
	work_init(&broken);
	work_init(&plain);
	w.until_cancelled = broken.until_cancelled = true;
	broken.again = TB_ENOMEM;
	jobs_init(&js, wake[1]);
	j = jobs_start(&js, &transfer, (struct view *)&w, &w, "pull", &err);
	k = jobs_start(&js, &transfer, (struct view *)&broken, &broken, "broken", &err);
	l = jobs_start(&js, &transfer, (struct view *)&waits, &waits, "waits", &err);
	jobs_pause(&js, l);		/* before its turn came */
	jobs_pause(&js, j);
	jobs_cancel(j);
	jobs_pause(&js, k);
	settle(&js);
	pump_until_queued(&js, k);
	jobs_pause(&js, k);
	settle(&js);
	assert_true(j->ended);
	assert_int_equal(w.agains, 0);
	assert_int_equal(j->progress.state, TB_JOB_CANCELLED);
	assert_string_equal(j->result, "half of it stays");
	assert_int_equal(k->progress.state, TB_JOB_FAILED);
	assert_string_equal(k->progress.err.msg, "not twice");
	assert_int_equal(sem_trywait(&waits.started), -1);
	jobs_cancel(l);
	settle(&js);
	assert_int_equal(l->progress.state, TB_JOB_CANCELLED);
	j = jobs_start(&js, &serial, (struct view *)&plain, &plain, "scan", &err);
	assert_false(jobs_can_pause(j));		/* it cannot go on where it was */
	settle(&js);
	jobs_free(&js);
	assert_int_equal(w.freed + waits.freed + broken.freed + plain.freed, 4);
}

/* A screen that closes is never called again; what only it wanted is cancelled. */
static void
test_owner_goes(void **state)
{
	struct tb_err err;
	struct work w, kept;
	struct jobs js;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	work_init(&w);
	work_init(&kept);
	w.until_cancelled = true;
	kept.gate = &gate;
	jobs_init(&js, wake[1]);
	assert_non_null(jobs_start(&js, &quiet, (struct view *)&w, &w, "quiet", &err));
	assert_non_null(jobs_start(&js, &listed, (struct view *)&kept, &kept, "listed", &err));
	jobs_disown(&js, (struct view *)&w);
	jobs_disown(&js, (struct view *)&kept);
	sem_post(&gate);
	settle(&js);
	assert_int_equal(w.done + kept.done, 0);
	assert_int_equal(w.freed, 1);
	assert_int_equal(js.head->progress.state, TB_JOB_DONE);
	jobs_free(&js);
}

static void
test_free_waits(void **state)
{
	struct tb_err err;
	struct work w[4];
	struct jobs js;

	(void)state;
	jobs_init(&js, wake[1]);
	for (int i = 0; i < 4; i++) {
		work_init(&w[i]);
		w[i].until_cancelled = true;
		assert_non_null(jobs_start(&js, i < 2 ? &serial : &quiet, (struct view *)&w[i], &w[i], "w", &err));
	}
	jobs_free(&js);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(w[i].freed, 1);
		assert_int_equal(w[i].done, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writers_take_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_transfers_take_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause_and_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_free_waits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
