/* cached.h - which pages of a file were in memory before it was read.
 *
 * Who reads everything there is, once, would drive out of memory what others read again
 * and again: what was not there before is let go. */
#ifndef TBTUI_BASE_CACHED_H
#define TBTUI_BASE_CACHED_H

#include <stdbool.h>
#include <stdint.h>

struct tb_file;

struct tb_cached {
	bool all;		/* or nobody can say: nothing is let go */
	uint8_t *bits;		/* owned: a page a bit; NULL: none, unless all */
};

/* Before the first byte is read. */
void tb_cached_look(struct tb_cached *c, const struct tb_file *f);
/* [off, off + len) was read: lets those pages go that were not there.  Others who need one
 * read it again. */
void tb_cached_restore(const struct tb_cached *c, const struct tb_file *f, uint64_t off,
		       uint64_t len);
void tb_cached_free(struct tb_cached *c);
#endif
