/* attention.c - every head looks at what is before it, in some layers only as far back
 * as a window reaches.
 *
 * Heads that share keys and values (GQA) are tiled together with neighbouring
 * tokens, VEC_TILE rows at a time, so that a key is read once for all of them. */
#include "config.h"

#include "src/engine/run.h"

#include <string.h>

#include "src/engine/team.h"

#define COLUMNS 16	/* scores are computed so many at a time; divides KV_STEP */

struct attn {
	const struct run *run;
	uint32_t layer;
	size_t window;		/* positions that a row may see at most */
	size_t first;		/* token of the block that row 0 belongs to */
	size_t group;		/* heads that share keys and values */
	size_t rows, tiles;	/* of one such group */
};

struct tile {
	const float *q[VEC_TILE];
	float *score[VEC_TILE], *out[VEC_TILE];
	size_t from[VEC_TILE], limit[VEC_TILE];	/* positions that the row may see */
	size_t n;		/* rows that count */
	size_t base, most;	/* score[r][0] is of position base; the farthest limit */
};

/* Positions [at, at + n) of one step of the cache. */
struct piece { size_t at, n; };

/* Rows past the end repeat the last one: the same is computed and stored again. */
static void
tile_fill(struct tile *t, const struct attn *a, size_t head0, size_t tile, float *scores)
{
	const struct hparams *hp = a->run->hp;
	const struct work *w = &a->run->s->work;
	size_t width = (size_t)hp->heads * hp->head_dim;

	t->n = a->rows - tile * VEC_TILE;
	t->n = t->n < VEC_TILE ? t->n : VEC_TILE;
	for (size_t r = 0; r < VEC_TILE; r++) {
		size_t in_tile = r < t->n ? r : t->n - 1;
		size_t row = tile * VEC_TILE + in_tile, token = row / a->group;
		size_t column = (head0 + row % a->group) * hp->head_dim;

		t->q[r] = w->q + (a->first + token) * width + column;
		t->out[r] = w->att + token * width + column;
		t->score[r] = scores + in_tile * w->score_len;
		t->limit[r] = a->run->s->pos + a->first + token + 1;
		t->from[r] = t->limit[r] > a->window ? t->limit[r] - a->window : 0;
	}
	t->base = t->from[0] / COLUMNS * COLUMNS;
	t->most = t->limit[VEC_TILE - 1];
}

static bool
next_piece(const struct tile *t, struct piece *p)
{
	p->at = p->n ? p->at + p->n : t->base;
	p->n = KV_STEP - p->at % KV_STEP;
	p->n = p->n < t->most - p->at ? p->n : t->most - p->at;
	return p->n > 0;
}

/* Scores become weights; positions that a row may not see count nothing. */
static void
weigh(const struct attn *a, const struct tile *t, size_t r)
{
	const struct vec_ops *vec = a->run->e->vec;
	const struct hparams *hp = a->run->hp;
	size_t skip = t->from[r] - t->base, end = t->limit[r] - t->base;
	float *score = t->score[r];

	if (hp->attn_softcap > 0)
		vec->softcap(score + skip, end - skip, hp->attn_scale, hp->attn_softcap);
	vec->softmax(score + skip, end - skip, hp->attn_softcap > 0 ? 1 : hp->attn_scale);
	memset(score, 0, skip * sizeof(*score));
	memset(score + end, 0, (t->most - t->limit[r]) * sizeof(*score));
}

static void
attend(void *arg, unsigned chunk, unsigned thread)
{
	const struct attn *a = arg;
	const struct session *s = a->run->s;
	const struct vec_ops *vec = a->run->e->vec;
	uint32_t kv_head = (uint32_t)(chunk / a->tiles);
	size_t hd = a->run->hp->head_dim;
	void (*product)(const float *const *, const float *, size_t, size_t, size_t,
			float *const *, int);
	float *c[VEC_TILE];
	const float *weights[VEC_TILE];
	struct tile t;

	tile_fill(&t, a, kv_head * a->group, chunk % a->tiles,
		  s->work.scores + thread * VEC_TILE * s->work.score_len);
	product = t.n == 1 ? vec->tile_one : vec->tile;
	for (struct piece p = { 0 }; next_piece(&t, &p);) {
		const float *keys = kv_keys(&s->kv, a->layer, kv_head, p.at / KV_STEP);

		for (size_t r = 0; r < VEC_TILE; r++)
			c[r] = t.score[r] + (p.at - t.base);
		product(t.q, keys + p.at % KV_STEP, KV_STEP, hd,
			(p.n + COLUMNS - 1) / COLUMNS * COLUMNS, c, 0);
	}
	for (size_t r = 0; r < t.n; r++)
		weigh(a, &t, r);
	for (struct piece p = { 0 }; next_piece(&t, &p);) {
		const float *values = kv_values(&s->kv, a->layer, kv_head, p.at / KV_STEP);

		for (size_t r = 0; r < VEC_TILE; r++)
			weights[r] = t.score[r] + (p.at - t.base);
		product(weights, values + p.at % KV_STEP * hd, hd, p.n, hd, t.out, p.at > t.base);
	}
}

void
attention(struct run *run, uint32_t layer, size_t m, size_t want)
{
	const struct hparams *hp = run->hp;
	struct attn a = {
		.run = run, .layer = layer, .first = m - want,
		.group = hp->heads / hp->kv_heads,
		.window = hparams_windowed(hp, layer) ? hp->window : SIZE_MAX,
	};

	a.rows = want * a.group;
	a.tiles = (a.rows + VEC_TILE - 1) / VEC_TILE;
	team_run(run->e->team, attend, &a, (unsigned)(a.tiles * hp->kv_heads));
}
