/* Somebody cancels an operation, or the emptying of one, at a chosen moment: what had been moved
 * is done, what was not deleted is still held. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/store/journal.h"
#include "tests/unit/fixture.h"
#include "tests/unit/unit.h"

#define THINGS 3

static const char *const names[THINGS] = { "blobs/a", "blobs/b", "blobs/c" };
static struct tb_job *job;
static int unlinked, cancel_at;		/* the call that it comes with; 0: never */

int
unlinkat(int dir, const char *path, int flags)
{
	if (!flags && ++unlinked == cancel_at)
		tb_job_cancel(job);
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

static const char *
in_store(const char *rel)
{
	static char path[2][4096];
	static int next;
	char *p = path[next++ % 2];

	snprintf(p, sizeof(path[0]), "%s/store%s%s", unit_tmp(), *rel ? "/" : "", rel);
	return p;
}

static uint64_t
items(void)
{
	struct tb_progress p;

	tb_job_progress(job, &p);
	return p.items;
}

/* An operation that is about to take all of them; the number that it has. */
static uint64_t
begin(struct journal *j, struct store_lock *lock)
{
	struct tb_err err;

	for (int i = 0; i < THINGS; i++) {
		char rel[64];

		snprintf(rel, sizeof(rel), "store/%s", names[i]);
		fixture_dir("store/blobs");
		fixture_text(rel, "some bytes");
	}
	unlinked = cancel_at = 0;
	job = tb_job_new(-1);
	assert_non_null(job);
	assert_ok(store_lock_alone(lock, in_store(""), &err), err);
	assert_ok(journal_begin(j, in_store(""), "x", 0, &err), err);
	j->job = job;
	for (int i = 0; i < THINGS; i++)
		assert_ok(journal_take(j, names[i], NULL, &err), err);
	return j->n;
}

static void
end(struct journal *j, struct store_lock *lock)
{
	uint64_t *numbers;
	struct tb_err err;
	size_t n;

	journal_free(j);
	store_unlock(lock);
	tb_job_free(job);
	assert_ok(journal_list(in_store(""), &numbers, &n, &err), err);
	free(numbers);
	assert_int_equal(n, 0);
}

static void
test_before(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	struct tb_err err;

	(void)state;
	begin(&j, &lock);
	tb_job_cancel(job);
	assert_fails(journal_commit(&j, &lock, &err), err, TB_ECANCEL, "cancelled");
	assert_int_equal(items(), 0);
	for (int i = 0; i < THINGS; i++)
		assert_true(tb_exists(in_store(names[i])));
	end(&j, &lock);
}

static void
test_undo(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	struct tb_err err;

	(void)state;
	begin(&j, &lock);
	assert_ok(journal_commit(&j, &lock, &err), err);
	assert_int_equal(items(), THINGS);
	tb_job_cancel(job);
	assert_fails(journal_undo(&j, &lock, &err), err, TB_ECANCEL, "cancelled");
	assert_int_equal(j.state, JOURNAL_DONE);
	assert_false(tb_exists(in_store(names[0])));
	j.job = NULL;
	assert_ok(journal_undo(&j, &lock, &err), err);
	end(&j, &lock);
}

/* Emptied until the cancel: the first ones are gone, in the order in which they were taken. */
static void
empty_until(int at, uint64_t left)
{
	struct store_lock lock = STORE_UNLOCKED;
	uint64_t n, things, bytes;
	struct journal j;
	struct tb_err err;

	n = begin(&j, &lock);
	assert_ok(journal_commit(&j, &lock, &err), err);
	journal_free(&j);
	assert_ok(journal_read(&j, in_store(""), n, &err), err);
	j.job = job;
	unlinked = 0;
	cancel_at = at;
	if (!at)
		tb_job_cancel(job);
	assert_fails(journal_empty(&j, &lock, &err), err, TB_ECANCEL, "still held");
	assert_int_equal(j.state, JOURNAL_DONE);
	assert_ok(journal_held(&j, &things, &bytes, &err), err);
	assert_int_equal(things, left);
	assert_int_equal(bytes, left * strlen("some bytes"));
	assert_int_equal(items(), THINGS + THINGS - left);
	j.job = NULL;
	assert_ok(journal_undo(&j, &lock, &err), err);
	for (uint64_t i = 0; i < THINGS; i++)
		assert_int_equal(tb_exists(in_store(names[i])), i >= THINGS - left);
	end(&j, &lock);
}

static void
test_emptying(void **state)
{
	(void)state;
	empty_until(0, THINGS);
	empty_until(1, THINGS - 1);
	empty_until(2, THINGS - 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_undo),
		cmocka_unit_test(test_emptying),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
