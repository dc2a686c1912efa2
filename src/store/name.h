/* name.h - model names as Ollama writes them: [host/][namespace/]model[:tag].
 * A name that parsed is safe as a path. */
#ifndef TBTUI_STORE_NAME_H
#define TBTUI_STORE_NAME_H

#include <stdbool.h>

#include "src/base/err.h"

struct model_name {
	char host[352], ns[82], model[82], tag[82];
};

enum tb_status name_parse(const char *text, struct model_name *out, struct tb_err *err) TB_MUST_USE;
/* Short form: host left out if default, namespace too if also "library". */
const char *name_format(const struct model_name *n, char out[640]);
/* "host/ns/model/tag", below manifests/. */
const char *name_path(const struct model_name *n, char out[640]);
#endif
