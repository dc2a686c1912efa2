/* pull.h - loading models from elsewhere, as screens start it. */
#ifndef TBTUI_UI_PULL_H
#define TBTUI_UI_PULL_H

#include <stddef.h>

#include "src/base/err.h"
#include "src/ops/pull/pull.h"

struct fetch_row;
struct job_part;
struct view;

/* What somebody typed: NAME [AS] and options as "tbtui pull" has them. */
struct pull_words {
	char *line;			/* as it was typed; owned */
	char *words;			/* what the request borrows from; owned */
	struct pull_request req;
};
/* *out is empty after a failure. */
enum tb_status pull_words_read(struct pull_words *out, const char *line, struct tb_err *err)
	TB_MUST_USE;
void pull_words_free(struct pull_words *w);	/* fine on zeros */

/* Loads it as a job and shows its files; w is taken in every case.  false: it could not be
 * started, and a message says why. */
bool task_pull(struct view *v, struct pull_words *w);

/* How transfers are shown: the rows that look() gives, as parts of a job (jobs.h). */
typedef size_t transfer_look_fn(const void *arg, struct fetch_row *rows, size_t max);
size_t transfer_parts(transfer_look_fn *look, const void *arg, struct job_part *out, size_t max);
#endif
