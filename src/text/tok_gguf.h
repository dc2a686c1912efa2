/* tok_gguf.h - private to src/text: what of a GGUF's tokens is known by their spelling. */
#ifndef TBTUI_TEXT_TOK_GGUF_H
#define TBTUI_TEXT_TOK_GGUF_H

#include "src/format/gguf.h"
#include "src/text/tok.h"

/* Fills t->ends, and sets the type of tokens that files have as normal text.  Before
 * tok_add_typed(). */
enum tb_status tok_gguf_ends(struct tokenizer *t, const struct gguf *g, const struct tb_file *f,
			     struct tb_err *err) TB_MUST_USE;
/* Tokens that take the blanks beside them along; after it. */
enum tb_status tok_gguf_strip(struct tokenizer *t, const struct gguf *g, const struct tb_file *f,
			      struct tb_err *err) TB_MUST_USE;
#endif
