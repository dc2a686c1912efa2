/* buf.h - a byte buffer that grows up to a ceiling given when it is made.
 *
 * Appending never needs a check at each call: the first failure is remembered
 * and makes every later append a no-op; ask tb_buf_failed() once at the end. */
#ifndef TBTUI_BASE_BUF_H
#define TBTUI_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct tb_buf {
	char *p;		/* always NUL-terminated at p[len] once anything was added; owned */
	size_t len, cap, max;
	bool failed, over;	/* over: because of max, not of memory */
};

#define TB_BUF(max_) ((struct tb_buf){ .max = (max_) })

void tb_buf_add(struct tb_buf *b, const void *data, size_t n);
/* The same of some bytes, a million times. */
static inline void
tb_buf_few(struct tb_buf *b, const char *data, size_t n)
{
	if (b->failed || b->cap - b->len <= n || b->max - b->len < n) {
		tb_buf_add(b, data, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		b->p[b->len++] = data[i];
	b->p[b->len] = 0;
}
void tb_buf_str(struct tb_buf *b, const char *s);
void tb_buf_chr(struct tb_buf *b, char c);
void tb_buf_printf(struct tb_buf *b, const char *fmt, ...) TB_PRINTF(2, 3);
void tb_buf_clear(struct tb_buf *b);	/* keeps the memory */
bool tb_buf_failed(const struct tb_buf *b);
/* The same as an error: TB_ELIMIT ("WHAT: over N bytes") or TB_ENOMEM. */
enum tb_status tb_buf_status(const struct tb_buf *b, const char *what, struct tb_err *err)
	TB_MUST_USE;
const char *tb_buf_cstr(const struct tb_buf *b);	/* "" when empty; borrowed */

/* The bytes as a string that the caller frees; empties the buffer.  NULL when
 * an append had failed. */
char *tb_buf_take(struct tb_buf *b);
void tb_buf_free(struct tb_buf *b);
#endif
