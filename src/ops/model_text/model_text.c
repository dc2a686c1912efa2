#include "config.h"

#include "src/ops/model_text/model_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
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

static enum tb_status
new_template(const struct model *m, const cJSON *config, struct chat_template **out, char **bos,
	     char **eos, struct template_used *used, struct tb_err *err)
{
	const char *text = template_in(config);
	char *file = NULL, note[TEMPLATE_NOTE_MAX];
	size_t len = 0;
	enum tb_status status = strict_text(m, "chat_template.jinja", &file, &len, err);

	if (status || file || text) {
		used->source = status || file ? "chat_template.jinja" : "tokenizer_config.json";
		if (!status)
			status = chat_template_new(out, file ? file : text,
						   file ? len : strlen(text), err);
		free(file);
		return status;
	}
	status = gguf_template(m, &file, bos, eos, err);
	used->source = status == TB_ENOENT ? NULL : "GGUF";
	if (!status)
		status = chat_template_new(out, file, strlen(file), err);
	else if (status == TB_ENOENT)
		status = tb_fail(err, TB_ENOENT, "%s (chat_template of tokenizer_config.json, or "
				 "tokenizer.chat_template of a GGUF, would be used)",
				 template_note(used, note));
	free(file);
	return status;
}

enum tb_status
model_template(const struct model *m, struct chat_template **out, char **bos, char **eos,
	       struct template_used *used, struct tb_err *err)
{
	cJSON *config;
	enum tb_status status = strict_json(m, "tokenizer_config.json", &config, err);

	*out = NULL;
	*bos = *eos = NULL;
	*used = (struct template_used){ .source = NULL };
	for (size_t i = 0; i < m->nfiles; i++)
		used->own |= m->files[i].media == MEDIA_TEMPLATE;
	if (status)
		return status;
	status = special_piece(config, "bos_token", bos, err);
	if (!status)
		status = special_piece(config, "eos_token", eos, err);
	if (!status)
		status = new_template(m, config, out, bos, eos, used, err);
	json_free(config);
	return status;
}

enum tb_status
model_template_used(const struct model *m, struct template_used *used, struct tb_err *err)
{
	struct chat_template *t;
	char *bos, *eos;
	enum tb_status status = model_template(m, &t, &bos, &eos, used, err);

	if (!status)
		chat_template_free(t);
	free(bos);
	free(eos);
	return status == TB_ENOMEM ? status : TB_OK;
}

const char *
template_note(const struct template_used *used, char out[TEMPLATE_NOTE_MAX])
{
	*out = 0;
	if (used->own && used->source)
		snprintf(out, TEMPLATE_NOTE_MAX, "its own chat template is in Go's language, which "
			 "is not run yet: the Jinja template of %s is used", used->source);
	else if (used->own)
		snprintf(out, TEMPLATE_NOTE_MAX, "its chat template is in Go's language, which is "
			 "not run yet, and there is no other");
	else if (!used->source)
		snprintf(out, TEMPLATE_NOTE_MAX, "it has no chat template");
	return out;
}
