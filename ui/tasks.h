/* tasks.h - operations that more than one screen starts. */
#ifndef TBTUI_UI_TASKS_H
#define TBTUI_UI_TASKS_H

#include <stdbool.h>
#include <stddef.h>

struct view;

/* Brings the index up to date with the stores. */
void task_scan(struct view *v);
/* Verifies what the references name (copied), everything without any; deep: its values,
 * too. title: what they are called, "qwen3:8b". */
void task_verify(struct view *v, const char *const *refs, size_t nrefs, bool deep,
		 const char *title);
#endif
