#include "config.h"

#include "src/ops/content/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/audit.h"
#include "src/base/mem.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/store/hub.h"
#include "src/store/journal.h"

struct gathering {
	struct op_ctx *ctx;
	struct content *to;
	struct tb_job *job;
	struct model_cache *cache;
};

static enum tb_status
content_add_model(struct content *c, const struct model_loc *loc, bool wanted, struct tb_err *err)
{
	if (!tb_grow(&c->models, &c->models_cap, c->nmodels + 1, sizeof(*c->models)))
		return tb_nomem(err);
	c->models[c->nmodels].wanted = wanted;
	return model_loc_copy(&c->models[c->nmodels++].loc, loc, err);
}

static enum tb_status
walked(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct gathering *g = arg;
	enum tb_status status = tb_job_check(g->job, err);

	return status ? status : content_add_model(g->to, loc, false, err);
}

/* Models of refs that the walk has found are those; others join them. */
static enum tb_status
want_model(struct content *c, const struct model_loc *loc, struct tb_err *err)
{
	bool found = false;

	for (size_t i = 0; i < c->nmodels; i++)
		if (!strcmp(c->models[i].loc.path, loc->path))
			found = c->models[i].wanted = true;
	return found ? TB_OK : content_add_model(c, loc, true, err);
}

/* ---- what a model uses ---- */

static void
content_stat(struct content_file *f)
{
	struct stat st;

	if (stat(f->path, &st))
		return;
	f->nlink = st.st_nlink;
	f->ctime_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	f->uid = st.st_uid;
	f->gid = st.st_gid;
	f->mode = st.st_mode & 07777;
}

static enum tb_status
keep_files(struct content_model *to, const struct model *m, uint32_t model, struct tb_err *err)
{
	to->files = tb_arena_get(&to->mem, (m->nfiles + 1) * sizeof(*to->files));
	struct tb_buf text = TB_BUF(1u << 20);

	to->odd = m->nproblems > 0;
	for (size_t i = 0; i < m->nproblems && !text.over; i++)
		tb_buf_printf(&text, "%s%s", i ? "\n" : "", m->problems[i].message);
	to->problems = tb_arena_str(&to->mem, tb_buf_cstr(&text));
	tb_buf_free(&text);
	if (!to->problems)
		return tb_nomem(err);
	to->loc.kind = m->loc.kind;
	for (size_t i = 0; to->files && i < m->nfiles; i++) {
		const struct model_file *from = &m->files[i];
		struct content_file *f = &to->files[to->nfiles];

		if (from->outside)
			continue;
		*f = (struct content_file){
			.path = tb_arena_str(&to->mem, from->path), .model = model,
			.id = from->missing ? (struct tb_ident){ 0 } : from->id,
			.missing = from->missing, .unread = from->unread,
			.sized = from->media_type && !from->is_manifest,
			.want_size = from->want_size, .wanted = to->wanted,
			.manifest = from->is_manifest,
			.odd = strstr(to->problems, tb_path_name(from->path)),
		};
		if (!f->path)
			return tb_nomem(err);
		memcpy(f->digest, from->digest, sizeof(f->digest));
		if (!*f->digest && !hub_digest(f->path, f->digest))
			*f->digest = 0;
		content_stat(f);
		to->nfiles++;
	}
	return to->files ? TB_OK : tb_nomem(err);
}

/* Of a model that cannot be opened the manifest is known, which in some stores is a blob. */
static enum tb_status
keep_manifest(struct content_model *to, uint32_t model, struct tb_err *err)
{
	const struct store_kind *store = kind_store(to->loc.kind);
	struct content_file *f;

	if (!store || !store->manifests_are_blobs)
		return TB_OK;
	f = to->files = tb_arena_get(&to->mem, sizeof(*f));
	if (!f)
		return tb_nomem(err);
	*f = (struct content_file){ .path = to->loc.path, .model = model, .manifest = true,
				    .wanted = to->wanted };
	snprintf(f->digest, sizeof(f->digest), "sha256:%.64s", tb_path_name(to->loc.path));
	f->missing = tb_file_ident(f->path, &f->id, NULL) != TB_OK;
	content_stat(f);
	to->nfiles = 1;
	return TB_OK;
}

static enum tb_status
read_model(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct gathering *g = arg;
	struct content_model *to = &g->to->models[i];
	struct model *m = NULL;
	struct tb_err why;
	enum tb_status status = model_open_cached(&m, &to->loc, g->cache, &why);

	(void)worker;
	tb_job_what(g->job, "%s", to->loc.name);
	if (status == TB_ENOMEM)
		return tb_pass(err, &why);
	if (status) {
		to->failure = tb_arena_str(&to->mem, why.msg);
		return to->failure ? keep_manifest(to, (uint32_t)i, err) : tb_nomem(err);
	}
	status = keep_files(to, m, (uint32_t)i, err);
	model_free(m);
	return status;
}

