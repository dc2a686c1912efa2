/* loop.c - poll(terminal, wake pipe), and nothing else that waits. */
#include "config.h"

#include "ui/loop.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "src/base/text.h"
#include "ui/term.h"

#define KEY_IDLE 035		/* Ctrl-]: a test asks to be told when all is done and drawn */
#define KEY_DRAWN 036		/* Ctrl-^: the same, but jobs may run on */
#define ESC_WAIT 25		/* ms after which Esc was not the start of a sequence */
#define LOOK_EVERY 1000		/* ms between looks whether others changed the index */
#define WHEEL_ROWS 3
#define OPENING 0.3		/* seconds that keys wait for a screen that has just been opened */

static void
wheel(struct ui *ui, int by)
{
	if (view_table(ui->top)) {
		list_scroll(&ui->top->list, (long)by * WHEEL_ROWS);
		return;
	}
	for (int i = 0; i < WHEEL_ROWS; i++)
		ui_act(ui, by < 0 ? ACT_UP : ACT_DOWN);
}

static void
click(struct ui *ui)
{
	const struct table *t = view_table(ui->top);
	struct list *l = &ui->top->list;
	struct term_click c;
	size_t at;

	if (!term_click(&c))
		return;
	if (c.wheel) {
		wheel(ui, c.wheel);
		return;
	}
	if (c.y == 0 && frame_has_tabs()) {
		enum view_id id = frame_tab_at(ui, c.x);

		if (id != VIEW_COUNT)
			ui_open(ui, id, NULL);
		return;
	}
	if (!t || c.y < l->y - 1)
		return;
	if (c.y == l->y - 1) {		/* a title sorts, a second time the other way round */
		at = table_column_at(t, l, l->want_w, c.x);
		if (at < t->ncols && t->cols[at].sorts)
			ui_sort(ui, (unsigned)at, l->sort == at && !l->reverse);
		return;
	}
	at = l->top + (size_t)(c.y - l->y);
	if ((size_t)(c.y - l->y) >= l->height || at >= l->n)
		return;
	if (at == l->cur)
		ui_act(ui, ACT_OPEN);
	else
		list_goto(l, at);
}

/* What a test asks between the keys. */
static bool
test_asks(struct ui *ui, int k)
{
	if (!ui->test || (k != KEY_IDLE && k != KEY_DRAWN))
		return false;
	ui->idle_asked |= k == KEY_IDLE;
	ui->drawn_asked |= k == KEY_DRAWN;
	return true;
}

static void
pasted(struct ui *ui)
{
	struct paste *p = &ui->paste;

	*ui->message = 0;
	if (!prompt_is_open() && !*ui->question && keys_applies(ACT_TYPE, ui->top->id))
		ui_act(ui, ACT_TYPE);	/* who only reads there means to type it */
	if (!prompt_is_open())
		ui_say(ui, ROLE_TEXT, "Nothing can be pasted here: no text is being typed.");
	else if (!prompt_paste(tb_buf_cstr(&p->text), p->text.len) || p->cut)
		ui_say(ui, ROLE_ERROR, "What was pasted is too long: its end is missing.");
	paste_end(p);
}

static void
key(struct ui *ui, int k)
{
	enum action a;

	if (k == TERM_RESIZE)
		return;			/* the frame asks for the size each time */
	if (test_asks(ui, k))
		return;
	if (k == TERM_PASTE) {
		paste_begin(&ui->paste);
		return;
	}
	*ui->message = 0;
	if (*ui->question) {
		bool yes = k == 'y' || k == 'Y';

		ui_answer(ui, yes);
		if (!yes)
			ui_say(ui, ROLE_TEXT, "Nothing was done.");
		return;
	}
	if (k == TERM_MOUSE) {
		click(ui);
		return;
	}
	a = keys_action(ui->top->id, k);
	if (a != ACT_NONE)
		ui_act(ui, a);
	else
		ui_say(ui, ROLE_TEXT, "That key does nothing here; ? shows those that do.");
}

/* Of a sequence, which comes at once: -1 = there is no more. */
static int
next_byte(void)
{
	struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
	int c = term_byte();

	if (c < 0 && poll(&p, 1, ESC_WAIT) > 0)
		c = term_byte();
	return c;
}

/* Esc alone, or the start of what a key or Alt with a key sends?  Then *next is what
 * follows it. */
static bool
escape_alone(int *next)
{
	static const char follows[] = "[O\r\n\177bfdulcty.";

	*next = next_byte();
	if (*next > 0 && strchr(follows, *next))
		return false;
	term_unread(*next);
	return true;
}

/* Button codes of a wheel: 64 up, 65 down. */
static void
wheel_code(struct ui *ui, long code)
{
	if (code == 64 || code == 65)
		wheel(ui, code == 64 ? -1 : 1);
}

