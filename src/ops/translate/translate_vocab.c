/* translate_vocab.c - the tokenizer and the chat templates of a model of Hugging Face's as keys
 * of a GGUF. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/translate/same_ids.h"
#include "src/ops/translate/translate_config.h"
#include "src/ops/translate/translate_rows.h"
#include "src/store/model.h"
#include "src/text/tokenizer.h"

#define TOKENIZER_MAX (256u << 20)
#define UNUSED_MAX 1000000u		/* tokens that have a row of the embedding and no text */

/* SentencePiece's own file says more than what was made of it: scores, types. */
static enum tb_status
open_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
{
	char *model, *config = NULL;
	size_t len, config_len = 0;
	struct tb_err ignored;
	enum tb_status status = model_read(m, "tokenizer.model", TOKENIZER_MAX, &model, &len, &ignored);

	*out = NULL;
	if (!status) {
		status = strict_text(m, "tokenizer_config.json", &config, &config_len, err);
		if (status) {
			free(model);
			return status;
		}
		status = tokenizer_from_spm(out, model, len, config, config_len, &ignored);
		free(config);
		free(model);
	}
	return status ? model_tokenizer(m, out, err) : TB_OK;
}

/* "pad_token" and the like of tokenizer_config.json, or "pad_token_id" of config.json. */
static void
put_others(struct gguf_keys *out, const struct tokenizer *t, const struct hf_json *c,
	   const cJSON *says)
{
	static const struct { const char *name, *key; } rows[] = {
		{ "bos", "bos_token_id" }, { "eos", "eos_token_id" },
		{ "sep", "seperator_token_id" }, { "pad", "padding_token_id" },
		{ "cls", "cls_token_id" }, { "mask", "mask_token_id" } };
	char key[64];
	uint32_t has;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const cJSON *v;
		const char *s;
		uint64_t id;

		if ((i == 0 && tokenizer_bos(t, &has)) || (i == 1 && tokenizer_eos(t, &has)))
			continue;	/* said already */
		snprintf(key, sizeof(key), "%s_token", rows[i].name);
		v = json_get(says, key);
		s = json_is_object(v) ? json_str(json_get(v, "content")) : json_str(v);
		if (!s || !tokenizer_find(t, s, &has)) {
			snprintf(key, sizeof(key), "%s_token_id", rows[i].name);
			v = config_find(c, key);
			if (json_is_array(v))
				v = json_first(v);
			if (!json_u64(v, &id) || id >= tokenizer_size(t))
				continue;
			has = (uint32_t)id;
		}
		snprintf(key, sizeof(key), "tokenizer.ggml.%s", rows[i].key);
		gguf_put_u32(out, key, has);
	}
}

/* One, or a list of { "name", "template" }: "default" is the one. */
static void
put_template(struct gguf_keys *out, const cJSON *v)
{
	const char *name, *text;
	char key[128];
	size_t n = 0;

	if (json_str(v))
		gguf_put_str(out, "tokenizer.chat_template", json_str(v));
	for (int pass = 0; pass < 2 && json_is_array(v); pass++) {
		if (pass && n)
			gguf_put_array(out, "tokenizer.chat_templates", GGUF_STRING, n);
		for (const cJSON *t = json_first(v); t; t = json_next(t)) {
			name = json_str(json_get(t, "name"));
			text = json_str(json_get(t, "template"));
			if (!name || !text || !*name || strlen(name) > 64)
				continue;
			if (!strcmp(name, "default") && !pass)
				gguf_put_str(out, "tokenizer.chat_template", text);
			else if (strcmp(name, "default") != 0 && pass)
				gguf_item_str(out, name, strlen(name));
			n += !pass && strcmp(name, "default") != 0;
		}
	}
	for (const cJSON *t = json_is_array(v) ? json_first(v) : NULL; t; t = json_next(t)) {
		name = json_str(json_get(t, "name"));
		text = json_str(json_get(t, "template"));
		if (!name || !text || !*name || strlen(name) > 64 || !strcmp(name, "default"))
			continue;
		snprintf(key, sizeof(key), "tokenizer.chat_template.%s", name);
		gguf_put_str(out, key, text);
	}
}

