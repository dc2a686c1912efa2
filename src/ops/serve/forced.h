/* forced.h - answers that have to be a call of a tool. */
#ifndef TBTUI_OPS_SERVE_FORCED_H
#define TBTUI_OPS_SERVE_FORCED_H

#include "src/base/err.h"
#include "src/format/json.h"
#include "src/text/grammar.h"

/* Texts that are a call of one of the tools, or (name) of that one, with what its schema allows:
 * { "name": …, "arguments": … }.  TB_EUSAGE and the like: why one of them cannot be asked for. */
enum tb_status forced_grammar(struct grammar **out, const cJSON *tools, const char *name,
			      struct tb_err *err) TB_MUST_USE;
/* The call that such a text is, as a list in fresh memory; NULL: it was cut off. */
char *forced_call(const char *text, const cJSON *tools);
#endif
