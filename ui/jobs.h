/* jobs.h - operations on threads of their own, for a loop that must not wait.
 *
 * The thread owns `arg` from jobs_start() until the job has ended; after that the
 * loop's thread does.  All callbacks but run() come on the loop's thread. */
#ifndef TBTUI_UI_JOBS_H
#define TBTUI_UI_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/job.h"

struct tb_buf;
struct view;

enum {
	JOB_LISTED = 1,		/* shown in Jobs and in the summary line */
	JOB_SERIAL = 2,		/* waits for its turn: one of these runs at a time (writers) */
	JOB_CHANGES = 4,	/* the index is another one afterwards: screens read it again */
	JOB_TRANSFER = 8	/* waits for its turn: JOB_TRANSFERS of these run at a time */
};
#define JOB_TRANSFERS 2

/* What a job works on beside other things, and how far that is.  Texts from outside. */
enum job_part_state { PART_FAILED, PART_AGAIN, PART_RUNS, PART_CHECKED, PART_WAITS, PART_DONE };
struct job_part {
	char name[256];
	uint64_t done, total;		/* bytes */
	enum job_part_state state;
	double rate;			/* bytes a second; 0: none, or not known */
	char why[200];			/* of what failed, or is tried again; "": nothing */
};

struct job_ops {
	unsigned flags;
	/* The operation, on its thread. */
	enum tb_status (*run)(void *arg, struct tb_job *job, struct tb_err *err);
	/* A message the operation posted; owner may have gone: then NULL. May be NULL. */
	void (*message)(struct view *owner, void *arg, const struct tb_msg *msg);
	/* It has ended. Not called when the owner has gone; may be NULL. */
	void (*done)(struct view *owner, void *arg, enum tb_status status, const struct tb_err *err);
	/* One line about a result, for Jobs and the message line; may be NULL. */
	void (*result)(void *arg, struct tb_buf *out);
	void (*free)(void *arg);	/* may be NULL */
	/* At most `max` of its parts, while it runs or later; how many there are.  Comes on the
	 * loop's thread while run() goes on. NULL: it has none. */
	size_t (*parts)(void *arg, struct job_part *out, size_t max);
	/* It was stopped, and will be run once more to go on from there: whatever has to be
	 * made anew.  NULL: what is stopped is cancelled, and cannot be paused. */
	enum tb_status (*again)(void *arg, struct tb_err *err);
	/* One line about what a cancelled one leaves, and what to do with it; may be NULL. */
	void (*left)(void *arg, struct tb_buf *out);
};

struct ui_job {
	struct ui_job *next;	/* newest first */
	const struct job_ops *ops;
	uint64_t id;
	char *title;		/* "verify qwen3:8b"; owned */
	void *arg;
	struct view *owner;
	struct tb_job *job;	/* the mailbox */
	struct tb_progress progress;	/* as last looked at, on the loop's thread */
	char *result;		/* owned; NULL until it has ended, if it has something to say */
	pthread_t thread;
	bool running, ended;	/* a thread exists; callbacks are through */
	bool ran;		/* once at least: again() comes before the next time */
	bool held;		/* paused: waits until it is let go on */
	bool stopping;		/* and its thread was told to stop for that */
};

struct jobs {
	struct ui_job *head;
	int wake_fd;
	uint64_t last_id;
	void *user;
	/* A listed job has ended; set by the loop. */
	void (*ended)(void *user, const struct ui_job *j);
};

void jobs_init(struct jobs *js, int wake_fd);
/* Cancels everything, waits for it and frees it. */
void jobs_free(struct jobs *js);

/* Takes arg, also when it fails (NULL). owner: passed to callbacks, borrowed until
 * jobs_disown(); may be NULL. */
struct ui_job *jobs_start(struct jobs *js, const struct job_ops *ops, struct view *owner,
			  void *arg, const char *title, struct tb_err *err);
/* Looks at all jobs: messages, ends, whose turn it is. After each wake. */
void jobs_pump(struct jobs *js);
/* The owner goes: its callbacks are not called any more; what is not listed is
 * cancelled. */
void jobs_disown(struct jobs *js, const struct view *owner);
struct ui_job *jobs_by_id(const struct jobs *js, uint64_t id);	/* NULL: it is gone */
void jobs_cancel(struct ui_job *j);
/* It stops where it is, and stays in the list; again, also after a failure or a cancel: it goes
 * on when its turn comes. */
void jobs_pause(struct jobs *js, struct ui_job *j);
bool jobs_can_pause(const struct ui_job *j);
bool jobs_waits(const struct ui_job *j);	/* what jobs_pause() does is to go on */

/* Runs or waits for its turn. listed_only: those that are nobody's business but the screen's not counted. */
bool jobs_busy(const struct jobs *js, bool listed_only);
/* Is something read for that screen alone? */
bool jobs_busy_for(const struct jobs *js, const struct view *owner);
/* The listed job to show in the summary line, NULL if none runs. */
const struct ui_job *jobs_current(const struct jobs *js);
/* How many others that are listed run beside that one. */
size_t jobs_beside(const struct jobs *js);
#endif
