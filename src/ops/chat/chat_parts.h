/* chat_parts.h - inside src/ops/chat: what a chat is made of. */
#ifndef TBTUI_OPS_CHAT_PARTS_H
#define TBTUI_OPS_CHAT_PARTS_H

#include <pthread.h>

#include "db/chats.h"
#include "src/ops/chat/speaker.h"
#include "src/ops/chat/turns.h"

/* Where it is kept. */
struct keeping {
	char *index;			/* owned; NULL: nowhere */
	struct db *db;			/* NULL until something is read or written; owned */
	struct db_claim claim;		/* of id */
	_Atomic int64_t id;		/* 0: it has no row yet; screens ask for it at any time */
	size_t written;			/* turns that are in the file */
	char *title;			/* owned; NULL: none yet */
	bool named;			/* by the person */
	bool grown;			/* something was said since it was opened */
	int64_t from_chat, from_turn;	/* what it is a copy of */
	double at;			/* tb_monotonic() of the last writing */
	char notice[512], told[512];	/* that nobody has read yet; that was read last */
};

struct chat {
	struct speaker *speaker;	/* owned */
	struct chat_opts o;		/* system NULL: it is below */
	char *system;			/* owned; NULL: none */
	cJSON *tools;			/* owned; NULL: none */
	pthread_mutex_t lock;		/* for the tree and what stands beside it: whoever changes
					 * them, and chat_path() */
	struct grammar *grammar;	/* a reference; NULL: any text */
	char *grammar_name;		/* owned */
	struct turns turns;
	size_t unanswered;		/* id of what was asked, without an answer, off the path */
	size_t left_out;		/* turns that had no room the last time */
	struct keeping keep;
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

/* chat_kept.c */
/* Writes what is not written yet.  synced: on the disk before it returns, with what the speaker
 * has read; else it need not be done at once, and is done with the next.  What fails is a notice,
 * and is tried again the next time. */
void kept_write(struct chat *c, bool synced);
/* An answer on its way, at most once a second. */
void kept_write_coming(struct chat *c, size_t question, const char *text, const char *thinking);
/* chat_settings.c: all that is set but the system's message, as it is kept; caller frees, NULL: no
 * memory.  And back: *o is what the options are then. */
char *kept_settings(const struct chat *c);
enum tb_status kept_take_settings(struct chat *c, const char *json, struct chat_opts *o,
				  struct tb_err *err) TB_MUST_USE;
const char *chat_mark(struct chat *c);	/* of the speaker; "": it has none */
char *kept_title_of(const char *text);	/* of the first message; caller frees */
/* chat_park.c: takes up what was parked, as far as it still is what was read. */
void park_take_up(struct chat *c, int64_t id);
void park_forget(const char *index_path, int64_t id);
/* It is that session no more: what is said next begins another. */
void kept_leave(struct chat *c);
void kept_close(struct chat *c);
#endif
