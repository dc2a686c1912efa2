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

static enum tb_status
repo_write(struct site *base, struct http *h, const struct site_manifest *m, const char *tag,
	   struct tb_job *job, struct tb_err *err)
{
	const struct upload_manifest u = { tag ? tag : m->digest, m->type, m->digest,
					   tb_buf_cstr(&m->text), m->text.len };

	return upload_manifest(((struct site_repo *)base)->registry, h, &u, job, err);
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
	.write = repo_write, .free = repo_free,
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
