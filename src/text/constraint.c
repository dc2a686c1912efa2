#include "config.h"

#include "src/text/constraint.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/matcher.h"
#include "src/text/spelling.h"

#define MASKS_ROOM (16ul << 20)
#define MASKS_MOST 128
#define FORCED_MOST 1024		/* bytes at a time */
#define NEVER (UINT32_MAX / 2)		/* tokens to the end: this vocabulary has none that lead there */

/* Which tokens a reading allows. */
struct mask {
	uint64_t *bits;		/* owned; NULL: free */
	uint32_t reading;
	bool begins;
	uint32_t far, tokens;	/* of the farthest; how many there are */
};

struct constraint {
	const struct grammar *g;		/* borrowed, as the next ones */
	const struct tokenizer *t;
	const struct spelling *spelling, *first;
	const uint32_t *ends;
	size_t nends;
	struct matcher *m;			/* owned, as all below */
	uint32_t *names;			/* ids of the grammar's tokens */
	uint32_t now;				/* the reading */
	bool begins;
	struct mask *masks;
	size_t nmasks, next_mask;
	uint64_t *few;				/* a mask when tokens get few */
	uint32_t *way;				/* readings on the way down */
	uint32_t *costs;			/* tokens to the end by reading, plus 1; 0: not known */
	size_t costs_cap;
	struct tb_buf bytes;			/* of a token */
};

static size_t
words(const struct constraint *c)
{
	return (c->spelling->vocab + 63) / 64;
}

static void
allow(uint64_t *bits, uint32_t id)
{
	bits[id / 64] |= UINT64_C(1) << id % 64;
}

static bool
is_end(const struct constraint *c, uint32_t id)
{
	for (size_t i = 0; i < c->nends; i++)
		if (c->ends[i] == id)
			return true;
	return false;
}

/* The tokens that the grammar calls by their names. */
static enum tb_status
find_tokens(struct constraint *c, struct tb_err *err)
{
	for (size_t i = 0; i < c->g->ntokens; i++) {
		const struct grammar_token *t = &c->g->tokens[i];
		char clean[80];

		if (t->name && !tokenizer_find(c->t, t->name, &c->names[i]))
			return tb_fail(err, TB_EUSAGE, "the grammar names the token %s, which this model "
				       "does not have", tb_text_clean(t->name, clean, sizeof(clean)));
		if (!t->name && !tokenizer_piece(c->t, c->names[i] = t->id))
			return tb_fail(err, TB_EUSAGE, "the grammar names token %u, which this model "
				       "does not have", t->id);
	}
	return TB_OK;
}

enum tb_status
constraint_new(struct constraint **out, const struct grammar *g, const struct tokenizer *t,
	       const struct spelling *s, const struct spelling *begins, const uint32_t *ends,
	       size_t nends, struct tb_err *err)
{
	struct constraint *c = tb_calloc(1, sizeof(*c));
	unsigned deepest = begins && begins->deepest > s->deepest ? begins->deepest : s->deepest;
	enum tb_status status = TB_OK;

	*out = NULL;
	if (!c)
		return tb_nomem(err);
	*c = (struct constraint){ .g = g, .t = t, .spelling = s, .first = begins ? begins : s,
				  .ends = ends, .nends = nends, .bytes = TB_BUF(1 << 20) };
	c->nmasks = MASKS_ROOM / (words(c) * sizeof(uint64_t) + 1);
	c->nmasks = c->nmasks > MASKS_MOST ? MASKS_MOST : c->nmasks < 4 ? 4 : c->nmasks;
	c->masks = tb_calloc(c->nmasks, sizeof(*c->masks));
	c->few = tb_calloc(words(c) + 1, sizeof(*c->few));
	c->way = tb_calloc(deepest + 2ul, sizeof(*c->way));
	c->names = tb_calloc(g->ntokens + 1, sizeof(*c->names));
	if (!c->masks || !c->few || !c->way || !c->names)
		status = tb_nomem(err);
	if (!status && !(status = matcher_new(&c->m, g, err)) && !(status = find_tokens(c, err))) {
		constraint_begin(c, false);
		status = matcher_status(c->m, err);
	}
	if (status)
		constraint_free(c);
	else
		*out = c;
	return status;
}

