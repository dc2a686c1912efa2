#include "config.h"

#include "src/text/tok_bpe.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_uni.h"

struct tok_symbols {
	uint32_t *id, *off;
	size_t n, cap, off_cap;
	struct tb_buf mapped;
};

struct tok_symbols *
tok_symbols_new(void)
{
	struct tok_symbols *s = tb_calloc(1, sizeof(*s));

	if (s)
		s->mapped = TB_BUF(SIZE_MAX / 4);
	return s;
}

void
tok_symbols_free(struct tok_symbols *s)
{
	if (!s)
		return;
	tb_buf_free(&s->mapped);
	free(s->id);
	free(s->off);
	free(s);
}

static void
add_symbol(struct tok_symbols *room, uint32_t id)
{
	room->id[room->n++] = id;
}

static bool
has_fallback(const struct tok_bpe *b, const char *s, size_t len)
{
	for (size_t i = 0; b->byte_fallback && i < len; i++)
		if (b->fallback[(uint8_t)s[i]] == TOK_NONE)
			return false;
	return b->byte_fallback;
}

/* One character of len bytes; *unk: the last symbol stands for unknown characters. */
static void
add_char(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len, bool *unk)
{
	uint32_t id;

	if (tok_vocab_find(b->vocab, s, len, &id)) {
		add_symbol(room, id);
		*unk = false;
	} else if (has_fallback(b, s, len)) {
		for (size_t i = 0; i < len; i++)
			add_symbol(room, b->fallback[(uint8_t)s[i]]);
		*unk = false;
	} else if (b->unk != TOK_NONE) {
		if (!(*unk && b->fuse_unk))
			add_symbol(room, b->unk);
		*unk = true;
	}
}

static void
add_bytes(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len)
{
	bool unk = false;

	for (size_t i = 0; i < len; i++) {
		uint32_t id = b->byte[(uint8_t)s[i]];
		char utf8[4];

		if (id != TOK_NONE) {
			add_symbol(room, id);
			unk = false;
		} else {
			add_char(b, room, utf8, tb_utf8_put(tok_byte_cp((uint8_t)s[i]), utf8),
				 &unk);
		}
	}
}

/* The word in byte-level characters, in room->mapped. */
static bool
map_bytes(struct tok_symbols *room, const char *s, size_t len)
{
	tb_buf_clear(&room->mapped);
	tok_bytes_put(&room->mapped, s, len);
	return !tb_buf_failed(&room->mapped);
}

/* Is the word as a whole in the vocabulary, and does that matter?  Text never becomes
 * a special token here. */
static bool
is_whole(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len, bool bytes,
	 uint32_t *id)
{
	size_t newlines = 0;

	while (b->whole_newlines && newlines < len && s[newlines] == '\n')
		newlines++;
	if (!b->ignore_merges && !(b->whole_newlines && newlines == len))
		return false;
	if (bytes) {
		if (!map_bytes(room, s, len))
			return false;
		s = tb_buf_cstr(&room->mapped);
		len = room->mapped.len;
	}
	return tok_vocab_find(b->vocab, s, len, id) && !b->vocab->piece[*id].special;
}

/* ---- by pairs ---- */

static enum tb_status
merge_pairs(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	    bool bytes, struct token_ids *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct tok_run run;
	bool unk = false;
	uint32_t cp;

	/* a character becomes at most as many symbols as it has bytes; byte-level
	 * characters without an id may fall back to two */
	if (!tb_grow(&room->id, &room->cap, 2 * len, sizeof(*room->id)))
		return tb_nomem(err);
	room->n = 0;
	if (bytes)
		add_bytes(b, room, s, len);
	for (size_t i = 0, n; i < len && !bytes; i += n) {
		n = tb_utf8_next(s + i, len - i, &cp);
		add_char(b, room, s + i, n, &unk);
	}
	run = (struct tok_run){ .id = room->id, .n = room->n };
	if (run.n > TOK_FEW)
		status = tok_merge_many(b, &run, err);
	else
		tok_merge_few(b, &run);
	if (status)
		return status;
	if (!tb_grow(&out->v, &out->cap, out->n + run.n, sizeof(*out->v)))
		return tb_nomem(err);
	if (run.n)
		memcpy(out->v + out->n, run.id, run.n * sizeof(*run.id));
	out->n += run.n;
	return TB_OK;
}

