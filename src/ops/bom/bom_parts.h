/* bom_parts.h - inside bills of materials: what a model says about itself. */
#ifndef TBTUI_OPS_BOM_PARTS_H
#define TBTUI_OPS_BOM_PARTS_H

#include "src/format/json.h"
#include "src/store/model.h"

/* The value of a key of its GGUF; *out is the caller's to free, NULL: it has none. */
enum tb_status bom_key(const struct model *m, const char *key, char **out, struct tb_err *err)
	TB_MUST_USE;

/* bom_licence.c: sets "licenses", if there are any.  What cannot be read is left out; fails
 * only when memory runs out. */
enum tb_status bom_licences(const struct model *m, cJSON *component, struct tb_err *err)
	TB_MUST_USE;

/* bom_card.c: sets "modelCard", and what else the model says; properties get what there is no
 * word for.  As above. */
enum tb_status bom_card(const struct model *m, cJSON *component, cJSON *properties,
			struct tb_err *err) TB_MUST_USE;
/* {"name":"tbtui:NAME","value":TEXT}; nothing for NULL and "". */
void bom_property(cJSON *list, const char *name, const char *value);
void bom_property_u64(cJSON *list, const char *name, uint64_t value);
#endif
