/* editor.h - a text in the editor of its person's choice: $VISUAL, else $EDITOR, else vi. */
#ifndef TBTUI_FACE_EDITOR_H
#define TBTUI_FACE_EDITOR_H

#include <stdbool.h>

#include "src/base/err.h"

/* Blocks until the editor has ended.  *out: the text as it was saved, without the line ends at
 * its end; the caller's to free.  A failure says why, and that the text is as it was.  The
 * terminal's modes are afterwards what they were before the call; *tidy: the editor ended by
 * itself, so what it told the terminal it has taken back as well. */
enum tb_status edit_text(const char *text, char **out, bool *tidy, struct tb_err *err) TB_MUST_USE;
#endif
