/* journal_back.c - the renames of an operation, forward and back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/store/journal_parts.h"

#define OLD ".old"		/* behind a slot's name, while names cannot be exchanged */

/* ---- ends ---- */

enum tb_status
journal_ends(const struct journal *j, const struct journal_step *s, struct journal_ends *e,
	     struct tb_err *err)
{
	char *path = tb_path_join(j->root, s->path);
	char *other = s->what == JOURNAL_MOVE ? tb_path_join(j->root, s->to)
					      : journal_slot_path(j, s->slot);

	*e = s->what == JOURNAL_PUT ? (struct journal_ends){ other, path }
				    : (struct journal_ends){ path, other };
	if (path && other)
		return TB_OK;
	journal_ends_free(e);
	return tb_nomem(err);
}

void
journal_ends_free(struct journal_ends *e)
{
	free(e->from);
	free(e->to);
	*e = (struct journal_ends){ 0 };
}

struct journal_ident
journal_ident_of(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return (struct journal_ident){ .ino = st->st_ino };
	return (struct journal_ident){ st->st_ino, (uint64_t)st->st_size,
				       st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec };
}

struct journal_ident
journal_ident(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? (struct journal_ident){ 0 } : journal_ident_of(&st);
}

bool
journal_is(const char *path, const struct journal_ident *id, bool touched)
{
	struct journal_ident now = journal_ident(path);

	return now.ino == id->ino && now.size == id->size && (touched || now.mtime_ns == id->mtime_ns);
}

/* ---- folders above ---- */

static enum tb_status
parent_make(const char *dir, const char *above, struct tb_err *err)
{
	struct stat st;

	if (tb_exists(dir))
		return TB_OK;
	if (lstat(above, &st) || mkdir(dir, st.st_mode & 07777))
		return tb_fail_errno(err, "%s: cannot be made", dir);
	(void)!chmod(dir, st.st_mode & 07777);
	if (geteuid() == 0)
		(void)!lchown(dir, st.st_uid, st.st_gid);
	return TB_OK;
}

enum tb_status
journal_parents(const struct journal *j, const char *path, struct tb_err *err)
{
	enum tb_status status;
	char *full, *above;

	if (j->seen && journal_seen(&j->seen->parents, path, false))
		return TB_OK;
	full = tb_path_join(j->root, path);
	above = tb_strdup(j->root);
	status = full && above ? TB_OK : tb_nomem(err);
	for (char *p = full ? full + strlen(j->root) + 1 : NULL; !status && (p = strchr(p, '/')); p++) {
		*p = 0;
		status = parent_make(full, above, err);
		free(above);
		above = tb_strdup(full);
		if (!above && !status)
			status = tb_nomem(err);
		*p = '/';
	}
	if (!status && j->seen)
		(void)journal_seen(&j->seen->parents, path, true);
	free(above);
	free(full);
	return status;
}

void
journal_clear(const struct journal *j, const char *path, unsigned n)
{
	char *full = n ? tb_path_join(j->root, path) : NULL, *slash;

	if (n)
		journal_look_anew(j);
	while (full && n-- && (slash = strrchr(full, '/')) > full + strlen(j->root)) {
		*slash = 0;
		if (rmdir(full) && errno != ENOENT)	/* else only some had been made */
			break;
	}
	free(full);
}

/* ---- one step ---- */

static bool
is_unknown(int why)
{
	return why == EINVAL || why == ENOSYS || why == EOPNOTSUPP;
}

/* Where names cannot be exchanged: the slot's goes over the path, which always is
 * something whole, while the old one has a name in the operation's folder already. */
static int
exchange_linked(const char *path, const char *slot, const char *old)
{
	int why;

	if (link(path, old))
		return -1;
	if (rename(slot, path) == 0)
		return rename(old, slot);
	why = errno;
	unlink(old);
	errno = why;
	return -1;
}

