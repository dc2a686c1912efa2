#include "config.h"

#include "src/net/hub_api.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/hub_name.h"
#include "src/net/hub_token.h"
#include "src/net/url.h"

#define PAGE_MAX (8u << 20)	/* as JSON in memory it is forty times as much */
#define PAGES_MAX 1000
#define ATTEMPTS 5
#define REFUSED_PAUSE 60.0
#define REFS_SHOWN 8
#define STALL_SECONDS 30
#define SKIP_MAX (1u << 20)	/* bytes before those wanted, of a server without ranges */

/* Where a file's bytes were last: the hub need not be asked for each part of it. */
struct hub_place { char digest[TB_DIGEST_MAX]; char *url; };

struct hub {
	char *repo, *host, *base;	/* base: "https://huggingface.co" */
	char *what;			/* "org/name at huggingface.co" */
	char *auth;			/* NULL: none */
	struct url url;
	const struct http_trust *trust;
	pthread_mutex_t lock;		/* of what follows */
	struct hub_place *places;
	size_t n, cap;
};

static const char *const plain[] = { "Accept-Encoding: identity", NULL };

void
hub_free(struct hub *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n; i++)
		free(h->places[i].url);
	free(h->places);
	hub_token_free(h->auth);
	url_free(&h->url);
	free(h->repo);
	free(h->host);
	free(h->base);
	free(h->what);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static enum tb_status
take_endpoint(struct hub *h, struct tb_err *err)
{
	const char *endpoint = getenv("HF_ENDPOINT");
	enum tb_status status;

	if (!endpoint || !*endpoint)
		endpoint = "https://huggingface.co";
	if ((status = url_parse(&h->url, endpoint, err)))
		return tb_wrap(err, status, "HF_ENDPOINT");
	h->host = url_host(&h->url);
	h->base = tb_asprintf("%s://%s%s", h->url.scheme, h->host ? h->host : "", h->url.path);
	h->what = tb_asprintf("%s at %s", h->repo, h->host ? h->host : "");
	return h->host && h->base && h->what ? TB_OK : tb_nomem(err);
}

enum tb_status
hub_new(struct hub **out, const char *repo, const struct http_trust *trust, struct tb_err *err)
{
	struct hub *h = tb_calloc(1, sizeof(*h));
	const char *offline = getenv("HF_HUB_OFFLINE");
	enum tb_status status;

	*out = NULL;
	if (!h)
		return tb_nomem(err);
	pthread_mutex_init(&h->lock, NULL);
	h->trust = trust;
	h->repo = tb_strdup(repo);
	status = h->repo ? take_endpoint(h, err) : tb_nomem(err);
	if (!status && offline && *offline && strcmp(offline, "0"))
		status = tb_fail(err, TB_EUSAGE, "hf:%s: HF_HUB_OFFLINE says that no hub may be asked; "
				 "unset it to go on", repo);
	if (!status)
		status = hub_token_find(&h->url, &h->auth, err);
	if (status)
		hub_free(h);
	else
		*out = h;
	return status;
}

const char *
hub_host(const struct hub *h)
{
	return h->host;
}

/* ---- what is small ---- */

/* keep: what stays as it is beside letters, digits and "-_.~". */
static void
put_quoted(struct tb_buf *out, const char *text, const char *keep)
{
	for (const char *c = text; *c; c++)
		if (strchr("-_.~", *c) || strchr(keep, *c) || (*c >= '0' && *c <= '9') ||
		    (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))
			tb_buf_chr(out, *c);
		else
			tb_buf_printf(out, "%%%02X", (unsigned char)*c);
}

/* BASE/FRONT/REPO/WHICH/REVISION[/PATH]MORE */
static char *
hub_address(const struct hub *h, const char *front, const char *which, const char *revision,
	    const char *path, const char *more)
{
	struct tb_buf b = TB_BUF(16384);

	tb_buf_printf(&b, "%s/%s%s/%s/", h->base, front, h->repo, which);
	put_quoted(&b, revision, "");
	if (*path)
		tb_buf_chr(&b, '/');
	put_quoted(&b, path, "/");
	tb_buf_str(&b, more);
	return tb_buf_take(&b);
}

static enum tb_status
wait_for(double seconds, const struct tb_job *job, struct tb_err *err)
{
	double until = tb_monotonic() + seconds;
	const struct timespec nap = { .tv_nsec = 40 * 1000000 };
	enum tb_status status = tb_job_check(job, err);

	while (!status && tb_monotonic() < until) {
		nanosleep(&nap, NULL);
		status = tb_job_check(job, err);
	}
	return status;
}

