#include "config.h"

#include "src/ops/scan/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/ops/scan/scan_open.h"

static const char *const words[] = {
#define X(id, word) [id] = word,
	SCAN_CHANGE_LIST(X)
#undef X
};

const char *
scan_change_word(enum scan_change c)
{
	return words[c];
}

struct scan {
	struct op_ctx *ctx;
	const struct scan_request *req;
	struct tb_job *job;
	struct scan_result *out;
	struct store_roots roots;	/* owned */
	struct scan_root *root;		/* one a root; owned */
	struct db_known_files files;	/* all that the index knows; owned */
	struct db *db;
};

/* ---- what is there, by names and stat() alone ---- */

static enum tb_status
collect(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct scan *s = ((void **)arg)[0];
	struct scan_root *root = ((void **)arg)[1];
	struct scan_model *m;
	enum tb_status status = tb_job_check(s->job, err);

	if (status)
		return status;
	if (!tb_grow(&root->models, &root->cap, root->n + 1, sizeof(*root->models)))
		return tb_nomem(err);
	m = &root->models[root->n++];
	m->dir_ns = scan_dir_mtime(loc->path);
	return model_loc_copy(&m->loc, loc, err);
}

/* Many models have the same files: each is looked at once. */
static bool
same_files(const struct scan *s, const struct db_known *k)
{
	struct tb_ident id;
	bool missing;

	for (size_t i = 0; i < k->n; i++) {
		struct db_known_file *f = db_known_file(&s->files, k->files[i]);

		if (f && f->now == FILE_UNSEEN) {
			scan_probe(f->path, &id, &missing);
			f->now = missing == f->missing && (missing || tb_ident_equal(&id, &f->ident))
				 ? FILE_SAME : FILE_DIFFERS;
		}
		if (!f || f->now != FILE_SAME)
			return false;
	}
	return true;
}

static enum tb_status
compare(struct scan *s, struct scan_root *root, struct scan_model *m, struct tb_err *err)
{
	struct db_known k;
	enum tb_status status = tb_job_check(s->job, err);

	if (!status)
		status = db_known(s->db, m->loc.path, &k, err);
	if (status)
		return status;
	m->known = k.model != 0;
	m->stale = s->req->again || !m->known || k.mtime_ns != m->loc.mtime_ns ||
		   k.dir_ns != m->dir_ns || !same_files(s, &k);
	root->nstale += m->stale;
	s->out->unchanged += !m->stale && kind_is_model(k.kind);
	tb_arena_free(&k.mem);
	return TB_OK;
}

/* Before the index hears of it: what never was there is not remembered. */
static enum tb_status
not_there(struct scan *s, size_t i, struct tb_err *err)
{
	const char *path = s->roots.path[i];

	s->root[i].away = true;
	if (!store_root_away(&s->roots, i))
		return tb_fail(err, TB_ENOENT, "%s: no such folder", path);
	if (s->req->forget)
		return TB_OK;
	return scan_note(s->out, SCAN_AWAY, path, path, "not there now; its models stay listed",
			 err);
}

static enum tb_status
scan_look(struct scan *s, struct scan_root *root, struct tb_err *err)
{
	void *arg[] = { s, root };
	bool whole = false;
	enum tb_status status;

	tb_job_what(s->job, "%s", root->path);
	status = store_walk(root->path, collect, arg, &root->unread, err);
	if (status)		/* nothing that can be remembered */
		return status;
	status = db_begin(s->db, err);
	if (!status)
		status = db_root(s->db, root->path, &root->id, err);
	status = db_end(s->db, status, err);
	for (size_t i = 0; !status && i < root->n; i++)
		status = compare(s, root, &root->models[i], err);
	if (!status)
		status = db_root_open(s->db, root->id, &whole, err);
	root->interrupted = !whole;
	return status;
}

/* ---- what is there no more ---- */

static int
scan_by_path(const void *a, const void *b)
{
	return strcmp(((const struct scan_model *)a)->loc.path,
		      ((const struct scan_model *)b)->loc.path);
}

static enum tb_status
drop_gone(struct scan *s, struct scan_root *root, struct tb_err *err)
{
	const struct unread_place *hidden;
	struct db_models known;
	enum tb_status status = db_root_models(s->db, root->id, &known, err);

	if (status)
		return status;
	if (root->n)
		qsort(root->models, root->n, sizeof(*root->models), scan_by_path);
	for (size_t i = 0; !status && i < known.n; i++) {
		const struct db_model *m = &known.rows[i];
		struct scan_model key = { .loc = { .path = (char *)m->path } };
		char *problem = NULL;

		if (root->n && bsearch(&key, root->models, root->n, sizeof(key), scan_by_path))
			continue;
		hidden = unread_above(&root->unread, m->path);
		if (hidden) {	/* nobody knows whether it is still there */
			problem = tb_asprintf("not seen: %s", hidden->why);
			status = problem ? db_unseen_model(s->db, m->id, problem, err) : tb_nomem(err);
		} else {
			status = db_drop_model(s->db, m->id, err);
		}
		if (!status)
			status = scan_note(s->out, hidden ? SCAN_UNSEEN : SCAN_REMOVED, m->name, m->path,
					   problem, err);
		*(hidden ? &s->out->unseen : &s->out->removed) += 1;
		free(problem);
	}
	tb_arena_free(&known.mem);
	return status;
}

