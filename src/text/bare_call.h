/* bare_call.h - private to src/text: call:f{a:1,b:<|"|>x<|"|>} as some models call tools. */
#ifndef TBTUI_TEXT_BARE_CALL_H
#define TBTUI_TEXT_BARE_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"

/* What stands between braces there as JSON, appended: keys have no quotes, or those of texts, which
 * end nowhere but there.  The bytes that it is; 0: it is none. */
size_t bare_object(const char *s, size_t len, struct tb_buf *json);
#endif
