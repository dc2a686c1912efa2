/* tok_wpm.h - private to src/text: WordPiece, the tokenizer of BERT and its kin. */
#ifndef TBTUI_TEXT_TOK_WPM_H
#define TBTUI_TEXT_TOK_WPM_H

#include "src/base/err.h"
#include "src/text/tok_vocab.h"
#include "src/text/tokenizer.h"

/* Pieces that begin a word have U+2581 in front, as GGUF files write them. */
struct tok_wpm {
	bool lowercase, strip_accents;
	uint32_t unk;			/* what a word becomes that cannot be made of pieces */
	size_t longest;			/* bytes of the longest piece */
};

enum tb_status tok_wpm_encode(const struct tok_wpm *w, const struct tok_vocab *vocab,
			      const char *s, size_t len, struct token_ids *out, struct tb_err *err)
	TB_MUST_USE;
#endif
