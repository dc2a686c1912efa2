/* optional.h - small files that a model may have: without them something is left out,
 * which must not happen because they could not be read. */
#ifndef TBTUI_OPS_OPTIONAL_H
#define TBTUI_OPS_OPTIONAL_H

#include "src/format/json.h"
#include "src/store/model.h"

/* *out is the caller's to free; NULL: it has none, or one that is too long. */
enum tb_status optional_text(const struct model *m, const char *name, char **out,
			     struct tb_err *err) TB_MUST_USE;
/* *out is the caller's to json_free(); NULL: it has none, or one that is no JSON. */
enum tb_status optional_json(const struct model *m, const char *name, cJSON **out,
			     struct tb_err *err) TB_MUST_USE;
/* Of the layer of a kind instead of a file. */
enum tb_status optional_layer(const struct model *m, enum media kind, cJSON **out,
			      struct tb_err *err) TB_MUST_USE;

/* Where a run depends on it: one that is there and cannot be used is an error. */
enum tb_status strict_text(const struct model *m, const char *name, char **out, size_t *len,
			   struct tb_err *err) TB_MUST_USE;
enum tb_status strict_json(const struct model *m, const char *name, cJSON **out,
			   struct tb_err *err) TB_MUST_USE;
#endif
