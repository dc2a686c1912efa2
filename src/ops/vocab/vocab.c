#include "config.h"

#include "src/ops/vocab/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/model_text/model_text.h"

#define TEXT_MAX (1u << 30)
#define LOOK_AHEAD 256		/* bytes in which a token is looked for again */

struct vocab {
	struct tokenizer *t;		/* owned */
	const char *source;
	/* What all ids stand for, end to end with a NUL behind each; off has size + 1. */
	struct tb_buf text;
	size_t *off;
	/* Pieces and texts in small letters, for one search through all of it. */
	struct tb_buf folded;
	size_t *folded_off;
	size_t pieces;
};

static char
fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* With a NUL behind it, which no needle has. */
static void
add_folded(struct tb_buf *b, const char *s, size_t len)
{
	size_t from = b->len;

	tb_buf_add(b, s, len);
	tb_buf_chr(b, '\0');
	for (size_t i = from; i < b->len; i++)
		b->p[i] = fold(b->p[i]);
}

static enum tb_status
spell_out(struct vocab *v, struct tb_err *err)
{
	size_t n = tokenizer_size(v->t);

	v->text = v->folded = TB_BUF(TEXT_MAX);
	v->off = tb_calloc(n + 1, 2 * sizeof(*v->off));
	if (!v->off)
		return tb_nomem(err);
	v->folded_off = v->off + n + 1;
	for (size_t id = 0; id < n && !tb_buf_failed(&v->text); id++) {
		const char *piece = tokenizer_piece(v->t, (uint32_t)id);

		v->off[id] = v->text.len;
		v->folded_off[id] = v->folded.len;
		if (piece) {
			tokenizer_decode(v->t, (uint32_t)id, false, &v->text);
			add_folded(&v->folded, piece, strlen(piece));
			if (!tb_buf_failed(&v->text) && v->text.len > v->off[id])
				add_folded(&v->folded, v->text.p + v->off[id],
					   v->text.len - v->off[id]);
			v->pieces++;
		}
		tb_buf_chr(&v->text, '\0');
	}
	v->off[n] = v->text.len;
	v->folded_off[n] = v->folded.len;
	if (tb_buf_failed(&v->folded))
		return tb_buf_status(&v->folded, "the vocabulary", err);
	return tb_buf_status(&v->text, "the vocabulary", err);
}

enum tb_status
vocab_open(struct vocab **out, const struct model *m, struct tb_err *err)
{
	struct vocab *v = tb_calloc(1, sizeof(*v));
	enum tb_status status;

	*out = NULL;
	if (!v)
		return tb_nomem(err);
	status = model_tokenizer_of(m, &v->t, &v->source, err);
	if (!status)
		status = spell_out(v, err);
	if (status)
		vocab_free(v);
	else
		*out = v;
	return status;
}

void
vocab_free(struct vocab *v)
{
	if (!v)
		return;
	tokenizer_free(v->t);
	tb_buf_free(&v->text);
	tb_buf_free(&v->folded);
	free(v->off);
	free(v);
}

struct vocab_info
vocab_info(const struct vocab *v)
{
	struct vocab_info i = { .source = v->source, .kind = tokenizer_kind(v->t),
				.note = tokenizer_note(v->t), .size = tokenizer_size(v->t),
				.pieces = v->pieces };

	if (!tokenizer_bos(v->t, &i.bos))
		i.bos = VOCAB_NONE;
	if (!tokenizer_eos(v->t, &i.eos))
		i.eos = VOCAB_NONE;
	return i;
}

static bool
ends_text(const struct vocab *v, uint32_t id)
{
	const struct token_ids *all = tokenizer_ends(v->t);
	uint32_t eos;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i] == id)
			return true;
	return tokenizer_eos(v->t, &eos) && eos == id;
}

static const char *
text_of(const struct vocab *v, uint32_t id, size_t *len)
{
	*len = v->off[id + 1] - v->off[id] - 1;
	return v->text.p + v->off[id];
}

void
vocab_row(const struct vocab *v, uint32_t id, struct vocab_row *row)
{
	*row = (struct vocab_row){ .id = id, .text = "" };
	if (id >= tokenizer_size(v->t))
		return;
	row->piece = tokenizer_piece(v->t, id);
	row->text = text_of(v, id, &row->text_len);
	row->type = tokenizer_type(v->t, id);
	row->ends = ends_text(v, id);
	row->has_score = tokenizer_score(v->t, id, &row->score);
}

