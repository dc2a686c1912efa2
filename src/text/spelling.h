/* spelling.h - all bytes that the tokens of a vocabulary stand for, as a tree: tokens that
 * begin alike share a way from its root.
 *
 * Laid out in the order in which a walk meets the nodes, so that a walk is a loop. */
#ifndef TBTUI_TEXT_SPELLING_H
#define TBTUI_TEXT_SPELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct tokenizer;

struct spelling {
	size_t vocab;		/* tokens of the tokenizer; ids are below */
	size_t n;		/* nodes: prefixes of tokens */
	unsigned deepest;
	uint16_t *depth;	/* of a node: bytes from the root, itself included */
	uint8_t *byte;		/* its last one */
	uint32_t *end;		/* behind what is below it */
	uint32_t *first;	/* the tokens that end in it are ids[first[i]] to ids[first[i + 1]] */
	uint32_t *ids;
};

/* What is no text is not in it: control tokens and their like.  begins: as tokens are spelt
 * where they begin a text (a blank may be missing). */
enum tb_status spelling_new(struct spelling **out, const struct tokenizer *t, bool begins,
			    struct tb_err *err) TB_MUST_USE;
void spelling_free(struct spelling *s);
/* The node of text[0..len), or SIZE_MAX. */
size_t spelling_find(const struct spelling *s, const char *text, size_t len);
/* The longest token that text begins with; its length, 0: there is none. */
size_t spelling_longest(const struct spelling *s, const char *text, size_t len, uint32_t *id);
#endif
