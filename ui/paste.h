/* paste.h - what the terminal marks as pasted, gathered byte by byte until its end. */
#ifndef TBTUI_UI_PASTE_H
#define TBTUI_UI_PASTE_H

#include <stdbool.h>

#include "src/base/buf.h"

struct paste {
	bool on;		/* between the marks */
	bool cut;		/* more came than anybody types */
	struct tb_buf text;
	size_t matched;		/* bytes of the end mark seen */
	double last;		/* when the last byte came, tb_monotonic() */
};

void paste_begin(struct paste *p);
/* True: that was the end, the text is whole.  Not to be called before paste_begin(). */
bool paste_byte(struct paste *p, unsigned char c);
/* The end mark does not come: a terminal that died, or another program's text. */
bool paste_stalled(const struct paste *p);
void paste_end(struct paste *p);	/* frees the text */
#endif
