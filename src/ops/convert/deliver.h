/* deliver.h - what was made goes to its file.  The kernel lets one thread at a time write to a
 * file: who comes while another writes leaves his window to that one and goes on. */
#ifndef TBTUI_OPS_DELIVER_H
#define TBTUI_OPS_DELIVER_H

#include <pthread.h>

#include "src/ops/convert/blob.h"

struct deliver {
	pthread_mutex_t lock;		/* of all below, and of who writes which blob */
	pthread_cond_t written;
	struct window *windows;		/* owned */
	struct made *made;		/* one a window; owned */
	struct window **spare;		/* owned */
	unsigned n, nspare, left, most;	/* left: windows with writers, `most` at a time */
};

/* For so many threads. */
enum tb_status deliver_init(struct deliver *d, unsigned threads, struct tb_err *err) TB_MUST_USE;
void deliver_free(struct deliver *d);		/* after deliver_init(), however that ended */

/* One for each thread is always there. */
struct window *deliver_window(struct deliver *d);
void deliver_put(struct deliver *d, struct window *w);

/* Makes and writes what a task is, or leaves writing it to another thread, which returns
 * what it fails with.  When all threads have returned, all is written. */
enum tb_status deliver_task(struct deliver *d, struct blob *b, struct blob_task *t,
			    struct tb_err *err) TB_MUST_USE;
#endif
