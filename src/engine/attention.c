/* attention.c - every head looks at what is before it, in some layers only as far back
 * as a window reaches.
 *
 * Heads that share keys and values (GQA) and neighbouring tokens are rows of one tile,
 * which meets keys a block at a time: scores, weights, a mixture of values, each put
 * on what was before, so that no row of scores is as long as the context.  A few rows,
 * or one, are cut by positions, too: parts are looked at on their own and joined. */
#include "config.h"

#include "src/engine/attention.h"

#include <math.h>
#include <string.h>

#include "src/engine/attn_ops.h"
#include "src/engine/run.h"
#include "src/engine/team.h"

#define FEW 8			/* tokens that give what each gives alone */
#define UNPACK 32		/* rows from which on keys are unpacked before they are met */
#define ROWS_MOST 128
#define TILE_FLOATS 32768	/* of a tile's queries and sums */
#define BLOCK_FLOATS 131072	/* of a block's keys and values */
#define PART_LEAST 512		/* positions of a part */
#define PARTS_MOST 32

/* How a layer's heads are cut. */
struct cut {
	size_t dim, columns;	/* of a key, and of a value with padding */
	size_t rows, keys;	/* of a tile, and of a block that it meets at a time */
};

struct call {
	struct run *run;
	struct attention a;
	const struct kv *kv;
	const struct kv_layer *layer;
	const struct attn_ops *ops;
	const struct attn_bf16 *bf16;	/* NULL: F32 */
	struct cut cut;
	size_t group;		/* heads that share keys and values */
	size_t rows, tiles;	/* of one such group */
	size_t pos, want;	/* of the first row; tokens */
	size_t part, first_part, parts;	/* positions of a part; part 0: all is one */
	float *joined;		/* [kv heads][rows][parts][columns + 2]: mixture, max, sum */
	unsigned chunks;	/* parts of tiles of all kv heads */
	size_t room;		/* floats of a thread's tile, in all calls of a pass the same */
};

/* Of each session that has rows in the pass. */
struct calls {
	struct call call[SESSION_ROWS];
	size_t n;
};

/* What a thread works in. */
struct tile {
	size_t first, n, head;	/* rows [first, first + n) of a group */
	float *q, *s, *mix, *max, *sum, *keys, *values;
	uint16_t *q16, *p16, *keys16, *values16;
};

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct cut
cut_of(uint32_t key_dim, uint32_t value_dim)
{
	struct cut c = { .dim = key_dim, .columns = kv_columns(value_dim), .keys = KV_STEP };
	size_t width = c.dim + c.columns;

	c.rows = least(ROWS_MOST, TILE_FLOATS / width / 8 * 8);
	c.rows = c.rows ? c.rows : 8;
	while (c.keys > KV_BLOCK && c.keys * width > BLOCK_FLOATS)
		c.keys /= 2;
	return c;
}

static size_t
line(size_t floats)
{
	return (floats + 15) / 16 * 16;
}

/* Returns the floats of all. */
static size_t
tile_place(struct tile *t, const struct cut *c, float *at)
{
	struct part { float **to; size_t n; } part[] = {
		{ &t->q, line(c->rows * (c->dim + 1)) }, { &t->s, c->rows * c->keys },
		{ &t->mix, c->rows * c->columns }, { &t->max, line(c->rows) },
		{ &t->sum, line(c->rows) }, { &t->keys, line(c->keys * (c->dim + 1)) },
		{ &t->values, c->keys * c->columns },
	};
	size_t total = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		*part[i].to = at ? at + total : NULL;
		total += part[i].n;
	}
	t->q16 = (uint16_t *)(void *)t->q;
	t->keys16 = (uint16_t *)(void *)t->keys;
	t->values16 = (uint16_t *)(void *)t->values;
	t->p16 = at ? (uint16_t *)(void *)(at + total) : NULL;
	return total + c->rows * c->keys / 2;
}

/* A part is as long in each evaluation of a session. */
static size_t
part_len(uint32_t context)
{
	size_t part = (context + PARTS_MOST * KV_STEP - 1) / (PARTS_MOST * KV_STEP) * KV_STEP;

	return part > PART_LEAST ? part : PART_LEAST;
}

