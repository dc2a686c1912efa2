/* metadata_config.c - config.json as a list of paths and values. */
#include "config.h"

#include "src/ops/metadata/metadata_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"

#define PATH_MAX_BYTES (1u << 20)

/* A string as it is, all else as JSON; the caller frees it. */
static char *
value_text(const cJSON *v)
{
	const char *s = json_str(v);

	return s ? strdup(s) : json_print(v);
}

static enum tb_status
add_leaf(struct metadata *md, const char *path, const cJSON *v, struct tb_err *err)
{
	char *text = value_text(v), type[40];
	struct tb_buf line = TB_BUF(8 * META_LINE);
	bool whole = text && strlen(text) <= META_LINE && !strchr(text, '\n'), ok, b;

	if (json_is_array(v))
		snprintf(type, sizeof(type), "array[%zu]", json_count(v));
	else
		snprintf(type, sizeof(type), "%s", json_str(v) ? "string"
			 : json_is_number(v) ? "number" : json_bool(v, &b) ? "bool"
			 : json_is_object(v) ? "object" : "null");
	if (text)
		tb_text_clip(&line, text, META_LINE, false);
	ok = text && !tb_buf_failed(&line) &&
	     meta_add(md, META_CONFIG, path, type, whole ? text : tb_buf_cstr(&line), whole);
	tb_buf_free(&line);
	free(text);
	return ok ? TB_OK : tb_nomem(err);
}

/* Nesting is bounded by the JSON reader. */
static enum tb_status
add_object(struct metadata *md, struct tb_buf *path, const cJSON *object, struct tb_err *err)
{
	size_t len = path->len;
	enum tb_status status = TB_OK;

	for (const cJSON *v = json_first(object); v && !status; v = json_next(v)) {
		tb_buf_printf(path, "%s%s", len ? "." : "", json_key(v));
		if (tb_buf_failed(path))
			return tb_buf_status(path, "config.json", err);
		if (json_is_object(v) && json_first(v))
			status = add_object(md, path, v, err);
		else
			status = add_leaf(md, tb_buf_cstr(path), v, err);
		path->len = len;
		path->p[len] = '\0';
	}
	return status;
}

enum tb_status
meta_config_rows(struct metadata *md, const cJSON *config, struct tb_err *err)
{
	struct tb_buf path = TB_BUF(PATH_MAX_BYTES);
	enum tb_status status = add_object(md, &path, config, err);

	tb_buf_free(&path);
	return status;
}

const cJSON *
meta_config_find(const cJSON *config, const char *path)
{
	for (const cJSON *v = json_first(config); v && json_is_object(config); v = json_next(v)) {
		size_t len = strlen(json_key(v));
		const cJSON *below;

		if (strncmp(path, json_key(v), len))
			continue;
		if (!path[len])
			return v;
		if (path[len] == '.' && (below = meta_config_find(v, path + len + 1)))
			return below;
	}
	return NULL;
}

static enum tb_status
one(const cJSON *v, meta_item_fn *fn, void *arg, struct tb_err *err)
{
	char *text = json_is_object(v) ? json_print_pretty(v) : value_text(v);
	enum tb_status status = text ? fn(arg, text, strlen(text), err) : tb_nomem(err);

	free(text);
	return status;
}

enum tb_status
meta_config_each(const cJSON *v, meta_item_fn *fn, void *arg, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (!json_is_array(v))
		return one(v, fn, arg, err);
	for (const cJSON *e = json_first(v); e && !status; e = json_next(e))
		status = one(e, fn, arg, err);
	return status;
}
