/* verify_models.c - which models are verified, and what their manifests and headers
 * alone tell. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/store/hub.h"

static enum tb_status
add_model(struct verify_run *r, const struct model_loc *loc, struct tb_err *err)
{
	for (size_t i = 0; r->req->nrefs && i < r->nmodels; i++)
		if (!strcmp(r->models[i].loc.path, loc->path))
			return TB_OK;		/* named twice */
	if (!tb_grow(&r->models, &r->cap, r->nmodels + 1, sizeof(*r->models)))
		return tb_nomem(err);
	return model_loc_copy(&r->models[r->nmodels++].loc, loc, err);
}

static enum tb_status
walked(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct verify_run *r = arg;
	enum tb_status status = tb_job_check(r->job, err);

	return status ? status : add_model(r, loc, err);
}

/* Stores may lie in one another: a model is looked at once. */
static int
by_place(const void *a, const void *b)
{
	const struct verify_model *const *x = a, *const *y = b;
	int d = strcmp((*x)->loc.path, (*y)->loc.path);

	return d ? d : *x < *y ? -1 : *x > *y;
}

static void
drop_doubles(struct verify_run *r)
{
	struct verify_model **all = tb_calloc(r->nmodels + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < r->nmodels; i++)
		all[i] = &r->models[i];
	if (all)
		qsort(all, r->nmodels, sizeof(*all), by_place);
	for (size_t i = 1; all && i < r->nmodels; i++)
		if (!strcmp(all[i]->loc.path, all[i - 1]->loc.path))
			all[i]->doubled = true;
	free(all);
	for (size_t i = 0; i < r->nmodels; i++)
		if (r->models[i].doubled)
			model_loc_free(&r->models[i].loc);
		else
			r->models[n++] = r->models[i];
	r->nmodels = n;
}

enum tb_status
verify_collect(struct verify_run *r, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < r->req->nrefs; i++) {
		struct model_loc loc = { 0 };

		status = store_resolve(&r->ctx->roots, r->req->refs[i], &loc, err);
		if (!status)
			status = add_model(r, &loc, err);
		model_loc_free(&loc);
	}
	for (size_t i = 0; !status && !r->req->nrefs && i < r->ctx->roots.n; i++) {
		const char *path = r->ctx->roots.path[i];
		struct verify_where at = { .blob = path };

		if (store_root_away(&r->ctx->roots, i))
			verify_find(r, F_STORE_AWAY, &at, "%s: this store is not there now, so nothing"
				    " of it was verified (\"tbtui scan --forget\" drops it)", path);
		else
			status = store_walk(path, walked, r, &r->unread, err);
	}
	if (!status && r->ctx->roots.n > 1)
		drop_doubles(r);
	for (size_t i = 0; i < r->unread.n; i++)
		verify_find_unread(r, &r->unread.v[i]);
	return status;
}

/* ---- reading, on the pool ---- */

static const char *
keep_text(struct verify_model *to, const char *s, bool *ok)
{
	const char *copy = s ? tb_arena_str(&to->mem, s) : NULL;

	*ok &= !s || copy;
	return copy;
}

static bool
keep_model(struct verify_model *to, const struct model *m)
{
	bool ok = true;

	to->files = tb_arena_get(&to->mem, m->nfiles * sizeof(*to->files));
	to->problems = tb_arena_get(&to->mem, m->nproblems * sizeof(*to->problems));
	if (!to->files || !to->problems)
		return false;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		struct verify_file *v = &to->files[to->nfiles++];
		bool odd = f->media == MEDIA_UNKNOWN && !f->is_manifest;

		*v = (struct verify_file){
			.path = keep_text(to, f->path, &ok), .want_size = f->want_size, .id = f->id,
			.missing = f->missing, .unread = f->unread, .outside = f->outside,
			.manifest = f->is_manifest, .sized = f->media_type && !f->is_manifest,
			.odd_media = keep_text(to, odd ? f->media_type : NULL, &ok),
		};
		memcpy(v->digest, f->digest, sizeof(v->digest));
		if (!*v->digest && !hub_digest(f->path, v->digest))
			*v->digest = 0;
	}
	for (size_t i = 0; i < m->nproblems; i++) {
		struct verify_problem *p = &to->problems[to->nproblems++];

		p->message = keep_text(to, m->problems[i].message, &ok);
		p->absent = m->problems[i].absent;
		p->index = m->problems[i].index;
		memcpy(p->digest, m->problems[i].digest, TB_DIGEST_MAX);
	}
	to->remark = keep_text(to, m->remark, &ok);
	to->stamp = model_stamp(m);
	to->bytes = m->bytes;
	to->loc.kind = m->loc.kind;	/* what only the manifest tells */
	return verify_name_tensors(to, m) && ok;
}

