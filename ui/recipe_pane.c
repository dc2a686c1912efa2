/* recipe_pane.c - recipes side by side: bytes, bits, error, and where each lies. */
#include "config.h"

#include "ui/recipe_pane.h"

#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define SCALE 8		/* columns left of the picture */
#define PICTURE_MIN 5
#define PICTURE_MAX 14

int
recipe_pane_cols(int w, int h)
{
	return w < RECIPE_PANE_FROM || h < 10 ? 0 : w < 140 ? 46 : w < 180 ? 54 : 64;
}

/* The present one first, as A; NULL: not made yet. */
static const struct plan *
nth(const struct recipe *s, size_t i)
{
	return i ? s->others[i - 1].plan : s->plan;
}

static enum role
role_of(const struct recipe *s, size_t i)
{
	return !i ? ROLE_MARK : i == s->compared ? ROLE_TITLE : ROLE_TEXT;
}

static void
say_error(const struct plan *p, char out[16])
{
	if (p->total.error < 0)
		snprintf(out, 16, "…");
	else
		snprintf(out, 16, "%.2f%%", 100 * p->total.error);
}

/* The present one's words, and how many rows somebody has set. */
static void
name_this(const struct recipe *s, char *out, size_t size)
{
	const struct plan *p = s->plan;
	char policy[PLAN_POLICY_MAX], bytes[16];
	size_t edited = 0;
	int n;

	for (size_t i = 0; i < p->nrows; i++)
		edited += p->rows[i].why == PLAN_EDITED;
	plan_policy_text(p->policy, p->mix, &p->limit, policy);
	if (p->policy == PLAN_BUDGET && p->limit.bytes)
		n = snprintf(out, size, "budget:%s", tb_human_bytes(p->limit.bytes, bytes));
	else if (!plan_policy_complete(p->policy) || p->policy == PLAN_KEEP || p->mix)
		n = snprintf(out, size, "%s", policy);
	else
		n = snprintf(out, size, "%s %s", p->quant, policy);
	if (edited && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, " +%zu", edited);
}

#define SIZE_COLS 9
#define BITS_COLS 6
#define ERROR_COLS 8
#define FIGURES_COLS (SIZE_COLS + BITS_COLS + ERROR_COLS)

static void
draw_one(struct area a, const struct recipe *s, size_t i)
{
	const struct plan *p = nth(s, i);
	enum role role = role_of(s, i);
	char size[16], error[16], name[96];
	int room = a.w - 3 - FIGURES_COLS, x = a.x + 3 + room;

	put_blank(a);
	if (!i)
		name_this(s, name, sizeof(name));
	put_fmt(a.y, a.x, 1, role, "%c", (char)('A' + i));
	put_clip(a.y, a.x + 1, 1, !i ? theme_sign(SIGN_CURSOR) : i == s->compared ? "=" : "", role);
	put_middle(a.y, a.x + 3, room, i ? s->others[i - 1].text : name, role);
	if (!p) {
		put_right(a.y, a.x + a.w - ERROR_COLS, ERROR_COLS,
			  s->others[i - 1].failed ? "-" : "…", ROLE_DIM);
		return;
	}
	say_error(p, error);
	put_right(a.y, x, SIZE_COLS, tb_human_bytes(p->total.after, size), role);
	put_fmt(a.y, x + SIZE_COLS, BITS_COLS, role, "%*.2f", BITS_COLS, p->total.bits);
	put_right(a.y, x + SIZE_COLS + BITS_COLS, ERROR_COLS, error, role);
}

/* Where x lies between low and high, of n places. */
static int
place_of(double x, double low, double high, int n)
{
	return high > low ? (int)((x - low) / (high - low) * (n - 1) + 0.5) : 0;
}

/* What the axes reach. */
struct reach { double low, high, worst; size_t n; };

static struct reach
reach_of(const struct recipe *s)
{
	struct reach r = { INFINITY, 0, 0, 0 };

	for (size_t i = 0; i <= s->nothers; i++) {
		const struct plan *p = nth(s, i);

		if (!p || p->total.error < 0)
			continue;
		r.low = fmin(r.low, (double)p->total.after);
		r.high = fmax(r.high, (double)p->total.after);
		r.worst = fmax(r.worst, p->total.error);
		r.n++;
	}
	return r;
}