enum tb_status
vocab_search(const struct vocab *v, const char *needle, uint32_t **ids, size_t *n,
	     struct tb_err *err)
{
	const char *all = tb_buf_cstr(&v->folded), *hit;
	char *folded = tb_strdup(needle);
	size_t cap = 0, at = 0, id = 0, len = strlen(needle);
	bool ok = folded != NULL;

	*ids = NULL;
	*n = 0;
	for (char *p = folded; ok && *p; p++)
		*p = fold(*p);
	while (ok && at < v->folded.len &&
	       (hit = memmem(all + at, v->folded.len - at, folded, len))) {
		while (v->folded_off[id + 1] <= (size_t)(hit - all))
			id++;
		if ((ok = tb_grow(ids, &cap, *n + 1, sizeof(**ids))))
			(*ids)[(*n)++] = (uint32_t)id;
		at = v->folded_off[++id];
	}
	free(folded);
	if (ok)
		return TB_OK;
	free(*ids);
	*ids = NULL;
	return tb_nomem(err);
}

/* ---- texts ---- */

static bool
at_place(const char *s, size_t n, const char *text, size_t len, size_t from,
	 struct vocab_span *span)
{
	/* a blank in front that only the tokenizer put there is not in the text */
	for (size_t skip = 0; skip < 2 && skip < n && (!skip || *s == ' '); skip++) {
		if (n - skip > len - from || memcmp(text + from, s + skip, n - skip))
			continue;
		span->off = from;
		span->len = n - skip;
		return true;
	}
	return false;
}

/* Further on, within LOOK_AHEAD; a special token only behind blanks that it took along:
 * one that was added is not one that the text spells out. */
static void
seek(const char *s, size_t n, const char *text, size_t len, size_t at, bool special,
     struct vocab_span *span)
{
	for (size_t i = 1; i <= LOOK_AHEAD && i < len - at; i++) {
		if (special && !strchr(" \t\n\v\f\r", text[at + i - 1]))
			return;
		if (at_place(s, n, text, len, at + i, span))
			return;
	}
}

/* Tokens come in the order of the text: each is where the last one ended, or, where
 * blanks were taken along or characters rewritten, a little further. */
static void
place_spans(const struct vocab *v, const char *text, size_t len, struct vocab_span *spans, size_t n)
{
	size_t at = 0, s_len;

	for (size_t i = 0; i < n; i++) {
		const char *s = text_of(v, spans[i].id, &s_len);

		spans[i].off = at;
		if (at == len)
			continue;
		if (!at_place(s, s_len, text, len, at, &spans[i]) && s_len > 1)
			seek(s, s_len, text, len, at, tokenizer_is_special(v->t, spans[i].id),
			     &spans[i]);
		if (spans[i].len)
			at = spans[i].off + spans[i].len;
	}
}

enum tb_status
vocab_encode(const struct vocab *v, const char *text, size_t len, bool add_special,
	     bool parse_special, struct vocab_span **spans, size_t *n, struct tb_err *err)
{
	struct token_ids ids = { 0 };
	enum tb_status status;

	*spans = NULL;
	*n = 0;
	status = tokenizer_encode(v->t, text, len, add_special, parse_special, &ids, err);
	if (status)
		return status;
	*spans = tb_calloc(ids.n ? ids.n : 1, sizeof(**spans));
	if (!*spans) {
		free(ids.v);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < ids.n; i++)
		(*spans)[i].id = ids.v[i];
	*n = ids.n;
	free(ids.v);
	place_spans(v, text, len, *spans, *n);
	return TB_OK;
}

enum tb_status
vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n, struct tb_buf *out,
	     struct tb_err *err)
{
	uint32_t bos = VOCAB_NONE;
	bool first = true;

	(void)tokenizer_bos(v->t, &bos);
	for (size_t i = 0; i < n; i++) {
		if (!tokenizer_piece(v->t, ids[i]))
			return tb_fail(err, TB_EUSAGE, "%ju: no token has this id (%zu ids)",
				       (uintmax_t)ids[i], tokenizer_size(v->t));
		tokenizer_decode(v->t, ids[i], first, out);
		first = first && ids[i] == bos;
	}
	return tb_buf_status(out, "the text", err);
}
