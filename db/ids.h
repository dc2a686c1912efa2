/* ids.h - texts (or any bytes) that have a number, found by what they are. */
#ifndef TBTUI_DB_IDS_H
#define TBTUI_DB_IDS_H

#include <stdint.h>

#include "db/db.h"

struct ids {
	struct ids_entry {
		const char *text;
		uint32_t len, hash;
		int64_t id;
		uint32_t then;	/* index + 1 of what was asked for after it */
	} *entry;
	size_t n, cap;
	uint32_t *slot;		/* index of an entry + 1, 0 = free */
	size_t nslots;		/* a power of two, or 0 */
	struct tb_arena mem;
};

/* NULL: there is none.  Valid until the next ids_add(). */
struct ids_entry *ids_find(const struct ids *t, const void *text, size_t len);
/* The same for lists that are often asked for in one order: what came after *last (index + 1,
 * 0 at a start) the last time is tried first. */
struct ids_entry *ids_find_then(struct ids *t, const void *text, size_t len, uint32_t *last);
/* The text (copied) must be new; NULL: no memory. */
struct ids_entry *ids_add(struct ids *t, const void *text, size_t len, int64_t id);
void ids_free(struct ids *t);
#endif
