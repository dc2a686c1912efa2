/* base64.h - bytes as letters, for a terminal. */
#ifndef TBTUI_BASE_BASE64_H
#define TBTUI_BASE_BASE64_H

#include <stddef.h>

struct tb_buf;

void tb_base64(struct tb_buf *out, const void *data, size_t len);
#endif