/* A document, asked for again if that may help. */
static enum tb_status
ask_document(struct hub *h, struct http *http, const char *url, const char *revision,
	     struct tb_job *job, struct http_answer *out, struct tb_err *err)
{
	const struct http_ask ask = { .url = url, .headers = plain, .auth = h->auth, .max = PAGE_MAX,
				      .idle = 30, .trust = h->trust };
	enum tb_status status;
	double pause = 0.25;

	for (unsigned i = 1;; i++, pause *= 3) {
		status = http_do(http, &ask, job, out, err);
		if (i == ATTEMPTS || !http_again(out, status))
			break;
		if (out->retry_after > REFUSED_PAUSE)
			break;
		pause = out->retry_after > pause ? out->retry_after : pause;
		http_answer_free(out);
		if ((status = wait_for(pause, job, err)))
			return status;
	}
	if (!status && (out->status < 200 || out->status > 299))
		status = hub_refusal(out, h->what, revision, h->auth != NULL, err);
	return status;
}

static void
put_names(struct tb_buf *out, const cJSON *list, unsigned *n)
{
	for (const cJSON *e = json_first(list); e; e = json_next(e)) {
		const char *name = json_str(json_get(e, "name"));

		if (!name || (*n)++ >= REFS_SHOWN)
			continue;
		tb_buf_str(out, *n > 1 ? ", " : "");
		tb_text_clip(out, name, 40, false);
	}
}

/* Who asked for a branch that is not there hears which are. */
static void
say_refs(struct hub *h, struct http *http, struct tb_job *job, struct tb_err *err)
{
	char *url = tb_asprintf("%s/api/models/%s/refs", h->base, h->repo);
	struct tb_err was = err ? *err : (struct tb_err){ .code = TB_OK };
	struct tb_buf names = TB_BUF(2048);
	struct http_answer a = { 0 };
	cJSON *doc = NULL;
	unsigned n = 0;

	if (err && url && !ask_document(h, http, url, "", job, &a, NULL) &&
	    !json_parse(&doc, tb_buf_cstr(&a.body), a.body.len, h->what, NULL)) {
		put_names(&names, json_get(doc, "branches"), &n);
		put_names(&names, json_get(doc, "tags"), &n);
	}
	if (n)
		tb_fail(err, was.code, "%.250s; there are %s%s", was.msg, tb_buf_cstr(&names),
			n > REFS_SHOWN ? ", ..." : "");
	json_free(doc);
	http_answer_free(&a);
	tb_buf_free(&names);
	free(url);
}

enum tb_status
hub_commit(struct hub *h, struct http *http, const char *revision, struct tb_job *job,
	   char commit[41], struct tb_err *err)
{
	char *url = hub_address(h, "api/models/", "revision", revision, "", "");
	struct http_answer a = { 0 };
	cJSON *doc = NULL;
	const char *sha, *code;
	enum tb_status status = url ? ask_document(h, http, url, revision, job, &a, err)
				    : tb_nomem(err);

	if (!status)
		status = json_parse(&doc, tb_buf_cstr(&a.body), a.body.len, h->what, err);
	code = http_header(&a, "X-Error-Code");
	sha = json_str(json_get(doc, "sha"));
	if (!status && (!sha || !hub_is_commit(sha)))
		status = tb_fail(err, TB_EFORMAT, "%s: it does not say which commit %.100s is; is that "
				 "a hub of Hugging Face's kind?", h->what, revision);
	if (!status)
		memcpy(commit, sha, 41);
	if (status == TB_ENOENT && code && !strcmp(code, "RevisionNotFound"))
		say_refs(h, http, job, err);
	json_free(doc);
	http_answer_free(&a);
	free(url);
	return status;
}

/* One of several "<URL>; rel=next, <URL>; …". */
char *
hub_next_page(const char *link)
{
	for (const char *at = link; at && (at = strchr(at, '<'));) {
		const char *end = strchr(at, '>'), *comma;
		char *params;
		bool next;

		if (!end)
			return NULL;
		comma = strchr(end, ',');
		params = comma ? tb_strndup(end + 1, (size_t)(comma - end - 1)) : tb_strdup(end + 1);
		next = params && (strstr(params, "rel=\"next\"") || strstr(params, "rel=next"));
		free(params);
		if (next)
			return tb_strndup(at + 1, (size_t)(end - at - 1));
		at = comma;
	}
	return NULL;
}