size_t
attention_room(const struct hparams *hp, uint32_t context, unsigned threads)
{
	size_t part = part_len(context), parts = (context + part - 1) / part, most = 0;

	for (uint32_t i = 0; i < hp->layers; i++) {
		const struct layer_shape *l = &hp->layer[i];
		struct cut c = cut_of(l->head_dim, l->value_dim);
		struct tile t;
		size_t n = threads * tile_place(&t, &c, NULL) +
			   FEW * l->heads * (parts + 1) * (c.columns + 2);

		most = n > most ? n : most;
	}
	return most;
}

/* ---- one tile ---- */

static size_t
row_limit(const struct call *c, size_t row)
{
	return c->pos + row / c->group + 1;
}

static size_t
row_from(const struct call *c, size_t row)
{
	size_t limit = row_limit(c, row);

	return c->a.window && limit > c->a.window ? limit - c->a.window : 0;
}

static void
take_queries(const struct call *c, struct tile *t)
{
	const size_t dim = c->cut.dim, pairs = (dim + 1) / 2;

	for (size_t r = 0; r < t->n; r++) {
		size_t row = t->first + r, token = row / c->group;
		size_t head = t->head * c->group + row % c->group;
		const float *q = c->a.q + (token * c->a.heads + head) * dim;

		if (c->bf16)
			c->bf16->round(q, c->a.scale, dim, t->q16 + r * 2 * pairs);
		for (size_t i = 0; i < dim && !c->bf16; i++)
			t->q[r * dim + i] = q[i] * c->a.scale;
		t->max[r] = -INFINITY;
		t->sum[r] = 0;
	}
	memset(t->mix, 0, t->n * c->cut.columns * sizeof(*t->mix));
}

/* Scores of positions [at, at + n) become weights, in BF16 elsewhere; the mixture so far goes down where a
 * larger one is found. */
static void
weigh(const struct call *c, struct tile *t, size_t at, size_t n)
{
	size_t whole = (n + KV_BLOCK - 1) / KV_BLOCK * KV_BLOCK;

	for (size_t r = 0; r < t->n; r++) {
		size_t from = row_from(c, t->first + r), limit = row_limit(c, t->first + r);
		float *s = t->s + r * c->cut.keys, down;
		uint16_t *p = t->p16 + r * c->cut.keys;

		from = from > at ? from - at : 0;
		limit = limit > at ? least(limit - at, n) : 0;
		if (from >= limit) {
			memset(c->bf16 ? (void *)p : s, 0, whole * (c->bf16 ? sizeof(*p) : sizeof(*s)));
			continue;
		}
		if (c->a.softcap > 0)
			c->run->e->vec->softcap(s, whole, 1, c->a.softcap);
		down = c->bf16 ? c->bf16->weigh(s, from, limit, whole, &t->max[r], &t->sum[r], p)
			       : c->ops->weigh(s, from, limit, whole, &t->max[r], &t->sum[r]);
		if (down != 1)
			c->ops->scale(t->mix + r * c->cut.columns, c->cut.columns, down);
	}
}

static void
meet_bf16(const struct call *c, struct tile *t, struct kv_part keys, struct kv_part values,
	  size_t at, size_t n)
{
	const struct attn_bf16 *b = c->bf16;
	const size_t columns = c->cut.columns, lds = c->cut.keys, pairs = (c->cut.dim + 1) / 2;
	const size_t blocks = (n + KV_BLOCK - 1) / KV_BLOCK;

	b->keys(keys, c->cut.dim, blocks, t->keys16);
	b->product(t->q16, 2 * pairs, t->n, t->keys16, blocks, pairs, t->s, lds, 0);
	weigh(c, t, at, n);
	b->values(values, columns, n, t->values16);
	b->product(t->p16, lds, t->n, t->values16, columns / KV_BLOCK, (n + 1) / 2, t->mix, columns,
		   1);
}

