#include "config.h"

#include "src/format/gguf_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"

#define WINDOW (256u << 10)

enum tb_status
gguf_cursor_file(struct gguf_cursor *c, const struct tb_file *f, struct tb_err *err)
{
	size_t n = f->id.size < WINDOW ? (size_t)f->id.size : WINDOW;

	*c = (struct gguf_cursor){ .f = f, .size = f->id.size, .path = f->path };
	c->win = c->buf = malloc(n ? n : 1);
	return c->buf ? TB_OK : tb_nomem(err);
}

void
gguf_cursor_memory(struct gguf_cursor *c, const void *p, size_t n, uint64_t size,
		   const char *path)
{
	*c = (struct gguf_cursor){ .win = p, .win_len = n, .size = size, .path = path };
}

void
gguf_cursor_free(struct gguf_cursor *c)
{
	free(c->buf);
	c->buf = NULL;
}

static enum tb_status
cursor_check(const struct gguf_cursor *c, uint64_t n, const char *what, struct tb_err *err)
{
	if (n <= c->size - c->at)
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "%.200s: %.120s: needs %ju bytes at offset %ju, the file"
		       " ends at %ju", c->path, what, (uintmax_t)n, (uintmax_t)c->at,
		       (uintmax_t)c->size);
}

/* Moves the window so that it begins where the cursor is, which is inside the file. */
static enum tb_status
refill(struct gguf_cursor *c, struct tb_err *err)
{
	uint64_t left = c->size - c->at;
	enum tb_status status;
	size_t n;

	if (!c->f)
		return tb_fail(err, TB_EFORMAT, "%.200s: metadata beyond offset %ju",
			       c->path, (uintmax_t)c->at);
	c->win_len = 0;
	c->win_off = c->at;
	if (left > WINDOW)
		left = WINDOW;
	n = (size_t)left;
	status = tb_file_afford(c->f, c->at, 1, &n, err);
	if (!status)
		status = tb_file_read(c->f, c->at, c->buf, n, err);
	c->win_len = status ? 0 : n;
	return status;
}

enum tb_status
gguf_bytes(struct gguf_cursor *c, void *out, size_t n, const char *what, struct tb_err *err)
{
	enum tb_status status = cursor_check(c, n, what, err);
	uint8_t *to = out;

	while (!status && n) {
		uint64_t skip = c->at - c->win_off;
		size_t have;

		if (c->at < c->win_off || skip >= c->win_len) {
			status = refill(c, err);
			continue;
		}
		have = c->win_len - (size_t)skip < n ? c->win_len - (size_t)skip : n;
		memcpy(to, c->win + skip, have);
		to += have;
		c->at += have;
		n -= have;
	}
	return status;
}

enum tb_status
gguf_skip(struct gguf_cursor *c, uint64_t n, const char *what, struct tb_err *err)
{
	enum tb_status status = cursor_check(c, n, what, err);

	if (!status)
		c->at += n;
	return status;
}

enum tb_status
gguf_number(struct gguf_cursor *c, unsigned bytes, uint64_t *out, const char *what,
	    struct tb_err *err)
{
	uint8_t raw[8];
	enum tb_status status = gguf_bytes(c, raw, bytes, what, err);

	*out = 0;
	for (unsigned i = bytes; !status && i-- > 0;)
		*out = *out << 8 | raw[i];
	return status;
}
