/* model_tokens.c - the Tokenizer pane: the pieces of the vocabulary, and what becomes of
 * a text that is typed. */
#include "config.h"

#include "ui/model_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"

/* ---- reading the vocabulary ---- */

struct need {
	struct opened *o;	/* a reference */
	struct vocab *vocab;	/* owned, until the screen has it */
};

static enum tb_status
need_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct need *n = arg;

	(void)job;
	return vocab_open(&n->vocab, n->o->m, err);
}

static void
need_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct model_view *s = v->state;
	struct need *n = arg;

	if (status)
		snprintf(s->tok.error, sizeof(s->tok.error), "%s", err->msg);
	s->tok.vocab = n->vocab;
	n->vocab = NULL;
	view_refresh(v);
}

static void
need_free(void *arg)
{
	struct need *n = arg;

	vocab_free(n->vocab);
	opened_unref(n->o);
	free(n);
}

static const struct job_ops need_job = {
	.run = need_run, .done = need_done, .free = need_free,
};

void
model_tokens_need(struct view *v)
{
	struct model_view *s = v->state;
	struct need *n;

	if (s->tok.asked || !s->o || !(n = tb_calloc(1, sizeof(*n))))
		return;
	s->tok.asked = true;
	n->o = opened_ref(s->o);
	(void)view_job(v, &need_job, n, "read the tokenizer");
}

static void
forget_text(struct tokens *t)
{
	free(t->text);
	free(t->spans);
	t->text = NULL;
	t->spans = NULL;
	t->nspans = 0;
}

void
model_tokens_free(struct tokens *t)
{
	forget_text(t);
	free(t->ids);
	vocab_free(t->vocab);
	*t = (struct tokens){ 0 };
}

/* ---- cells of both tables ---- */

enum { COL_ID, COL_PIECE, COL_TEXT, COL_TYPE, COL_SCORE };

static const struct column tokens_cols[] = {
	[COL_ID] = { "ID", 7, 0, true, SORTS_NOT, 0 },
	[COL_PIECE] = { "PIECE", 16, 40, false, SORTS_NOT, 0 },
	[COL_TEXT] = { "TEXT", 16, 40, false, SORTS_NOT, 1 },
	[COL_TYPE] = { "TYPE", 12, 16, false, SORTS_NOT, 2 },
	[COL_SCORE] = { "SCORE", 9, 0, true, SORTS_NOT, 3 },
};

/* Bytes between quotes, so that blanks are seen; those that are no text as <0A>. */
static void
quoted(struct tb_buf *out, const char *s, size_t len)
{
	tb_buf_chr(out, '"');
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t cp;

		n = tb_utf8_next(s + i, len - i, &cp);
		if (cp < 0x20 || cp == 0x7f || (cp == 0xfffd && n == 1))
			tb_buf_printf(out, "<%02X>", (unsigned char)s[i]);
		else
			tb_buf_add(out, s + i, n);
	}
	tb_buf_chr(out, '"');
}

static void
token_cell(const struct model_view *s, uint32_t id, size_t col, struct cell *out)
{
	struct vocab_row r;

	vocab_row(s->tok.vocab, id, &r);
	switch (col) {
	case COL_ID: tb_buf_printf(&out->text, "%u", id); break;
	case COL_PIECE: tb_buf_str(&out->text, r.piece ? r.piece : ""); break;
	case COL_TEXT:
		if (r.piece)
			quoted(&out->text, r.text, r.text_len);
		break;
	case COL_TYPE:
		tb_buf_printf(&out->text, "%s%s", token_type_name(r.type), r.ends ? ", end" : "");
		out->role = ROLE_DIM;
		break;
	case COL_SCORE:
		if (r.has_score)
			tb_buf_printf(&out->text, "%.4g", (double)r.score);
		break;
	}
}

/* ---- pieces ---- */

