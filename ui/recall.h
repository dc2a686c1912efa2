/* recall.h - what was typed before: readline keeps one history, each kind of prompt has its own. */
#ifndef TBTUI_UI_RECALL_H
#define TBTUI_UI_RECALL_H

#include <stddef.h>

#define RECALL_LEN 1000
#define RECALL_MAX ((size_t)64 << 10)	/* bytes of a line; longer ones are not kept */

/* Makes it the one that is in use; name: borrowed for good, NULL: one that nobody keeps. */
void recall_load(const char *name);
void recall_save(const char *name);
/* As the last of the one that is in use. */
void recall_put(const char *text);
/* In front of what is there. */
void recall_older(char *const *lines, size_t n);
void recall_free(void);
#endif
