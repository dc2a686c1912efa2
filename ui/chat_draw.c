#include "config.h"

#include "src/base/text.h"
#include "ui/chat_view.h"

/* The draft while the keys are those of the text. */
static void
draw_draft(struct area a, const struct chat_view *s)
{
	struct tb_buf line = TB_BUF(1u << 20);

	tb_buf_str(&line, "> ");
	chips_show(&s->chips, s->draft, &line, NULL);
	put_clip(a.y, a.x, a.w, tb_buf_cstr(&line), ROLE_DIM);
	tb_buf_free(&line);
}

void
chat_draw(struct view *v, struct area a)
{
	struct chat_view *s = v->state;
	bool typing = prompt_owner() == v;
	int most = a.h / 2 > 1 ? a.h / 2 : 1, rows, queued, shown;
	struct area transcript, strip, input;

	s->chips.rows = most;
	s->chips.cols = a.w - 4;
	rows = typing ? prompt_rows(a.w - 2) : s->draft != NULL;
	if (rows > most)
		rows = most;
	queued = waiting_rows(&s->waiting);
	if (queued > a.h - rows - 1)
		queued = a.h > rows ? a.h - rows - 1 : 0;
	shown = s->talk ? strip_rows(&s->strip, a.h - rows - queued) : 0;
	transcript = area_top(&a, a.h - rows - queued - shown);
	strip = area_top(&a, shown);
	if (s->text.n && s->talk) {
		transcript.x++;
		transcript.w -= 2;
		if (typing)
			transcript_no_cursor(&s->text);
		if (*s->beside.name)
			beside_draw(transcript, &s->beside, &s->text, s->speaker);
		else
			transcript_draw(transcript, &s->text);
	} else {
		draw_waiting(transcript, s->error,
			     s->talk ? "Say something to it." : "Loading…");
	}
	if (shown)
		strip_draw((struct area){ strip.y, strip.x + 1, strip.h, strip.w - 2 }, &s->strip,
			   s->talk->chat);
	waiting_draw((struct area){ a.y, a.x + 1, queued, a.w - 2 }, &s->waiting, &s->chips);
	input = (struct area){ a.y + queued, a.x + 1, rows, a.w - 2 };
	if (typing)
		prompt_draw(input, prompt_hint());
	else if (s->draft)
		draw_draft(input, s);
}

void
chat_summary(struct view *v, struct tb_buf *out)
{
	const struct chat_view *s = v->state;
	const struct gen_figures *f = &s->figures;
	const char *dot = theme_sign(SIGN_DOT);

	if (!s->talk)
		return;
	tb_buf_printf(out, "%s", s->working ? "speaking" : "ready");
	if (!f->context_used && !f->tokens)
		return;
	if (view_steady(v))
		tb_buf_printf(out, " %s prefill - %s decode - tok/s %s first -", dot, dot, dot);
	else
		tb_buf_printf(out, " %s prefill %.0f %s decode %.1f tok/s %s first %.0f ms", dot,
			      gen_prefill_rate(f), dot, gen_decode_rate(f), dot,
			      1000 * f->first_token_seconds);
	if (f->context)
		tb_buf_printf(out, " %s context %u/%u", dot, f->context_used, f->context);
	else if (f->context_used)	/* a server that does not say how much there is */
		tb_buf_printf(out, " %s context %u", dot, f->context_used);
	/* Last: 80 columns hardly have room for it. */
	if (f->guessed && !view_steady(v))
		tb_buf_printf(out, " %s %u/%u guessed", dot, f->right, f->guessed);
}

void
chat_where(struct view *v, struct tb_buf *out)
{
	const struct chat_view *s = v->state;

	tb_buf_str(out, *s->speaker ? s->speaker : v->loc.name);
}
