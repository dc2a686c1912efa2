#include "config.h"

#include "src/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and a NUL. */
static bool
reserve(struct tb_buf *b, size_t n)
{
	size_t want;
	char *p;

	if (b->failed)
		return false;
	if (n > b->max || b->len > b->max - n)
		return b->failed = b->over = true, false;
	if (b->p && b->cap - b->len > n)
		return true;
	want = b->cap + b->cap / 2;
	if (want < b->len + n + 1)
		want = b->len + n + 1;
	if (want < 64)
		want = 64;
	p = realloc(b->p, want);
	if (!p)
		return b->failed = true, false;
	b->p = p;
	b->cap = want;
	return true;
}

void
tb_buf_add(struct tb_buf *b, const void *data, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->p + b->len, data, n);
	b->len += n;
	b->p[b->len] = 0;
}

void
tb_buf_str(struct tb_buf *b, const char *s)
{
	tb_buf_add(b, s, strlen(s));
}

void
tb_buf_chr(struct tb_buf *b, char c)
{
	tb_buf_add(b, &c, 1);
}

void
tb_buf_printf(struct tb_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void
tb_buf_clear(struct tb_buf *b)
{
	b->len = 0;
	b->failed = b->over = false;
	if (b->p)
		*b->p = 0;
}

bool
tb_buf_failed(const struct tb_buf *b)
{
	return b->failed;
}

enum tb_status
tb_buf_status(const struct tb_buf *b, const char *what, struct tb_err *err)
{
	if (!b->failed)
		return TB_OK;
	if (!b->over)
		return tb_nomem(err);
	return tb_fail(err, TB_ELIMIT, "%s: over %zu bytes", what, b->max);
}

const char *
tb_buf_cstr(const struct tb_buf *b)
{
	return b->p ? b->p : "";
}

char *
tb_buf_take(struct tb_buf *b)
{
	char *p = b->p;

	if (b->failed) {
		tb_buf_free(b);
		return NULL;
	}
	if (!p)
		p = calloc(1, 1);
	*b = TB_BUF(b->max);
	return p;
}

void
tb_buf_free(struct tb_buf *b)
{
	free(b->p);
	*b = TB_BUF(b->max);
}
