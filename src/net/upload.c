#include "config.h"

#include "src/net/upload_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/patience.h"

#define LOST_MAX 2u		/* sessions, without a piece between them */
#define PIECE_MAX (1u << 20)	/* read and hashed at a time */
#define CHUNK_MAX (UINT64_C(1) << 30)

/* ---- the bytes ---- */

/* Are all of them those of the digest? */
static enum tb_status
check_digest(struct upload_run *run, struct tb_err *err)
{
	const struct upload *u = run->u;
	char digest[TB_DIGEST_MAX];

	if (run->right || run->hashed < u->size)
		return TB_OK;
	tb_sha256_done(&run->sha, digest);
	run->right = !strcmp(digest, u->digest);
	run->wrong = !run->right;
	if (run->right)
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "%s: is damaged: its SHA-256 is %.19s…, not %.19s…, so it was not"
		       " sent%s%s", u->what, digest, u->digest, u->advice ? "; " : "",
		       u->advice ? u->advice : "");
}

/* Bytes of the blob, of which those not yet hashed are. */
static enum tb_status
read_piece(struct upload_run *run, uint64_t off, char *p, size_t n, struct tb_err *err)
{
	enum tb_status status = run->u->read(run->u->arg, off, p, n, err);

	if (status) {
		run->wrong = true;
		return status;
	}
	if (run->right || off > run->hashed || off + n <= run->hashed)
		return TB_OK;
	tb_sha256_add(&run->sha, p + (run->hashed - off), (size_t)(off + n - run->hashed));
	run->hashed = off + n;
	return check_digest(run, err);
}

static enum tb_status
send_piece(void *arg, uint64_t off, char *p, size_t n, size_t *put, struct tb_err *err)
{
	struct upload_run *run = arg;
	const struct upload_told *told = &run->u->told;
	uint64_t at = run->begin + off, left = run->end - at;
	enum tb_status status;

	n = n > PIECE_MAX ? PIECE_MAX : n;
	*put = left < n ? (size_t)left : n;
	status = read_piece(run, at, p, *put, err);
	if (!status && run->sums)
		status = upload_sum(run->sums, off, p, *put, err);
	if (!status && told->went)
		told->went(told->arg, at + *put);
	return status;
}

void
upload_body(struct upload_run *run, struct http_ask *ask)
{
	ask->nsend = run->end - run->begin;
	if (ask->nsend) {
		ask->send = send_piece;
		ask->send_arg = run;
	} else {
		ask->body = "";
	}
}

/* What an earlier run has sent was not hashed by this one. */
static enum tb_status
hash_sent(struct upload_run *run, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *buf;

	if (run->hashed >= run->there || run->right)
		return TB_OK;
	if (!(buf = malloc(PIECE_MAX)))
		return tb_nomem(err);
	tb_job_what(run->u->job, "hashing what was sent of %.24s", run->u->digest);
	while (!status && run->hashed < run->there) {
		uint64_t left = run->there - run->hashed;

		status = tb_job_check(run->u->job, err);
		if (!status)
			status = read_piece(run, run->hashed, buf, left < PIECE_MAX ? (size_t)left
											: PIECE_MAX, err);
	}
	free(buf);
	return status;
}

/* ---- asking ---- */

enum tb_status
upload_ask(struct upload_run *run, const char *path, struct http_ask *ask,
	   struct http_answer *out, struct tb_err *err)
{
	enum tb_status status;

	if (!ask->idle)
		ask->idle = UPLOAD_IDLE;
	status = registry_ask(run->u->registry, run->u->http, path, UPLOAD_ACTIONS, ask, run->u->job,
			      out, err);
	run->again = !run->wrong && http_again(out, status);
	run->pause = status ? 0 : out->retry_after;
	return status;
}

enum tb_status
upload_refused(struct upload_run *run, const struct http_answer *a, struct tb_err *err)
{
	char what[TB_DIGEST_MAX + 16];

	snprintf(what, sizeof(what), "blob %.19s…", run->u->digest);
	return registry_error(run->u->registry, a, what, err);
}

void
upload_forget(struct upload_run *run)
{
	const struct upload_told *told = &run->u->told;

	if (run->session && told->keep)
		told->keep(told->arg, NULL);
	free(run->session);
	upload_sums_free(run->sums);
	run->session = NULL;
	run->sums = NULL;
	run->there = 0;
}

enum tb_status
upload_follow(struct upload_run *run, const struct http_answer *a, const char *name,
	      struct tb_err *err)
{
	const struct upload_told *told = &run->u->told;
	char *next;
	enum tb_status status = name && http_header(a, name) ? http_header_url(a, name, &next, err)
							     : http_location(a, &next, err);

