#include "config.h"

#include "ui/transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/markdown.h"
#include "src/ops/chat/chat.h"

#define INDENT 2	/* columns before what a person or a tool said, and what was thought */

/* Making turns. */

static struct mdown *
text_new(struct transcript *t, unsigned flags, const char *text, bool whole)
{
	struct mdown *m = mdown_new(flags | (theme_utf8() ? MDOWN_UTF8 : 0));

	if (!m) {
		t->failed = true;
		return NULL;
	}
	if (text)
		mdown_add(m, text, strlen(text));
	if (whole)
		mdown_end(m);
	return m;
}

static void
said_free(struct said *s)
{
	mdown_free(s->text);
	mdown_free(s->thinking);
}

static struct said *
said_add(struct transcript *t, enum said_by by, uint64_t id)
{
	if (!tb_grow(&t->said, &t->cap, t->n + 1, sizeof(*t->said))) {
		t->failed = true;
		return NULL;
	}
	t->said[t->n] = (struct said){ .by = by, .id = id };
	return &t->said[t->n++];
}

static unsigned
flags_of(enum said_by by)
{
	return by == SAID_MODEL ? 0 : MDOWN_VERBATIM;
}

static void
count_words(struct said *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool blank = strchr(" \t\n", text[i]);	/* also NUL, which is none */

		s->words += !blank && !s->in_word;
		s->in_word = !blank;
	}
}

static void
think(struct transcript *t, struct said *s, const char *text, size_t len)
{
	if (!s->thinking)
		s->thinking = text_new(t, MDOWN_VERBATIM, NULL, false);
	if (!s->thinking)
		return;
	mdown_add(s->thinking, text, len);
	count_words(s, text, len);
}

void
transcript_clear(struct transcript *t)
{
	for (size_t i = 0; i < t->n; i++)
		said_free(&t->said[i]);
	t->n = 0;
	t->cur = SIZE_MAX;
	t->pager.top = 0;
	t->pager.follow = true;
}

void
transcript_free(struct transcript *t)
{
	transcript_clear(t);
	free(t->said);
	t->said = NULL;
	t->cap = 0;
	pager_free(&t->pager);
}

/* What comes while it is said. */

void
transcript_ask(struct transcript *t, const char *text)
{
	struct said *s = said_add(t, SAID_PERSON, 0);

	if (s)
		s->text = text_new(t, MDOWN_VERBATIM, text, true);
	t->cur = SIZE_MAX;
	t->pager.follow = true;
}

/* The answer that is coming; begun here if nothing of it has come yet. */
static struct said *
coming(struct transcript *t)
{
	for (size_t i = t->n; i-- > 0 && !t->said[i].id && t->said[i].by != SAID_PERSON; )
		if (t->said[i].by == SAID_MODEL)
			return &t->said[i];
	return said_add(t, SAID_MODEL, 0);
}

static void
thought(struct said *s)
{
	if (s->began > 0)
		s->thought = tb_monotonic() - s->began;
	s->began = 0;
}

void
transcript_piece(struct transcript *t, unsigned kind, const char *text, size_t len)
{
	struct said *s = coming(t);

	if (!s)
		return;
	if (kind == GEN_MSG_THINKING) {
		if (!s->thinking)
			s->began = tb_monotonic();
		think(t, s, text, len);
		return;
	}
	thought(s);
	if (!s->text)
		s->text = text_new(t, 0, NULL, false);
	if (s->text)
		mdown_add(s->text, text, len);
}

void
transcript_end(struct transcript *t)
{
	for (size_t i = t->n; i-- > 0 && !t->said[i].id; ) {
		thought(&t->said[i]);
		if (t->said[i].text)
			mdown_end(t->said[i].text);
	}
}

static void
add_note(struct transcript *t, enum said_by by, const char *text)
{
	struct said *s = said_add(t, by, t->n ? t->said[t->n - 1].id : 0);

	if (s)
		s->text = text_new(t, MDOWN_VERBATIM, text, true);
}

void
transcript_note(struct transcript *t, const char *text)
{
	struct tb_buf b = TB_BUF(1u << 20);

	tb_buf_printf(&b, "[%s]", text);
	add_note(t, SAID_NOTE, tb_buf_cstr(&b));
	tb_buf_free(&b);
}

void
transcript_help(struct transcript *t, const char *text)
{
	add_note(t, SAID_HELP, text);
}

bool
transcript_said(const struct transcript *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->said[i].by < SAID_NOTE)
			return true;
	return false;
}

