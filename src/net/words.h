/* words.h - what a server says of its own when it refuses. */
#ifndef TBTUI_NET_WORDS_H
#define TBTUI_NET_WORDS_H

#include "src/net/http.h"

/* In a person's words, cleaned, at most so many columns; nothing where it has none, a page of HTML
 * for instance. */
void server_words(const struct http_answer *a, unsigned columns, struct tb_buf *out);
#endif
