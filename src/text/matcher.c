#include "config.h"

#include "src/text/matcher.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"

#define FRESH (UINT32_C(1) << 31)	/* in way.up: the frames of a rule that was called just now */
#define WAYS_MAX 65536			/* at one byte */
#define DEPTH_MAX 512			/* rules in one another: deeper is not gone */
#define FAR_MOST (1u << 30)
#define KEEP_MOST (48ul << 20)		/* bytes, between two tokens */
#define ROOM_MOST (512ul << 20)

void
matcher_free(struct matcher *m)
{
	if (!m)
		return;
	free(m->pool);
	free(m->sets);
	free(m->readings);
	free(m->steps);
	free(m->set_slots.v);
	free(m->reading_slots.v);
	free(m->todo);
	free(m->heads);
	free(m->seen);
	free(m->now);
	free(m->calls);
	free(m->called);
	free(m);
}

enum tb_status
matcher_status(const struct matcher *m, struct tb_err *err)
{
	return m->status == TB_ELIMIT ? tb_fail(err, TB_ELIMIT, "the grammar can be read in too many "
						"ways here; make it less ambiguous")
	     : m->status ? tb_nomem(err) : TB_OK;
}

static bool
fail(struct matcher *m, enum tb_status why)
{
	m->status = m->status ? m->status : why;
	return false;
}

static size_t
room(const struct matcher *m)
{
	return m->npool * sizeof(*m->pool) + m->nsets * sizeof(*m->sets) +
	       m->nreadings * (sizeof(*m->readings) + m->g->nclasses * sizeof(*m->steps));
}

/* ---- sets of ways, each kept once ---- */

static int
by_way(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return x->state != y->state ? (x->state < y->state ? -1 : 1) :
	       x->up < y->up ? -1 : x->up > y->up;
}

static size_t
sort_ways(struct way *v, size_t n)
{
	size_t kept = 0;

	if (n > 1)
		qsort(v, n, sizeof(*v), by_way);
	for (size_t i = 0; i < n; i++)
		if (!kept || by_way(&v[kept - 1], &v[i]))
			v[kept++] = v[i];
	return kept;
}

/* Twice as many slots; first_of tells where a set's ways lie. */
static bool
more_slots(struct slots *s, const struct matcher *m, bool of_sets)
{
	size_t n = s->n ? 2 * s->n : 256;
	uint32_t *v = tb_calloc(n, sizeof(*v));

	if (!v)
		return false;
	for (uint32_t i = 0; i < (of_sets ? m->nsets : m->nreadings); i++) {
		uint32_t first = of_sets ? m->sets[i].first : m->readings[i].first;
		uint32_t count = of_sets ? m->sets[i].n : m->readings[i].n;
		size_t at = tb_hash(m->pool + first, count * sizeof(struct way)) % n;

		while (v[at])
			at = (at + 1) % n;
		v[at] = i + 1;
	}
	free(s->v);
	s->v = v;
	s->n = n;
	return true;
}

static bool
put_pool(struct matcher *m, const struct way *v, size_t n, uint32_t *first)
{
	if (room(m) > ROOM_MOST)
		return fail(m, TB_ELIMIT);
	if (!tb_grow(&m->pool, &m->pool_cap, m->npool + n + 1, sizeof(*v)))
		return fail(m, TB_ENOMEM);
	*first = (uint32_t)m->npool;
	if (n)
		memcpy(m->pool + m->npool, v, n * sizeof(*v));
	m->npool += n;
	return true;
}

/* The set of these ways, in order. */
static bool
put_set(struct matcher *m, const struct way *v, size_t n, uint32_t *id)
{
	struct frames f = { .n = (uint32_t)n, .far = FAR_MOST };
	size_t at;

	if (2 * m->nsets >= m->set_slots.n && !more_slots(&m->set_slots, m, true))
		return fail(m, TB_ENOMEM);
	for (at = tb_hash(v, n * sizeof(*v)) % m->set_slots.n; m->set_slots.v[at];
	     at = (at + 1) % m->set_slots.n) {
		*id = m->set_slots.v[at] - 1;
		if (m->sets[*id].n == n && !memcmp(m->pool + m->sets[*id].first, v, n * sizeof(*v)))
			return true;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t far = m->g->states[v[i].state].far, depth = 0;

		if (v[i].state != AT_DONE) {
			far += m->sets[v[i].up].far;
			depth = m->sets[v[i].up].depth + 1;
		}
		f.far = far < f.far ? far : f.far;
		f.depth = depth > f.depth ? depth : f.depth;
	}
	if (!put_pool(m, v, n, &f.first))
		return false;
	if (!tb_grow(&m->sets, &m->sets_cap, m->nsets + 1, sizeof(*m->sets)))
		return fail(m, TB_ENOMEM);
	m->sets[m->nsets] = f;
	m->set_slots.v[at] = (uint32_t)m->nsets + 1;
	*id = (uint32_t)m->nsets++;
	return true;
}