void
constraint_free(struct constraint *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->masks && i < c->nmasks; i++)
		free(c->masks[i].bits);
	matcher_free(c->m);
	free(c->masks);
	free(c->few);
	free(c->way);
	free(c->names);
	free(c->costs);
	tb_buf_free(&c->bytes);
	free(c);
}

void
constraint_begin(struct constraint *c, bool begins)
{
	c->now = matcher_start(c->m);
	c->begins = begins;
}

bool
constraint_may_end(const struct constraint *c)
{
	return c->m->readings[c->now].ends;
}

bool
constraint_must_end(const struct constraint *c)
{
	return constraint_may_end(c) && !c->m->readings[c->now].n;
}

static unsigned
class_of(const struct constraint *c, char byte)
{
	return c->g->class_of[(uint8_t)byte];
}

/* Where a token's bytes lead, and the token itself where the grammar names tokens. */
static uint32_t
lead(struct constraint *c, uint32_t from, bool begins, uint32_t id)
{
	uint32_t to = READ_DEAD;
	enum token_type type = tokenizer_type(c->t, id);

	if (is_end(c, id))
		return READ_DEAD;
	if (!tokenizer_is_special(c->t, id) && type != TOKEN_CONTROL && type != TOKEN_UNKNOWN &&
	    type != TOKEN_UNUSED) {
		tb_buf_clear(&c->bytes);
		tokenizer_decode(c->t, id, begins, &c->bytes);
		to = c->bytes.len ? from : READ_DEAD;
		for (size_t i = 0; i < c->bytes.len && to != READ_DEAD; i++)
			to = matcher_step(c->m, to, class_of(c, c->bytes.p[i]));
	}
	return c->m->readings[from].tokens
	       ? matcher_both(c->m, to, matcher_token(c->m, from, c->names, id)) : to;
}

enum tb_status
constraint_take(struct constraint *c, uint32_t id, struct tb_err *err)
{
	uint32_t to = id < c->spelling->vocab ? lead(c, c->now, c->begins, id) : READ_DEAD;
	enum tb_status status = matcher_status(c->m, err);

	if (status)
		return status;
	if (to == READ_DEAD)
		return tb_fail(err, TB_EUSAGE, "the grammar does not allow token %u here", id);
	c->now = to;
	c->begins &= tokenizer_is_special(c->t, id);
	if (matcher_forget(c->m, &c->now)) {
		for (size_t i = 0; i < c->nmasks; i++) {
			free(c->masks[i].bits);
			c->masks[i].bits = NULL;
		}
		free(c->costs);
		c->costs = NULL;
		c->costs_cap = 0;
	}
	return matcher_status(c->m, err);
}

enum tb_status
constraint_read(struct constraint *c, const char *text, size_t len, struct tb_err *err)
{
	uint32_t to = c->now;
	enum tb_status status;

	for (size_t i = 0; i < len && to != READ_DEAD; i++)
		to = matcher_step(c->m, to, class_of(c, text[i]));
	if ((status = matcher_status(c->m, err)))
		return status;
	if (to == READ_DEAD)
		return tb_fail(err, TB_EUSAGE, "the grammar does not allow the beginning of the answer");
	c->now = to;
	c->begins &= !len;
	return TB_OK;
}

size_t
constraint_follows(struct constraint *c, const uint32_t *ids, size_t n)
{
	uint32_t at = c->now;
	size_t i = 0;

	while (i < n && ids[i] < c->spelling->vocab &&
	       (at = lead(c, at, c->begins && !i, ids[i])) != READ_DEAD)
		i++;
	return i;
}

/* ---- how many tokens an end takes ---- */

/* The byte that leads from a reading to the nearest end. */
static uint32_t
nearest(struct constraint *c, uint32_t reading, uint8_t *byte)
{
	uint32_t best = READ_DEAD;

	for (unsigned k = 0; k < c->g->nclasses; k++) {
		uint32_t to = matcher_step(c->m, reading, k);

		if (to != READ_DEAD && (best == READ_DEAD ||
					c->m->readings[to].far < c->m->readings[best].far)) {
			best = to;
			*byte = c->g->byte_of[k];
		}
	}
	return best;
}

static bool
more_costs(struct constraint *c)
{
	return tb_grow(&c->costs, &c->costs_cap, c->m->nreadings, sizeof(*c->costs));
}

