/* site_registry.c - a repository of a registry as a site. */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/net/http.h"
#include "src/ops/carry/site.h"

struct site_repo {
	struct site base;
	struct registry *registry;
	char *host;
	atomic_int ollama;		/* 0: nobody asked; 1: no; 2: yes */
};

static enum tb_status
repo_manifest(struct site *base, struct http *h, const char *reference, struct tb_job *job,
	      struct site_manifest *out, struct tb_err *err)
{
	struct site_repo *s = (struct site_repo *)base;
	struct registry_manifest m;
	enum tb_status status = registry_manifest(s->registry, h, reference, job, &m, err);

	if (status)
		return status;
	out->text = m.text;
	memcpy(out->type, m.type, sizeof(out->type));
	memcpy(out->digest, m.digest, sizeof(out->digest));
	return TB_OK;
}

static enum tb_status
repo_open(struct site *base, const struct site_blob *b, struct tb_job *job,
	  struct site_stream **out, struct tb_err *err)
{
	return site_pipe(out, ((struct site_repo *)base)->registry, b, job, err);
}

static char *
repo_where(const struct site *base, const struct site_blob *b)
{
	return tb_asprintf("%s: blob %.19s…", base->shown, b->digest);
}

static enum tb_status
repo_has(struct site *base, struct http *h, const struct site_blob *b, bool *has,
	 struct tb_job *job, struct tb_err *err)
{
	const struct upload u = { .registry = ((struct site_repo *)base)->registry, .http = h,
				  .digest = b->digest, .size = b->size, .job = job };

	return upload_has(&u, has, err);
}

/* Threads may find it out side by side: they find the same. */
static enum tb_status
find_kind(struct site_repo *s, const struct site_put *p, bool *ollama, struct tb_err *err)
{
	int known = atomic_load(&s->ollama);
	enum tb_status status = TB_OK;

	*ollama = known == 2;
	if (!known && !(status = upload_is_ollama(s->registry, p->http, ollama, p->job, err)))
		atomic_store(&s->ollama, *ollama ? 2 : 1);
	return status;
}

/* The repository of this registry that a manifest says a layer is from, in fresh memory; NULL: of
 * another, or none. */
static char *
named_repo(const struct site_repo *s, const char *from)
{
	struct image_name n;
	char *repo = NULL;

	if (!from || image_name_parse(&n, from, NULL))
		return NULL;
	if (!strcmp(n.host, s->host)) {
		repo = n.repo;
		n.repo = NULL;
	}
	image_name_free(&n);
	return repo;
}

static enum tb_status
repo_put(struct site *base, const struct site_put *p, enum upload_how *how, struct tb_err *err)
{
	struct site_repo *s = (struct site_repo *)base;
	const char *mount = p->mount ? p->mount : site_mount(base, p->from);
	char *named = mount ? NULL : named_repo(s, p->blob->from);
	struct upload u = { .registry = s->registry, .http = p->http, .digest = p->blob->digest,
			    .size = p->blob->size, .what = p->what, .advice = p->advice,
			    .from = named ? named : mount, .session = p->session, .read = p->read,
			    .arg = p->arg, .told = p->told, .chunk = p->chunk, .job = p->job };
	enum tb_status status = find_kind(s, p, &u.ollama, err);

	if (u.from && !strcmp(u.from, registry_repo(s->registry)))
		u.from = NULL;
	if (!status)
		status = upload_blob(&u, how, err);
	free(named);
	return status;
}

/* ---- referrers ---- */

#define REFERRERS_MAX (4u << 20)
#define REFERRERS_PAGES 20u

/* The address of the next page, in fresh memory; NULL: there is none. */
static char *
next_page(const struct http_answer *a)
{
	const char *link = http_header(a, "Link"), *end;

	if (!link || *link != '<' || !strstr(link, "rel=\"next\"") || !(end = strchr(link, '>')))
		return NULL;
	return tb_strndup(link + 1, (size_t)(end - link - 1));
}

/* As the registry lists them; *knows: whether it does. */
static enum tb_status
listed(struct site_repo *s, struct http *h, const char *digest, struct tb_job *job,
       struct site_refs *out, bool *knows, struct tb_err *err)
{
	static const char *const headers[] = { "Accept: " OCI_INDEX_TYPE, NULL };
	const struct http_ask ask = { .headers = headers, .max = REFERRERS_MAX, .seconds = 120 };
	char *where = tb_asprintf("referrers/%s", digest);
	enum tb_status status = where ? TB_OK : tb_nomem(err);

	*knows = true;
	for (unsigned n = 0; where && !status && n < REFERRERS_PAGES; n++) {
		struct http_answer a;
		char *next = NULL;

		status = registry_ask(s->registry, h, where, "pull", &ask, job, &a, err);
		if (!status && a.status == 200) {
			status = site_refs_read(out, tb_buf_cstr(&a.body), a.body.len, s->base.shown, err);
			next = next_page(&a);
		} else if (!status && (a.status == 401 || a.status == 403 || a.status == 429 ||
				       a.status >= 500)) {
			status = registry_error(s->registry, &a, where, err);
		} else if (!status) {
			*knows = false;
		}
		http_answer_free(&a);
		free(where);
		where = next;
	}
	free(where);
	return status;
}

