/* tok_spm.c - tokenizer.model of SentencePiece: a protobuf message, of which the
 * pieces, the kind and the normalizer matter.
 *
 * Pieces are merged by score.  The unigram kind, and normalizers that rewrite
 * characters, are refused: ids that are nearly right are worse than none. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/protobuf.h"
#include "src/text/tok.h"
#include "src/text/tok_json.h"

#define WHAT "tokenizer.model"

/* Field numbers of sentencepiece_model.proto. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_KIND = 3, TRAINER_BLANK_BEHIND = 24, TRAINER_UNK = 40, TRAINER_BOS = 41,
       TRAINER_EOS = 42 };
enum { NORMALIZER_NAME = 1, NORMALIZER_CHARSMAP = 2, NORMALIZER_PREFIX = 3,
       NORMALIZER_FEW_BLANKS = 4, NORMALIZER_MARKS = 5 };

enum spm_kind { SPM_UNIGRAM = 1, SPM_BPE, SPM_WORD, SPM_CHAR };

struct spm {
	struct tokenizer *t;
	size_t score_cap;
	uint64_t kind, unk, bos, eos;
	bool blank_behind, charsmap, prefix, few_blanks, marks;
	struct tb_err *err;
};

static enum tb_status
add_piece(struct spm *s, const struct pb_field *text, float score, uint64_t type)
{
	struct tok_vocab *v = &s->t->vocab;
	size_t id = v->n;
	enum tb_status status;

	if (!text->len || isnan(score) || type == TOKEN_UNDEFINED || type >= TOKEN_TYPE_COUNT)
		return tb_fail(s->err, TB_EFORMAT, WHAT ": piece %zu at offset %zu is none", id,
			       text->off);
	status = tok_vocab_add(v, (const char *)text->p, text->len, id, s->err);
	if (status)
		return status;
	if (!tb_grow(&v->score, &s->score_cap, id + 1, sizeof(*v->score)))
		return tb_nomem(s->err);
	v->score[id] = score;
	v->nscores = id + 1;
	v->piece[id].type = (uint8_t)type;
	return TB_OK;
}

static enum tb_status
read_piece(struct spm *s, struct pb_message m)
{
	struct pb_field f, text = { .off = m.base };
	uint64_t type = TOKEN_NORMAL;
	enum tb_status status;
	float score = 0;

	while (pb_next(&m, &f, &status, s->err)) {
		if (f.number == PIECE_TEXT && f.wire == PB_BYTES)
			text = f;
		else if (f.number == PIECE_SCORE && f.wire == PB_FIXED32)
			score = pb_float(&f);
		else if (f.number == PIECE_TYPE && f.wire == PB_VARINT)
			type = f.bits;
	}
	return status ? status : add_piece(s, &text, score, type);
}

static enum tb_status
read_trainer(struct spm *s, struct pb_message m)
{
	enum tb_status status;
	struct pb_field f;

	while (pb_next(&m, &f, &status, s->err)) {
		if (f.wire != PB_VARINT)
			continue;
		switch (f.number) {
		case TRAINER_KIND:
			s->kind = f.bits;
			break;
		case TRAINER_BLANK_BEHIND:
			s->blank_behind = f.bits != 0;
			break;
		case TRAINER_UNK:
			s->unk = f.bits;
			break;
		case TRAINER_BOS:
			s->bos = f.bits;
			break;
		case TRAINER_EOS:
			s->eos = f.bits;
			break;
		}
	}
	return status;
}

static enum tb_status
read_normalizer(struct spm *s, struct pb_message m)
{
	enum tb_status status;
	struct pb_field f;

	while (pb_next(&m, &f, &status, s->err)) {
		if (f.number == NORMALIZER_CHARSMAP && f.wire == PB_BYTES)
			s->charsmap = f.len > 0;
		else if (f.number == NORMALIZER_PREFIX && f.wire == PB_VARINT)
			s->prefix = f.bits != 0;
		else if (f.number == NORMALIZER_FEW_BLANKS && f.wire == PB_VARINT)
			s->few_blanks = f.bits != 0;
		else if (f.number == NORMALIZER_MARKS && f.wire == PB_VARINT)
			s->marks = f.bits != 0;
	}
	return status;
}

static enum tb_status
read_pieces(struct spm *s, struct pb_message m)
{
	enum tb_status status, inner = TB_OK;
	struct pb_field f;

	while (!inner && pb_next(&m, &f, &status, s->err)) {
		if (f.wire != PB_BYTES)
			continue;
		if (f.number == MODEL_PIECE)
			inner = read_piece(s, pb_inside(&m, &f));
		else if (f.number == MODEL_TRAINER)
			inner = read_trainer(s, pb_inside(&m, &f));
		else if (f.number == MODEL_NORMALIZER)
			inner = read_normalizer(s, pb_inside(&m, &f));
	}
	return inner ? inner : status;
}

static enum tb_status
check_kind(const struct spm *s)
{
	static const char *const kinds[] = { [SPM_UNIGRAM] = "unigram", [SPM_WORD] = "word",
					     [SPM_CHAR] = "character" };

	if (!s->t->vocab.n)
		return tb_fail(s->err, TB_EFORMAT, WHAT ": no pieces");
	if (s->kind != SPM_BPE)
		return tb_fail(s->err, TB_EUNSUP, WHAT ": of the %s kind, only BPE is supported",
			       s->kind && s->kind <= SPM_CHAR ? kinds[s->kind] : "unknown");
	if (s->charsmap)
		return tb_fail(s->err, TB_EUNSUP, WHAT ": its normalizer rewrites characters, "
			       "which is not supported");
	if (s->few_blanks)
		return tb_fail(s->err, TB_EUNSUP, WHAT ": taking blanks together is not supported");
	if (s->blank_behind || !s->marks)
		return tb_fail(s->err, TB_EUNSUP, WHAT ": blanks that are not marked in front of "
			       "words are not supported");
	return TB_OK;
}

static uint32_t
own_id(const struct spm *s, uint64_t id)
{
	const struct tok_vocab *v = &s->t->vocab;

	return id < v->n && v->piece[id].s ? (uint32_t)id : TOK_NONE;
}

/* What the file names, unless the configuration names another; bos is put in front
 * unless that says no. */