static void
measure_reading(const struct matcher *m, struct match *r, const struct way *v)
{
	r->far = r->ends ? 0 : FAR_MOST;
	for (size_t i = 0; i < r->n; i++) {
		const struct grammar_state *s = &m->g->states[v[i].state];
		uint32_t far = s->far + m->sets[v[i].up].far;

		r->far = far < r->far ? far : r->far;
		r->tokens |= s->kind != STATE_BYTES;
	}
}

static uint32_t
put_reading(struct matcher *m, const struct way *v, size_t n, bool ends)
{
	struct match r = { .n = (uint32_t)n, .ends = ends };
	size_t at, classes = m->g->nclasses;

	if (2 * m->nreadings >= m->reading_slots.n && !more_slots(&m->reading_slots, m, false)) {
		fail(m, TB_ENOMEM);
		return READ_DEAD;
	}
	for (at = tb_hash(v, n * sizeof(*v)) % m->reading_slots.n; m->reading_slots.v[at];
	     at = (at + 1) % m->reading_slots.n) {
		const struct match *old = &m->readings[m->reading_slots.v[at] - 1];

		if (old->n == n && old->ends == ends &&
		    (!n || !memcmp(m->pool + old->first, v, n * sizeof(*v))))
			return m->reading_slots.v[at] - 1;
	}
	measure_reading(m, &r, v);
	if (!put_pool(m, v, n, &r.first))
		return READ_DEAD;
	if (!tb_grow(&m->readings, &m->readings_cap, m->nreadings + 1, sizeof(r)) ||
	    !tb_grow(&m->steps, &m->steps_cap, (m->nreadings + 1) * classes, sizeof(*m->steps))) {
		fail(m, TB_ENOMEM);
		return READ_DEAD;
	}
	m->readings[m->nreadings] = r;
	for (size_t i = 0; i < classes; i++)
		m->steps[m->nreadings * classes + i] = n ? READ_UNKNOWN : READ_DEAD;
	m->reading_slots.v[at] = (uint32_t)m->nreadings + 1;
	return (uint32_t)m->nreadings++;
}

/* ---- from states to the bytes that they read next ---- */

static bool
more_seen(struct matcher *m)
{
	size_t n = m->nseen ? 2 * m->nseen : 1024;
	struct seen *v = tb_calloc(n, sizeof(*v));

	if (!v)
		return fail(m, TB_ENOMEM);
	for (size_t i = 0; i < m->nseen; i++) {
		size_t at = (tb_hash_pair(m->seen[i].way.state, m->seen[i].way.up) >> 20) % n;

		if (m->seen[i].stamp != m->stamp)
			continue;
		while (v[at].stamp)
			at = (at + 1) % n;
		v[at] = m->seen[i];
	}
	free(m->seen);
	m->seen = v;
	m->nseen = n;
	return true;
}

/* A way to go, unless it was gone at this byte already, or no end is to be reached by it. */
static void
go(struct matcher *m, uint32_t state, uint32_t up)
{
	size_t at;

	if (m->status || m->g->states[state].far == GRAMMAR_FAR)
		return;
	if (2 * m->seen_used >= m->nseen && !more_seen(m))
		return;
	for (at = (tb_hash_pair(state, up) >> 20) % m->nseen; m->seen[at].stamp == m->stamp;
	     at = (at + 1) % m->nseen)
		if (m->seen[at].way.state == state && m->seen[at].way.up == up)
			return;
	if (++m->seen_used > WAYS_MAX) {
		fail(m, TB_ELIMIT);
		return;
	}
	m->seen[at] = (struct seen){ { state, up }, m->stamp };
	if (!tb_grow(&m->todo, &m->todo_cap, m->ntodo + 1, sizeof(*m->todo)))
		fail(m, TB_ENOMEM);
	else
		m->todo[m->ntodo++] = (struct way){ state, up };
}

/* A rule is entered once at a byte, whoever calls it. */
static void
enter(struct matcher *m, uint32_t rule, struct way back)
{
	struct rule_now *now = &m->now[rule];

	if (!(back.up & FRESH) && m->sets[back.up].depth >= DEPTH_MAX)
		return;
	if (!tb_grow(&m->calls, &m->calls_cap, m->ncalls + 1, sizeof(*m->calls)) ||
	    !tb_grow(&m->called, &m->called_cap, m->ncalled + 1, sizeof(*m->called))) {
		fail(m, TB_ENOMEM);
		return;
	}
	if (now->stamp != m->stamp) {
		*now = (struct rule_now){ .stamp = m->stamp, .call = UINT32_MAX };
		m->called[m->ncalled++] = rule;
		go(m, m->g->rules[rule].entry, FRESH | rule);
	}
	m->calls[m->ncalls] = (struct way_call){ back, now->call };
	now->call = (uint32_t)m->ncalls++;
	if (now->over)
		go(m, back.state, back.up);
}

