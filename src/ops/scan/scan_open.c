#include "config.h"

#include "src/ops/scan/scan_open.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/blobdir/blobdir.h"

/* Opened models that wait for the writer: enough to keep both sides busy, few enough
 * that headers of large models do not pile up. */
#define WAITING 8
/* Models in a transaction, and how long one may last: others want to write, and people
 * to see what has been found. */
#define BATCH 1024
#define BATCH_SECONDS 0.25

void
scan_probe(const char *path, struct tb_ident *id, bool *missing)
{
	enum tb_status status = tb_file_ident(path, id, NULL);

	*missing = status != TB_OK;
	if (status)
		*id = (struct tb_ident){ 0 };
}

int64_t
scan_dir_mtime(const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return 0;
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

enum tb_status
scan_note(struct scan_result *out, enum scan_change change, const char *name, const char *path,
	  const char *problem, struct tb_err *err)
{
	struct scan_item *i;

	if (!tb_grow(&out->items, &out->cap, out->nitems + 1, sizeof(*out->items)))
		return tb_nomem(err);
	i = &out->items[out->nitems++];
	*i = (struct scan_item){ change, tb_strdup(name), tb_strdup(path),
				 problem ? tb_strdup(problem) : NULL };
	return i->name && i->path && (i->problem || !problem) ? TB_OK : tb_nomem(err);
}

/* One opened model; if it could not be opened, `broken` takes its place with the
 * reason as its only problem, so that it is listed and not opened again and again. */
struct opened {
	const struct scan_model *from;
	struct model *model;		/* NULL: broken */
	struct model broken;
	struct model_file file;
	struct model_problem problem;
	struct tb_err why;
};

struct scanner {
	struct op_ctx *ctx;
	struct db *db;
	struct scan_root *root;
	struct tb_job *job;
	struct scan_result *out;
	const struct scan_model **stale;	/* owned */
	struct model_cache *cache;	/* owned */

	pthread_mutex_t lock;
	pthread_cond_t room, some;
	struct opened *queue[WAITING];
	size_t head, n;
	bool ended;			/* nothing more will come */
	enum tb_status status;		/* first failure of either side */
	struct tb_err err;
};

static void
opened_free(struct opened *o)
{
	if (o && o->model)
		model_free(o->model);
	free(o);
}

static void
opener_fail(struct scanner *s, enum tb_status status, const struct tb_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->status) {
		s->status = status;
		s->err = *err;
	}
	pthread_cond_broadcast(&s->room);
	pthread_mutex_unlock(&s->lock);
}

static void
stand_in(struct opened *o)
{
	const struct model_loc *loc = &o->from->loc;

	o->file = (struct model_file){ .path = loc->path, .media = MEDIA_UNKNOWN };
	scan_probe(loc->path, &o->file.id, &o->file.missing);
	o->file.is_manifest = kind_has_manifest(loc->kind);
	o->problem = (struct model_problem){ .message = o->why.msg };
	o->broken = (struct model){ .loc = *loc, .arch = (char *)"", .files = &o->file,
		.nfiles = o->from->dir_ns ? 0 : 1, .bytes = o->from->dir_ns ? 0 : o->file.id.size,
		.problems = &o->problem, .nproblems = 1 };
}

/* ---- one side: opening, on the pool ---- */

static void
hand_over(struct scanner *s, struct opened *o)
{
	pthread_mutex_lock(&s->lock);
	while (s->n == WAITING && !s->status)
		pthread_cond_wait(&s->room, &s->lock);
	if (!s->status) {
		s->queue[(s->head + s->n++) % WAITING] = o;
		o = NULL;
	}
	pthread_cond_signal(&s->some);
	pthread_mutex_unlock(&s->lock);
	opened_free(o);
}

static void
open_one(void *arg, size_t i, unsigned worker)
{
	struct scanner *s = arg;
	struct tb_err err = { 0 };
	struct opened *o;
	enum tb_status status = tb_job_check(s->job, &err);

	(void)worker;
	if (status) {
		opener_fail(s, status, &err);
		return;
	}
	o = tb_calloc(1, sizeof(*o));
	if (!o) {
		opener_fail(s, tb_nomem(&err), &err);
		return;
	}
	o->from = s->stale[i];
	tb_job_what(s->job, "%s", o->from->loc.name);
	status = model_open_cached(&o->model, &o->from->loc, s->cache, &o->why);
	if (status == TB_ENOMEM) {
		opener_fail(s, status, &o->why);
		opened_free(o);
		return;
	}
	if (status == TB_ENOENT && kind_lists_itself(o->from->loc.kind) && tb_absent(o->from->loc.path)) {
		opened_free(o);		/* taken away since it was listed: the next scan misses it */
		return;
	}
	if (status) {
		o->model = NULL;
		stand_in(o);
	}
	hand_over(s, o);
}

