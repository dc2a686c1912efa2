/* bundle_read.c - an archive from its beginning to its end, once: what the list says is there,
 * in that order, byte for byte, and nothing else. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/text.h"
#include "src/format/tar.h"
#include "src/ops/bundle/bundle_parts.h"

#define CHUNK (1u << 20)

struct reader {
	const struct bundle_source *src;
	const struct bundle_sink *sink;
	struct tb_job *job;
	struct bundle *b;
	char *buf;			/* CHUNK bytes; owned */
	size_t at, have;
	size_t next;			/* the member that is expected */
	char list_digest[TB_DIGEST_MAX];
	bool cut;			/* it ended where it should not */
	struct tar_head head;		/* of what is read now */
};

/* At least one byte in the buffer, or *more is false at the end. */
static enum tb_status
fill(struct reader *r, bool *more, struct tb_err *err)
{
	ssize_t n = 1;

	if (r->at == r->have) {
		enum tb_status status = tb_job_check(r->job, err);

		if (status)
			return status;
		do
			n = read(r->src->fd, r->buf, CHUNK);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return tb_fail_errno(err, "%s: cannot be read", r->src->what);
		r->at = 0;
		r->have = (size_t)n;
	}
	*more = n > 0;
	return TB_OK;
}

/* Up to max bytes where they lie; *n is 0 at the end alone. */
static enum tb_status
some(struct reader *r, uint64_t max, const char **p, size_t *n, struct tb_err *err)
{
	bool more;
	enum tb_status status = fill(r, &more, err);

	*p = r->buf + r->at;
	*n = r->have - r->at < max ? r->have - r->at : (size_t)max;
	r->at += status ? 0 : *n;
	return status;
}

static enum tb_status
exactly(struct reader *r, void *out, size_t len, size_t *got, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const char *p;
	size_t n;

	for (*got = 0; *got < len && !status; *got += n) {
		status = some(r, len - *got, &p, &n, err);
		if (status || !n)
			break;
		memcpy((char *)out + *got, p, n);
	}
	return status;
}

static enum tb_status
wrong(struct reader *r, const char *member, struct tb_err *err, const char *fmt, ...)
	TB_PRINTF(4, 5);
static enum tb_status
wrong(struct reader *r, const char *member, struct tb_err *err, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return r->sink->wrong(r->sink->arg, member, why, err);
}

/* What else there should be. */
static enum tb_status
ends_here(struct reader *r, const char *member, uint64_t lacks, struct tb_err *err)
{
	size_t rest = r->b->nmembers > r->next ? r->b->nmembers - r->next : 0;
	char behind[80] = "";

	r->cut = true;
	if (rest)
		snprintf(behind, sizeof(behind), ", and %zu member%s behind it", rest, tb_plural(rest));
	if (lacks)
		return wrong(r, member, err, "the bundle is cut: the last %ju bytes are missing%s",
			     (uintmax_t)lacks, behind);
	return wrong(r, member, err, "the bundle is cut: it is missing%s", behind);
}

/* Zeros up to the next block. */
static enum tb_status
padding(struct reader *r, const char *member, uint64_t size, struct tb_err *err)
{
	size_t n = tar_padding(size), got;
	char rest[TAR_BLOCK];
	enum tb_status status = exactly(r, rest, n, &got, err);

	if (status)
		return status;
	if (got < n)
		return ends_here(r, member, n - got, err);
	for (size_t i = 0; i < n; i++)
		if (rest[i])
			return wrong(r, member, err, "there are other bytes than zeros behind it");
	return TB_OK;
}

static enum tb_status
skip(struct reader *r, const char *member, uint64_t size, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const char *p;
	size_t n;

	for (uint64_t at = 0; at < size && !status; at += n) {
		status = some(r, size - at, &p, &n, err);
		if (!status && !n)
			return ends_here(r, member, size - at, err);
	}
	return status ? status : padding(r, member, size, err);
}