/* The costs of all readings on the nearest way to an end, the last ones first: the longest
 * token that fits each time.  Where tokens are few, this way is always open. */
static void
find_costs(struct constraint *c, const uint32_t *way, const char *bytes, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		uint32_t id = 0, cost = NEVER;
		size_t len = spelling_longest(c->spelling, bytes + i, n - i, &id);

		if (c->costs[way[i]])
			continue;
		if (len)
			cost = c->costs[way[i + len]] - 1;
		c->costs[way[i]] = (cost < NEVER ? cost + 1 : NEVER) + 1;
	}
}

/* Tokens from a reading to an end, NEVER: none fit, or it is too far. */
static uint32_t
cost(struct constraint *c, uint32_t reading)
{
	struct tb_buf bytes = TB_BUF(1 << 20);
	uint32_t *way = NULL, at = reading;
	size_t cap = 0, n = 0;
	uint8_t byte = 0;
	bool ok = more_costs(c);

	if (ok && c->costs[reading])
		return c->costs[reading] - 1;
	while (ok && (ok = tb_grow(&way, &cap, n + 2, sizeof(*way)))) {
		way[n] = at;
		if (c->m->readings[at].ends || n > 65536 ||
		    (at = nearest(c, at, &byte)) == READ_DEAD)
			break;
		tb_buf_chr(&bytes, (char)byte);
		n++;
	}
	ok = ok && more_costs(c) && !tb_buf_failed(&bytes);
	if (ok) {
		c->costs[way[n]] = c->m->readings[way[n]].ends ? 1 : NEVER + 1;
		find_costs(c, way, tb_buf_cstr(&bytes), n);
	}
	tb_buf_free(&bytes);
	free(way);
	return ok ? c->costs[reading] - 1 : NEVER;
}

/* ---- which tokens may come ---- */

struct walk {
	uint32_t most;		/* allowed are tokens from which it costs no more; UINT32_MAX: all */
	bool costs;		/* look at costs, not at bytes */
	uint32_t far, near;	/* the farthest and the nearest that were met */
	uint32_t tokens;	/* allowed ones */
};

static bool
near_enough(struct constraint *c, struct walk *w, uint32_t to)
{
	uint32_t far = w->costs ? cost(c, to) : c->m->readings[to].far;

	w->far = far > w->far ? far : w->far;
	w->near = far < w->near ? far : w->near;
	return far <= w->most;
}

/* All tokens at once: what begins alike is read once. */
static void
walk_spelling(struct constraint *c, const struct spelling *s, struct walk *w, uint64_t *bits)
{
	uint32_t *way = c->way;

	way[0] = c->now;
	for (size_t i = 0; i < s->n;) {
		unsigned depth = s->depth[i];
		uint32_t to = matcher_step(c->m, way[depth - 1], c->g->class_of[s->byte[i]]);

		if (to == READ_DEAD) {
			i = s->end[i];
			continue;
		}
		way[depth] = to;
		if (s->first[i + 1] > s->first[i] && near_enough(c, w, to))
			for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++, w->tokens++)
				allow(bits, s->ids[k]);
		i++;
	}
}

/* Tokens that the grammar calls by name or number. */
static void
walk_tokens(struct constraint *c, struct walk *w, uint64_t *bits)
{
	uint32_t other = matcher_token(c->m, c->now, c->names, UINT32_MAX), to;
	bool rest = other != READ_DEAD && near_enough(c, w, other);

	for (uint32_t id = 0; rest && id < c->spelling->vocab; id++)
		if (tokenizer_piece(c->t, id)) {
			allow(bits, id);
			w->tokens++;
		}
	for (size_t i = 0; i < c->g->ntokens; i++) {
		uint32_t id = c->names[i];

		to = lead(c, c->now, c->begins, id);
		bits[id / 64] &= ~(UINT64_C(1) << id % 64);
		if (to != READ_DEAD && near_enough(c, w, to)) {
			allow(bits, id);
			w->tokens++;
		}
	}
}

