/* arena.h - many small strings that live and die together. Private to src/store. */
#ifndef TBTUI_STORE_ARENA_H
#define TBTUI_STORE_ARENA_H

#include <stddef.h>

struct arena;

/* NULL when out of memory. */
struct arena *arena_new(void);
void arena_free(struct arena *a);
/* a and b in one string; b may be NULL. NULL when out of memory. */
const char *arena_cat(struct arena *a, const char *s, size_t n, const char *b);
const char *arena_str(struct arena *a, const char *s);
#endif
