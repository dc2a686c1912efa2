/* tok_typed.c - what GGUF files and SentencePiece's models have in common. */
#include "config.h"

#include "src/text/tok.h"

static enum tb_status
add_found(struct tokenizer *t, uint32_t id, struct tb_err *err)
{
	struct tok_piece *p = &t->vocab.piece[id];
	struct tok_added a = { .id = id, .special = p->type != TOKEN_USER };

	p->special = a.special;
	return tok_added_put(&t->raw, p->s, p->len, &a, err);
}

enum tb_status
tok_add_typed(struct tokenizer *t, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	t->plain_specials = true;
	for (uint32_t id = 0; id < t->vocab.n && !status; id++) {
		const struct tok_piece *p = &t->vocab.piece[id];

		if (p->s && (p->type == TOKEN_CONTROL || p->type == TOKEN_UNKNOWN ||
			     p->type == TOKEN_USER))
			status = add_found(t, id, err);
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
	status = tok_bpe_rank_scores(&t->bpe, err);
	if (!status)
		status = tok_seams_new(&t->bpe.seams, &t->vocab, err);
	return status ? status : tok_decoder_blanks(&t->decoder, TOK_MARK, prefix, err);
}
