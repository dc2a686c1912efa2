/* journal_undo.c - undo, recovery, and the one place that deletes. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/store/journal_parts.h"

#define LIST "journal."
#define TREE_DEPTH 64

/* ---- deleting ---- */

static enum tb_status
tree_delete(const char *path, unsigned depth, struct tb_job *job, struct tb_err *err)
{
	struct tb_names names = { 0 };
	enum tb_status status = TB_OK;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s", path);
	if (!S_ISDIR(st.st_mode) && unlink(path))
		return tb_fail_errno(err, "%s: cannot be deleted", path);
	if (!S_ISDIR(st.st_mode)) {
		tb_job_step(job, S_ISREG(st.st_mode) && st.st_nlink == 1 ? (uint64_t)st.st_size : 0, 0);
		return TB_OK;
	}
	if (!depth)
		return tb_fail(err, TB_ELIMIT, "%s: too deep", path);
	status = tb_names_read(&names, path, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *below = tb_path_join(path, names.v[i]);

		status = below ? tree_delete(below, depth - 1, job, err) : tb_nomem(err);
		free(below);
	}
	tb_names_free(&names);
	if (!status && rmdir(path))
		status = tb_fail_errno(err, "%s: cannot be deleted", path);
	return status;
}

/* In the order in which they were taken: models before their blobs, so that what is left
 * when this ends early is no model without some of them. */
static int
by_slot(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t m = strlen(x), n = strlen(y);

	return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

/* All in the folder but its list; or the list and the folder. */
static enum tb_status
folder_delete(const struct journal *j, bool list, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, j->dir, err);

	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), by_slot);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path;

		if (tb_starts(names.v[i], LIST) && !list)
			continue;
		status = tb_job_check(j->job, err);
		if (status)
			break;
		path = tb_path_join(j->dir, names.v[i]);
		status = path ? tree_delete(path, TREE_DEPTH, j->job, err) : tb_nomem(err);
		tb_job_step(j->job, 0, !tb_starts(names.v[i], LIST));
		free(path);
	}
	tb_names_free(&names);
	if (!status && list && rmdir(j->dir))
		status = tb_fail_errno(err, "%s: cannot be deleted", j->dir);
	return status;
}

void
journal_discard(const struct journal *j)
{
	(void)!folder_delete(j, true, NULL);
}

void
journal_forget(const struct journal *j)
{
	struct tb_names names;
	bool held;

	tb_out_sweep(j->dir);
	held = tb_names_read(&names, j->dir, NULL) != TB_OK;
	for (size_t i = 0; i < names.n; i++)
		held |= !tb_starts(names.v[i], LIST);
	tb_names_free(&names);
	if (!held)
		journal_discard(j);
}

/* It came from nowhere in the store, and is what was staged. */
static void
drop_staged(char *path, const struct journal_ident *id)
{
	if (path && journal_is(path, id, false))
		unlink(path);
	free(path);
}

void
journal_rolled_back(struct journal *j, size_t left)
{
	for (size_t i = 0; i < j->nsteps; i++) {
		const struct journal_step *s = &j->steps[i];

		if (s->what != JOURNAL_PUT && s->what != JOURNAL_SWAP)
			continue;
		drop_staged(journal_slot_path(j, s->slot), &s->new);
		drop_staged(journal_staged_path(j, s->slot), &s->new);
	}
	if (left)
		(void)!journal_set_state(j, JOURNAL_UNDONE, NULL);
	else
		journal_forget(j);
}

enum tb_status
journal_empty(struct journal *j, const struct store_lock *lock, struct tb_err *err)
{
	enum journal_state before = j->state;
	enum tb_status status = TB_OK;

	if (!lock->alone)
		return tb_fail(err, TB_EUSAGE, "%s: is not locked", j->root);
	if (journal_in_use(j) || j->state == JOURNAL_BEGUN || j->state == JOURNAL_UNDOING)
		return tb_fail(err, TB_EUSAGE, "%s: somebody works on it", j->dir);
	if (j->state == JOURNAL_DONE || j->state == JOURNAL_UNDONE)
		status = journal_set_state(j, JOURNAL_EMPTYING, err);
	if (!status)
		status = folder_delete(j, false, err);
	/* Else whoever comes next would go on with what somebody has just stopped. */
	if (status == TB_ECANCEL && before != j->state && journal_set_state(j, before, NULL))
		return tb_fail(err, TB_ECANCEL, "operation %" PRIu64 ": cancelled, but its state cannot "
			       "be written: the next command that writes there deletes the rest", j->n);
	if (status == TB_ECANCEL)
		return tb_fail(err, TB_ECANCEL, "operation %" PRIu64 ": cancelled; what was not deleted "
			       "is still held, see \"tbtui undo --list\"", j->n);
	j->job = NULL;		/* nothing is left that could be kept */
	return status ? status : folder_delete(j, true, err);
}

