/* tok_bpe.h - private to src/text: byte-pair merging of one word. */
#ifndef TBTUI_TEXT_TOK_BPE_H
#define TBTUI_TEXT_TOK_BPE_H

#include "src/format/json.h"
#include "src/text/tok_vocab.h"
#include "src/text/tokenizer.h"

#define TOK_NONE UINT32_MAX

/* What two neighbours become, and how early. */
struct tok_merge { uint32_t left, right, rank, id; };

struct tok_merges {
	struct tok_merge *slot;		/* owned; rank TOK_NONE = free */
	size_t mask;
};

struct tok_bpe {
	const struct tok_vocab *vocab;	/* borrowed */
	struct tok_merges merges;
	uint32_t unk;			/* TOK_NONE: characters without an id are dropped */
	bool fuse_unk, byte_fallback, ignore_merges;
	uint32_t fallback[256];		/* "<0x0A>"; TOK_NONE: missing */
	uint32_t byte[256];		/* of the byte-level character */
	/* Where a word may be cut in front of a blank mark (U+2581) without any merge
	 * ever crossing the cut: long texts without a pre-tokenizer become short words. */
	bool cut_at_mark;
};

/* model: "model" of tokenizer.json, its vocabulary already in *vocab. */
enum tb_status tok_bpe_new(struct tok_bpe *b, const cJSON *model, const struct tok_vocab *vocab,
			   struct tb_err *err) TB_MUST_USE;
void tok_bpe_free(struct tok_bpe *b);

struct tok_symbols;
struct tok_symbols *tok_symbols_new(void);	/* room to work in; one a thread */
void tok_symbols_free(struct tok_symbols *s);

/* Appends the ids of a word.  bytes: each byte stands for its byte-level character. */
enum tb_status tok_bpe_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s,
			    size_t len, bool bytes, struct token_ids *out, struct tb_err *err)
	TB_MUST_USE;

bool tok_ids_push(struct token_ids *out, uint32_t id);
const struct tok_merge *tok_merge_find(const struct tok_merges *m, uint32_t left, uint32_t right);
/* Merge the n symbols in id[] and say how many are left: in O(n^2) but fast, for
 * n <= TOK_FEW, and in O(n log n). */
#define TOK_FEW 48
size_t tok_merge_few(const struct tok_merges *m, uint32_t *id, size_t n);
enum tb_status tok_merge_many(const struct tok_merges *m, uint32_t *id, size_t *n,
			      struct tb_err *err) TB_MUST_USE;
#endif
