/* job.h - the mailbox between an operation and whoever waits for it.
 *
 * The operation (any number of threads) adds progress and posts messages; the
 * owner takes a snapshot or drains the messages.  At most one wake byte is in
 * the owner's pipe, at most ten a second for mere progress.  The owner empties the
 * pipe first and then looks at every job that writes to it: the other way around,
 * what comes in between wakes nobody.  Every function accepts job == NULL and then
 * does nothing, so operations need no if. */
#ifndef TBTUI_BASE_JOB_H
#define TBTUI_BASE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

enum tb_job_state { TB_JOB_QUEUED, TB_JOB_RUNNING, TB_JOB_DONE, TB_JOB_FAILED, TB_JOB_CANCELLED };

struct tb_progress {
	enum tb_job_state state;
	uint64_t done, total;		/* bytes; total 0 = not known (yet) */
	uint64_t items, items_total;	/* blobs, tensors, tokens: what the job counts */
	double seconds;			/* since it started running; frozen at its end */
	double rate;			/* bytes a second, smoothed over the last seconds */
	double eta;			/* seconds to go, < 0 = not known */
	char what[160];			/* the thing being worked on, as posted (unclean text) */
	struct tb_err err;		/* why it failed */
};

/* How far it is: bytes where they are counted, else items; never past the end, whatever was
 * promised.  total 0: nobody knows. */
void tb_progress_part(const struct tb_progress *p, uint64_t *done, uint64_t *total);
/* Of a total that is not 0; 100 is the end. */
unsigned tb_percent(uint64_t done, uint64_t total);

struct tb_job;

/* wake_fd: where to write a byte when something is new; -1 = nobody waits. */
struct tb_job *tb_job_new(int wake_fd);
void tb_job_free(struct tb_job *job);

/* For the operation. Thread-safe. */
/* Of the whole job: who works for another operation leaves this to it. */
void tb_job_total(struct tb_job *job, uint64_t bytes, uint64_t items);
void tb_job_step(struct tb_job *job, uint64_t bytes, uint64_t items);
/* The same of bytes that need not be worked on, as they were there before: they say nothing of
 * how long the others take. */
void tb_job_there(struct tb_job *job, uint64_t bytes, uint64_t items);
void tb_job_what(struct tb_job *job, const char *fmt, ...) TB_PRINTF(2, 3);
/* Queues a message (copied) for the owner; wakes at once. kind is the operation's own. */
void tb_job_post(struct tb_job *job, int kind, const void *data, size_t len);
/* True once cancelled: read it at least every 4 MiB of data or 50 ms. */
bool tb_job_cancelled(const struct tb_job *job);
/* TB_ECANCEL when cancelled, else TB_OK. */
enum tb_status tb_job_check(const struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* For whoever runs it and for the owner. */
void tb_job_begin(struct tb_job *job);
void tb_job_end(struct tb_job *job, enum tb_status status, const struct tb_err *err);
void tb_job_cancel(struct tb_job *job);	/* async-signal-safe */
void tb_job_progress(struct tb_job *job, struct tb_progress *out);

struct tb_msg {
	struct tb_msg *next;
	int kind;
	size_t len;
	char data[];		/* len bytes and a NUL */
};
/* All messages so far, oldest first; the caller frees each. NULL = none. */
struct tb_msg *tb_job_take(struct tb_job *job);
#endif
