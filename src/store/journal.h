/* journal.h - what is taken away from a store, or replaced in it, so that it can come back.
 *
 * An operation is a list of renames inside one file system.  It has a number N and lives in
 * STORE/.tbtui/N/: what was taken away, as "0", "1", ... (also what is about to be put
 * in), and the list, whose name is its state: "journal.done".  The list is on the disk before
 * the first rename.  An operation that was killed is gone back by whoever comes next, an
 * undo that was killed is gone on with: afterwards the store is as before or as after.
 * A name that somebody else has taken meanwhile is never overwritten, and nothing is ever
 * deleted but by journal_empty().
 *
 * Walks over stores see nothing in .tbtui.  A journal is input like any other: its paths stay
 * in the store and go through no links. */
#ifndef TBTUI_STORE_JOURNAL_H
#define TBTUI_STORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/job.h"
#include "src/base/sha256.h"
#include "src/store/lock.h"

#define JOURNAL_DIR ".tbtui"
/* What is on its way into the store lies beside the operations, and can be taken away by one. */
#define JOURNAL_PULL JOURNAL_DIR "/pull"

/* id, word in the list, in --json and (but for the first) in the file's name */
#define JOURNAL_STATE_LIST(X) \
	X(JOURNAL_DRAFT, "draft")	/* never begun: nothing was moved */ \
	X(JOURNAL_BEGUN, "begun")	/* under way, or interrupted: will be gone back */ \
	X(JOURNAL_DONE, "done")		/* can be undone */ \
	X(JOURNAL_UNDOING, "undoing")	/* interrupted: will be gone on with */ \
	X(JOURNAL_UNDONE, "undone")	/* what could not go back, and what had been put in, is held */ \
	X(JOURNAL_EMPTYING, "emptying")	/* interrupted: will be gone on with */
#define X(id, word) id,
enum journal_state { JOURNAL_STATE_LIST(X) JOURNAL_STATE_COUNT };
#undef X
const char *journal_state_word(enum journal_state s);

#define JOURNAL_DO_LIST(X) \
	X(JOURNAL_TAKE, "take")		/* path -> slot */ \
	X(JOURNAL_PUT, "put")		/* slot -> path, where nothing is */ \
	X(JOURNAL_SWAP, "swap")		/* slot <-> path */ \
	X(JOURNAL_MOVE, "move")		/* path -> to, where nothing is */
#define X(id, word) id,
enum journal_do { JOURNAL_DO_LIST(X) JOURNAL_DO_COUNT };
#undef X
const char *journal_do_word(enum journal_do d);

/* For people and programs that read the list; all may be NULL or 0. */
struct journal_note {
	const char *model, *digest;	/* borrowed for the call */
	uint64_t bytes;			/* that are free when it is emptied */
	unsigned clear;			/* folders above `path` that go if they are empty then */
};

/* Of a folder ino alone: the others are 0. */
struct journal_ident { uint64_t ino, size; int64_t mtime_ns; };

struct journal_step {
	enum journal_do what;
	char *path, *to;		/* below the store; owned; to: of JOURNAL_MOVE alone */
	unsigned slot;			/* not of JOURNAL_MOVE */
	struct journal_ident old;	/* what is at `path`; not of JOURNAL_PUT */
	struct journal_ident new;	/* what is in the slot: JOURNAL_PUT, JOURNAL_SWAP */
	unsigned made, clear;		/* folders above the destination that it makes; see above */
	char *model;			/* owned; "" if not said */
	char digest[TB_DIGEST_MAX];	/* "" if not said */
	uint64_t bytes;
};

struct journal {
	char *root, *dir;		/* the store; root/.tbtui/N; owned */
	uint64_t n;
	char *what;			/* "rm llama3:8b"; owned */
	int64_t when_ns;
	enum journal_state state;
	struct journal_step *steps;	/* owned */
	size_t nsteps, cap;
	struct tb_job *job;		/* borrowed, NULL: nobody waits; whoever reads or begins it sets
					 * it.  Each thing that was moved or deleted is a step, with
					 * its bytes; looked at before the first of them alone */
	struct journal_seen *seen;	/* private, owned: what need not be looked at for each step */
	unsigned slots;			/* private, as is lock: on dir while it is made */
	int lock;
};

/* Begins operation N of a store, where N is greater than any that it had, and than `after`
 * (the last of other stores: then "undo N" means one thing).  Nothing is moved before
 * journal_commit(); journal_free() without it leaves no trace.  Whoever may take long to stage
 * something holds the store shared, or not at all. */
enum tb_status journal_begin(struct journal *j, const char *root, const char *what,
			     uint64_t after, struct tb_err *err) TB_MUST_USE;
