/* tok_seams.h - private to src/text: where a text may be cut without any token of the
 * vocabulary ever lying across the cut.
 *
 * Merging only ever makes tokens that the vocabulary has.  If no piece of it has the
 * characters a and b next to each other, then nothing that is merged has, and a long
 * text without words is short pieces.  A set of pairs, by hash: it may hold too many,
 * which makes fewer cuts, never too few. */
#ifndef TBTUI_TEXT_TOK_SEAMS_H
#define TBTUI_TEXT_TOK_SEAMS_H

#include "src/text/tok_vocab.h"

struct tok_seams {
	uint64_t *bit;			/* owned; NULL: nothing is cut */
};

enum tb_status tok_seams_new(struct tok_seams *s, const struct tok_vocab *vocab,
			     struct tb_err *err) TB_MUST_USE;
void tok_seams_free(struct tok_seams *s);

/* Bytes of text[0..len) up to the first cut; known: only in front of a character that
 * is a token by itself. */
size_t tok_seams_next(const struct tok_seams *s, const struct tok_vocab *known, const char *text,
		      size_t len);
#endif
