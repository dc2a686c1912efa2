/* history.h - what was typed into conversations, from one day to the next: a file that its user
 * alone can read, a line each. */
#ifndef TBTUI_FACE_HISTORY_H
#define TBTUI_FACE_HISTORY_H

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/err.h"

/* Where it is for this index; owned by the caller, NULL: no memory. */
char *history_beside(const char *index_path);
/* The last of them, the oldest first; none where there is no file.  A file that has become
 * long is made shorter. */
enum tb_status history_read(const char *path, struct tb_names *out, struct tb_err *err)
	TB_MUST_USE;
/* Appends what was typed as a line of the file; one that is too long is left out. */
void history_line(const char *text, struct tb_buf *out);
/* Writes such lines, and empties them. path NULL: nowhere. */
enum tb_status history_add(const char *path, struct tb_buf *lines, struct tb_err *err) TB_MUST_USE;
#endif
