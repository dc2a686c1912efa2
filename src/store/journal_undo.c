/* journal_undo.c - undo, recovery, and what is forgotten. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/store/journal_parts.h"

void
journal_discard(const struct journal *j)
{
	(void)!journal_delete(j, true, NULL);
}

/* Removes the folder if nothing but a list is in it. */
static void
journal_forget(const struct journal *j)
{
	struct tb_names names;
	bool held;

	tb_out_sweep(j->dir);
	held = tb_names_read(&names, j->dir, NULL) != TB_OK;
	for (size_t i = 0; i < names.n; i++)
		held |= !tb_starts(names.v[i], JOURNAL_LIST);
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
		status = journal_delete(j, false, err);
	/* Else whoever comes next would go on with what somebody has just stopped. */
	if (status == TB_ECANCEL && before != j->state && journal_set_state(j, before, NULL))
		return tb_fail(err, TB_ECANCEL, "operation %" PRIu64 ": cancelled, but its state cannot "
			       "be written: the next command that writes there deletes the rest", j->n);
	if (status == TB_ECANCEL)
		return tb_fail(err, TB_ECANCEL, "operation %" PRIu64 ": cancelled; what was not deleted "
			       "is still held, see \"tbtui undo --list\"", j->n);
	j->job = NULL;		/* nothing is left that could be kept */
	return status ? status : journal_delete(j, true, err);
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
	if (tb_written(status))
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
	return !tb_written(status) ? status : undo_go_on(j, err);
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
		return (status = journal_delete(j, false, err)) ? status : journal_delete(j, true, err);
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

/* Whose list cannot be believed may have left the store between before and after. */
static enum tb_status
tell_unknown(const char *root, uint64_t n, enum tb_status status, struct tb_err *err)
{
	if (status != TB_EFORMAT && status != TB_EUNSUP)
		return status;
	return tb_wrap(err, status, "nobody can say what operation %" PRIu64 " did: put back what is "
		       "missing from %.300s/" JOURNAL_DIR "/%" PRIu64 ", move that out of " JOURNAL_DIR
		       ", and try again", n, root, n);
}

static enum tb_status
recover_nth(const char *root, uint64_t n, bool *dealt, struct tb_err *err)
{
	struct journal j;
	enum tb_status status = journal_look(&j, root, n, err);

	*dealt = false;
	if (status)	/* TB_ENOENT: a draft that somebody gave up meanwhile */
		return status == TB_ENOENT ? TB_OK : tell_unknown(root, n, status, err);
	if (!journal_unfinished(&j)) {
		journal_free(&j);
		return TB_OK;
	}
	if (j.state == JOURNAL_EMPTYING) {	/* what cannot be deleted is in nobody's way */
		*dealt = !recover_one(&j, NULL);
		journal_free(&j);
		return TB_OK;
	}
	journal_free(&j);
	status = journal_read(&j, root, n, err);
	if (status)
		return tell_unknown(root, n, status, err);
	status = recover_one(&j, err);
	*dealt = !status;
	journal_free(&j);
	return status;
}

/* What was left of a number that was being written. */
static void
sweep_top(const char *root)
{
	char *dir = tb_path_join(root, JOURNAL_DIR);

	if (dir && !journal_own_dir(dir, NULL))
		tb_out_sweep(dir);
	free(dir);
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
	if (!first && n)
		sweep_top(root);
	for (size_t i = n; i-- && first != TB_EUSAGE;) {	/* the last ones first */
		bool done;
		enum tb_status status = recover_nth(root, numbers[i], &done, first ? NULL : err);

		if (dealt)
			*dealt += done;
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
