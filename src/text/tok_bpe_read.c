/* tok_bpe_read.c - "model" of tokenizer.json. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_bpe.h"
#include "src/text/tok_json.h"
#include "src/text/tok_uni.h"

#define MERGES_MAX (1u << 23)
#define TOK_PIECE_MAX 1024	/* bytes of a half, where it is cut by trying */

enum tb_status
tok_bpe_room(struct tok_bpe *b, size_t n, struct tb_err *err)
{
	struct tok_merges *m = &b->merges;
	size_t slots = 16;

	if (n > MERGES_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: %zu merges", n);
	while (slots < 2 * n)
		slots *= 2;
	m->slot = tb_calloc(slots, sizeof(*m->slot));
	if (!m->slot)
		return tb_nomem(err);
	m->mask = slots - 1;
	for (size_t i = 0; i < slots; i++)
		m->slot[i].rank = TOK_NONE;
	return TB_OK;
}

static bool
halves_fit(const struct tok_vocab *vocab, struct tok_half a, struct tok_half b)
{
	struct tb_buf joined = TB_BUF(1u << 24);
	uint32_t id;
	bool known;

	tb_buf_add(&joined, a.s, a.len);
	tb_buf_add(&joined, b.s, b.len);
	known = !tb_buf_failed(&joined) && tok_vocab_find(vocab, a.s, a.len, &id) &&
		tok_vocab_find(vocab, b.s, b.len, &id) &&
		tok_vocab_find(vocab, joined.p, joined.len, &id);
	tb_buf_free(&joined);
	return known;
}

/* "a b".  Some files have halves with blanks in them: then the cut is where both
 * halves and the whole are tokens, if there is one such place. */
static bool
cut_at_blank(const struct tok_vocab *vocab, const char *both, struct tok_half *a, struct tok_half *b)
{
	const char *first = strchr(both, ' '), *end = both + strlen(both);
	unsigned found = 0;

	if (!first || end - both > 2 * TOK_PIECE_MAX)
		return false;
	*a = (struct tok_half){ both, (size_t)(first - both) };
	*b = (struct tok_half){ first + 1, (size_t)(end - first - 1) };
	if (!strchr(first + 1, ' '))
		return true;
	for (const char *p = first; p; p = strchr(p + 1, ' ')) {
		struct tok_half left = { both, (size_t)(p - both) };
		struct tok_half right = { p + 1, (size_t)(end - p - 1) };

		if (!left.len || !right.len || !halves_fit(vocab, left, right))
			continue;
		*a = left;
		*b = right;
		found++;
	}
	return found == 1;
}

/* "a b" or ["a", "b"] */
static bool
read_halves(const struct tok_vocab *vocab, const cJSON *merge, struct tok_half *a, struct tok_half *b)
{
	if (json_str(merge))
		return cut_at_blank(vocab, json_str(merge), a, b);
	if (!json_is_array(merge) || json_count(merge) != 2)
		return false;
	a->s = json_str(json_first(merge));
	b->s = json_str(json_next(json_first(merge)));
	if (!a->s || !b->s)
		return false;
	a->len = strlen(a->s);
	b->len = strlen(b->s);
	return true;
}

static enum tb_status
find_half(const struct tok_bpe *b, struct tok_half h, uint32_t rank, uint32_t *id,
	  struct tb_err *err)
{
	if (tok_vocab_find(b->vocab, h.s, h.len, id))
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "tokenizer: merge %ju: \"%.*s\" is not in the vocabulary",
		       (uintmax_t)rank, h.len > 60 ? 60 : (int)h.len, h.s);
}

enum tb_status
tok_bpe_put(struct tok_bpe *b, struct tok_half left, struct tok_half right, uint32_t rank,
	    bool later, struct tb_buf *joined, struct tb_err *err)
{
	struct tok_merge m = { .rank = rank }, *slot;
	enum tb_status status;

	tb_buf_clear(joined);
	tb_buf_add(joined, left.s, left.len);
	tb_buf_add(joined, right.s, right.len);
	if (tb_buf_failed(joined))
		return tb_nomem(err);
	status = find_half(b, left, rank, &m.left, err);
	if (!status)
		status = find_half(b, right, rank, &m.right, err);
	if (!status)
		status = find_half(b, (struct tok_half){ joined->p, joined->len }, rank, &m.id,
				   err);
	if (status)
		return status;
	slot = (struct tok_merge *)tok_merge_find(&b->merges, m.left, m.right);
	if (later || slot->rank == TOK_NONE)
		*slot = m;
	return TB_OK;
}

