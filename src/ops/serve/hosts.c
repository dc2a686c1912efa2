#include "config.h"

#include "src/ops/serve/hosts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/net/httpd.h"
#include "src/ops/about/about.h"
#include "src/ops/home/home.h"
#include "src/store/model.h"
#include "src/store/store.h"

/* Somebody who waits for a model. */
struct waiting {
	struct httpd_request *http;	/* held */
	struct serve_request ask;
	double since;
	uint64_t turn;			/* who came first has the least */
	struct waiting *next;
};

enum where {
	AWAY,
	HERE,
	LEAVING				/* it makes room when it has answered */
};

struct host {
	struct hosted on;		/* name: is.name; model and batch NULL unless it is here */
	struct serve_model is;
	enum where where;
	bool draining;			/* who waited is being answered, in their order */
	unsigned open, asking;		/* exchanges that are under way; that begin just now */
	double used;			/* tb_monotonic(): when it was asked last */
	double keep;			/* seconds behind that; < 0: as long as there is room */
	struct waiting *first, **last;
};

struct hosts {
	const struct op_ctx *ctx;
	const struct serve_opts *o;
	uint64_t memory;		/* bytes of weights at a time */
	struct host *host;
	size_t n;
	exchange_done_fn *done;
	void *arg;
	pthread_t thread;
	struct tb_job *loading;		/* owned: cancelled at the end */
	pthread_mutex_t lock;		/* of all below, and of hosts but what is fixed */
	pthread_cond_t wake;		/* something has changed */
	uint64_t turns;
	unsigned nwaiting;
	bool running, ending;
};

/* ---- one model ---- */

/* What a slot can come to. */
static enum tb_status
note_sizes(struct serve_model *is, struct hosted *on, const struct batch_opts *opts,
	   struct tb_err *err)
{
	struct engine_info info;
	struct session *one;
	enum tb_status status = session_new(&one, on->model->engine, opts->context, err);

	if (status)
		return status;
	is->context = session_context(one);
	is->each = session_bytes(one, is->context);
	session_free(one);
	engine_info(on->model->engine, &info);
	is->weights = info.weight_bytes;
	is->loaded = true;
	return TB_OK;
}

/* Fills *on and *is, which nobody else looks at. */
static enum tb_status
load_host(struct hosts *h, struct hosted *on, struct serve_model *is, struct tb_job *job,
     struct tb_err *err)
{
	const struct serve_opts *o = h->o;
	struct batch_opts opts = { .slots = o->slots, .queue = o->queue, .guess = o->guess };
	enum tb_status status = chat_model_open(&on->model, h->ctx, is->ref, job, err);

	if (status)
		return status;
	if (o->draft)
		status = chat_model_draft(on->model, h->ctx, o->draft, job, err);
	opts.context = o->context ? o->context
		     : on->model->context ? on->model->context : SERVE_CONTEXT;
	if (!status)
		status = note_sizes(is, on, &opts, err);
	if (!status)
		status = batch_new(&on->batch, on->model, &opts, err);
	if (!status)
		return TB_OK;
	chat_model_free(on->model);
	on->model = NULL;
	return status;
}

/* It is nobody's any more when the lock is given up. */
static void
let_go(struct hosts *h, struct host *t)
{
	struct hosted gone = t->on;

	t->where = AWAY;
	t->is.loaded = false;
	t->on.batch = NULL;
	t->on.model = NULL;
	pthread_mutex_unlock(&h->lock);
	batch_free(gone.batch);
	chat_model_free(gone.model);
	pthread_mutex_lock(&h->lock);
}

static bool
is_idle(const struct host *t)
{
	return t->where != AWAY && !t->open && !t->asking && !t->draining;
}

/* ---- who is answered ---- */

static void
exchange_over(void *arg, struct httpd_request *http, const struct exchange_end *end, double began)
{
	struct hosts *h = arg;
	struct host *t = &h->host[end->on->number];

	h->done(h->arg, http, end, began);
	pthread_mutex_lock(&h->lock);
	t->open--;
	t->used = tb_monotonic();
	pthread_cond_broadcast(&h->wake);
	pthread_mutex_unlock(&h->lock);
}