/* ---- by pieces ---- */

static void
split_chars(const struct tok_bpe *b, struct tok_run *run, size_t len)
{
	uint32_t cp, id;

	for (size_t at = 0, n; at < len; at += n, run->n++) {
		n = tb_utf8_next(run->text + at, len - at, &cp);
		run->off[run->n] = (uint32_t)at;
		if (!tok_vocab_find(b->vocab, run->text + at, n, &id) || id >= b->ranked ||
		    b->piece_rank[id] == TOK_NONE)
			id = TOK_STRANGE;
		run->id[run->n] = id;
	}
	run->off[run->n] = (uint32_t)len;
}

/* What could not be merged and is no token either becomes its bytes. */
static bool
push_run(const struct tok_bpe *b, const struct tok_run *run, struct token_ids *out)
{
	bool ok = tb_grow(&out->v, &out->cap, out->n + run->n, sizeof(*out->v)), unk = false;

	for (size_t i = 0; i < run->n && ok; i++) {
		const char *s = run->text + run->off[i];
		size_t len = run->off[i + 1] - run->off[i];

		if (run->id[i] != TOK_STRANGE) {
			out->v[out->n++] = run->id[i];
			unk = false;
		} else if (has_fallback(b, s, len)) {
			ok = tb_grow(&out->v, &out->cap, out->n + len + run->n - i,
				     sizeof(*out->v));
			for (size_t k = 0; k < len && ok; k++)
				out->v[out->n++] = b->fallback[(uint8_t)s[k]];
			unk = false;
		} else if (b->unk != TOK_NONE) {
			if (!(unk && b->fuse_unk))
				out->v[out->n++] = b->unk;
			unk = true;
		}
	}
	return ok;
}

static enum tb_status
merge_pieces(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	     bool bytes, struct token_ids *out, struct tb_err *err)
{
	struct tok_run run;
	enum tb_status status = TB_OK;

	if (bytes && !map_bytes(room, s, len))
		return tb_nomem(err);
	run = (struct tok_run){ .text = bytes ? tb_buf_cstr(&room->mapped) : s };
	len = bytes ? room->mapped.len : len;
	if (len >= UINT32_MAX / 4)
		return tb_fail(err, TB_ELIMIT, "tokenizer: a word of %zu bytes", len);
	if (!tb_grow(&room->id, &room->cap, len + 1, sizeof(*room->id)) ||
	    !tb_grow(&room->off, &room->off_cap, len + 1, sizeof(*room->off)))
		return tb_nomem(err);
	run.id = room->id;
	run.off = room->off;
	split_chars(b, &run, len);
	if (run.n > TOK_FEW)
		status = tok_merge_many(b, &run, err);
	else
		tok_merge_few(b, &run);
	if (!status && !push_run(b, &run, out))
		status = tb_nomem(err);
	return status;
}

static enum tb_status
merge_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	   bool bytes, struct token_ids *out, struct tb_err *err)
{
	uint32_t id;

	if (is_whole(b, room, s, len, bytes, &id))
		return tok_ids_push(out, id) ? TB_OK : tb_nomem(err);
	return (b->piece_rank ? merge_pieces : merge_pairs)(b, room, s, len, bytes, out, err);
}

enum tb_status
tok_bpe_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	     bool bytes, struct token_ids *out, struct tb_err *err)
{
	/* a run of unknown characters is one: it must not be cut */
	const struct tok_vocab *known = b->unk != TOK_NONE && b->fuse_unk ? b->vocab : NULL;
	enum tb_status status = TB_OK;

	if (!b->seams.bit || bytes)
		return merge_word(b, room, s, len, bytes, out, err);
	while (len && !status) {
		size_t n = tok_seams_next(&b->seams, known, s, len);

		status = merge_word(b, room, s, n, false, out, err);
		s += n;
		len -= n;
	}
	return status;
}