static void
meet_f32(const struct call *c, struct tile *t, struct kv_part keys, struct kv_part values,
	 size_t at, size_t n)
{
	const size_t dim = c->cut.dim, columns = c->cut.columns, lds = c->cut.keys;
	const size_t blocks = (n + KV_BLOCK - 1) / KV_BLOCK;
	enum kv_type type = c->kv->type;

	if (t->n >= UNPACK && type != KV_F32) {
		c->ops->keys[type](keys, dim, blocks, t->keys);
		c->ops->values[type](values, columns, n, t->values);
		keys = (struct kv_part){ .data = t->keys };
		values = (struct kv_part){ .data = t->values };
		type = KV_F32;
	}
	c->ops->scores[type](t->q, dim, t->n, keys, dim, blocks, t->s, lds);
	weigh(c, t, at, n);
	c->ops->mix[type](t->s, lds, t->n, values, columns, n, t->mix, columns);
}

/* All that rows of the tile see of positions [from, end). */
static void
look_at_keys(const struct call *c, struct tile *t, size_t from, size_t end)
{
	for (size_t at = from / KV_BLOCK * KV_BLOCK, n; at < end; at += n) {
		size_t step = at / KV_STEP, in_step = at % KV_STEP;
		struct kv_part keys = kv_keys(c->kv, c->a.layer, (uint32_t)t->head, step);
		struct kv_part values = kv_values(c->kv, c->a.layer, (uint32_t)t->head, step);

		n = least(c->cut.keys - at % c->cut.keys, end - at);
		keys = kv_keys_at(c->kv->type, keys, c->layer->key_dim, in_step);
		values = kv_values_at(c->kv->type, values, c->layer->value_dim, in_step);
		if (c->bf16)
			meet_bf16(c, t, keys, values, at, n);
		else
			meet_f32(c, t, keys, values, at, n);
	}
}

/* ---- what comes out ---- */

/* A sink takes part in the sum and brings nothing. */
static void
answer(const struct call *c, size_t kv_head, size_t row, const float *mix, float max, float sum)
{
	size_t head = kv_head * c->group + row % c->group, dim = c->layer->value_dim;
	float *out = c->a.out + (row / c->group * c->a.heads + head) * dim, a = 1;

	if (c->a.sinks) {
		float sink = c->a.sinks[head], most = sink > max ? sink : max;

		a = expf(max - most);
		sum = sum * a + expf(sink - most);
	}
	a /= sum;
	for (size_t i = 0; i < dim; i++)
		out[i] = mix[i] * a;
}

static float *
joined_at(const struct call *c, size_t kv_head, size_t row, size_t part)
{
	return c->joined + ((kv_head * c->rows + row) * c->parts + part) * (c->cut.columns + 2);
}

static void
join_parts(const struct call *c, size_t i)
{
	size_t kv_head = i / c->rows, row = i % c->rows, columns = c->cut.columns;
	float *first = joined_at(c, kv_head, row, 0), max = -INFINITY, sum = 0;

	for (size_t p = 0; p < c->parts; p++)
		max = fmaxf(max, joined_at(c, kv_head, row, p)[columns]);
	for (size_t p = 0; p < c->parts; p++) {
		float *part = joined_at(c, kv_head, row, p), a;

		a = part[columns + 1] == 0 ? 0 : expf(part[columns] - max);
		sum += part[columns + 1] * a;
		for (size_t k = 0; k < columns; k++)
			first[k] = (p ? first[k] : 0) + part[k] * a;
	}
	answer(c, kv_head, row, first, max, sum);
}

static void
attend_part(const struct call *c, unsigned chunk, unsigned thread)
{
	size_t which = chunk / c->parts, part = chunk % c->parts, columns = c->cut.columns;
	size_t from, end;
	struct tile t;

	tile_place(&t, &c->cut, c->run->e->work.attn + thread * c->room);
	t.head = which / c->tiles;
	t.first = which % c->tiles * c->cut.rows;
	t.n = least(c->rows - t.first, c->cut.rows);
	from = row_from(c, t.first);
	end = row_limit(c, t.first + t.n - 1);
	if (c->parts > 1) {
		size_t begin = (c->first_part + part) * c->part;

		from = from > begin ? from : begin;
		end = least(end, begin + c->part);
	}
	take_queries(c, &t);
	look_at_keys(c, &t, from, end);
	for (size_t r = 0; r < t.n; r++) {
		float *mix = t.mix + r * columns, *to;

		if (c->parts == 1) {
			answer(c, t.head, t.first + r, mix, t.max[r], t.sum[r]);
			continue;
		}
		to = joined_at(c, t.head, t.first + r, part);
		memcpy(to, mix, columns * sizeof(*mix));
		to[columns] = t.max[r];
		to[columns + 1] = t.sum[r];
	}
}

