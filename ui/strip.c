#include "config.h"

#include "ui/strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/chat/chat.h"

#define ROWS 8			/* the title, the tokens, and some alternatives */
#define ROWS_MAX (GEN_TOP + 3)	/* all of them */
#define BAR 20
#define TURNS_MAX 16		/* of which all is kept, a few kB each; then the first go */

static struct strip_turn *
strip_of(const struct strip *s, uint64_t turn)
{
	for (size_t i = s->n; i-- > 0; )
		if (s->turns[i].turn == turn)
			return &s->turns[i];
	return NULL;
}

static void
forget(struct strip *s, struct strip_turn *t)
{
	free(t->token);
	s->n--;
	memmove(t, t + 1, (size_t)(s->turns + s->n - t) * sizeof(*t));
}

void
strip_free(struct strip *s)
{
	while (s->n)
		forget(s, &s->turns[s->n - 1]);
	free(s->turns);
	*s = (struct strip){ 0 };
}

/* The token under the cursor. */
static const struct gen_token *
strip_at(const struct strip *s)
{
	const struct strip_turn *t = strip_of(s, s->turn);

	return t && s->cur < t->n ? &t->token[s->cur] : NULL;
}

/* Alternatives, and the token itself where it is none of them: the last one then. */
static unsigned
choices(const struct gen_token *t)
{
	for (unsigned i = 0; i < t->ntop; i++)
		if (t->top[i].id == t->id)
			return t->ntop;
	return t->ntop + 1;
}

static struct gen_alternative
choice(const struct gen_token *t, unsigned i)
{
	return i < t->ntop ? t->top[i] : (struct gen_alternative){ t->id, t->logprob };
}

/* The cursor of the alternatives begins at what was said. */
static void
to_token(struct strip *s, size_t at)
{
	const struct strip_turn *t = strip_of(s, s->turn);

	s->cur = at < t->n ? at : t->n ? t->n - 1 : 0;
	s->alt = 0;
	while (s->cur < t->n && choice(&t->token[s->cur], s->alt).id != t->token[s->cur].id)
		s->alt++;
}

void
strip_begin(struct strip *s, uint64_t turn, size_t n, uint32_t id)
{
	struct strip_turn *was = strip_of(s, 0), *from;

	if (was)
		forget(s, was);
	if (s->n == TURNS_MAX)
		forget(s, &s->turns[0]);
	if (!tb_grow(&s->turns, &s->cap, s->n + 1, sizeof(*s->turns)))
		return;
	s->turns[s->n++] = (struct strip_turn){ 0 };
	from = turn ? strip_of(s, turn) : NULL;
	for (size_t i = 0; from && i <= n && i < from->n; i++) {
		struct gen_token t = from->token[i];

		for (unsigned k = 0; i == n && k < t.ntop; k++)
			if (t.top[k].id == id)
				t.logprob = t.top[k].logprob;
		if (i == n)
			t.id = id;
		strip_token(s, &t);
	}
	if (strip_show(s, 0) && from)
		to_token(s, n);
}

void
strip_token(struct strip *s, const struct gen_token *t)
{
	struct strip_turn *to = strip_of(s, 0);

	if (to && tb_grow(&to->token, &to->cap, to->n + 1, sizeof(*to->token)))
		to->token[to->n++] = *t;
}

void
strip_end(struct strip *s, uint64_t turn)
{
	struct strip_turn *t = strip_of(s, 0);

	if (t && turn && t->n)
		t->turn = turn;
	else if (t)
		forget(s, t);
	if (!s->turn)
		s->turn = turn;
}

bool
strip_show(struct strip *s, uint64_t turn)
{
	const struct strip_turn *t = strip_of(s, turn);

	if (s->turn != turn)
		s->cur = s->alt = 0;
	s->turn = turn;
	if (t && !s->cur)
		to_token(s, 0);
	return t != NULL;
}

uint32_t *
strip_chosen(const struct strip *s, size_t *n)
{
	const struct strip_turn *t = strip_of(s, s->turn);
	const struct gen_token *at = strip_at(s);
	uint32_t id, *ids;

	if (!at || !s->turn || s->alt >= choices(at))
		return NULL;
	id = choice(at, s->alt).id;
	ids = id != at->id ? tb_calloc(s->cur + 1, sizeof(*ids)) : NULL;
	if (!ids)
		return NULL;
	for (size_t i = 0; i < s->cur; i++)
		ids[i] = t->token[i].id;
	ids[s->cur] = id;
	*n = s->cur + 1;
	return ids;
}

/* Keys. */

bool
strip_act(struct strip *s, enum action a)
{
	const struct strip_turn *t = strip_of(s, s->turn);
	const struct gen_token *at = strip_at(s);

	if (!t)
		return false;
	switch (a) {
	case ACT_LEFT: to_token(s, s->cur ? s->cur - 1 : 0); return true;
	case ACT_RIGHT: to_token(s, s->cur + 1); return true;
	case ACT_FIRST: to_token(s, 0); return true;
	case ACT_LAST: to_token(s, t->n); return true;
	case ACT_UP: s->alt -= s->alt > 0; return true;
	case ACT_DOWN: s->alt += at && s->alt + 1 < choices(at); return true;
	default: return false;
	}
}

