#include "config.h"

#include "src/text/tok_json.h"

#include <string.h>

#define NESTING_MAX 8

bool
tok_flag(const cJSON *spec, const char *key, bool otherwise)
{
	(void)json_bool(json_get(spec, key), &otherwise);
	return otherwise;
}

enum tb_status
tok_config(cJSON **config, const char *json, size_t len, struct tb_err *err)
{
	*config = NULL;
	return json ? json_parse_python(config, json, len, "tokenizer_config.json", err) : TB_OK;
}

struct stages { const char *what, *list; tok_stage_fn *fn; void *to; struct tb_err *err; };

static enum tb_status
walk_stages(const struct stages *s, const cJSON *spec, unsigned depth)
{
	const char *type = json_str(json_get(spec, "type"));
	enum tb_status status = TB_OK;

	if (!spec || json_is_null(spec))
		return TB_OK;
	if (!type)
		return tb_fail(s->err, TB_EFORMAT, "tokenizer: a %s without a type", s->what);
	if (depth > NESTING_MAX)
		return tb_fail(s->err, TB_ELIMIT, "tokenizer: %ss nested too deeply", s->what);
	if (strcmp(type, "Sequence"))
		return s->fn(s->to, spec, type, s->err);
	spec = json_get(spec, s->list);
	if (!json_is_array(spec))
		return tb_fail(s->err, TB_EFORMAT, "tokenizer: a Sequence without %s", s->list);
	for (const cJSON *c = json_first(spec); c && !status; c = json_next(c))
		status = walk_stages(s, c, depth + 1);
	return status;
}

enum tb_status
tok_stages(const cJSON *spec, const char *what, const char *list, tok_stage_fn *fn, void *to,
	   struct tb_err *err)
{
	const struct stages s = { what, list, fn, to, err };

	return walk_stages(&s, spec, 0);
}