/* The letters; the present one is put last, so that nothing hides it. */
static void
draw_letters(struct area a, const struct recipe *s, const struct reach *r)
{
	for (size_t i = s->nothers + 1; i-- > 0; ) {
		const struct plan *p = nth(s, i);

		if (p && p->total.error >= 0)
			put_fmt(a.y + a.h - 1 - place_of(p->total.error, 0, r->worst, a.h),
				a.x + place_of((double)p->total.after, r->low, r->high, a.w), 1,
				role_of(s, i), "%c", (char)('A' + i));
	}
}

/* Size to the right, error upwards: what lies left of and below another is better. */
static void
draw_picture(struct area a, const struct recipe *s)
{
	const struct reach r = reach_of(s);
	struct area in = { a.y, a.x + SCALE + 2, a.h - 2, a.w - SCALE - 2 };
	struct tb_buf line = TB_BUF(1024);
	char bytes[16];

	if (in.h < PICTURE_MIN || r.n < 2)
		return;
	for (int y = 0; y < in.h; y++) {
		if (!y || y + 1 == in.h)
			put_fmt(in.y + y, a.x, SCALE, ROLE_DIM, "%6.2f%%", y ? 0 : 100 * r.worst);
		put_clip(in.y + y, a.x + SCALE, 2, theme_utf8() ? "│" : "|", ROLE_DIM);
	}
	for (int x = 0; x < in.w + 1; x++)
		tb_buf_str(&line, !x ? theme_utf8() ? "└" : "+" : theme_utf8() ? "─" : "-");
	put_clip(in.y + in.h, a.x, SCALE, "  error", ROLE_DIM);
	put_clip(in.y + in.h, a.x + SCALE, in.w + 2, tb_buf_cstr(&line), ROLE_DIM);
	put_clip(in.y + in.h + 1, in.x, 9, tb_human_bytes((uint64_t)r.low, bytes), ROLE_DIM);
	put_right(in.y + in.h + 1, in.x + 9, in.w - 9, tb_human_bytes((uint64_t)r.high, bytes),
		  ROLE_DIM);
	draw_letters(in, s, &r);
	tb_buf_free(&line);
}

/* The last one wins. */
static void
draw_rules(struct area a, const struct recipe *s)
{
	size_t n = s->nrules, first;

	if (!n || a.h < 2)
		return;
	put_clip(a.y, a.x, a.w, n > 1 ? "RULES, the last that matches wins" : "RULE", ROLE_HEAD);
	first = n > (size_t)a.h - 1 ? n - ((size_t)a.h - 1) : 0;
	for (size_t i = first; i < n; i++)
		put_middle(a.y + 1 + (int)(i - first), a.x, a.w, s->rules[i], ROLE_TEXT);
}

void
recipe_pane_draw(struct area a, const struct recipe *s)
{
	struct area head;
	int rows = a.h;

	put_blank(a);
	for (int y = 0; y < a.h; y++)
		put_clip(a.y + y, a.x + 1, 1, theme_utf8() ? "│" : "|", ROLE_DIM);
	a.x += 3;
	a.w -= 4;
	head = area_top(&a, 1);
	put_clip(head.y, head.x, head.w, "RECIPES", ROLE_HEAD);
	put_fmt(head.y, head.x + head.w - FIGURES_COLS, FIGURES_COLS, ROLE_HEAD, "%*s%*s%*s",
		SIZE_COLS, "SIZE", BITS_COLS, "BITS", ERROR_COLS, "ERROR");
	for (size_t i = 0; i <= s->nothers && a.h > 0; i++)
		draw_one(area_top(&a, 1), s, i);
	(void)area_top(&a, 1);
	rows = a.h - (s->nrules ? 2 + (int)(s->nrules < 3 ? s->nrules : 3) : 0);
	if (rows > PICTURE_MAX)
		rows = PICTURE_MAX;
	if (rows >= PICTURE_MIN + 2)
		draw_picture(area_top(&a, rows), s);
	(void)area_top(&a, 1);
	draw_rules(a, s);
}