static int
exchange(const char *path, const char *slot)
{
	char *old;
	int r;

	if (renameat2(AT_FDCWD, slot, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		return 0;
	if (!is_unknown(errno))
		return -1;
	old = tb_asprintf("%s" OLD, slot);
	if (!old) {
		errno = ENOMEM;
		return -1;
	}
	r = exchange_linked(path, slot, old);
	free(old);
	return r;
}

/* Ends what exchange_linked() had begun: either the second name of the old one goes, or it
 * becomes the slot's. */
static void
settle_swap(const char *path, const char *slot)
{
	char *old = tb_asprintf("%s" OLD, slot);
	uint64_t ino = old ? journal_ident(old).ino : 0;

	if (ino && !tb_exists(slot))
		(void)!tb_rename_new(old, slot);
	else if (ino && ino == journal_ident(path).ino)
		unlink(old);
	free(old);
}

/* Where a rename could not be told not to overwrite, it is a second name, and then one
 * less (or an empty folder to go over): half of it is none. */
static void
settle_move(const char *from, const char *to)
{
	struct stat a, b;

	if (lstat(from, &a) || lstat(to, &b))
		return;
	if (S_ISDIR(a.st_mode) && S_ISDIR(b.st_mode))
		(void)!(rmdir(to) && rmdir(from));
	else if (S_ISREG(a.st_mode) && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		unlink(to);
}

enum tb_status
journal_do(const struct journal *j, const struct journal_step *s, struct tb_err *err)
{
	const struct journal_ident *id = s->what == JOURNAL_PUT ? &s->new : &s->old;
	const char *dest = s->what == JOURNAL_PUT ? s->path : s->to;
	struct journal_ends e;
	enum tb_status status = journal_ends(j, s, &e, err);

	if (!status && dest)
		status = journal_parents(j, dest, err);
	if (!status && (s->what == JOURNAL_SWAP ? exchange(e.from, e.to)
						: tb_rename_new(e.from, e.to)))
		status = tb_fail_errno(err, "%s: cannot be moved to %s", e.from, e.to);
	else if (!status && journal_is(e.from, id, true))	/* half of it: it has two names */
		status = tb_fail(err, TB_EIO, "%s: cannot be moved away", e.from);
	else if (!status && !journal_is(e.to, id, true))
		status = tb_fail(err, TB_EIO, "%s: another program has changed it meanwhile; nothing was "
				 "done, try again", e.from);
	journal_ends_free(&e);
	return status;
}

/* A rename back; *left: the place is somebody else's. */
static enum tb_status
move_back(const struct journal *j, const char *rel, const char *now, const char *before, bool *left,
	  struct tb_err *err)
{
	enum tb_status status = rel ? journal_parents(j, rel, err) : TB_OK;

	if (status || tb_rename_new(now, before) == 0)
		return status;
	*left = errno == EEXIST;
	return *left ? TB_OK : tb_fail_errno(err, "%s: cannot be moved back to %s", now, before);
}

static enum tb_status
swap_back(const struct journal *j, const struct journal_step *s, const struct journal_ends *e,
	  bool *left, struct tb_err *err)
{
	settle_swap(e->from, e->to);
	if (!journal_is(e->to, &s->old, true) || journal_is(e->from, &s->old, true))
		return TB_OK;		/* has not been done */
	if (!tb_exists(e->from))
		return move_back(j, s->path, e->to, e->from, left, err);
	*left = !journal_is(e->from, &s->new, true);
	if (!*left && exchange(e->from, e->to))
		return tb_fail_errno(err, "%s: cannot be put back", e->from);
	return TB_OK;
}

/* Is what it puts in still on its way? */
static bool
is_staged(const struct journal *j, const struct journal_step *s)
{
	char *path = s->what == JOURNAL_PUT || s->what == JOURNAL_SWAP
		   ? journal_staged_path(j, s->slot) : NULL;
	bool staged = path && tb_exists(path);

	free(path);
	return staged;
}

/* TAKE: has been done if something is in the slot; PUT: if nothing is; MOVE: if it is there.
 * So that numbers of inodes, which some file systems make up anew, are asked only where it
 * must be. */
static enum tb_status
step_back(const struct journal *j, const struct journal_step *s, bool *left, struct tb_err *err)
{
	struct journal_ends e;
	enum tb_status status = journal_ends(j, s, &e, err);

	*left = false;
	if (!status && s->what != JOURNAL_SWAP)
		settle_move(e.from, e.to);
	if (status || is_staged(j, s)) {
		/* nothing to do: nothing was done */
	} else if (s->what == JOURNAL_SWAP) {
		status = swap_back(j, s, &e, left, err);
	} else if (s->what == JOURNAL_TAKE) {
		if (tb_exists(e.to))
			status = move_back(j, s->path, e.to, e.from, left, err);
	} else if (s->what == JOURNAL_MOVE) {
		if (journal_is(e.to, &s->old, true))
			status = move_back(j, s->path, e.to, e.from, left, err);
	} else if (!tb_exists(e.from) && tb_exists(e.to)) {
		*left = !journal_is(e.to, &s->new, true);
		if (!*left)
			status = move_back(j, NULL, e.to, e.from, left, err);
	}
	if (!status && s->made && !*left)
		journal_clear(j, s->what == JOURNAL_MOVE ? s->to : s->path, s->made);
	journal_ends_free(&e);
	return status;
}

enum tb_status
journal_back(struct journal *j, size_t *left, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*left = 0;
	journal_look_anew(j);
	for (size_t i = 0; i < j->nsteps && !status; i++) {
		status = journal_way(j, j->steps[i].path, &(unsigned){ 0 }, err);
		if (!status && j->steps[i].to)
			status = journal_way(j, j->steps[i].to, &(unsigned){ 0 }, err);
	}
	for (size_t i = j->nsteps; i-- && !status;) {
		bool stays;

		status = step_back(j, &j->steps[i], &stays, err);
		tb_job_step(j->job, j->steps[i].old.size, 1);
		*left += stays;
	}
	return status;
}

/* ---- sync ---- */

/* The folder of `path`, or of what is above it. */
static bool
sync_folder(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd < 0 ? errno == ENOENT || is_unknown(errno) : !fsync(fd) || is_unknown(errno);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Adds what `path` lies in; most lie where the one before did. */
static bool
note_folder(struct tb_names *dirs, const char *path)
{
	char *dir = tb_path_parent(path);
	bool ok = dir && ((dirs->n && !strcmp(dirs->v[dirs->n - 1], dir)) ||
			  !tb_names_add(dirs, dir, NULL));

	free(dir);
	return ok;
}

enum tb_status
journal_sync(const struct journal *j, struct tb_err *err)
{
	struct tb_names dirs = { 0 };
	bool ok = true;

	for (int end = 0; end < 2; end++)	/* apart, so that few differ from their neighbours */
		for (size_t i = 0; i < j->nsteps && ok; i++) {
			struct journal_ends e;

			ok = !journal_ends(j, &j->steps[i], &e, NULL) &&
			     note_folder(&dirs, end ? e.to : e.from);
			journal_ends_free(&e);
		}
	tb_names_sort(&dirs);
	for (size_t i = 0; i < dirs.n; i++)
		if (!i || strcmp(dirs.v[i], dirs.v[i - 1]) != 0)
			ok &= sync_folder(dirs.v[i]);
	tb_names_free(&dirs);
	return ok ? TB_OK : tb_fail(err, TB_ESYNC, "%s: done, but it could not be synced, and may be "
				    "undone by a power cut", j->root);
}
