/* registry_blob.c - the bytes of a blob, or some of them. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/registry_parts.h"

#define STALL_SECONDS 30		/* that nothing may come for */
#define SKIP_MAX (1u << 20)		/* bytes before those wanted, of a server without ranges */

/* An answer as it comes. */
struct blob_stream {
	const struct registry_range *want;
	const struct registry_at *place;
	struct registry_fate *fate;
	http_body_fn *fn;
	void *arg;
	uint64_t skip;			/* bytes that come before those wanted */
	uint64_t given;
	bool exact;			/* nothing should come behind what is wanted */
	bool enough;			/* fn has */
};

static bool
is_whole(const struct registry_range *w)
{
	return !w->off && w->len == w->size;
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
other_size(const struct blob_stream *s, uint64_t size, struct tb_err *err)
{
	return tb_fail(err, TB_EFORMAT, "%s: %s: it has %" PRIu64 " bytes there, not the %" PRIu64
		       " of its manifest", s->place->host, s->want->digest, size, s->want->size);
}

/* 206: is that the part that was asked for? */
static enum tb_status
check_part(const struct blob_stream *s, const struct http_answer *a, struct tb_err *err)
{
	const struct registry_range *w = s->want;
	const char *said = http_header(a, "Content-Range");
	uint64_t first, last, size;

	if (!said || !parse_content_range(said, &first, &last, &size))
		return tb_fail(err, TB_EFORMAT, "%s: %s: a part without saying which", s->place->host,
			       w->digest);
	if (size != UINT64_MAX && size != w->size)
		return other_size(s, size, err);
	if (first != w->off || last < first || last >= w->off + w->len)
		return tb_fail(err, TB_EFORMAT, "%s: %s: bytes %" PRIu64 "-%" PRIu64 " came, asked"
			       " for were %" PRIu64 "-%" PRIu64, s->place->host, w->digest, first, last,
			       w->off, w->off + w->len - 1);
	return TB_OK;
}

static enum tb_status
blob_begin(void *arg, const struct http_answer *a, struct tb_err *err)
{
	struct blob_stream *s = arg;
	const struct registry_range *w = s->want;
	const char *length = http_header(a, "Content-Length");
	uint64_t n;

	if (a->status == 206 && !is_whole(w))
		return check_part(s, a, err);
	if (a->status != 200)
		return tb_fail(err, TB_EFORMAT, "%s: %s: answered with %d", s->place->host, w->digest,
			       a->status);
	if (length && tb_parse_u64(length, &n) && n != w->size)
		return other_size(s, n, err);
	s->skip = w->off;
	s->exact = is_whole(w);
	s->fate->whole = w->off > SKIP_MAX;
	if (s->fate->whole)
		return tb_fail(err, TB_EUNSUP, "%s: %s: no parts of it can be had, only all of it",
			       s->place->host, w->digest);
	return TB_OK;
}

static enum tb_status
blob_piece(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct blob_stream *s = arg;
	uint64_t left = s->want->len - s->given;
	size_t skipped = n < s->skip ? n : (size_t)s->skip;
	enum tb_status status;

	s->skip -= skipped;
	p += skipped;
	n -= skipped;
	if (n > left && s->exact)
		return tb_fail(err, TB_EFORMAT, "%s: %s: more bytes came than there should be",
			       s->place->host, s->want->digest);
	n = n > left ? (size_t)left : n;
	if (!n)
		return TB_OK;
	s->given += n;
	status = s->fn(s->arg, p, n, enough, err);
	s->enough = *enough;
	*enough |= !s->exact && s->given == s->want->len;
	return status;
}

/* What the answer's end means. */
static enum tb_status
blob_end(const struct blob_stream *s, const struct http_answer *a, struct tb_err *err)
{
	const struct registry_range *w = s->want;

	if (a->status == 416)
		return tb_fail(err, TB_EFORMAT, "%s: %s: it is shorter there than its manifest says",
			       s->place->host, w->digest);
	if (a->status < 200 || a->status > 299)
		return place_error(s->place, a, w->digest, err);
	if (s->enough || s->given == w->len)
		return TB_OK;
	s->fate->again = true;
	return tb_fail(err, TB_EIO, "%s: %s: ended after %" PRIu64 " of %" PRIu64 " bytes",
		       s->place->host, w->digest, s->given, w->len);
}

static enum tb_status
blob_from(struct registry *r, struct registry_at *p, struct http *h, struct blob_stream *s,
	  const char *where, struct tb_job *job, struct tb_err *err)
{
	const struct registry_range *w = s->want;
	char range[64];
	const char *headers[] = { is_whole(w) ? NULL : range, NULL };
	const struct http_ask ask = { .headers = headers, .idle = STALL_SECONDS, .max = UINT64_MAX,
				      .begin = blob_begin, .fn = blob_piece, .arg = s };
	struct http_answer a = { 0 };
	enum tb_status status;

	snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-%" PRIu64, w->off,
		 w->off + w->len - 1);
	s->place = p;
	s->skip = 0;
	s->exact = true;
	*s->fate = (struct registry_fate){ 0 };
	status = place_ask(r, p, h, where, "pull", &ask, job, &a, err);
	s->fate->again = http_again(&a, status);
	s->fate->retry_after = a.retry_after;
	if (!status)
		status = blob_end(s, &a, err);
	http_answer_free(&a);
	return status;
}

void
registry_leave_mirrors(struct registry *r)
{
	for (size_t i = 0; i + 1 < r->nplaces; i++)
		atomic_store(&r->places[i].down, true);
}

enum tb_status
registry_blob(struct registry *r, struct http *h, const struct registry_range *want,
	      http_body_fn *fn, void *arg, struct tb_job *job, struct registry_fate *fate,
	      struct tb_err *err)
{
	struct blob_stream s = { .want = want, .fn = fn, .arg = arg, .fate = fate };
	char *where = tb_asprintf("blobs/%s", want->digest);
	enum tb_status status = where ? TB_EIO : tb_nomem(err);

	*fate = (struct registry_fate){ 0 };
	for (size_t i = 0; where && i < r->nplaces; i++) {
		struct registry_at *p = &r->places[i];

		if (i + 1 < r->nplaces && atomic_load(&p->down))
			continue;
		status = blob_from(r, p, h, &s, where, job, err);
		/* what came counts; who asks goes on behind it */
		if (!status || status == TB_ECANCEL || s.given || i + 1 == r->nplaces)
			break;
		if (fate->again)
			atomic_store(&p->down, true);
	}
	free(where);
	return status;
}
