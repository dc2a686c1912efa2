/* tok_typed.c - what GGUF files and SentencePiece's models have in common. */
#include "config.h"

#include "src/text/tok.h"

enum tb_status
tok_add_typed(struct tokenizer *t, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	t->plain_specials = true;
	for (uint32_t id = 0; id < t->vocab.n && !status; id++) {
		struct tok_piece *p = &t->vocab.piece[id];
		struct tok_added a = { .id = id, .special = p->type != TOKEN_USER };

		if (!p->s || (p->type != TOKEN_CONTROL && p->type != TOKEN_UNKNOWN &&
			      p->type != TOKEN_USER))
			continue;
		p->special = a.special;
		status = tok_added_put(&t->raw, p->s, p->len, &a, err);
	}
	return status;
}

enum tb_status
tok_make_spm(struct tokenizer *t, bool prefix, struct tb_err *err)
{
	enum tb_status status;

	t->kind = "SentencePiece BPE";
	tok_bpe_init(&t->bpe, &t->vocab);
	t->bpe.byte_fallback = true;
	status = tok_bpe_rank(&t->bpe, true, err);
	if (!status)
		status = tok_seams_new(&t->bpe.seams, &t->vocab, err);
	return status ? status : tok_decoder_blanks(&t->decoder, TOK_MARK, prefix, err);
}
