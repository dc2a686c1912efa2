/* model_template.c - which template a model's conversations are written with. */
#include "config.h"

#include "src/ops/model_text/model_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf_array.h"
#include "src/format/json.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"
#include "src/text/chat_template.h"

#define PIECE_MAX 1024
#define SMALL_MAX (4u << 20)

/* A string, or { "content": string }; *out NULL: neither. */
static enum tb_status
special_piece(const cJSON *config, const char *key, char **out, struct tb_err *err)
{
	const cJSON *v = json_get(config, key);
	const char *s = json_is_object(v) ? json_str(json_get(v, "content")) : json_str(v);

	*out = s ? tb_strdup(s) : NULL;
	return s && !*out ? tb_nomem(err) : TB_OK;
}

/* A string, or a list of { name, template } of which "default" is meant. */
static const char *
template_in(const cJSON *config)
{
	const cJSON *v = json_get(config, "chat_template");

	if (!json_is_array(v))
		return json_str(v);
	for (const cJSON *t = json_first(v); t; t = json_next(t)) {
		const char *name = json_str(json_get(t, "name"));

		if (name && !strcmp(name, "default"))
			return json_str(json_get(t, "template"));
	}
	return NULL;
}

/* ---- GGUF ---- */

/* The piece whose id is said under a key, without reading the vocabulary as a whole; one
 * that is known already stays.  *out NULL: there is none. */
static enum tb_status
piece_of(const struct model_meta *mm, const char *key, char **out, struct tb_err *err)
{
	const struct gguf_kv *kv = gguf_find(&mm->g, "tokenizer.ggml.tokens");
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status, read;
	uint64_t id;

	if (*out || !kv || kv->elem != GGUF_STRING || !gguf_u64(gguf_find(&mm->g, key), &id) ||
	    id >= kv->count)
		return TB_OK;
	if ((status = gguf_array_open(&a, kv, &mm->file, err)))
		return status;
	for (uint64_t i = 0; gguf_array_next(a, &item); i++) {
		if (i < id)
			continue;
		if (item.len <= PIECE_MAX && !(*out = tb_strdup(item.s)))
			status = tb_nomem(err);
		break;
	}
	read = gguf_array_close(a);
	return read ? read : status;
}

/* TB_ENOENT: it is of no GGUF, or has no template. */
static enum tb_status
gguf_template(const struct model *m, char **text, char **bos, char **eos, struct tb_err *err)
{
	const struct gguf_kv *kv;
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	kv = gguf_find(&mm.g, "tokenizer.chat_template");
	status = piece_of(&mm, "tokenizer.ggml.bos_token_id", bos, err);
	if (!status)
		status = piece_of(&mm, "tokenizer.ggml.eos_token_id", eos, err);
	if (!status)
		status = kv ? gguf_string(kv, &mm.file, SMALL_MAX, text, err)
			    : tb_fail(err, TB_ENOENT, "%s: has no tokenizer.chat_template",
				      mm.file.path);
	model_meta_close(&mm);
	return status;
}

/* Its own, in Jinja. TB_ENOENT: it has none. */
static enum tb_status
jinja_template(const struct model *m, const cJSON *config, struct chat_template **out, char **bos,
	       char **eos, const char **source, struct tb_err *err)
{
	const char *text = template_in(config);
	char *file = NULL;
	size_t len = 0;
	enum tb_status status = strict_text(m, "chat_template.jinja", &file, &len, err);

	if (status || file || text) {
		*source = status || file ? "chat_template.jinja" : "tokenizer_config.json";
		if (!status)
			status = chat_template_new(out, file ? file : text,
						   file ? len : strlen(text), err);
		free(file);
		return status;
	}
	status = gguf_template(m, &file, bos, eos, err);
	*source = status == TB_ENOENT ? NULL : "GGUF";
	if (!status)
		status = chat_template_new(out, file, strlen(file), err);
	free(file);
	return status;
}

/* ---- a TEMPLATE of its store, in Go's language ---- */

static enum tb_status
said_again(struct tb_err *err, const struct tb_err *why)
{
	if (err)
		*err = *why;
	return why->code;
}

/* *out NULL: it has none, or one that cannot be run, which *why says then. */
static enum tb_status
own_template(const struct model *m, struct chat_template **out, struct template_used *used,
	     struct tb_err *why, struct tb_err *err)
{
	char *text = NULL;
	size_t len;
	enum tb_status status = TB_ENOENT;

