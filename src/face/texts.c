#include "config.h"

#include "src/face/texts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model_meta.h"

#define LAYERS_MAX 1000u	/* of one media type */

const struct text_info text_info[TEXT_COUNT] = {
#define X(id, key, title, json) [id] = { key, title, json },
	TEXT_LIST(X)
#undef X
};

/* Where texts may be, best first. */
static const struct text_source {
	enum text_kind kind;
	enum { IN_FILE, IN_LAYERS, IN_GGUF, IN_TOKENIZER_CONFIG } where;
	const char *name;		/* of a file or a key */
	enum media layer;
} text_sources[] = {
	{ TEXT_CONFIG, IN_FILE, "config.json", MEDIA_UNKNOWN },
	{ TEXT_STORE_CONFIG, IN_LAYERS, NULL, MEDIA_CONFIG },
	{ TEXT_TEMPLATE, IN_LAYERS, NULL, MEDIA_TEMPLATE },
	{ TEXT_TEMPLATE, IN_FILE, "chat_template.jinja", MEDIA_UNKNOWN },
	{ TEXT_TEMPLATE, IN_TOKENIZER_CONFIG, "tokenizer_config.json", MEDIA_UNKNOWN },
	{ TEXT_TEMPLATE, IN_GGUF, "tokenizer.chat_template", MEDIA_UNKNOWN },
	{ TEXT_LICENCE, IN_LAYERS, NULL, MEDIA_LICENSE },
	{ TEXT_LICENCE, IN_FILE, "LICENSE", MEDIA_UNKNOWN },
	{ TEXT_LICENCE, IN_FILE, "LICENSE.txt", MEDIA_UNKNOWN },
	{ TEXT_LICENCE, IN_GGUF, "general.license", MEDIA_UNKNOWN },
	{ TEXT_LICENCE, IN_GGUF, "general.license.link", MEDIA_UNKNOWN },
	{ TEXT_SETTINGS, IN_LAYERS, NULL, MEDIA_PARAMS },
	{ TEXT_SYSTEM, IN_LAYERS, NULL, MEDIA_SYSTEM },
	{ TEXT_MESSAGES, IN_LAYERS, NULL, MEDIA_MESSAGES },
	{ TEXT_SETTINGS, IN_FILE, "generation_config.json", MEDIA_UNKNOWN },
};

/* A licence may lie in the folder and be no part of the model. */
static enum tb_status
read_beside(const char *dir, const char *name, char **text, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	size_t len;
	enum tb_status status = !path ? tb_nomem(err)
			      : !tb_exists(path) ? tb_fail(err, TB_ENOENT, "%s: no %s", dir, name)
			      : tb_file_slurp(path, TEXT_MAX, text, &len, err);

	free(path);
	return status;
}

static enum tb_status
read_key(const struct model *m, const char *key, char **text, struct tb_err *err)
{
	struct model_meta mm;
	const struct gguf_kv *kv;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	kv = gguf_find(&mm.g, key);
	status = kv ? gguf_string(kv, &mm.file, TEXT_MAX, text, err)
		    : tb_fail(err, TB_ENOENT, "%s: has no %s", mm.file.path, key);
	model_meta_close(&mm);
	return status;
}

/* The i-th text of a source; TB_ENOENT: there are no more. */
static enum tb_status
read_source(const struct model *m, const struct text_source *s, unsigned i, char **text,
	    struct tb_err *err)
{
	enum tb_status status;
	size_t len;

	*text = NULL;
	if (s->where == IN_LAYERS && i < LAYERS_MAX)
		return model_read_layer(m, s->layer, i, TEXT_MAX, text, &len, err);
	if (i)
		return TB_ENOENT;
	if (s->where == IN_GGUF)
		return read_key(m, s->name, text, err);
	status = model_read(m, s->name, TEXT_MAX, text, &len, err);
	if (status == TB_ENOENT && s->kind == TEXT_LICENCE && kind_is_folder(m->loc.kind))
		status = read_beside(m->loc.path, s->name, text, err);
	return status;
}

