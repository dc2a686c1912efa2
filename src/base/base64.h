/* base64.h - bytes as letters, and back. */
#ifndef TBTUI_BASE_BASE64_H
#define TBTUI_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

struct tb_buf;

void tb_base64(struct tb_buf *out, const void *data, size_t len);
/* The way back, line ends and blanks between left out; false: it is none.  What is missing of
 * the "=" at its end is forgiven. */
bool tb_base64_read(struct tb_buf *out, const char *text, size_t len);
#endif