static enum tb_status
read_model(const struct verify_run *r, struct verify_model *v, struct tb_err *err)
{
	struct model *m = NULL;
	enum tb_status status = model_open(&m, &v->loc, err);

	if (!status) {
		if (!keep_model(v, m) || (r->req->deep && !verify_keep_bytes(v, m)))
			status = tb_nomem(err);
		else
			status = verify_read_sidecars(v, m, err);
		if (!status)
			status = verify_complete(m, &v->gaps, err);
		if (!status)
			status = verify_hash_manifest(v, err);
		model_free(m);
	} else if (status != TB_ENOMEM) {
		v->failure = tb_arena_str(&v->mem, err->msg);
		v->unchecked = status == TB_EUNSUP && kind_has_manifest(v->loc.kind) &&
			       !kind_types_layers(v->loc.kind);
		status = v->failure ? TB_OK : tb_nomem(err);
	}
	return status;
}

static void
forget_model(struct verify_model *v)
{
	for (size_t k = 0; k < v->nfiles; k++)
		free(v->files[k].bytes);
	gaps_free(&v->gaps);
	tb_arena_free(&v->mem);
	*v = (struct verify_model){ .loc = v->loc };
}

/* What is on its way elsewhere is not found, and all kinds of things follow from that. */
static bool
doubtful(const struct verify_model *v)
{
	bool doubt = v->failure || v->nproblems || v->gaps.n;

	for (size_t i = 0; i < v->nfiles; i++)
		doubt |= v->files[i].missing || v->files[i].unread;
	return doubt;
}

static void
read_one(void *arg, size_t i, unsigned worker)
{
	struct verify_run *r = arg;
	struct verify_model *v = &r->models[i];
	struct store_lock lock;
	struct tb_err err;
	enum tb_status status;

	(void)worker;
	if (tb_job_cancelled(r->job))
		return;
	tb_job_what(r->job, "%s", v->loc.name);
	status = read_model(r, v, &err);
	if (!status && doubtful(v)) {
		verify_hold(v, &lock);
		forget_model(v);
		status = read_model(r, v, &err);
		v->gone = v->failure && kind_lists_itself(v->loc.kind) && tb_absent(v->loc.path);
		store_unlock(&lock);
	}
	if (status)
		verify_fail(r, status, &err);
}

/* ---- findings, in the order of the models ---- */

/* A model's files by digest, those of one digest as the manifest has them: a model whose
 * 40,000 layers are all missing has as many problems. */
struct digests { const struct verify_file **v; size_t n; };	/* v owned */

static int
by_digest(const void *a, const void *b)
{
	const struct verify_file *x = *(const struct verify_file *const *)a;
	const struct verify_file *y = *(const struct verify_file *const *)b;
	int d = strcmp(x->digest, y->digest);

	return d ? d : (x > y) - (x < y);
}

/* The first with that digest, or NULL. */
static const struct verify_file *
file_of(const struct digests *d, const char *digest)
{
	size_t at = TB_FIRST(d->n, i, strcmp(d->v[i]->digest, digest) < 0);

	return at < d->n && !strcmp(d->v[at]->digest, digest) ? d->v[at] : NULL;
}

static void
missing(struct verify_run *r, const struct verify_model *m, const struct verify_file *f)
{
	const char *what = verify_label(f);
	struct verify_where at = { .model = m, .blob = what };
	char name[VERIFY_NAME_MAX];
	struct tb_file file;
	struct tb_err why;
	enum tb_status status;

	verify_name(f, &at, name);
	status = tb_file_open(&file, f->path, &why);
	if (!status) {
		tb_file_close(&file);
		(void)tb_fail(&why, TB_EIO, "could not be opened, and now can: verify again");
	}
	if (status == TB_ENOMEM)
		verify_fail(r, status, &why);
	else if (status == TB_ENOENT)
		verify_find(r, F_BLOB_MISSING, &at, "%s: %s is missing%s", m->loc.name, what, name);
	else
		verify_find(r, F_BLOB_UNREADABLE, &at, "%s: %s: %s%s", m->loc.name, what, why.msg,
			    name);
}

