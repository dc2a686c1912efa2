/* job_cells.h - how jobs and what they are made of look in tables. */
#ifndef TBTUI_UI_JOB_CELLS_H
#define TBTUI_UI_JOB_CELLS_H

#include "ui/jobs.h"
#include "ui/table.h"

const char *job_word(const struct ui_job *j);
/* What came of it, or where it is. */
const char *job_result(const struct ui_job *j, enum role *role);
void job_bar(const struct tb_progress *p, struct cell *out);

/* "loading", with its sign. */
void job_part_state(const struct job_part *p, struct cell *out);
void job_part_bar(const struct job_part *p, struct cell *out);
#endif