static enum tb_status
read_merge_list(struct tok_bpe *b, const cJSON *merges, struct tb_err *err)
{
	enum tb_status status = tok_bpe_room(b, json_count(merges), err);
	struct tb_buf joined = TB_BUF(1u << 24);
	uint32_t rank = 0;

	if (!status && merges && !json_is_array(merges) && json_count(merges))
		status = tb_fail(err, TB_EFORMAT, "tokenizer: merges is no list");
	for (const cJSON *c = json_first(merges); c && !status; c = json_next(c), rank++) {
		struct tok_half left, right;

		status = read_halves(b->vocab, c, &left, &right) && left.len && right.len
			 ? tok_bpe_put(b, left, right, rank, true, &joined, err)
			 : tb_fail(err, TB_EFORMAT, "tokenizer: merge %ju is no pair",
				   (uintmax_t)rank);
	}
	tb_buf_free(&joined);
	return status;
}

static enum tb_status
refuse_options(const cJSON *model, struct tb_err *err)
{
	const char *type = json_str(json_get(model, "type"));
	const char *prefix = json_str(json_get(model, "continuing_subword_prefix"));
	const char *suffix = json_str(json_get(model, "end_of_word_suffix"));
	double dropout = 0;

	/* files from before 0.8 have no type: then merges tell */
	if (type ? strcmp(type, "BPE") != 0 : !json_get(model, "merges"))
		return tb_fail(err, TB_EUNSUP, "tokenizer: model \"%s\" is not supported",
			       type ? type : "without a type");
	if (prefix && *prefix)
		return tb_fail(err, TB_EUNSUP, "tokenizer: continuing_subword_prefix is not "
			       "supported");
	if (suffix && *suffix)
		return tb_fail(err, TB_EUNSUP, "tokenizer: end_of_word_suffix is not supported");
	if (json_f64(json_get(model, "dropout"), &dropout) && dropout != 0)
		return tb_fail(err, TB_EUNSUP, "tokenizer: dropout is not supported");
	return TB_OK;
}

void
tok_bpe_init(struct tok_bpe *b, const struct tok_vocab *vocab)
{
	*b = (struct tok_bpe){ .vocab = vocab, .unk = TOK_NONE };
	for (unsigned i = 0; i < 256; i++) {
		char name[8], utf8[4];

		snprintf(name, sizeof(name), "<0x%02X>", i);
		if (!tok_vocab_find(vocab, name, 6, &b->fallback[i]))
			b->fallback[i] = TOK_NONE;
		if (!tok_vocab_find(vocab, utf8, tb_utf8_put(tok_byte_cp((uint8_t)i), utf8),
				    &b->byte[i]))
			b->byte[i] = TOK_NONE;
	}
}

enum tb_status
tok_bpe_new(struct tok_bpe *b, const cJSON *model, const struct tok_vocab *vocab,
	    struct tb_err *err)
{
	const char *unk = json_str(json_get(model, "unk_token"));
	enum tb_status status = refuse_options(model, err);
	uint32_t mark;

	tok_bpe_init(b, vocab);
	if (status)
		return status;
	b->fuse_unk = tok_flag(model, "fuse_unk", false);
	b->byte_fallback = tok_flag(model, "byte_fallback", false);
	b->ignore_merges = tok_flag(model, "ignore_merges", false);
	if (unk && *unk && !tok_vocab_find(vocab, unk, strlen(unk), &b->unk))
		return tb_fail(err, TB_EFORMAT, "tokenizer: unk_token \"%.60s\" is not in the "
			       "vocabulary", unk);
	/* without the mark the text is cut into words before it comes here */
	if (tok_vocab_find(vocab, TOK_MARK, 3, &mark))
		status = tok_seams_new(&b->seams, vocab, err);
	return status ? status : read_merge_list(b, json_get(model, "merges"), err);
}

/* Larger scores first, which have no NaN among them. */
enum tb_status
tok_bpe_rank(struct tok_bpe *b, bool by_score, struct tb_err *err)
{
	const struct tok_vocab *v = b->vocab;

	b->piece_rank = tb_calloc(v->n, sizeof(*b->piece_rank));
	if (!b->piece_rank)
		return tb_nomem(err);
	b->ranked = v->n;
	for (size_t id = 0; id < v->n; id++) {
		const struct tok_piece *p = &v->piece[id];
		/* -0 is 0 */
		union { float f; uint32_t u; } score = { .f = id < v->nscores ? v->score[id] + 0.0f : 0 };
		uint32_t rank = score.u & 0x80000000 ? score.u : ~(score.u | 0x80000000);
		/* what stands for itself only is not what a text is merged into */
		bool mergeable = p->type == TOKEN_NORMAL || p->type == TOKEN_USER ||
				 p->type == TOKEN_UNUSED || p->type == TOKEN_UNDEFINED;

		b->piece_rank[id] = !p->s || !mergeable ? TOK_NONE : by_score ? rank : (uint32_t)id;
		if (mergeable && p->len > b->longest)
			b->longest = p->len;
	}
	return TB_OK;
}

void
tok_bpe_free(struct tok_bpe *b)
{
	free(b->merges.slot);
	free(b->piece_rank);
	tok_seams_free(&b->seams);
	*b = (struct tok_bpe){ 0 };
}
