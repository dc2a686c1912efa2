/* tokenizer.h - text to token ids and back, from whatever a model brings along. */
#ifndef TBTUI_TEXT_TOKENIZER_H
#define TBTUI_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

struct gguf;
struct tb_file;
struct tokenizer;

/* What a token is: id, name.  Numbered as GGUF files do; UNDEFINED is also for ids that
 * do not exist. */
#define TOKEN_TYPE_LIST(X) \
	X(TOKEN_UNDEFINED, "undefined") \
	X(TOKEN_NORMAL, "normal") \
	X(TOKEN_UNKNOWN, "unknown")		/* for what has no token */ \
	X(TOKEN_CONTROL, "control") \
	X(TOKEN_USER, "user-defined")		/* found in a text before anything else */ \
	X(TOKEN_UNUSED, "unused") \
	X(TOKEN_BYTE, "byte")
#define X(id, name) id,
enum token_type { TOKEN_TYPE_LIST(X) TOKEN_TYPE_COUNT };
#undef X
const char *token_type_name(enum token_type t);

/* json: tokenizer.json; config_json: tokenizer_config.json or NULL (bos, eos,
 * add_bos_token).  Both borrowed for the call. What it cannot do exactly it refuses. */
enum tb_status tokenizer_new(struct tokenizer **out, const char *json, size_t len,
			     const char *config_json, size_t config_len, struct tb_err *err) TB_MUST_USE;
/* From the metadata of a GGUF file, to the same ids as llama.cpp. */
enum tb_status tokenizer_from_gguf(struct tokenizer **out, const struct gguf *g,
				   const struct tb_file *f, struct tb_err *err) TB_MUST_USE;
/* tokenizer.model of SentencePiece (its BPE type), config as above. */
enum tb_status tokenizer_from_spm(struct tokenizer **out, const void *model, size_t len,
				  const char *config_json, size_t config_len, struct tb_err *err)
	TB_MUST_USE;
/* vocab.json (encoder.json) and merges.txt (vocab.bpe) of GPT-2 and its kin; pre: the
 * name of its pre-tokenizer as in GGUF files, NULL for GPT-2's own. */
enum tb_status tokenizer_from_merges(struct tokenizer **out, const char *vocab_json,
				     size_t vocab_len, const char *merges, size_t merges_len,
				     const char *pre, const char *config_json, size_t config_len,
				     struct tb_err *err) TB_MUST_USE;
/* A list of tokens in base64 with their ranks, as tiktoken has them; pre as above. */
enum tb_status tokenizer_from_tiktoken(struct tokenizer **out, const char *list, size_t len,
				       const char *pre, const char *config_json, size_t config_len,
				       struct tb_err *err) TB_MUST_USE;
/* One from a GGUF file as tokenizer.json; the caller frees *out.  TB_EUNSUP: it cannot be
 * written so. */
enum tb_status tokenizer_write(const struct tokenizer *t, char **out, struct tb_err *err)
	TB_MUST_USE;
/* Any as the keys tokenizer.ggml.* of a GGUF, with so many tokens (0: as it has).  pre: the
 * name of its pre-tokenizer, NULL: found by how it cuts a text; TB_EUNSUP: by none. */
struct gguf_keys;
enum tb_status tokenizer_to_gguf(const struct tokenizer *t, size_t vocab, const char *pre,
				 struct gguf_keys *out, struct tb_err *err) TB_MUST_USE;
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
enum token_type tokenizer_type(const struct tokenizer *t, uint32_t id);
bool tokenizer_score(const struct tokenizer *t, uint32_t id, float *score);	/* false: has none */
/* Ids that end what a model says, in order; from GGUF and SentencePiece.  Borrowed. */
const struct token_ids *tokenizer_ends(const struct tokenizer *t);
const char *tokenizer_kind(const struct tokenizer *t);	/* "byte-level BPE" */
const char *tokenizer_note(const struct tokenizer *t);	/* what is to be known; "" */
bool tokenizer_bos(const struct tokenizer *t, uint32_t *id);
bool tokenizer_eos(const struct tokenizer *t, uint32_t *id);
#endif
