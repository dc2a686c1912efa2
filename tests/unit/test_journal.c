/* What is taken away from a store: all of it or nothing, whenever it ends, and back again. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/sha256.h"
#include "src/store/journal.h"
#include "tests/unit/fixture.h"
#include "tests/unit/unit.h"

#define A "blobs/sha256-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "blobs/sha256-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ONE "manifests/registry.ollama.ai/library/one/latest"
#define TWO "manifests/registry.ollama.ai/library/two/latest"
#define NEW "manifests/registry.ollama.ai/me/new/v1"
#define MOVED "manifests/example.org/me/two/latest"

/* ---- a kill, or a failure, at the n-th call that changes anything ---- */

static int calls, kill_at, fail_at, fail_errno;
static bool old_kernel;			/* that knows no flags of rename() */

/* 0: go on. */
static int
call(void)
{
	int n = ++calls;

	if (n == kill_at)
		_exit(9);
	if (n != fail_at)
		return 0;
	errno = fail_errno;
	return -1;
}

int
renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	if (old_kernel && flags) {
		errno = EINVAL;
		return -1;
	}
	return call() ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, flags);
}

#define CHANGES(head, ...) \
	int head { return call() ? -1 : (int)syscall(__VA_ARGS__); }
CHANGES(rename(const char *from, const char *to), SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)
CHANGES(link(const char *from, const char *to), SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
CHANGES(unlink(const char *path), SYS_unlinkat, AT_FDCWD, path, 0)
CHANGES(unlinkat(int dir, const char *path, int flags), SYS_unlinkat, dir, path, flags)
CHANGES(rmdir(const char *path), SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
CHANGES(mkdir(const char *path, mode_t mode), SYS_mkdirat, AT_FDCWD, path, mode)
CHANGES(fsync(int fd), SYS_fsync, fd)

static void
calm(void)
{
	calls = kill_at = fail_at = 0;
}

/* ---- a store ---- */

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
	calm();
	snprintf(store, sizeof(store), "store%d", stores++);
	put(A, "the bytes of a");
	put(B, "bad bytes");
	put(ONE, "{one}");
	put(TWO, "{two}");
	put("folder/model.safetensors", "weights");
	put("folder/config.json", "{}");
}

/* All that is below `dir` but .tbtui: names, inodes, times and bytes. */
static void
tree(struct tb_buf *out, const char *dir, const char *rel)
{
	struct tb_names names;
	struct tb_err err;

	assert_ok(tb_names_read(&names, dir, &err), err);
	for (size_t i = 0; i < names.n; i++) {
		char path[4096], below[4096], *text;
		struct stat st;

		if (!*rel && !strcmp(names.v[i], JOURNAL_DIR))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, names.v[i]);
		snprintf(below, sizeof(below), "%s/%s", rel, names.v[i]);
		assert_int_equal(lstat(path, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			tb_buf_printf(out, "%s/\n", below);
			tree(out, path, below);
			continue;
		}
		text = NULL;
		if (S_ISREG(st.st_mode))
			assert_ok(tb_file_slurp(path, 4096, &text, NULL, &err), err);
		tb_buf_printf(out, "%s %ju %jd.%09ld %s\n", below, (uintmax_t)st.st_ino,
			      (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, text ? text : "->");
		free(text);
	}
	tb_names_free(&names);
}

static char *
look(void)
{
	struct tb_buf b = TB_BUF(1 << 20);

	tree(&b, root(), "");
	return tb_buf_take(&b);
}

/* All is as `before`, which is freed. */
static void
assert_as(char *before)
{
	char *now = look();

	assert_string_equal(before, now);
	free(now);
	free(before);
}

/* One of each kind of step. */
static enum tb_status
stage_one(struct journal *j, const char *text, unsigned *slot, struct tb_err *err)
{
	char *path = NULL;
	enum tb_status status = journal_stage(j, slot, &path, err);

	if (!status)
		status = tb_out_file(path, text, strlen(text), false, err);
	free(path);
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "not staged") : status;
}

static enum tb_status
operate(struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	unsigned good, made;
	enum tb_status status = store_lock_alone(&lock, root(), err);

	if (!status)
		status = journal_begin(&j, root(), "all of it", 0, err);
	if (status) {
		store_unlock(&lock);
		return status;
	}
	(void)((status = stage_one(&j, "good bytes", &good, err)) ||
	       (status = stage_one(&j, "{new}", &made, err)) ||
	       (status = journal_take(&j, ONE, &(struct journal_note){ .model = "one", .clear = 3 }, err)) ||
	       (status = journal_take(&j, A, &(struct journal_note){ .bytes = 14 }, err)) ||
	       (status = journal_swap(&j, good, B, NULL, err)) ||
	       (status = journal_put(&j, made, NEW, NULL, err)) ||
	       (status = journal_move(&j, TWO, MOVED, &(struct journal_note){ .clear = 3 }, err)) ||
	       (status = journal_take(&j, "folder", NULL, err)) ||
	       (status = journal_commit(&j, &lock, err)));
	journal_free(&j);
	store_unlock(&lock);
	return status;
}

static enum tb_status
undo(uint64_t n, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	enum tb_status status = store_lock_alone(&lock, root(), err);

	if (!status)
		status = journal_read(&j, root(), n, err);
	if (!status) {
		status = journal_undo(&j, &lock, err);
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

static size_t
count(void)
{
	uint64_t *numbers;
	struct tb_err err;
	size_t n;

	assert_ok(journal_list(root(), &numbers, &n, &err), err);
	free(numbers);
	return n;
}

static enum journal_state
state_of(uint64_t n)
{
	struct journal j;
	struct tb_err err;
	enum journal_state state;

	assert_ok(journal_look(&j, root(), n, &err), err);
	state = j.state;
	journal_free(&j);
	return state;
}

#define has(tree, what) (strstr(tree, what) != NULL)

/* The new blob's and manifest's inodes are not known before. */
static void
check_after(const char *tree)
{
	assert_false(has(tree, "/" A));
	assert_false(has(tree, "one/latest"));
	assert_false(has(tree, "folder"));
	assert_false(has(tree, "bad bytes"));
	assert_true(has(tree, "good bytes"));
	assert_true(has(tree, "{new}"));
	assert_true(has(tree, "/" MOVED));
}

static void
test_there_and_back(void **state)
{
	char *before, *after;
	struct tb_err err;
	struct journal j;
	uint64_t things, bytes;

	(void)state;
	fresh();
	before = look();
	assert_ok(operate(&err), err);
	after = look();
	check_after(after);
	assert_false(has(after, "library/"));
	assert_int_equal(count(), 1);
	assert_ok(journal_read(&j, root(), 1, &err), err);
	assert_int_equal(j.state, JOURNAL_DONE);
	assert_string_equal(j.what, "all of it");
	assert_int_equal(j.nsteps, 6);
	assert_string_equal(j.steps[0].path, ONE);
	assert_string_equal(j.steps[0].model, "one");
	assert_int_equal(j.steps[1].bytes, 14);
	assert_ok(journal_held(&j, &things, &bytes, &err), err);
	assert_int_equal(things, 4);
	assert_int_equal(bytes, 5 + 14 + 9 + 9);
	journal_free(&j);

	assert_ok(undo(1, &err), err);
	assert_as(before);
	assert_int_equal(state_of(1), JOURNAL_UNDONE);	/* what had been put in is held */
	assert_fails(undo(1, &err), err, TB_EUSAGE, "undone already");
	assert_fails(undo(2, &err), err, TB_ENOENT, "no operation 2");
	free(after);
}

/* Runs fn in a process that is killed at its n-th call; true: it came to its end before. */
static bool
killed(enum tb_status (*fn)(struct tb_err *err), int n)
{
	pid_t pid = fork();
	int how;

	if (!pid) {
		struct tb_err err;

		calm();
		kill_at = n;
		_exit(fn(&err) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFEXITED(how));
	assert_true(WEXITSTATUS(how) == 9 || WEXITSTATUS(how) == 0);
	return WEXITSTATUS(how) == 0;
}

static enum tb_status undo_first(struct tb_err *err) { return undo(1, err); }

static void
kill_everywhere(void)
{
	bool ended = false;
	size_t dealt, befores = 0, afters = 0;
	struct tb_err err;

	for (int n = 1; !ended; n++) {
		char *before, *now;

		fresh();
		before = look();
		ended = killed(operate, n);
		assert_ok(recover(&dealt, &err), err);
		now = look();
		if (!strcmp(before, now)) {
			befores++;
			assert_int_equal(count(), 0);
		} else {
			afters++;
			check_after(now);
			assert_int_equal(state_of(1), JOURNAL_DONE);
			assert_ok(undo(1, &err), err);
			free(now);
			now = look();
			assert_string_equal(before, now);
		}
		free(before);
		free(now);
	}
	if (befores <= 20 || !afters)
		fail_msg("%zu before, %zu after", befores, afters);
}

/* Also where there are no files without a name; no RENAME_NOREPLACE and RENAME_EXCHANGE. */
static void
test_killed(void **state)
{
	(void)state;
	kill_everywhere();
	tb_out_hidden = true;
	kill_everywhere();
	old_kernel = true;
	kill_everywhere();
	tb_out_hidden = old_kernel = false;
}

static void
test_killed_undo(void **state)
{
	bool ended = false;
	size_t dealt;
	struct tb_err err;

	(void)state;
	for (int n = 1; !ended; n++) {
		char *before, *after, *now;

		fresh();
		before = look();
		assert_ok(operate(&err), err);
		after = look();
		ended = killed(undo_first, n);
		assert_ok(recover(&dealt, &err), err);
		now = look();
		if (strcmp(before, now) != 0) {
			assert_string_equal(after, now);
			assert_int_equal(state_of(1), JOURNAL_DONE);
		} else {
			assert_int_equal(state_of(1), JOURNAL_UNDONE);
		}
		free(before);
		free(after);
		free(now);
	}
}

/* A call that fails: nothing is done, or all of it. */
static void
test_failures(void **state)
{
	(void)state;
	for (int which = 3; which >= 0; which--) {
		enum tb_status status = TB_EIO;

		old_kernel = which & 2;
		for (int n = 1; status || calls >= n; n++) {
			char *before, *now;
			struct tb_err err = { 0 };
			size_t dealt;

			fresh();
			before = look();
			fail_at = n;
			fail_errno = which & 1 ? ENOSPC : EIO;
			status = operate(&err);
			fail_at = 0;
			if (status)
				assert_true(*err.msg);
			assert_ok(recover(&dealt, &err), err);
			if (!status || status == TB_ESYNC) {
				check_after(now = look());
				free(now);
				assert_ok(undo(1, &err), err);
			}
			assert_as(before);
		}
	}
}

static void
test_place_taken(void **state)
{
	char *after;
	struct tb_err err;

	(void)state;
	fresh();
	assert_ok(operate(&err), err);
	put(ONE, "{another one}");
	after = look();
	assert_fails(undo(1, &err), err, TB_EEXIST, "one/latest: is there again");
	assert_as(after);
	assert_int_equal(state_of(1), JOURNAL_DONE);
	assert_int_equal(unlink(in_store(ONE)), 0);
	assert_int_equal(unlink(in_store(NEW)), 0);
	put(NEW, "{newer}");
	assert_fails(undo(1, &err), err, TB_EEXIST, "me/new/v1: was changed");
}

/* The blob that was taken has been made again by somebody: that one stays. */
static void
test_same_blob(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	char digest[TB_DIGEST_MAX], rel[128], *text;
	struct journal j;
	struct tb_err err;

	(void)state;
	fresh();
	assert_ok(tb_sha256_bytes("blob", 4, digest, &err), err);
	snprintf(rel, sizeof(rel), "blobs/sha256-%s", digest + 7);
	put(rel, "blob");
	assert_ok(store_lock_alone(&lock, root(), &err), err);
	assert_ok(journal_begin(&j, root(), "x", 41, &err), err);
	assert_int_equal(j.n, 42);
	assert_ok(journal_take(&j, ONE, NULL, &err), err);
	assert_ok(journal_take(&j, rel, &(struct journal_note){ .digest = digest }, &err), err);
	assert_ok(journal_commit(&j, &lock, &err), err);
	put(rel, "bulb");
	assert_fails(journal_undo(&j, &lock, &err), err, TB_EEXIST, "is there again");
	put(rel, "blob");
	assert_ok(journal_undo(&j, &lock, &err), err);
	journal_free(&j);
	assert_ok(tb_file_slurp(in_store(ONE), 100, &text, NULL, &err), err);
	free(text);
	assert_int_equal(state_of(42), JOURNAL_UNDONE);		/* holds the other copy */
	assert_ok(journal_read(&j, root(), 42, &err), err);
	assert_ok(journal_empty(&j, &lock, &err), err);
	journal_free(&j);
	assert_int_equal(count(), 0);
	assert_int_equal(journal_last(root()), 42);
	assert_ok(journal_begin(&j, root(), "y", 0, &err), err);
	assert_int_equal(j.n, 43);
	journal_free(&j);
	store_unlock(&lock);
	assert_int_equal(count(), 0);
}

static void
test_give_back(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	char *before;
	struct journal j;
	struct tb_err err;

	(void)state;
	fresh();
	before = look();
	assert_ok(store_lock_alone(&lock, root(), &err), err);
	assert_ok(journal_begin(&j, root(), "x", 0, &err), err);
	assert_ok(stage_one(&j, "is not needed after all", &(unsigned){ 0 }, &err), err);
	journal_unstage(&j, 0);
	assert_ok(journal_take(&j, ONE, &(struct journal_note){ .clear = 3 }, &err), err);
	assert_ok(journal_take(&j, A, NULL, &err), err);
	assert_ok(journal_commit(&j, &lock, &err), err);
	assert_ok(journal_return(&j, 1, &lock, &err), err);
	assert_true(tb_exists(in_store(A)));
	journal_free(&j);
	store_unlock(&lock);
	assert_ok(undo(1, &err), err);
	assert_as(before);
	assert_int_equal(count(), 0);
}

/* ---- a list from somebody else ---- */

static void
hostile(const char *step, const char *why)
{
	static const char form[] = "{\"version\":1,\"number\":1,\"what\":\"x\",\"when_ns\":\"0\",\"steps\":[%s]}";
	char text[8192], *before;
	struct tb_err err = { 0 };
	enum tb_status status;

	fresh();
	put("../outside", "mine");
	snprintf(text, sizeof(text), form, step);
	put(JOURNAL_DIR "/1/0", "theirs");
	put(JOURNAL_DIR "/1/journal.done", text);
	assert_int_equal(symlink(unit_tmp(), in_store("link")), 0);
	before = look();
	status = undo(1, &err);
	if (!status || !strstr(err.msg, why))
		fail_msg("%s: %s, expected %s", step, err.msg, why);
	assert_as(before);
	assert_true(tb_exists(in_store(JOURNAL_DIR "/1/0")));
}

#define OLD "\"old\":{\"inode\":\"1\",\"size\":\"6\",\"mtime_ns\":\"0\"}"
#define TAKE(path) "{\"do\":\"take\",\"path\":\"" path "\",\"slot\":0," OLD "," \
	"\"makes\":0,\"clears\":0,\"bytes\":\"6\"}"

static void
test_hostile(void **state)
{
	static const char *const bad[] = {
		TAKE("../evil"), TAKE("/tmp/evil"), TAKE(""), TAKE("a/../../evil"), TAKE("a//b"),
		TAKE("a/."), TAKE("a/"), TAKE(".tbtui/1/journal.done"), TAKE(".tbtui"),
		TAKE("%2E%2E/evil"), TAKE("..%2Fevil"), "{}", "[]", "7", "{\"do\":\"take\"}",
		"{\"do\":\"burn\",\"path\":\"a\",\"slot\":0}",
		"{\"do\":\"move\",\"path\":\"a\",\"to\":\"../b\"," OLD ","
			"\"makes\":0,\"clears\":0,\"bytes\":\"1\"}",
	};
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		hostile(bad[i], "cannot be believed");
	hostile(TAKE("link/evil"), "is a link");
	hostile(TAKE("x") "," TAKE("y") "]} trailing", "journal.done");
		put(JOURNAL_DIR "/1/journal.begun", "{}");
	assert_fails(undo(1, &err), err, TB_EFORMAT, "more than one list");
	fresh();
	put("elsewhere/1/0", "theirs");
	put("elsewhere/1/journal.done", "{}");
	assert_int_equal(symlink("elsewhere", in_store(JOURNAL_DIR)), 0);
	assert_fails(undo(1, &err), err, TB_EUNSUP, "a link");
	assert_true(operate(&err) == TB_EUNSUP);
}

/* What is behind a link, or not there, is not taken. */
static void
test_links(void **state)
{
	struct journal j;
	struct tb_err err;

	(void)state;
	fresh();
	assert_int_equal(symlink(in_store("blobs"), in_store("linked")), 0);
	assert_ok(journal_begin(&j, root(), "x", 0, &err), err);
	assert_fails(journal_take(&j, "linked/" "sha256-aa", NULL, &err), err, TB_EUNSUP, "is a link");
	assert_fails(journal_take(&j, "blobs/none", NULL, &err), err, TB_ENOENT, "blobs/none");
	assert_fails(journal_take(&j, "../x", NULL, &err), err, TB_ENOENT, "");
	assert_ok(journal_take(&j, "linked", NULL, &err), err);	/* the link itself */
	assert_fails(journal_commit(&j, &STORE_UNLOCKED, &err), err, TB_EUSAGE, "not locked");
	journal_free(&j);
	assert_int_equal(count(), 0);
}

static void
test_changed_meanwhile(void **state)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	struct tb_err err;

	(void)state;
	fresh();
	assert_ok(store_lock_alone(&lock, root(), &err), err);
	assert_ok(journal_begin(&j, root(), "x", 0, &err), err);
	assert_ok(journal_take(&j, A, NULL, &err), err);
	assert_ok(journal_take(&j, ONE, NULL, &err), err);
	put(ONE, "{one, pulled again}");
	assert_fails(journal_commit(&j, &lock, &err), err, TB_EIO, "changed it meanwhile");
	journal_free(&j);
	store_unlock(&lock);
	assert_true(tb_exists(in_store(A)));
	assert_int_equal(count(), 0);
}

/* Others that are at work are waited for, and a draft of theirs is left alone. */
static void
test_two(void **state)
{
	enum { ROUNDS = 30 };
	static const char *const mine[2] = { A, B };
	pid_t pid[2];
	char *before;
	size_t dealt;
	struct tb_err err;

	(void)state;
	fresh();
	before = look();
	for (int p = 0; p < 2; p++) {
		if ((pid[p] = fork()))
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			struct store_lock lock = STORE_UNLOCKED;
			struct journal j;

			if (journal_begin(&j, root(), "x", 0, NULL) || journal_take(&j, mine[p], NULL, NULL) ||
			    store_lock_alone(&lock, root(), NULL) ||
			    journal_recover(root(), &lock, NULL, NULL) || journal_commit(&j, &lock, NULL) ||
			    tb_exists(in_store(mine[p])) || journal_undo(&j, &lock, NULL))
				_exit(1);
			journal_free(&j);
			store_unlock(&lock);
		}
		_exit(0);
	}
	for (int p = 0, how; p < 2; p++) {
		assert_int_equal(waitpid(pid[p], &how, 0), pid[p]);
		assert_int_equal(how, 0);
	}
	assert_ok(recover(&dealt, &err), err);
	assert_as(before);
	assert_int_equal(count(), 0);
	assert_true(journal_last(root()) >= 2 * ROUNDS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_undo),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_place_taken),
		cmocka_unit_test(test_same_blob),
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