static enum tb_status
pieces_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct model_view *s = v->state;

	free(s->tok.ids);
	s->tok.ids = NULL;
	s->tok.n = 0;
	if (vocab_search(s->tok.vocab, q->filter, &s->tok.ids, &s->tok.n, &out->err))
		return out->err.code;
	ROWS_ALL(out, s->tok.ids, s->tok.n);
	return TB_OK;
}

static uint64_t
pieces_id(struct view *v, size_t row)
{
	const uint32_t *id = rows_at(v, row);

	return id ? *id : 0;
}

static const struct rows_source pieces_rows = {
	.size = sizeof(uint32_t), .read = pieces_read, .id = pieces_id,
};

static void
pieces_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	token_cell(v->state, *(const uint32_t *)row, col, out);
}

const struct table model_tokens_table = {
	TABLE_COLS(tokens_cols), .rows = &pieces_rows, .cell = pieces_cell,
	.empty = "No piece has that in it; Esc shows all.",
};

/* ---- a text ---- */

static const struct rows_source spans_rows = {
	ROWS_IN(struct model_view, tok.spans, tok.nspans),
};

static void
spans_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct model_view *s = v->state;
	const struct vocab_span *span = row;

	if (col == COL_TEXT && span->len)
		quoted(&out->text, s->tok.text + span->off, span->len);
	else if (col == COL_TEXT)
		tb_buf_str(&out->text, "(added)");
	else
		token_cell(s, span->id, col, out);
}

const struct table model_spans_table = {
	TABLE_COLS(tokens_cols), .rows = &spans_rows, .cell = spans_cell, .empty = "No tokens.",
};

void
model_tokens_try(struct view *v, const char *text)
{
	struct model_view *s = v->state;
	struct tb_err err;

	forget_text(&s->tok);
	v->list.cur = v->list.top = 0;
	if (*text) {
		s->tok.text = tb_strdup(text);
		if (!s->tok.text)
			(void)tb_nomem(&err);
		if (!s->tok.text || vocab_encode(s->tok.vocab, s->tok.text, strlen(s->tok.text),
						 true, true, &s->tok.spans, &s->tok.nspans, &err)) {
			forget_text(&s->tok);
			view_complain(v, &err);
		}
	}
	view_refresh(v);
}

static bool
text_typed(struct view *v, const char *text)
{
	model_tokens_try(v, text);
	return true;
}

void
model_tokens_ask(struct view *v)
{
	struct model_view *s = v->state;

	if (s->tok.vocab)
		view_type(v, "text: ", s->tok.text, text_typed);
}

void
model_tokens_summary(const struct model_view *s, struct tb_buf *out)
{
	const char *dot = theme_sign(SIGN_DOT);
	struct vocab_info info;
	char text[WORD_MAX];

	if (!s->tok.vocab)
		return;
	info = vocab_info(s->tok.vocab);
	if (s->tok.text)
		tb_buf_printf(out, "%s of %zu bytes", word_count(s->tok.nspans, "token", text),
			      strlen(s->tok.text));
	else
		tb_buf_printf(out, "%zu of %s %s %s %s %s", s->tok.n,
			      word_count(info.pieces, "piece", text), dot, info.kind, dot,
			      info.source);
	if (*info.note && !s->tok.text)
		tb_buf_printf(out, " %s %s", dot, info.note);
}

/* The text with a bar where a token ends. */
void
model_tokens_draw(struct area *a, const struct model_view *s)
{
	struct tb_buf line = TB_BUF(1u << 20);

	if (!s->tok.text || a->h < 6)
		return;
	for (size_t i = 0; i < s->tok.nspans; i++) {
		const struct vocab_span *span = &s->tok.spans[i];

		/* not inside of a character */
		if (line.len && span->len && ((unsigned char)s->tok.text[span->off] & 0xc0) != 0x80)
			tb_buf_chr(&line, '|');
		tb_buf_add(&line, s->tok.text + span->off, span->len);
	}
	put_clip(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&line), ROLE_TITLE);
	(void)area_top(a, 1);
	tb_buf_free(&line);
}
