/* tok_gguf.c - a tokenizer from the keys "tokenizer.ggml.*" of a GGUF file.
 *
 * What a file leaves out is what llama.cpp takes it for: the same file gives the same
 * ids.  Models that are none of the three kinds below are refused by name. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/gguf.h"
#include "src/format/gguf_array.h"
#include "src/text/tok.h"
#include "src/text/tok_gguf.h"
#include "src/text/tok_pre.h"

#define NAME_MAX 256

/* Of the keys' values what is needed more than once. */
struct tok_source {
	struct tokenizer *t;
	const struct gguf *g;
	const struct tb_file *f;
	const struct tok_pre *pre;
	bool add_bos, add_eos, add_prefix;
	struct tb_buf joined;		/* room to put merges in */
	struct tb_err *err;
};

static const struct gguf_kv *
key_of(const struct tok_source *r, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "tokenizer.ggml.%s", name);
	return gguf_find(r->g, key);
}

/* ---- pieces, scores, types ---- */

typedef enum tb_status item_fn(struct tok_source *r, uint32_t i, const struct gguf_kv *kv,
			       const struct gguf_item *item);

/* The first n of a list. */
static enum tb_status
each_item(struct tok_source *r, const struct gguf_kv *kv, size_t n, item_fn *fn)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status = gguf_array_open(&a, kv, r->f, r->err);

	if (status)
		return status;
	for (uint32_t i = 0; i < n && !status && gguf_array_next(a, &item); i++)
		status = fn(r, i, kv, &item);
	return status ? ((void)!gguf_array_close(a), status) : gguf_array_close(a);
}

static enum tb_status
read_piece(struct tok_source *r, uint32_t id, const struct gguf_kv *kv, const struct gguf_item *item)
{
	char empty[24];

	(void)kv;
	if (item->len)
		return tok_vocab_add(&r->t->vocab, item->s, item->len, id, r->err);
	snprintf(empty, sizeof(empty), "[EMPTY_%u]", id);
	return tok_vocab_add(&r->t->vocab, empty, strlen(empty), id, r->err);
}

static enum tb_status
read_score(struct tok_source *r, uint32_t id, const struct gguf_kv *kv, const struct gguf_item *item)
{
	double score;

	if (!gguf_number_f64(kv->elem, item->bits, &score) || isnan(score))
		return tb_fail(r->err, TB_EFORMAT, "%.200s: the score of token %u is no number",
			       r->f->path, id);
	r->t->vocab.score[id] = (float)score;
	return TB_OK;
}

static enum tb_status
read_type(struct tok_source *r, uint32_t id, const struct gguf_kv *kv, const struct gguf_item *item)
{
	uint64_t type;

	if (!gguf_number_u64(kv->elem, item->bits, &type) || type >= TOKEN_TYPE_COUNT)
		type = TOKEN_UNDEFINED;
	r->t->vocab.piece[id].type = (uint8_t)type;
	return TB_OK;
}

/* One for each token; a file may have more of them. */
static enum tb_status
each_token(struct tok_source *r, const struct gguf_kv *kv, item_fn *fn)
{
	size_t n = r->t->vocab.n;

	if (kv->type != GGUF_ARRAY || kv->count < n)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %.120s: not one for each of the %zu "
			       "tokens", r->f->path, kv->key, n);
	return each_item(r, kv, n, fn);
}

static enum tb_status
read_tokens(struct tok_source *r)
{
	const struct gguf_kv *kv = key_of(r, "tokens"), *scores = key_of(r, "scores");
	const struct gguf_kv *types = key_of(r, "token_type");
	struct tok_vocab *v = &r->t->vocab;
	enum tb_status status;

	if (!kv || kv->type != GGUF_ARRAY || kv->elem != GGUF_STRING || !kv->count)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: no vocabulary (tokenizer.ggml.tokens)",
			       r->f->path);
	if (kv->count > TOK_ID_MAX)
		return tb_fail(r->err, TB_ELIMIT, "%.200s: a vocabulary of %ju tokens", r->f->path,
			       (uintmax_t)kv->count);
	status = tok_vocab_reserve(v, (size_t)kv->count, r->err);
	if (!status)
		status = each_item(r, kv, (size_t)kv->count, read_piece);
	if (!status && scores) {
		v->score = tb_calloc(v->n, sizeof(*v->score));
		v->nscores = v->score ? v->n : 0;
		status = v->score ? each_token(r, scores, read_score) : tb_nomem(r->err);
	}
	return status || !types ? status : each_token(r, types, read_type);
}

static void
read_flag(const struct tok_source *r, const char *name, bool *value)
{
	(void)gguf_bool(key_of(r, name), value);
}