/* A template written as a string of JSON; there may be a list of them with names. */
static enum tb_status
each_template(const char *config, const char *file, text_fn *fn, void *arg, bool *more,
	      struct tb_err *err)
{
	cJSON *doc;
	const cJSON *v;
	enum tb_status status = json_parse_python(&doc, config, strlen(config), file, err);

	if (status)
		return status;
	v = json_get(doc, "chat_template");
	if (json_str(v))
		*more = fn(arg, TEXT_TEMPLATE, file, json_str(v));
	for (const cJSON *t = json_is_array(v) ? json_first(v) : NULL; t && *more; t = json_next(t)) {
		const char *name = json_str(json_get(t, "name"));
		const char *s = json_str(json_get(t, "template"));

		if (s)
			*more = fn(arg, TEXT_TEMPLATE, name ? name : file, s);
	}
	json_free(doc);
	return TB_OK;
}

enum tb_status
texts_each(const struct model *m, unsigned kinds, text_fn *fn, void *arg, struct tb_err *err)
{
	enum tb_status status, first = TB_OK;
	struct tb_err why;
	bool more = true;

	for (size_t i = 0; more && i < sizeof(text_sources) / sizeof(*text_sources); i++) {
		const struct text_source *s = &text_sources[i];
		char *text;

		for (unsigned k = 0; kinds >> s->kind & 1 && more; k++) {
			status = read_source(m, s, k, &text, &why);
			if (!status && s->where == IN_TOKENIZER_CONFIG)
				status = each_template(text, s->name, fn, arg, &more, &why);
			else if (!status)
				more = fn(arg, s->kind, s->name ? s->name : media_name(s->layer), text);
			free(text);
			if (status && status != TB_ENOENT && !first)
				first = tb_pass(err, &why);
			if (status)
				break;
		}
	}
	return first;
}

struct first_text { char *text; bool found; };

static bool
keep_first(void *arg, enum text_kind kind, const char *name, const char *text)
{
	struct first_text *f = arg;

	(void)kind;
	(void)name;
	f->found = true;
	f->text = tb_strdup(text);
	return false;
}

enum tb_status
text_first(const struct model *m, enum text_kind kind, char **out, struct tb_err *err)
{
	struct first_text f = { NULL, false };
	enum tb_status status = texts_each(m, 1u << kind, keep_first, &f, err);

	*out = f.text;
	return status ? status : f.found && !f.text ? tb_nomem(err) : TB_OK;
}

enum tb_status
text_lay_out(const char *json, char **out, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_parse(&doc, json, strlen(json), "text", err);

	*out = NULL;
	if (status)
		return status == TB_ENOMEM ? status : TB_OK;
	*out = json_print_pretty(doc);
	json_free(doc);
	return *out ? TB_OK : tb_nomem(err);
}

static bool
add_to_page(void *arg, enum text_kind kind, const char *name, const char *text)
{
	struct tb_buf *page = arg;
	char *pretty = NULL;

	if (text_info[kind].json)	/* without memory, as it is */
		(void)!text_lay_out(text, &pretty, NULL);
	tb_buf_printf(page, "%s-- %s --\n\n", page->len ? "\n\n" : "", name);
	tb_buf_str(page, pretty ? pretty : text);
	free(pretty);
	return true;
}

enum tb_status
texts_page(const struct model *m, unsigned kinds, char **out, struct tb_err *err)
{
	struct tb_buf page = TB_BUF(4 * (size_t)TEXT_MAX);
	struct template_used used = { .source = NULL };
	char note[TEMPLATE_NOTE_MAX];
	enum tb_status status = TB_OK;

	*out = NULL;
	if (kinds >> TEXT_TEMPLATE & 1)
		status = model_template_used(m, &used, err);
	if (!status && (used.source || used.own))	/* several may follow */
		tb_buf_printf(&page, "(%s)", template_said(&used, note));
	if (!status)
		status = texts_each(m, kinds, add_to_page, &page, err);
	if (!status && page.len && !(*out = tb_buf_take(&page)))
		status = tb_nomem(err);
	tb_buf_free(&page);
	return status;
}