bool
transcript_versions(const struct transcript *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->said[i].of > 1)
			return true;
	return false;
}

/* The conversation as it stands. */

static bool
is_note(const struct said *s)
{
	return s->by >= SAID_NOTE;
}

/* The same turn in what was shown before, from *at on and round the end. */
static struct said *
find(struct said *old, size_t n, uint64_t id, size_t *at)
{
	for (size_t k = 0; k < n; k++) {
		struct said *s = &old[(*at + k) % n];

		if (s->id == id && !is_note(s)) {
			*at = (*at + k + 1) % n;
			return s;
		}
	}
	return NULL;
}

static enum said_by
by_of(const char *role)
{
	return !strcmp(role, "user") ? SAID_PERSON : !strcmp(role, "assistant") ? SAID_MODEL : SAID_TOOL;
}

static void
said_make(struct transcript *t, struct said *s, const struct chat_turn *turn)
{
	const struct chat_message *m = &turn->said;

	s->text = text_new(t, flags_of(s->by), m->content ? m->content : "", true);
	if (m->tool_calls && s->text && s->by == SAID_MODEL) {
		mdown_free(s->text);
		s->text = text_new(t, 0, m->content ? m->content : "", false);
		if (s->text) {
			mdown_add(s->text, "\n\n```calls\n", 11);
			mdown_add(s->text, m->tool_calls, strlen(m->tool_calls));
			mdown_add(s->text, "\n```\n", 5);
			mdown_end(s->text);
		}
	}
	if (m->thinking)
		think(t, s, m->thinking, strlen(m->thinking));
}

/* A turn of the path takes what was shown of it; what was coming has become the last one. */
static void
said_take(struct transcript *t, const struct chat_turn *turn, struct said *old, size_t nold,
	  size_t *at)
{
	struct said *was = find(old, nold, turn->id, at), *s = said_add(t, by_of(turn->said.role),
									 turn->id);

	if (!s)
		return;
	if (was) {
		s->text = was->text;
		s->thinking = was->thinking;
		s->unfolded = was->unfolded;
		s->thought = was->thought;
		s->words = was->words;
		was->text = was->thinking = NULL;
	} else {
		said_make(t, s, turn);
		for (size_t i = 0; i < nold && turn->said.thinking; i++)
			if (!old[i].id && old[i].by == SAID_MODEL) {
				s->thought = old[i].thought;
				s->unfolded = old[i].unfolded;
			}
	}
	s->place = turn->place;
	s->of = turn->of;
	s->left_out = turn->left_out;
}

void
transcript_set(struct transcript *t, const struct chat_path *path)
{
	struct said *old = t->said;
	size_t nold = t->n, at = 0;
	uint64_t cur = t->cur < nold && !is_note(&old[t->cur]) ? old[t->cur].id : 0;

	t->said = NULL;
	t->n = t->cap = 0;
	t->cur = SIZE_MAX;
	for (size_t i = 0; i <= path->n; i++) {
		/* Notes stood behind the turn before; those behind what was coming, at the end. */
		for (size_t k = 0, seen = 0; k < nold; k++) {
			bool behind = old[k].id ? i && old[k].id == path->turns[i - 1].id
						: seen ? i == path->n : !i;

			seen |= !is_note(&old[k]);
			if (!is_note(&old[k]) || !old[k].text || !behind ||
			    !tb_grow(&t->said, &t->cap, t->n + 1, sizeof(*t->said)))
				continue;
			t->said[t->n] = old[k];
			t->said[t->n++].id = i ? path->turns[i - 1].id : 0;
			old[k].text = NULL;
		}
		if (i < path->n)
			said_take(t, &path->turns[i], old, nold, &at);
		if (i < path->n && cur && path->turns[i].id == cur)
			t->cur = t->n - 1;
	}
	for (size_t i = 0; i < nold; i++)
		said_free(&old[i]);
	free(old);
}

/* Rows: an empty one between two, what was thought, what was said. */

static int
indent_of(const struct said *s)
{
	return s->by == SAID_PERSON || s->by == SAID_TOOL ? INDENT : 0;
}

/* Those above the text: which answer of several it is; that it was thought, and what. */
static size_t
rows_above(const struct said *s)
{
	size_t n = s->of > 1;

	if (s->thinking)
		n += 1 + (s->unfolded ? mdown_rows(s->thinking) : 0) + (s->text != NULL);
	return n;
}