/* ---- the other side: writing, on a thread of its own ---- */

static struct opened *
opener_take(struct scanner *s)
{
	struct opened *o = NULL;

	pthread_mutex_lock(&s->lock);
	while (!s->n && !s->ended)
		pthread_cond_wait(&s->some, &s->lock);
	if (s->n) {
		o = s->queue[s->head];
		s->head = (s->head + 1) % WAITING;
		s->n--;
		pthread_cond_signal(&s->room);
	}
	pthread_mutex_unlock(&s->lock);
	return o;
}

/* Permissions come back without a trace in any time: what could not be read looks changed
 * to the next scan. */
#define DIR_UNREAD INT64_C(-1)

static bool
unread(const struct opened *o)
{
	const struct model *m = o->model ? o->model : &o->broken;

	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].unread)
			return true;
	return o->why.code == TB_EIO;
}

static enum tb_status
write_one(struct scanner *s, const struct opened *o, struct tb_err *err)
{
	const struct model *m = o->model ? o->model : &o->broken;
	struct db_put put = { .root = s->root->id, .model = m,
			      .dir_ns = unread(o) ? DIR_UNREAD : o->from->dir_ns,
			      .stamp = model_stamp(m) };
	const char *problem = m->nproblems ? m->problems[0].message : NULL;
	enum scan_change change = !o->model ? SCAN_UNREADABLE
				: o->from->known ? SCAN_CHANGED : SCAN_ADDED;
	enum tb_status status = db_put_model(s->db, &put, err);

	if (status)
		return status;
	s->out->unread += unread(o);
	if (!kind_is_model(m->loc.kind))
		return TB_OK;
	if (o->from->known)
		s->out->changed++;
	else
		s->out->added++;
	tb_job_step(s->job, 0, 1);
	tb_job_post(s->job, SCAN_MSG_ITEM, m->loc.name, strlen(m->loc.name));
	return scan_note(s->out, change, m->loc.name, m->loc.path, problem, err);
}

static bool
failed(struct scanner *s)
{
	return __atomic_load_n(&s->status, __ATOMIC_RELAXED) != TB_OK;
}

/* A transaction of some models, the first of them `o`: each is in the index as it was or
 * as it is. */
static enum tb_status
write_batch(struct scanner *s, struct opened *o, struct tb_err *err)
{
	double end = tb_monotonic() + BATCH_SECONDS;
	enum tb_status status = db_begin(s->db, err);

	for (int n = 1; o; n++) {
		if (!status)
			status = write_one(s, o, err);
		opened_free(o);
		o = !status && n < BATCH && tb_monotonic() < end && !failed(s) ? opener_take(s) : NULL;
	}
	return db_end(s->db, status, err);
}

static void *
opener_write_all(void *arg)
{
	struct scanner *s = arg;
	struct opened *o;

	while ((o = opener_take(s))) {
		struct tb_err err = { 0 };
		enum tb_status status;

		if (failed(s)) {
			opened_free(o);
			continue;
		}
		status = write_batch(s, o, &err);
		if (status)
			opener_fail(s, status, &err);
	}
	return NULL;
}

static enum tb_status
opener_run(struct scanner *s, size_t n, struct tb_err *err)
{
	pthread_t writer;

	if (pthread_create(&writer, NULL, opener_write_all, s))
		return tb_fail(err, TB_ENOMEM, "no thread to write the index");
	tb_pool_each(s->ctx->pool, n, open_one, s);
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_signal(&s->some);
	pthread_mutex_unlock(&s->lock);
	pthread_join(writer, NULL);
	if (s->status && err)
		*err = s->err;
	return s->status;
}

enum tb_status
scan_open_stale(struct op_ctx *ctx, struct db *db, struct scan_root *root, struct tb_job *job,
		struct scan_result *out, struct tb_err *err)
{
	struct scanner s = { .ctx = ctx, .db = db, .root = root, .job = job, .out = out };
	enum tb_status status;
	size_t n = 0;

	if (!root->nstale)
		return TB_OK;
	s.stale = tb_calloc(root->nstale, sizeof(*s.stale));
	s.cache = model_cache_new();
	if (!s.stale || !s.cache) {
		free(s.stale);
		model_cache_free(s.cache);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < root->n; i++)
		if (root->models[i].stale)
			s.stale[n++] = &root->models[i];
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.room, NULL);
	pthread_cond_init(&s.some, NULL);
	status = opener_run(&s, n, err);
	pthread_cond_destroy(&s.some);
	pthread_cond_destroy(&s.room);
	pthread_mutex_destroy(&s.lock);
	model_cache_free(s.cache);
	free(s.stale);
	return status;
}
