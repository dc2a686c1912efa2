#include "config.h"

#include "src/ops/carry/carry.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/net/http.h"
#include "src/ops/carry/site.h"

struct carry_item {
	struct site_blob b;		/* its texts are owned */
	/* Under the lock. */
	enum fetch_state state;
	uint64_t got, stepped;		/* sent; told to the job */
	double began, took;
	char why[200];
};

struct carry {
	struct site *from, *to;
	struct carry_opts o;
	struct kept_repos repos;	/* that may have some of it */
	struct carry_item *v;		/* owned */
	size_t n, cap;
	uint32_t *slots;		/* the items by digest; see TB_SLOT(); owned */
	size_t nslots;
	uint64_t bytes;
	pthread_mutex_t lock;
	/* While it runs. */
	struct tb_job *job;		/* the caller's */
	struct tb_job *inner;		/* cancelled with it, and when one has failed */
	size_t next;
	bool only_ask;
	struct carry_sum *sum;
	struct tb_err why;		/* of the first that failed */
	unsigned running;
};

enum tb_status
carry_new(struct carry **out, struct site *from, struct site *to, const struct carry_opts *o,
	  struct tb_err *err)
{
	struct carry *c = tb_calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return tb_nomem(err);
	c->from = from;
	c->to = to;
	c->o = *o;
	if (!c->o.streams)
		c->o.streams = FETCH_STREAMS;
	if (c->o.streams > FETCH_STREAMS_MAX)
		c->o.streams = FETCH_STREAMS_MAX;
	pthread_mutex_init(&c->lock, NULL);
	if (o->keep)
		kept_repos(&c->repos, o->keep, to->shown);
	return TB_OK;
}

void
carry_free(struct carry *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		free((char *)c->v[i].b.what);
		free((char *)c->v[i].b.from);
	}
	free(c->v);
	free(c->slots);
	kept_repos_free(&c->repos);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static uint32_t *
slot_of(const struct carry *c, const char *digest)
{
	uint64_t hash = tb_hash(digest, strlen(digest));

	return TB_SLOT(c->slots, c->nslots, hash >> 32, i, !strcmp(c->v[i].b.digest, digest));
}

/* One more item finds a place, and the table stays half empty. */
static bool
grow_slots(struct carry *c)
{
	size_t n = c->nslots ? c->nslots * 2 : 64;
	uint32_t *old = c->slots;

	if (c->n + 1 <= c->nslots / 2)
		return true;
	c->slots = tb_calloc(n, sizeof(*c->slots));
	if (!c->slots) {
		c->slots = old;
		return false;
	}
	c->nslots = n;
	for (size_t i = 0; i < c->n; i++)
		*slot_of(c, c->v[i].b.digest) = (uint32_t)i + 1;
	free(old);
	return true;
}

enum tb_status
carry_add(struct carry *c, const struct site_blob *b, struct tb_err *err)
{
	struct carry_item item = { .b = *b };
	uint32_t *slot;
	bool well;

	if (!grow_slots(c))
		return tb_nomem(err);
	slot = slot_of(c, b->digest);
	if (*slot)
		return TB_OK;
	item.b.what = tb_strdup(b->what ? b->what : "");
	item.b.from = b->from ? tb_strdup(b->from) : NULL;
	well = item.b.what && !item.b.from == !b->from;
	pthread_mutex_lock(&c->lock);
	well = well && tb_grow(&c->v, &c->cap, c->n + 1, sizeof(item));
	if (well) {
		c->v[c->n++] = item;
		*slot = (uint32_t)c->n;
		c->bytes += b->size;
	}
	pthread_mutex_unlock(&c->lock);
	if (well)
		return TB_OK;
	free((char *)item.b.what);
	free((char *)item.b.from);
	return tb_nomem(err);
}

static enum tb_status
add_layer(struct carry *c, const struct manifest_layer *l, struct tb_err *err)
{
	struct site_blob b = { .what = l->name ? l->name : media_name(media_parse(l->media_type)),
			       .size = l->size, .from = l->from };

	memcpy(b.digest, l->digest, sizeof(b.digest));
	return carry_add(c, &b, err);
}

enum tb_status
carry_add_image(struct carry *c, const struct site_manifest *m, struct tb_err *err)
{
	struct manifest doc;
	enum tb_status status = manifest_parse(&doc, tb_buf_cstr(&m->text), m->text.len,
					       c->from->shown, err);

	if (status)
		return status;
	for (size_t i = 0; i < doc.nlayers && !status; i++)
		status = add_layer(c, &doc.layers[i], err);
	if (!status && doc.config.media_type)
		status = add_layer(c, &doc.config, err);
	manifest_free(&doc);
	return status;
}

