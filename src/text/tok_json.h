/* tok_json.h - private to src/text: what the parts of tokenizer.json have in common. */
#ifndef TBTUI_TEXT_TOK_JSON_H
#define TBTUI_TEXT_TOK_JSON_H

#include "src/format/json.h"

bool tok_flag(const cJSON *spec, const char *key, bool otherwise);
/* tokenizer_config.json; json NULL: there is none. */
enum tb_status tok_config(cJSON **config, const char *json, size_t len, struct tb_err *err)
	TB_MUST_USE;

/* Calls fn for spec, or for each part of it where it is a Sequence, which lists them under
 * the key `list`; nothing for null.  what: "normalizer". */
typedef enum tb_status tok_stage_fn(void *to, const cJSON *spec, const char *type,
				    struct tb_err *err);
enum tb_status tok_stages(const cJSON *spec, const char *what, const char *list, tok_stage_fn *fn,
			  void *to, struct tb_err *err) TB_MUST_USE;
#endif
