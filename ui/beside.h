/* beside.h - a second model that answers the same questions, beside the first or below it.  What
 * it says is in no conversation. */
#ifndef TBTUI_UI_BESIDE_H
#define TBTUI_UI_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/jobs.h"
#include "ui/transcript.h"

struct beside_other;
struct talk;
struct view;

struct beside {
	struct beside_other *other;	/* a reference; NULL: there is none */
	struct talk *talk;		/* with the first one; borrowed from the screen */
	struct view *view;		/* that asks for a name */
	struct ui_job *opening, *working;
	struct transcript text;
	char name[256];		/* of the other, while it is opened as well; "": none */
	double rate;		/* tokens a second, of its last answer */
	bool focus;		/* the keys move it */
};

void beside_init(struct beside *b, bool steady);
void beside_close(struct beside *b);	/* stops what it says; there is none then */

/* Asks for a model or URL, opens it, and it answers what was asked last. talk: with the first. */
void beside_name(struct view *v, struct beside *b, struct talk *talk);
/* It answers the path of the chat with `text` said behind it; NULL: what was asked there last. */
void beside_ask(struct view *v, struct beside *b, const char *text);
/* Compares what both think of the first one's last answer, token by token; what came of it stands
 * among what the other one said.  Both must be here, and silent: the job is the screen's.  NULL:
 * it cannot be, and a message says why. */
struct ui_job *beside_compare(struct view *v, struct beside *b);
/* false: it did not speak. */
bool beside_stop(struct beside *b);

/* Draws both: `a` is what there is for transcripts; first: what the other one's is called. */
void beside_draw(struct area a, struct beside *b, struct transcript *first, const char *name);
/* What the screen has: the struct beside of a view; and its own work is done. */
struct beside *chat_beside_of(struct view *v);
void chat_worked(struct view *v);
#endif
