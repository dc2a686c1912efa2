/* report_html.h - inside reports as pages: how states look, and their escaping. */
#ifndef TBTUI_OPS_REPORT_HTML_H
#define TBTUI_OPS_REPORT_HTML_H

#include "src/ops/report/report_out.h"

enum look { LOOK_DAMAGED, LOOK_INCOMPLETE, LOOK_STRUCTURE, LOOK_NEVER, LOOK_HASHED, LOOK_ORPHAN,
	LOOK_REST, LOOK_HELD, LOOK_COUNT };
enum look look_of_state(enum db_state s);

/* All text here is ours and goes to the page as it is. */
struct look_row {
	const char *css, *sign, *word, *meaning;
	const char *together;		/* what many of them are called: "more models, hashed" */
	const char *ink;		/* class of letters on it */
	const char *pattern, *turn;	/* SVG, and how that is turned */
};
extern const struct look_row looks[LOOK_COUNT];

report_escape_fn report_html_escape;
#endif
