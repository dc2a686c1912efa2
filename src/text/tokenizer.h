/* tokenizer.h - text to token ids and back, from tokenizer.json. */
#ifndef TBTUI_TEXT_TOKENIZER_H
#define TBTUI_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

struct tokenizer;

/* json: tokenizer.json; config_json: tokenizer_config.json or NULL (bos, eos,
 * add_bos_token).  Both borrowed for the call. What it cannot do exactly it refuses. */
enum tb_status tokenizer_new(struct tokenizer **out, const char *json, size_t len,
			     const char *config_json, size_t config_len, struct tb_err *err) TB_MUST_USE;
void tokenizer_free(struct tokenizer *t);

struct token_ids {
	uint32_t *v;		/* owned; free() */
	size_t n, cap;
};

/* add_special: what the post-processor adds (BOS).  parse_special: special tokens
 * written in the text become their ids (templates), otherwise they are plain text
 * (what a user typed).  Appends to *out. */
enum tb_status tokenizer_encode(const struct tokenizer *t, const char *text, size_t len,
				bool add_special, bool parse_special, struct token_ids *out,
				struct tb_err *err) TB_MUST_USE;

/* The bytes a token stands for, appended raw (may be part of a UTF-8 character).
 * first: the token begins the text (SentencePiece drops its leading blank). */
void tokenizer_decode(const struct tokenizer *t, uint32_t id, bool first, struct tb_buf *out);
size_t tokenizer_size(const struct tokenizer *t);		/* ids are < size */
const char *tokenizer_piece(const struct tokenizer *t, uint32_t id);	/* as in the file; NULL: none */
bool tokenizer_find(const struct tokenizer *t, const char *piece, uint32_t *id);
bool tokenizer_is_special(const struct tokenizer *t, uint32_t id);
bool tokenizer_bos(const struct tokenizer *t, uint32_t *id);
bool tokenizer_eos(const struct tokenizer *t, uint32_t *id);
#endif
