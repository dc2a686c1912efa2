/* upload_ollama.c - how Ollama's registry takes blobs: elsewhere, without a word of who sends them. */
#include "config.h"

#include "src/net/upload_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"

#define SIGNED "X-Signed-Header-"
#define SIGNED_MAX 32u

/* ---- the whole ---- */

/* What the registry says is to be sent with it, but for what is not its to say. */
static bool
is_header(const char *line)
{
	static const char *const not[] = { "authorization", "cookie", "proxy-", "content-length",
					   "transfer-encoding", "connection", "expect" };
	const char *colon = strchr(line, ':');

	if (!colon || colon == line)
		return false;
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		if (!strncasecmp(line, not[i], strlen(not[i])))
			return false;
	return strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
	       (size_t)(colon - line);
}

enum tb_status
upload_direct(struct upload_run *run, const struct http_answer *begun, struct tb_err *err)
{
	const char *headers[SIGNED_MAX + 1] = { NULL };
	const char *line = tb_buf_cstr(&begun->headers), *end = line + begun->headers.len;
	struct http_ask ask = { .method = "PUT", .headers = headers, .idle = UPLOAD_SETTLE };
	struct http_answer a;
	char *url;
	size_t n = 0;
	enum tb_status status = http_header_url(begun, "X-Direct-Upload-URL", &url, err);

	if (status)
		return status;
	if (run->u->told.keep)		/* it is all or nothing */
		run->u->told.keep(run->u->told.arg, NULL);
	for (; line < end && n < SIGNED_MAX; line += strlen(line) + 1)
		if (!strncasecmp(line, SIGNED, strlen(SIGNED)) && is_header(line + strlen(SIGNED)))
			headers[n++] = line + strlen(SIGNED);
	run->begin = 0;
	run->end = run->u->size;
	upload_body(run, &ask);
	status = upload_ask(run, url, &ask, &a, err);
	free(url);
	if (status)
		return status;
	if (http_well(&a))
		run->there = run->u->size;
	else
		status = upload_refused(run, &a, err);
	http_answer_free(&a);
	return status;
}

/* ---- in pieces ---- */

struct upload_sums {
	struct tb_sha256 md5;		/* of the piece on its way */
	struct tb_buf done;		/* of those before */
	unsigned n;
};
#define PIECES_MAX 100000u

enum tb_status
upload_sum(struct upload_sums *s, uint64_t off, const char *p, size_t n, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (off == 0) {			/* perhaps once more */
		tb_sha256_free(&s->md5);
		status = tb_md5_init(&s->md5, err);
	}
	if (!status)
		tb_sha256_add(&s->md5, p, n);
	return status;
}

void
upload_sums_free(struct upload_sums *s)
{
	if (!s)
		return;
	tb_sha256_free(&s->md5);
	tb_buf_free(&s->done);
	free(s);
}

static enum tb_status
piece_done(struct upload_run *run, struct tb_err *err)
{
	struct upload_sums *s = run->sums;
	uint8_t md5[TB_MD5_LEN];

	tb_md5_done(&s->md5, md5);
	tb_buf_add(&s->done, md5, sizeof(md5));
	s->n++;
	run->there = run->end;
	return tb_buf_status(&s->done, "pieces of an upload", err);
}

enum tb_status
upload_elsewhere(struct upload_run *run, const struct http_answer *led, struct tb_err *err)
{
	const char *headers[] = { "Content-Type: application/octet-stream", NULL };
	struct http_ask ask = { .method = "PUT", .headers = headers, .idle = UPLOAD_SETTLE };
	struct http_answer a;
	char *to;
	enum tb_status status = http_location(led, &to, err);

	if (!status && !run->sums && (run->sums = tb_calloc(1, sizeof(*run->sums))))
		run->sums->done = TB_BUF(PIECES_MAX * TB_MD5_LEN);
	if (!status && !run->sums)
		status = tb_nomem(err);
	if (!status)
		status = upload_follow(run, led, "Docker-Upload-Location", err);
	upload_body(run, &ask);
	if (!status && !(status = upload_ask(run, to, &ask, &a, err))) {
		status = http_well(&a) ? piece_done(run, err)
							   : upload_refused(run, &a, err);
		http_answer_free(&a);
	}
	free(to);
	return status;
}

char *
upload_etag(const struct upload_run *run)
{
	struct tb_sha256 all = { 0 };
	uint8_t md5[TB_MD5_LEN];
	char hex[TB_DIGEST_MAX];

	if (!run->sums || !run->sums->n)
		return tb_strdup("");
	if (tb_md5_init(&all, NULL))
		return NULL;
	tb_sha256_add(&all, run->sums->done.p, run->sums->done.len);
	tb_md5_done(&all, md5);
	tb_digest_text("", md5, sizeof(md5), hex);
	return tb_asprintf("&etag=%s-%u", hex, run->sums->n);
}