static void
leave(struct matcher *m, uint32_t up)
{
	struct rule_now *now = &m->now[up & ~FRESH];

	if (!(up & FRESH)) {
		for (uint32_t i = 0; i < m->sets[up].n && !m->status; i++) {
			struct way w = m->pool[m->sets[up].first + i];

			go(m, w.state, w.up);
		}
		return;
	}
	now->over = true;
	for (uint32_t i = now->call; i != UINT32_MAX; i = m->calls[i].link)
		go(m, m->calls[i].back.state, m->calls[i].back.up);
}

static void
walk(struct matcher *m)
{
	while (m->ntodo && !m->status) {
		struct way w = m->todo[--m->ntodo];
		const struct grammar_state *s = &m->g->states[w.state];

		if (s->kind == STATE_SPLIT) {
			go(m, s->arg, w.up);
			go(m, s->next, w.up);
		} else if (s->kind == STATE_CALL) {
			enter(m, s->arg, (struct way){ s->next, w.up });
		} else if (s->kind == STATE_END) {
			leave(m, w.up);
		} else if (s->kind == STATE_DONE) {
			m->ends = true;
		} else if (!tb_grow(&m->heads, &m->heads_cap, m->nheads + 1, sizeof(w))) {
			fail(m, TB_ENOMEM);
		} else {
			m->heads[m->nheads++] = w;
		}
	}
}

/* The frames of a rule that was called.  What is called at a rule's end comes back to where
 * that rule would: lists that end with themselves do not get deeper. */
static bool
settle_rule(struct matcher *m, uint32_t rule)
{
	m->ntodo = 0;
	for (uint32_t i = m->now[rule].call; i != UINT32_MAX; i = m->calls[i].link) {
		struct way w = m->calls[i].back;
		const struct frames *f;
		size_t n;

		if (w.up & FRESH)
			w.up = m->now[w.up & ~FRESH].set;
		f = &m->sets[w.up];
		n = w.state == AT_END ? f->n : 1;
		if (!tb_grow(&m->todo, &m->todo_cap, m->ntodo + n, sizeof(*m->todo)))
			return fail(m, TB_ENOMEM);
		if (w.state == AT_END)
			memcpy(m->todo + m->ntodo, m->pool + f->first, n * sizeof(w));
		else
			m->todo[m->ntodo] = w;
		m->ntodo += n;
		if (m->ntodo > 16 * WAYS_MAX)
			return fail(m, TB_ELIMIT);
	}
	m->ntodo = sort_ways(m->todo, m->ntodo);
	return put_set(m, m->todo, m->ntodo, &m->now[rule].set);
}

static int
by_rank(const void *a, const void *b, void *of)
{
	const struct grammar_rule *rules = of;
	uint32_t x = rules[*(const uint32_t *)a].rank, y = rules[*(const uint32_t *)b].rank;

	return x < y ? -1 : x > y;
}

static void
begin(struct matcher *m)
{
	if (!++m->stamp) {
		memset(m->seen, 0, m->nseen * sizeof(*m->seen));
		memset(m->now, 0, m->g->nrules * sizeof(*m->now));
		m->stamp = 1;
	}
	m->ntodo = m->nheads = m->ncalls = m->ncalled = m->seen_used = 0;
	m->ends = false;
}

/* What the ways that were gone come to. */
static uint32_t
settle(struct matcher *m)
{
	walk(m);
	if (m->ncalled > 1)
		qsort_r(m->called, m->ncalled, sizeof(*m->called), by_rank, m->g->rules);
	for (size_t i = 0; i < m->ncalled && !m->status; i++)
		settle_rule(m, m->called[i]);
	if (m->status)
		return READ_DEAD;
	for (size_t i = 0; i < m->nheads; i++)
		if (m->heads[i].up & FRESH)
			m->heads[i].up = m->now[m->heads[i].up & ~FRESH].set;
	m->nheads = sort_ways(m->heads, m->nheads);
	return put_reading(m, m->heads, m->nheads, m->ends);
}

uint32_t
matcher_find_step(struct matcher *m, uint32_t reading, unsigned class)
{
	const struct grammar *g = m->g;
	struct match r = m->readings[reading];
	uint32_t to;

	begin(m);
	for (uint32_t i = 0; i < r.n; i++) {
		struct way w = m->pool[r.first + i];
		const struct grammar_state *s = &g->states[w.state];

		if (s->kind == STATE_BYTES && grammar_has(g, s->arg, g->byte_of[class]))
			go(m, s->next, w.up);
	}
	to = settle(m);
	if (!m->status)
		m->steps[(size_t)reading * g->nclasses + class] = to;
	return to;
}

