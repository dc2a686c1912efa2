/* journal_parts.h - what the parts of journal.h share. Private to them. */
#ifndef TBTUI_STORE_JOURNAL_PARTS_H
#define TBTUI_STORE_JOURNAL_PARTS_H

#include <sys/stat.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/store/journal.h"

/* Most steps are of one folder: that of the last path of which journal_way() said yes, and
 * that of the last for which journal_parents() did; "": none.  NULL: no memory, look always. */
struct journal_seen { struct tb_path way, parents; };
void journal_look_anew(const struct journal *j);
/* Is `last` the folder of `path`?  If not, and `now`, it is from here on. */
bool journal_seen(struct tb_path *last, const char *path, bool now);

#define JOURNAL_LIST "journal."	/* what a list is called, and then its state */
#define JOURNAL_SANE 900000000	/* no store gets there: a larger number is garbage, or malice */

/* ---- journal_file.c ---- */

/* Is it a path that stays below the store, and out of the operations in .tbtui? */
bool journal_path_safe(const char *path);
/* The parents of root/path are folders, no links, in the file system of the store.  TB_ENOENT:
 * one is missing; *missing (may be NULL): how many. */
enum tb_status journal_way(const struct journal *j, const char *path, unsigned *missing,
			   struct tb_err *err) TB_MUST_USE;
/* Is `dir` a folder, and no link?  TB_ENOENT: it is not there. */
enum tb_status journal_own_dir(const char *dir, struct tb_err *err) TB_MUST_USE;
/* Writes the list as that of an operation that has begun. */
enum tb_status journal_write(struct journal *j, struct tb_err *err) TB_MUST_USE;
/* Synced; a rename alone, which a full disk does not stop. */
enum tb_status journal_set_state(struct journal *j, enum journal_state state, struct tb_err *err)
	TB_MUST_USE;

/* ---- journal_back.c ---- */

/* Where the two ends of a step are.  Owned. */
struct journal_ends { char *from, *to; };
enum tb_status journal_ends(const struct journal *j, const struct journal_step *s,
			    struct journal_ends *e, struct tb_err *err) TB_MUST_USE;
void journal_ends_free(struct journal_ends *e);
struct journal_ident journal_ident_of(const struct stat *st);
/* What is at a path; ino 0: nothing is. */
struct journal_ident journal_ident(const char *path);
/* The path of a slot before the commit; NULL: out of memory. */
char *journal_staged_path(const struct journal *j, unsigned slot);
/* Is it the one?  touched: also if it has another time since, as a blob that is used again. */
bool journal_is(const char *path, const struct journal_ident *id, bool touched);
/* mkdir -p of what `path` lies in, as its parent is, for whom its parent is. */
enum tb_status journal_parents(const struct journal *j, const char *path, struct tb_err *err)
	TB_MUST_USE;
/* Takes away up to n folders above root/path that are empty. */
void journal_clear(const struct journal *j, const char *path, unsigned n);
/* The step, forward, and the other way round. */
enum tb_status journal_do(const struct journal *j, const struct journal_step *s,
			  struct tb_err *err) TB_MUST_USE;
/* All steps that are done, backwards; *left: how many could not, because somebody else has
 * taken their place. */
enum tb_status journal_back(struct journal *j, size_t *left, struct tb_err *err) TB_MUST_USE;
/* fsync of all folders that the steps touch: TB_ESYNC. */
enum tb_status journal_sync(const struct journal *j, struct tb_err *err) TB_MUST_USE;

/* ---- journal_tree.c ---- */

/* All in the folder but its list; or the list and the folder as well.  Goes through no links. */
enum tb_status journal_delete(const struct journal *j, bool list, struct tb_err *err) TB_MUST_USE;

/* ---- journal_undo.c ---- */

/* Removes the folder of an operation that never was, with all that is in it. */
void journal_discard(const struct journal *j);
/* After journal_back() of an operation that was not done: what it had staged goes, and
 * the folder, unless something is left in it that came from the store. */
void journal_rolled_back(struct journal *j, size_t left);
#endif
