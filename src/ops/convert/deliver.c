#include "config.h"

#include "src/ops/convert/deliver.h"

#include <stdlib.h>

#include "src/base/mem.h"

#define LEFT_MOST 4u		/* enough for one who writes never to wait */

enum tb_status
deliver_init(struct deliver *d, unsigned threads, struct tb_err *err)
{
	unsigned most = threads < LEFT_MOST ? threads : LEFT_MOST, n = threads + most;
	enum tb_status status;

	*d = (struct deliver){ .n = n, .most = most };
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->written, NULL);
	d->made = tb_calloc(n, sizeof(*d->made));
	d->spare = tb_calloc(n, sizeof(*d->spare));
	status = d->made && d->spare ? windows_new(&d->windows, n, err) : tb_nomem(err);
	while (!status && d->nspare < n) {
		d->spare[d->nspare] = &d->windows[d->nspare];
		d->nspare++;
	}
	return status;
}

void
deliver_free(struct deliver *d)
{
	if (!d->n)
		return;
	windows_free(d->windows, d->n);
	free(d->made);
	free(d->spare);
	pthread_cond_destroy(&d->written);
	pthread_mutex_destroy(&d->lock);
}

struct window *
deliver_window(struct deliver *d)
{
	struct window *w;

	pthread_mutex_lock(&d->lock);
	w = d->spare[--d->nspare];
	pthread_mutex_unlock(&d->lock);
	return w;
}

void
deliver_put(struct deliver *d, struct window *w)
{
	pthread_mutex_lock(&d->lock);
	d->spare[d->nspare++] = w;
	pthread_mutex_unlock(&d->lock);
}

/* True: another will write it. */
static bool
leave_to_writer(struct deliver *d, struct made *m)
{
	struct blob *b = m->blob;
	bool left;

	pthread_mutex_lock(&d->lock);
	while (b->writing && d->left == d->most)
		pthread_cond_wait(&d->written, &d->lock);
	left = b->writing;
	if (left) {
		m->next = b->waiting;
		b->waiting = m;
		d->left++;
	}
	b->writing = true;
	pthread_mutex_unlock(&d->lock);
	return left;
}

/* What others have left meanwhile; NULL: nothing, and nobody writes any more. */
static struct made *
next_left(struct deliver *d, struct blob *b, const struct made *done)
{
	struct made *m;

	pthread_mutex_lock(&d->lock);
	if (done) {
		d->spare[d->nspare++] = done->window;
		d->left--;
	}
	m = b->waiting;
	if (m)
		b->waiting = m->next;
	else
		b->writing = false;
	pthread_cond_broadcast(&d->written);
	pthread_mutex_unlock(&d->lock);
	return m;
}

enum tb_status
deliver_task(struct deliver *d, struct blob *b, struct blob_task *t, struct tb_err *err)
{
	struct window *w = deliver_window(d);
	struct made *made = &d->made[w - d->windows], *m = NULL;
	enum tb_status status = blob_make(b, t, w, made, err);

	if (!status && leave_to_writer(d, made))
		return TB_OK;
	if (!status) {
		status = blob_write(made, err);
		while ((m = next_left(d, b, m)))
			if (!status)
				status = blob_write(m, err);
	}
	deliver_put(d, w);
	return status;
}
