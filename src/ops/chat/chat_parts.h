/* chat_parts.h - inside src/ops/chat: what a chat is made of. */
#ifndef TBTUI_OPS_CHAT_PARTS_H
#define TBTUI_OPS_CHAT_PARTS_H

#include <pthread.h>

#include "src/ops/chat/speaker.h"
#include "src/ops/chat/turns.h"

struct chat {
	struct speaker *speaker;	/* owned */
	struct chat_opts o;		/* system NULL: it is below */
	char *system;			/* owned; NULL: none */
	pthread_mutex_t lock;		/* for the tree and what stands beside it: whoever changes
					 * them, and chat_path() */
	struct turns turns;
	size_t unanswered;		/* id of what was asked, without an answer, off the path */
	size_t left_out;		/* turns that had no room the last time */
	struct chat_message *messages;	/* of chat_messages(); owned, their texts borrowed */
	size_t cap;
};

void chat_lock(struct chat *c);
void chat_unlock(struct chat *c);
/* The path leads to `leaf` from now on. */
void chat_move(struct chat *c, size_t leaf);
/* The turn with that id; 0: the last of the path with that role (NULL: whatever it is). NULL
 * with a sentence: there is none. */
struct turn *chat_turn_of(struct chat *c, uint64_t id, const char *role, size_t *at,
			  struct tb_err *err);
#endif
