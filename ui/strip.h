/* strip.h - how likely the tokens of an answer were, and what else was likely: a strip under
 * the transcript with a cursor on a token and one on an alternative. */
#ifndef TBTUI_UI_STRIP_H
#define TBTUI_UI_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/ops/run/run.h"
#include "ui/draw.h"
#include "ui/keys.h"

struct chat;

/* What is known of an answer. */
struct strip_turn {
	uint64_t turn;		/* 0: it is coming */
	struct gen_token *token;	/* owned */
	size_t n, cap;
};

struct strip {
	bool on;
	struct strip_turn *turns;	/* owned; the last one may be coming */
	size_t n, cap;
	uint64_t turn;		/* the one that is shown */
	size_t cur;		/* its token with the cursor */
	unsigned alt;		/* the alternative with the cursor */
};

void strip_free(struct strip *s);

/* An answer begins, with the first `n` tokens of `turn` and the token `id` (turn 0: with nothing);
 * a token came; it has ended and is that turn (0: it is not kept). */
void strip_begin(struct strip *s, uint64_t turn, size_t n, uint32_t id);
void strip_token(struct strip *s, const struct gen_token *t);
void strip_end(struct strip *s, uint64_t turn);

/* Shows that turn from now on; false: nothing is known of it. */
bool strip_show(struct strip *s, uint64_t turn);
int strip_rows(const struct strip *s, int height);	/* that it takes of so many */
/* chat: says what tokens are as text. */
void strip_draw(struct area a, struct strip *s, struct chat *chat);

/* A key; false: not one of its own. */
bool strip_act(struct strip *s, enum action a);
/* What the answer would begin with, were the alternative under the cursor chosen: ids[0..*n),
 * the caller's; NULL: it was chosen, or there is none. */
uint32_t *strip_chosen(const struct strip *s, size_t *n);
#endif
