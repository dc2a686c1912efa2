/* pull.h - loading models from elsewhere, as screens start it. */
#ifndef TBTUI_UI_PULL_H
#define TBTUI_UI_PULL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "ui/loader.h"

struct fetch_row;
struct job_part;
struct view;

/* Loads it as a job and shows its files; w is taken in every case.  false: it could not be
 * started, and a message says why. */
bool task_pull(struct view *v, struct pull_words *w);

/* How transfers are shown: the rows that look() gives, as parts of a job (jobs.h). */
typedef size_t transfer_look_fn(const void *arg, struct fetch_row *rows, size_t max);
size_t transfer_parts(transfer_look_fn *look, const void *arg, struct job_part *out, size_t max);
#endif
