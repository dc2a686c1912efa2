#include "config.h"

#include "src/ops/serve/batch.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"

#define PIECE 128		/* tokens of prompts that are read while others speak */

struct slot {
	struct session *session;	/* NULL: not used yet */
	struct guesser *guesser;
	struct token_ids held;		/* what the session holds */
	struct batch_task *task;	/* NULL: it is free */
	struct gen *gen;
	uint64_t used;			/* when it was begun last, in tasks */
};

struct batch {
	struct chat_model *m;
	struct batch_opts o;
	struct slot slot[BATCH_SLOTS];	/* of the batch's thread alone */
	unsigned turn;			/* the slot that reads next */
	uint64_t begun;			/* tasks so far */
	pthread_t thread;
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	struct batch_task *first, **last;
	unsigned places, waiting, busy;	/* places: reserved, waiting and busy together */
	bool fixed_pieces;		/* of the engine */
	double each;			/* seconds that a text took, smoothed */
	bool running, ending;
};

/* ---- ends ---- */

static void
slot_end(struct batch *b, struct slot *s, enum tb_status status, struct tb_err *err)
{
	struct batch_task *t = s->task;

	if (s->gen)
		status = gen_end(s->gen, status, err);
	s->gen = NULL;
	s->task = NULL;
	pthread_mutex_lock(&b->lock);
	b->busy--;
	b->places--;
	if (!status) {
		double took = t->result.figures.prefill_seconds + t->result.figures.decode_seconds;

		b->each = b->each > 0 ? 0.8 * b->each + 0.2 * took : took;
	}
	pthread_mutex_unlock(&b->lock);
	t->done(t->arg, status, err);
}

static bool
is_over(const struct batch_task *t)
{
	return tb_job_cancelled(t->job) || (t->deadline > 0 && tb_monotonic() > t->deadline);
}

/* ---- beginnings ---- */

static size_t
common(const struct slot *s, const struct token_ids *prompt)
{
	size_t n = 0;

	while (n < s->held.n && n < prompt->n && s->held.v[n] == prompt->v[n])
		n++;
	return n;
}

/* The free slot that has read most of the prompt already.  One that has read much more, of
 * something else, is spared while another was never used; of equals the one that was used longest
 * ago. NULL: none is free. */
static struct slot *
choose_slot(struct batch *b, const struct token_ids *prompt)
{
	struct slot *best = NULL, *fresh = NULL;
	size_t most = 0;

	for (unsigned i = 0; i < b->o.slots; i++) {
		struct slot *s = &b->slot[i];
		size_t n = common(s, prompt);

		if (s->task)
			continue;
		if (!s->used) {
			fresh = fresh ? fresh : s;
			continue;
		}
		if (!best || n > most || (n == most && s->used < best->used)) {
			best = s;
			most = n;
		}
	}
	return fresh && (!best || most * 2 < best->held.n) ? fresh : best;
}

static enum tb_status
slot_begin(struct batch *b, struct slot *s, struct batch_task *t, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	s->task = t;
	s->used = ++b->begun;
	if (!s->session)
		status = session_new(&s->session, b->m->engine, b->o.context, err);
	if (!status && !s->guesser)
		status = guesser_new(&s->guesser, b->m, b->o.guess, b->o.context, err);
	t->gen.guesser = s->guesser;
	t->gen.apart = true;
	return status ? status : gen_begin(&s->gen, b->m, s->session, &s->held, &t->prompt, &t->gen,
					   t->job, &t->result, err);
}

/* The next task that there is a slot for, or that is over already; NULL: none.  The lock is held. */
static struct batch_task *
take_task(struct batch *b)
{
	for (struct batch_task **at = &b->first, *t; (t = *at); at = &t->next)
		if (b->busy < b->o.slots || is_over(t)) {
			*at = t->next;
			b->last = t->next ? b->last : at;
			b->waiting--;
			b->busy++;
			return t;
		}
	return NULL;
}

/* The lock is held, but not all the time. */
static void
begin_all(struct batch *b)
{
	struct batch_task *t;

	while (!b->ending && (t = take_task(b))) {
		struct slot *s = is_over(t) ? NULL : choose_slot(b, &t->prompt);
		struct slot none = { .task = t };
		struct tb_err err = { 0 };
		enum tb_status status = TB_ECANCEL;

		pthread_mutex_unlock(&b->lock);
		if (s)
			status = slot_begin(b, s, t, &err);
		if (status)
			slot_end(b, s ? s : &none, status, &err);
		pthread_mutex_lock(&b->lock);
	}
}

/* ---- passes ---- */

static void
took(struct batch *b, struct slot *s, const float *logits, double seconds)
{
	struct tb_err err = { 0 };
	bool more = true;
	enum tb_status status = gen_take(s->gen, logits, seconds, &more, &err);

	if (status || !more)
		slot_end(b, s, status, &err);
}

/* What slots read in one pass. */
struct pass {
	struct slot *who[BATCH_SLOTS];
	struct session_part part[BATCH_SLOTS];
	size_t n;
};

/* false: it ended instead. */
static bool
join_batch(struct batch *b, struct pass *p, struct slot *s, size_t most)
{
	struct gen_rows rows = { 0 };
	struct tb_err err = { 0 };
	enum tb_status status = is_over(s->task) ? TB_ECANCEL : gen_rows(s->gen, most, &rows, &err);

	if (status) {
		slot_end(b, s, status, &err);
		return false;
	}
	p->who[p->n] = s;
	p->part[p->n++] = (struct session_part){ .s = s->session, .ids = rows.ids, .n = rows.n };
	return true;
}