/* Where the list goes on: the token goes along, so it is no other server. */
static enum tb_status
next_page(const struct hub *h, const struct http_answer *a, char **url, struct tb_err *err)
{
	const char *link = http_header(a, "Link");
	char *next = hub_next_page(link);
	struct url to = { 0 };
	enum tb_status status = TB_OK;

	free(*url);
	*url = NULL;
	if (next && *next == '/') {
		*url = tb_asprintf("%s://%s%s", h->url.scheme, h->host, next);
		status = *url ? TB_OK : tb_nomem(err);
	} else if (next) {
		status = url_parse(&to, next, err);
		if (!status && !url_same_origin(&to, &h->url))
			status = tb_fail(err, TB_EFORMAT, "%s: its list of files goes on at %s, which is "
					 "another server; nothing was asked there", h->what, to.host);
		url_free(&to);
		if (!status)
			*url = next;
		else
			free(next);
		next = NULL;
	}
	free(next);
	return status;
}

enum tb_status
hub_list(struct hub *h, struct http *http, const char *commit, struct tb_job *job,
	 struct hub_files *out, struct tb_err *err)
{
	char *url = hub_address(h, "api/models/", "tree", commit, "", "?recursive=1");
	enum tb_status status = url ? TB_OK : tb_nomem(err);
	unsigned pages = 0;

	*out = (struct hub_files){ 0 };
	while (!status && url) {
		struct http_answer a = { 0 };

		if (pages++ == PAGES_MAX)
			status = tb_fail(err, TB_ELIMIT, "%s: its list of files does not end", h->what);
		if (!status)
			status = ask_document(h, http, url, commit, job, &a, err);
		if (!status)
			status = hub_files_add(out, tb_buf_cstr(&a.body), a.body.len, h->what, err);
		if (!status)
			status = next_page(h, &a, &url, err);
		http_answer_free(&a);
	}
	free(url);
	if (!status)
		status = hub_files_sort(out, h->what, err);
	if (status)
		hub_files_free(out);
	return status;
}

/* ---- what is large ---- */

/* In fresh memory; NULL: it is not known, or there is no memory. */
static char *
known_place(struct hub *h, const char *digest)
{
	char *url = NULL;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->n && !url; i++)
		if (h->places[i].url && !strcmp(h->places[i].digest, digest))
			url = tb_strdup(h->places[i].url);
	pthread_mutex_unlock(&h->lock);
	return url;
}

/* url NULL: it is there no more. */
static void
note_place(struct hub *h, const char *digest, const char *url)
{
	char *copy = url ? tb_strdup(url) : NULL;
	size_t i = 0;

	pthread_mutex_lock(&h->lock);
	while (i < h->n && strcmp(h->places[i].digest, digest))
		i++;
	if (i == h->n && copy && tb_grow(&h->places, &h->cap, h->n + 1, sizeof(*h->places))) {
		h->places[h->n] = (struct hub_place){ .url = NULL };
		memcpy(h->places[h->n++].digest, digest, TB_DIGEST_MAX);
	}
	if (i < h->n) {
		free(h->places[i].url);
		h->places[i].url = copy;
		copy = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	free(copy);
}

/* A stretch on its way. */
struct getting {
	const struct hub *hub;
	const struct hub_range *want;
	uint64_t skip, got;		/* skip: bytes that come before those wanted */
	bool exact;			/* nothing should come behind what is wanted */
	bool enough;			/* fn has */
	http_body_fn *fn;
	void *arg;
};

static bool
wants_all(const struct hub_range *w)
{
	return !w->off && w->len == w->file->size;
}

/* Is it the stretch that was asked for? */
static enum tb_status
check_part(const struct getting *g, const struct http_answer *a, struct tb_err *err)
{
	const struct hub_range *w = g->want;
	const char *range = http_header(a, "Content-Range");
	uint64_t from, to;

	if (!range || sscanf(range, "bytes %" SCNu64 "-%" SCNu64 "/", &from, &to) != 2)
		return tb_fail(err, TB_EIO, "%s: %.200s: a part of it came, and it is not said which",
			       g->hub->what, w->file->path);
	if (from != w->off || to < from || to - from >= w->len)
		return tb_fail(err, TB_EIO, "%s: %.200s: bytes %" PRIu64 " to %" PRIu64 " came, asked for "
			       "were %" PRIu64 " to %" PRIu64, g->hub->what, w->file->path, from, to,
			       w->off, w->off + w->len - 1);
	return TB_OK;
}

static enum tb_status
begin_stretch(void *arg, const struct http_answer *a, struct tb_err *err)
{
	struct getting *g = arg;
	const struct hub_range *w = g->want;
	const char *length = http_header(a, "Content-Length");
	uint64_t n;

	g->skip = 0;
	g->exact = true;
	if (a->status == 206 && !wants_all(w))
		return check_part(g, a, err);
	if (a->status != 200)
		return tb_fail(err, TB_EIO, "%s: %.200s: answered with %d", g->hub->what, w->file->path,
			       a->status);
	if (length && tb_parse_u64(length, &n) && n != w->file->size)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: it has %" PRIu64 " bytes there, and the list of "
			       "files says %" PRIu64, g->hub->what, w->file->path, n, w->file->size);
	if (wants_all(w))
		return TB_OK;
	if (w->whole) {
		w->whole(g->arg);
		return TB_OK;
	}
	g->skip = w->off;
	g->exact = false;
	if (w->off > SKIP_MAX)
		return tb_fail(err, TB_EUNSUP, "%s: %.200s: no parts of it can be had, only all of it",
			       g->hub->what, w->file->path);
	return TB_OK;
}