uint32_t
matcher_token(struct matcher *m, uint32_t reading, const uint32_t *names, uint32_t id)
{
	const struct grammar *g = m->g;
	struct match r = m->readings[reading];

	begin(m);
	for (uint32_t i = 0; i < r.n; i++) {
		struct way w = m->pool[r.first + i];
		const struct grammar_state *s = &g->states[w.state];

		if ((s->kind == STATE_TOKEN && names[s->arg] == id) ||
		    (s->kind == STATE_OTHER && names[s->arg] != id))
			go(m, s->next, w.up);
	}
	return settle(m);
}

uint32_t
matcher_both(struct matcher *m, uint32_t a, uint32_t b)
{
	struct match x = m->readings[a], y = m->readings[b];

	if (a == b || b == READ_DEAD)
		return a;
	if (a == READ_DEAD)
		return b;
	begin(m);
	if (!tb_grow(&m->heads, &m->heads_cap, (size_t)x.n + y.n + 1, sizeof(*m->heads))) {
		fail(m, TB_ENOMEM);
		return READ_DEAD;
	}
	memcpy(m->heads, m->pool + x.first, x.n * sizeof(*m->heads));
	memcpy(m->heads + x.n, m->pool + y.first, y.n * sizeof(*m->heads));
	m->nheads = sort_ways(m->heads, (size_t)x.n + y.n);
	return put_reading(m, m->heads, m->nheads, x.ends || y.ends);
}

uint32_t
matcher_start(struct matcher *m)
{
	begin(m);
	enter(m, 0, (struct way){ AT_DONE, 0 });
	return settle(m);
}

/* ---- what is kept ---- */

/* What every matcher has: the frames that lead to the end of the text, and the reading that
 * reads nothing. */
static bool
put_first(struct matcher *m)
{
	static const struct way done = { AT_DONE, 0 };
	uint32_t id;

	return put_set(m, &done, 1, &id) && put_reading(m, NULL, 0, false) == READ_DEAD && !m->status;
}

enum tb_status
matcher_new(struct matcher **out, const struct grammar *g, struct tb_err *err)
{
	struct matcher *m = tb_calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return tb_nomem(err);
	m->g = g;
	m->now = tb_calloc(g->nrules, sizeof(*m->now));
	if (!m->now || !put_first(m)) {
		matcher_free(m);
		return tb_nomem(err);
	}
	*out = m;
	return TB_OK;
}

/* Sets that the ways v lead to, however far; a set's own lead to those before it alone. */
static void
mark_sets(const struct matcher *m, uint32_t *mark, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		mark[m->pool[i].up] = 1;
	for (size_t s = m->nsets; s-- > 0;)
		for (uint32_t i = 0; i < m->sets[s].n && mark[s]; i++)
			mark[m->pool[m->sets[s].first + i].up] = 1;
}

/* The ways of `old` with the numbers that sets have in m. */
static size_t
translate(struct matcher *m, const struct matcher *old, uint32_t first, uint32_t n,
	  const uint32_t *number)
{
	if (!tb_grow(&m->todo, &m->todo_cap, n + 1ul, sizeof(*m->todo))) {
		fail(m, TB_ENOMEM);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		m->todo[i] = (struct way){ old->pool[first + i].state,
					   number[old->pool[first + i].up] };
	return sort_ways(m->todo, n);
}

bool
matcher_forget(struct matcher *m, uint32_t *reading)
{
	struct matcher old = *m;
	struct match r = m->readings[*reading];
	uint32_t *number;	/* of sets: 1 = needed; then what they are now */
	size_t n;

	if (m->status || room(m) <= KEEP_MOST)
		return false;
	if (!(number = tb_calloc(m->nsets, sizeof(*number))))
		return false;
	mark_sets(m, number, r.first, r.n);
	m->pool = NULL;
	m->sets = NULL;
	m->readings = NULL;
	m->steps = NULL;
	m->npool = m->pool_cap = m->nsets = m->sets_cap = m->nreadings = m->readings_cap = 0;
	m->steps_cap = 0;
	m->set_slots = m->reading_slots = (struct slots){ 0 };
	if (put_first(m))
		number[0] = 0;
	for (size_t s = 1; s < old.nsets && !m->status; s++)
		if (number[s]) {
			n = translate(m, &old, old.sets[s].first, old.sets[s].n, number);
			put_set(m, m->todo, n, &number[s]);
		}
	n = translate(m, &old, r.first, r.n, number);
	*reading = put_reading(m, m->todo, n, r.ends);
	free(number);
	free(old.pool);
	free(old.sets);
	free(old.readings);
	free(old.steps);
	free(old.set_slots.v);
	free(old.reading_slots.v);
	return true;
}
