/* attention.c - every head looks at everything before it.
 *
 * Heads that share keys and values (GQA) are tiled together with neighbouring
 * tokens, VEC_TILE rows at a time, so that a key is read once for all of them. */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>
#include <string.h>

#include "src/engine/team.h"

struct attn {
	const struct run *run;
	uint32_t layer;
	size_t first;		/* token of the block that row 0 belongs to */
	size_t group;		/* heads that share keys and values */
	size_t rows, tiles;	/* of one such group */
};

struct tile {
	const float *q[VEC_TILE];
	float *score[VEC_TILE], *out[VEC_TILE];
	size_t limit[VEC_TILE];	/* positions that the row may see */
	size_t n, most;		/* rows that count; the farthest limit */
};

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
	}
	t->most = t->limit[VEC_TILE - 1];
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
	for (size_t at = 0; at < t.most; at += KV_STEP) {
		size_t n = t.most - at < KV_STEP ? (t.most - at + 15) / 16 * 16 : KV_STEP;

		for (size_t r = 0; r < VEC_TILE; r++)
			c[r] = t.score[r] + at;
		product(t.q, kv_keys(&s->kv, a->layer, kv_head, at / KV_STEP), KV_STEP, hd, n, c, 0);
	}
	for (size_t r = 0; r < t.n; r++) {
		vec->softmax(t.score[r], t.limit[r], 1 / sqrtf((float)hd));
		memset(t.score[r] + t.limit[r], 0, (t.most - t.limit[r]) * sizeof(float));
	}
	for (size_t at = 0; at < t.most; at += KV_STEP) {
		size_t n = t.most - at < KV_STEP ? t.most - at : KV_STEP;

		for (size_t r = 0; r < VEC_TILE; r++)
			weights[r] = t.score[r] + at;
		product(weights, kv_values(&s->kv, a->layer, kv_head, at / KV_STEP), hd, n, hd,
			t.out, at > 0);
	}
}

void
attention(struct run *run, uint32_t layer, size_t m, size_t want)
{
	const struct hparams *hp = run->hp;
	struct attn a = {
		.run = run, .layer = layer, .first = m - want,
		.group = hp->heads / hp->kv_heads,
	};

	a.rows = want * a.group;
	a.tiles = (a.rows + VEC_TILE - 1) / VEC_TILE;
	team_run(run->e->team, attend, &a, (unsigned)(a.tiles * hp->kv_heads));
}
