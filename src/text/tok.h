/* tok.h - private to src/text: a tokenizer and its parts. */
#ifndef TBTUI_TEXT_TOK_H
#define TBTUI_TEXT_TOK_H

#include "src/text/tok_added.h"
#include "src/text/tok_bpe.h"
#include "src/text/tok_decode.h"
#include "src/text/tok_normalize.h"
#include "src/text/tok_split.h"
#include "src/text/tok_vocab.h"
#include "src/text/tokenizer.h"

struct tokenizer {
	struct tok_vocab vocab;
	struct tok_bpe bpe;
	struct tok_normalizer normalizer;
	struct tok_splitter splitter;
	struct tok_decoder decoder;
	/* Found in the text as it is, and in the text as it was normalized. */
	struct tok_added_set raw, normalized;
	struct token_ids before, after;		/* what the post-processor puts around */
	uint32_t bos, eos;			/* TOK_NONE: none known */
};

/* "added_tokens", and those of tokenizer_config.json that it lacks. */
enum tb_status tok_read_added(struct tokenizer *t, const cJSON *doc, const cJSON *config,
			      struct tb_err *err) TB_MUST_USE;
/* "post_processor", bos_token, eos_token, add_bos_token, add_eos_token. */
enum tb_status tok_read_ends(struct tokenizer *t, const cJSON *doc, const cJSON *config,
			     struct tb_err *err) TB_MUST_USE;
#endif
