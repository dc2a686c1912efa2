/* registry_read.c - what a registry has under a name: manifests and tags. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/net/registry_parts.h"

#define SECONDS 120			/* that a manifest or a list may take */
#define TAGS_MAX (4u << 20)		/* bytes of a page of them */
#define TAG_PAGES 20
#define TAGS_TAKEN 10000		/* of all pages: nobody reads more */
#define TAGS_SAID 8			/* of one that is not there */

/* What says of itself nothing better; the first is what Ollama asks for. */
#define ACCEPT "Accept: application/vnd.docker.distribution.manifest.v2+json, " \
	"application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " \
	"application/vnd.docker.distribution.manifest.list.v2+json"

static enum tb_status
manifest_begin(void *arg, const struct http_answer *a, struct tb_err *err)
{
	const struct registry_at *p = arg;
	const char *length = http_header(a, "Content-Length");
	char size[16], max[16];
	uint64_t n;

	if (!length || !tb_parse_u64(length, &n) || n <= REGISTRY_MANIFEST_MAX)
		return TB_OK;
	return tb_fail(err, TB_ELIMIT, "%s: its manifest has %s; more than %s is not read", p->host,
		       tb_human_bytes(n, size), tb_human_bytes(REGISTRY_MANIFEST_MAX, max));
}

/* What kind of document it is.  Servers say text/plain, too. */
static enum tb_status
find_type(struct registry_manifest *m, const char *said, const char *what, struct tb_err *err)
{
	const char *type;
	cJSON *doc;
	enum tb_status status = json_parse(&doc, tb_buf_cstr(&m->text), m->text.len, what, err);
	size_t n;

	if (status)
		return status;
	type = json_str(json_get(doc, "mediaType"));
	if (!type && json_is_array(json_get(doc, "manifests")))
		type = "application/vnd.oci.image.index.v1+json";
	if (!type && json_is_array(json_get(doc, "layers")))
		type = "application/vnd.oci.image.manifest.v1+json";
	if (!type)
		type = said;
	n = strcspn(type, "; \t");
	if (n >= sizeof(m->type))
		n = 0;
	memcpy(m->type, type, n);
	m->type[n] = 0;
	json_free(doc);
	return TB_OK;
}

/* Are they the bytes that were asked for, and that the server says it sends? */
static enum tb_status
check_digest(struct registry_manifest *m, const struct registry_at *p, const char *reference,
	     const struct http_answer *a, struct tb_err *err)
{
	enum tb_status status = tb_sha256_bytes(tb_buf_cstr(&m->text), m->text.len, m->digest, err);
	const char *said = http_header(a, "Docker-Content-Digest");
	char want[TB_DIGEST_MAX];

	if (status)
		return status;
	/* "sha256-…" is a tag, of what refers to a manifest */
	if (tb_starts(reference, "sha256:") && digest_parse(reference, want) &&
	    strcmp(want, m->digest))
		return tb_fail(err, TB_EFORMAT, "%s: manifest %s: the answer is another one, %s",
			       p->host, want, m->digest);
	if (said && digest_parse(said, want) && strcmp(want, m->digest))
		return tb_fail(err, TB_EFORMAT, "%s: manifest %.128s: damaged on its way: it is %s,"
			       " and should be %s", p->host, reference, m->digest, want);
	return TB_OK;
}

static enum tb_status
manifest_from(struct registry *r, struct registry_at *p, struct http *h, const char *reference,
	      struct tb_job *job, struct registry_manifest *out, struct tb_err *err)
{
	static const char *const headers[] = { ACCEPT, NULL };
	const struct http_ask ask = { .headers = headers, .max = REGISTRY_MANIFEST_MAX,
				      .seconds = SECONDS, .begin = manifest_begin, .arg = p };
	char *where = tb_asprintf("manifests/%s", reference);
	char *what = tb_asprintf("%s:%s", r->repo, reference);
	struct http_answer a = { 0 };
	enum tb_status status = where && what ? TB_OK : tb_nomem(err);

