/* frame.c - line 1, the summary line with the running job, and the key line. */
#include "config.h"

#include "ui/loop.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/away.h"

#define PROGRAM " tbtui "
#define JOB_BAR 10
#define WHERE_MIN 8	/* columns; less of a name says nothing */

/* Which lines of the frame there is room for: the body comes first, then the key
 * line (prompts and questions are there), the tabs, the summary. */
static bool
has_keys(void)
{
	return LINES >= 2;
}

bool
frame_has_tabs(void)
{
	return LINES >= 4;
}

static bool
has_summary(void)
{
	return LINES >= 6;
}

struct tab { enum view_id id; int x, w; char text[64]; };
struct tabs { struct tab tab[9]; size_t n; bool brief; int end; };

/* One for each digit: the key that opens it from here (the digit, unless that means
 * something else in this screen) and the title, or `brief`, where only the one we are in
 * has that. */
static void
lay_tabs(const struct ui *ui, bool brief, struct tabs *out)
{
	*out = (struct tabs){ .brief = brief, .end = brief ? 0 : (int)strlen(PROGRAM) };
	for (char digit = '1'; digit <= '9'; digit++) {
		struct tab *t = &out->tab[out->n];
		bool title = !brief || view_rows[ui->top->id].tab == digit;
		enum view_id id = 0;
		enum action opens;
		char key[16] = { digit };

		while (id < VIEW_COUNT && view_rows[id].tab != digit)
			id++;
		if (id == VIEW_COUNT)
			continue;
		opens = (enum action)(ACT_VIEW_FIRST + (int)id);
		if (keys_action(ui->top->id, digit) != opens)
			keys_label(opens, ui->top->id, theme_utf8(), key);
		snprintf(t->text, sizeof(t->text), " %s%s%s ", key, title ? " " : "",
			 title ? view_rows[id].title : "");
		t->id = id;
		t->x = out->end;
		t->w = (int)tb_width(t->text);
		out->end += t->w;
		out->n++;
	}
}

static struct tabs
tabs_of(const struct ui *ui)
{
	struct tabs t;

	lay_tabs(ui, false, &t);
	if (t.end > COLS)
		lay_tabs(ui, true, &t);
	return t;
}

enum view_id
frame_tab_at(const struct ui *ui, int x)
{
	struct tabs t = tabs_of(ui);

	for (size_t i = 0; i < t.n; i++)
		if (x >= t.tab[i].x && x < t.tab[i].x + t.tab[i].w)
			return t.tab[i].id;
	return VIEW_COUNT;
}

/* Says at the right end of a line with room for it what the screen is about. */
static void
draw_where(struct ui *ui, int y, int room, enum role role)
{
	struct view *v = ui->top;
	struct tb_buf where = TB_BUF(4096);
	int w;

	if (v->ops->where)
		v->ops->where(v, &where);
	else if (v->ops->needs_model)
		tb_buf_str(&where, v->loc.name);
	if (v->away)
		tb_buf_str(&where, " (remote, not verified)");
	w = (int)tb_width(tb_buf_cstr(&where));
	if (w > room)
		w = room;
	if (room >= WHERE_MIN)
		put_middle(y, COLS - 1 - w, w, tb_buf_cstr(&where), role);
	tb_buf_free(&where);
}

/* What the tabs leave of line 1. */
static int
line1_room(const struct ui *ui)
{
	return COLS - tabs_of(ui).end - 3;
}

static void
draw_line1(struct ui *ui)
{
	struct tabs t = tabs_of(ui);

	put_clip(0, 0, COLS, t.brief ? "" : PROGRAM, ROLE_FRAME);
	for (size_t i = 0; i < t.n; i++)
		put_clip(0, t.tab[i].x, t.tab[i].w, t.tab[i].text,
			 view_rows[t.tab[i].id].tab == view_rows[ui->top->id].tab ? ROLE_TAB_ON
										  : ROLE_FRAME);
	draw_where(ui, 0, line1_room(ui), ROLE_FRAME);
}

