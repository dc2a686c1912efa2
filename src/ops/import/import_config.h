/* import_config.h - the config blob of an imported model. Private to import*.c. */
#ifndef TBTUI_OPS_IMPORT_CONFIG_H
#define TBTUI_OPS_IMPORT_CONFIG_H

#include "src/store/model.h"

/* What Ollama's create writes for safetensors, as JSON without a newline;
 * caller frees *out. */
enum tb_status import_config(const struct model *m, const char *quant_type, char **out,
			     struct tb_err *err) TB_MUST_USE;
#endif