static size_t
lay_said(void *arg, int width)
{
	struct transcript *t = arg;
	size_t row = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct said *s = &t->said[i];

		s->first = row;
		if (s->text)
			mdown_lay(s->text, width - indent_of(s));
		if (s->thinking && s->unfolded)
			mdown_lay(s->thinking, width - INDENT);
		s->rows = (i > 0) + rows_above(s) + (s->text ? mdown_rows(s->text) : 0);
		row += s->rows;
	}
	return row;
}

/* What was said in a row, which is counted from its first one then; NULL: nothing, it is an
 * empty one between. */
static struct said *
said_at(const struct transcript *t, size_t *row)
{
	size_t lo = 0, hi = t->n;

	if (!t->n)
		return NULL;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (t->said[mid].first <= *row)
			lo = mid;
		else
			hi = mid;
	}
	while (lo + 1 < t->n && *row >= t->said[lo].first + t->said[lo].rows)
		lo++;
	*row -= t->said[lo].first;
	if (!lo)
		return &t->said[0];
	return (*row)-- ? &t->said[lo] : NULL;
}

/* "thought for 12 s, 340 words" */
static void
fold_line(const struct transcript *t, const struct said *s, struct tb_buf *out)
{
	tb_buf_printf(out, "%s %s", theme_sign(s->unfolded ? SIGN_OPENED : SIGN_CLOSED),
		      s->text || s->id ? "thought" : "thinking");
	if (s->thought > 0 && !t->steady)
		tb_buf_printf(out, " for %.0f s", s->thought);
	tb_buf_printf(out, ", %zu word%s  [Space]", s->words, tb_plural(s->words));
}

/* A row of the text of m, or a line of ours. */
struct row_shown {
	struct mdown_row row;
	struct mdown_run run;
	struct tb_buf line;
	int indent;
	enum role role;
};

static void
own_line(struct row_shown *r)
{
	r->row = (struct mdown_row){ tb_buf_cstr(&r->line), r->line.len, &r->run, 1 };
	r->run = (struct mdown_run){ (uint32_t)r->line.len, MDOWN_DIM };
}

static void
row_find(const struct transcript *t, const struct said *s, size_t row, struct row_shown *r)
{
	size_t above = rows_above(s);

	if (s->of > 1 && row-- == 0) {
		tb_buf_printf(&r->line, "%u of %u  [<] [>]", s->place, s->of);
		own_line(r);
		return;
	}
	above -= s->of > 1;
	if (row >= above) {
		if (s->text && row - above < mdown_rows(s->text))
			r->row = mdown_row(s->text, row - above);
		r->indent = indent_of(s);
	} else if (!row) {
		fold_line(t, s, &r->line);
		own_line(r);
	} else if (s->unfolded && row - 1 < mdown_rows(s->thinking)) {
		r->row = mdown_row(s->thinking, row - 1);
		r->indent = INDENT;
		r->role = ROLE_DIM;
	}
}

static enum role
role_of(unsigned style, enum role usual)
{
	if (style & MDOWN_HEAD)
		return ROLE_HEAD;
	if (style & MDOWN_CODE)
		return ROLE_CODE;
	if (style & MDOWN_BLOCK)
		return ROLE_CODE_BLOCK;
	if (style & MDOWN_DIM)
		return ROLE_DIM;
	if (style & MDOWN_BOLD)
		return ROLE_STRONG;
	return style & MDOWN_ITALIC ? ROLE_STRESS : usual;
}

static void
put_row(int y, int x, int w, const struct mdown_row *row, enum role usual, bool found)
{
	size_t at = 0;

	for (size_t i = 0; i < row->nruns && w > 0; i++) {
		char *text = tb_strndup(row->text + at, row->runs[i].len);
		int cols = text ? (int)tb_width(text) : 0;

		at += row->runs[i].len;
		cols = cols < w ? cols : w;
		put_clip(y, x, cols, text ? text : "",
			 found ? ROLE_MARK : role_of(row->runs[i].style, usual));
		free(text);
		x += cols;
		w -= cols;
	}
	put_clip(y, x, w, "", ROLE_TEXT);
}