/* What is linked from elsewhere may go away without the store: said once a model. */
static void
find_outside(struct verify_run *r, const struct verify_model *m)
{
	char *root = *m->loc.root ? realpath(m->loc.root, NULL) : NULL;
	size_t n = root ? strlen(root) : 0;
	bool found = false;

	for (size_t i = 0; root && i < m->nfiles && !found; i++) {
		const struct verify_file *f = &m->files[i];
		char *real = realpath(f->path, NULL);
		struct verify_where at = { .model = m, .blob = f->path, .actual = real };

		found = real && n > 1 &&
			(strncmp(real, root, n) != 0 || (real[n] && real[n] != '/'));
		if (found)
			verify_find(r, F_OUTSIDE, &at, "%s: %s leads out of the store, to %s",
				    m->loc.name, f->path, real);
		free(real);
	}
	free(root);
}

static void
judge(struct verify_run *r, const struct verify_model *m)
{
	struct digests d = { .v = tb_calloc(m->nfiles + 1, sizeof(*d.v)) };
	struct tb_err err;

	if (!d.v) {
		verify_fail(r, tb_nomem(&err), &err);
		return;
	}
	for (size_t i = 0; i < m->nfiles; i++)
		if (*m->files[i].digest && !m->files[i].sums)
			d.v[d.n++] = &m->files[i];
	if (d.n > 1)
		qsort(d.v, d.n, sizeof(*d.v), by_digest);
	find_outside(r, m);
	if (!kind_is_model(m->loc.kind))
		verify_find(r, F_NOT_MODEL, &(struct verify_where){ .model = m }, "%s: a container "
			    "image, no model; its blobs are compared with their digests",
			    m->loc.name);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct verify_file *f = &m->files[i];
		struct verify_where at = { .model = m, .blob = f->digest, .actual = f->odd_media };
		bool again = *f->digest && !f->sums && file_of(&d, f->digest) != f;

		if ((f->missing || f->unread) && !f->outside && !again)
			missing(r, m, f);
		if (f->odd_media && kind_is_model(m->loc.kind))
			verify_find(r, F_UNKNOWN_MEDIA, &at, "%s: a layer of unknown type %s",
				    m->loc.name, f->odd_media);
	}
	for (size_t i = 0; i < m->nproblems; i++) {
		const struct verify_problem *p = &m->problems[i];
		const struct verify_file *f = *p->digest ? file_of(&d, p->digest) : NULL;
		struct verify_where at = { .model = m, .blob = p->digest };
		char name[VERIFY_NAME_MAX];

		/* A file that is not there, or has not the bytes that it should, is told once. */
		if (p->absent || (f && (f->missing || f->unread ||
					(f->sized && f->id.size != f->want_size))))
			continue;
		verify_name(f, &at, name);
		verify_find(r, p->index ? F_INDEX_BAD : *p->digest ? F_STRUCTURE_BAD : F_MODEL_BAD,
			    &at, "%s: %s", m->loc.name, p->message);
	}
	free(d.v);
	for (size_t i = 0; i < m->gaps.n; i++) {
		const struct verify_gap *gap = &m->gaps.v[i];
		struct verify_where at = { .model = m, .tensor = gap->tensor };

		verify_find(r, gap->code, &at, "%s: %s", m->loc.name, gap->message);
	}
	if (m->remark)
		verify_find(r, F_INDEX_SIZE, &(struct verify_where){ .model = m }, "%s: %s",
			    m->loc.name, m->remark);
}

enum tb_status
verify_read_models(struct verify_run *r, struct tb_err *err)
{
	enum tb_status status = verify_each(r, r->nmodels, read_one, err);
	struct tb_err why;

	for (size_t i = 0; !status && i < r->nmodels; i++) {
		const struct verify_model *m = &r->models[i];

		if (m->gone)
			continue;
		if (m->failure) {
			verify_find(r, m->unchecked ? F_UNCHECKED
				    : kind_has_manifest(m->loc.kind) ? F_MANIFEST_BAD : F_MODEL_BAD,
				    &(struct verify_where){ .model = m }, "%s: %s", m->loc.name,
				    m->failure);
			(void)tb_fail(&why, TB_EIO, "%s", m->failure);
			if (kind_shares_blobs(m->loc.kind))
				status = unread_note(&r->unread, m->loc.path, TB_EIO, &why, err);
		} else {
			judge(r, m);
		}
		r->out->models += kind_is_model(m->loc.kind);
		r->out->manifests += kind_has_manifest(m->loc.kind);
	}
	return status;
}

void
verify_free_models(struct verify_run *r)
{
	for (size_t i = 0; i < r->nmodels; i++) {
		forget_model(&r->models[i]);
		model_loc_free(&r->models[i].loc);
	}
	free(r->orphans);
	free(r->models);
	free(r->uses);
	free(r->targets);
	free(r->roots);
	free(r->hashed);
	tb_arena_free(&r->mem);
	unread_free(&r->unread);
}
