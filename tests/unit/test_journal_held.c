/* What lies in .tbtui is input, too: it leads nowhere, and stops nobody. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/store/journal.h"
#include "tests/unit/unit.h"

static int stores;
static char store[64];			/* its name below unit_tmp() */

static const char *
in_store(const char *rel)
{
	static char path[4][4096];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s/%s", unit_tmp(), store, rel);
	return p;
}

static const char *
root(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", unit_tmp(), store);
	return path;
}

static void
put(const char *rel, const char *text)
{
	struct tb_err err;
	char *dir = tb_path_parent(in_store(rel));
	FILE *f;

	assert_ok(tb_mkdirs(dir, &err), err);
	free(dir);
	f = fopen(in_store(rel), "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void
fresh(void)
{
	snprintf(store, sizeof(store), "store%d", stores++);
	put("folder/model.safetensors", "weights");
}

static enum tb_status
operate(struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	enum tb_status status = store_lock_alone(&lock, root(), err);

	if (!status && !(status = journal_begin(&j, root(), "x", 0, err))) {
		status = journal_take(&j, "folder", NULL, err);
		status = status ? status : journal_commit(&j, &lock, err);
		journal_free(&j);
	}
	store_unlock(&lock);
	return status;
}

static enum tb_status
recover(size_t *dealt, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status = store_lock_alone(&lock, root(), err);

	if (!status)
		status = journal_recover(root(), &lock, dealt, err);
	store_unlock(&lock);
	return status;
}

static enum tb_status
empty(struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status = store_lock_alone(&lock, root(), err);
	struct journal j;

	if (!status && !(status = journal_look(&j, root(), 1, err))) {
		status = journal_empty(&j, &lock, err);
		journal_free(&j);
	}
	store_unlock(&lock);
	return status;
}

/* A number that no store gets to, and then the next one that one gives. */
static void
test_numbers(void **state)
{
	static const char *const garbage[] = { "999999999\n", "999999998", "99999999999999999999\n",
					       "-1", "" };
	struct tb_err err;
	struct journal j;

	(void)state;
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		fresh();
		put(JOURNAL_DIR "/last", garbage[i]);
		put(JOURNAL_DIR "/999999999/0", "theirs");
		assert_int_equal(journal_last(root()), 0);
		assert_ok(operate(&err), err);
		assert_int_equal(journal_last(root()), 1);
		assert_ok(journal_begin(&j, root(), "x", 999999999, &err), err);
		assert_int_equal(j.n, 2);
		journal_free(&j);
	}
}

/* What can be neither believed nor deleted is in the way of nobody else, or says what to do. */
static void
test_in_the_way(void **state)
{
	char path[4096] = JOURNAL_DIR "/1/0";
	struct tb_err err;
	size_t dealt, n = strlen(path);

	(void)state;
	fresh();
	while (n < 3000)	/* deeper than is gone into */
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
	snprintf(path + n, sizeof(path) - n, "/file");
	put(path, "theirs");
	put(JOURNAL_DIR "/1/journal.emptying", "");
	assert_ok(recover(&dealt, &err), err);
	assert_int_equal(dealt, 0);
	assert_fails(empty(&err), err, TB_ELIMIT, "too deep");
	fresh();
	put(JOURNAL_DIR "/1/0", "theirs");
	put(JOURNAL_DIR "/1/journal.begun", "{");
	assert_fails(recover(&dealt, &err), err, TB_EFORMAT, "what operation 1 did: put back");
	fresh();
	put(JOURNAL_DIR "/1", "no folder");
	assert_fails(recover(&dealt, &err), err, TB_EUNSUP, "move that out of .tbtui");
}

/* Emptying takes what was taken away, and nothing that it leads to. */
static void
test_empty_stays_inside(void **state)
{
	struct tb_err err;
	char path[300] = JOURNAL_DIR "/1/0";

	(void)state;
	fresh();
	put("mine/file", "mine");
	for (int i = 0; i < 100; i++)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
	put(path, "theirs");
	assert_int_equal(symlink("../../mine", in_store(JOURNAL_DIR "/1/1")), 0);
	assert_int_equal(symlink(in_store("mine"), in_store(JOURNAL_DIR "/1/0/d/link")), 0);
	put(JOURNAL_DIR "/1/journal.done", "{}");
	assert_ok(empty(&err), err);
	assert_false(tb_exists(in_store(JOURNAL_DIR "/1")));
	assert_true(tb_exists(in_store("mine/file")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_empty_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
