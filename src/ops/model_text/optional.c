#include "config.h"

#include "src/ops/model_text/model_text.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_FILE (16u << 20)
#define STRICT_FILE (4u << 20)

/* Only what could not be found out is a failure. */
static enum tb_status
unless_absent(enum tb_status status, const struct tb_err *why, struct tb_err *err)
{
	return status == TB_ENOMEM || status == TB_EIO ? tb_pass(err, why) : TB_OK;
}

/* What was read with `status` (or why not), as JSON. */
static enum tb_status
parse_optional(enum tb_status status, char *text, size_t len, const char *name, cJSON **out,
	       struct tb_err *why, struct tb_err *err)
{
	*out = NULL;
	if (!status && text && (status = json_parse_python(out, text, len, name, why)))
		*out = NULL;
	free(text);
	return unless_absent(status, why, err);
}

enum tb_status
optional_text(const struct model *m, const char *name, char **out, struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status = model_read(m, name, SMALL_FILE, out, NULL, &why);

	if (status)
		*out = NULL;
	return unless_absent(status, &why, err);
}

enum tb_status
optional_json(const struct model *m, const char *name, cJSON **out, struct tb_err *err)
{
	struct tb_err why = { 0 };
	char *text = NULL;
	size_t len = 0;
	enum tb_status status = model_read(m, name, SMALL_FILE, &text, &len, &why);

	return parse_optional(status, text, len, name, out, &why, err);
}

enum tb_status
optional_layer(const struct model *m, enum media kind, cJSON **out, struct tb_err *err)
{
	struct tb_err why = { 0 };
	char *text = NULL;
	size_t len = 0;
	enum tb_status status = model_read_layer(m, kind, 0, SMALL_FILE, &text, &len, &why);

	return parse_optional(status, text, len, media_name(kind), out, &why, err);
}

enum tb_status
strict_text(const struct model *m, const char *name, char **out, size_t *len, struct tb_err *err)
{
	enum tb_status status = model_read(m, name, STRICT_FILE, out, len, err);

	if (status)
		*out = NULL;
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
strict_json(const struct model *m, const char *name, cJSON **out, struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = strict_text(m, name, &text, &len, err);

	*out = NULL;
	if (!status && text)
		status = json_parse_python(out, text, len, name, err);
	free(text);
	return status;
}
