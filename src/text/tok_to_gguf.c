/* tok_to_gguf.c - a tokenizer as the keys "tokenizer.ggml.*" of a GGUF file. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf_write.h"
#include "src/text/tok.h"
#include "src/text/tok_pre.h"

#define PRE_MAX 64
#define VOCAB_MAX (1u << 24)		/* "vocab_size" may be anything */
#define SCORE_ADDED -1000.0f		/* what is never merged */
#define SCORE_UNUSED -10000.0f

/* ---- pieces ---- */

/* Files do not mark all that is markup. */
static bool
looks_special(const char *s)
{
	static const char *const words[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(s, words[i]))
			return true;
	return (tb_starts(s, "<|") && tb_ends(s, "|>")) ||
	       (tb_starts(s, "<\uff5c") && tb_ends(s, "\uff5c>")) ||
	       (tb_starts(s, "<unused") && tb_ends(s, ">"));
}

static enum token_type
type_of(const struct tokenizer *t, uint32_t id)
{
	const struct tok_piece *p = &t->vocab.piece[id];

	if (id >= t->vocab.n || !p->s)
		return TOKEN_UNUSED;
	if (id == t->bpe.unk && !tok_splitter_bytes(&t->splitter))
		return TOKEN_UNKNOWN;
	if (p->type == TOKEN_USER && looks_special(p->s))
		return TOKEN_CONTROL;
	return p->type == TOKEN_UNDEFINED ? TOKEN_NORMAL : p->type;
}

/* What a person has added has blanks as texts have them. */
static void
put_piece(const struct tokenizer *t, uint32_t id, struct tb_buf *room, struct gguf_keys *out)
{
	const char *s;

	tb_buf_clear(room);
	if (id >= t->vocab.n || !t->vocab.piece[id].s) {
		tb_buf_printf(room, "[PAD%u]", id);
	} else if (type_of(t, id) == TOKEN_USER) {
		for (s = t->vocab.piece[id].s; *s;) {
			bool mark = tb_starts(s, TOK_MARK);

			tb_buf_add(room, mark ? " " : s, 1);
			s += mark ? strlen(TOK_MARK) : 1;
		}
	} else {
		gguf_item_str(out, t->vocab.piece[id].s, t->vocab.piece[id].len);
		return;
	}
	gguf_item_str(out, tb_buf_cstr(room), room->len);
}

static void
put_pieces(const struct tokenizer *t, size_t n, struct gguf_keys *out)
{
	struct tb_buf room = TB_BUF(1u << 20);

	gguf_put_array(out, "tokenizer.ggml.tokens", GGUF_STRING, n);
	for (uint32_t id = 0; id < n; id++)
		put_piece(t, id, &room, out);
	tb_buf_free(&room);
}

static void
put_types(const struct tokenizer *t, size_t n, struct gguf_keys *out)
{
	gguf_put_array(out, "tokenizer.ggml.token_type", GGUF_I32, n);
	for (uint32_t id = 0; id < n; id++)
		gguf_item_i32(out, type_of(t, id));
}

/* ---- merging ---- */

