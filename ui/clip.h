/* clip.h - text for the clipboard of the terminal that is in front of its person, however far
 * away that is (OSC 52).  Whether the terminal takes it cannot be known: it is also written to
 * a file beside the index, which its user alone can read. */
#ifndef TBTUI_UI_CLIP_H
#define TBTUI_UI_CLIP_H

#include <stddef.h>

struct view;

/* Copies it, and says how much. what: "the answer". */
void clip_copy(struct view *v, const char *what, const char *text, size_t len);
#endif