static enum tb_status
repo_referrers(struct site *base, struct http *h, const char *digest, struct tb_job *job,
	       struct site_refs *out, struct tb_err *err)
{
	struct site_repo *s = (struct site_repo *)base;
	struct registry_manifest m;
	char tag[TB_DIGEST_MAX];
	bool knows;
	enum tb_status status = listed(s, h, digest, job, out, &knows, err);

	if (status || knows)
		return status;
	site_fallback(digest, tag);
	status = registry_manifest(s->registry, h, tag, job, &m, err);
	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	status = site_refs_read(out, tb_buf_cstr(&m.text), m.text.len, s->base.shown, err);
	registry_manifest_free(&m);
	return status;
}

/* The index under the tag by which others find what refers to a manifest, with one more. */
static char *
fallback_text(const struct registry_manifest *old, const struct site_manifest *m)
{
	cJSON *doc = json_object(), *list = json_array(), *was = NULL;
	char *text;

	if (old->text.len)
		(void)!json_parse(&was, tb_buf_cstr(&old->text), old->text.len, "", NULL);
	json_set_u64(doc, "schemaVersion", 2);
	json_set_str(doc, "mediaType", OCI_INDEX_TYPE);
	for (const cJSON *d = json_first(json_get(was, "manifests")); d; d = json_next(d)) {
		const char *digest = json_str(json_get(d, "digest"));

		if (!digest || strcmp(digest, m->digest) != 0)
			json_push(list, json_copy(d));
	}
	json_push(list, site_descriptor(m, NULL));
	json_set(doc, "manifests", list);
	text = json_print(doc);
	json_free(was);
	json_free(doc);
	return text;
}

static enum tb_status
add_fallback(struct site_repo *s, struct http *h, const struct site_manifest *m,
	     const char *subject, struct tb_job *job, struct tb_err *err)
{
	struct registry_manifest old = { 0 };
	char tag[TB_DIGEST_MAX], digest[TB_DIGEST_MAX], *text = NULL;
	enum tb_status status;

	site_fallback(subject, tag);
	status = registry_manifest(s->registry, h, tag, job, &old, err);
	if (status == TB_ENOENT)
		status = TB_OK;
	if (!status && old.text.len && strstr(tb_buf_cstr(&old.text), m->digest))
		goto out;
	if (!status && !(text = fallback_text(&old, m)))
		status = tb_nomem(err);
	if (!status)
		status = tb_sha256_bytes(text, strlen(text), digest, err);
	if (!status) {
		const struct upload_manifest u = { tag, OCI_INDEX_TYPE, digest, text, strlen(text), NULL };

		status = upload_manifest(s->registry, h, &u, job, err);
	}
out:
	free(text);
	registry_manifest_free(&old);
	return status;
}

static enum tb_status
repo_write(struct site *base, struct http *h, const struct site_manifest *m, const char *tag,
	   struct tb_job *job, struct tb_err *err)
{
	struct site_repo *s = (struct site_repo *)base;
	bool lists = false;
	char subject[TB_DIGEST_MAX];
	const struct upload_manifest u = { tag ? tag : m->digest, m->type, m->digest,
					   tb_buf_cstr(&m->text), m->text.len, &lists };
	enum tb_status status = upload_manifest(s->registry, h, &u, job, err);

	if (status || lists || !site_subject(m, subject))
		return status;
	return add_fallback(s, h, m, subject, job, err);
}

static void
repo_free(struct site *base)
{
	struct site_repo *s = (struct site_repo *)base;

	registry_free(s->registry);
	free(s->host);
	free(s);
}

static const struct site_row repo_row = {
	.manifest = repo_manifest, .open = repo_open, .where = repo_where, .has = repo_has, .put = repo_put,
	.write = repo_write, .referrers = repo_referrers, .free = repo_free,
};

enum tb_status
site_registry(struct site **out, const struct image_name *n, const struct registry_opts *o,
	      struct tb_err *err)
{
	struct site_repo *s = tb_calloc(1, sizeof(*s));
	enum tb_status status;

	*out = NULL;
	if (!s)
		return tb_nomem(err);
	s->base.row = &repo_row;
	s->base.shown = tb_asprintf("%s/%s", n->host, n->repo);
	s->host = tb_strdup(n->host);
	status = s->base.shown && s->host ? registry_new(&s->registry, n, o, err) : tb_nomem(err);
	if (status)
		site_free(&s->base);
	else
		*out = &s->base;
	return status;
}

const char *
site_mount(const struct site *to, const struct site *from)
{
	const struct site_repo *a = (const struct site_repo *)to, *b = (const struct site_repo *)from;

	if (to->row != &repo_row || from->row != &repo_row || strcmp(a->host, b->host) != 0)
		return NULL;
	return registry_repo(b->registry);
}