/* ---- what it holds ---- */

static enum tb_status
tree_size(const char *path, unsigned depth, uint64_t *bytes, struct tb_err *err)
{
	struct tb_names names = { 0 };
	enum tb_status status = TB_OK;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s", path);
	if (S_ISREG(st.st_mode) && st.st_nlink == 1)
		*bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode) || !depth)
		return TB_OK;
	status = tb_names_read(&names, path, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *below = tb_path_join(path, names.v[i]);

		status = below ? tree_size(below, depth - 1, bytes, err) : tb_nomem(err);
		free(below);
	}
	tb_names_free(&names);
	return status;
}

enum tb_status
journal_held(const struct journal *j, uint64_t *things, uint64_t *bytes, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, j->dir, err);

	*things = *bytes = 0;
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path;

		if (tb_starts(names.v[i], LIST))
			continue;
		path = tb_path_join(j->dir, names.v[i]);
		status = path ? tree_size(path, TREE_DEPTH, bytes, err) : tb_nomem(err);
		++*things;
		free(path);
	}
	tb_names_free(&names);
	return status;
}

/* ---- undo ---- */

/* Will a later step of the operation make room there, when it goes back? */
static bool
makes_room(const struct journal *j, size_t after, const char *path, uint64_t ino)
{
	for (size_t i = after + 1; i < j->nsteps; i++) {
		const struct journal_step *s = &j->steps[i];
		const char *dest = s->what == JOURNAL_MOVE ? s->to : s->path;

		if (s->what != JOURNAL_TAKE && !strcmp(dest, path) &&
		    ino == (s->what == JOURNAL_MOVE ? s->old.ino : s->new.ino))
			return true;
	}
	return false;
}

/* A blob that somebody has made again is as good as the one that was taken. */
static bool
same_blob(const struct journal_step *s, const char *path)
{
	char actual[TB_DIGEST_MAX];
	struct tb_file f;
	bool same;

	if (!*s->digest || tb_file_open(&f, path, NULL))
		return false;
	same = f.id.size == s->old.size && !tb_sha256_file(&f, NULL, NULL, actual, NULL) &&
	       !strcmp(actual, s->digest);
	tb_file_close(&f);
	return same;
}

static enum tb_status
step_undo_check(const struct journal *j, size_t i, struct tb_err *err)
{
	const struct journal_step *s = &j->steps[i];
	uint64_t there;
	struct journal_ends e;
	enum tb_status status = journal_ends(j, s, &e, err);
	const char *place;

	if (status)
		return status;
	place = s->what == JOURNAL_PUT || s->what == JOURNAL_SWAP ? NULL : e.from;
	if (s->what == JOURNAL_TAKE && !tb_exists(e.to))
		place = NULL;		/* was given back already */
	if (place && (there = journal_ident(place).ino) && !makes_room(j, i, s->path, there) &&
	    !(s->what == JOURNAL_TAKE && same_blob(s, place)))
		status = tb_fail(err, TB_EEXIST, "%s: is there again, and would have to be "
				 "overwritten; nothing was undone: give it another name first", place);
	place = s->what == JOURNAL_SWAP ? e.from : s->what == JOURNAL_TAKE ? NULL : e.to;
	if (!status && place &&
	    !journal_is(place, s->what == JOURNAL_MOVE ? &s->old : &s->new, false))
		status = tb_fail(err, TB_EEXIST, "%s: was changed or taken away since; nothing was "
				 "undone: undo first what came later", place);
	journal_ends_free(&e);
	return status;
}