/* The lock is held, but not while it begins. */
static void
begin_exchange(struct hosts *h, struct host *t, struct httpd_request *http,
	       struct serve_request *ask, double since)
{
	t->open++;
	t->asking++;
	t->used = tb_monotonic();
	pthread_mutex_unlock(&h->lock);
	exchange_begin(&t->on, http, ask, since, h->o->seconds, exchange_over, h);
	pthread_mutex_lock(&h->lock);
	t->asking--;
	pthread_cond_broadcast(&h->wake);
}

static void
refuse(struct hosts *h, struct host *t, struct httpd_request *http, struct serve_request *ask,
       unsigned status, const char *message, const char *code)
{
	t->open++;
	pthread_mutex_unlock(&h->lock);
	exchange_refuse(&t->on, http, ask, status, message, code, exchange_over, h);
	pthread_mutex_lock(&h->lock);
}

static void
wait_for(struct hosts *h, struct host *t, struct httpd_request *http, struct serve_request *ask)
{
	struct waiting *w = tb_calloc(1, sizeof(*w));

	if (!w) {
		refuse(h, t, http, ask, 503, "no memory", NULL);
		return;
	}
	*w = (struct waiting){ .http = http, .ask = *ask, .since = tb_monotonic(),
			       .turn = ++h->turns };
	httpd_hold(http);
	*t->last = w;
	t->last = &w->next;
	h->nwaiting++;
	pthread_cond_broadcast(&h->wake);
}

void
hosts_ask(struct hosts *h, size_t i, struct httpd_request *http, struct serve_request *ask)
{
	struct host *t = &h->host[i];

	pthread_mutex_lock(&h->lock);
	if (ask->keeps)
		t->keep = ask->keep;
	if (h->ending)
		refuse(h, t, http, ask, 503, "the server is ending", NULL);
	else if (t->where == HERE && !t->draining)
		begin_exchange(h, t, http, ask, tb_monotonic());
	else if (h->nwaiting >= h->o->queue + h->o->slots)
		refuse(h, t, http, ask, 503, "too many wait for a model to be loaded; try again later",
		       "queue_full");
	else
		wait_for(h, t, http, ask);
	pthread_mutex_unlock(&h->lock);
}

static bool
take_waiting(struct hosts *h, struct host *t, struct waiting *out)
{
	struct waiting *w = t->first;

	if (!w)
		return false;
	*out = *w;
	t->first = w->next;
	t->last = t->first ? t->last : &t->first;
	h->nwaiting--;
	free(w);
	return true;
}

static void
refuse_waiting(struct hosts *h, struct host *t, unsigned status, const char *message)
{
	struct waiting w;

	while (take_waiting(h, t, &w)) {
		refuse(h, t, w.http, &w.ask, status, message, NULL);
		httpd_drop(w.http);
	}
}

/* In their order, and who comes meanwhile behind them. */
static void
answer_waiting(struct hosts *h, struct host *t)
{
	struct waiting w;

	t->draining = true;
	while (!h->ending && take_waiting(h, t, &w)) {
		begin_exchange(h, t, w.http, &w.ask, w.since);
		httpd_drop(w.http);
	}
	t->draining = false;
}

/* ---- which models are here ---- */

/* Whom somebody waits for longest. NULL: nobody. */
static struct host *
most_wanted(struct hosts *h)
{
	struct host *most = NULL;

	for (size_t i = 0; i < h->n; i++)
		if (h->host[i].first && (!most || h->host[i].first->turn < most->first->turn))
			most = &h->host[i];
	return most;
}

/* Of those that are idle, or, busy, that need not leave yet; NULL: none. */
static struct host *
asked_longest_ago(struct hosts *h, bool idle)
{
	struct host *t = NULL;

	for (size_t i = 0; i < h->n; i++)
		if ((idle ? is_idle(&h->host[i]) : h->host[i].where == HERE) &&
		    (!t || h->host[i].used < t->used))
			t = &h->host[i];
	return t;
}

