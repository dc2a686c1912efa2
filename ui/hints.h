/* hints.h - what Tab offers where the name of a model elsewhere is typed: names that the index
 * knows, what was typed before, ways to write one, and what there is behind "host/repo:" (tags),
 * "hf:org/name@" (revisions) and "hf:org/name:" (GGUF files), which a worker asks for. */
#ifndef TBTUI_UI_HINTS_H
#define TBTUI_UI_HINTS_H

#include <stddef.h>

#include "src/base/dir.h"

struct view;

struct hints {
	struct tb_names found;	/* for the word last asked about */
	struct tb_names seen;	/* what was typed before */
	struct tb_names there;	/* whole names, which begin with `front` */
	char *front;		/* "host/repo:"; owned; NULL: nothing was asked for */
	char *asked;		/* the front whose names are on their way; owned; NULL: none */
};

void hints_free(struct hints *h);
void hints_seen(struct hints *h, const char *name);
/* What stands behind such a front, as a word: "tag", "revision", "file". */
const char *hints_kind(const char *front);
/* The i-th that `word` may become; NULL behind the last.  With the first one all are found.
 * Where a server has to be asked, come() gets the names when they have come; NULL: they could not
 * be had. */
typedef void hints_fn(struct view *v, const char *front, struct tb_names *names,
		      const struct tb_err *err);
const char *hints_at(struct view *v, struct hints *h, const char *word, size_t i, hints_fn *come);
/* For come(), in any case: takes them. */
void hints_take(struct hints *h, const char *front, struct tb_names *names);
#endif
