#include "config.h"

#include "ui/page.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/ops/about/model_text.h"
#include "src/store/model_meta.h"

#define TEXT_MAX ((size_t)4 << 20)	/* bytes of one text; longer ones are no texts */
#define LICENCES_MAX 16u

bool
loc_same(const struct model_loc *a, const struct model_loc *b)
{
	return a->path && b->path && !strcmp(a->path, b->path);
}

/* Adds a text under a heading; JSON is laid out for reading when it is sound. */
static void
add(struct tb_buf *out, const char *heading, const char *text, size_t len, bool json)
{
	cJSON *doc = NULL;
	char *pretty = NULL;

	if (json && json_parse(&doc, text, len, heading, NULL) == TB_OK)
		pretty = json_print_pretty(doc);
	json_free(doc);
	if (out->len)
		tb_buf_str(out, "\n\n");
	if (heading)
		tb_buf_printf(out, "-- %s --\n\n", heading);
	tb_buf_add(out, pretty ? pretty : text, pretty ? strlen(pretty) : len);
	free(pretty);
}

/* A text in the folder that is no part of the model: a licence. */
static enum tb_status
beside(const char *dir, const char *name, char **text, size_t *len, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	enum tb_status status = !path ? tb_nomem(err)
			      : !tb_exists(path) ? tb_fail(err, TB_ENOENT, "%s: no %s", dir, name)
			      : tb_file_slurp(path, TEXT_MAX, text, len, err);

	free(path);
	return status;
}

/* What is missing is not an error here; what cannot be read is. */
static enum tb_status
add_file(struct tb_buf *out, const struct model *m, const char *name, bool json,
	 struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = model_read(m, name, TEXT_MAX, &text, &len, err);

	if (status == TB_ENOENT && m->loc.kind == MODEL_SAFETENSORS_DIR)
		status = beside(m->loc.path, name, &text, &len, err);
	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	add(out, name, text, len, json);
	free(text);
	return TB_OK;
}

static enum tb_status
add_layer(struct tb_buf *out, const struct model *m, enum media kind, unsigned i, bool json,
	  bool *found, struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = model_read_layer(m, kind, i, TEXT_MAX, &text, &len, err);

	*found = status == TB_OK;
	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	add(out, media_name(kind), text, len, json);
	free(text);
	return TB_OK;
}

/* A template written as a string of JSON; there may be a list of them with names. */
static enum tb_status
add_templates(struct tb_buf *out, const struct model *m, struct tb_err *err)
{
	char *text;
	size_t len;
	cJSON *doc;
	const cJSON *v;
	enum tb_status status = model_read(m, "tokenizer_config.json", TEXT_MAX, &text, &len, err);

	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	status = json_parse_python(&doc, text, len, "tokenizer_config.json", err);
	free(text);
	if (status)
		return status;
	v = json_get(doc, "chat_template");
	if (json_str(v))
		add(out, "tokenizer_config.json", json_str(v), strlen(json_str(v)), false);
	for (const cJSON *t = json_is_array(v) ? json_first(v) : NULL; t; t = json_next(t)) {
		const char *name = json_str(json_get(t, "name"));
		const char *s = json_str(json_get(t, "template"));

		if (s)
			add(out, name ? name : "tokenizer_config.json", s, strlen(s), false);
	}
	json_free(doc);
	return TB_OK;
}

static enum tb_status
add_key(struct tb_buf *out, const struct model *m, const char *key, struct tb_err *err)
{
	struct model_meta mm;
	const struct gguf_kv *kv;
	char *text;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	kv = gguf_find(&mm.g, key);
	if (kv && !(status = gguf_string(kv, &mm.file, TEXT_MAX, &text, err))) {
		add(out, key, text, strlen(text), false);
		free(text);
	}
	model_meta_close(&mm);
	return status;
}

/* Where a page's texts may be: files by name, layers by kind, keys of GGUF. */
static const struct source {
	enum page page;
	enum { IN_FILE, IN_LAYER, IN_GGUF, IN_TEMPLATES } where;
	const char *name;	/* of a file or a key */
	enum media layer;
	bool json;
} sources[] = {
	{ PAGE_TEMPLATE, IN_LAYER, NULL, MEDIA_TEMPLATE, false },
	{ PAGE_TEMPLATE, IN_FILE, "chat_template.jinja", MEDIA_UNKNOWN, false },
	{ PAGE_TEMPLATE, IN_TEMPLATES, NULL, MEDIA_UNKNOWN, false },
	{ PAGE_TEMPLATE, IN_GGUF, "tokenizer.chat_template", MEDIA_UNKNOWN, false },
	{ PAGE_LICENCE, IN_LAYER, NULL, MEDIA_LICENSE, false },
	{ PAGE_LICENCE, IN_FILE, "LICENSE", MEDIA_UNKNOWN, false },
	{ PAGE_LICENCE, IN_FILE, "LICENSE.txt", MEDIA_UNKNOWN, false },
	{ PAGE_LICENCE, IN_GGUF, "general.license", MEDIA_UNKNOWN, false },
	{ PAGE_LICENCE, IN_GGUF, "general.license.link", MEDIA_UNKNOWN, false },
	{ PAGE_SETTINGS, IN_LAYER, NULL, MEDIA_PARAMS, true },
	{ PAGE_SETTINGS, IN_LAYER, NULL, MEDIA_SYSTEM, false },
	{ PAGE_SETTINGS, IN_LAYER, NULL, MEDIA_MESSAGES, true },
	{ PAGE_SETTINGS, IN_FILE, "generation_config.json", MEDIA_UNKNOWN, true },
};

static enum tb_status
add_source(struct tb_buf *out, const struct model *m, const struct source *s, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool found = true;

	if (s->where == IN_FILE)
		return add_file(out, m, s->name, s->json, err);
	if (s->where != IN_LAYER)
		return s->where == IN_GGUF ? add_key(out, m, s->name, err)
					   : add_templates(out, m, err);
	for (unsigned i = 0; found && !status && i < LICENCES_MAX; i++)
		status = add_layer(out, m, s->layer, i, s->json, &found, err);
	return status;
}

/* Several may follow: where the first is not the one in use, that is said. */
static enum tb_status
add_template_note(struct tb_buf *out, const struct model *m, struct tb_err *err)
{
	struct template_used used;
	char note[TEMPLATE_NOTE_MAX];
	enum tb_status status = model_template_used(m, &used, err);

	if (!status && used.own)
		tb_buf_printf(out, "(%s)\n\n", template_note(&used, note));
	return status;
}

enum tb_status
page_read(const struct model *m, enum page p, char **out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(4 * TEXT_MAX);
	enum tb_status status = TB_OK;

	*out = NULL;
	if (p == PAGE_TEMPLATE)
		status = add_template_note(&text, m, err);
	for (size_t i = 0; !status && i < sizeof(sources) / sizeof(*sources); i++)
		if (sources[i].page == p)
			status = add_source(&text, m, &sources[i], err);
	if (!status && text.len) {
		*out = tb_buf_take(&text);
		if (!*out)
			status = tb_nomem(err);
	}
	tb_buf_free(&text);
	return status;
}