static void
walk_all(struct constraint *c, struct walk *w, uint64_t *bits)
{
	const struct match r = c->m->readings[c->now];

	memset(bits, 0, words(c) * sizeof(*bits));
	walk_spelling(c, c->begins ? c->first : c->spelling, w, bits);
	if (r.tokens)
		walk_tokens(c, w, bits);
	for (size_t i = 0; i < c->nends; i++) {
		uint32_t id = c->ends[i];

		if (id >= c->spelling->vocab)
			continue;
		bits[id / 64] &= ~(UINT64_C(1) << id % 64);
		if (r.ends)
			allow(bits, id);
	}
}

static enum tb_status
find_mask(struct constraint *c, struct mask **out, struct tb_err *err)
{
	struct walk w = { .most = UINT32_MAX, .near = UINT32_MAX };
	struct mask *k;
	enum tb_status status;

	for (size_t i = 0; i < c->nmasks; i++) {
		k = *out = &c->masks[i];
		if (k->bits && k->reading == c->now && k->begins == c->begins)
			return TB_OK;
	}
	k = *out = &c->masks[c->next_mask];
	c->next_mask = (c->next_mask + 1) % c->nmasks;
	if (!k->bits && !(k->bits = tb_calloc(words(c) + 1, sizeof(*k->bits))))
		return tb_nomem(err);
	walk_all(c, &w, k->bits);
	k->reading = c->now;
	k->begins = c->begins;
	k->far = w.far;
	k->tokens = w.tokens;
	if ((status = matcher_status(c->m, err))) {
		free(k->bits);
		k->bits = NULL;
	}
	return status;
}

enum tb_status
constraint_allowed(struct constraint *c, size_t left, const uint64_t **out, struct tb_err *err)
{
	struct walk w = { .costs = true, .near = UINT32_MAX };
	struct mask *k;
	enum tb_status status = find_mask(c, &k, err);

	if (status)
		return status;
	if (!k->tokens && !constraint_may_end(c))
		return tb_fail(err, TB_EUNSUP, "no token of this model is one that the grammar allows "
			       "here");
	*out = k->bits;
	left = left ? left - 1 : 0;
	if (k->far <= left)
		return TB_OK;
	*out = c->few;
	w.most = left < NEVER ? (uint32_t)left : NEVER;
	walk_all(c, &w, c->few);
	if (!w.tokens && !constraint_may_end(c)) {
		w.most = w.near;
		walk_all(c, &w, c->few);
	}
	return matcher_status(c->m, err);
}

/* ---- what has to come ---- */

/* The one byte that can come, or -1. */
static int
only_byte(const struct constraint *c, uint32_t reading)
{
	const struct match r = c->m->readings[reading];
	uint8_t set[32] = { 0 };
	int only = -1;

	if (r.ends || r.tokens || !r.n)
		return -1;
	for (uint32_t i = 0; i < r.n; i++)
		for (unsigned k = 0; k < 32; k++)
			set[k] |= c->g->sets[c->g->states[c->m->pool[r.first + i].state].arg][k];
	for (unsigned k = 0; k < 32; k++) {
		if (!set[k])
			continue;
		if (only >= 0 || (set[k] & (set[k] - 1)))
			return -1;
		only = (int)(k * 8 + (unsigned)__builtin_ctz(set[k]));
	}
	return only;
}

/* Do the tokens stand for exactly this text, from the skip-th byte on?  Those before it are
 * taken out. */
static bool
spells(const struct constraint *c, struct token_ids *ids, size_t skip, const struct tb_buf *text)
{
	struct tb_buf all = TB_BUF(text->len + 4096);
	size_t before = skip ? SIZE_MAX : 0;
	bool same;

	for (size_t i = 0; i < ids->n; i++) {
		if (before == SIZE_MAX && all.len >= skip)
			before = i;
		if (tokenizer_is_special(c->t, ids->v[i]) || is_end(c, ids->v[i]))
			skip = SIZE_MAX;	/* no text */
		tokenizer_decode(c->t, ids->v[i], !skip && !i && c->begins, &all);
		if (before == SIZE_MAX && all.len > skip)
			break;
	}
	same = before != SIZE_MAX && !tb_buf_failed(&all) && skip <= all.len &&
	       all.len - skip == text->len && !memcmp(all.p + skip, text->p, text->len);
	tb_buf_free(&all);
	if (same && before) {
		memmove(ids->v, ids->v + before, (ids->n - before) * sizeof(*ids->v));
		ids->n -= before;
	}
	return same;
}