static void
put_said(void *arg, size_t row, int y, int x, int w, bool found)
{
	struct transcript *t = arg;
	const struct said *s = said_at(t, &row);
	struct row_shown r = { .line = TB_BUF(4096), .role = ROLE_TEXT };

	put_clip(y, x, w, "", ROLE_TEXT);
	if (!s)
		return;
	if (t->cur < t->n && s == &t->said[t->cur])
		put_clip(y, x - 1, 1, theme_utf8() ? "▎" : "|", ROLE_HEAD);
	r.role = s->by == SAID_NOTE || s->by == SAID_TOOL || s->left_out ? ROLE_DIM : ROLE_TEXT;
	row_find(t, s, row, &r);
	if (s->by == SAID_PERSON && row == (s->of > 1))
		put_clip(y, x, 1, theme_sign(SIGN_CURSOR), r.role);
	put_row(y, x + r.indent, w - r.indent, &r.row, r.role, found);
	tb_buf_free(&r.line);
}

static bool
has_said(void *arg, size_t row, const char *what)
{
	const struct transcript *t = arg;
	const struct said *s = said_at(t, &row);
	struct row_shown r = { .line = TB_BUF(4096) };
	char *text;
	bool hit;

	if (!s)
		return false;
	row_find(t, s, row, &r);
	text = tb_strndup(r.row.text ? r.row.text : "", r.row.len);
	hit = text && tb_contains(text, what);
	free(text);
	tb_buf_free(&r.line);
	return hit;
}

static const struct pager_rows transcript_rows = { lay_said, put_said, has_said };

void
transcript_init(struct transcript *t, bool steady)
{
	*t = (struct transcript){ .cur = SIZE_MAX, .steady = steady };
	t->pager = (struct pager){ .rows = &transcript_rows, .rows_arg = t, .height = 1,
				   .wrap = true, .follow = true };
}

void
transcript_draw(struct area a, struct transcript *t)
{
	pager_draw(a, &t->pager);
}

/* The cursor. */

/* Brings it into sight: its first row, or as much of it as there is room for. */
static void
show(struct transcript *t, const struct said *s)
{
	struct pager *p = &t->pager;
	size_t first = s->first + (s != t->said), last = s->first + s->rows;

	p->follow = false;
	if (last > p->top + p->height)
		pager_goto(p, last - p->height);
	if (first < p->top)
		pager_goto(p, first);
	if (first >= p->top + p->height)
		pager_goto(p, first);
}

void
transcript_step(struct transcript *t, int by)
{
	size_t at = t->cur;

	t->pager.nlines = lay_said(t, t->pager.width);
	for (;;) {
		if (at >= t->n && by > 0)
			return;
		at = at >= t->n ? t->n - 1 : at + (size_t)by;
		if (at >= t->n)
			return;		/* there is none: it stays */
		if (!is_note(&t->said[at]))
			break;
	}
	t->cur = at;
	show(t, &t->said[at]);
}

void
transcript_no_cursor(struct transcript *t)
{
	t->cur = SIZE_MAX;
}

const struct said *
transcript_turn(const struct transcript *t, enum said_by by)
{
	if (t->cur < t->n)
		return by == SAID_NOTE || t->said[t->cur].by == by ? &t->said[t->cur] : NULL;
	for (size_t i = t->n; i-- > 0; )
		if (by == SAID_NOTE ? !is_note(&t->said[i]) : t->said[i].by == by)
			return &t->said[i];
	return NULL;
}

static const struct said *
to_copy(const struct transcript *t)
{
	return transcript_turn(t, t->cur < t->n ? SAID_NOTE : SAID_MODEL);
}

const char *
transcript_copy(const struct transcript *t, size_t *len, char what[64])
{
	const struct said *s = to_copy(t);

	snprintf(what, 64, "%s", !s || s->by == SAID_MODEL ? "the answer" : "the turn");
	return s && s->text ? mdown_text(s->text, len) : NULL;
}

bool
transcript_has_code(const struct transcript *t)
{
	const struct said *s = to_copy(t);

	return s && s->text && mdown_codes(s->text);
}

const char *
transcript_copy_code(struct transcript *t, size_t *len, char what[64])
{
	const struct said *s = to_copy(t);
	size_t n = s && s->text ? mdown_codes(s->text) : 0, i;

	if (!n)
		return NULL;
	i = t->code_of == s->id && t->code_next < n ? t->code_next : 0;
	t->code_of = s->id;
	t->code_next = i + 1;
	if (n > 1)
		snprintf(what, 64, "block %zu of %zu", i + 1, n);
	else
		snprintf(what, 64, "the block of code");
	return mdown_code(s->text, i, len);
}

bool
transcript_fold(struct transcript *t)
{
	struct said *s = (struct said *)transcript_turn(t, SAID_MODEL);

	if (!s || !s->thinking)
		return false;
	s->unfolded = !s->unfolded;
	return true;
}
