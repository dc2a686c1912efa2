/* tool_calls.h - calls of tools as models write them, in any of the usual forms, as one. */
#ifndef TBTUI_TEXT_TOOL_CALLS_H
#define TBTUI_TEXT_TOOL_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/format/json.h"

/* Appends what is called in s to `calls`, a list: { "id", "type": "function", "function": {
 * "name", "arguments": { … } } }.  tools: those that there are; with `known` only they may be
 * called.  false: there is no call in it, or something beside calls; nothing is appended. */
bool tool_calls_read(const char *s, size_t len, const cJSON *tools, bool known, cJSON *calls);
#endif
