#include "config.h"

#include "src/ops/calibrate/feeds.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/base/mem.h"

#define IDLE_MAX 4		/* that nobody uses and are kept */

struct feed {
	const struct imatrix_entry *e;
	uint64_t nth;
	struct quant_feedback *q;	/* owned */
	unsigned users;
	uint64_t used;			/* when it was last asked for */
};

struct feeds {
	pthread_mutex_t lock;		/* also while one is made: others wait for it mostly */
	struct feed *list;		/* owned */
	size_t n, cap;
	uint64_t clock;
};

enum tb_status
feeds_new(struct feeds **out, struct tb_err *err)
{
	*out = tb_calloc(1, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	pthread_mutex_init(&(*out)->lock, NULL);
	return TB_OK;
}

void
feeds_free(struct feeds *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		quant_feedback_free(f->list[i].q);
	free(f->list);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static enum tb_status
make_feed(struct feed *to, const struct imatrix *im, uint64_t cols, struct tb_err *err)
{
	uint32_t block = to->e->gram;
	float *gram = tb_calloc((size_t)block * block, sizeof(*gram));
	enum tb_status status = gram ? quant_feedback_new(&to->q, cols, block, err) : tb_nomem(err);

	for (uint64_t b = 0; b < imatrix_blocks(cols, block) && !status; b++) {
		status = imatrix_gram(im, to->e, cols, to->nth, b, gram, err);
		if (!status)
			status = quant_feedback_set(to->q, b, gram, err);
		if (status)
			status = tb_wrap(err, status, "%s: %s", im->file.path, to->e->name);
	}
	free(gram);
	if (status) {
		quant_feedback_free(to->q);
		to->q = NULL;
	}
	return status;
}

/* Those that were not asked for longest go, until few are idle. */
static void
forget_idle(struct feeds *f)
{
	for (;;) {
		size_t idle = 0, oldest = 0;

		for (size_t i = 0; i < f->n; i++)
			if (!f->list[i].users &&
			    (!idle++ || f->list[i].used < f->list[oldest].used))
				oldest = i;
		if (idle <= IDLE_MAX)
			return;
		quant_feedback_free(f->list[oldest].q);
		f->list[oldest] = f->list[--f->n];
	}
}

enum tb_status
feeds_take(struct feeds *f, const struct imatrix *im, const struct imatrix_entry *e, uint64_t cols,
	   uint64_t nth, const struct quant_feedback **out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t i;

	pthread_mutex_lock(&f->lock);
	for (i = 0; i < f->n && (f->list[i].e != e || f->list[i].nth != nth); i++)
		;
	if (i == f->n) {
		struct feed made = { .e = e, .nth = nth };

		if (!tb_grow(&f->list, &f->cap, f->n + 1, sizeof(*f->list)))
			status = tb_nomem(err);
		else if (!(status = make_feed(&made, im, cols, err)))
			f->list[f->n++] = made;
	}
	if (!status) {
		f->list[i].users++;
		f->list[i].used = ++f->clock;
		*out = f->list[i].q;
	}
	pthread_mutex_unlock(&f->lock);
	return status;
}

void
feeds_give(struct feeds *f, const struct quant_feedback *q)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].q == q)
			f->list[i].users--;
	forget_idle(f);
	pthread_mutex_unlock(&f->lock);
}
