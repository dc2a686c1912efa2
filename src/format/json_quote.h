/* json_quote.h - strings as Go's JSON encoder writes them, for files that have to
 * equal Ollama's byte for byte.  Private to src/format. */
#ifndef TBTUI_FORMAT_JSON_QUOTE_H
#define TBTUI_FORMAT_JSON_QUOTE_H

#include "src/base/buf.h"

/* With quotes around it; also safe inside HTML (< > & and the line separators are
 * escaped).  Bytes that are not UTF-8 become \ufffd. */
void json_quote_go(struct tb_buf *out, const char *s);
#endif
