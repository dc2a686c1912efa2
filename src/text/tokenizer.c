#include "config.h"

#include "src/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/tok.h"
#include "src/text/tok_json.h"

enum tb_status
tok_read_vocab(struct tokenizer *t, const cJSON *vocab, const char *what, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t id;

	if (!json_is_object(vocab))
		return tb_fail(err, TB_EFORMAT, "%s: no vocabulary", what);
	for (const cJSON *c = json_first(vocab); c && !status; c = json_next(c)) {
		if (!json_u64(c, &id))
			return tb_fail(err, TB_EFORMAT, "%s: \"%.60s\" has no id", what, json_key(c));
		status = tok_vocab_add(&t->vocab, json_key(c), strlen(json_key(c)), id, err);
	}
	return status;
}

const char *
token_type_name(enum token_type t)
{
#define X(id, name) [id] = name,
	static const char *const names[] = { TOKEN_TYPE_LIST(X) };
#undef X

	return t < TOKEN_TYPE_COUNT ? names[t] : "?";
}

struct tokenizer *
tok_new(void)
{
	struct tokenizer *t = tb_calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bos = t->eos = TOK_NONE;
	t->kind = t->note = "";
	return t;
}

enum tb_status
tok_done(struct tokenizer *t, enum tb_status status, struct tokenizer **out)
{
	if (status)
		tokenizer_free(t);
	*out = status ? NULL : t;
	return status;
}

static enum tb_status
read_parts(struct tokenizer *t, const cJSON *doc, const cJSON *config, struct tb_err *err)
{
	const cJSON *model = json_get(doc, "model");
	const char *type = json_str(json_get(model, "type"));
	enum tb_status status;

	if (type && strcmp(type, "BPE"))	/* their vocabularies look different, too */
		return tb_fail(err, TB_EUNSUP, "tokenizer: model \"%s\" is not supported", type);
	status = tok_read_vocab(t, json_get(model, "vocab"), "tokenizer", err);
	if (!status)
		status = tok_bpe_new(&t->bpe, model, &t->vocab, err);
	if (!status)
		status = tok_normalizer_new(&t->normalizer, json_get(doc, "normalizer"), err);
	if (!status)
		status = tok_splitter_new(&t->splitter, json_get(doc, "pre_tokenizer"), err);
	if (!status)
		status = tok_decoder_new(&t->decoder, json_get(doc, "decoder"), err);
	if (!status)
		status = tok_read_added(t, doc, config, err);
	if (!status)
		status = tok_read_ends(t, doc, config, err);
	for (unsigned i = 0; t->bpe.byte_fallback && i < 256; i++)
		if (t->bpe.fallback[i] != TOK_NONE)
			t->vocab.piece[t->bpe.fallback[i]].type = TOKEN_BYTE;
	t->kind = tok_splitter_bytes(&t->splitter) ? "byte-level BPE" : "BPE";
	return status;
}

enum tb_status
tokenizer_new(struct tokenizer **out, const char *json, size_t len, const char *config_json,
	      size_t config_len, struct tb_err *err)
{
	struct tokenizer *t = tok_new();
	cJSON *doc = NULL, *config = NULL;
	enum tb_status status = t ? json_parse(&doc, json, len, "tokenizer.json", err)
				  : tb_nomem(err);

	if (!status)
		status = tok_config(&config, config_json, config_len, err);
	if (!status)
		status = read_parts(t, doc, config, err);
	json_free(doc);
	json_free(config);
	return tok_done(t, status, out);
}

void
tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	tok_bpe_free(&t->bpe);
	tok_normalizer_free(&t->normalizer);
	tok_splitter_free(&t->splitter);
	tok_decoder_free(&t->decoder);
	tok_added_free(&t->raw);
	tok_added_free(&t->normalized);
	tok_vocab_free(&t->vocab);
	free(t->before.v);
	free(t->after.v);
	free(t->ends.v);
	free(t);
}

void
tokenizer_decode(const struct tokenizer *t, uint32_t id, bool first, struct tb_buf *out)
{
	enum token_type type = tokenizer_type(t, id);
	const struct tok_piece *p;

	if (id >= t->vocab.n || !t->vocab.piece[id].s)
		return;
	p = &t->vocab.piece[id];
	if (t->plain_specials && (type == TOKEN_CONTROL || type == TOKEN_UNKNOWN ||
				  type == TOKEN_USER))
		tb_buf_add(out, p->s, p->len);
	else
		tok_decode(&t->decoder, p->s, p->len, first, out);
}

size_t
tokenizer_size(const struct tokenizer *t)
{
	return t->vocab.n;
}

const char *
tokenizer_piece(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab.n ? t->vocab.piece[id].s : NULL;
}

bool
tokenizer_find(const struct tokenizer *t, const char *piece, uint32_t *id)
{
	return tok_vocab_find(&t->vocab, piece, strlen(piece), id);
}

bool
tokenizer_is_special(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab.n && t->vocab.piece[id].special;
}

enum token_type
tokenizer_type(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab.n ? t->vocab.piece[id].type : TOKEN_UNDEFINED;
}

bool
tokenizer_score(const struct tokenizer *t, uint32_t id, float *score)
{
	if (id >= t->vocab.nscores)
		return false;
	*score = t->vocab.score[id];
	return true;
}

const struct token_ids *
tokenizer_ends(const struct tokenizer *t)
{
	return &t->ends;
}

const char *
tokenizer_kind(const struct tokenizer *t)
{
	return t->kind;
}

const char *
tokenizer_note(const struct tokenizer *t)
{
	return t->note;
}

bool
tokenizer_bos(const struct tokenizer *t, uint32_t *id)
{
	*id = t->bos;
	return t->bos != TOK_NONE;
}

bool
tokenizer_eos(const struct tokenizer *t, uint32_t *id)
{
	*id = t->eos;
	return t->eos != TOK_NONE;
}