/* An id that is none of the vocabulary is as good as no id. */
static uint32_t
read_id(const struct tok_source *r, const char *name, uint32_t otherwise)
{
	uint64_t id;

	if (gguf_u64(key_of(r, name), &id) && id < r->t->vocab.n)
		return (uint32_t)id;
	return otherwise < r->t->vocab.n ? otherwise : TOK_NONE;
}

/* ---- the kinds ---- */

static enum tb_status
make_llama(struct tok_source *r, const char *model)
{
	struct tokenizer *t = r->t;
	enum tb_status status;

	(void)model;
	r->add_bos = r->add_prefix = true;
	read_flag(r, "add_space_prefix", &r->add_prefix);
	t->bos = read_id(r, "bos_token_id", 1);
	t->eos = read_id(r, "eos_token_id", 2);
	t->prefix = r->add_prefix;
	status = tok_make_spm(t, r->add_prefix, r->err);
	if (!status)
		status = tok_normalizer_blanks(&t->normalizer, TOK_MARK, r->add_prefix, r->err);
	t->bpe.unk = read_id(r, "unknown_token_id", 0);
	return status;
}

static enum tb_status
read_merge(struct tok_source *r, uint32_t rank, const struct gguf_kv *kv,
	   const struct gguf_item *item)
{
	const char *cut = item->len > 2 ? memchr(item->s + 1, ' ', item->len - 2) : NULL;
	size_t n = cut ? (size_t)(cut - item->s) : 0;

	(void)kv;
	if (!n)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: merge %u is no pair", r->f->path, rank);
	return tok_bpe_put(&r->t->bpe, (struct tok_half){ item->s, n },
			   (struct tok_half){ cut + 1, item->len - n - 1 }, rank, false, &r->joined,
			   r->err);
}

static enum tb_status
read_pairs(struct tok_source *r)
{
	const struct gguf_kv *kv = key_of(r, "merges");
	enum tb_status status;

	if (!kv || kv->type != GGUF_ARRAY || kv->elem != GGUF_STRING)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: no merges (tokenizer.ggml.merges)",
			       r->f->path);
	status = tok_bpe_room(&r->t->bpe, (size_t)kv->count, r->err);
	r->joined = TB_BUF(1u << 26);
	if (!status)
		status = each_item(r, kv, (size_t)kv->count, read_merge);
	tb_buf_free(&r->joined);
	return status;
}

/* Files whose general.architecture says more than what they name: Ollama's of gpt-oss are
 * all "default", or nothing. */
static const char *
pre_of_arch(const struct tok_source *r)
{
	const struct gguf_kv *kv = gguf_find(r->g, "general.architecture");
	struct tb_err ignored;
	char *arch = NULL;
	bool gptoss = kv && !gguf_string(kv, r->f, NAME_MAX, &arch, &ignored) &&
		      !strcmp(arch, "gptoss");

	free(arch);
	return gptoss ? "gpt-4o" : NULL;
}

static enum tb_status
read_pre(struct tok_source *r, const char *model)
{
	const struct gguf_kv *kv = key_of(r, "pre");
	const char *known = pre_of_arch(r);
	char *name = NULL;
	enum tb_status status = TB_OK;

	if (known || !strcmp(model, "gemma4")) {
		r->pre = tok_pre_find(known ? known : model);
		return TB_OK;
	}
	if (kv)
		status = gguf_string(kv, r->f, NAME_MAX, &name, r->err);
	if (status)
		return status;
	if (!name || !*name)
		r->t->note = "the file does not name its pre-tokenizer: ids may differ from "
			     "those the model was trained with";
	r->pre = tok_pre_find(name && *name ? name : "default");
	if (!r->pre)
		status = tb_fail(r->err, TB_EUNSUP, "%.200s: the pre-tokenizer \"%.80s\" "
				 "(tokenizer.ggml.pre) is not known", r->f->path, name);
	free(name);
	return status;
}

static enum tb_status
make_gpt2(struct tok_source *r, const char *model)
{
	struct tokenizer *t = r->t;
	enum tb_status status = read_pre(r, model);
	uint32_t otherwise = !strcmp(model, "gemma4") ? TOK_NONE : 11;

	if (status)
		return status;
	t->pre = r->pre;
	t->kind = r->pre->raw ? "BPE" : "byte-level BPE";
	r->add_bos = r->pre->add_bos;
	t->bos = read_id(r, "bos_token_id", r->pre->no_bos ? TOK_NONE : otherwise);
	t->eos = read_id(r, "eos_token_id", otherwise);
	tok_bpe_init(&t->bpe, &t->vocab);
	t->bpe.ignore_merges = r->pre->ignore_merges;
	t->bpe.whole_newlines = r->pre->newlines;
	t->bpe.byte_fallback = r->pre->raw;
	status = read_pairs(r);
	if (!status && r->pre->raw)
		status = tok_seams_new(&t->bpe.seams, &t->vocab, r->err);
	if (!status && r->pre->blanks)
		status = tok_normalizer_blanks(&t->normalizer, TOK_MARK, false, r->err);
	if (!status)
		status = tok_pre_stages(r->pre, &t->splitter, r->err);
	if (status)
		return status;
	return r->pre->raw ? tok_decoder_blanks(&t->decoder, TOK_MARK, false, r->err)
			   : tok_decoder_bytes(&t->decoder, r->err);
}