	if (status)
		return status;
	free(run->session);
	run->session = next;
	if (told->keep && run->u->size > run->chunk)	/* of pieces elsewhere this run alone knows */
		told->keep(told->arg, run->sums ? NULL : next);
	return TB_OK;
}

char *
upload_last(const struct upload_run *run, const char *more)
{
	return tb_asprintf("%s%cdigest=sha256%%3A%s%s", run->session,
			   strchr(run->session, '?') ? '&' : '?', run->u->digest + strlen("sha256:"),
			   more);
}

static enum tb_status
blob_there(struct upload_run *run, bool *there, struct tb_err *err)
{
	struct http_ask ask = { .method = "HEAD", .stay = true };
	char path[TB_DIGEST_MAX + 8];
	struct http_answer a;
	const char *length;
	uint64_t size;
	enum tb_status status;

	snprintf(path, sizeof(path), "blobs/%s", run->u->digest);
	status = upload_ask(run, path, &ask, &a, err);
	if (status)
		return status;
	length = http_header(&a, "Content-Length");
	if (a.status == 200)
		*there = !length || !tb_parse_u64(length, &size) || size == run->u->size;
	else if (a.status >= 300 && a.status < 400)
		*there = true;		/* where it lies */
	else if (a.status != 404 && a.status != 405)
		status = upload_refused(run, &a, err);
	http_answer_free(&a);
	return status;
}

enum tb_status
upload_has(const struct upload *u, bool *has, struct tb_err *err)
{
	struct upload_run run = { .u = u };

	*has = false;
	return blob_there(&run, has, err);
}

/* ---- a session ---- */

/* The registry may want longer pieces, and does not take shorter ones then. */
static void
take_chunk(struct upload_run *run, const struct http_answer *a)
{
	const char *least = http_header(a, "OCI-Chunk-Min-Length");
	uint64_t n;

	if (least && tb_parse_u64(least, &n) && n > run->chunk && n <= CHUNK_MAX)
		run->chunk = n;
}

static enum tb_status
begin_ask(struct upload_run *run, bool mount, struct http_answer *a, struct tb_err *err)
{
	const struct upload *u = run->u;
	const char *hex = u->digest + strlen("sha256:");
	char length[48];
	const char *headers[] = { "X-Redirect-Uploads: 2", length, NULL };
	struct http_ask ask = { .method = "POST", .body = "", .headers = u->ollama ? headers : NULL };
	char *path = mount ? tb_asprintf("blobs/uploads/?mount=sha256%%3A%s&from=%s", hex, u->from)
		     : u->ollama ? tb_asprintf("blobs/uploads/?digest=sha256%%3A%s", hex)
				 : tb_strdup("blobs/uploads/");
	enum tb_status status;

	if (!path)
		return tb_nomem(err);
	snprintf(length, sizeof(length), "X-Content-Length: %ju", (uintmax_t)u->size);
	status = upload_ask(run, path, &ask, a, err);
	free(path);
	return status;
}

/* A session is begun, or the blob is there by that (*how, *done). */
static enum tb_status
session_begin(struct upload_run *run, enum upload_how *how, bool *done, struct tb_err *err)
{
	bool mount = run->u->from != NULL;
	struct http_answer a;
	enum tb_status status = begin_ask(run, mount, &a, err);

	if (!status && mount && a.status >= 400 && !run->again) {	/* it lets nobody mount, or not us */
		http_answer_free(&a);
		mount = false;
		status = begin_ask(run, mount, &a, err);
	}
	if (status)
		return status;
	if (a.status == 201 || (a.status == 200 && run->u->ollama)) {
		*how = mount ? UPLOAD_MOUNTED : UPLOAD_THERE;
		*done = true;
	} else if (a.status != 202) {
		status = upload_refused(run, &a, err);
	} else {
		take_chunk(run, &a);
		run->there = 0;
		status = upload_follow(run, &a, run->u->ollama ? "Docker-Upload-Location" : NULL, err);
		if (!status && run->u->ollama && http_header(&a, "X-Direct-Upload-URL"))
			status = upload_direct(run, &a, err);
	}
	http_answer_free(&a);
	return status;
}

/* "0-N", N being the last byte that arrived. */
static bool
range_end(const char *range, uint64_t *end)
{
	const char *minus;

	if (range && !strncasecmp(range, "bytes", 5))
		range += 5 + strspn(range + 5, "= ");
	minus = range ? strchr(range, '-') : NULL;
	if (!minus || minus - range != 1 || *range != '0' || !tb_parse_u64(minus + 1, end))
		return false;
	*end += *end != 0;		/* "0-0": so they say that it is empty */
	return true;
}