void journal_free(struct journal *j);	/* fine on a zeroed one */

/* A step each.  Paths are below the store ("blobs/sha256-…"); what is there now is what will be
 * moved, or nothing.  TB_EUNSUP: it lies on another file system, or behind a link; nothing
 * was added, and more may follow. */
enum tb_status journal_take(struct journal *j, const char *path, const struct journal_note *note,
			    struct tb_err *err) TB_MUST_USE;
enum tb_status journal_move(struct journal *j, const char *path, const char *to,
			    const struct journal_note *note, struct tb_err *err) TB_MUST_USE;
/* Gives a slot and its path (owned by the caller), where something is to be made (with
 * tb_out_commit(), link(), FICLONE, …), checked and synced, before journal_put()
 * or journal_swap() puts it in place, as it is. */
enum tb_status journal_stage(struct journal *j, unsigned *slot, char **path, struct tb_err *err)
	TB_MUST_USE;
/* What was made there goes: it will not be put in. */
void journal_unstage(const struct journal *j, unsigned slot);
enum tb_status journal_put(struct journal *j, unsigned slot, const char *path,
			   const struct journal_note *note, struct tb_err *err) TB_MUST_USE;
enum tb_status journal_swap(struct journal *j, unsigned slot, const char *path,
			    const struct journal_note *note, struct tb_err *err) TB_MUST_USE;

/* Does them all, in their order, or none: fails before the first, or goes back.  `lock`
 * is this store's, held alone.  Without steps: nothing, and TB_OK.  TB_ESYNC: done
 * nevertheless, but a power cut may take it back. */
enum tb_status journal_commit(struct journal *j, const struct store_lock *lock,
			      struct tb_err *err) TB_MUST_USE;
/* What step i took goes back after all: somebody needs it.  TB_EEXIST: there is
 * something again, and it stays. */
enum tb_status journal_return(struct journal *j, size_t i, const struct store_lock *lock,
			      struct tb_err *err) TB_MUST_USE;

/* ---- those that are there ---- */

/* The numbers, in order; caller frees *out.  A store without any has none. */
enum tb_status journal_list(const char *root, uint64_t **out, size_t *n, struct tb_err *err)
	TB_MUST_USE;
/* The last number that was given in a store, or 0. */
uint64_t journal_last(const char *root);
/* Its number and state alone.  TB_ENOENT: there is no such operation. */
enum tb_status journal_look(struct journal *j, const char *root, uint64_t n, struct tb_err *err)
	TB_MUST_USE;
/* All of it.  TB_EFORMAT: its list cannot be believed. */
enum tb_status journal_read(struct journal *j, const char *root, uint64_t n, struct tb_err *err)
	TB_MUST_USE;
/* Does somebody work on it, or is it a draft that somebody makes? */
bool journal_in_use(const struct journal *j);
/* Was it killed, so that journal_recover() has something to do? */
bool journal_unfinished(const struct journal *j);
/* What lies in its folder: things, and the bytes that are free when it is emptied, which those
 * that have another name elsewhere are not. */
enum tb_status journal_held(const struct journal *j, uint64_t *things, uint64_t *bytes,
			    struct tb_err *err) TB_MUST_USE;
/* Where what step i took is now (caller frees; NULL: out of memory); it need not be there. */
char *journal_slot_path(const struct journal *j, unsigned slot);

/* All the way back.  Refused, with nothing done, where a place is taken (TB_EEXIST; the
 * same blob with the same bytes is fine), or what was put there has changed since.  The folder goes
 * if nothing is left in it. */
enum tb_status journal_undo_check(const struct journal *j, struct tb_err *err) TB_MUST_USE;
enum tb_status journal_undo(struct journal *j, const struct store_lock *lock, struct tb_err *err)
	TB_MUST_USE;
/* Deletes what it holds, for good, and the operation with it.  What is unfinished is recovered
 * first, by whoever asks.  TB_ECANCEL, between two things: it still holds the others, and
 * can be undone or emptied like any other. */
enum tb_status journal_empty(struct journal *j, const struct store_lock *lock, struct tb_err *err)
	TB_MUST_USE;
/* Deals with what was killed; *dealt (may be NULL): how many.  Goes on after a failure, and
 * tells the first; that something cannot be deleted is none. */
enum tb_status journal_recover(const char *root, const struct store_lock *lock, size_t *dealt,
			       struct tb_err *err) TB_MUST_USE;
/* The same for who is about to write: at once if nobody else is in the store and something
 * is to be done.  Best effort. */
void journal_recover_now(const char *root);
#endif
