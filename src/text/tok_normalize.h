/* tok_normalize.h - private to src/text: what is done to text before it is cut. */
#ifndef TBTUI_TEXT_TOK_NORMALIZE_H
#define TBTUI_TEXT_TOK_NORMALIZE_H

#include "src/format/json.h"
#include "src/text/tok_regex.h"

enum tok_norm_kind { NORM_PREPEND, NORM_REPLACE, NORM_FORM, NORM_LOWER, NORM_STRIP };

struct tok_norm {
	enum tok_norm_kind kind;
	struct tok_pattern pattern;	/* NORM_REPLACE */
	char *text;			/* what is prepended or put in place; owned */
	unsigned form;			/* NORM_FORM: utf8proc's options */
	bool left, right;		/* NORM_STRIP */
};

struct tok_normalizer {
	struct tok_norm *v;		/* owned; in order */
	size_t n, cap;
};

/* spec: "normalizer" of tokenizer.json; null or NULL is none. */
enum tb_status tok_normalizer_new(struct tok_normalizer *t, const cJSON *spec, struct tb_err *err)
	TB_MUST_USE;
/* SentencePiece's: ' ' becomes `mark`, and one is put in front if `prefix` (on {0}). */
enum tb_status tok_normalizer_blanks(struct tok_normalizer *t, const char *mark, bool prefix,
				     struct tb_err *err) TB_MUST_USE;
void tok_normalizer_free(struct tok_normalizer *t);

/* Replaces the text in *b (valid UTF-8).  continued: it goes on behind bytes that
 * could not be normalized, so nothing is prepended. */
enum tb_status tok_normalize(const struct tok_normalizer *t, struct tok_matcher *matcher,
			     bool continued, struct tb_buf *b, struct tb_err *err) TB_MUST_USE;
#endif
