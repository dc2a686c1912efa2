#include "config.h"

#include "src/text/spelling.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/text/tokenizer.h"

#define BYTES_MAX (512ul << 20)		/* of all tokens */

struct word {
	const char *s;		/* in the buffer of all */
	size_t at;		/* there */
	uint32_t len, id;
};

struct words {
	struct tb_buf bytes;
	struct word *v;		/* owned */
	size_t n;
};

static bool
is_spelt(const struct tokenizer *t, uint32_t id)
{
	enum token_type type = tokenizer_type(t, id);

	return tokenizer_piece(t, id) && !tokenizer_is_special(t, id) && type != TOKEN_CONTROL &&
	       type != TOKEN_UNKNOWN && type != TOKEN_UNUSED;
}

static int
by_bytes(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);

	return order ? order : x->len != y->len ? (x->len < y->len ? -1 : 1) :
	       x->id < y->id ? -1 : x->id > y->id;
}

static enum tb_status
spell_all(struct words *w, const struct tokenizer *t, bool begins, struct tb_err *err)
{
	uint32_t n = (uint32_t)tokenizer_size(t);

	w->v = tb_calloc((size_t)n + 1, sizeof(*w->v));
	if (!w->v)
		return tb_nomem(err);
	for (uint32_t id = 0; id < n; id++) {
		size_t at = w->bytes.len, len;

		if (!is_spelt(t, id))
			continue;
		tokenizer_decode(t, id, begins, &w->bytes);
		len = w->bytes.len - at;
		if (len && len < UINT16_MAX)
			w->v[w->n++] = (struct word){ .at = at, .len = (uint32_t)len, .id = id };
	}
	if (tb_buf_failed(&w->bytes))
		return tb_buf_status(&w->bytes, "the vocabulary", err);
	for (size_t i = 0; i < w->n; i++)
		w->v[i].s = w->bytes.p + w->v[i].at;
	qsort(w->v, w->n, sizeof(*w->v), by_bytes);
	return TB_OK;
}

/* Bytes that a word has in common with the one before it. */
static size_t
common(const struct words *w, size_t i)
{
	const struct word *a = &w->v[i], *b = a - 1;
	size_t n = 0;

	while (i && n < a->len && n < b->len && a->s[n] == b->s[n])
		n++;
	return n;
}

static enum tb_status
room_for_nodes(struct spelling *s, const struct words *w, struct tb_err *err)
{
	for (size_t i = 0; i < w->n; i++) {
		s->n += w->v[i].len - common(w, i);
		s->deepest = w->v[i].len > s->deepest ? w->v[i].len : s->deepest;
	}
	s->depth = tb_calloc(s->n + 1, sizeof(*s->depth));
	s->byte = tb_calloc(s->n + 1, sizeof(*s->byte));
	s->end = tb_calloc(s->n + 1, sizeof(*s->end));
	s->first = tb_calloc(s->n + 2, sizeof(*s->first));
	s->ids = tb_calloc(w->n + 1, sizeof(*s->ids));
	return s->n < UINT32_MAX && s->depth && s->byte && s->end && s->first && s->ids
	       ? TB_OK : tb_nomem(err);
}

/* Nodes are made when a word has a byte that the one before it has not. */
static enum tb_status
lay_nodes(struct spelling *s, const struct words *w, struct tb_err *err)
{
	uint32_t *way = tb_calloc(s->deepest + 1ul, sizeof(*way));	/* nodes of the last word */
	size_t n = 0, depth = 0;

	if (!way)
		return tb_nomem(err);
	for (size_t i = 0; i <= w->n; i++) {
		size_t same = i < w->n ? common(w, i) : 0;

		for (; depth > same; depth--)
			s->end[way[depth - 1]] = (uint32_t)n;
		if (i == w->n)
			break;
		for (; depth < w->v[i].len; depth++) {
			way[depth] = (uint32_t)n;
			s->byte[n] = (uint8_t)w->v[i].s[depth];
			s->depth[n++] = (uint16_t)(depth + 1);
		}
		s->ids[i] = w->v[i].id;
		s->first[way[depth - 1] + 1]++;
	}
	for (size_t i = 0; i < s->n; i++)	/* words are in the order of the nodes they end in */
		s->first[i + 1] += s->first[i];
	free(way);
	return TB_OK;
}

enum tb_status
spelling_new(struct spelling **out, const struct tokenizer *t, bool begins, struct tb_err *err)
{
	struct words w = { .bytes = TB_BUF(BYTES_MAX) };
	struct spelling *s = tb_calloc(1, sizeof(*s));
	enum tb_status status = s ? spell_all(&w, t, begins, err) : tb_nomem(err);

	*out = NULL;
	if (!status) {
		s->vocab = tokenizer_size(t);
		if (!(status = room_for_nodes(s, &w, err)))
			status = lay_nodes(s, &w, err);
	}
	tb_buf_free(&w.bytes);
	free(w.v);
	if (status)
		spelling_free(s);
	else
		*out = s;
	return status;
}

void
spelling_free(struct spelling *s)
{
	if (!s)
		return;
	free(s->depth);
	free(s->byte);
	free(s->end);
	free(s->first);
	free(s->ids);
	free(s);
}

/* Of the nodes side by side from there on. */
static size_t
child(const struct spelling *s, size_t from, size_t end, char byte)
{
	while (from < end && s->byte[from] != (uint8_t)byte)
		from = s->end[from];
	return from < end ? from : SIZE_MAX;
}

size_t
spelling_find(const struct spelling *s, const char *text, size_t len)
{
	size_t from = 0, end = s->n, at = SIZE_MAX;

	for (size_t i = 0; i < len; i++) {
		if ((at = child(s, from, end, text[i])) == SIZE_MAX)
			return SIZE_MAX;
		from = at + 1;
		end = s->end[at];
	}
	return at;
}

size_t
spelling_longest(const struct spelling *s, const char *text, size_t len, uint32_t *id)
{
	size_t from = 0, end = s->n, longest = 0, at;

	for (size_t i = 0; i < len && (at = child(s, from, end, text[i])) != SIZE_MAX; i++) {
		if (s->first[at + 1] > s->first[at]) {
			longest = i + 1;
			*id = s->ids[s->first[at]];
		}
		from = at + 1;
		end = s->end[at];
	}
	return longest;
}