static enum tb_status
read_ends(struct spm *s, const cJSON *config)
{
	struct tokenizer *t = s->t;
	uint32_t bos = tok_named(t, config, "bos_token"), eos = tok_named(t, config, "eos_token");
	bool add_bos = true, add_eos = false;

	t->bos = bos != TOK_NONE ? bos : own_id(s, s->bos);
	t->eos = eos != TOK_NONE ? eos : own_id(s, s->eos);
	(void)json_bool(json_get(config, "add_bos_token"), &add_bos);
	(void)json_bool(json_get(config, "add_eos_token"), &add_eos);
	if ((add_bos && t->bos != TOK_NONE && !tok_ids_push(&t->before, t->bos)) ||
	    (add_eos && t->eos != TOK_NONE && !tok_ids_push(&t->after, t->eos)) ||
	    (t->eos != TOK_NONE && !tok_ids_push(&t->ends, t->eos)))
		return tb_nomem(s->err);
	return TB_OK;
}

static enum tb_status
read_spm(struct spm *s, const void *model, size_t len, const cJSON *config)
{
	enum tb_status status = read_pieces(s, pb_open(model, len, WHAT));

	if (!status)
		status = check_kind(s);
	if (!status)
		status = tok_make_spm(s->t, s->prefix, s->err);
	if (status)
		return status;
	s->t->bpe.unk = own_id(s, s->unk);
	s->t->raw_only = true;
	status = tok_add_typed(s->t, s->err);
	if (!status)
		status = tok_read_added(s->t, NULL, config, s->err);
	if (!status)
		status = tok_normalizer_blanks(&s->t->normalizer, TOK_MARK, s->prefix, s->err);
	return status ? status : read_ends(s, config);
}

enum tb_status
tokenizer_from_spm(struct tokenizer **out, const void *model, size_t len,
		   const char *config_json, size_t config_len, struct tb_err *err)
{
	/* what a file leaves out; -1 as it is written there */
	struct spm s = { .t = tok_new(), .kind = SPM_UNIGRAM, .bos = 1, .eos = 2, .prefix = true,
			 .few_blanks = true, .marks = true, .err = err };
	cJSON *config = NULL;
	enum tb_status status = s.t ? tok_config(&config, config_json, config_len, err)
				    : tb_nomem(err);

	if (!status)
		status = read_spm(&s, model, len, config);
	json_free(config);
	return tok_done(s.t, status, out);
}