/* "▓▓▓▓░░ 61% 1.9 GB/s 0:21": how far it is. */
static void
job_numbers(const struct ui *ui, const struct ui_job *j, struct tb_buf *out)
{
	const struct tb_progress *p = &j->progress;
	uint64_t done, total;
	char text[16];

	tb_progress_part(p, &done, &total);
	if (total) {
		draw_bar(out, done, total, JOB_BAR);
		tb_buf_printf(out, " %u%%", tb_percent(done, total));
	} else if (p->items) {
		tb_buf_printf(out, "%ju", (uintmax_t)p->items);
	}
	if (ui->test)
		return;
	if (p->rate > 0)
		tb_buf_printf(out, " %s/s", tb_human_bytes((uint64_t)p->rate, text));
	tb_buf_printf(out, " %s", tb_human_time(p->eta >= 0 ? p->eta : p->seconds, text));
}

/* The running job at the right end of the line: its numbers whole, its title in what
 * is left of half the line.  Returns columns. */
static int
draw_job(const struct ui *ui, int y)
{
	const struct ui_job *j = jobs_current(&ui->jobs);
	size_t beside = jobs_beside(&ui->jobs);
	struct tb_buf numbers = TB_BUF(256);
	int wn, wt, x;

	if (!j)
		return 0;
	if (beside)
		tb_buf_printf(&numbers, "+%zu ", beside);
	job_numbers(ui, j, &numbers);
	wn = (int)tb_width(tb_buf_cstr(&numbers));
	wt = (int)tb_width(j->title);
	if (wt > COLS / 2 - wn)
		wt = COLS / 2 > wn + 8 ? COLS / 2 - wn : 8;
	x = COLS - wn - wt - 2;
	if (x > 0) {
		put_middle(y, x, wt, j->title, ROLE_DIM);
		put_clip(y, x + wt + 1, wn, tb_buf_cstr(&numbers), ROLE_BAR);
	}
	tb_buf_free(&numbers);
	return x > 0 ? COLS - x + 2 : 0;
}

/* Rows above the summary line that a message needs: `w` columns are free in that, or
 * all of it when no job is there. */
static int
message_rows(const struct ui *ui, int w, int most)
{
	int rows;

	if (!*ui->message || (int)tb_width(ui->message) <= w)
		return 0;
	rows = wrap_rows(ui->message, COLS - 2) - (w == COLS - 1);
	return rows < most ? rows : most;
}

/* w: columns that the job leaves; above: rows of the message. */
static void
draw_summary(struct ui *ui, int y, int w, int above)
{
	struct area said = { y - above, 1, above + (w == COLS - 1), COLS - 2 };
	struct tb_buf left = TB_BUF(4096);
	struct view *v = ui->top;

	if (above) {
		put_blank((struct area){ said.y, 0, said.h, COLS });
		(void)put_wrap(said, ui->message, ui->message_role);
	} else if (*ui->message) {
		put_clip(y, 1, w, ui->message, ui->message_role);
	}
	if (view_table(v) && v->rows.err.code)
		tb_buf_str(&left, v->rows.err.msg);
	else if (v->ops->summary)
		v->ops->summary(v, &left);
	if (!*ui->message || (above && w < COLS - 1)) {
		put_clip(y, 1, w, tb_buf_cstr(&left), ROLE_DIM);
		if (w == COLS - 1 && line1_room(ui) < WHERE_MIN)
			draw_where(ui, y, w - 3 - (int)tb_width(tb_buf_cstr(&left)), ROLE_DIM);
	}
	tb_buf_free(&left);
}

/* Draws the key and what it does at x when it fits before `end`; columns used. */
static int
put_key(const struct ui *ui, int y, int x, int end, enum action a)
{
	const char *word = ui->top->ops->word ? ui->top->ops->word(ui->top, a) : NULL;
	char label[16], name[64];
	int wk, wn;

	keys_label(a, ui->top->id, theme_utf8(), label);
	snprintf(name, sizeof(name), "%s", word ? word : action_info[a].name);
	if (a >= ACT_VIEW_FIRST)
		name[0] |= 0x20;	/* "Help" of the title */
	wk = (int)tb_width(label);
	wn = (int)tb_width(name);
	if (!wk || x + wk + wn + 1 > end)
		return 0;
	put_clip(y, x, wk, label, ROLE_KEY);
	put_clip(y, x + wk + 1, wn, name, ROLE_DIM);
	return wk + wn + 3;
}

