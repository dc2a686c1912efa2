/* tok_merge.c - merging neighbours, earliest rank first, leftmost of equals. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/text/tok_bpe.h"

const struct tok_merge *
tok_merge_find(const struct tok_merges *m, uint32_t left, uint32_t right)
{
	size_t i = (size_t)(tb_hash_pair(left, right) >> 32) & m->mask;

	for (; m->slot[i].rank != TOK_NONE; i = (i + 1) & m->mask)
		if (m->slot[i].left == left && m->slot[i].right == right)
			break;
	return &m->slot[i];
}

struct joined { uint32_t rank, id; };

/* What the neighbours `left` and `right` become; the symbol behind them is `end`. */
static struct joined
join(const struct tok_bpe *b, const struct tok_run *r, size_t left, size_t right, size_t end)
{
	const struct tok_merge *m;
	uint32_t id;
	size_t len;

	if (!b->piece_rank) {
		m = tok_merge_find(&b->merges, r->id[left], r->id[right]);
		return (struct joined){ m->rank, m->id };
	}
	len = r->off[end] - r->off[left];
	if (len > b->longest || !tok_vocab_find(b->vocab, r->text + r->off[left], len, &id) ||
	    id >= b->ranked)
		return (struct joined){ TOK_NONE, TOK_NONE };
	return (struct joined){ b->piece_rank[id], id };
}

/* For a few symbols moving the tail of an array beats any structure. */
void
tok_merge_few(const struct tok_bpe *b, struct tok_run *r)
{
	struct joined pair[TOK_FEW];
	uint32_t *id = r->id;

	for (size_t i = 0; i + 1 < r->n; i++)
		pair[i] = join(b, r, i, i + 1, i + 2);
	while (r->n > 1) {
		uint32_t rank = TOK_NONE;
		size_t at = 0, tail;

		for (size_t i = 0; i + 1 < r->n; i++)
			if (pair[i].rank < rank) {
				rank = pair[i].rank;
				at = i;
			}
		if (rank == TOK_NONE)
			break;
		id[at] = pair[at].id;
		r->n--;
		tail = r->n - at - 1;
		memmove(id + at + 1, id + at + 2, tail * sizeof(*id));
		if (b->piece_rank)
			memmove(r->off + at + 1, r->off + at + 2, (tail + 1) * sizeof(*r->off));
		if (tail) {
			memmove(pair + at + 1, pair + at + 2, (tail - 1) * sizeof(*pair));
			pair[at] = join(b, r, at, at + 1, at + 2);
		}
		if (at)
			pair[at - 1] = join(b, r, at - 1, at, at + 1);
	}
}

/* A pair that may be merged, as it was when it was found. */
struct candidate { uint32_t rank, at, right_at; };

struct merger {
	const struct tok_bpe *b;
	struct tok_run *r;		/* id TOK_NONE = merged away */
	uint32_t *prev, *next;		/* a list in arrays */
	struct candidate *heap;
	size_t nheap;
};

static bool
before(const struct candidate *a, const struct candidate *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
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

/* The pair as it is now. */
static struct joined
joined_now(const struct merger *g, uint32_t at, uint32_t right_at)
{
	uint32_t end = g->next[right_at];

	return join(g->b, g->r, at, right_at, end == TOK_NONE ? g->r->n : end);
}

static void
consider(struct merger *g, uint32_t at, uint32_t right_at)
{
	struct candidate c = { TOK_NONE, at, right_at };
	size_t i = g->nheap;

	if (at != TOK_NONE && right_at != TOK_NONE)
		c.rank = joined_now(g, at, right_at).rank;
	if (c.rank == TOK_NONE)
		return;
	for (; i && before(&c, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = c;
	g->nheap++;
}

static void
merge_all(struct merger *g)
{
	uint32_t *id = g->r->id;

	while (g->nheap) {
		struct candidate c = heap_pop(g);
		struct joined p;

		if (id[c.at] == TOK_NONE || g->next[c.at] != c.right_at)
			continue;
		p = joined_now(g, c.at, c.right_at);
		if (p.rank != c.rank)
			continue;	/* a neighbour has changed meanwhile */
		id[c.at] = p.id;
		id[c.right_at] = TOK_NONE;
		g->next[c.at] = g->next[c.right_at];
		if (g->next[c.at] != TOK_NONE)
			g->prev[g->next[c.at]] = c.at;
		consider(g, g->prev[c.at], c.at);
		consider(g, c.at, g->next[c.at]);
	}
}

static void
close_ranks(const struct tok_bpe *b, struct tok_run *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->id[i] == TOK_NONE)
			continue;
		r->id[kept] = r->id[i];
		if (b->piece_rank)
			r->off[kept] = r->off[i];
		kept++;
	}
	if (b->piece_rank)
		r->off[kept] = r->off[r->n];
	r->n = kept;
}

/* Each merge takes a symbol away and adds at most two candidates, so 3n are enough. */
enum tb_status
tok_merge_many(const struct tok_bpe *b, struct tok_run *r, struct tb_err *err)
{
	struct merger g = { .b = b, .r = r };

	if (r->n >= UINT32_MAX / 4)
		return tb_fail(err, TB_ELIMIT, "tokenizer: a word of %zu characters", r->n);
	g.prev = tb_calloc(r->n, 2 * sizeof(*g.prev));
	g.heap = tb_calloc(r->n, 3 * sizeof(*g.heap));
	if (!g.prev || !g.heap) {
		free(g.prev);
		free(g.heap);
		return tb_nomem(err);
	}
	g.next = g.prev + r->n;
	for (uint32_t i = 0; i < r->n; i++) {
		g.prev[i] = i ? i - 1 : TOK_NONE;
		g.next[i] = i + 1 < r->n ? i + 1 : TOK_NONE;
	}
	for (uint32_t i = 0; i + 1 < r->n; i++)
		consider(&g, i, i + 1);
	merge_all(&g);
	close_ranks(b, r);
	free(g.prev);
	free(g.heap);
	return TB_OK;
}