static int
merge_cmp(const void *va, const void *vb)
{
	const struct tok_merge *a = va, *b = vb;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The pairs in the order in which they are merged; the caller frees *out. */
static enum tb_status
list_merges(const struct tok_bpe *b, struct tok_merge **out, size_t *n, struct tb_err *err)
{
	size_t slots = b->merges.slot ? b->merges.mask + 1 : 0;

	*n = 0;
	*out = tb_calloc(slots + 1, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	for (size_t i = 0; i < slots; i++)
		if (b->merges.slot[i].rank != TOK_NONE)
			(*out)[(*n)++] = b->merges.slot[i];
	qsort(*out, *n, sizeof(**out), merge_cmp);
	return TB_OK;
}

/* By scores where a file has them, else a piece is worth as much as its first pair. */
static enum tb_status
put_scores(const struct tokenizer *t, size_t n, struct gguf_keys *out, struct tb_err *err)
{
	float *score = tb_calloc(n, sizeof(*score));
	struct tok_merge *merges = NULL;
	size_t nmerges = 0;
	enum tb_status status = score ? list_merges(&t->bpe, &merges, &nmerges, err) : tb_nomem(err);

	for (size_t i = nmerges; i-- > 0 && !status;)
		if (merges[i].id < n)
			score[merges[i].id] = -(float)(i + 1);
	gguf_put_array(out, "tokenizer.ggml.scores", GGUF_F32, n);
	for (uint32_t id = 0; id < n && !status; id++) {
		enum token_type type = type_of(t, id);

		if (type == TOKEN_UNUSED)
			score[id] = SCORE_UNUSED;
		else if (id < t->vocab.nscores)
			score[id] = t->vocab.score[id];
		else if (type == TOKEN_USER)
			score[id] = SCORE_ADDED;
		gguf_item_f32(out, score[id]);
	}
	free(score);
	free(merges);
	return status;
}

/* A blank cuts the two halves of a pair: within one it is written as byte-level files do. */
static void
add_half(struct tb_buf *b, const struct tok_piece *p)
{
	for (uint32_t i = 0; i < p->len; i++) {
		if (p->s[i] == ' ')
			tb_buf_str(b, "\u0120");
		else
			tb_buf_chr(b, p->s[i]);
	}
}

static enum tb_status
put_merges(const struct tokenizer *t, struct gguf_keys *out, struct tb_err *err)
{
	struct tb_buf pair = TB_BUF(1u << 20);
	struct tok_merge *merges;
	size_t n;
	enum tb_status status = list_merges(&t->bpe, &merges, &n, err);

	if (!status && !n)
		status = tb_fail(err, TB_EUNSUP, "the tokenizer lists no merges, which a GGUF needs; "
				 "a tokenizer.json has them");
	if (!status)
		gguf_put_array(out, "tokenizer.ggml.merges", GGUF_STRING, n);
	for (size_t i = 0; i < n && !status; i++) {
		tb_buf_clear(&pair);
		add_half(&pair, &t->vocab.piece[merges[i].left]);
		tb_buf_chr(&pair, ' ');
		add_half(&pair, &t->vocab.piece[merges[i].right]);
		gguf_item_str(out, tb_buf_cstr(&pair), pair.len);
	}
	tb_buf_free(&pair);
	free(merges);
	return status;
}

/* ---- the kinds ---- */

static bool
blank_in_front(const struct tokenizer *t)
{
	for (size_t i = 0; i < t->normalizer.n; i++)
		if (t->normalizer.v[i].kind == NORM_PREPEND)
			return true;
	for (size_t i = 0; i < t->splitter.n; i++)
		if (t->splitter.v[i].kind == SPLIT_PREFIX || t->splitter.v[i].kind == SPLIT_PREFIX_FIRST)
			return true;
	return false;
}

static enum tb_status
put_llama(const struct tokenizer *t, size_t n, struct gguf_keys *out, struct tb_err *err)
{
	enum tb_status status;

	gguf_put_str(out, "tokenizer.ggml.model", "llama");
	gguf_put_str(out, "tokenizer.ggml.pre", "default");
	put_pieces(t, n, out);
	status = put_scores(t, n, out, err);
	put_types(t, n, out);
	gguf_put_bool(out, "tokenizer.ggml.add_space_prefix", blank_in_front(t));
	return status;
}

static enum tb_status
put_gpt2(const struct tokenizer *t, size_t n, const char *pre, struct gguf_keys *out,
	 struct tb_err *err)
{
	char found[PRE_MAX];
	enum tb_status status = pre ? TB_OK : tok_pre_name(t, found, sizeof(found), err);

	/* Merges of pieces that are not in the list: nobody could read that. */
	if (!status && n < t->vocab.n)
		status = tb_fail(err, TB_EFORMAT, "config.json's vocab_size is %zu, but the tokenizer "
				 "has %zu pieces", n, (size_t)t->vocab.n);
	if (status)
		return status;
	gguf_put_str(out, "tokenizer.ggml.model", "gpt2");
	gguf_put_str(out, "tokenizer.ggml.pre", pre ? pre : found);
	put_pieces(t, n, out);
	put_types(t, n, out);
	return put_merges(t, out, err);
}

static void
put_id(struct gguf_keys *out, const char *key, uint32_t id)
{
	if (id != TOK_NONE)
		gguf_put_u32(out, key, id);
}

enum tb_status
tokenizer_to_gguf(const struct tokenizer *t, size_t vocab, const char *pre, struct gguf_keys *out,
		  struct tb_err *err)
{
	bool bytes = tok_splitter_bytes(&t->splitter);
	size_t n = vocab ? vocab : t->vocab.n;
	enum tb_status status;

	if (t->wordpiece)
		return tb_fail(err, TB_EUNSUP, "a WordPiece vocabulary cannot be written to a GGUF yet");
	if (n > VOCAB_MAX)
		return tb_fail(err, TB_ELIMIT, "config.json's vocab_size is %zu: too many", n);
	status = bytes ? put_gpt2(t, n, pre, out, err) : put_llama(t, n, out, err);
	put_id(out, "tokenizer.ggml.bos_token_id", t->bos);
	put_id(out, "tokenizer.ggml.eos_token_id", t->eos);
	if (!bytes)
		put_id(out, "tokenizer.ggml.unknown_token_id", t->bpe.unk);
	gguf_put_bool(out, "tokenizer.ggml.add_bos_token",
		      t->before.n && t->before.v[0] == t->bos);
	gguf_put_bool(out, "tokenizer.ggml.add_eos_token", t->after.n && t->after.v[0] == t->eos);
	return status;
}
