/* tok_pre.h - private to src/text: how the families of byte-level tokenizers cut text
 * into words, by the names that GGUF files give them ("tokenizer.ggml.pre"). */
#ifndef TBTUI_TEXT_TOK_PRE_H
#define TBTUI_TEXT_TOK_PRE_H

#include "src/text/tok_split.h"

#define TOK_PRE_STAGES 6

struct tok_pre {
	const char *names;			/* separated by blanks */
	const char *stage[TOK_PRE_STAGES];	/* patterns, each cuts what the last one left */
	bool ignore_merges;			/* a word that is a token is not merged */
	bool add_bos;				/* unless the file says otherwise */
	bool no_bos;				/* has none unless the file names one */
	bool raw;				/* characters, not bytes, are merged */
	bool blanks;				/* ' ' is U+2581 in pieces */
	bool newlines;				/* runs of newlines that are a token stay whole */
};

/* NULL: the name is not known.  "default" is what files without the key get. */
const struct tok_pre *tok_pre_find(const char *name);
/* The i-th family, NULL behind the last. */
const struct tok_pre *tok_pre_row(size_t i);
/* tok_pre_name.c: that of the family that cuts as `t` does.  TB_EUNSUP: none. */
struct tokenizer;
enum tb_status tok_pre_name(const struct tokenizer *t, char *out, size_t size, struct tb_err *err)
	TB_MUST_USE;
enum tb_status tok_pre_stages(const struct tok_pre *pre, struct tok_splitter *t,
			      struct tb_err *err) TB_MUST_USE;
#endif