static enum tb_status
take_stretch(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct getting *g = arg;
	uint64_t left = g->want->len - g->got;
	size_t skipped = n < g->skip ? n : (size_t)g->skip;
	enum tb_status status;

	g->skip -= skipped;
	p += skipped;
	n -= skipped;
	if (!n)
		return TB_OK;
	if (!g->exact && n > left)
		n = (size_t)left;
	g->got += n;
	status = g->fn(g->arg, p, n, enough, err);
	g->enough = *enough;
	*enough |= !g->exact && g->got == g->want->len;
	return status;
}

static enum tb_status
ask_stretch(struct hub *h, struct http *http, const char *url, bool with_token, struct getting *g,
	    struct tb_job *job, struct http_answer *out, struct tb_err *err)
{
	const struct hub_range *w = g->want;
	char range[80];
	const char *headers[] = { plain[0], wants_all(w) ? NULL : range, NULL };
	const struct http_ask ask = { .url = url, .headers = headers, .idle = STALL_SECONDS,
				      .auth = with_token ? h->auth : NULL, .max = UINT64_MAX,
				      .begin = begin_stretch, .fn = take_stretch, .arg = g,
				      .trust = h->trust };

	snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-%" PRIu64, w->off, w->off + w->len - 1);
	return http_do(http, &ask, job, out, err);
}

static bool
went_well(const struct http_answer *a)
{
	return a->status >= 200 && a->status < 300;
}

/* Where the last stretch came from, else where the hub leads to. */
static enum tb_status
get_stretch(struct hub *h, struct http *http, const char *commit, struct getting *g,
	    struct tb_job *job, struct http_answer *a, struct tb_err *err)
{
	const struct hub_file *f = g->want->file;
	char *url = known_place(h, f->digest);
	enum tb_status status;

	if (url) {
		status = ask_stretch(h, http, url, false, g, job, a, err);
		free(url);
		if (status || went_well(a) || http_again(a, status))
			return status;
		note_place(h, f->digest, NULL);		/* such addresses hold for a time */
		http_answer_free(a);
	}
	url = hub_address(h, "", "resolve", commit, f->path, "");
	if (!url)
		return tb_nomem(err);
	status = ask_stretch(h, http, url, true, g, job, a, err);
	if (!status && went_well(a) && a->elsewhere && a->url)
		note_place(h, f->digest, a->url);
	free(url);
	return status;
}

enum tb_status
hub_get(struct hub *h, struct http *http, const char *commit, const struct hub_range *want,
	http_body_fn *fn, void *arg, struct tb_job *job, struct hub_fate *fate, struct tb_err *err)
{
	struct getting g = { .hub = h, .want = want, .fn = fn, .arg = arg };
	struct http_answer a = { 0 };
	enum tb_status status = get_stretch(h, http, commit, &g, job, &a, err);

	*fate = (struct hub_fate){ .again = http_again(&a, status), .retry_after = a.retry_after };
	if (!status && !went_well(&a)) {
		status = hub_refusal(&a, h->what, commit, h->auth != NULL, err);
	} else if (!status && !g.enough && g.got < want->len) {
		fate->again = true;
		status = tb_fail(err, TB_EIO, "%s: %.200s: it ended after %" PRIu64 " of %" PRIu64 " bytes",
				 h->what, want->file->path, g.got, want->len);
	}
	http_answer_free(&a);
	return status;
}
