/* python_call.h - private to src/text: [f(a=1, b='x'), g()] as some models call tools. */
#ifndef TBTUI_TEXT_PYTHON_CALL_H
#define TBTUI_TEXT_PYTHON_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/format/json.h"

/* Takes the arguments. false: stop, it is no call. */
typedef bool python_call_fn(void *arg, const char *name, size_t len, cJSON *arguments);
/* s is nothing but calls: in a list or alone.  It is read as a whole before fn is called. */
bool python_calls(const char *s, size_t len, python_call_fn *fn, void *arg);
#endif