	*out = NULL;
	*why = (struct tb_err){ .code = TB_OK };
	for (size_t i = 0; i < m->nfiles; i++)
		used->own |= m->files[i].media == MEDIA_TEMPLATE;
	if (used->own)
		status = model_read_layer(m, MEDIA_TEMPLATE, 0, SMALL_MAX, &text, &len, why);
	if (!status)
		status = chat_template_new_go(out, text, len, why);
	free(text);
	if (status == TB_ENOMEM || status == TB_EIO) {
		return said_again(err, why);
	}
	return TB_OK;
}

/* Ollama writes conversations of some models with code of its own. */
static enum tb_status
read_renderer(const struct model *m, struct template_used *used, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = optional_layer(m, MEDIA_CONFIG, &doc, err);
	const char *name = status ? NULL : json_str(json_get(doc, "renderer"));

	if (name)
		tb_text_clean(name, used->renderer, sizeof(used->renderer));
	if (!status)
		json_free(doc);
	return status;
}

/* A GGUF's Jinja template is preferred where it has learnt more, as Ollama does. */
static bool
knows_more(const struct chat_template *jinja, const struct chat_template *own)
{
	struct chat_template_can j = chat_template_can(jinja), o = chat_template_can(own);

	if (j.tools + j.thinking > o.tools + o.thinking)
		return !o.results || j.results;
	return j.tools && o.tools && j.thinking == o.thinking && j.results && !o.results;
}

/* Which of the two it is; both may be NULL. */
static enum template_why
choose_template(const struct chat_template *own, const struct chat_template *jinja,
		const struct template_used *used)
{
	if (!own && used->own)
		return TEMPLATE_BROKEN;
	if (!own)
		return *used->renderer ? TEMPLATE_RENDERER : TEMPLATE_ONLY;
	if (!jinja)
		return TEMPLATE_OWN;
	if (*used->renderer)
		return TEMPLATE_RENDERER;
	if (chat_template_can(own).plain)
		return TEMPLATE_PLAIN;
	if (used->source && !strcmp(used->source, "GGUF") && knows_more(jinja, own))
		return TEMPLATE_MORE;
	return TEMPLATE_OWN;
}

static enum tb_status
pick_template(const struct model *m, const cJSON *config, struct chat_template **out, char **bos,
	      char **eos, struct template_used *used, struct tb_err *err)
{
	struct chat_template *own = NULL, *jinja = NULL;
	char note[TEMPLATE_NOTE_MAX];
	struct tb_err broken, no_jinja;
	enum tb_status status = read_renderer(m, used, err), found;

	if (!status)
		status = own_template(m, &own, used, &broken, err);
	if (status)
		return status;
	found = jinja_template(m, config, &jinja, bos, eos, &used->source, &no_jinja);
	used->why = choose_template(own, jinja, used);
	if (used->why == TEMPLATE_OWN) {
		used->source = TEMPLATE_OF_STORE;
		used->go = true;
		chat_template_free(jinja);
		*out = own;
		return TB_OK;
	}
	chat_template_free(own);
	*out = jinja;
	if (!found)
		return TB_OK;
	if (found != TB_ENOENT)
		return said_again(err, &no_jinja);
	if (used->why == TEMPLATE_BROKEN)
		return tb_wrap(err, said_again(err, &broken), TEMPLATE_OF_STORE);
	return tb_fail(err, TB_ENOENT, "%s (TEMPLATE of an Ollama model, chat_template of "
		       "tokenizer_config.json, or tokenizer.chat_template of a GGUF, would be used)",
		       template_note(used, note));
}

/* Jinja has statements between {% and %}, Go has none; where neither says it, its name does. */
static bool
is_go(const char *path, const char *text)
{
	if (tb_ends(path, ".gotmpl") || tb_ends(path, ".jinja"))
		return tb_ends(path, ".gotmpl");
	return !strstr(text, "{%") && (strstr(text, "{{ .") || strstr(text, "{{.") ||
				       strstr(text, "{{- ") || strstr(text, "{{ if ") ||
				       strstr(text, "{{if "));
}

static enum tb_status
given_template(const char *path, struct chat_template **out, struct template_used *used,
	       struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = tb_file_slurp(path, SMALL_MAX, &text, &len, err);

	if (status == TB_ENOENT)	/* no reason to go without one */
		return tb_fail(err, TB_EUSAGE, "--template %s: there is no such file", path);
	if (status)
		return status;
	used->why = TEMPLATE_GIVEN;
	used->source = "--template";
	used->go = is_go(path, text);
	status = used->go ? chat_template_new_go(out, text, len, err)
			  : chat_template_new(out, text, len, err);
	free(text);
	return status ? tb_wrap(err, status, "%s", path) : TB_OK;
}

