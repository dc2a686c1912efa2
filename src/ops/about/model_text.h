/* model_text.h - the tokenizer and the chat template that a model comes with. */
#ifndef TBTUI_OPS_MODEL_TEXT_H
#define TBTUI_OPS_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct chat_template;
struct model;
struct tokenizer;

/* From what the model has, best first: tokenizer.json, a GGUF's own keys,
 * tokenizer.model, vocab.json and merges.txt, a list for tiktoken; each with
 * tokenizer_config.json if there is one.  TB_ENOENT: there is none of them. */
enum tb_status model_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
	TB_MUST_USE;
/* The same, and which it was: "tokenizer.json", "GGUF", … (static). */
enum tb_status model_tokenizer_of(const struct model *m, struct tokenizer **out,
				  const char **source, struct tb_err *err) TB_MUST_USE;

/* Which template a model's conversations are written with. */
struct template_used {
	const char *source;	/* "chat_template.jinja", "tokenizer_config.json", "GGUF": static;
				 * NULL: there is none that can be run */
	bool own;		/* its store has a TEMPLATE for it, in Go's language: not run yet */
};

/* chat_template.jinja, else chat_template of tokenizer_config.json or of the GGUF.
 * *bos and *eos: the pieces that templates use, NULL if there are none; the caller
 * frees them, whatever is returned, and *used is set.  TB_ENOENT: the model has none. */
enum tb_status model_template(const struct model *m, struct chat_template **out, char **bos,
			      char **eos, struct template_used *used, struct tb_err *err)
	TB_MUST_USE;
/* The choice alone, also where the template cannot be used.  Fails only when memory runs
 * out. */
enum tb_status model_template_used(const struct model *m, struct template_used *used,
				   struct tb_err *err) TB_MUST_USE;
/* What a person should know of it; "" when there is nothing. */
#define TEMPLATE_NOTE_MAX 160
const char *template_note(const struct template_used *used, char out[TEMPLATE_NOTE_MAX]);
#endif
