/* clipboard.h - text for the clipboard of the terminal that is in front of its person, however
 * far away that is (OSC 52). */
#ifndef TBTUI_FACE_CLIPBOARD_H
#define TBTUI_FACE_CLIPBOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"

#define CLIPBOARD_MAX 74994	/* bytes; more than that several terminals do not take */

/* May the terminal take so much?  Whether it does cannot be known. */
bool clipboard_takes(size_t len);
/* What the terminal is sent, appended. */
void clipboard_put(const char *text, size_t len, struct tb_buf *out);
#endif
