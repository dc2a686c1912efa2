/* push.h - sending a model to a registry, as screens start it: asked where, looked at, asked
 * once more, sent as a job. */
#ifndef TBTUI_UI_PUSH_H
#define TBTUI_UI_PUSH_H

struct view;

/* The model at `path`, which is called `name`. */
void task_push(struct view *v, const char *path, const char *name);
#endif