/* How far has it come?  If nobody knows it is begun anew. */
static enum tb_status
session_look(struct upload_run *run, struct tb_err *err)
{
	struct http_ask ask = { .method = "GET" };
	struct http_answer a;
	uint64_t end = 0;
	enum tb_status status = upload_ask(run, run->session, &ask, &a, err);

	if (status)
		return status;
	if (!http_well(&a) || !range_end(http_header(&a, "Range"), &end) ||
	    end > run->u->size) {
		if (run->again)		/* it is not well now */
			status = upload_refused(run, &a, err);
		else
			upload_forget(run);
	} else {
		run->there = end;
		if (http_header(&a, "Location"))
			status = upload_follow(run, &a, NULL, err);
	}
	http_answer_free(&a);
	return status;
}

/* ---- sending ---- */

/* What does the answer to a piece say of how far it is? */
static enum tb_status
piece_went(struct upload_run *run, const struct http_answer *a, struct tb_err *err)
{
	uint64_t end;
	enum tb_status status = upload_follow(run, a, run->u->ollama ? "Docker-Upload-Location" : NULL,
					      err);

	if (status)
		return status;
	if (!range_end(http_header(a, "Range"), &end))
		end = run->end;
	if (end <= run->begin || end > run->end)
		return tb_fail(err, TB_EFORMAT, "%s: it was sent the bytes %ju to %ju and says that it has "
			       "%ju", registry_host(run->u->registry), (uintmax_t)run->begin,
			       (uintmax_t)run->end, (uintmax_t)end);
	run->there = end;
	run->lost = 0;
	return TB_OK;
}

/* A session that is lost, or elsewhere than we think: not that it gives out such alone. */
static bool
try_another(struct upload_run *run)
{
	return run->lost++ < LOST_MAX;
}

static enum tb_status
send_chunk(struct upload_run *run, struct tb_err *err)
{
	uint64_t left = run->u->size - run->there;
	char range[80];
	const char *headers[] = { "Content-Type: application/octet-stream", range,
				  run->u->ollama ? "X-Redirect-Uploads: 1" : NULL, NULL };
	struct http_ask ask = { .method = "PATCH", .headers = headers, .stay = run->u->ollama,
				.send_elsewhere = true };
	struct http_answer a;
	enum tb_status status;

	run->begin = run->there;
	run->end = run->begin + (left < run->chunk ? left : run->chunk);
	snprintf(range, sizeof(range), "Content-Range: %ju-%ju", (uintmax_t)run->begin,
		 (uintmax_t)run->end - 1);
	upload_body(run, &ask);
	status = upload_ask(run, run->session, &ask, &a, err);
	if (status)
		return status;
	if (http_well(&a))
		status = piece_went(run, &a, err);
	else if (run->u->ollama && a.status == 307)
		status = upload_elsewhere(run, &a, err);
	else
		status = upload_refused(run, &a, err);
	if (a.status == 404 || a.status == 416) {
		run->again = try_another(run);
		if (run->sums)
			upload_forget(run);
	}
	http_answer_free(&a);
	return status;
}

/* The last request, with all that is still to go: nothing, or a small blob as a whole. */
static enum tb_status
send_last(struct upload_run *run, struct tb_err *err)
{
	const char *headers[] = { "Content-Type: application/octet-stream", NULL };
	struct http_ask ask = { .method = "PUT", .headers = headers, .idle = UPLOAD_SETTLE,
				.send_elsewhere = true };
	char *etag = upload_etag(run), *url = etag ? upload_last(run, etag) : NULL;
	struct http_answer a;
	enum tb_status status;

	free(etag);
	if (!url)
		return tb_nomem(err);
	run->begin = run->there;
	run->end = run->u->size;
	upload_body(run, &ask);
	status = upload_ask(run, url, &ask, &a, err);
	free(url);
	if (status)
		return status;
	if (a.status != 201 && a.status != 200 && a.status != 204)
		status = upload_refused(run, &a, err);
	if (a.status == 404 || a.status == 416)
		run->again = try_another(run);
	if (a.status == 400 && strstr(tb_buf_cstr(&a.body), "DIGEST_INVALID")) {
		upload_forget(run);	/* right bytes were changed on their way */
		run->again = true;
	}
	http_answer_free(&a);
	return status;
}

