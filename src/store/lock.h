/* lock.h - who may write in a store, and who may take things away from it.
 *
 * Who writes holds the store shared, as others do who write; who moves or takes away what is
 * there holds it alone.  The programs of others know nothing of it. */
#ifndef TBTUI_STORE_LOCK_H
#define TBTUI_STORE_LOCK_H

#include <stdbool.h>

#include "src/base/err.h"

struct store_lock {
	int fd;			/* -1: none, or (shared) the file system has no locks */
	bool alone;
};
#define STORE_UNLOCKED ((struct store_lock){ .fd = -1 })

/* Waits ten seconds at most.  Who has it shared may ask for it alone with the same *l, and
 * has to look again at what he saw: for a moment it may have been another's.  A file system
 * without locks is no failure of the first; the second is refused there (TB_EUNSUP). */
enum tb_status store_lock_shared(struct store_lock *l, const char *root, struct tb_err *err)
	TB_MUST_USE;
enum tb_status store_lock_alone(struct store_lock *l, const char *root, struct tb_err *err)
	TB_MUST_USE;
/* Shared, for who only looks: best effort, and without making anything. */
void store_lock_look(struct store_lock *l, const char *root);
/* Alone, if it can be had at once and without making anything; false: it stays as it was, or
 * (when it was shared) nobody's. */
bool store_lock_try_alone(struct store_lock *l, const char *root);
void store_unlock(struct store_lock *l);	/* fine when it is not locked */
#endif
