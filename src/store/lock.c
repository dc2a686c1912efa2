#include "config.h"

#include "src/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/store/store_kind.h"

#define LOCK_TRIES 200		/* of 50 ms */

/* What is locked: blobs/ of an Ollama store, any other store's folder itself. */
static char *
lock_place(const char *root)
{
	const struct store_kind *kind = store_kind_of(root, false);

	return kind && kind->writable ? tb_path_join(root, "blobs") : tb_strdup(root);
}

static enum tb_status
lock_open(struct store_lock *l, const char *dir, struct tb_err *err)
{
	if (l->fd >= 0)
		return TB_OK;
	l->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return l->fd < 0 ? tb_fail_errno(err, "%s: cannot be opened", dir) : TB_OK;
}

/* 0, or why not; EWOULDBLOCK: others hold it. */
static int
lock_now(struct store_lock *l, bool alone)
{
	while (flock(l->fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB))
		if (errno != EINTR)
			return errno;
	l->alone = alone;
	return 0;
}

static enum tb_status
lock_wait(struct store_lock *l, const char *dir, bool alone, struct tb_err *err)
{
	int why = lock_now(l, alone);

	for (int i = 0; why == EWOULDBLOCK && i < LOCK_TRIES; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		why = lock_now(l, alone);
	}
	if (why == EWOULDBLOCK)
		return tb_fail(err, TB_EIO, "%s: another program %s; try again later", dir,
			       alone ? "works in this store" : "takes something away here");
	if (why && alone)
		return tb_fail(err, TB_EUNSUP, "%s: this file system has no locks, without which "
			       "nothing is taken away: another program may write there", dir);
	return TB_OK;
}

static enum tb_status
lock_get(struct store_lock *l, const char *root, bool alone, struct tb_err *err)
{
	char *dir = lock_place(root);
	enum tb_status status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);

	if (!status)
		status = lock_open(l, dir, err);
	if (!status)
		status = lock_wait(l, dir, alone, err);
	if (status)
		store_unlock(l);
	free(dir);
	return status;
}

enum tb_status
store_lock_shared(struct store_lock *l, const char *root, struct tb_err *err)
{
	return lock_get(l, root, false, err);
}

enum tb_status
store_lock_alone(struct store_lock *l, const char *root, struct tb_err *err)
{
	return lock_get(l, root, true, err);
}

void
store_lock_look(struct store_lock *l, const char *root)
{
	char *dir = lock_place(root);

	if (!dir || lock_open(l, dir, NULL) || lock_wait(l, dir, false, NULL))
		store_unlock(l);
	free(dir);
}

bool
store_lock_try_alone(struct store_lock *l, const char *root)
{
	char *dir = lock_place(root);
	bool got = dir && !lock_open(l, dir, NULL) && !lock_now(l, true);

	free(dir);
	return got;
}

void
store_unlock(struct store_lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	*l = STORE_UNLOCKED;
}