/* Nobody needs what is there of it. */
static void
session_drop(struct upload_run *run)
{
	struct http_ask ask = { .method = "DELETE", .seconds = 10 };
	struct http_answer a;

	if (run->session && !upload_ask(run, run->session, &ask, &a, NULL))
		http_answer_free(&a);
	upload_forget(run);
}

static enum tb_status
attempt(struct upload_run *run, enum upload_how *how, struct tb_err *err)
{
	const struct upload *u = run->u;
	bool done = false;
	enum tb_status status = blob_there(run, &done, err);

	if (status || done)
		return status;
	if (run->session && !run->sums)	/* pieces that went elsewhere are counted here */
		status = session_look(run, err);
	if (!status && !run->session)
		status = session_begin(run, how, &done, err);
	if (status || done)
		return status;
	*how = UPLOAD_SENT;
	status = hash_sent(run, err);
	if (!status)
		status = check_digest(run, err);	/* of none at all */
	/* what is not long goes with the last request, but for Ollama's, which has it in pieces */
	while (!status && run->there < u->size &&
	       (run->there || u->size > run->chunk || u->ollama))
		status = send_chunk(run, err);
	if (!status)
		status = send_last(run, err);
	if (!status || !run->wrong)
		return status;
	session_drop(run);
	return status;
}

/* Also begun anew, if that may help. */
static enum tb_status
upload_tries(struct upload_run *run, enum upload_how *how, struct tb_err *err)
{
	const struct upload_told *told = &run->u->told;
	struct patience p = { .kind = PATIENCE_CARRY };
	uint64_t far = 0;
	enum tb_status status;

	for (;;) {
		struct http_fate fate;
		double seconds;

		status = attempt(run, how, err);
		if (!status || run->wrong || status == TB_ENOMEM || status == TB_ECANCEL)
			return status;
		if (run->there > far) {
			p.tries = 0;
			far = run->there;
		}
		fate = (struct http_fate){ run->again, run->pause, false };
		if (!patience_left(&p, &fate, &seconds))
			return status;
		if (told->again)
			told->again(told->arg, err->msg);
		if ((status = patience_wait(seconds, run->u->job, err)))
			return status;
	}
}

enum tb_status
upload_blob(const struct upload *u, enum upload_how *how, struct tb_err *err)
{
	struct upload_run run = { .u = u, .chunk = u->chunk ? u->chunk : UPLOAD_CHUNK };
	struct tb_err none;
	enum tb_status status;

	*how = UPLOAD_THERE;
	if (u->session && !(run.session = tb_strdup(u->session)))
		return tb_nomem(err);
	status = tb_sha256_init(&run.sha, err);
	if (!status)
		status = upload_tries(&run, how, err ? err : &none);
	if (!status)
		upload_forget(&run);
	tb_sha256_free(&run.sha);
	free(run.session);
	upload_sums_free(run.sums);
	return status;
}

enum tb_status
upload_is_ollama(struct registry *r, struct http *h, bool *is, struct tb_job *job,
		 struct tb_err *err)
{
	const struct http_ask ask = { .method = "GET", .stay = true, .idle = UPLOAD_IDLE };
	struct http_answer a = { 0 };
	enum tb_status status = registry_ask_patiently(r, h, "/v2/", UPLOAD_ACTIONS, &ask, job, &a, err);

	*is = false;
	if (status)
		return status;
	*is = a.status == 404;
	http_answer_free(&a);
	return TB_OK;
}

enum tb_status
upload_manifest(struct registry *r, struct http *h, const struct upload_manifest *m,
		struct tb_job *job, struct tb_err *err)
{
	char *type = tb_asprintf("Content-Type: %s", m->type);
	char *path = tb_asprintf("manifests/%s", m->reference);
	const char *headers[] = { type, NULL };
	struct http_ask ask = { .method = "PUT", .headers = headers, .body = m->text, .nbody = m->len,
				.idle = UPLOAD_SETTLE };
	struct http_answer a = { 0 };
	const char *digest;
	enum tb_status status = type && path ? registry_ask_patiently(r, h, path, UPLOAD_ACTIONS, &ask,
								      job, &a, err)
					     : tb_nomem(err);

	if (!status) {
		digest = http_header(&a, "Docker-Content-Digest");
		if (m->lists)
			*m->lists = http_header(&a, "OCI-Subject");
		if (!http_well(&a))
			status = registry_error(r, &a, path, err);
		else if (digest && strcmp(digest, m->digest) != 0)
			status = tb_fail(err, TB_EFORMAT, "%s: it took the manifest %.19s… for %.80s",
					 registry_host(r), m->digest, digest);
		http_answer_free(&a);
	}
	free(type);
	free(path);
	return status;
}