static void
join_row(void *arg, size_t i)
{
	const struct call *c = ((const struct calls *)arg)->call;

	for (; i >= c->rows * c->layer->heads; c++)
		i -= c->rows * c->layer->heads;
	if (c->parts > 1)
		join_parts(c, i);
}

static void
attend(void *arg, unsigned chunk, unsigned thread)
{
	const struct call *c = ((const struct calls *)arg)->call;

	for (; chunk >= c->chunks; c++)
		chunk -= c->chunks;
	attend_part(c, chunk, thread);
}

/* Rows enough for all threads: tiles are as small as that takes. */
static void
cut_call(struct call *c, unsigned threads)
{
	size_t all = c->rows * c->layer->heads, least_tiles = 4 * (size_t)threads;
	struct tile t;

	c->parts = 1;
	c->room = tile_place(&t, &c->cut, NULL);
	if (c->want <= FEW) {
		size_t end = (row_limit(c, c->rows - 1) + c->part - 1) / c->part;

		c->first_part = row_from(c, 0) / c->part;
		c->parts = end - c->first_part;
	} else if (all / c->cut.rows < least_tiles) {
		c->cut.rows = least(c->cut.rows, (all / least_tiles + 7) / 8 * 8);
		c->cut.rows = c->cut.rows ? c->cut.rows : 8;
	}
	c->tiles = (c->rows + c->cut.rows - 1) / c->cut.rows;
	c->joined = c->run->e->work.attn + threads * c->room;
}

/* The rows of one session: the last q.n of those that it is given. */
static void
call_init(struct call *c, struct run *run, const struct attention *a, struct run_seq q, size_t skip)
{
	const struct kv *kv = &q.s->kv;
	const struct kv_layer *layer = &kv->layer[a->layer];

	*c = (struct call){
		.run = run, .a = *a, .kv = kv, .layer = layer, .ops = run->e->attn,
		.bf16 = q.n > FEW && kv->type == KV_F16 ? run->e->attn_bf16 : NULL,
		.cut = cut_of(layer->key_dim, layer->value_dim), .group = a->heads / layer->heads,
		.pos = q.s->pos + skip, .want = q.n, .part = part_len(kv->context),
	};
	c->a.q += (q.first + skip) * a->heads * layer->key_dim;
	c->a.out += q.first * a->heads * layer->value_dim;
	c->rows = q.n * c->group;
}

void
attention_of(struct run *run, const struct attention *a, size_t m, size_t want)
{
	unsigned threads = team_size(run->e->team), chunks = 0;
	struct calls calls = { .n = run->nseq };
	size_t rows = 0, most = 1;
	float *joined = NULL;

	for (size_t i = 0; i < run->nseq; i++) {
		struct call *c = &calls.call[i];

		call_init(c, run, a, run_seq_at(run, i, want), run->nseq > 1 ? 0 : m - want);
		cut_call(c, threads);
		c->joined = joined ? joined : c->joined;	/* behind the last one's */
		joined = c->parts > 1 ? joined_at(c, c->layer->heads, 0, 0) : joined;
		c->chunks = (unsigned)(c->tiles * c->layer->heads * c->parts);
		chunks += c->chunks;
		rows += c->rows * c->layer->heads;
		most = most > c->parts ? most : c->parts;
	}
	team_run(run->e->team, attend, &calls, chunks);
	if (most > 1)
		run_rows(run, join_row, &calls, rows, most * calls.call[0].cut.columns);
}

void
attention(struct run *run, uint32_t layer, size_t m, size_t want)
{
	const struct hparams *hp = run->hp;
	const struct layer_shape *shape = &hp->layer[layer];

	attention_of(run, &(struct attention){
		.layer = shape->kv_from, .heads = shape->heads,
		.window = hparams_windowed(hp, layer) ? hp->window : 0,
		.scale = hp->attn_scale, .softcap = hp->attn_softcap,
		.sinks = run->e->weights.layers[layer].v[SLOT_SINKS],
		.q = run->e->work.q, .out = run->e->work.att }, m, want);
}
