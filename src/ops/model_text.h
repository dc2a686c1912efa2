/* model_text.h - the tokenizer and the chat template that a model comes with. */
#ifndef TBTUI_OPS_MODEL_TEXT_H
#define TBTUI_OPS_MODEL_TEXT_H

#include <stddef.h>

#include "src/base/err.h"

struct chat_template;
struct model;
struct tokenizer;

/* tokenizer.json, with tokenizer_config.json if there is one. */
enum tb_status model_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
	TB_MUST_USE;

/* chat_template.jinja, else chat_template of tokenizer_config.json.  *bos and *eos:
 * the pieces that templates use, NULL if there are none; the caller frees them,
 * whatever is returned.  TB_ENOENT: the model has no template. */
enum tb_status model_template(const struct model *m, struct chat_template **out, char **bos,
			      char **eos, struct tb_err *err) TB_MUST_USE;
#endif