/* From a state that says so to its end. */
static enum tb_status
undo_go_on(struct journal *j, struct tb_err *err)
{
	size_t left;
	enum tb_status status = journal_back(j, &left, err), synced;

	if (status)
		return status;
	synced = journal_sync(j, err);
	status = journal_set_state(j, JOURNAL_UNDONE, synced ? NULL : err);
	if (!status || status == TB_ESYNC)
		journal_forget(j);
	return status ? status : synced;
}

enum tb_status
journal_undo_check(const struct journal *j, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (j->state != JOURNAL_DONE)
		return tb_fail(err, TB_EUSAGE, "operation %" PRIu64 " of %s: cannot be undone: it is %s",
			       j->n, j->root, j->state == JOURNAL_UNDONE ? "undone already"
			       : j->state == JOURNAL_EMPTYING ? "being emptied" : "not done");
	journal_look_anew(j);
	for (size_t i = 0; i < j->nsteps && !status; i++) {
		status = tb_job_check(j->job, err);
		if (!status)
			status = journal_way(j, j->steps[i].path, &(unsigned){ 0 }, err);
		if (!status)
			status = step_undo_check(j, i, err);
	}
	return status;
}

enum tb_status
journal_undo(struct journal *j, const struct store_lock *lock, struct tb_err *err)
{
	enum tb_status status;

	if (lock->fd < 0 || !lock->alone)
		return tb_fail(err, TB_EUSAGE, "%s: is not locked", j->root);
	status = journal_undo_check(j, err);
	if (!status)
		status = journal_set_state(j, JOURNAL_UNDOING, err);
	return status && status != TB_ESYNC ? status : undo_go_on(j, err);
}

/* ---- recovery ---- */

/* Of a draft nothing was moved: what was staged goes, what nobody knows stays. */
static void
recover_draft(const struct journal *j)
{
	struct tb_names names;

	tb_out_sweep(j->dir);
	if (tb_names_read(&names, j->dir, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		char *path = tb_ends(names.v[i], ".part") ? tb_path_join(j->dir, names.v[i]) : NULL;

		if (path)
			unlink(path);
		free(path);
	}
	tb_names_free(&names);
	journal_forget(j);
}

static enum tb_status
recover_one(struct journal *j, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t left;

	if (j->state == JOURNAL_EMPTYING)
		return (status = folder_delete(j, false, err)) ? status : folder_delete(j, true, err);
	if (j->state == JOURNAL_UNDOING)
		return undo_go_on(j, err);
	if (j->state == JOURNAL_DRAFT) {
		recover_draft(j);
		return TB_OK;
	}
	status = journal_back(j, &left, err);
	if (!status)
		status = journal_sync(j, err);
	if (!status)
		journal_rolled_back(j, left);
	return status;
}

enum tb_status
journal_recover(const char *root, const struct store_lock *lock, size_t *dealt, struct tb_err *err)
{
	uint64_t *numbers;
	size_t n;
	enum tb_status first = journal_list(root, &numbers, &n, err);

	if (dealt)
		*dealt = 0;
	if (!first && n && (lock->fd < 0 || !lock->alone))
		first = tb_fail(err, TB_EUSAGE, "%s: is not locked", root);
	for (size_t i = n; i-- && first != TB_EUSAGE;) {	/* the last ones first */
		struct tb_err *tell = first ? NULL : err;
		struct journal j;
		enum tb_status status = journal_look(&j, root, numbers[i], tell);
		bool killed = !status && journal_unfinished(&j);

		journal_free(&j);
		if (killed && !(status = journal_read(&j, root, numbers[i], tell))) {
			status = recover_one(&j, tell);
			journal_free(&j);
		}
		if (dealt)
			*dealt += killed && !status;
		first = first ? first : status;
	}
	free(numbers);
	return first;
}

void
journal_recover_now(const char *root)
{
	struct store_lock lock = STORE_UNLOCKED;
	uint64_t *numbers;
	size_t n;
	bool any = false;

	if (journal_list(root, &numbers, &n, NULL))
		return;
	for (size_t i = 0; i < n && !any; i++) {
		struct journal j;

		if (!journal_look(&j, root, numbers[i], NULL)) {
			any = journal_unfinished(&j);
			journal_free(&j);
		}
	}
	free(numbers);
	if (any && store_lock_try_alone(&lock, root))
		(void)!journal_recover(root, &lock, NULL, NULL);
	store_unlock(&lock);
}
