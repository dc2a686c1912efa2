#include "config.h"

#include "src/base/partial.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define ROWS 4096u	/* a model may have 100,000 files */

static struct tb_partial *rows[ROWS];
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_size_t known;	/* none, as nearly always: nobody waits for the lock */

static struct tb_partial **
row_of(uint64_t dev, uint64_t ino)
{
	return &rows[(ino ^ dev * 31) % ROWS];
}

void
tb_partial_add(struct tb_partial *p)
{
	struct tb_partial **row = row_of(p->id.dev, p->id.ino);

	pthread_mutex_lock(&rows_lock);
	p->next = *row;
	*row = p;
	pthread_mutex_unlock(&rows_lock);
	atomic_fetch_add(&known, 1);
}

void
tb_partial_drop(struct tb_partial *p)
{
	struct tb_partial **at = row_of(p->id.dev, p->id.ino);

	pthread_mutex_lock(&rows_lock);
	while (*at && *at != p)
		at = &(*at)->next;
	if (*at) {
		*at = p->next;
		atomic_fetch_sub(&known, 1);
	}
	pthread_mutex_unlock(&rows_lock);
}

const struct tb_partial *
tb_partial_of(uint64_t dev, uint64_t ino)
{
	const struct tb_partial *p;

	if (!atomic_load(&known))
		return NULL;
	pthread_mutex_lock(&rows_lock);
	p = *row_of(dev, ino);
	while (p && (p->id.dev != dev || p->id.ino != ino))
		p = p->next;
	pthread_mutex_unlock(&rows_lock);
	return p;
}