/* Records that say something of the header behind them. */
static enum tb_status
read_records(struct reader *r, const char *member, uint64_t size, struct tar_pax *pax,
	     struct tb_err *err)
{
	char *text = malloc(TAR_PAX_MAX);
	enum tb_status status;
	size_t got;

	if (!text)
		return tb_nomem(err);
	if (size > TAR_PAX_MAX) {
		free(text);
		status = wrong(r, member, err, "records of %ju bytes before it", (uintmax_t)size);
		return status ? status : skip(r, member, size, err);
	}
	status = exactly(r, text, (size_t)size, &got, err);
	if (!status && got < size)
		status = ends_here(r, member, size - got, err);
	else if (!status && !tar_pax(text, got, pax))
		status = wrong(r, member, err, "the records before it are damaged");
	if (!status && !r->cut)
		status = padding(r, member, size, err);
	free(text);
	return status;
}

/* The next header with what records say of it in r->head; a damaged one counts as that of
 * `member`, which has `size` bytes.  *zeros: the archive ends here. */
static enum tb_status
next_head(struct reader *r, const char *member, uint64_t size, bool *zeros, struct tb_err *err)
{
	struct tar_pax pax = { 0 };
	uint8_t block[TAR_BLOCK];
	struct tb_buf usual = TB_BUF(2 * TAR_PAX_MAX);
	enum tb_status status = TB_OK;
	size_t got;

	for (*zeros = false; !status && !r->cut;) {
		status = exactly(r, block, TAR_BLOCK, &got, err);
		if (status)
			break;
		if (got < TAR_BLOCK) {
			status = ends_here(r, member, 0, err);
			break;
		}
		switch (tar_parse(block, &r->head)) {
		case TAR_ZEROS:
			*zeros = true;
			return TB_OK;
		case TAR_DAMAGED:
			tar_put(&usual, member, size, 0);
			got = usual.len > TAR_BLOCK ? usual.len - TAR_BLOCK : 0;
			tb_buf_free(&usual);
			snprintf(r->head.path, sizeof(r->head.path), "%s", member);
			r->head.size = size;
			r->head.type = '0';
			status = wrong(r, member, err, "its header is damaged");
			return status ? status : skip(r, member, got, err);
		default:
			if (r->head.type != 'x' && r->head.type != 'g')
				goto found;
			status = read_records(r, member, r->head.size, &pax, err);
		}
	}
	return status;
found:
	if (*pax.path)
		memcpy(r->head.path, pax.path, sizeof(pax.path));
	if (pax.sized)
		r->head.size = pax.size;
	return TB_OK;
}

/* ---- the list ---- */

static enum tb_status
read_list(struct reader *r, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(BUNDLE_LIST_MAX);
	const char *what = r->src->what, *p;
	uint8_t block[TAR_BLOCK];
	enum tb_status status;
	char where[400];
	size_t n;

	status = exactly(r, block, TAR_BLOCK, &n, err);
	if (status)
		return status;
	if (n < TAR_BLOCK || tar_parse(block, &r->head) != TAR_HEAD ||
	    strcmp(r->head.path, BUNDLE_LIST) != 0 || r->head.type != '0')
		return tb_fail(err, TB_EFORMAT, "%s: is no bundle: it does not begin with "
			       BUNDLE_LIST, what);
	if (r->head.size > BUNDLE_LIST_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: its list has %ju bytes", what,
			       (uintmax_t)r->head.size);
	for (uint64_t at = 0; at < r->head.size && !status; at += n) {
		status = some(r, r->head.size - at, &p, &n, err);
		if (!status && !n)
			status = tb_fail(err, TB_EFORMAT, "%s: " BUNDLE_LIST ": the bundle is cut there",
					 what);
		if (!status)
			tb_buf_add(&text, p, n);
	}
	if (!status)
		status = tb_buf_status(&text, what, err);
	snprintf(where, sizeof(where), "%.300s: " BUNDLE_LIST, what);
	if (!status)
		status = tb_sha256_bytes(tb_buf_cstr(&text), text.len, r->list_digest, err);
	if (!status)
		status = bundle_parse(r->b, tb_buf_cstr(&text), text.len, where, err);
	tb_buf_free(&text);
	return status ? status : padding(r, BUNDLE_LIST, r->head.size, err);
}

