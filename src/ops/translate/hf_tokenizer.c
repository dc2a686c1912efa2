/* hf_tokenizer.c - tokenizer_config.json and generation_config.json from a GGUF's keys. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/translate/hf_parts.h"
#include "src/ops/translate/same_ids.h"

#define TEMPLATE_MAX (4u << 20)
#define TEMPLATE_KEY "tokenizer.chat_template"

/* ---- tokenizer.json ---- */

/* Ids that are nearly right are worse than none. */
enum tb_status
hf_tokenizer(const struct tokenizer *t, char **out, struct tb_err *err)
{
	struct tokenizer *again = NULL;
	bool same = false;
	enum tb_status status = tokenizer_write(t, out, err);

	if (status)
		return status;
	status = tokenizer_new(&again, *out, strlen(*out), NULL, 0, err);
	if (!status)
		status = same_ids(t, again, true, &same, err);
	if (!status && !same)
		status = tb_fail(err, TB_EUNSUP, "it would not give the same ids");
	tokenizer_free(again);
	if (status) {
		free(*out);
		*out = NULL;
	}
	return status;
}

/* ---- templates ---- */

static enum tb_status
text_of(const struct hf_making *h, const struct gguf_kv *kv, char **out)
{
	return gguf_string(kv, &h->mm.file, TEMPLATE_MAX, out, h->err);
}

static enum tb_status
add_named(const struct hf_making *h, const struct gguf_kv *kv, const char *name, cJSON *list)
{
	cJSON *o;
	char *text;
	enum tb_status status = text_of(h, kv, &text);

	if (status)
		return status;
	o = json_object();
	json_set_str(o, "name", name);
	json_set_str(o, "template", text);
	json_push(list, o);
	free(text);
	return TB_OK;
}

/* One, or a list of those with names where there are more. */
static enum tb_status
set_templates(const struct hf_making *h, cJSON *doc)
{
	const struct gguf_kv *kv = gguf_find(&h->mm.g, TEMPLATE_KEY);
	enum tb_status status = TB_OK;
	cJSON *list = json_array();
	bool named = false;
	char *text;

	if (kv)
		status = add_named(h, kv, "default", list);
	for (size_t i = 0; i < h->mm.g.nkv && !status; i++)
		if (tb_starts(h->mm.g.kv[i].key, TEMPLATE_KEY ".")) {
			named = true;
			status = add_named(h, &h->mm.g.kv[i], h->mm.g.kv[i].key +
					   strlen(TEMPLATE_KEY "."), list);
		}
	if (!status && named) {
		json_set(doc, "chat_template", list);
		return TB_OK;
	}
	json_free(list);
	if (status || !kv || (status = text_of(h, kv, &text)))
		return status;
	json_set_str(doc, "chat_template", text);
	free(text);
	return TB_OK;
}

/* ---- tokens ---- */

static const struct { const char *key, *gguf; } named[] = {
	{ "bos_token", "tokenizer.ggml.bos_token_id" },
	{ "eos_token", "tokenizer.ggml.eos_token_id" },
	{ "unk_token", "tokenizer.ggml.unknown_token_id" },
	{ "pad_token", "tokenizer.ggml.padding_token_id" },
	{ "sep_token", "tokenizer.ggml.seperator_token_id" },
	{ "mask_token", "tokenizer.ggml.mask_token_id" },
};

static void
set_tokens(const struct hf_making *h, cJSON *doc)
{
	const struct tokenizer *t = h->tokenizer;
	uint64_t id;
	uint32_t own;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const char *piece = NULL;

		if (gguf_u64(gguf_find(&h->mm.g, named[i].gguf), &id) && id < UINT32_MAX)
			piece = tokenizer_piece(t, (uint32_t)id);
		else if (!strcmp(named[i].key, "bos_token") && tokenizer_bos(t, &own))
			piece = tokenizer_piece(t, own);
		else if (!strcmp(named[i].key, "eos_token") && tokenizer_eos(t, &own))
			piece = tokenizer_piece(t, own);
		if (piece)
			json_set_str(doc, named[i].key, piece);
	}
}

enum tb_status
hf_tokenizer_config(const struct hf_making *h, char **out)
{
	cJSON *doc;
	enum tb_status status;

	*out = NULL;
	if (!h->tokenizer)
		return TB_OK;
	doc = json_object();
	set_tokens(h, doc);
	status = set_templates(h, doc);
	json_set_bool(doc, "clean_up_tokenization_spaces", false);
	json_set_u64(doc, "model_max_length", h->hp.context);
	/* The class that takes tokenizer.json as it is. */
	json_set_str(doc, "tokenizer_class", "PreTrainedTokenizerFast");
	*out = status ? NULL : json_print_pretty(doc);
	json_free(doc);
	return status || *out ? status : tb_nomem(h->err);
}

/* ---- how it generates ---- */

static const struct { const char *key, *gguf; } sampling[] = {
	{ "min_p", "general.sampling.min_p" },
	{ "repetition_penalty", "general.sampling.penalty_repeat" },
	{ "temperature", "general.sampling.temp" },
	{ "top_k", "general.sampling.top_k" },
	{ "top_p", "general.sampling.top_p" },
};

static void
set_ends(const struct tokenizer *t, cJSON *doc)
{
	const struct token_ids *ends = tokenizer_ends(t);
	cJSON *list;
	uint32_t eos;

	if (ends->n == 1)
		json_set_u64(doc, "eos_token_id", ends->v[0]);
	if (ends->n < 2)
		return;
	list = json_array();	/* the file's own first */
	if (tokenizer_eos(t, &eos))
		json_push_u64(list, eos);
	for (size_t i = 0; i < ends->n; i++)
		if (!tokenizer_eos(t, &eos) || ends->v[i] != eos)
			json_push_u64(list, ends->v[i]);
	json_set(doc, "eos_token_id", list);
}

enum tb_status
hf_generation_config(const struct hf_making *h, char **out)
{
	cJSON *doc;
	uint32_t id;
	double x;

	*out = NULL;
	if (!h->tokenizer)
		return TB_OK;
	doc = json_object();
	json_set_bool(doc, "_from_model_config", true);
	if (tokenizer_bos(h->tokenizer, &id))
		json_set_u64(doc, "bos_token_id", id);
	set_ends(h->tokenizer, doc);
	for (size_t i = 0; i < sizeof(sampling) / sizeof(*sampling); i++)
		if (gguf_f64(gguf_find(&h->mm.g, sampling[i].gguf), &x))
			json_set_f64(doc, sampling[i].key, hf_neat((float)x));
	*out = json_print_pretty(doc);
	json_free(doc);
	return *out ? TB_OK : tb_nomem(h->err);
}
