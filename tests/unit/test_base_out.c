#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/out.h"

/* Names in a folder, "." and ".." aside. */
static size_t
entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void
assert_holds(const char *path, const char *text)
{
	struct tb_err err;
	char *got;

	assert_ok(tb_file_slurp(path, 1000, &got, NULL, &err), err);
	assert_string_equal(got, text);
	free(got);
}

static void
a_file_appears_whole(void **state)
{
	const char *dir = unit_path("whole/sub"), *path = unit_path("whole/sub/name");
	struct tb_out o;
	struct tb_err err;
	struct stat st;
	mode_t mask = umask(027);

	(void)state;
	assert_ok(tb_out_open(&o, dir, &err), err);
	assert_ok(tb_out_write(&o, "abc", 3, &err), err);
	assert_ok(tb_out_pwrite(&o, 6, "ghi", 3, &err), err);
	assert_ok(tb_out_write(&o, "def", 3, &err), err);
	assert_false(tb_exists(path));
	assert_ok(tb_out_commit(&o, path, false, &err), err);
	umask(mask);
	assert_holds(path, "abcdefghi");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(entries(dir), 1);
	tb_out_abort(&o);
	tb_out_abort(&o);
	assert_holds(path, "abcdefghi");
}

static void
nothing_is_overwritten_unless_asked(void **state)
{
	const char *dir = unit_path("keep"), *path = unit_path("keep/name");
	struct tb_err err;

	(void)state;
	assert_ok(tb_out_file(path, "old", 3, false, &err), err);
	assert_fails(tb_out_file(path, "new", 3, false, &err), err, TB_EEXIST, "keep/name");
	assert_holds(path, "old");
	assert_int_equal(entries(dir), 1);
	assert_ok(tb_out_file(path, "new", 3, true, &err), err);
	assert_holds(path, "new");
	assert_int_equal(entries(dir), 1);

	assert_int_equal(symlink("elsewhere", unit_path("keep/link")), 0);
	assert_fails(tb_out_file(unit_path("keep/link"), "x", 1, false, &err), err, TB_EEXIST, "link");
	assert_false(tb_exists(unit_path("keep/elsewhere")));
}

static void
no_special_file_is_replaced(void **state)
{
	struct tb_err err;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(unit_path("special"), 0700), 0);
	assert_int_equal(mkfifo(unit_path("special/fifo"), 0600), 0);
	assert_int_equal(symlink("fifo", unit_path("special/link")), 0);
	assert_fails(tb_out_file(unit_path("special/fifo"), "x", 1, true, &err), err, TB_EEXIST,
		     "fifo: no regular file");
	assert_fails(tb_out_file(unit_path("special/link"), "x", 1, true, &err), err, TB_EEXIST,
		     "link: no regular file");
	assert_int_equal(lstat(unit_path("special/fifo"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(lstat(unit_path("special/link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(entries(unit_path("special")), 2);
}

static void
an_abort_leaves_nothing(void **state)
{
	const char *dir = unit_path("aborted");
	struct tb_out o;
	struct tb_err err;

	(void)state;
	assert_ok(tb_out_open(&o, dir, &err), err);
	assert_ok(tb_out_write(&o, "abc", 3, &err), err);
	assert_int_equal(entries(dir), tb_out_hidden);
	tb_out_abort(&o);
	assert_int_equal(entries(dir), 0);
}

static void
a_failed_commit_leaves_nothing(void **state)
{
	const char *dir = unit_path("failed");
	struct tb_out o;
	struct tb_err err;

	(void)state;
	assert_ok(tb_out_open(&o, dir, &err), err);
	assert_ok(tb_out_write(&o, "abc", 3, &err), err);
	assert_fails(tb_out_commit(&o, unit_path("failed/no/such"), true, &err), err, TB_ENOENT,
		     "no/such");
	assert_int_equal(entries(dir), 0);
	unit_write("a file", "x", 1);
	assert_fails(tb_out_open(&o, unit_path("a file"), &err), err, TB_EEXIST, "a file");
	assert_fails(tb_out_file(unit_path("a file/x"), "x", 1, true, &err), err, TB_EEXIST, "a file");
}

/* A full disk, as the kernel reports one. */
static void
a_write_that_fails_is_told(void **state)
{
	const char *dir = unit_path("full"), *path = unit_path("full/name");
	struct rlimit old, small;
	struct tb_err err;
	char block[8192] = { 0 };

	(void)state;
	assert_ok(tb_out_file(path, "old", 3, false, &err), err);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_fails(tb_out_file(path, block, sizeof(block), true, &err), err, TB_EIO, "writing");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_holds(path, "old");
	assert_int_equal(entries(dir), 1);
}

static void
relative_paths_work(void **state)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);
	struct tb_err err;

	(void)state;
	assert_int_equal(chdir(unit_tmp()), 0);
	assert_ok(tb_out_file("relative", "x", 1, false, &err), err);
	assert_holds(unit_path("relative"), "x");
	assert_int_equal(fchdir(here), 0);
	close(here);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_appears_whole),
		cmocka_unit_test(nothing_is_overwritten_unless_asked),
		cmocka_unit_test(no_special_file_is_replaced),
		cmocka_unit_test(an_abort_leaves_nothing),
		cmocka_unit_test(a_failed_commit_leaves_nothing),
		cmocka_unit_test(a_write_that_fails_is_told),
		cmocka_unit_test(relative_paths_work),
	};

	/* Once on what there is, and in a child as where files cannot be without a name. */
	pid_t child = fork();
	int status = 1, failed;

	tb_out_hidden = child == 0;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (child == 0)
		return failed;
	waitpid(child, &status, 0);
	return failed || status;
}
