/* work.h - where the files of a conversion are finished, before the model is there: a hidden
 * folder that is named by what is made of what (work_key.c).  A file in it is whole, synced
 * and has been read again; its name says which of the plan's it is.  So a conversion that was
 * stopped goes on with what it finds, and several can each do a part of one.
 *
 * Who works there holds a shared lock on it, who renames or empties it holds it alone;
 * where there are no locks, nobody else is believed to work there. */
#ifndef TBTUI_OPS_WORK_H
#define TBTUI_OPS_WORK_H

#include <stdbool.h>

#include "src/ops/plan/plan.h"

#define WORK_KEY_MAX 33
enum tb_status work_key(const struct plan *p, char out[WORK_KEY_MAX], struct tb_err *err) TB_MUST_USE;

/* A file of the plan. */
struct work_file {
	uint64_t size;			/* of the whole file */
	char digest[TB_DIGEST_MAX];	/* where files are called by it */
	bool there;			/* finished, in the folder */
	bool made;			/* by us */
	bool reused;			/* the destination has it already: not in the folder */
	bool ours;			/* belongs to the part that is asked for */
};

struct work {
	const struct plan *plan;	/* borrowed */
	struct work_file *files;	/* one a blob of the plan; owned */
	char *dir;			/* owned; NULL: there is none */
	int lock;			/* on dir; -1: none */
	bool alone;			/* nobody else works there */
	bool done;			/* the model is there: these files are needed no more */
	bool passing;			/* a folder of a name without meaning: nobody finds it again */
	bool digests;			/* files are called by their digests, too */
};

/* The sizes of all files; work_free() in every case. */
enum tb_status work_init(struct work *w, const struct plan *p, bool digests, struct tb_err *err)
	TB_MUST_USE;
void work_free(struct work *w);

/* Makes or finds the folder below `parent` and what is finished in it.  alone: it will be
 * renamed; while others work there, a `passing` one is made instead if that will do, else
 * they are waited for, some seconds. */
enum work_want { WORK_SHARED, WORK_ALONE, WORK_ALONE_OR_PASSING, WORK_PASSING };
enum tb_status work_open(struct work *w, const char *parent, enum work_want want,
			 struct tb_err *err) TB_MUST_USE;
/* The path of file i, which is finished or has its digest; caller frees, NULL: no memory. */
char *work_path(const struct work *w, size_t i);
/* Takes away all files that are not finished, or (made) that we finished, too.  Needs it
 * alone, unless all is done: who still works on the same finds it in the destination. */
void work_clean(struct work *w, bool made);
/* What was made of them is damaged: those that were found will be taken away as ours are, so
 * that the next does not find them again. */
void work_distrust(struct work *w);
/* That, and the folder if nothing is left in it. */
void work_end(struct work *w, bool made);
/* Takes away passing ones in a folder whose owners were killed: where there are no locks,
 * nobody knows. */
void work_sweep(const char *parent);

/* Shares the files out to n parts by their sizes, the same wherever it is done: `ours` are
 * those of part i, 1 to n. */
enum tb_status work_share(struct work *w, size_t i, size_t n, struct tb_err *err) TB_MUST_USE;

struct work_sum { size_t files, tensors; uint64_t bytes; };
/* What is finished, and what is neither that nor in the destination. */
void work_sums(const struct work *w, struct work_sum *there, struct work_sum *missing);
#endif