/* ---- one of them ---- */

struct trip {
	struct carry *c;
	struct carry_item *item;
	struct site_stream *stream;	/* opened when its bytes are wanted */
};

static enum tb_status
trip_read(void *arg, uint64_t off, char *p, size_t n, struct tb_err *err)
{
	struct trip *t = arg;
	enum tb_status status = TB_OK;

	if (!t->stream)
		status = t->c->from->row->open(t->c->from, &t->item->b, t->c->inner, &t->stream, err);
	return status ? status : t->stream->read(t->stream, off, p, n, err);
}

static void
trip_went(void *arg, uint64_t off)
{
	const struct trip *t = arg;
	struct carry_item *item = t->item;
	uint64_t step = 0;

	pthread_mutex_lock(&t->c->lock);
	item->state = FETCH_LOADING;
	item->got = off;
	if (off > item->stepped) {
		step = off - item->stepped;
		item->stepped = off;
	}
	pthread_mutex_unlock(&t->c->lock);
	tb_job_step(t->c->job, step, 0);
}

static void
trip_again(void *arg, const char *why)
{
	const struct trip *t = arg;

	pthread_mutex_lock(&t->c->lock);
	t->item->state = FETCH_AGAIN;
	snprintf(t->item->why, sizeof(t->item->why), "%s", why);
	pthread_mutex_unlock(&t->c->lock);
}

static void
trip_keep(void *arg, const char *session)
{
	const struct trip *t = arg;

	if (t->c->o.keep)
		keep_session(t->c->o.keep, t->c->to->shown, t->item->b.digest, session);
}

static enum tb_status
trip_put(struct trip *t, struct http *h, enum upload_how *how, struct tb_err *err)
{
	const struct carry *c = t->c;
	char *session = c->o.keep ? kept_session(c->o.keep, c->to->shown, t->item->b.digest) : NULL;
	char *where = c->from->row->where(c->from, &t->item->b);
	const char *mount = kept_repo_of(&c->repos, t->item->b.digest);
	const struct site_put put = {
		.blob = &t->item->b, .http = h, .read = trip_read, .arg = t,
		.told = { trip_went, trip_again, trip_keep, t }, .what = where,
		.advice = c->o.advice, .session = session, .mount = mount ? mount : c->o.mount, .from = c->from,
		.chunk = c->o.chunk, .job = c->inner,
	};
	enum tb_status status = where ? c->to->row->put(c->to, &put, how, err) : tb_nomem(err);

	if (t->stream)
		t->stream->close(t->stream);
	t->stream = NULL;
	free(session);
	free(where);
	return status;
}

/* The first that fails ends the others. */
static void
trip_end(struct carry *c, struct carry_item *item, enum upload_how how, enum tb_status status,
	 const struct tb_err *why)
{
	uint64_t step;

	pthread_mutex_lock(&c->lock);
	step = item->b.size - item->stepped;
	item->took = tb_monotonic() - item->began;
	item->state = status ? FETCH_FAILED : FETCH_DONE;
	if (status) {
		snprintf(item->why, sizeof(item->why), "%.199s", why->msg);
		if (!c->why.code || c->why.code == TB_ECANCEL)
			c->why = *why;
		tb_job_cancel(c->inner);
	} else {
		item->stepped = item->b.size;
		c->sum->sent += how == UPLOAD_SENT;
		c->sum->mounted += how == UPLOAD_MOUNTED;
		c->sum->there += how == UPLOAD_THERE;
		c->sum->bytes += how == UPLOAD_SENT ? item->b.size : 0;
	}
	pthread_mutex_unlock(&c->lock);
	if (!status && how == UPLOAD_SENT)
		tb_job_step(c->job, step, 1);
	else if (!status)
		tb_job_there(c->job, step, 1);
}

static void
carry_one(struct carry *c, struct carry_item *item, struct http *h)
{
	struct trip t = { .c = c, .item = item };
	enum upload_how how = UPLOAD_THERE;
	struct tb_err why = { 0 };
	bool has = false;
	enum tb_status status;

	tb_job_what(c->job, "%s", *item->b.what ? item->b.what : item->b.digest);
	pthread_mutex_lock(&c->lock);
	item->began = tb_monotonic();
	item->state = FETCH_LOADING;
	pthread_mutex_unlock(&c->lock);
	if (c->only_ask) {
		status = c->to->row->has(c->to, h, &item->b, &has, c->inner, &why);
		how = has ? UPLOAD_THERE : UPLOAD_SENT;
	} else {
		status = trip_put(&t, h, &how, &why);
	}
	trip_end(c, item, how, status, &why);
}

