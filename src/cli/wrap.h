/* wrap.h - text that comes in pieces, in lines of whole words. */
#ifndef TBTUI_CLI_WRAP_H
#define TBTUI_CLI_WRAP_H

#include <stddef.h>

#include "src/base/buf.h"

struct wrap {
	size_t columns;		/* SIZE_MAX: nothing is wrapped */
	size_t col;		/* where the next word begins */
	size_t blanks;		/* since the last word: shown if the next one fits behind them */
	struct tb_buf word;	/* what has come of it; owned */
};
#define WRAP(columns) { (columns), 0, 0, TB_BUF(1u << 20) }

/* Appends to *out what is settled; the last word may go on and waits.  text is clean
 * (tb_text_clean_lines()) and of whole characters. */
void wrap_add(struct wrap *w, const char *text, size_t len, struct tb_buf *out);
/* The last word; the next text begins a line. */
void wrap_end(struct wrap *w, struct tb_buf *out);
#endif
