/* grammar_check.c - what is to be known of states before a text is matched. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/grammar_machine.h"

#define FAR_MOST (1u << 30)	/* bytes: what is further is never reached */

#define NONE UINT32_MAX

struct measuring {
	struct grammar *g;
	/* Which states' distance follows from that of a state, then of a rule: lists of edges, of
	 * which a state has three; owned. */
	uint32_t *first, *link;
	/* A heap of states, the nearest first; owned. */
	struct near { uint32_t far, state; } *heap;
	size_t n, cap;
	uint32_t *owner;	/* owned; of an entry its rule + 1, 0: it is none */
};

static bool
heap_push(struct measuring *m, uint32_t state, uint64_t far)
{
	size_t i = m->n;

	if (far > FAR_MOST || m->g->states[state].far <= far)
		return true;
	if (!tb_grow(&m->heap, &m->cap, m->n + 1, sizeof(*m->heap)))
		return false;
	m->g->states[state].far = (uint32_t)far;
	for (m->n++; i && m->heap[(i - 1) / 2].far > far; i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = (struct near){ (uint32_t)far, state };
	return true;
}

static struct near
heap_pop(struct measuring *m)
{
	struct near top = m->heap[0], last = m->heap[--m->n];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
		child += child + 1 < m->n && m->heap[child + 1].far < m->heap[child].far;
		if (m->heap[child].far >= last.far)
			break;
		m->heap[i] = m->heap[child];
	}
	if (m->n)
		m->heap[i] = last;
	return top;
}

/* From a state's distance to that of a state in front of it. */
static bool
step_back(struct measuring *m, uint32_t state)
{
	const struct grammar_state *s = &m->g->states[state];
	uint64_t far = m->g->states[s->next].far;
	uint32_t other;

	switch (s->kind) {
	case STATE_SPLIT:
		other = m->g->states[s->arg].far;
		return heap_push(m, state, far < other ? far : other);
	case STATE_CALL:
		return heap_push(m, state, far + m->g->rules[s->arg].far);
	case STATE_BYTES:
	case STATE_TOKEN:
	case STATE_OTHER:
		return heap_push(m, state, far + 1);
	default:
		return true;
	}
}

/* A set without a byte leads nowhere. */
static bool
is_empty(const struct grammar *g, const struct grammar_state *s)
{
	static const uint8_t none[32];

	return s->kind == STATE_BYTES && !memcmp(g->sets[s->arg], none, 32);
}

static void
put_edge(struct measuring *m, size_t from, uint32_t edge)
{
	m->link[edge] = m->first[from];
	m->first[from] = edge;
}

static bool
link_back(struct measuring *m)
{
	const struct grammar *g = m->g;

	m->first = tb_calloc(g->n + g->nrules, sizeof(uint32_t));
	m->link = tb_calloc(3 * g->n, sizeof(uint32_t));
	m->owner = tb_calloc(g->n, sizeof(uint32_t));
	if (!m->first || !m->link || !m->owner)
		return false;
	memset(m->first, 0xff, (g->n + g->nrules) * sizeof(uint32_t));
	for (uint32_t i = AT_DONE + 1; i < g->n; i++) {
		const struct grammar_state *s = &g->states[i];

		if (is_empty(g, s))
			continue;
		put_edge(m, s->next, 3 * i);
		if (s->kind == STATE_SPLIT)
			put_edge(m, s->arg, 3 * i + 1);
		if (s->kind == STATE_CALL)
			put_edge(m, g->n + s->arg, 3 * i + 2);
	}
	for (uint32_t r = 0; r < g->nrules; r++)
		m->owner[g->rules[r].entry] = r + 1;
	return true;
}

static bool
step_back_all(struct measuring *m, size_t from)
{
	bool ok = true;

	for (uint32_t e = m->first[from]; e != NONE && ok; e = m->link[e])
		ok = step_back(m, e / 3);
	return ok;
}

/* The nearest first, so that each is final when its turn comes. */
static bool
spread(struct measuring *m)
{
	struct grammar *g = m->g;
	bool ok = heap_push(m, AT_END, 0) && heap_push(m, AT_DONE, 0);

	for (uint32_t r = 0; r < g->nrules && ok; r++)
		if (g->rules[r].entry == AT_END)
			g->rules[r].far = 0;
	for (uint32_t r = 0; r < g->nrules && ok; r++)
		if (!g->rules[r].far)
			ok = step_back_all(m, g->n + r);
	while (ok && m->n) {
		struct near top = heap_pop(m);
		uint32_t owner = m->owner[top.state];

		if (top.far > g->states[top.state].far)
			continue;	/* a nearer way was found since */
		ok = step_back_all(m, top.state);
		if (ok && owner && top.state != AT_END) {
			g->rules[owner - 1].far = top.far;
			ok = step_back_all(m, g->n + owner - 1);
		}
	}
	return ok;
}

enum tb_status
grammar_measure(struct grammar *g, struct tb_err *err)
{
	struct measuring m = { .g = g };
	bool ok = true;

	for (size_t i = 0; i < g->n; i++)
		g->states[i].far = GRAMMAR_FAR;
	for (size_t i = 0; i < g->nrules; i++)
		g->rules[i].far = GRAMMAR_FAR;
	ok = link_back(&m) && spread(&m);
	free(m.first);
	free(m.link);
	free(m.heap);
	free(m.owner);
	return ok ? TB_OK : tb_nomem(err);
}