/* Does a stand before b in the key line? Of equal rank the earlier in the table. */
static bool
before(enum action a, enum action b)
{
	unsigned ra = action_info[a].rank, rb = action_info[b].rank;

	return ra < rb || (ra == rb && a < b);
}

#define HELP_COLS 9	/* "? help", the gap before it, and the corner: curses leaves it */

static void
draw_keys(const struct ui *ui, int y)
{
	enum action last = ACT_NONE;
	int x = 1;

	put_clip(y, 0, COLS, "", ROLE_TEXT);
	for (;;) {		/* the usable action that follows the last one */
		enum action next = ACT_NONE;

		for (enum action a = 1; a < ACT_COUNT; a++)
			if (before(last, a) && (next == ACT_NONE || before(a, next)) && ui_can(ui, a))
				next = a;
		if (next == ACT_NONE)
			break;
		x += put_key(ui, y, x, next == ACT_VIEW_HELP ? COLS - 1 : COLS - HELP_COLS, next);
		last = next;
	}
}

/* What "/" found, or what Tab offers. */
static const char *
prompt_tail(struct ui *ui, char *out, size_t outlen)
{
	const struct pager *p = ui_pager(ui->top);
	bool filters = p ? *p->find : view_table(ui->top) && *ui->top->list.filter;
	size_t n = p ? p->hits : ui->top->list.n;

	if (*prompt_hint() || !filters)
		return prompt_hint();
	snprintf(out, outlen, "%zu match%s", n, n == 1 ? "" : "es");
	return out;
}

/* Rows for the keys, or for the whole of a question. */
static int
bottom_rows(const struct ui *ui)
{
	int rows = has_keys() && *ui->question ? wrap_rows(ui->question, COLS - 1) : has_keys();

	return rows < LINES / 2 || rows < 2 ? rows : LINES / 2;
}

static void
draw_bottom(struct ui *ui, int y)
{
	struct area line = { y, 0, 1, COLS };
	char tail[64];

	if (*ui->question) {
		line.h = LINES - y;
		put_blank(line);
		line.w--;		/* curses leaves the corner */
		(void)put_wrap(line, ui->question, ROLE_WARN);
	} else if (prompt_is_open() && prompt_owner() == ui)
		prompt_draw(line, prompt_tail(ui, tail, sizeof(tail)));
	else if (prompt_is_open() && prompt_owner() == ui->top && ui->top->ops->typing)
		put_fmt(y, 0, COLS, ROLE_DIM, " %s", ui->top->ops->typing(ui->top));
	else if (prompt_is_open())
		prompt_draw(line, prompt_hint());
	else if (*ui->message && !has_summary())
		put_clip(y, 0, COLS, ui->message, ui->message_role);
	else
		draw_keys(ui, y);
}

void
frame_draw(struct ui *ui)
{
	struct area body = { 0, 0, LINES, COLS };
	struct view *v = ui->top;
	int bottom = bottom_rows(ui), y = LINES - bottom - 1, room = 0, above = 0;

	erase();
	draw_cursor(-1, 0);
	if (frame_has_tabs()) {
		draw_line1(ui);
		(void)area_top(&body, 1);
	}
	body.h -= bottom + has_summary();
	if (has_summary()) {
		put_clip(y, 0, COLS, "", ROLE_DIM);
		room = COLS - 1 - draw_job(ui, y);
		above = message_rows(ui, room, body.h / 2);
	}
	body.h -= above;
	if (v->ops->draw)
		v->ops->draw(v, body);
	else if (view_table(v))
		table_draw(body, v);
	else if (ui_pager(v))
		pager_draw(body, ui_pager(v));
	if (has_summary())
		draw_summary(ui, y, room, above);
	if (has_keys())
		draw_bottom(ui, LINES - bottom);
	refresh();
}
