/* tok_read_ends.c - which tokens begin and end a text. */
#include "config.h"

#include <string.h>

#include "src/text/tok.h"
#include "src/text/tok_json.h"

#define ENDS_MAX 64		/* tokens on either side */

static enum tb_status
push_end(const struct tokenizer *t, struct token_ids *ids, uint64_t id, struct tb_err *err)
{
	/* Ids may have gaps: below n is not enough. */
	if (id >= t->vocab.n || !t->vocab.piece[id].s || ids->n == ENDS_MAX)
		return tb_fail(err, TB_EFORMAT, "tokenizer: the post-processor adds what "
			       "cannot be a token");
	return tok_ids_push(ids, (uint32_t)id) ? TB_OK : tb_nomem(err);
}

/* The ids of a special token as the template defines it, else of its text. */
static enum tb_status
push_named(struct tokenizer *t, struct token_ids *ids, const cJSON *spec, const char *name,
	   struct tb_err *err)
{
	const cJSON *list = json_get(json_get(json_get(spec, "special_tokens"), name), "ids");
	enum tb_status status = TB_OK;
	uint32_t known;
	uint64_t id;

	for (const cJSON *c = json_first(list); c && !status; c = json_next(c))
		status = json_u64(c, &id) ? push_end(t, ids, id, err)
					  : push_end(t, ids, UINT64_MAX, err);
	if (json_first(list) || status)
		return status;
	if (!tok_vocab_find(&t->vocab, name, strlen(name), &known))
		return tb_fail(err, TB_EFORMAT, "tokenizer: the post-processor's token \"%.60s\" "
			       "is unknown", name);
	return push_end(t, ids, known, err);
}

static enum tb_status
read_template(struct tokenizer *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool after = false;

	for (const cJSON *c = json_first(json_get(spec, "single")); c && !status;
	     c = json_next(c)) {
		const char *name = json_str(json_path(c, "SpecialToken.id"));
		const char *sequence = json_str(json_path(c, "Sequence.id"));

		if (name)
			status = push_named(t, after ? &t->after : &t->before, spec, name, err);
		else if (sequence && !strcmp(sequence, "A") && !after)
			after = true;
		else
			status = tb_fail(err, TB_EUNSUP, "tokenizer: the template of the "
					 "post-processor is not supported");
	}
	if (!status && !after)
		status = tb_fail(err, TB_EUNSUP, "tokenizer: the post-processor leaves the text "
				 "out");
	return status;
}

static enum tb_status
ends_stage(void *to, const cJSON *spec, const char *type, struct tb_err *err)
{
	struct tokenizer *t = to;
	enum tb_status status;
	uint64_t cls, sep;

	if (!strcmp(type, "ByteLevel"))
		return TB_OK;		/* changes offsets only */
	if (!strcmp(type, "TemplateProcessing"))
		return read_template(t, spec, err);
	if (strcmp(type, "RobertaProcessing") && strcmp(type, "BertProcessing"))
		return tb_fail(err, TB_EUNSUP, "tokenizer: post-processor \"%s\" is not supported",
			       type);
	/* "cls": ["<s>", 0], "sep": ["</s>", 2] */
	if (!json_u64(json_next(json_first(json_get(spec, "cls"))), &cls) ||
	    !json_u64(json_next(json_first(json_get(spec, "sep"))), &sep))
		return tb_fail(err, TB_EFORMAT, "tokenizer: the post-processor lacks its tokens");
	status = push_end(t, &t->before, cls, err);
	return status ? status : push_end(t, &t->after, sep, err);
}

uint32_t
tok_named(const struct tokenizer *t, const cJSON *config, const char *key)
{
	const cJSON *v = json_get(config, key);
	const char *s = json_is_object(v) ? json_str(json_get(v, "content")) : json_str(v);
	uint32_t id;

	return s && tok_vocab_find(&t->vocab, s, strlen(s), &id) ? id : TOK_NONE;
}

/* The fast Llama and Gemma classes build their post-processor from the configuration;
 * other classes ignore add_bos_token. */
static enum tb_status
set_end(const struct tokenizer *t, const cJSON *config, const char *key, uint32_t id,
	struct token_ids *ids, struct tb_err *err)
{
	const char *cls = json_str(json_get(config, "tokenizer_class"));
	bool wanted;

	if (!cls || !(strstr(cls, "Llama") || strstr(cls, "Gemma")) ||
	    !json_bool(json_get(config, key), &wanted))
		return TB_OK;
	ids->n = 0;
	return wanted && id != TOK_NONE ? push_end(t, ids, id, err) : TB_OK;
}

enum tb_status
tok_read_ends(struct tokenizer *t, const cJSON *doc, const cJSON *config, struct tb_err *err)
{
	enum tb_status status = tok_stages(json_get(doc, "post_processor"), "post-processor",
					   "processors", ends_stage, t, err);

	t->bos = tok_named(t, config, "bos_token");
	t->eos = tok_named(t, config, "eos_token");
	if (!status)
		status = set_end(t, config, "add_bos_token", t->bos, &t->before, err);
	if (!status)
		status = set_end(t, config, "add_eos_token", t->eos, &t->after, err);
	if (t->bos == TOK_NONE && t->before.n)
		t->bos = t->before.v[0];
	return status;
}
