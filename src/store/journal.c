/* journal.c - an operation from its beginning to its commit. */
#include "config.h"

#include "src/store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/store/journal_parts.h"

#define NUMBER_MAX 999999999
#define STAGED ".part"		/* what is not part of an operation yet */

/* ---- its folder ---- */

/* Private: what lies there was taken away.  But for whom the store is, whoever takes it. */
static enum tb_status
make_private(const char *dir, const char *root, struct tb_err *err)
{
	struct stat st;

	if (mkdir(dir, 0700))
		return tb_fail_errno(err, "%s: cannot be made", dir);
	if (geteuid() == 0 && !lstat(root, &st))
		(void)!lchown(dir, st.st_uid, st.st_gid);
	return TB_OK;
}

static enum tb_status
make_top(const char *root, struct tb_err *err)
{
	char *dir = tb_path_join(root, JOURNAL_DIR);
	enum tb_status status = dir ? make_private(dir, root, err) : tb_nomem(err);

	if (status == TB_EEXIST)
		status = journal_own_dir(dir, err);
	free(dir);
	return status;
}

/* False: who sweeps was quicker than the lock, and it is gone. */
static bool
hold_folder(struct journal *j)
{
	struct stat st;

	j->lock = open(j->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j->lock < 0)
		return false;
	if (!(flock(j->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) &&
	    !fstat(j->lock, &st) && st.st_nlink)
		return true;
	close(j->lock);
	j->lock = -1;
	return false;
}

/* The next number that is nobody's. */
static enum tb_status
make_folder(struct journal *j, uint64_t after, struct tb_err *err)
{
	enum tb_status status = TB_EEXIST;
	uint64_t last = journal_last(j->root);

	if (after > JOURNAL_SANE)
		after = 0;
	for (j->n = (last > after ? last : after) + 1; j->n <= NUMBER_MAX; j->n++) {
		free(j->dir);
		j->dir = tb_asprintf("%s/" JOURNAL_DIR "/%" PRIu64, j->root, j->n);
		status = j->dir ? make_private(j->dir, j->root, err) : tb_nomem(err);
		if (!status && hold_folder(j))
			return TB_OK;
		if (status && status != TB_EEXIST)
			return status;
	}
	return tb_fail(err, TB_ELIMIT, "%s/" JOURNAL_DIR ": too many operations", j->root);
}

/* So that a number is never used twice, also when its operation is emptied. */
static enum tb_status
write_last(const struct journal *j, struct tb_err *err)
{
	char *path = tb_path_join(j->root, JOURNAL_DIR "/last"), text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", j->n);
	enum tb_status status = path ? tb_out_file(path, text, (size_t)n, true, err) : tb_nomem(err);

	free(path);
	return status;
}

/* One at a time gives a number: else the lower of two is written last, and the other one is
 * given again. */
static int
hold_numbers(const char *root)
{
	struct tb_path dir;
	int fd = open(tb_path_in(&dir, root, JOURNAL_DIR), O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		      O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	return fd;
}

/* What could not be synced is not "done nevertheless": of what was asked for, nothing is. */
static enum tb_status
not_begun(enum tb_status status, const char *dir, struct tb_err *err)
{
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s: cannot be synced", dir) : status;
}

enum tb_status
journal_begin(struct journal *j, const char *root, const char *what, uint64_t after,
	      struct tb_err *err)
{
	enum tb_status status;
	int numbers;

	*j = (struct journal){ .root = tb_strdup(root), .what = tb_strdup(what), .lock = -1,
			       .when_ns = tb_now_ns() };
	status = j->root && j->what ? make_top(root, err) : tb_nomem(err);
	j->seen = tb_calloc(1, sizeof(*j->seen));
	numbers = status ? -1 : hold_numbers(root);
	if (!status)
		status = make_folder(j, after, err);
	if (!status)
		status = write_last(j, err);
	if (numbers >= 0)
		close(numbers);
	if (status)
		journal_free(j);
	return not_begun(status, root, err);
}

static void
step_free(struct journal_step *s)
{
	free(s->path);
	free(s->to);
	free(s->model);
}

void
journal_free(struct journal *j)
{
	if (!j->root)
		return;
	if (j->state == JOURNAL_DRAFT && j->lock >= 0)
		journal_discard(j);
	if (j->lock >= 0)
		close(j->lock);
	while (j->nsteps)
		step_free(&j->steps[--j->nsteps]);
	free(j->steps);
	free(j->seen);
	free(j->root);
	free(j->dir);
	free(j->what);
	*j = (struct journal){ .lock = -1 };
}

/* ---- steps ---- */

/* What is at a path, where it may be moved from. */
static enum tb_status
look(const struct journal *j, const char *path, struct journal_ident *id, struct tb_err *err)
{
	char *full = tb_path_join(j->root, path);
	enum tb_status status = full ? journal_way(j, path, NULL, err) : tb_nomem(err);
	struct stat st, top;

	if (!status && (lstat(full, &st) || fstat(j->lock, &top)))
		status = tb_fail_errno(err, "%s", full);
	if (!status)
		*id = journal_ident_of(&st);
	if (!status && st.st_dev != top.st_dev)
		status = tb_fail(err, TB_EUNSUP, "%s: is on another file system than %s, and is left "
				 "alone", full, j->root);
	free(full);
	return status;
}

static enum tb_status
step_add(struct journal *j, const struct journal_step *from, const char *path, const char *to,
	 const struct journal_note *note, struct tb_err *err)
{
	struct journal_step s = *from;

	if (!journal_path_safe(path) || (to && !journal_path_safe(to)))
		return tb_fail(err, TB_EUSAGE, "%s: no path in %s", to ? to : path, j->root);
	s.path = tb_strdup(path);
	s.to = to ? tb_strdup(to) : NULL;
	s.model = tb_strdup(note && note->model ? note->model : "");
	if (!s.path || (to && !s.to) || !s.model ||
	    !tb_grow(&j->steps, &j->cap, j->nsteps + 1, sizeof(s))) {
		step_free(&s);
		return tb_nomem(err);
	}
	if (note) {
		snprintf(s.digest, sizeof(s.digest), "%s", note->digest ? note->digest : "");
		s.bytes = note->bytes;
		s.clear = note->clear;
	}
	j->steps[j->nsteps++] = s;
	return TB_OK;
}

enum tb_status
journal_take(struct journal *j, const char *path, const struct journal_note *note,
	     struct tb_err *err)
{
	struct journal_step s = { .what = JOURNAL_TAKE, .slot = j->slots };
	enum tb_status status = look(j, path, &s.old, err);

	if (status)
		return status;
	status = step_add(j, &s, path, NULL, note, err);
	j->slots += !status;
	return status;
}

enum tb_status
journal_move(struct journal *j, const char *path, const char *to, const struct journal_note *note,
	     struct tb_err *err)
{
	struct journal_step s = { .what = JOURNAL_MOVE };
	enum tb_status status = look(j, path, &s.old, err);

	return status ? status : step_add(j, &s, path, to, note, err);
}

char *
journal_slot_path(const struct journal *j, unsigned slot)
{
	return tb_asprintf("%s/%u", j->dir, slot);
}

char *
journal_staged_path(const struct journal *j, unsigned slot)
{
	return tb_asprintf("%s/%u" STAGED, j->dir, slot);
}

enum tb_status
journal_stage(struct journal *j, unsigned *slot, char **path, struct tb_err *err)
{
	*slot = j->slots;
	*path = journal_staged_path(j, j->slots);
	if (!*path)
		return tb_nomem(err);
	j->slots++;
	return TB_OK;
}

void
journal_unstage(const struct journal *j, unsigned slot)
{
	char *path = journal_staged_path(j, slot);

	if (path)
		unlink(path);
	free(path);
}

/* What was staged, as it will be put in. */
static enum tb_status
look_staged(const struct journal *j, unsigned slot, struct journal_ident *id, struct tb_err *err)
{
	char *path = journal_staged_path(j, slot);
	enum tb_status status = TB_OK;

	if (!path)
		return tb_nomem(err);
	*id = journal_ident(path);
	if (!id->ino)
		status = tb_fail(err, TB_ENOENT, "%s: has not been made", path);
	free(path);
	return status;
}

enum tb_status
journal_put(struct journal *j, unsigned slot, const char *path, const struct journal_note *note,
	    struct tb_err *err)
{
	struct journal_step s = { .what = JOURNAL_PUT, .slot = slot };
	enum tb_status status = look_staged(j, slot, &s.new, err);

	return status ? status : step_add(j, &s, path, NULL, note, err);
}

enum tb_status
journal_swap(struct journal *j, unsigned slot, const char *path, const struct journal_note *note,
	     struct tb_err *err)
{
	struct journal_step s = { .what = JOURNAL_SWAP, .slot = slot };
	enum tb_status status = look_staged(j, slot, &s.new, err);

	if (!status)
		status = look(j, path, &s.old, err);
	if (status)
		return status;
	if (s.old.ino == s.new.ino)
		return tb_fail(err, TB_EUSAGE, "%s: is the same file already", path);
	return step_add(j, &s, path, NULL, note, err);
}

/* ---- commit ---- */

static enum tb_status
name_staged(const struct journal *j, const struct journal_step *s, struct tb_err *err)
{
	char *from = journal_staged_path(j, s->slot), *to = journal_slot_path(j, s->slot);
	enum tb_status status = from && to ? TB_OK : tb_nomem(err);

	if (!status && tb_rename_new(from, to))
		status = tb_fail_errno(err, "%s: cannot be renamed", from);
	else if (!status && tb_exists(from))	/* undo would take it for not put in */
		status = tb_fail(err, TB_EIO, "%s: cannot be moved away", from);
	free(from);
	free(to);
	return status;
}

/* Is it still what it was when the step was added? */
static enum tb_status
step_check(const struct journal *j, struct journal_step *s, struct tb_err *err)
{
	struct journal_ident now;
	enum tb_status status;

	if (s->what == JOURNAL_PUT)
		return journal_way(j, s->path, &s->made, err);
	status = look(j, s->path, &now, err);
	if (status)
		return status;
	if (now.ino != s->old.ino || now.size != s->old.size || now.mtime_ns != s->old.mtime_ns)
		return tb_fail(err, TB_EIO, "%s/%s: another program has changed it meanwhile; nothing "
			       "was done, try again", j->root, s->path);
	return s->to ? journal_way(j, s->to, &s->made, err) : TB_OK;
}

/* Folders that were just made, so that the list is found after a power cut. */
static enum tb_status
sync_above(const struct journal *j, struct tb_err *err)
{
	char *top = tb_path_join(j->root, JOURNAL_DIR);
	const char *paths[] = { j->dir, top };
	enum tb_status status = top ? TB_OK : tb_nomem(err);

	for (size_t i = 0; i < 2 && !status; i++) {
		int folder;

		status = tb_folder_open(paths[i], &folder, err);
		if (!status)
			status = tb_folder_sync(folder, paths[i], err);
	}
	free(top);
	return status;
}

static enum tb_status
commit_prepare(struct journal *j, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	journal_look_anew(j);
	for (size_t i = 0; i < j->nsteps && !status; i++) {
		status = tb_job_check(j->job, err);
		if (!status)
			status = step_check(j, &j->steps[i], err);
	}
	if (!status)
		status = sync_above(j, err);
	if (!status)
		status = journal_write(j, err);
	return not_begun(status, j->dir, err);
}

/* Back to the beginning, and no trace of it; else the list stays, and tells what is to do. */
static enum tb_status
commit_back(struct journal *j, enum tb_status status, struct tb_err *err)
{
	size_t left;
	struct tb_err why;

	j->job = NULL;		/* it was told how much there is to do, and that was this */
	if (journal_back(j, &left, &why) || journal_sync(j, &why))
		return tb_wrap(err, status, "operation %" PRIu64 " was interrupted, and \"tbtui undo\" "
			       "will bring back what was moved", j->n);
	journal_rolled_back(j, left);
	return status;
}

/* All is in its place: whether or not that could be synced, it is done. */
static enum tb_status
commit_end(struct journal *j, struct tb_err *err)
{
	enum tb_status synced = journal_sync(j, err), status;

	for (size_t i = 0; i < j->nsteps; i++)
		journal_clear(j, j->steps[i].path, j->steps[i].clear);
	status = journal_set_state(j, JOURNAL_DONE, synced ? NULL : err);
	return !tb_written(status) ? status : synced ? synced : status;
}

enum tb_status
journal_commit(struct journal *j, const struct store_lock *lock, struct tb_err *err)
{
	enum tb_status status;

	if (!j->nsteps)
		return TB_OK;
	if (lock->fd < 0 || !lock->alone)
		return tb_fail(err, TB_EUSAGE, "%s: is not locked", j->root);
	status = commit_prepare(j, err);
	if (status)
		return status;
	for (size_t i = 0; i < j->nsteps && !status; i++)
		if (j->steps[i].what == JOURNAL_PUT || j->steps[i].what == JOURNAL_SWAP)
			status = name_staged(j, &j->steps[i], err);
	for (size_t i = 0; i < j->nsteps && !status; i++) {
		status = journal_do(j, &j->steps[i], err);
		tb_job_step(j->job, j->steps[i].old.size, 1);
	}
	if (!status)
		status = commit_end(j, err);
	return !tb_written(status) ? commit_back(j, status, err) : status;
}

enum tb_status
journal_return(struct journal *j, size_t i, const struct store_lock *lock, struct tb_err *err)
{
	const struct journal_step *s = &j->steps[i];
	struct journal_ends e;
	enum tb_status status;

	if (s->what != JOURNAL_TAKE || !lock->alone)
		return tb_fail(err, TB_EUSAGE, "%s: was not taken", s->path);
	journal_look_anew(j);
	status = journal_ends(j, s, &e, err);
	if (!status)
		status = journal_parents(j, s->path, err);
	if (!status && tb_rename_new(e.to, e.from))
		status = tb_fail_errno(err, "%s: cannot be put back", e.from);
	journal_ends_free(&e);
	return status;
}
