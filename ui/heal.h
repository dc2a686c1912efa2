/* heal.h - what is damaged gets its bytes from a good copy, once somebody has said yes. */
#ifndef TBTUI_UI_HEAL_H
#define TBTUI_UI_HEAL_H

#include <stddef.h>

struct view;

/* Looks for copies of what is damaged in the models (copied; none: in all), asks, and has
 * it healed. title: what they are called. */
void task_heal(struct view *v, const char *const *refs, size_t nrefs, const char *title);
#endif