/* ---- members ---- */

static enum tb_status
read_bytes(struct reader *r, const struct bundle_member *m, bool *right, struct tb_err *err)
{
	const struct bundle_sink *s = r->sink;
	char digest[TB_DIGEST_MAX];
	struct tb_sha256 sha = { 0 };
	enum tb_status status = tb_sha256_init(&sha, err);
	const char *p;
	size_t n;

	tb_job_what(r->job, "%s", m->path);
	*right = false;
	for (uint64_t at = 0; at < m->size && !status; at += n) {
		status = some(r, m->size - at, &p, &n, err);
		if (!status && !n) {
			tb_sha256_free(&sha);
			return ends_here(r, m->path, m->size - at, err);
		}
		if (!status) {
			tb_sha256_add(&sha, p, n);
			tb_job_step(r->job, n, 0);
			status = s->bytes ? s->bytes(s->arg, p, n, err) : TB_OK;
		}
	}
	if (status) {
		tb_sha256_free(&sha);
		return status;
	}
	tb_sha256_done(&sha, digest);
	tb_job_step(r->job, 0, 1);
	*right = !strcmp(digest, m->digest);
	if (!*right)
		status = wrong(r, m->path, err, "its bytes are damaged: their SHA-256 is %.12s…, not "
			       "%.12s…", digest + 7, m->digest + 7);
	return status;
}

static enum tb_status
read_member(struct reader *r, const struct bundle_member *m, struct tb_err *err)
{
	const struct bundle_sink *s = r->sink;
	enum tb_status status;
	bool right;

	if (r->head.size != m->size) {
		status = wrong(r, m->path, err, "has %ju bytes, the list says %ju",
			       (uintmax_t)r->head.size, (uintmax_t)m->size);
		return status ? status : skip(r, m->path, r->head.size, err);
	}
	status = s->begin ? s->begin(s->arg, m, err) : TB_OK;
	if (!status)
		status = read_bytes(r, m, &right, err);
	if (!status && right && s->end)
		status = s->end(s->arg, m, err);
	return status || r->cut ? status : padding(r, m->path, m->size, err);
}

/* What is in the archive instead of the next member. */
static enum tb_status
other_member(struct reader *r, const struct bundle_member *found, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (r->head.type != '0')
		status = wrong(r, r->head.path, err, "is no file: a bundle has no links, folders or "
			       "devices");
	else if (!found)
		status = wrong(r, r->head.path, err, "is not in the list");
	else if (found < r->b->members + r->next)
		status = wrong(r, r->head.path, err, "is there twice, or not in its place");
	else
		for (; r->b->members + r->next < found && !status; r->next++)
			status = wrong(r, r->b->members[r->next].path, err, "is not there");
	return status;
}

static enum tb_status
read_members(struct reader *r, bool *zeros, struct tb_err *err)
{
	const struct bundle *b = r->b;
	enum tb_status status = TB_OK;

	while (r->next < b->nmembers && !status && !r->cut) {
		const struct bundle_member *m = &b->members[r->next++], *found;

		status = next_head(r, m->path, m->size, zeros, err);
		if (status || r->cut)
			break;
		r->next--;
		if (*zeros || !strcmp(r->head.path, BUNDLE_SUMS)) {
			for (; r->next < b->nmembers && !status; r->next++)
				status = wrong(r, b->members[r->next].path, err, "is not there");
			return status ? status : TB_OK;
		}
		found = r->head.type == '0' ? bundle_find(b, r->head.path) : NULL;
		if (found != m)
			status = other_member(r, found, err);
		if (status)
			break;
		if (found && found == b->members + r->next) {
			r->next++;
			status = read_member(r, found, err);
		} else {
			status = skip(r, r->head.path, r->head.size, err);
		}
		*r->head.path = 0;
	}
	return status;
}

/* ---- the end ---- */