/* ---- all of them ---- */

static struct carry_item *
take_next(struct carry *c)
{
	struct carry_item *item = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->next < c->n && !c->why.code)
		item = &c->v[c->next++];
	pthread_mutex_unlock(&c->lock);
	return item;
}

static void *
carry_thread(void *arg)
{
	struct carry *c = arg;
	struct carry_item *item;
	struct tb_err why = { 0 };
	struct http *h;
	enum tb_status status = http_new(&h, &why);

	while (!status && (item = take_next(c)))
		carry_one(c, item, h);
	if (!status)
		http_free(h);
	pthread_mutex_lock(&c->lock);
	if (status && !c->why.code)
		c->why = why;
	c->running--;
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static bool
is_running(struct carry *c)
{
	bool running;

	pthread_mutex_lock(&c->lock);
	running = c->running;
	pthread_mutex_unlock(&c->lock);
	return running;
}

static enum tb_status
carry_threads(struct carry *c, struct tb_err *err)
{
	unsigned n = c->n < c->o.streams ? (unsigned)c->n : c->o.streams, made = 0;
	pthread_t *threads = tb_calloc(n + 1, sizeof(*threads));
	sigset_t before;

	if (!threads)
		return tb_nomem(err);
	tb_signals_block(&before);
	c->running = n;
	while (made < n && !pthread_create(&threads[made], NULL, carry_thread, c))
		made++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_mutex_lock(&c->lock);
	c->running -= n - made;		/* fewer do it as well */
	pthread_mutex_unlock(&c->lock);
	while (is_running(c)) {
		poll(NULL, 0, 20);
		if (tb_job_cancelled(c->job))
			tb_job_cancel(c->inner);
	}
	for (unsigned i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return made || !n ? TB_OK : tb_fail(err, TB_ENOMEM, "no thread can be made");
}

static enum tb_status
carry_all(struct carry *c, bool only_ask, struct tb_job *job, struct carry_sum *out,
	  struct tb_err *err)
{
	enum tb_status status;

	*out = (struct carry_sum){ 0 };
	c->job = job;
	c->sum = out;
	c->only_ask = only_ask;
	c->next = 0;
	c->why = (struct tb_err){ 0 };
	c->inner = tb_job_new(-1);
	if (!c->inner)
		return tb_nomem(err);
	tb_job_total(job, c->bytes, c->n);
	status = carry_threads(c, err);
	tb_job_free(c->inner);
	c->inner = c->job = NULL;
	if (!status)
		status = tb_job_check(job, err);
	return !status && c->why.code ? tb_pass(err, &c->why) : status;
}

enum tb_status
carry_ask(struct carry *c, struct tb_job *job, struct carry_sum *out, struct tb_err *err)
{
	if (!c->to->row->has)
		return tb_fail(err, TB_EUNSUP, "%s: nothing can be put there", c->to->shown);
	return carry_all(c, true, job, out, err);
}

/* From where others of that host may have it next time. */
static void
remember_repo(const struct carry *c)
{
	struct tb_buf digests = TB_BUF(SIZE_MAX);

	for (size_t i = 0; i < c->n; i++)
		tb_buf_printf(&digests, "%s\n", c->v[i].b.digest);
	if (!tb_buf_failed(&digests))
		keep_repo(c->o.keep, c->to->shown, &digests);
	tb_buf_free(&digests);
}

enum tb_status
carry_run(struct carry *c, struct tb_job *job, struct carry_sum *out, struct tb_err *err)
{
	enum tb_status status;

	if (!c->to->row->put)
		return tb_fail(err, TB_EUNSUP, "%s: nothing can be put there", c->to->shown);
	status = carry_all(c, false, job, out, err);
	if (!status && c->o.keep)
		remember_repo(c);
	return status;
}

size_t
carry_look(struct carry *c, struct fetch_row *rows, size_t max)
{
	double now = tb_monotonic();
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n;
	for (size_t i = 0; i < n && i < max && rows; i++) {
		const struct carry_item *item = &c->v[i];
		double took = item->state == FETCH_LOADING ? now - item->began : item->took;
		struct fetch_row *r = &rows[i];

		*r = (struct fetch_row){ .size = item->b.size, .got = item->got, .state = item->state };
		fetch_row_name(r, item->b.what, item->b.digest);
		if (item->state == FETCH_DONE)
			r->there = item->b.size - item->got;
		if (item->got && took > 0)
			r->rate = (double)item->got / took;
		memcpy(r->why, item->why, sizeof(r->why));
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}
