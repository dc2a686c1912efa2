/* tok_newer.h - private to src/text: characters that utf8proc knows and PCRE2, whose
 * tables may be of an older Unicode, takes for unassigned. */
#ifndef TBTUI_TEXT_TOK_NEWER_H
#define TBTUI_TEXT_TOK_NEWER_H

#include <stddef.h>

#include "src/base/buf.h"

/* Appends those that have a property ("L", "Nd", "Alphabetic", "Han") as ranges for a
 * class; nothing for other properties.  Thread-safe. */
void tok_newer_put(const char *property, size_t len, struct tb_buf *out);
#endif