static enum tb_status
read_sums(struct reader *r, const struct tb_buf *want, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool same = r->head.size == want->len;
	const char *p;
	size_t n;

	for (uint64_t at = 0; at < r->head.size && !status; at += n) {
		status = some(r, r->head.size - at, &p, &n, err);
		if (!status && !n)
			return ends_here(r, BUNDLE_SUMS, r->head.size - at, err);
		same = same && !status && at + n <= want->len && !memcmp(p, want->p + at, n);
	}
	if (!status && !same)
		status = wrong(r, BUNDLE_SUMS, err, "does not say what " BUNDLE_LIST " says: one of the "
			       "two is damaged");
	return status ? status : padding(r, BUNDLE_SUMS, r->head.size, err);
}

/* Two blocks of zeros, one of which was read if `zeros`, and zeros alone behind them. */
static enum tb_status
read_end(struct reader *r, bool zeros, struct tb_err *err)
{
	static const char none[TAR_BLOCK];
	enum tb_status status = TB_OK;
	bool clean = true;
	uint64_t all = zeros ? TAR_BLOCK : 0;
	const char *p;
	size_t n = 1;

	while (n && !status) {
		status = some(r, TAR_BLOCK, &p, &n, err);
		clean = clean && !status && !memcmp(p, none, n);
		all += n;
	}
	if (status)
		return status;
	if (!clean)
		return wrong(r, "end", err, "there are other bytes than zeros behind the last member");
	return all < 2 * TAR_BLOCK ? wrong(r, "end", err, "the bundle is cut behind its last member")
				   : TB_OK;
}

static enum tb_status
read_rest(struct reader *r, bool zeros, struct tb_err *err)
{
	struct tb_buf sums = TB_BUF(BUNDLE_LIST_MAX);
	enum tb_status status;

	bundle_sums(r->b, r->list_digest, &sums);
	status = tb_buf_status(&sums, BUNDLE_SUMS, err);
	while (!status && !r->cut && !zeros) {
		if (strcmp(r->head.path, BUNDLE_SUMS) != 0) {
			status = next_head(r, BUNDLE_SUMS, sums.len, &zeros, err);
			if (status || r->cut || zeros)
				break;
		}
		if (!strcmp(r->head.path, BUNDLE_SUMS) && r->head.type == '0') {
			status = read_sums(r, &sums, err);
			tb_buf_free(&sums);
			return status || r->cut ? status : read_end(r, false, err);
		}
		status = other_member(r, NULL, err);
		if (!status)
			status = skip(r, r->head.path, r->head.size, err);
		*r->head.path = 0;
	}
	tb_buf_free(&sums);
	if (!status && zeros)
		status = wrong(r, BUNDLE_SUMS, err, "is not there");
	return status || r->cut ? status : read_end(r, zeros, err);
}

enum tb_status
bundle_walk(const struct bundle_source *src, const struct bundle_sink *sink, bool list_only,
	    struct tb_job *job, struct bundle *out, struct tb_err *err)
{
	struct reader r = { .src = src, .sink = sink, .job = job, .b = out, .buf = malloc(CHUNK) };
	enum tb_status status;
	bool zeros = false;

	*out = (struct bundle){ 0 };
	status = r.buf ? read_list(&r, err) : tb_nomem(err);
	*r.head.path = 0;
	if (!status && !list_only) {
		tb_job_total(job, out->bytes, out->nmembers);
		if (sink->list)
			status = sink->list(sink->arg, out, err);
		if (!status && !r.cut)
			status = read_members(&r, &zeros, err);
		if (!status && !r.cut)
			status = read_rest(&r, zeros, err);
	}
	free(r.buf);
	if (status)
		bundle_free(out);
	return status;
}

bool
bundle_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t block[TAR_BLOCK];
	struct tar_head h;
	bool is = fd >= 0 && pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block) &&
		  tar_parse(block, &h) == TAR_HEAD && !strcmp(h.path, BUNDLE_LIST);

	if (fd >= 0)
		close(fd);
	return is;
}