/* Both lists are in bytewise order of paths: one walk over the two. */
static enum tb_status
merge_blobs(struct scan *s, struct scan_root *root, const struct blobdir *disk,
	    const struct db_entries *known, bool *changed, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t i = 0, k = 0;

	while (!status && (i < disk->n || k < known->n)) {
		const struct blobdir_entry *d = i < disk->n ? &disk->rows[i] : NULL;
		const struct db_entry *e = k < known->n ? &known->rows[k] : NULL;
		int order = !d ? 1 : !e ? -1 : strcmp(d->path, e->path);
		bool same = order == 0 && !e->missing && e->kind == d->kind &&
			    tb_ident_equal(&e->ident, &d->id);

		if (order <= 0 && !same) {
			struct db_entry put = { .path = d->path, .digest = d->digest,
						.kind = d->kind, .ident = d->id };

			status = db_put_entry(s->db, root->id, &put, err);
			*changed = true;
		} else if (order > 0 && !e->missing && !unread_above(&disk->unread, e->path)) {
			status = db_lost_entry(s->db, e->id, err);
			*changed = true;
		}
		i += order <= 0;
		k += order >= 0;
	}
	return status;
}

static bool
seen_now(void *db, const char *path, struct tb_ident *id)
{
	return db_file_seen(db, path, id);
}

/* The two lists of a root: one thread reads the folders while another asks the index. */
enum { ON_DISK, IN_INDEX, SIDES };

struct sides {
	struct scan *s;
	const struct scan_root *root;
	struct blobdir disk;		/* owned */
	struct db_entries known;	/* owned */
	enum tb_status status[SIDES];
	struct tb_err err[SIDES];
};

static enum tb_status
list_disk(struct sides *l, struct tb_err *err)
{
	const struct scan_root *root = l->root;
	enum tb_status status = blobdir_root(&l->disk, root->path, err);

	for (size_t i = 0; !status && i < root->n; i++)	/* stores below the root */
		status = blobdir_model(&l->disk, root->path, &root->models[i].loc, err);
	blobdir_sort(&l->disk);
	return status;
}

/* What seen_now() looks at, reading the index leaves as it is. */
static void
list_side(void *arg, size_t side, unsigned worker)
{
	struct sides *l = arg;
	struct tb_err *err = &l->err[side];

	(void)worker;
	l->status[side] = side == ON_DISK ? list_disk(l, err)
			: db_root_entries(l->s->db, l->root->id, &l->known, err);
}

static enum tb_status
sync_blobs(struct scan *s, struct scan_root *root, bool *changed, struct tb_err *err)
{
	struct sides l = { .s = s, .root = root, .disk = { .seen = seen_now, .arg = s->db } };
	enum tb_status status = TB_OK;

	tb_pool_each(s->ctx->pool, SIDES, list_side, &l);
	for (int i = 0; i < SIDES && !status; i++) {
		status = l.status[i];
		if (status && err)
			*err = l.err[i];
	}
	if (!status)
		status = unread_add(&root->unread, &l.disk.unread, err);
	if (!status)
		status = merge_blobs(s, root, &l.disk, &l.known, changed, err);
	tb_arena_free(&l.known.mem);
	blobdir_free(&l.disk);
	return status;
}

static enum tb_status
scan_settle(struct scan *s, struct scan_root *root, struct tb_err *err)
{
	uint64_t was = s->out->removed + s->out->unseen;
	bool changed = root->nstale > 0 || root->interrupted;
	enum tb_status status = db_begin(s->db, err);

	if (!status)
		status = drop_gone(s, root, err);
	changed |= s->out->removed + s->out->unseen != was;
	if (!status)
		status = sync_blobs(s, root, &changed, err);
	for (size_t i = 0; !status && i < root->unread.n; i++, s->out->unread++)
		status = scan_note(s->out, SCAN_UNREADABLE, root->unread.v[i].path,
				   root->unread.v[i].path, root->unread.v[i].why, err);
	if (!status)
		status = db_finish_root(s->db, root->id, changed, tb_now_ns(), &root->unread, err);
	return db_end(s->db, status, err);
}

/* ---- the whole ---- */

static enum tb_status
scan_all(struct scan *s, struct tb_err *err)
{
	enum tb_status status;
	uint64_t stale = 0;

	s->root = tb_calloc(s->roots.n ? s->roots.n : 1, sizeof(*s->root));
	if (!s->root)
		return tb_nomem(err);
	status = db_known_files(s->db, &s->files, err);
	for (size_t i = 0; !status && i < s->roots.n; i++) {
		s->root[i].path = s->roots.path[i];
		status = tb_absent(s->root[i].path) ? not_there(s, i, err)
						    : scan_look(s, &s->root[i], err);
		stale += s->root[i].nstale;
	}
	tb_arena_free(&s->files.mem);
	s->files = (struct db_known_files){ 0 };
	tb_job_total(s->job, 0, stale);
	for (size_t i = 0; !status && i < s->roots.n; i++) {
		if (s->root[i].away)
			continue;
		status = scan_open_stale(s->ctx, s->db, &s->root[i], s->job, s->out, err);
		if (!status)
			status = scan_settle(s, &s->root[i], err);
	}
	return status;
}

