#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/replace.h"

/* What the file system says to a sync of a folder, and to flags of renames. */
static int folder_sync_errno, rename_errno;

int
fsync(int fd)
{
	struct stat st;

	if (folder_sync_errno && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = folder_sync_errno;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (rename_errno) {
		errno = rename_errno;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

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

/* A folder's sync that fails comes after the rename: what others see by then stays, and
 * the caller is told so.  That there is no such sync is no failure. */
static void
a_failed_sync_takes_nothing_back(void **state)
{
	static const int none[] = { EINVAL, ENOSYS, EOPNOTSUPP };
	const char *dir = unit_path("sync");
	struct tb_err err;

	(void)state;
	assert_ok(tb_out_file(unit_path("sync/before"), "x", 1, false, &err), err);
	folder_sync_errno = EIO;
	assert_fails(tb_out_file(unit_path("sync/a"), "new", 3, false, &err), err, TB_ESYNC,
		     "sync/a: written, but could not be synced: Input/output error");
	assert_fails(tb_out_file(unit_path("sync/a"), "newer", 5, true, &err), err, TB_ESYNC, "");
	assert_holds(unit_path("sync/a"), "newer");
	for (size_t i = 0; i < 3; i++) {
		folder_sync_errno = none[i];
		assert_ok(tb_out_file(unit_path("sync/a"), "none", 4, true, &err), err);
	}
	folder_sync_errno = 0;
	assert_int_equal(entries(dir), 2);
}

/* With all flags of rename, and where the kernel or file system has none of them. */
static const int rename_errnos[] = { 0, EINVAL, ENOSYS };

static void
renames_do_not_replace(void **state)
{
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char from[32], to[32], in[64], file[32];

		rename_errno = rename_errnos[i];
		snprintf(from, sizeof(from), "rn%zu/from", i);
		snprintf(to, sizeof(to), "rn%zu/to", i);
		snprintf(in, sizeof(in), "rn%zu/to/precious", i);
		snprintf(file, sizeof(file), "rn%zu/file", i);
		assert_ok(tb_mkdirs(unit_path(from), &err), err);
		assert_int_equal(tb_rename_new(unit_path(from), unit_path(to)), 0);
		assert_ok(tb_mkdirs(unit_path(from), &err), err);
		assert_int_equal(tb_rename_new(unit_path(from), unit_path(to)), -1);
		assert_int_equal(errno, EEXIST);	/* even though it is empty */
		assert_ok(tb_out_file(unit_path(in), "x", 1, false, &err), err);
		assert_int_equal(tb_rename_new(unit_path(from), unit_path(to)), -1);
		assert_holds(unit_path(in), "x");
		assert_ok(tb_out_file(unit_path(file), "y", 1, false, &err), err);
		assert_fails(tb_out_file(unit_path(file), "z", 1, false, &err), err, TB_EEXIST, "file");
		assert_int_equal(tb_rename_new(unit_path(file), unit_path(in)), -1);
		assert_holds(unit_path(in), "x");
		assert_holds(unit_path(file), "y");
	}
	rename_errno = 0;
}

static void
what_is_replaced_is_kept(void **state)
{
	struct tb_err err;
	struct tb_out o;
	char *kept;

	(void)state;
	setenv("TBTUI_NOW", "1795312121", 1);
	for (size_t i = 0; i < 3; i++) {
		char dir[32], name[32], first[64], second[64], sub[32], new[32];

		rename_errno = rename_errnos[i];
		snprintf(dir, sizeof(dir), "kp%zu", i);
		snprintf(name, sizeof(name), "kp%zu/name", i);
		snprintf(first, sizeof(first), "%s.replaced-20261122T014841Z", name);
		snprintf(second, sizeof(second), "%s-2", first);
		snprintf(sub, sizeof(sub), "kp%zu/new/f", i);
		snprintf(new, sizeof(new), "kp%zu/new", i);
		for (int k = 0; k < 3; k++) {
			assert_ok(tb_out_open(&o, unit_path(dir), &err), err);
			assert_ok(tb_out_write(&o, &"012"[k], 1, &err), err);
			assert_ok(tb_out_replace(&o, unit_path(name), unit_path(name), &kept, &err), err);
			if (!k)
				assert_null(kept);
			else
				assert_string_equal(kept, unit_path(k == 1 ? first : second));
			free(kept);
		}
		assert_holds(unit_path(name), "2");
		assert_holds(unit_path(first), "0");
		assert_holds(unit_path(second), "1");
		assert_int_equal(entries(unit_path(dir)), 3);

		/* a folder for a file, and for a folder */
		for (int k = 0; k < 2; k++) {
			char old[80];

			assert_ok(tb_out_file(unit_path(sub), "f", 1, false, &err), err);
			assert_ok(tb_replace(unit_path(new), unit_path(name), unit_path(name), &kept,
					     &err), err);
			snprintf(old, sizeof(old), "%s-%d", first, 3 + k);
			assert_string_equal(kept, unit_path(old));
			free(kept);
			assert_true(tb_is_dir(unit_path(name)));
			assert_int_equal(tb_is_dir(unit_path(old)), k);
		}
		assert_int_equal(entries(unit_path(dir)), 5);
	}
	rename_errno = 0;
	unsetenv("TBTUI_NOW");
	assert_true(tb_is_replaced("x.safetensors.replaced-20261122T014841Z"));
	assert_true(tb_is_replaced("x.replaced-20261122T014841Z-2"));
	assert_false(tb_is_replaced("x.replaced-20261122T014841"));
	assert_false(tb_is_replaced("x.replaced-20261122T014841Zz"));
	assert_false(tb_is_replaced("x.replaced-20261122T014841Z-"));
	assert_false(tb_is_replaced("x.replaced-by-y"));
}

/* A name of 255 bytes leaves no room for what is put behind it. */
static void
long_names_are_kept(void **state)
{
	enum { FOLDER = 3, REST = 255 - 27 };	/* the mark has 26 bytes, a character 3 */
	char name[FOLDER + 255 + 1] = "ln/", old[sizeof(name)];
	struct tb_err err;
	char *kept;

	(void)state;
	setenv("TBTUI_NOW", "1795312121", 1);
	for (size_t i = 0; i < 255; i += 3)
		memcpy(name + FOLDER + i, "\xe2\x82\xac", 4);
	snprintf(old, sizeof(old), "%.*s.replaced-20261122T014841Z", FOLDER + REST, name);
	for (size_t i = 0; i < 3; i++) {
		rename_errno = rename_errnos[i];
		assert_ok(tb_out_file(unit_path(name), "old", 3, true, &err), err);
		assert_ok(tb_out_file(unit_path("ln/new"), "new", 3, false, &err), err);
		assert_ok(tb_replace(unit_path("ln/new"), unit_path(name), unit_path(name), &kept,
				     &err), err);
		assert_string_equal(kept, unit_path(old));
		assert_true(tb_is_replaced(strrchr(kept, '/') + 1));
		assert_holds(unit_path(old), "old");
		assert_holds(unit_path(name), "new");
		assert_int_equal(unlink(kept), 0);
		assert_int_equal(unlink(unit_path(name)), 0);
		free(kept);
	}
	rename_errno = 0;
	unsetenv("TBTUI_NOW");
}

/* What a writer that was killed left goes, what one still writes stays. */
static void
left_files_are_swept(void **state)
{
	bool was = tb_out_hidden;
	struct tb_err err;
	struct tb_out o;

	(void)state;
	tb_out_hidden = true;
	assert_ok(tb_out_open(&o, unit_path("swept"), &err), err);
	unit_write("swept/.tbtui-tmp-0123456789abcdef", "x", 1);
	unit_write("swept/.tbtui-old-0123456789abcdef", "x", 1);
	unit_write("swept/model", "x", 1);
	assert_int_equal(entries(unit_path("swept")), 4);
	tb_out_sweep(unit_path("swept"));
	assert_int_equal(entries(unit_path("swept")), 3);
	assert_true(tb_exists(o.tmp));
	assert_ok(tb_out_commit(&o, unit_path("swept/new"), false, &err), err);
	assert_int_equal(entries(unit_path("swept")), 3);
	tb_out_hidden = was;
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
		cmocka_unit_test(a_failed_sync_takes_nothing_back),
		cmocka_unit_test(renames_do_not_replace),
		cmocka_unit_test(what_is_replaced_is_kept),
		cmocka_unit_test(long_names_are_kept),
		cmocka_unit_test(left_files_are_swept),
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