/* Where the pass fails each part is tried alone, so that only who is to blame ends. */
static void
pass_run(struct batch *b, struct pass *p, enum tb_status (*eval)(struct session_part *, size_t,
								 struct tb_job *, struct tb_err *))
{
	struct tb_err err = { 0 };
	double began = tb_monotonic(), seconds;
	enum tb_status status = p->n ? eval(p->part, p->n, NULL, &err) : TB_OK;

	seconds = p->n == 1 ? tb_monotonic() - began : 0;
	for (size_t i = 0; i < p->n; i++) {
		enum tb_status own = status && p->n > 1 ? eval(&p->part[i], 1, NULL, &err) : status;

		if (own)
			slot_end(b, p->who[i], own, &err);
		else
			took(b, p->who[i], p->part[i].logits, seconds);
	}
}

/* Pieces of prompts, of those whose turn it is. */
static void
read_pieces(struct batch *b, bool others)
{
	struct pass p = { .n = 0 };
	size_t room = others || b->fixed_pieces ? PIECE : SESSION_READ;
	unsigned first = b->turn;

	for (unsigned i = 0; i < b->o.slots && room > SESSION_ROWS; i++) {
		struct slot *s = &b->slot[(first + i) % b->o.slots];

		if (!s->task || !gen_reads(s->gen) || !join_batch(b, &p, s, room))
			continue;
		b->turn = (first + i + 1) % b->o.slots;
		room = b->fixed_pieces ? 0 : room - p.part[p.n - 1].n;
	}
	pass_run(b, &p, session_read_batch);
}

/* Pieces of prompts, and rows of all that speak. */
static void
go_round(struct batch *b)
{
	struct slot *who[BATCH_SLOTS];
	struct pass p = { .n = 0 };
	size_t n = 0;

	for (unsigned i = 0; i < b->o.slots; i++)
		if (b->slot[i].task && !gen_reads(b->slot[i].gen))
			who[n++] = &b->slot[i];
	read_pieces(b, n > 0);
	for (size_t i = 0; i < n; i++)
		(void)join_batch(b, &p, who[i], SESSION_ROWS / n);
	pass_run(b, &p, session_eval_batch);
}

static void *
batch_run(void *arg)
{
	struct batch *b = arg;
	struct tb_err err = { 0 };

	pthread_mutex_lock(&b->lock);
	while (!b->ending) {
		begin_all(b);
		if (!b->busy) {
			if (!b->ending)
				pthread_cond_wait(&b->wake, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		go_round(b);
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	for (unsigned i = 0; i < b->o.slots; i++)
		if (b->slot[i].task)
			slot_end(b, &b->slot[i], TB_ECANCEL, &err);
	return NULL;
}

/* ---- for everybody ---- */

enum tb_status
batch_new(struct batch **out, struct chat_model *m, const struct batch_opts *opts,
	  struct tb_err *err)
{
	struct batch *b = tb_calloc(1, sizeof(*b));
	struct engine_info info;
	sigset_t before;

	*out = NULL;
	if (!b)
		return tb_nomem(err);
	engine_info(m->engine, &info);
	b->m = m;
	b->fixed_pieces = info.fixed_pieces;
	b->o = *opts;
	if (!b->o.context || b->o.context > info.context)
		b->o.context = info.context;
	b->last = &b->first;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	tb_signals_block(&before);
	b->running = !pthread_create(&b->thread, NULL, batch_run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!b->running) {
		batch_free(b);
		return tb_nomem(err);
	}
	*out = b;
	return TB_OK;
}

void
batch_free(struct batch *b)
{
	struct tb_err err = { 0 };

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->ending = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	if (b->running)
		pthread_join(b->thread, NULL);
	for (struct batch_task *t = b->first, *next; t; t = next) {
		next = t->next;
		t->done(t->arg, TB_ECANCEL, &err);
	}
	for (unsigned i = 0; i < BATCH_SLOTS; i++) {
		guesser_free(b->slot[i].guesser);
		session_free(b->slot[i].session);
		free(b->slot[i].held.v);
	}
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

uint32_t
batch_context(const struct batch *b)
{
	return b->o.context;
}

bool
batch_reserve(struct batch *b)
{
	bool room;

	pthread_mutex_lock(&b->lock);
	room = !b->ending && b->places < b->o.queue + b->o.slots;
	b->places += room;
	pthread_mutex_unlock(&b->lock);
	return room;
}

void
batch_add(struct batch *b, struct batch_task *t)
{
	struct tb_err err = { 0 };
	bool ending;

	t->next = NULL;
	pthread_mutex_lock(&b->lock);
	ending = b->ending;
	if (!ending) {
		*b->last = t;
		b->last = &t->next;
		b->waiting++;
		pthread_cond_signal(&b->wake);
	}
	pthread_mutex_unlock(&b->lock);
	if (ending)
		t->done(t->arg, TB_ECANCEL, &err);
}

void
batch_load(struct batch *b, unsigned *speaking, unsigned *waiting)
{
	pthread_mutex_lock(&b->lock);
	*speaking = b->busy;
	*waiting = b->waiting;
	pthread_mutex_unlock(&b->lock);
}

unsigned
batch_patience(struct batch *b)
{
	double seconds;

	pthread_mutex_lock(&b->lock);
	seconds = b->each * (1 + b->waiting) / b->o.slots;
	pthread_mutex_unlock(&b->lock);
	return seconds < 1 ? 1 : seconds > 600 ? 600 : (unsigned)(seconds + 0.5);
}