/* What a given template finds under bos_token and eos_token. */
static enum tb_status
gguf_pieces(const struct model *m, char **bos, char **eos, struct tb_err *err)
{
	char *text = NULL;
	enum tb_status status = gguf_template(m, &text, bos, eos, err);

	free(text);
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
model_template(const struct model *m, const char *given, struct chat_template **out, char **bos,
	       char **eos, struct template_used *used, struct tb_err *err)
{
	cJSON *config;
	enum tb_status status = strict_json(m, "tokenizer_config.json", &config, err);

	*out = NULL;
	*bos = *eos = NULL;
	*used = (struct template_used){ .source = NULL };
	if (status)
		return status;
	status = special_piece(config, "bos_token", bos, err);
	if (!status)
		status = special_piece(config, "eos_token", eos, err);
	if (!status && given)
		status = gguf_pieces(m, bos, eos, err);
	if (!status)
		status = given ? given_template(given, out, used, err)
			       : pick_template(m, config, out, bos, eos, used, err);
	json_free(config);
	return status;
}

enum tb_status
model_template_used(const struct model *m, struct template_used *used, struct tb_err *err)
{
	struct chat_template *t;
	char *bos, *eos;
	enum tb_status status = model_template(m, NULL, &t, &bos, &eos, used, err);

	if (!status)
		chat_template_free(t);
	free(bos);
	free(eos);
	return status == TB_ENOMEM ? status : TB_OK;
}

static const char *
article(const struct template_used *used)
{
	return used->source && !strcmp(used->source, "GGUF") ? "its " : "";
}

const char *
template_note(const struct template_used *used, char out[TEMPLATE_NOTE_MAX])
{
	char then[80];
	size_t n = 0;

	*out = 0;
	snprintf(then, sizeof(then), "the Jinja template of %s%s is used", article(used),
		 used->source ? used->source : "");
	if (used->source && used->why == TEMPLATE_BROKEN)
		n = (size_t)snprintf(out, TEMPLATE_NOTE_MAX, "its own TEMPLATE cannot be run: ");
	else if (used->source && used->why == TEMPLATE_PLAIN)
		n = (size_t)snprintf(out, TEMPLATE_NOTE_MAX, "its TEMPLATE does not say who speaks: ");
	else if (used->source && used->why == TEMPLATE_MORE)
		n = (size_t)snprintf(out, TEMPLATE_NOTE_MAX, "its TEMPLATE knows less: ");
	else if (used->source && used->why == TEMPLATE_RENDERER)
		n = (size_t)snprintf(out, TEMPLATE_NOTE_MAX, "Ollama has code of its own for it "
				     "(renderer %s): ", used->renderer);
	else if (!used->source && used->why == TEMPLATE_BROKEN)
		snprintf(out, TEMPLATE_NOTE_MAX, "its TEMPLATE cannot be run, and there is no other");
	else if (!used->source && *used->renderer)
		snprintf(out, TEMPLATE_NOTE_MAX, "it has no chat template, only the name of one "
			 "within Ollama (renderer %s)", used->renderer);
	else if (!used->source)
		snprintf(out, TEMPLATE_NOTE_MAX, "it has no chat template");
	if (n && n < TEMPLATE_NOTE_MAX)
		snprintf(out + n, TEMPLATE_NOTE_MAX - n, "%s", then);
	return out;
}

const char *
template_said(const struct template_used *used, char out[TEMPLATE_NOTE_MAX])
{
	char note[TEMPLATE_NOTE_MAX];

	template_note(used, note);
	if (!used->source || *note)
		snprintf(out, TEMPLATE_NOTE_MAX, "%s", note);
	else if (used->why == TEMPLATE_GIVEN)
		snprintf(out, TEMPLATE_NOTE_MAX, "used: the file of --template, in %s",
			 used->go ? "Go's language" : "Jinja");
	else if (used->go)
		snprintf(out, TEMPLATE_NOTE_MAX, "used: %s, in Go's language", used->source);
	else
		snprintf(out, TEMPLATE_NOTE_MAX, "used: that of %s%s, in Jinja", article(used),
			 used->source);
	return out;
}
