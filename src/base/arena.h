/* arena.h - many small things that live and die together.
 *
 * Zeroed it is empty and has no ceiling; what it gave out never moves, and goes with
 * tb_arena_free() alone. */
#ifndef TBTUI_BASE_ARENA_H
#define TBTUI_BASE_ARENA_H

#include <stddef.h>

struct tb_arena {
	struct tb_chunk *chunks;	/* owned; the one that is being filled first */
	size_t used;			/* bytes given out */
	size_t max;			/* of them; 0: no ceiling */
};

/* n zeroed bytes at a multiple of 16.  Here and below NULL: no memory, or over the ceiling. */
void *tb_arena_get(struct tb_arena *a, size_t n);
/* Copies, ended by a NUL and laid end to end: of len bytes, of a text, of n bytes with the
 * text `end` behind them. */
const char *tb_arena_text(struct tb_arena *a, const char *s, size_t len);
const char *tb_arena_str(struct tb_arena *a, const char *s);
const char *tb_arena_cat(struct tb_arena *a, const char *s, size_t n, const char *end);
/* All of it belongs to `to` then. */
void tb_arena_join(struct tb_arena *to, struct tb_arena *from);
void tb_arena_free(struct tb_arena *a);		/* also fine on a zeroed or freed one */
#endif