/* As the tokenizer cuts it.  Some put a blank in front of a text: then it is cut with a line's
 * end before it.  What it cuts otherwise is cut into the longest tokens. */
static enum tb_status
cut(struct constraint *c, const struct tb_buf *text, struct token_ids *out, struct tb_err *err)
{
	struct tb_buf line = TB_BUF(text->len + 16);
	const struct spelling *s = c->begins ? c->first : c->spelling;
	enum tb_status status;
	size_t len;

	out->n = 0;
	if ((status = tokenizer_encode(c->t, text->p, text->len, false, false, out, err)) ||
	    spells(c, out, 0, text))
		return status;
	tb_buf_chr(&line, '\n');
	tb_buf_add(&line, text->p, text->len);
	for (size_t skip = 1; skip <= 2 && !status && !c->begins; skip++) {
		out->n = 0;
		status = tokenizer_encode(c->t, tb_buf_cstr(&line), line.len, false, false, out, err);
		if (!status && spells(c, out, skip, text)) {
			tb_buf_free(&line);
			return TB_OK;
		}
	}
	tb_buf_free(&line);
	out->n = 0;
	for (size_t at = 0; at < text->len && !status; at += len, s = c->spelling) {
		uint32_t id;

		len = spelling_longest(s, text->p + at, text->len - at, &id);
		if (!len)
			break;		/* the rest is not to be spelt: not forced */
		if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(id)))
			return tb_nomem(err);
		out->v[out->n++] = id;
	}
	return status;
}

/* Is there a longer token that begins with text and goes on as the reading behind it does? */
static bool
goes_on(struct constraint *c, const struct spelling *s, const char *text, size_t len,
	uint32_t reading)
{
	size_t node = spelling_find(s, text, len);
	uint32_t *way = c->way;

	if (node == SIZE_MAX)
		return false;
	way[s->depth[node]] = reading;
	for (size_t i = node + 1; i < s->end[node];) {
		unsigned depth = s->depth[i];

		way[depth] = matcher_step(c->m, way[depth - 1], c->g->class_of[s->byte[i]]);
		if (way[depth] == READ_DEAD)
			i = s->end[i];
		else if (s->first[i + 1] > s->first[i])
			return true;
		else
			i++;
	}
	return false;
}

/* Leaves the last token out where the text could be cut otherwise with what follows. */
static uint32_t
leave_open(struct constraint *c, const struct tb_buf *text, struct token_ids *ids, uint32_t end)
{
	const struct spelling *s = ids->n == 1 && c->begins ? c->first : c->spelling;
	size_t at = text->len, len = 0;
	uint32_t now = c->now;

	for (size_t i = 0; i < ids->n; i++) {
		tb_buf_clear(&c->bytes);
		tokenizer_decode(c->t, ids->v[i], c->begins && !i, &c->bytes);
		len += c->bytes.len;
	}
	if (ids->n && len == text->len) {
		at = text->len - c->bytes.len;
		if (goes_on(c, s, text->p + at, text->len - at, end))
			ids->n--;
		else
			at = text->len;
	} else {
		at = len;
	}
	for (size_t i = 0; i < at && now != READ_DEAD; i++)
		now = matcher_step(c->m, now, class_of(c, text->p[i]));
	return now;
}

enum tb_status
constraint_forced(struct constraint *c, size_t left, struct token_ids *out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(FORCED_MOST + 1);
	uint32_t at = c->now, behind;
	int byte;
	enum tb_status status = TB_OK;

	out->n = 0;
	while (text.len < FORCED_MOST && (byte = only_byte(c, at)) >= 0) {
		tb_buf_chr(&text, (char)byte);
		at = matcher_step(c->m, at, class_of(c, (char)byte));
	}
	if (text.len && at != READ_DEAD && !(status = cut(c, &text, out, err))) {
		behind = leave_open(c, &text, out, at);
		if (out->n && (behind == READ_DEAD ||
			       (c->m->readings[behind].far + out->n > left &&
				cost(c, behind) + out->n > left)))
			out->n = 0;	/* there is no room to spell it so */
	}
	if (at == READ_DEAD)
		out->n = 0;
	tb_buf_free(&text);
	return status ? status : matcher_status(c->m, err);
}