/* now: not only when those that leave have gone. */
static bool
has_room(const struct hosts *h, const struct host *more, bool now)
{
	uint64_t room = h->memory;

	for (size_t i = 0; i < h->n; i++)
		if (h->host[i].where == HERE || (now && h->host[i].where == LEAVING))
			room -= room < h->host[i].is.bytes ? room : h->host[i].is.bytes;
	return more->is.bytes <= room;
}

static bool
any_here(const struct hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->host[i].where != AWAY)
			return true;
	return false;
}

/* false: somebody is answered who has to come to an end first. */
static bool
make_way(struct hosts *h, struct host *more)
{
	struct host *t;

	while (!has_room(h, more, true)) {
		if ((t = asked_longest_ago(h, true))) {
			let_go(h, t);
			continue;
		}
		while (!has_room(h, more, false) && (t = asked_longest_ago(h, false)))
			t->where = LEAVING;
		return !any_here(h);
	}
	return true;
}

static void
bring_host(struct hosts *h, struct host *t)
{
	struct hosted on = t->on;
	struct serve_model is = t->is;
	struct tb_err err = { 0 };
	enum tb_status status;

	pthread_mutex_unlock(&h->lock);
	status = load_host(h, &on, &is, h->loading, &err);
	pthread_mutex_lock(&h->lock);
	if (status) {
		refuse_waiting(h, t, h->ending ? 503 : 500,
			       h->ending ? "the server is ending" : err.msg);
		return;
	}
	t->on.model = on.model;		/* names and numbers are read without the lock */
	t->on.batch = on.batch;
	t->is.weights = is.weights;
	t->is.each = is.each;
	t->is.context = is.context;
	t->is.loaded = true;
	t->where = HERE;
	t->used = tb_monotonic();
}

/* Lets go what nobody has asked for so long that it need not be kept; seconds until the next
 * one. < 0: none. */
static double
let_go_unasked(struct hosts *h)
{
	double next = -1;

	for (size_t i = 0; i < h->n; i++) {
		struct host *t = &h->host[i];
		double left = t->used + t->keep - tb_monotonic();

		if (!is_idle(t) || t->keep < 0)
			continue;
		if (left <= 0) {
			let_go(h, t);
			return 0;	/* who knows what has come meanwhile */
		}
		if (next < 0 || left < next)
			next = left;
	}
	return next;
}