/* Drawing. */

/* Line ends can be seen; what is no text has a number. */
static void
token_text(struct chat *chat, uint32_t id, struct tb_buf *out)
{
	struct tb_buf text = TB_BUF(1u << 16);

	if (!chat_token_text(chat, id, &text) || !text.len)
		tb_buf_printf(&text, "<%u>", id);
	for (size_t i = 0; i < text.len; i++)
		if (text.p[i] == '\n')
			tb_buf_str(out, theme_utf8() ? "⏎" : "\\n");
		else if (text.p[i] == '\t')
			tb_buf_str(out, theme_utf8() ? "⇥" : "\\t");
		else
			tb_buf_chr(out, text.p[i]);
	tb_buf_free(&text);
}

/* The less likely it was, the louder. */
static enum role
role_of(double logprob)
{
	double p = exp(logprob);

	return p >= 0.9 ? ROLE_DIM : p >= 0.5 ? ROLE_TEXT : p >= 0.1 ? ROLE_WARN : ROLE_BAD;
}

/* Columns of it; w == 0: nothing is drawn. */
static int
put_token(int y, int x, int w, const struct gen_token *t, struct chat *chat, bool cursor)
{
	struct tb_buf text = TB_BUF(1u << 16);
	int cols;

	token_text(chat, t->id, &text);
	cols = (int)tb_width(tb_buf_cstr(&text));
	if (w)
		put_clip(y, x, cols < w ? cols : w, tb_buf_cstr(&text),
			 cursor ? ROLE_CURSOR : role_of(t->logprob));
	tb_buf_free(&text);
	return cols;
}

/* As many tokens around the cursor as there is room for. */
static void
draw_tokens(struct area a, const struct strip *s, const struct strip_turn *t, struct chat *chat)
{
	size_t first = s->cur < t->n ? s->cur : t->n ? t->n - 1 : 0;
	int x = 0;

	for (int room = a.w / 2; first && room > 0; first--) {
		room -= put_token(0, 0, 0, &t->token[first - 1], chat, false);
		if (room < 0)
			break;
	}
	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	for (size_t i = first; i < t->n && x < a.w; i++)
		x += put_token(a.y, a.x + x, a.w - x, &t->token[i], chat, i == s->cur);
}

static void
draw_choice(struct area a, const struct strip *s, const struct gen_token *t, unsigned i,
	    struct chat *chat)
{
	struct gen_alternative alt = choice(t, i);
	double share = 100 * exp(alt.logprob);
	struct tb_buf line = TB_BUF(1u << 16);

	tb_buf_printf(&line, "%s %6.2f %% ", alt.id == t->id ? theme_sign(SIGN_MARK) : " ", share);
	draw_bar(&line, (uint64_t)(share * 100 + 0.5), 10000, BAR);
	tb_buf_str(&line, "  ");
	token_text(chat, alt.id, &line);
	put_clip(a.y, a.x, a.w, tb_buf_cstr(&line), i == s->alt ? ROLE_CURSOR : ROLE_TEXT);
	tb_buf_free(&line);
}

int
strip_rows(const struct strip *s, int height)
{
	int rows = height / 3 > ROWS ? height / 3 : ROWS;

	rows = rows < ROWS_MAX ? rows : ROWS_MAX;
	rows = rows < height / 2 ? rows : height / 2;
	return s->on && rows > 2 ? rows : 0;
}

void
strip_draw(struct area a, struct strip *s, struct chat *chat)
{
	const struct strip_turn *t = strip_of(s, s->turn);
	const struct gen_token *at = strip_at(s);
	unsigned first = 0, n;

	if (!a.h)
		return;
	put_blank(a);
	if (!t || !at) {
		put_clip(a.y, a.x, a.w, t ? "No token has come yet." : "Nothing is known of the tokens "
			 "of that answer: another one (r) has them.", ROLE_DIM);
		return;
	}
	put_fmt(a.y, a.x, a.w, ROLE_HEAD, "token %zu of %zu  share %.2f %%  surprise %.2f bits",
		s->cur + 1, t->n, 100 * exp(at->logprob), -at->logprob / log(2));
	draw_tokens((struct area){ a.y + 1, a.x, 1, a.w }, s, t, chat);
	if (!at->ntop) {
		put_clip(a.y + 2, a.x, a.w, "There was no choice: the grammar wants it so.", ROLE_DIM);
		return;
	}
	n = choices(at);
	if (s->alt >= (unsigned)(a.h - 2))
		first = s->alt - (unsigned)(a.h - 2) + 1;
	for (int y = 2; y < a.h && first < n; y++, first++)
		draw_choice((struct area){ a.y + y, a.x, 1, a.w }, s, at, first, chat);
}
