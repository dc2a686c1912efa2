/* tasks.h - operations that more than one screen starts. */
#ifndef TBTUI_UI_TASKS_H
#define TBTUI_UI_TASKS_H

#include <stddef.h>

struct view;

/* Brings the index up to date with the stores. */
void task_scan(struct view *v);
/* Verifies what the references name (copied), everything without any. title: what
 * they are called, "qwen3:8b". */
void task_verify(struct view *v, const char *const *refs, size_t nrefs, const char *title);
#endif
