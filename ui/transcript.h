/* transcript.h - what was said in a conversation, as it is read: turns in order, each laid
 * out once, with answers in Markdown, thinking folded, and notes between.
 *
 * The frame moves it as it moves any pager (place, search); a cursor may stand on a turn. */
#ifndef TBTUI_UI_TRANSCRIPT_H
#define TBTUI_UI_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/pager.h"

struct chat_path;
struct mdown;

enum said_by { SAID_PERSON, SAID_MODEL, SAID_TOOL, SAID_NOTE, SAID_HELP };

/* A turn, or a note that stands between turns. */
struct said {
	enum said_by by;
	uint64_t id;		/* of the turn, or 0: it is not finished; of a note that before it */
	struct mdown *text;	/* owned, as is thinking; NULL: none */
	struct mdown *thinking;
	bool unfolded;		/* thinking is shown */
	double began, thought;	/* when it began to think; seconds that it took, 0: not known */
	size_t words;		/* of thinking */
	bool in_word;
	unsigned place, of;	/* of answers to the same */
	bool left_out;		/* the model reads it no more */
	size_t first, rows;	/* of the rows made last, with the empty one before it */
};

struct transcript {
	struct pager pager;	/* its rows are these */
	struct said *said;	/* owned */
	size_t n, cap;
	size_t cur;		/* the turn with the cursor, < n, or SIZE_MAX: none */
	uint64_t code_of;	/* the turn of which a block of code was copied last, and … */
	size_t code_next;	/* … the one that comes next */
	bool steady;		/* durations are shown as "-" */
	bool failed;		/* there was no memory for something */
};

void transcript_init(struct transcript *t, bool steady);
void transcript_free(struct transcript *t);
void transcript_clear(struct transcript *t);

/* As the conversation stands: turns that are there already keep how they are shown, what is
 * not on the path goes, and notes stay behind the turn that they stood behind. */
void transcript_set(struct transcript *t, const struct chat_path *path);

/* What comes meanwhile, until the next transcript_set(): what was asked, pieces of the answer
 * (enum gen_msg: text or thinking), its end, a note or a longer text. */
void transcript_ask(struct transcript *t, const char *text);
void transcript_piece(struct transcript *t, unsigned kind, const char *text, size_t len);
void transcript_end(struct transcript *t);
void transcript_note(struct transcript *t, const char *text);
void transcript_help(struct transcript *t, const char *text);

/* Is there something to read, but for notes? */
bool transcript_said(const struct transcript *t);
/* Is there a turn with several versions? */
bool transcript_versions(const struct transcript *t);

void transcript_draw(struct area a, struct transcript *t);

/* The cursor: to the turn before or after, which is brought into sight. */
void transcript_step(struct transcript *t, int by);
void transcript_no_cursor(struct transcript *t);
/* The turn under the cursor, else the last one; `by` SAID_PERSON or SAID_MODEL, or SAID_NOTE:
 * whoever.  NULL: there is none. */
const struct said *transcript_turn(const struct transcript *t, enum said_by by);
/* For the clipboard: the turn under the cursor, else the last answer; its block of code (again:
 * the next one).  Borrowed; NULL: there is none.  what: how it is called. */
const char *transcript_copy(const struct transcript *t, size_t *len, char what[64]);
const char *transcript_copy_code(struct transcript *t, size_t *len, char what[64]);
bool transcript_has_code(const struct transcript *t);
/* Shows or hides what was thought there; false: nothing was. */
bool transcript_fold(struct transcript *t);
#endif