static enum tb_status
forget_root(struct scan *s, const char *path, struct tb_err *err)
{
	struct db_models gone = { 0 };
	int64_t root;
	enum tb_status status = db_root(s->db, path, &root, err);

	if (!status)
		status = db_root_models(s->db, root, &gone, err);
	for (size_t i = 0; !status && i < gone.n; i++, s->out->removed++)
		status = scan_note(s->out, SCAN_REMOVED, gone.rows[i].name, gone.rows[i].path,
				   NULL, err);
	if (!status)
		status = db_drop_root(s->db, root, err);
	tb_arena_free(&gone.mem);
	return status;
}

static enum tb_status
forget_gone(struct scan *s, struct tb_err *err)
{
	struct db_lines roots = { 0 };
	enum tb_status status = db_begin(s->db, err);

	if (!status)
		status = db_roots(s->db, &roots, err);
	for (size_t i = 0; !status && i < roots.n; i++)
		if (tb_absent(roots.rows[i]))
			status = forget_root(s, roots.rows[i], err);
	tb_arena_free(&roots.mem);
	return db_end(s->db, status, err);
}

static enum tb_status
scan_count(struct scan *s, struct tb_err *err)
{
	struct scan_result *out = s->out;
	struct db_query q = { .roots = &s->roots };
	struct db_models models;
	struct db_totals t;
	enum tb_status status = db_totals(s->db, &s->roots, &t, err);

	if (!status)
		status = db_models(s->db, &q, &models, err);
	if (status)
		return status;
	for (size_t i = 0; i < models.n; i++)
		out->problems += models.rows[i].problems > 0 ||
				 models.rows[i].state == DB_MISSING;
	tb_arena_free(&models.mem);
	out->models = t.models;
	out->tensors = t.tensors;
	out->blobs = t.blobs;
	out->orphans = t.orphans;
	out->orphan_bytes = t.orphan_bytes;
	out->missing = t.missing;
	out->left = t.left;
	return TB_OK;
}

static enum tb_status
attempt(struct scan *s, struct tb_err *err)
{
	enum tb_status status = db_open_write(&s->db, s->ctx->db_path, err);

	if (status)
		return status;
	if (*db_notice(s->db))
		snprintf(s->out->notice, sizeof(s->out->notice), "%s", db_notice(s->db));
	status = db_unseal(s->db, err);
	if (!status)
		status = scan_all(s, err);
	if (!status && s->req->forget)
		status = forget_gone(s, err);
	if (!status)
		status = scan_count(s, err);
	for (size_t i = 0; s->root && i < s->roots.n; i++) {
		for (size_t k = 0; k < s->root[i].n; k++)
			model_loc_free(&s->root[i].models[k].loc);
		free(s->root[i].models);
		unread_free(&s->root[i].unread);
	}
	free(s->root);
	s->root = NULL;
	return status;
}

/* An index that turns out to be damaged on the way is set aside and made anew, once. */
static enum tb_status
scan_or_renew(struct scan *s, struct tb_err *err)
{
	enum tb_status status = attempt(s, err);

	if (status && s->db && db_damaged(s->db)) {
		db_close(s->db);
		s->db = NULL;
		scan_result_free(s->out);
		status = db_condemn(s->ctx->db_path, s->out->notice, sizeof(s->out->notice), err);
		if (!status)
			status = attempt(s, err);
	}
	if (!status)
		db_settle(s->db);
	db_close(s->db);
	return status;
}

enum tb_status
op_scan(struct op_ctx *ctx, const struct scan_request *req, struct tb_job *job,
	struct scan_result *out, struct tb_err *err)
{
	struct scan s = { .ctx = ctx, .req = req, .job = job, .out = out };
	double start = tb_monotonic();
	enum tb_status status;

	*out = (struct scan_result){ 0 };
	if (req->ndirs)
		status = store_roots_init(&s.roots, req->dirs, req->ndirs, err);
	else
		status = store_roots_init(&s.roots, (const char *const *)ctx->roots.path,
					  ctx->roots.n, err);
	s.roots.given = req->ndirs || ctx->roots.given;
	if (!status && !req->ndirs && !ctx->roots.n)
		status = tb_fail(err, TB_ENOENT, "no store to scan: name a folder");
	if (!status)
		status = scan_or_renew(&s, err);
	store_roots_free(&s.roots);
	out->seconds = tb_monotonic() - start;
	if (status)
		scan_result_free(out);
	return status;
}

void
scan_result_free(struct scan_result *r)
{
	for (size_t i = 0; i < r->nitems; i++) {
		free(r->items[i].name);
		free(r->items[i].path);
		free(r->items[i].problem);
	}
	free(r->items);
	*r = (struct scan_result){ 0 };
}