/* Until something changes, or for so many seconds. < 0: for ever. */
static void
wait_change(struct hosts *h, double seconds)
{
	struct timespec until;

	if (seconds < 0 || seconds > 1e6) {
		pthread_cond_wait(&h->wake, &h->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	seconds += (double)until.tv_nsec / 1e9;
	until.tv_sec += (time_t)seconds;
	until.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9);
	pthread_cond_timedwait(&h->wake, &h->lock, &until);
}

static void *
hosts_run(void *arg)
{
	struct hosts *h = arg;

	pthread_mutex_lock(&h->lock);
	while (!h->ending) {
		struct host *t = most_wanted(h);

		if (!t)
			wait_change(h, let_go_unasked(h));
		else if (t->where == AWAY && !make_way(h, t))
			wait_change(h, -1);
		else if (t->where == AWAY)
			bring_host(h, t);
		else {
			t->where = HERE;
			answer_waiting(h, t);
		}
	}
	for (size_t i = 0; i < h->n; i++)
		refuse_waiting(h, &h->host[i], 503, "the server is ending");
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- all ---- */

/* What can be known of a model without loading it. */
static enum tb_status
know(struct hosts *h, size_t i, struct tb_err *err)
{
	struct host *t = &h->host[i];
	const char *ref = h->o->refs[i];
	struct model_loc loc;
	struct model *m;
	enum tb_status status = store_resolve(&h->ctx->roots, ref, &loc, err);

	if (status)
		return status;
	status = model_open(&m, &loc, err);
	model_loc_free(&loc);
	if (status)
		return status;
	t->last = &t->first;
	t->keep = h->o->keep;
	t->is = (struct serve_model){ .ref = ref, .bytes = m->bytes };
	t->is.name = tb_strdup(m->loc.name && *m->loc.name ? m->loc.name : ref);
	t->on = (struct hosted){ .name = t->is.name, .number = i };
	h->n = i + 1;
	model_free(m);
	return t->is.name ? TB_OK : tb_nomem(err);
}

static enum tb_status
hosts_begin(struct hosts *h, struct tb_job *job, struct tb_err *err)
{
	sigset_t before;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < h->o->nrefs && !status; i++)
		status = know(h, i, err);
	for (size_t i = 0; i < h->n && !status; i++) {
		struct host *t = &h->host[i];

		if (i && !has_room(h, t, true))
			continue;
		if ((status = load_host(h, &t->on, &t->is, job, err)))
			break;
		t->where = HERE;
		t->used = tb_monotonic();
	}
	if (status)
		return status;
	tb_signals_block(&before);
	h->running = !pthread_create(&h->thread, NULL, hosts_run, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return h->running ? TB_OK : tb_nomem(err);
}

enum tb_status
hosts_new(struct hosts **out, const struct op_ctx *ctx, const struct serve_opts *o,
	  exchange_done_fn *done, void *arg, struct tb_job *job, struct tb_err *err)
{
	struct hosts *h = tb_calloc(1, sizeof(*h));
	pthread_condattr_t monotonic;
	uint64_t machine, available;
	enum tb_status status;

	*out = NULL;
	if (!h)
		return tb_nomem(err);
	memory_machine(&machine, &available);
	h->ctx = ctx;
	h->o = o;
	h->memory = o->memory ? o->memory : machine ? machine / 4 * 3 : UINT64_MAX;
	h->done = done;
	h->arg = arg;
	h->loading = tb_job_new(-1);
	h->host = tb_calloc(o->nrefs + 1, sizeof(*h->host));
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&h->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	status = h->host && h->loading ? hosts_begin(h, job, err) : tb_nomem(err);
	if (status) {
		hosts_stop(h);
		hosts_free(h);
	} else {
		*out = h;
	}
	return status;
}

void
hosts_stop(struct hosts *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->ending = true;
	pthread_cond_broadcast(&h->wake);
	pthread_mutex_unlock(&h->lock);
	tb_job_cancel(h->loading);
	if (h->running)
		pthread_join(h->thread, NULL);
	h->running = false;
	for (size_t i = 0; i < h->n; i++) {
		struct host *t = &h->host[i];
		struct batch *batch;

		pthread_mutex_lock(&h->lock);
		while (t->asking)
			pthread_cond_wait(&h->wake, &h->lock);
		batch = t->on.batch;
		t->on.batch = NULL;
		pthread_mutex_unlock(&h->lock);
		batch_free(batch);	/* answers what is under way */
	}
}

void
hosts_free(struct hosts *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n; i++) {
		chat_model_free(h->host[i].on.model);
		free(h->host[i].is.name);
	}
	tb_job_free(h->loading);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	free(h->host);
	free(h);
}

bool
hosts_find(const struct hosts *h, const char *name, size_t *i)
{
	for (*i = 0; *i < h->n; ++*i)
		if (!name || !strcmp(name, h->host[*i].is.name) || !strcmp(name, h->host[*i].is.ref))
			return true;
	return false;
}

bool
hosts_model(struct hosts *h, size_t i, struct serve_model *out)
{
	if (i >= h->n)
		return false;
	pthread_mutex_lock(&h->lock);
	*out = h->host[i].is;
	pthread_mutex_unlock(&h->lock);
	return true;
}

void
hosts_load(struct hosts *h, unsigned *speaking, unsigned *waiting)
{
	*speaking = 0;
	pthread_mutex_lock(&h->lock);
	*waiting = h->nwaiting;
	for (size_t i = 0; i < h->n; i++) {
		unsigned a, b;

		if (!h->host[i].on.batch)
			continue;
		batch_load(h->host[i].on.batch, &a, &b);
		*speaking += a;
		*waiting += b;
	}
	pthread_mutex_unlock(&h->lock);
}