/* ---- which rules begin with which ---- */

struct ranking {
	struct grammar *g;
	uint32_t *seen;			/* owned; [states]: rule + 1 that looked at it last */
	uint32_t *todo;			/* owned; states of the rule that is looked at */
	uint32_t *begins;		/* owned; rules that rules begin with … */
	size_t *from;			/* owned; … those of r are from[r] to from[r + 1] */
	size_t n, cap;
};

/* Which rules may stand at the beginning of r: they are called before a byte was read. */
static bool
look_for_calls(struct ranking *k, uint32_t r)
{
	const struct grammar *g = k->g;
	size_t n = 0;

	k->from[r] = k->n;
	k->todo[n++] = g->rules[r].entry;
	while (n) {
		uint32_t at = k->todo[--n];
		const struct grammar_state *s = &g->states[at];

		if (k->seen[at] == r + 1)
			continue;
		k->seen[at] = r + 1;
		if (s->kind == STATE_SPLIT) {
			k->todo[n++] = s->arg;
			k->todo[n++] = s->next;
		} else if (s->kind == STATE_CALL) {
			if (!tb_grow(&k->begins, &k->cap, k->n + 1, sizeof(*k->begins)))
				return false;
			k->begins[k->n++] = s->arg;
			if (!g->rules[s->arg].far)
				k->todo[n++] = s->next;
		}
	}
	k->from[r + 1] = k->n;
	return true;
}

/* A walk down; rules get their rank when all below them have one.  *loop: a rule that is met
 * again below itself, or NONE. */
static void
rank_below(struct ranking *k, uint32_t root, uint32_t *way, size_t *next, uint32_t *rank,
	   uint32_t *loop)
{
	struct grammar_rule *rules = k->g->rules;
	size_t n = 0;

	if (k->seen[root])
		return;
	way[n++] = root;
	k->seen[root] = 1;		/* on the way */
	next[root] = k->from[root];
	while (n) {
		uint32_t r = way[n - 1], below;

		if (next[r] == k->from[r + 1]) {
			rules[r].rank = (*rank)--;
			k->seen[r] = 2;
			n--;
			continue;
		}
		below = k->begins[next[r]++];
		if (k->seen[below] == 1) {
			*loop = below;
			return;
		}
		if (!k->seen[below]) {
			way[n++] = below;
			k->seen[below] = 1;
			next[below] = k->from[below];
		}
	}
}

enum tb_status
grammar_rank(struct grammar *g, const char *what, struct tb_err *err)
{
	size_t most = 2 * g->n + 2;
	struct ranking k = { .g = g, .seen = tb_calloc(g->n + g->nrules, sizeof(uint32_t)),
			     .todo = tb_calloc(most, sizeof(uint32_t)),
			     .from = tb_calloc(g->nrules + 1, sizeof(size_t)) };
	size_t *next = tb_calloc(g->nrules, sizeof(size_t));
	uint32_t rank = (uint32_t)g->nrules, loop = NONE;
	bool ok = k.seen && k.todo && k.from && next;

	for (uint32_t r = 0; r < g->nrules && ok; r++)
		ok = look_for_calls(&k, r);
	if (ok) {
		memset(k.seen, 0, (g->n + g->nrules) * sizeof(uint32_t));
		for (uint32_t r = 0; r < g->nrules && loop == NONE; r++)
			rank_below(&k, r, k.todo, next, &rank, &loop);
	}
	free(k.seen);
	free(k.todo);
	free(k.from);
	free(k.begins);
	free(next);
	if (!ok)
		return tb_nomem(err);
	return loop == NONE ? TB_OK :
	       tb_fail(err, TB_EUNSUP, "%s: the rule \"%.80s\" begins with itself; let it read something "
		       "first (\"x y*\" for \"list ::= list y | x\")", what, g->rules[loop].name);
}

/* ---- bytes that are alike ---- */

void
grammar_classify(struct grammar *g)
{
	unsigned n = 1;		/* classes so far */

	memset(g->class_of, 0, sizeof(g->class_of));
	for (size_t set = 0; set < g->nsets && n < 256; set++) {
		unsigned inside[256], outside[256];

		memset(inside, 0xff, sizeof(inside));
		memset(outside, 0xff, sizeof(outside));
		for (unsigned b = 0; b < 256; b++) {
			unsigned c = g->class_of[b];
			unsigned *to = grammar_has(g, (uint32_t)set, (uint8_t)b) ? inside : outside;

			/* the first that is met of a class keeps its number */
			if (to[c] > 256)
				to[c] = inside[c] > 256 && outside[c] > 256 ? c : n++;
			g->class_of[b] = (uint8_t)to[c];
		}
	}
	g->nclasses = n;
	memset(g->class_size, 0, sizeof(g->class_size));
	for (unsigned b = 0; b < 256; b++) {
		g->byte_of[g->class_of[b]] = (uint8_t)b;
		g->class_size[g->class_of[b]]++;
	}
}