	if (!status)
		status = place_ask_patiently(r, p, h, where, "pull", &ask, job, &a, err);
	if (status == TB_ELIMIT)
		status = tb_wrap(err, status, "%s", r->repo);
	else if (!status && !http_well(&a))
		status = place_error(p, &a, what, err);
	if (!status) {
		tb_buf_free(&out->text);
		out->text = a.body;
		a.body = TB_BUF(0);
		status = check_digest(out, p, reference, &a, err);
	}
	if (!status)
		status = find_type(out, a.type, what, err);
	http_answer_free(&a);
	free(where);
	free(what);
	return status;
}

/* "…; it has latest, 8b, …" behind a name that is not there. */
static void
say_tags(struct registry *r, struct http *h, struct tb_job *job, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(2048);
	struct tb_names tags;

	if (!err || registry_tags(r, h, job, &tags, NULL))
		return;
	tb_buf_printf(&text, "%.250s%s", err->msg, tags.n ? "; there is" : "");
	for (size_t i = 0; i < tags.n && i < TAGS_SAID; i++)
		tb_buf_printf(&text, "%s %.40s", i ? "," : "", tags.v[i]);
	if (tags.n > TAGS_SAID)
		tb_buf_printf(&text, " and %zu more", tags.n - TAGS_SAID);
	if (!tb_buf_failed(&text))
		(void)tb_fail(err, err->code, "%s", tb_buf_cstr(&text));
	tb_names_free(&tags);
	tb_buf_free(&text);
}

enum tb_status
registry_manifest(struct registry *r, struct http *h, const char *reference, struct tb_job *job,
		  struct registry_manifest *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = (struct registry_manifest){ 0 };
	for (size_t i = 0; i < r->nplaces; i++) {
		status = manifest_from(r, &r->places[i], h, reference, job, out, err);
		out->mirrored = i + 1 < r->nplaces;
		if (!status || status == TB_ECANCEL)
			break;
	}
	if (status == TB_ENOENT)
		say_tags(r, h, job, err);
	if (status)
		registry_manifest_free(out);
	return status;
}

void
registry_manifest_free(struct registry_manifest *m)
{
	tb_buf_free(&m->text);
}

/* ---- tags ---- */

static enum tb_status
take_tags(const struct http_answer *a, const char *what, struct tb_names *out, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_parse(&doc, tb_buf_cstr(&a->body), a->body.len, what, err);

	if (status)
		return status;
	for (const cJSON *t = json_first(json_get(doc, "tags")); !status && t && out->n < TAGS_TAKEN;
	     t = json_next(t)) {
		const char *tag = json_str(t);

		if (tag && *tag && strlen(tag) <= 128)
			status = tb_names_add(out, tag, err);
	}
	json_free(doc);
	return status;
}

/* The address of the next page: "Link: <…>; rel="next"".  NULL: this was the last. */
static char *
next_page(const struct http_answer *a)
{
	const char *link = http_header(a, "Link"), *end = link ? strchr(link, '>') : NULL;

	if (!end || *link != '<' || !strstr(end, "next"))
		return NULL;
	return tb_strndup(link + 1, (size_t)(end - link - 1));
}

enum tb_status
registry_tags(struct registry *r, struct http *h, struct tb_job *job, struct tb_names *out,
	      struct tb_err *err)
{
	const struct http_ask ask = { .max = TAGS_MAX, .seconds = SECONDS };
	char *where = tb_strdup("tags/list?n=1000");
	enum tb_status status = where ? TB_OK : tb_nomem(err);

	*out = (struct tb_names){ 0 };
	for (unsigned page = 0; !status && where && page < TAG_PAGES; page++) {
		struct http_answer a = { 0 };

		status = registry_ask(r, h, where, "pull", &ask, job, &a, err);
		if (!status && !http_well(&a))
			status = registry_error(r, &a, "its list of tags", err);
		if (!status)
			status = take_tags(&a, "its list of tags", out, err);
		free(where);
		where = status || out->n >= TAGS_TAKEN ? NULL : next_page(&a);
		http_answer_free(&a);
	}
	free(where);
	tb_names_sort(out);
	if (status)
		tb_names_free(out);
	return status;
}
