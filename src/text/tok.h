/* tok.h - private to src/text: a tokenizer and its parts. */
#ifndef TBTUI_TEXT_TOK_H
#define TBTUI_TEXT_TOK_H

#include "src/text/tok_added.h"
#include "src/text/tok_bpe.h"
#include "src/text/tok_decode.h"
#include "src/text/tok_normalize.h"
#include "src/text/tok_split.h"
#include "src/text/tok_vocab.h"
#include "src/text/tok_wpm.h"
#include "src/text/tokenizer.h"

struct tokenizer {
	struct tok_vocab vocab;
	struct tok_bpe bpe;
	struct tok_normalizer normalizer;
	struct tok_splitter splitter;
	struct tok_decoder decoder;
	/* Found in the text as it is, and in the text as it was normalized. */
	struct tok_added_set raw, normalized;
	bool raw_only;				/* all of them in the text as it is */
	struct token_ids before, after;		/* what the post-processor puts around */
	struct token_ids ends;			/* what ends a generation; sorted */
	uint32_t bos, eos;			/* TOK_NONE: none known */
	bool wordpiece;				/* words by longest match instead of merging */
	struct tok_wpm wpm;
	bool plain_specials;			/* what is not of type normal or byte stands for
						 * its piece as it is, whatever the decoder */
	const char *kind, *note;		/* static */
	/* Of a GGUF file: how words are cut (NULL: not at all), whether a blank is put in
	 * front of a text. */
	const struct tok_pre *pre;
	bool prefix;
};

struct tokenizer *tok_new(void);
/* The end of whatever makes one: *out is t, or NULL, and t is gone. */
enum tb_status tok_done(struct tokenizer *t, enum tb_status status, struct tokenizer **out)
	TB_MUST_USE;

/* { "piece": id, … }; what: the file, for errors. */
enum tb_status tok_read_vocab(struct tokenizer *t, const cJSON *vocab, const char *what,
			      struct tb_err *err) TB_MUST_USE;

/* Common to formats that give each token a type: what is control or unknown is
 * special, and all that is not normal, unused or byte is found in the text as it is. */
enum tb_status tok_add_typed(struct tokenizer *t, struct tb_err *err) TB_MUST_USE;
/* Merging by score, bytes where nothing else fits, and the way back (prefix: a blank is
 * put in front of texts).  The normalizer is not set. */
enum tb_status tok_make_spm(struct tokenizer *t, bool prefix, struct tb_err *err) TB_MUST_USE;

/* "added_tokens", and those of tokenizer_config.json that it lacks. */
enum tb_status tok_read_added(struct tokenizer *t, const cJSON *doc, const cJSON *config,
			      struct tb_err *err) TB_MUST_USE;
/* "bos_token" and the like: a string or { "content": string }; TOK_NONE: not there. */
uint32_t tok_named(const struct tokenizer *t, const cJSON *config, const char *key);
/* "post_processor", bos_token, eos_token, add_bos_token, add_eos_token. */
enum tb_status tok_read_ends(struct tokenizer *t, const cJSON *doc, const cJSON *config,
			     struct tb_err *err) TB_MUST_USE;
#endif