/* ---- all of them in one list ---- */

static int
content_by_path(const void *a, const void *b)
{
	const struct content_file *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	return d ? d : x->model < y->model ? -1 : x->model > y->model;
}

static bool
append(struct content *c, const struct content_file *f)
{
	if (!tb_grow(&c->files, &c->cap, c->n + 1, sizeof(*c->files)))
		return false;
	c->files[c->n++] = *f;
	return true;
}

static void
merge(struct content *c)
{
	size_t n = 0;

	if (c->n > 1)
		qsort(c->files, c->n, sizeof(*c->files), content_by_path);
	for (size_t i = 0; i < c->n; i++) {
		struct content_file *f = &c->files[i], *was = n ? &c->files[n - 1] : NULL;

		if (!was || strcmp(was->path, f->path)) {
			c->files[n++] = *f;
			continue;
		}
		was->wanted |= f->wanted;
		was->odd |= f->odd;
		if (!*was->digest)
			memcpy(was->digest, f->digest, sizeof(was->digest));
		if (!was->sized && f->sized) {
			was->sized = true;
			was->want_size = f->want_size;
		}
	}
	c->n = n;
}

/* What no model uses, but lies where models' files do. */
static enum tb_status
add_blobs(struct gathering *g, struct tb_err *err)
{
	struct content *c = g->to;
	struct blobdir d = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < g->ctx->roots.n; i++)
		if (!store_root_away(&g->ctx->roots, i))
			status = blobdir_root(&d, g->ctx->roots.path[i], err);
	for (size_t i = 0; !status && i < c->nmodels; i++)
		status = blobdir_model(&d, "", &c->models[i].loc, err);
	if (!status)
		status = unread_add(&c->unread, &d.unread, err);
	for (size_t i = 0; !status && i < d.n; i++) {
		struct content_file f = { .model = CONTENT_NONE, .id = d.rows[i].id };

		if (d.rows[i].kind != DB_FILE_BLOB)
			continue;
		f.path = tb_arena_str(&c->mem, d.rows[i].path);
		memcpy(f.digest, d.rows[i].digest, sizeof(f.digest));
		if (!f.path || (content_stat(&f), !append(c, &f)))
			status = tb_nomem(err);
	}
	blobdir_free(&d);
	return status;
}

/* What a folder had when it was verified, and has no more, while its model misses something. */
static enum tb_status
recall_missing(struct content *c, struct db *db, uint32_t model, struct tb_err *err)
{
	const struct content_model *m = &c->models[model];
	struct db_hasheds known;
	enum tb_status status = db_hashes_below(db, m->loc.path, &known, err);

	if (status)
		return status;
	for (size_t i = 0; !status && i < known.n; i++) {
		struct content_file f = { .model = model, .missing = true, .wanted = m->wanted };

		if (!tb_absent(known.rows[i].path) ||
		    !strstr(m->problems, tb_path_name(known.rows[i].path)))
			continue;
		f.path = tb_arena_str(&c->mem, known.rows[i].path);
		if (!f.path || !append(c, &f))
			status = tb_nomem(err);
	}
	tb_arena_free(&known.mem);
	return status;
}

static enum tb_status
recall(struct gathering *g, struct tb_err *err)
{
	struct db *db = NULL;
	enum tb_status status = db_open_read(&db, g->ctx->db_path, err);

	for (size_t i = 0; !status && i < g->to->nmodels; i++)
		if (g->to->models[i].odd && kind_is_folder(g->to->models[i].loc.kind))
			status = recall_missing(g->to, db, (uint32_t)i, err);
	merge(g->to);
	for (size_t i = 0; !status && i < g->to->n; i++) {
		struct content_file *f = &g->to->files[i];
		struct db_hash h;
		bool known = false;

		status = db_hash_get(db, f->path, &h, &known, err);
		if (status || !known)
			continue;
		memcpy(f->last, h.digest, sizeof(f->last));
		f->last_id = h.id;
		f->last_ns = h.when_ns;
		f->last_ok = h.ok;
	}
	db_close(db);
	return status == TB_ENOMEM || status == TB_ECANCEL ? status : TB_OK;
}