/* The token in front of a text is called cls or bos, the one behind it sep. */
static enum tb_status
make_bert(struct tok_source *r, const char *model)
{
	struct tokenizer *t = r->t;
	uint32_t sep = read_id(r, "seperator_token_id", 102);

	(void)model;
	t->kind = "WordPiece";
	t->wordpiece = true;
	t->wpm.lowercase = true;
	read_flag(r, "normalizer.lowercase", &t->wpm.lowercase);
	t->wpm.strip_accents = t->wpm.lowercase;
	read_flag(r, "normalizer.strip_accents", &t->wpm.strip_accents);
	t->wpm.unk = read_id(r, "unknown_token_id", 100);
	for (size_t id = 0; id < t->vocab.n; id++)
		if (t->vocab.piece[id].len > t->wpm.longest)
			t->wpm.longest = t->vocab.piece[id].len;
	t->bos = read_id(r, "bos_token_id", read_id(r, "cls_token_id", 101));
	t->eos = read_id(r, "eos_token_id", TOK_NONE);
	if (t->bos == TOK_NONE || sep == TOK_NONE)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: no tokens to begin and end a text with "
			       "(bos_token_id, seperator_token_id)", r->f->path);
	if (!tok_ids_push(&t->before, t->bos) || !tok_ids_push(&t->after, sep))
		return tb_nomem(r->err);
	return tok_decoder_blanks(&t->decoder, TOK_MARK, true, r->err);
}

static enum tb_status
put_end(struct tok_source *r, bool wanted, uint32_t id, const char *name, struct token_ids *ids)
{
	if (!wanted)
		return TB_OK;
	if (id == TOK_NONE)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: add_%s_token is set, but there is no "
			       "%s_token_id", r->f->path, name, name);
	return tok_ids_push(ids, id) ? TB_OK : tb_nomem(r->err);
}

static enum tb_status
read_ends(struct tok_source *r)
{
	enum tb_status status;

	if (r->t->wordpiece)
		return TB_OK;
	read_flag(r, "add_bos_token", &r->add_bos);
	read_flag(r, "add_eos_token", &r->add_eos);
	if (r->pre && r->pre->newlines)		/* Gemma 4 files say no and mean yes */
		r->add_bos = true;
	status = put_end(r, r->add_bos, r->t->bos, "bos", &r->t->before);
	return status ? status : put_end(r, r->add_eos, r->t->eos, "eos", &r->t->after);
}

static const struct tok_kind {
	const char *model;
	enum tb_status (*make)(struct tok_source *r, const char *model);
} kinds[] = {
	{ "llama", make_llama },
	{ "gpt2", make_gpt2 },
	{ "gemma4", make_gpt2 },
	{ "bert", make_bert },
};

static enum tb_status
read_source(struct tok_source *r, const struct tok_kind *k)
{
	enum tb_status status = read_tokens(r);

	if (!status)
		status = k->make(r, k->model);
	if (!status)
		status = read_ends(r);
	if (!status)
		status = tok_gguf_ends(r->t, r->g, r->f, r->err);
	if (!status)
		status = tok_add_typed(r->t, r->err);
	return status ? status : tok_gguf_strip(r->t, r->g, r->f, r->err);
}

enum tb_status
tokenizer_from_gguf(struct tokenizer **out, const struct gguf *g, const struct tb_file *f,
		    struct tb_err *err)
{
	struct tok_source r = { .t = tok_new(), .g = g, .f = f, .err = err };
	const struct gguf_kv *kv = key_of(&r, "model");
	const struct tok_kind *k = NULL;
	char *model = NULL;
	enum tb_status status = !r.t ? tb_nomem(err)
		: !kv ? tb_fail(err, TB_ENOENT, "%.200s: has no tokenizer", f->path)
		: gguf_string(kv, f, NAME_MAX, &model, err);

	for (size_t i = 0; !status && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].model, model))
			k = &kinds[i];
	if (!status)
		status = k ? read_source(&r, k)
			   : tb_fail(err, TB_EUNSUP, "%.200s: a tokenizer of the kind \"%.80s\" "
				     "(tokenizer.ggml.model) is not supported", f->path, model);
	free(model);
	return tok_done(r.t, status, out);
}
