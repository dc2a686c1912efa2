#include "config.h"

#include "src/net/hub_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/hub_name.h"
#include "src/net/hub_token.h"
#include "src/net/patience.h"
#include "src/net/stretch.h"
#include "src/net/url.h"

#define PAGE_MAX (8u << 20)	/* as JSON in memory it is forty times as much */
#define PAGES_MAX 1000
#define REFS_SHOWN 8

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

/* A document, asked for again if that may help. */
static enum tb_status
ask_document(struct hub *h, struct http *http, const char *url, const char *revision,
	     struct tb_job *job, struct http_answer *out, struct tb_err *err)
{
	const struct http_ask ask = { .url = url, .headers = plain, .auth = h->auth, .max = PAGE_MAX,
				      .idle = 30, .trust = h->trust };
	struct patience p = { .kind = PATIENCE_SMALL };
	enum tb_status status, late;

	for (;;) {
		struct http_fate fate;
		double seconds;

		status = http_do(http, &ask, job, out, err);
		fate = http_fate(out, status);
		if (!patience_left(&p, &fate, &seconds))
			break;
		http_answer_free(out);
		if ((late = patience_wait(seconds, job, err)))
			return late;
	}
	if (!status && !http_well(out))
		status = hub_refusal(out, h->what, revision, h->auth != NULL, err);
	return status;
}

#define REFS_MAX 5000			/* that anybody chooses from */

static enum tb_status
add_refs(struct tb_names *to, const cJSON *list, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (const cJSON *e = json_first(list); e && !status; e = json_next(e)) {
		const char *name = json_str(json_get(e, "name"));

		if (name && *name && to->n < REFS_MAX)
			status = tb_names_add(to, name, err);
	}
	return status;
}

enum tb_status
hub_refs(struct hub *h, struct http *http, struct tb_job *job, struct tb_names *out,
	 struct tb_err *err)
{
	char *url = tb_asprintf("%s/api/models/%s/refs", h->base, h->repo);
	struct http_answer a = { 0 };
	cJSON *doc = NULL;
	enum tb_status status = url ? ask_document(h, http, url, "", job, &a, err) : tb_nomem(err);

	*out = (struct tb_names){ 0 };
	if (!status)
		status = json_parse(&doc, tb_buf_cstr(&a.body), a.body.len, h->what, err);
	if (!status)
		status = add_refs(out, json_get(doc, "branches"), err);
	if (!status)
		status = add_refs(out, json_get(doc, "tags"), err);
	if (status)
		tb_names_free(out);
	json_free(doc);
	http_answer_free(&a);
	free(url);
	return status;
}

/* Who asked for a branch that is not there hears which are. */
static void
say_refs(struct hub *h, struct http *http, struct tb_job *job, struct tb_err *err)
{
	struct tb_err was = err ? *err : (struct tb_err){ .code = TB_OK };
	struct tb_buf text = TB_BUF(2048);
	struct tb_names names = { 0 };

	if (err && !hub_refs(h, http, job, &names, NULL))
		for (size_t i = 0; i < names.n && i < REFS_SHOWN; i++) {
			tb_buf_str(&text, i ? ", " : "");
			tb_text_clip(&text, names.v[i], 40, false);
		}
	if (names.n)
		tb_fail(err, was.code, "%.250s; there are %s%s", was.msg, tb_buf_cstr(&text),
			names.n > REFS_SHOWN ? ", ..." : "");
	tb_names_free(&names);
	tb_buf_free(&text);
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

static void
note_place(struct hub *h, const char *digest, const char *url)
{
	char *copy = tb_strdup(url);
	size_t i = 0;

	pthread_mutex_lock(&h->lock);
	while (i < h->n && strcmp(h->places[i].digest, digest))
		i++;
	if (i == h->n && copy && tb_grow(&h->places, &h->cap, h->n + 1, sizeof(*h->places))) {
		h->places[h->n] = (struct hub_place){ .url = NULL };
		memcpy(h->places[h->n++].digest, digest, TB_DIGEST_MAX);
	}
	if (i < h->n && copy) {
		free(h->places[i].url);
		h->places[i].url = copy;
		copy = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	free(copy);
}

/* It is there no more; another thread may know by now where it is. */
static void
forget_place(struct hub *h, const char *digest, const char *url)
{
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->n; i++)
		if (h->places[i].url && !strcmp(h->places[i].digest, digest) &&
		    !strcmp(h->places[i].url, url)) {
			free(h->places[i].url);
			h->places[i].url = NULL;
		}
	pthread_mutex_unlock(&h->lock);
}

static enum tb_status
ask_stretch(struct hub *h, struct http *http, const char *url, const char *auth,
	    struct stretch *s, struct tb_job *job, struct http_answer *out, struct http_fate *fate,
	    struct tb_err *err)
{
	struct http_ask ask = { .url = url, .auth = auth, .trust = h->trust };
	enum tb_status status;

	stretch_ask(s, &ask);
	status = http_do(http, &ask, job, out, err);
	return stretch_end(s, out, status, fate, err);
}

/* From where the last stretch came.  *gone: nothing comes from there any more, as such addresses
 * hold for a time only. */
static enum tb_status
get_again(struct hub *h, struct http *http, const char *url, const struct hub_file *f,
	  struct stretch *s, struct tb_job *job, struct http_answer *a, struct http_fate *fate,
	  bool *gone, struct tb_err *err)
{
	enum tb_status status = ask_stretch(h, http, url, NULL, s, job, a, fate, err);
	bool broken = status && fate->again, refused = !status && !http_well(a) && !fate->again;

	if (broken || refused)
		forget_place(h, f->digest, url);
	*gone = (broken && !s->given) || refused;
	if (*gone)
		http_answer_free(a);
	return status;
}

static enum tb_status
get_stretch(struct hub *h, struct http *http, const char *commit, const struct hub_file *f,
	    struct stretch *s, struct tb_job *job, struct http_answer *a, struct http_fate *fate,
	    struct tb_err *err)
{
	char *url = known_place(h, f->digest);
	enum tb_status status = TB_OK;
	bool ask = !url;

	if (url)
		status = get_again(h, http, url, f, s, job, a, fate, &ask, err);
	free(url);
	if (!ask)
		return status;
	url = hub_address(h, "", "resolve", commit, f->path, "");
	if (!url)
		return tb_nomem(err);
	status = ask_stretch(h, http, url, h->auth, s, job, a, fate, err);
	if (!status && http_well(a) && a->elsewhere && a->url)
		note_place(h, f->digest, a->url);
	free(url);
	return status;
}

enum tb_status
hub_get(struct hub *h, struct http *http, const char *commit, const struct hub_range *want,
	http_body_fn *fn, void *arg, struct tb_job *job, struct http_fate *fate, struct tb_err *err)
{
	struct stretch s = { .host = h->what, .what = want->file->path, .said_by = "its list of files",
			     .size = want->file->size, .off = want->off, .len = want->len, .fn = fn,
			     .arg = arg };
	struct http_answer a = { 0 };
	enum tb_status status;

	*fate = (struct http_fate){ 0 };
	status = get_stretch(h, http, commit, want->file, &s, job, &a, fate, err);
	if (!status && !http_well(&a))
		status = hub_refusal(&a, h->what, commit, h->auth != NULL, err);
	http_answer_free(&a);
	return status;
}
