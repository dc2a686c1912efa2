/* tok_encode.c - the way of a text: added tokens are taken out, what is between
 * them is normalized, cut into words, and the words are merged. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/text/tok.h"

#define GROWTH_MAX 64			/* what a byte of text may become, bytes */

struct encoder {
	const struct tokenizer *t;
	struct token_ids *out;
	struct tb_err *err;
	bool special;			/* special tokens written out count */
	bool continued;			/* the text goes on behind bytes that are none */
	struct tok_matcher *matcher;
	struct tok_symbols *room;
	struct tok_words words;
};

/* Normalized text without any added token in it. */
static enum tb_status
encode_words(struct encoder *e, const char *s, size_t len, bool first)
{
	struct tok_words *w = &e->words;
	enum tb_status status;

	tb_buf_clear(&w->text);
	tb_buf_add(&w->text, s, len);
	if (tb_buf_failed(&w->text))
		return tb_nomem(e->err);
	w->first = first;
	w->continued = e->continued;
	status = tok_split_run(&e->t->splitter, e->matcher, w, e->err);
	for (size_t i = 0; i < w->n && !status; i++)
		status = tok_bpe_word(&e->t->bpe, e->room, w->text.p + w->v[i].off, w->v[i].len,
				      w->bytes, e->out, e->err);
	return status;
}

typedef enum tb_status between_fn(struct encoder *e, const char *s, size_t len, bool first);

/* Appends the tokens of `set` in s and calls fn for what is between them. */
static enum tb_status
take_added(struct encoder *e, const struct tok_added_set *set, const char *s, size_t len,
	   bool first, between_fn *fn)
{
	struct tok_hit hit;
	size_t done = 0;
	enum tb_status status;

	while (tok_added_next(set, s, len, done, e->special, &hit)) {
		status = hit.start > done ? fn(e, s + done, hit.start - done, first && !done)
					  : TB_OK;
		if (status)
			return status;
		if (!tok_ids_push(e->out, hit.id))
			return tb_nomem(e->err);
		done = hit.end;
	}
	return done < len ? fn(e, s + done, len - done, first && !done) : TB_OK;
}

static enum tb_status
encode_valid(struct encoder *e, const char *s, size_t len, bool first)
{
	struct tb_buf text = TB_BUF(len > SIZE_MAX / GROWTH_MAX - 65536
					    ? SIZE_MAX : len * GROWTH_MAX + 65536);
	enum tb_status status;

	if (!e->t->normalizer.n)
		return take_added(e, &e->t->normalized, s, len, first, encode_words);
	tb_buf_add(&text, s, len);
	status = tb_buf_failed(&text) ? tb_nomem(e->err)
				      : tok_normalize(&e->t->normalizer, e->matcher, e->continued, &text,
						      e->err);
	if (!status && text.len)
		status = take_added(e, &e->t->normalized, text.p, text.len, first, encode_words);
	tb_buf_free(&text);
	return status;
}

/* Bytes that are not UTF-8 (a text cut in mid-character) go past everything that
 * knows characters: they are words of their own. */
static enum tb_status
encode_text(struct encoder *e, const char *s, size_t len, bool first)
{
	bool bytes = tok_splitter_bytes(&e->t->splitter);
	enum tb_status status = TB_OK;

	if (e->t->wordpiece)
		return tok_wpm_encode(&e->t->wpm, &e->t->vocab, s, len, e->out, e->err);
	for (size_t i = 0; i < len && !status;) {
		size_t good = tok_utf8_run(s + i, len - i), bad = 0;

		e->continued = i > 0;
		if (good)
			status = encode_valid(e, s + i, good, first && !i);
		i += good;
		while (i + bad < len && !tok_utf8_run(s + i + bad, len - i - bad < 4 ?
						      len - i - bad : 4))
			bad++;
		if (bad && !status)
			status = tok_bpe_word(&e->t->bpe, e->room, s + i, bad, bytes, e->out,
					      e->err);
		i += bad;
	}
	return status;
}

static enum tb_status
push_all(struct token_ids *out, const struct token_ids *ids, struct tb_err *err)
{
	for (size_t i = 0; i < ids->n; i++)
		if (!tok_ids_push(out, ids->v[i]))
			return tb_nomem(err);
	return TB_OK;
}

enum tb_status
tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool add_special,
		 bool parse_special, struct token_ids *out, struct tb_err *err)
{
	struct encoder e = { .t = t, .out = out, .err = err, .special = parse_special };
	size_t before = out->n;
	enum tb_status status = TB_OK;

	e.matcher = tok_matcher_new();
	e.room = tok_symbols_new();
	e.words.text = TB_BUF(SIZE_MAX / 4);
	if (!e.matcher || !e.room)
		status = tb_nomem(err);
	if (!status && add_special)
		status = push_all(out, &t->before, err);
	if (!status)
		status = take_added(&e, &t->raw, text, len, true, encode_text);
	if (!status && add_special)
		status = push_all(out, &t->after, err);
	if (status)
		out->n = before;
	tb_buf_free(&e.words.text);
	free(e.words.v);
	tok_symbols_free(e.room);
	tok_matcher_free(e.matcher);
	return status;
}
