#include "config.h"

#include "src/net/stretch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

#define STALL_SECONDS 30		/* that nothing may come for */
#define SKIP_MAX (1u << 20)		/* bytes before those wanted, of a server without ranges */

static bool
wants_all(const struct stretch *s)
{
	return !s->off && s->len == s->size;
}

/* "bytes FIRST-LAST/SIZE", where SIZE may be "*". */
static bool
parse_content_range(const char *s, uint64_t *first, uint64_t *last, uint64_t *size)
{
	char a[24], b[24], c[24];

	if (sscanf(s, "bytes %23[0-9]-%23[0-9]/%23[0-9*]", a, b, c) != 3)
		return false;
	*size = UINT64_MAX;
	return tb_parse_u64(a, first) && tb_parse_u64(b, last) &&
	       (!strcmp(c, "*") || tb_parse_u64(c, size));
}

static enum tb_status
other_size(const struct stretch *s, uint64_t size, struct tb_err *err)
{
	return tb_fail(err, TB_EFORMAT, "%s: %.200s: it has %" PRIu64 " bytes there, not the %" PRIu64
		       " of %s", s->host, s->what, size, s->size, s->said_by);
}

/* 206: is that the part that was asked for?  It may be shorter. */
static enum tb_status
check_part(const struct stretch *s, const struct http_answer *a, struct tb_err *err)
{
	const char *said = http_header(a, "Content-Range");
	uint64_t first, last, size;

	if (!said || !parse_content_range(said, &first, &last, &size))
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: a part without saying which", s->host,
			       s->what);
	if (size != UINT64_MAX && size != s->size)
		return other_size(s, size, err);
	if (first != s->off || last < first || last - first >= s->len)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: bytes %" PRIu64 "-%" PRIu64 " came, asked"
			       " for were %" PRIu64 "-%" PRIu64, s->host, s->what, first, last,
			       s->off, s->off + s->len - 1);
	return TB_OK;
}

static enum tb_status
stretch_begin(void *arg, const struct http_answer *a, struct tb_err *err)
{
	struct stretch *s = arg;
	const char *length = http_header(a, "Content-Length");
	uint64_t n;

	if (a->status == 206 && !wants_all(s))
		return check_part(s, a, err);
	if (a->status != 200)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: answered with %d", s->host, s->what,
			       a->status);
	if (length && tb_parse_u64(length, &n) && n != s->size)
		return other_size(s, n, err);
	s->skip = s->off;
	s->exact = wants_all(s);
	s->whole = s->off > SKIP_MAX;
	if (s->whole)
		return tb_fail(err, TB_EUNSUP, "%s: %.200s: no parts of it can be had, only all of it",
			       s->host, s->what);
	return TB_OK;
}

static enum tb_status
stretch_piece(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct stretch *s = arg;
	uint64_t left = s->len - s->given;
	size_t skipped = n < s->skip ? n : (size_t)s->skip;
	enum tb_status status;

	s->skip -= skipped;
	p += skipped;
	n -= skipped;
	if (n > left && s->exact)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: more bytes came than there should be",
			       s->host, s->what);
	n = n > left ? (size_t)left : n;
	if (!n)
		return TB_OK;
	s->given += n;
	status = s->fn(s->arg, p, n, enough, err);
	s->enough = *enough;
	*enough |= !s->exact && s->given == s->len;
	return status;
}

void
stretch_ask(struct stretch *s, struct http_ask *ask)
{
	s->skip = 0;
	s->exact = true;
	s->enough = s->whole = false;
	snprintf(s->range, sizeof(s->range), "Range: bytes=%" PRIu64 "-%" PRIu64, s->off,
		 s->off + s->len - 1);
	s->headers[0] = "Accept-Encoding: identity";
	s->headers[1] = wants_all(s) ? NULL : s->range;
	s->headers[2] = NULL;
	ask->headers = s->headers;
	ask->idle = STALL_SECONDS;
	ask->max = UINT64_MAX;
	ask->begin = stretch_begin;
	ask->fn = stretch_piece;
	ask->arg = s;
}

enum tb_status
stretch_end(const struct stretch *s, const struct http_answer *a, enum tb_status status,
	    struct http_fate *fate, struct tb_err *err)
{
	*fate = http_fate(a, status);
	fate->whole = s->whole;
	if (status)
		return status;
	if (a->status == 416)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: it is shorter there than %s says", s->host,
			       s->what, s->said_by);
	if (!http_well(a) || s->enough || s->given == s->len)
		return TB_OK;
	fate->again = true;
	return tb_fail(err, TB_EIO, "%s: %.200s: ended after %" PRIu64 " of %" PRIu64 " bytes", s->host,
		       s->what, s->given, s->len);
}
