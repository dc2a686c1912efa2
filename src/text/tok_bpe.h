/* tok_bpe.h - private to src/text: byte-pair merging of one word. */
#ifndef TBTUI_TEXT_TOK_BPE_H
#define TBTUI_TEXT_TOK_BPE_H

#include "src/base/buf.h"
#include "src/format/json.h"
#include "src/text/tok_seams.h"
#include "src/text/tok_vocab.h"
#include "src/text/tokenizer.h"

#define TOK_NONE UINT32_MAX
#define TOK_STRANGE (UINT32_MAX - 1)	/* a character that is no token */

/* What two neighbours become, and how early. */
struct tok_merge { uint32_t left, right, rank, id; };

struct tok_merges {
	struct tok_merge *slot;		/* owned; rank TOK_NONE = free */
	size_t mask;
};

struct tok_bpe {
	const struct tok_vocab *vocab;	/* borrowed */
	/* Neighbours are merged as a list of pairs says (GPT-2), or into whatever is a
	 * piece when they are put together (SentencePiece, tiktoken): then piece_rank
	 * says how early, by id; TOK_NONE: never. */
	struct tok_merges merges;
	uint32_t *piece_rank;		/* owned; NULL: pairs */
	size_t ranked;			/* how many; tokens that were added later have none */
	size_t longest;			/* bytes of the longest piece; for piece_rank */
	uint32_t unk;			/* TOK_NONE: characters without an id are dropped */
	bool fuse_unk, byte_fallback, ignore_merges;
	bool whole_newlines;		/* a word of newlines that is a token is not merged */
	uint32_t fallback[256];		/* "<0x0A>"; TOK_NONE: missing */
	uint32_t byte[256];		/* of the byte-level character */
	struct tok_seams seams;		/* long texts without a pre-tokenizer become short words */
};

/* model: "model" of tokenizer.json, its vocabulary already in *vocab. */
enum tb_status tok_bpe_new(struct tok_bpe *b, const cJSON *model, const struct tok_vocab *vocab,
			   struct tb_err *err) TB_MUST_USE;
/* From other files: without merges, and with nothing set but the bytes. */
void tok_bpe_init(struct tok_bpe *b, const struct tok_vocab *vocab);
void tok_bpe_free(struct tok_bpe *b);

/* Room for n merges; then each as two halves that are not empty.  joined: room to
 * work in.  Of a pair that is there twice `later` says which one counts. */
enum tb_status tok_bpe_room(struct tok_bpe *b, size_t n, struct tb_err *err) TB_MUST_USE;
struct tok_half { const char *s; size_t len; };
enum tb_status tok_bpe_put(struct tok_bpe *b, struct tok_half left, struct tok_half right,
			   uint32_t rank, bool later, struct tb_buf *joined, struct tb_err *err)
	TB_MUST_USE;
/* Merging by pieces: the best score first (none is NaN), or the lowest id. */
enum tb_status tok_bpe_rank(struct tok_bpe *b, bool by_score, struct tb_err *err) TB_MUST_USE;

struct tok_symbols;
struct tok_symbols *tok_symbols_new(void);	/* room to work in; one a thread */
void tok_symbols_free(struct tok_symbols *s);

/* Appends the ids of a word.  bytes: each byte stands for its byte-level character. */
enum tb_status tok_bpe_word(const struct tok_bpe *b, struct tok_symbols *room, const char *s,
			    size_t len, bool bytes, struct token_ids *out, struct tb_err *err)
	TB_MUST_USE;

const struct tok_merge *tok_merge_find(const struct tok_merges *m, uint32_t left, uint32_t right);

/* The symbols of a word.  By pieces also where each begins in the text, and behind
 * the last one where that ends. */
struct tok_run {
	uint32_t *id, *off;
	size_t n;
	const char *text;
};
/* Merges, and leaves in *r what is left: in O(n^2) but fast, for n <= TOK_FEW, and
 * in O(n log n). */
#define TOK_FEW 48
void tok_merge_few(const struct tok_bpe *b, struct tok_run *r);
enum tb_status tok_merge_many(const struct tok_bpe *b, struct tok_run *r, struct tb_err *err)
	TB_MUST_USE;
#endif
