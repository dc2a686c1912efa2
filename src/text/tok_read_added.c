#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/text/tok.h"
#include "src/text/tok_json.h"

/* Tokens marked normalized are looked for in normalized text, as what they are
 * themselves when normalized.  Not so special ones: whoever writes a special token
 * into a template means it, and a normalizer that puts a blank in front of all
 * would hide it. */
static enum tb_status
put_added(struct tokenizer *t, const char *content, const struct tok_added *a, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(1u << 20);
	struct tok_matcher *matcher;
	enum tb_status status;

	if (a->special || !a->normalized || t->raw_only)
		return tok_added_put(&t->raw, content, strlen(content), a, err);
	if (!t->normalizer.n)
		return tok_added_put(&t->normalized, content, strlen(content), a, err);
	matcher = tok_matcher_new();
	tb_buf_str(&text, content);
	status = matcher && !tb_buf_failed(&text)
			 ? tok_normalize(&t->normalizer, matcher, false, &text, err) : tb_nomem(err);
	if (!status)
		status = tok_added_put(&t->normalized, tb_buf_cstr(&text), text.len, a, err);
	tok_matcher_free(matcher);
	tb_buf_free(&text);
	return status;
}

static enum tb_status
read_token(struct tokenizer *t, const cJSON *spec, uint64_t id, struct tb_err *err)
{
	const char *content = json_str(json_get(spec, "content"));
	struct tok_added a = { .special = tok_flag(spec, "special", false) };
	enum tb_status status;
	uint32_t known;

	if (!content)
		return tb_fail(err, TB_EFORMAT, "tokenizer: an added token without content");
	/* A model may have it under another id, and then goes first. */
	if (tok_vocab_find(&t->vocab, content, strlen(content), &known))
		id = known;
	status = tok_vocab_add(&t->vocab, content, strlen(content), id, err);
	if (status)
		return status;
	a.id = (uint32_t)id;
	a.single_word = tok_flag(spec, "single_word", false);
	a.lstrip = tok_flag(spec, "lstrip", false);
	a.rstrip = tok_flag(spec, "rstrip", false);
	a.normalized = tok_flag(spec, "normalized", !a.special);
	t->vocab.piece[a.id].special |= a.special;
	t->vocab.piece[a.id].type = t->vocab.piece[a.id].special ? TOKEN_CONTROL : TOKEN_USER;
	return put_added(t, content, &a, err);
}

enum tb_status
tok_read_added(struct tokenizer *t, const cJSON *doc, const cJSON *config, struct tb_err *err)
{
	const cJSON *more = json_get(config, "added_tokens_decoder");
	enum tb_status status = TB_OK;
	uint64_t id;

	for (const cJSON *c = json_first(json_get(doc, "added_tokens")); c && !status;
	     c = json_next(c)) {
		if (!json_u64(json_get(c, "id"), &id))
			return tb_fail(err, TB_EFORMAT, "tokenizer: an added token without an id");
		status = read_token(t, c, id, err);
	}
	/* { "32000": { "content": … }, … } */
	for (const cJSON *c = json_is_object(more) ? json_first(more) : NULL; c && !status;
	     c = json_next(c)) {
		if (!json_is_object(c) || !tb_parse_u64(json_key(c), &id))
			return tb_fail(err, TB_EFORMAT, "tokenizer_config.json: "
				       "added_tokens_decoder holds no tokens");
		if (id >= t->vocab.n || !t->vocab.piece[id].s)
			status = read_token(t, c, id, err);
	}
	return status;
}