/* seq: what came behind Esc.  true: it was none of the line's, which would type its
 * tail. */
static bool
sequence(struct ui *ui, const char *seq, size_t len)
{
	if (!strcmp(seq, TERM_PASTE_SEQ)) {
		paste_begin(&ui->paste);
	} else if (!strcmp(seq, "[M")) {	/* a mouse, in three bytes */
		int code = next_byte() - ' ';

		(void)next_byte();
		(void)next_byte();
		wheel_code(ui, code);
	} else if (seq[1] == '<' && (seq[len - 1] == 'M' || seq[len - 1] == 'm')) {
		wheel_code(ui, strtol(seq + 2, NULL, 10));
	} else if (ui_pager(ui->top) && prompt_owner() == ui->top &&
		   (!strcmp(seq, "[5~") || !strcmp(seq, "[6~"))) {
		ui_act(ui, seq[1] == '5' ? ACT_PAGE_UP : ACT_PAGE_DOWN);
	} else {
		return false;
	}
	return true;
}

static void
control_sequence(struct ui *ui)
{
	char seq[32] = "[";
	size_t n = 1;
	int c = 0;

	while (n + 1 < sizeof(seq) && (c = next_byte()) >= 0) {
		seq[n++] = (char)c;
		if (c >= 0x40 && c <= 0x7e)
			break;
	}
	seq[n] = 0;
	if (sequence(ui, seq, n))
		return;
	prompt_byte(KEYS_ESC);
	for (size_t i = 0; i < n; i++)
		prompt_byte((unsigned char)seq[i]);
}

/* A byte for the line that is being typed. */
static void
typed(struct ui *ui, int c)
{
	int next;

	if (test_asks(ui, c))
		return;
	*ui->message = 0;
	if (c == KEYS_CTRL('c')) {
		prompt_cancel();
	} else if (c == KEYS_CTRL('l')) {
		term_redraw();
	} else if (c == KEYS_CTRL('z')) {
		term_suspend();
	} else if (c != KEYS_ESC) {
		prompt_byte((unsigned char)c);
	} else if (escape_alone(&next)) {
		prompt_cancel();
	} else if (next == '[') {
		control_sequence(ui);
	} else {
		prompt_byte(KEYS_ESC);
		prompt_byte((unsigned char)next);
	}
}

/* Is the screen so new that what it is about is still being read?  What was typed ahead is
 * meant for what it will show. */
static bool
opening(struct ui *ui)
{
	struct view *v = ui->top;

	return !prompt_is_open() && !*ui->question && !view_table(v) && !ui_pager(v) &&
	       jobs_busy_for(&ui->jobs, v) && tb_monotonic() - v->opened < OPENING;
}

static void
read_keys(struct ui *ui)
{
	while (!ui->quit && !opening(ui)) {
		bool raw = ui->paste.on || prompt_is_open();
		int k;

		term_raw(raw);
		k = raw ? term_byte() : term_key();
		if (raw ? k < 0 : k == TERM_NONE)
			break;
		if (ui->paste.on) {
			if (paste_byte(&ui->paste, (unsigned char)k))
				pasted(ui);
		} else if (raw) {
			typed(ui, k);
		} else {
			key(ui, k);
		}
		ui_bury(ui);
	}
	if (paste_stalled(&ui->paste))
		pasted(ui);
}

/* Tells a waiting test that what it sees is final: in order with the drawing. */
static void
say_idle(struct ui *ui)
{
	if (!ui->drawn_asked && (!ui->idle_asked || jobs_busy(&ui->jobs, false)))
		return;
	ui->idle_asked &= ui->drawn_asked;
	ui->drawn_asked = false;
	(void)!write(STDOUT_FILENO, "\033]777;idle\a", 11);
}

void
loop_run(struct ui *ui)
{
	double looked = tb_monotonic();

	while (!ui->quit && !term_signal()) {
		bool waits = opening(ui);
		struct pollfd p[2] = {
			{ STDIN_FILENO, waits ? 0 : POLLIN, 0 }, { ui->wake[0], POLLIN, 0 }
		};
		char woken[64];
		int n;

		frame_draw(ui);
		say_idle(ui);
		n = poll(p, 2, waits ? (int)(OPENING * 1000) : LOOK_EVERY);
		if (n < 0 && errno != EINTR)
			break;
		if (tb_monotonic() - looked >= LOOK_EVERY / 1000.0) {
			looked = tb_monotonic();
			if (db_changed(ui->db))
				ui_refresh(ui);
		}
		while (n > 0 && p[1].revents & POLLIN && read(ui->wake[0], woken, sizeof(woken)) > 0)
			;
		if (term_stop_asked())
			term_suspend();
		jobs_pump(&ui->jobs);
		read_keys(ui);
		if (n > 0 && p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
	}
}
