/* What others stage is left alone, what was left is swept. */
#include "config.h"

#include <stdio.h>
#include <sys/resource.h>

#include "src/base/file.h"
#include "src/store/journal.h"
#include "tests/unit/unit.h"

/* Who cannot look does not know that nobody is there. */
static void
test_in_use_unknown(void **state)
{
	struct rlimit old, few;
	struct journal j, other;
	struct tb_err err;

	(void)state;
	assert_ok(journal_begin(&j, unit_tmp(), "another one's", 0, &err), err);
	assert_ok(journal_look(&other, unit_tmp(), j.n, &err), err);
	assert_true(journal_in_use(&other));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ 3, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_true(journal_in_use(&other));
	assert_false(journal_unfinished(&other));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	journal_free(&other);
	journal_free(&j);
}

/* A number that was being written when its program was killed. */
static void
test_swept(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	struct tb_err err;
	char left[4096];
	FILE *f;

	(void)state;
	assert_ok(journal_begin(&j, unit_tmp(), "x", 0, &err), err);
	snprintf(left, sizeof(left), "%s/" JOURNAL_DIR "/.tbtui-tmp-0123456789abcdef", unit_tmp());
	f = fopen(left, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_ok(store_lock_alone(&lock, unit_tmp(), &err), err);
	assert_ok(journal_recover(unit_tmp(), &lock, NULL, &err), err);
	assert_false(tb_exists(left));
	store_unlock(&lock);
	journal_free(&j);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_use_unknown),
		cmocka_unit_test(test_swept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
