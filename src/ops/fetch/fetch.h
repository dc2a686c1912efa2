/* fetch.h - bytes that come from elsewhere become files that are right, or none at all.
 *
 * What comes lies in a folder of its own until whoever wanted it takes all of it: "HEX" while
 * it comes, locked by who loads it, "HEX.done" once its digest was right.  Small things come in
 * one stream and are as long as what there is of them; large ones in parts, side by side, and
 * "HEX.parts" says how much there is of each.  After a kill that is gone on with, and hashed
 * again: what lies there is never believed.  Nothing here knows a protocol: how bytes come is the
 * source's.  Nothing is synced, either: that is for who takes the files. */
#ifndef TBTUI_OPS_FETCH_H
#define TBTUI_OPS_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/dir.h"
#include "src/base/sha256.h"
#include "src/store/journal.h"

struct http;
struct tb_job;

struct fetch_item {
	const char *what;		/* for people: "tensor model.embed"; copied */
	char digest[TB_DIGEST_MAX];	/* "sha256:…", "gitsha1:…"; "": nothing says it */
	uint64_t size;			/* of it all; what is longer is refused */
	void *ref;			/* the source's own; borrowed */
	const char *begun;		/* a file that may have its first bytes: they are copied, it
					 * stays; copied; NULL */
};

/* Where a source puts what it gets. */
struct fetch_sink;
/* An http_body_fn: the next bytes, in order.  What fails (a full disk, more bytes than were
 * asked for, a cancel, a transfer that crawls while others run) ends the request; hand it on. */
enum tb_status fetch_put(void *sink, const char *p, size_t n, bool *enough, struct tb_err *err)
	TB_MUST_USE;
/* Before the first byte: the server knows no ranges (200), so what comes is the item from its
 * beginning.  It is not asked for parts of this item any more. */
void fetch_whole(struct fetch_sink *sink);
/* Before get() fails: may it work in a moment, and after how many seconds (Retry-After; 0: as
 * usual)?  Where this is not said TB_EIO may, and nothing else. */
void fetch_retry(struct fetch_sink *sink, bool may, unsigned after);

struct fetch_source {
	/* [off, off + len) of the item to the sink; off + len is its size where off is 0 and it
	 * may be asked for without a range.  It is TB_OK also where fewer came.  Any thread;
	 * `h` is this thread's own, `job` is cancelled when the others fail. */
	enum tb_status (*get)(void *arg, struct http *h, const struct fetch_item *it, uint64_t off,
			      uint64_t len, struct fetch_sink *sink, struct tb_job *job,
			      struct tb_err *err);
	void *arg;
};

struct fetch_opts {			/* all borrowed until fetch_run() ends */
	const char *dir;		/* made if missing: FETCH_DIR of a store */
	unsigned streams;		/* at a time; 0: FETCH_STREAMS */
	uint64_t part;			/* what is longer comes in parts of that size; 0: as it fits */
	const char *note;		/* "pull llama3:8b": who comes across what is left reads it */
	const char *blobs;		/* where Ollama may have left a part of the same; NULL */
};
#define FETCH_DIR JOURNAL_PULL
#define FETCH_STREAMS 8u
#define FETCH_STREAMS_MAX 64u

struct fetch;
/* Before it runs, so that others can look at it. */
enum tb_status fetch_new(struct fetch **out, const struct fetch_source *s,
			 const struct fetch_opts *o, struct tb_err *err) TB_MUST_USE;
/* Two of one digest are one. */
enum tb_status fetch_add(struct fetch *f, const struct fetch_item *it, struct tb_err *err)
	TB_MUST_USE;
/* Once, also of nothing (then lists of the same that were left go).  Sets the job's total (all
 * sizes) and steps it.  Failed or cancelled: what came stays, and the next run goes on with it. */
enum tb_status fetch_run(struct fetch *f, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* Of a file that is right, in the order of fetch_add(); NULL: it is not there (yet).  Another who
 * wanted the same may have taken it just now: then it is where that one put it. */
const char *fetch_path(const struct fetch *f, size_t i);
uint64_t fetch_moved(const struct fetch *f);	/* bytes that came by this run */
/* They have been taken: what is in the folder goes, but for what others are at. */
void fetch_clear(struct fetch *f);
/* Before that, of what was not wanted of this fetch since it is in its place already: a run that
 * was killed just then may have left it finished. */
void fetch_forget(const struct fetch *f, const char *digest);
void fetch_free(struct fetch *f);	/* without fetch_clear() what is there stays */

enum fetch_state {
	FETCH_WAITING,			/* for its turn, or for another who loads it */
	FETCH_LOADING,
	FETCH_HASHING,			/* what was there before */
	FETCH_AGAIN,			/* between two tries: why says it */
	FETCH_DONE,
	FETCH_FAILED,
};

#define FETCH_WHAT_MAX 256
/* A copy: it may be read when the fetch is no more. */
struct fetch_row {
	char what[FETCH_WHAT_MAX];	/* its end, if it is longer */
	char digest[TB_DIGEST_MAX];
	uint64_t size, there, got;	/* there: before this run; got: by it */
	enum fetch_state state;
	double rate;			/* bytes a second */
	char why[200];			/* why it waits or tries again; "" */
};
/* Thread-safe, also while it runs: the number of items; rows may be NULL. */
size_t fetch_look(struct fetch *f, struct fetch_row *rows, size_t max);
/* For who makes rows as well. */
void fetch_row_name(struct fetch_row *r, const char *what, const char *digest);

/* What of one run lies in such a folder, still at work or stopped. */
struct fetch_left {
	char *note;			/* "pull llama3:8b"; "": nobody says; owned, not clean */
	struct tb_names names;		/* the files of the folder that go with it */
	uint64_t size, there;		/* of all that it was to load; of that on the disk */
	int64_t when_ns;		/* of the last change */
	bool in_use;
};
struct fetch_lefts { struct fetch_left *v; size_t n, cap; };	/* owned */
/* Such folders of a store: its own, and those of the folders in it (a hub's repositories). */
enum tb_status fetch_left_dirs(struct tb_names *out, const char *store, struct tb_err *err)
	TB_MUST_USE;
/* A folder that is not there has none. */
enum tb_status fetch_left_read(struct fetch_lefts *out, const char *dir, struct tb_err *err)
	TB_MUST_USE;
void fetch_left_free(struct fetch_lefts *l);
/* "1.2 GB of an unfinished …: \"tbtui …\" goes on with it"; NULL: out of memory. */
char *fetch_left_text(const struct fetch_left *l);
/* Is it a file of bytes?  *digest: that its name states, or "". */
bool fetch_left_is_data(const char *name, char digest[TB_DIGEST_MAX]);
/* The bytes of such a file that are on the disk: it may have holes. */
uint64_t fetch_left_there(const char *path);
#endif
