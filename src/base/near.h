/* near.h - what somebody may have meant who mistyped a name. */
#ifndef TBTUI_BASE_NEAR_H
#define TBTUI_BASE_NEAR_H

#include <stddef.h>

#define TB_NEAR_MAX 3

/* .word set, the rest zeroed.  Give it every name there is, then ask for the text. */
struct tb_near {
	const char *word;		/* as it was typed; borrowed */
	char *hit[TB_NEAR_MAX];		/* the nearest, best first; owned */
	unsigned far[TB_NEAR_MAX];
	size_t n;
};

/* Edits (a character more, less, another, two swapped) between two names, case aside;
 * more than `limit` of them are limit + 1. */
unsigned tb_distance(const char *a, const char *b, unsigned limit);

void tb_near_try(struct tb_near *n, const char *name);
/* `; did you mean "a" or "b"?`, or "" where nothing is near.  Frees the names. */
const char *tb_near_text(struct tb_near *n, char *out, size_t outlen);
void tb_near_free(struct tb_near *n);	/* without asking: nothing was wrong */
#endif