static enum tb_status
put_templates(struct gguf_keys *out, const struct model *m, const cJSON *says, struct tb_err *err)
{
	char *jinja;
	cJSON *json = NULL;
	enum tb_status status = optional_text(m, "chat_template.jinja", &jinja, err);

	if (status)
		return status;
	if (json_get(says, "chat_template") && !json_is_null(json_get(says, "chat_template"))) {
		put_template(out, json_get(says, "chat_template"));
	} else if (jinja) {
		gguf_put_str(out, "tokenizer.chat_template", jinja);
	} else {
		status = optional_json(m, "chat_template.json", &json, err);
		put_template(out, json_get(json, "chat_template"));
		json_free(json);
	}
	free(jinja);
	return status;
}

/* As readers of such a file have it. */
static enum tb_status
read_again(const struct gguf_keys *keys, struct tokenizer **out, struct tb_err *err)
{
	struct tb_buf head = TB_BUF(GGUF_HEAD_MAX);
	struct tb_file f = { .fd = -1 };
	struct gguf g = { 0 };
	char path[32];
	uint64_t size;
	int fd = memfd_create("tokenizer", MFD_CLOEXEC);
	enum tb_status status = fd < 0 ? tb_fail_errno(err, "memory for a tokenizer")
				       : gguf_layout(keys, NULL, 0, &head, &size, err);

	if (!status && write(fd, head.p, head.len) != (ssize_t)head.len)
		status = tb_nomem(err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!status)
		status = tb_file_open(&f, path, err);
	if (!status)
		status = gguf_read(&g, &f, err);
	if (!status)
		status = tokenizer_from_gguf(out, &g, &f, err);
	gguf_free(&g);
	tb_file_close(&f);
	if (fd >= 0)
		close(fd);
	tb_buf_free(&head);
	return status;
}

/* Its keys; without a word of a person's, only such as give the same ids. */
static enum tb_status
put_vocab(struct gguf_keys *out, const struct tokenizer *t, size_t size, const char *pre,
	  const struct model *m, struct tb_err *err)
{
	struct gguf_keys own = GGUF_KEYS();
	struct tokenizer *again = NULL;
	bool same = true;
	enum tb_status status = tokenizer_to_gguf(t, size, pre, &own, err);

	if (!status && !pre)
		status = read_again(&own, &again, err);
	if (!status && !pre)
		status = same_ids(t, again, false, &same, err);
	if (!status && !same)
		status = tb_fail(err, TB_EUNSUP, "%s: a GGUF cannot say all of its tokenizer, and text "
				 "would become other ids; --pre NAME (default, say) writes it nevertheless",
				 m->loc.path);
	if (!status)
		gguf_put_keys(out, &own);
	tokenizer_free(again);
	gguf_keys_free(&own);
	return status;
}

enum tb_status
translate_vocab(struct gguf_keys *out, const struct translate *t, const struct hf_json *c,
		const struct model *m, const struct translate_ask *ask, struct tb_err *err)
{
	struct tokenizer *tok = NULL;
	cJSON *says = NULL;
	uint32_t vocab = config_u32(c, "vocab_size");
	enum tb_status status = open_tokenizer(m, &tok, err);

	(void)t;
	if (status)
		return status;
	if (vocab > tokenizer_size(tok) + UNUSED_MAX)
		status = tb_fail(err, TB_EFORMAT, "config.json: vocab_size is %" PRIu32 ", and the "
				 "tokenizer has %zu tokens", vocab, tokenizer_size(tok));
	if (!status)
		status = strict_json(m, "tokenizer_config.json", &says, err);
	if (!status)
		status = put_vocab(out, tok, vocab, ask->pre, m, err);
	if (!status) {
		put_others(out, tok, c, says);
		status = put_templates(out, m, says, err);
	}
	json_free(says);
	tokenizer_free(tok);
	return status;
}
