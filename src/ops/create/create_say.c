/* create_say.c - the Modelfile of a model that is there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/create/create_parts.h"
#include "src/store/kind.h"

struct say {
	const struct model *m;
	struct tb_buf *out;
	bool inherits;		/* FROM names a model: what is not said stays */
};

static void
comment(struct say *s, const char *what, const char *why)
{
	struct tb_buf b = TB_BUF(4096);

	tb_text_clip(&b, what, 200, false);
	tb_buf_printf(s->out, "# %s: %s%s\n", tb_buf_cstr(&b), why,
		      s->inherits ? "; comes along with FROM" : "; left out");
	tb_buf_free(&b);
}

static void
say_command(struct say *s, enum modelfile_word word, const char *name, const char *value)
{
	const struct modelfile_command c = { word, name, value, 0 };

	if (!modelfile_say(s->out, &c))
		comment(s, modelfile_word(word), "no Modelfile can say what it is");
}

static void
say_text(struct say *s, enum modelfile_word word, const char *value)
{
	if (value && *value)
		say_command(s, word, "", value);
}

/* Blobs of one kind, by their paths. */
static void
say_files(struct say *s, enum media kind, enum modelfile_word word)
{
	for (size_t i = 0; i < s->m->nfiles; i++) {
		const struct model_file *f = &s->m->files[i];

		if (f->is_manifest || f->media != kind || !f->digest[0])
			continue;
		if (s->inherits)
			comment(s, modelfile_word(word), f->path);
		else
			say_command(s, word, "", f->path);
	}
}

/* All layers of a kind of text. */
static enum tb_status
say_layers(struct say *s, enum media kind, enum modelfile_word word, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *text;

	for (unsigned i = 0; !status; i++) {
		status = model_read_layer(s->m, kind, i, CREATE_TEXT_MAX, &text, NULL, err);
		if (!status)
			say_text(s, word, text);
		if (!status)
			free(text);
	}
	return status == TB_ENOENT ? TB_OK : status;
}

/* One value; what create would refuse is a comment. */
static void
say_param(struct say *s, const char *name, const cJSON *v)
{
	struct tb_buf value = TB_BUF(CREATE_TEXT_MAX), notes = TB_BUF(4096);
	struct param_set ps = { 0 };

	if (json_str(v))
		tb_buf_str(&value, json_str(v));
	else
		json_put_go(&value, v);
	if (params_set(&ps, name, tb_buf_cstr(&value), &notes, NULL) || notes.len)
		comment(s, name, "no PARAMETER that there is today");
	else
		say_command(s, MODELFILE_PARAMETER, name, tb_buf_cstr(&value));
	params_free(&ps);
	tb_buf_free(&value);
	tb_buf_free(&notes);
}

/* The first layer of a kind; *doc NULL: the model has none. */
static enum tb_status
read_json(const struct say *s, enum media kind, const char *what, cJSON **doc, struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = model_read_layer(s->m, kind, 0, CREATE_TEXT_MAX, &text, &len, err);

	*doc = NULL;
	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	status = json_parse(doc, text, len, what, err);
	free(text);
	return status;
}

static enum tb_status
say_params(struct say *s, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = read_json(s, MEDIA_PARAMS, "the parameters", &doc, err);

	for (const cJSON *p = json_first(doc); p && !status; p = json_next(p)) {
		if (!json_is_array(p))
			say_param(s, json_key(p), p);
		for (const cJSON *v = json_is_array(p) ? json_first(p) : NULL; v; v = json_next(v))
			say_param(s, json_key(p), v);
	}
	json_free(doc);
	return status;
}

static enum tb_status
say_messages(struct say *s, struct tb_err *err)
{
	static const char *const roles[] = { "system", "user", "assistant" };
	cJSON *doc;
	enum tb_status status = read_json(s, MEDIA_MESSAGES, "the messages", &doc, err);

	for (const cJSON *v = json_is_array(doc) ? json_first(doc) : NULL; v; v = json_next(v)) {
		const char *role = json_str(json_get(v, "role"));
		const char *content = json_str(json_get(v, "content"));
		bool known = false;

		for (size_t i = 0; role && i < sizeof(roles) / sizeof(*roles); i++)
			known |= !strcmp(role, roles[i]);
		if (known && content)
			say_command(s, MODELFILE_MESSAGE, role, content);
		else
			comment(s, "MESSAGE", "of a role that a Modelfile has not");
	}
	json_free(doc);
	return status;
}

static enum tb_status
say_config(struct say *s, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = read_json(s, MEDIA_CONFIG, "the config blob", &doc, err);

	say_text(s, MODELFILE_RENDERER, json_str(json_get(doc, "renderer")));
	say_text(s, MODELFILE_PARSER, json_str(json_get(doc, "parser")));
	say_text(s, MODELFILE_REQUIRES, json_str(json_get(doc, "requires")));
	json_free(doc);
	return status;
}

/* A GGUF is its blob; of tensors and folders, the model that has them. */
static void
say_from(struct say *s)
{
	const struct model *m = s->m;
	struct tb_buf name = TB_BUF(4096);

	tb_text_clip(&name, m->loc.name, 200, false);
	tb_buf_printf(s->out, "# Modelfile of %s, by \"tbtui show --modelfile\"; \"tbtui create NAME -f "
		      "FILE\" reads it\n", tb_buf_cstr(&name));
	tb_buf_free(&name);
	for (size_t i = 0; i < m->nfiles; i++) {
		if (m->files[i].is_manifest || m->files[i].media != MEDIA_MODEL || m->files[i].from)
			continue;
		say_command(s, MODELFILE_FROM, "", m->files[i].path);
		return;
	}
	s->inherits = kind_has_manifest(m->loc.kind);
	say_command(s, MODELFILE_FROM, "", s->inherits ? m->loc.name : m->loc.path);
}

enum tb_status
create_modelfile(const struct model *m, struct tb_buf *out, struct tb_err *err)
{
	struct say s = { .m = m, .out = out };
	enum tb_status status;

	say_from(&s);
	if (!kind_has_manifest(m->loc.kind))
		return tb_buf_status(out, "the Modelfile", err);
	say_files(&s, MEDIA_PROJECTOR, MODELFILE_FROM);
	say_files(&s, MEDIA_ADAPTER, MODELFILE_ADAPTER);
	say_files(&s, MEDIA_DRAFT, MODELFILE_DRAFT);
	status = say_layers(&s, MEDIA_TEMPLATE, MODELFILE_TEMPLATE, err);
	if (!status)
		status = say_layers(&s, MEDIA_SYSTEM, MODELFILE_SYSTEM, err);
	if (!status)
		status = say_config(&s, err);
	if (!status)
		status = say_params(&s, err);
	if (!status)
		status = say_layers(&s, MEDIA_LICENSE, MODELFILE_LICENSE, err);
	if (!status)
		status = say_messages(&s, err);
	return status ? status : tb_buf_status(out, "the Modelfile", err);
}
