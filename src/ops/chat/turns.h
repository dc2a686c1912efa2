/* turns.h - inside src/ops/chat: what was said, as a tree.
 *
 * Nothing is ever overwritten: another answer is another child of the same question, a
 * question said otherwise another child of what came before it.  The conversation as it stands
 * is the path from the beginning to `leaf`. */
#ifndef TBTUI_OPS_CHAT_TURNS_H
#define TBTUI_OPS_CHAT_TURNS_H

#include "src/ops/chat/chat.h"

struct turn {
	size_t parent;			/* id; 0: a conversation begins here */
	struct chat_message said;	/* owned texts; the role is static */
	char *model;			/* who said it; owned; NULL: the person */
	bool finished;			/* false: broken off before anybody knew why */
	enum gen_stop stop;
	struct gen_figures figures;
	int64_t created_ns;
};

/* Zeroed it is empty.  A turn's id is its place, from 1. */
struct turns {
	struct turn *v;			/* owned */
	size_t n, cap;
	size_t leaf;			/* id; 0: nothing was said */
};
void turns_free(struct turns *t);
/* role as it is static here, whatever a file says: what is not known is the user's. */
const char *turn_role(const char *role);
bool turn_is(const struct turn *t, const char *role);
struct turn *turns_at(const struct turns *t, size_t id);	/* NULL: there is none */
/* Copies the message and the name; it becomes the leaf. Returns its id; 0: no memory. */
size_t turns_add(struct turns *t, size_t parent, const struct chat_message *m, const char *model);
/* Ids from the beginning to `leaf`, in fresh memory; NULL: no memory.  *n of them. */
size_t *turns_path(const struct turns *t, size_t leaf, size_t *n);
/* Is `id` on the path to the leaf? */
bool turns_on_path(const struct turns *t, size_t id);
/* The end of what was said last below `id`. */
size_t turns_newest_below(const struct turns *t, size_t id);
/* The sibling that stands `by` places after it, 0: there is none. */
size_t turns_sibling(const struct turns *t, size_t id, int by);
/* For each id (from 1): which of how many siblings it is. Both [n + 1]; false: no memory. */
bool turns_count(const struct turns *t, unsigned *place, unsigned *of);
#endif
