/* offer.h - what a pull would bring, before anything is loaded: asked on a worker. */
#ifndef TBTUI_UI_OFFER_H
#define TBTUI_UI_OFFER_H

#include <stdbool.h>

#include "src/base/err.h"
#include "ui/loader.h"

struct away;
struct tb_buf;
struct view;

/* What is known so far.  Texts are for a pager. */
struct offer {
	char *text;			/* owned */
	enum pull_name taken;		/* of the name that it gets here */
	bool fits;			/* there is room, as far as one knows */
	struct away *away;		/* to look into; owned; NULL: not (yet) */
};
void offer_free(struct offer *o);	/* fine on zeros */

/* Asks for what the line says (pull.h).  heard() gets the sizes as soon as they are known, and at the end all; it takes
 * what it wants out of the offer, which is NULL where it failed.  no: handed on.  Returns the
 * job's id; 0: heard() has been told why not, or a message says it. */
typedef void offer_fn(struct view *v, unsigned no, struct offer *o, bool end,
		      const struct tb_err *err);
uint64_t offer_ask(struct view *v, const char *line, unsigned no, offer_fn *heard);

/* The words for it; steady: without figures of this machine. */
void offer_plan_text(const struct load_plan *p, bool steady, struct tb_buf *out);
#endif
