/* tok_merge.c - merging neighbours, earliest rank first, leftmost of equals. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/tok_bpe.h"

const struct tok_merge *
tok_merge_find(const struct tok_merges *m, uint32_t left, uint32_t right)
{
	uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 32) & m->mask;

	for (; m->slot[i].rank != TOK_NONE; i = (i + 1) & m->mask)
		if (m->slot[i].left == left && m->slot[i].right == right)
			break;
	return &m->slot[i];
}

/* For a few symbols moving the tail of an array beats any structure. */
size_t
tok_merge_few(const struct tok_merges *m, uint32_t *id, size_t n)
{
	const struct tok_merge *pair[TOK_FEW];

	for (size_t i = 0; i + 1 < n; i++)
		pair[i] = tok_merge_find(m, id[i], id[i + 1]);
	while (n > 1) {
		uint32_t rank = TOK_NONE;
		size_t at = 0;

		for (size_t i = 0; i + 1 < n; i++)
			if (pair[i]->rank < rank) {
				rank = pair[i]->rank;
				at = i;
			}
		if (rank == TOK_NONE)
			break;
		id[at] = pair[at]->id;
		n--;
		memmove(id + at + 1, id + at + 2, (n - at - 1) * sizeof(*id));
		if (at + 1 < n) {
			memmove(pair + at + 1, pair + at + 2, (n - at - 2) * sizeof(*pair));
			pair[at] = tok_merge_find(m, id[at], id[at + 1]);
		}
		if (at)
			pair[at - 1] = tok_merge_find(m, id[at - 1], id[at]);
	}
	return n;
}

/* A pair that may be merged, as it was when it was found. */
struct candidate { uint32_t rank, at, right_at, id; };

struct merger {
	const struct tok_merges *m;
	uint32_t *id, *prev, *next;	/* a list in arrays; id TOK_NONE = merged away */
	struct candidate *heap;
	size_t nheap;
};

static bool
before(const struct candidate *a, const struct candidate *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void
heap_push(struct merger *g, struct candidate c)
{
	size_t i = g->nheap++;

	for (; i && before(&c, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = c;
}

static struct candidate
heap_pop(struct merger *g)
{
	struct candidate top = g->heap[0], last = g->heap[--g->nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < g->nheap) {
		if (child + 1 < g->nheap && before(&g->heap[child + 1], &g->heap[child]))
			child++;
		if (!before(&g->heap[child], &last))
			break;
		g->heap[i] = g->heap[child];
		i = child;
	}
	g->heap[i] = last;
	return top;
}

static void
consider(struct merger *g, uint32_t at, uint32_t right_at)
{
	const struct tok_merge *p;

	if (at == TOK_NONE || right_at == TOK_NONE)
		return;
	p = tok_merge_find(g->m, g->id[at], g->id[right_at]);
	if (p->rank != TOK_NONE)
		heap_push(g, (struct candidate){ p->rank, at, right_at, p->id });
}

static void
merge_all(struct merger *g)
{
	while (g->nheap) {
		struct candidate c = heap_pop(g);
		const struct tok_merge *p;

		if (g->id[c.at] == TOK_NONE || g->next[c.at] != c.right_at)
			continue;
		p = tok_merge_find(g->m, g->id[c.at], g->id[c.right_at]);
		if (p->rank != c.rank)
			continue;	/* a neighbour has changed meanwhile */
		g->id[c.at] = c.id;
		g->id[c.right_at] = TOK_NONE;
		g->next[c.at] = g->next[c.right_at];
		if (g->next[c.at] != TOK_NONE)
			g->prev[g->next[c.at]] = c.at;
		consider(g, g->prev[c.at], c.at);
		consider(g, c.at, g->next[c.at]);
	}
}

/* Each merge takes a symbol away and adds at most two candidates, so 3n are enough. */
enum tb_status
tok_merge_many(const struct tok_merges *m, uint32_t *id, size_t *n, struct tb_err *err)
{
	struct merger g = { .m = m, .id = id };
	size_t kept = 0;

	if (*n >= UINT32_MAX / 4)
		return tb_fail(err, TB_ELIMIT, "tokenizer: a word of %zu characters", *n);
	g.prev = tb_calloc(*n, 2 * sizeof(*g.prev));
	g.heap = tb_calloc(*n, 3 * sizeof(*g.heap));
	if (!g.prev || !g.heap) {
		free(g.prev);
		free(g.heap);
		return tb_nomem(err);
	}
	g.next = g.prev + *n;
	for (uint32_t i = 0; i < *n; i++) {
		g.prev[i] = i ? i - 1 : TOK_NONE;
		g.next[i] = i + 1 < *n ? i + 1 : TOK_NONE;
	}
	for (uint32_t i = 0; i + 1 < *n; i++)
		consider(&g, i, i + 1);
	merge_all(&g);
	for (size_t i = 0; i < *n; i++)
		if (id[i] != TOK_NONE)
			id[kept++] = id[i];
	*n = kept;
	free(g.prev);
	free(g.heap);
	return TB_OK;
}
