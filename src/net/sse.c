#include "config.h"

#include "src/net/sse.h"

#include <string.h>

void
sse_init(struct sse *s, size_t max, sse_fn *fn, void *arg)
{
	*s = (struct sse){ .line = TB_BUF(max), .data = TB_BUF(max), .event = TB_BUF(1024),
			   .fn = fn, .arg = arg };
}

void
sse_free(struct sse *s)
{
	tb_buf_free(&s->line);
	tb_buf_free(&s->data);
	tb_buf_free(&s->event);
}

static enum tb_status
dispatch(struct sse *s, struct tb_err *err)
{
	enum tb_status status = tb_buf_status(&s->data, "an event of the server", err);

	if (!status && s->any)
		status = s->fn(s->arg, tb_buf_cstr(&s->event), tb_buf_cstr(&s->data), s->data.len, err);
	tb_buf_clear(&s->data);
	tb_buf_clear(&s->event);
	s->any = false;
	return status;
}

/* A line without its end: a field, a comment (":..."), or the end of an event. */
static enum tb_status
line(struct sse *s, const char *p, size_t n, struct tb_err *err)
{
	const char *colon = memchr(p, ':', n);
	size_t name = colon ? (size_t)(colon - p) : n, at = colon ? name + 1 : n;

	s->lines++;
	if (!n)
		return dispatch(s, err);
	at += at < n && p[at] == ' ';
	if (name == 4 && !memcmp(p, "data", 4)) {
		if (s->any)
			tb_buf_chr(&s->data, '\n');
		tb_buf_add(&s->data, p + at, n - at);
		s->any = true;
	} else if (name == 5 && !memcmp(p, "event", 5)) {
		tb_buf_clear(&s->event);
		tb_buf_add(&s->event, p + at, n - at);
	}
	return tb_buf_status(&s->data, "an event of the server", err);
}

static enum tb_status
whole_line(struct sse *s, struct tb_err *err)
{
	const char *p = tb_buf_cstr(&s->line);
	size_t n = s->line.len, mark = 0;
	enum tb_status status = tb_buf_status(&s->line, "a line of the server", err);

	if (!s->began && n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		mark = 3;
	s->began = true;
	if (!status)
		status = line(s, p + mark, n - mark, err);
	tb_buf_clear(&s->line);
	return status;
}

enum tb_status
sse_feed(struct sse *s, const char *p, size_t n, struct tb_err *err)
{
	const char *end = p + n;
	enum tb_status status = TB_OK;

	while (p < end && !status) {
		const char *stop = p;

		if (s->cr && *p == '\n') {
			s->cr = false;
			p++;
			continue;
		}
		s->cr = false;
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		tb_buf_add(&s->line, p, (size_t)(stop - p));
		if (stop == end)
			return tb_buf_status(&s->line, "a line of the server", err);
		s->cr = *stop == '\r';
		p = stop + 1;
		status = whole_line(s, err);
	}
	return status;
}

enum tb_status
sse_end(struct sse *s, struct tb_err *err)
{
	tb_buf_clear(&s->line);
	return dispatch(s, err);
}
