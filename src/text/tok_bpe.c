#include "config.h"

#include "src/text/tok_bpe.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_uni.h"

#define MARK "\xe2\x96\x81"

struct tok_symbols {
	uint32_t *id;
	size_t n, cap;
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
	free(s);
}

bool
tok_ids_push(struct token_ids *out, uint32_t id)
{
	if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v)))
		return false;
	out->v[out->n++] = id;
	return true;
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
add_chars(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len)
{
	bool unk = false;
	uint32_t cp;

	for (size_t i = 0, n; i < len; i += n) {
		n = tb_utf8_next(s + i, len - i, &cp);
		add_char(b, room, s + i, n, &unk);
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

/* Is the word as a whole in the vocabulary? */
static bool
whole(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len, bool bytes,
      uint32_t *id)
{
	char utf8[4];

	if (!bytes)
		return tok_vocab_find(b->vocab, s, len, id);
	tb_buf_clear(&room->mapped);
	for (size_t i = 0; i < len; i++)
		tb_buf_add(&room->mapped, utf8,
			   tb_utf8_put(tok_byte_cp((uint8_t)s[i]), utf8));
	return !tb_buf_failed(&room->mapped) &&
	       tok_vocab_find(b->vocab, room->mapped.p, room->mapped.len, id);
}

static enum tb_status
merge_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	   bool bytes, struct token_ids *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint32_t id;

	if (b->ignore_merges && whole(b, room, s, len, bytes, &id))
		return tok_ids_push(out, id) ? TB_OK : tb_nomem(err);
	/* a character becomes at most as many symbols as it has bytes; byte-level
	 * characters without an id may fall back to two */
	if (!tb_grow(&room->id, &room->cap, 2 * len, sizeof(*room->id)))
		return tb_nomem(err);
	room->n = 0;
	if (bytes)
		add_bytes(b, room, s, len);
	else
		add_chars(b, room, s, len);
	if (room->n > TOK_FEW)
		status = tok_merge_many(&b->merges, room->id, &room->n, err);
	else
		room->n = tok_merge_few(&b->merges, room->id, room->n);
	if (status)
		return status;
	if (!tb_grow(&out->v, &out->cap, out->n + room->n, sizeof(*out->v)))
		return tb_nomem(err);
	if (room->n)
		memcpy(out->v + out->n, room->id, room->n * sizeof(*room->id));
	out->n += room->n;
	return TB_OK;
}

/* Bytes up to the next mark that follows something else. */
static size_t
to_mark(const char *s, size_t len)
{
	size_t mark = sizeof(MARK) - 1, i = 0;
	const char *hit;

	while (len - i >= mark && !memcmp(s + i, MARK, mark))
		i += mark;
	hit = memmem(s + i, len - i, MARK, mark);
	return hit ? (size_t)(hit - s) : len;
}

enum tb_status
tok_bpe_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s, size_t len,
	     bool bytes, struct token_ids *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (!b->cut_at_mark || bytes)
		return merge_word(b, room, s, len, bytes, out, err);
	while (len && !status) {
		size_t n = to_mark(s, len);

		status = merge_word(b, room, s, n, false, out, err);
		s += n;
		len -= n;
	}
	return status;
}
