/* hints.h - what Tab offers where the name of a model elsewhere is typed: names that the index
 * knows, what was typed before, ways to write one, and the tags of a repository, which are
 * asked for by a worker. */
#ifndef TBTUI_UI_HINTS_H
#define TBTUI_UI_HINTS_H

#include <stddef.h>

#include "src/base/dir.h"

struct view;

struct hints {
	struct tb_names found;	/* for the word last asked about */
	struct tb_names tags;	/* "host/repo:tag", of `repo` */
	struct tb_names seen;	/* what was typed before */
	char *repo;		/* as it was typed; owned; NULL: none was asked for */
};

void hints_free(struct hints *h);
void hints_seen(struct hints *h, const char *name);
/* The i-th that `word` may become; NULL behind the last.  With the first one all are found.
 * Where tags have to be asked for, tags() gets the names when they have come. */
typedef void hints_tags_fn(struct view *v, const char *repo, struct tb_names *tags,
			   const struct tb_err *err);
const char *hints_at(struct view *v, struct hints *h, const char *word, size_t i,
		     hints_tags_fn *tags);
/* They have come: taken. */
void hints_take_tags(struct hints *h, const char *repo, struct tb_names *tags);
#endif