static enum tb_status
gather(struct gathering *g, const char *const *refs, size_t nrefs, struct tb_err *err)
{
	struct content *c = g->to;
	enum tb_status status = g->cache ? TB_OK : tb_nomem(err);

	for (size_t i = 0; !status && i < g->ctx->roots.n; i++)
		if (!store_root_away(&g->ctx->roots, i))
			status = store_walk(g->ctx->roots.path[i], walked, g, &c->unread, err);
	for (size_t i = 0; !status && i < nrefs; i++) {
		struct model_loc loc = { 0 };

		status = store_resolve(&g->ctx->roots, refs[i], &loc, err);
		if (!status)
			status = want_model(c, &loc, err);
		model_loc_free(&loc);
	}
	for (size_t i = 0; !nrefs && i < c->nmodels; i++)
		c->models[i].wanted = true;
	if (!status)
		status = tb_pool_try(g->ctx->pool, c->nmodels, read_model, g, g->job, err);
	for (size_t i = 0; !status && i < c->nmodels; i++)
		for (size_t k = 0; !status && k < c->models[i].nfiles; k++)
			if (!append(c, &c->models[i].files[k]))
				status = tb_nomem(err);
	if (!status)
		status = add_blobs(g, err);
	return status ? status : recall(g, err);
}

static bool
has_unfinished(const char *root)
{
	uint64_t *numbers = NULL;
	bool unfinished = false;
	size_t n = 0;

	if (journal_list(root, &numbers, &n, NULL))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct journal j = { 0 };

		unfinished |= !journal_read(&j, root, numbers[i], NULL) && journal_unfinished(&j);
		journal_free(&j);
	}
	free(numbers);
	return unfinished;
}

static enum tb_status
recover_stores(struct op_ctx *ctx, struct tb_err *err)
{
	struct tb_names stores;
	enum tb_status status = home_quarantines(ctx, &stores, err);

	for (size_t i = 0; !status && i < stores.n; i++) {
		struct store_lock lock = STORE_UNLOCKED;
		const char *root = stores.v[i];

		if (!has_unfinished(root))
			continue;
		status = store_lock_alone(&lock, root, err);
		if (!status)
			status = journal_recover(root, &lock, NULL, err);
		store_unlock(&lock);
	}
	tb_names_free(&stores);
	return status;
}

enum tb_status
content_collect(struct op_ctx *ctx, const char *const *refs, size_t nrefs, bool recover,
		struct tb_job *job, struct content *out, struct tb_err *err)
{
	struct gathering g = { ctx, out, job, NULL };
	enum tb_status status;

	*out = (struct content){ 0 };
	status = recover ? recover_stores(ctx, err) : TB_OK;
	if (status)
		return status;
	g.cache = model_cache_new();
	status = gather(&g, refs, nrefs, err);
	model_cache_free(g.cache);
	if (status)
		content_free(out);
	return status;
}

void
content_free(struct content *c)
{
	for (size_t i = 0; i < c->nmodels; i++) {
		model_loc_free(&c->models[i].loc);
		tb_arena_free(&c->models[i].mem);
	}
	free(c->models);
	free(c->files);
	tb_arena_free(&c->mem);
	unread_free(&c->unread);
	*c = (struct content){ 0 };
}

enum tb_status
content_unread(const struct content *c, struct tb_arena *mem, const char ***out, size_t *n,
	       struct tb_err *err)
{
	const char **v = tb_arena_get(mem, (c->unread.n + 1) * sizeof(*v));

	*out = v;
	*n = 0;
	for (size_t i = 0; v && i < c->unread.n; i++)
		if (!(v[(*n)++] = tb_arena_str(mem, c->unread.v[i].why)))
			v = NULL;
	return v ? TB_OK : tb_nomem(err);
}

const char *
content_known(const struct content_file *f)
{
	return *f->last && tb_ident_equal(&f->last_id, &f->id) ? f->last : f->digest;
}

/* Is the folder on the file system of that of the file, or of where that would be made? */
static bool
same_device(const char *dir, const char *path)
{
	char *parent = tb_path_parent(path);
	struct stat a = { 0 }, b;
	bool known = parent && !stat(dir, &a);

	while (known && stat(parent, &b)) {
		char *slash = strrchr(parent, '/');

		known = slash > parent;
		if (known)
			*slash = 0;
	}
	free(parent);
	return known && a.st_dev == b.st_dev;
}

char *
content_store(const struct content *c, const struct content_file *f)
{
	const struct model_loc *loc = f->model == CONTENT_NONE ? NULL : &c->models[f->model].loc;
	const struct store_kind *kind;
	const char *path;
	char *dir = NULL;
	size_t n = 0;

	if (loc && *loc->root && tb_path_inside(f->path, loc->root, strlen(loc->root)))
		dir = tb_strdup(loc->root);
	else if (loc && (kind = store_of_model(loc, &path, &n)) && (n = kind->root_of(loc->path)))
		dir = tb_strndup(loc->path, n);
	if (dir && same_device(dir, f->path))
		return dir;
	free(dir);
	return tb_path_parent(f->path);
}
