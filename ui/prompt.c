#include "config.h"

#include "ui/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "ui/recall.h"

#define TEXT_MAX ((size_t)1 << 20)	/* bytes of one prompt; pasted text stops there */
#define CHIP_TEXT_MAX ((size_t)64 << 20)	/* where it becomes a chip, here */
#define KEY_EDIT 7			/* Ctrl-G */

/* Readline is one a process and calls back without an argument: static. */
static struct {
	bool open, selected, remembers;
	struct prompt_spec spec;
	unsigned char fed[8];
	size_t nfed;
	char *last;		/* text that changed() saw; owned */
	bool reading;		/* readline is at work, and begins a line afterwards */
	char *later;		/* what that line begins with; owned */
	char hint[1024];
	FILE *sink;		/* where readline writes to: nowhere */
} pr;

static int
give_byte(FILE *unused)
{
	int c;

	(void)unused;
	if (!pr.nfed)
		return EOF;
	c = pr.fed[0];
	memmove(pr.fed, pr.fed + 1, --pr.nfed);
	return c;
}

/* Without this readline selects on standard input while it inserts, sees type-ahead
 * there, asks give_byte() for it, gets EOF and ends the line. */
static int
bytes_waiting(void)
{
	return pr.nfed > 0;
}

static void
nothing(void)
{
}

static void
no_prep(int meta)
{
	(void)meta;
}

static int
enter_key(int count, int key)
{
	if (!pr.spec.goes_on || !pr.spec.goes_on(pr.spec.arg, rl_line_buffer))
		return rl_newline(count, key);
	rl_point = rl_end;
	rl_insert_text("\n");
	return 0;
}

static int
newline_key(int count, int key)
{
	if (!pr.spec.multiline)
		return key == '\n' ? enter_key(count, key) : 0;
	rl_insert_text("\n");
	return 0;
}

/* Text from elsewhere, which is clean; what is too long becomes a chip. */
static void
put_text(const char *text, bool chip)
{
	struct chips *chips = pr.spec.chips;
	char sign[5], *copy;

	if (!chips || !(chip || chips_hide(chips, text))) {
		rl_insert_text(text);
		return;
	}
	copy = tb_strdup(text);
	if (copy && chips_add(chips, copy, sign)) {
		rl_insert_text(sign);
		return;
	}
	free(copy);
	rl_insert_text(text);
}

static void
put_instead(char *text)
{
	if (pr.spec.chips)
		chips_guard(text);
	rl_begin_undo_group();
	rl_delete_text(0, rl_end);
	rl_point = 0;
	put_text(text, false);
	rl_end_undo_group();
}

static int
edit_key(int count, int key)
{
	struct tb_buf whole = TB_BUF(SIZE_MAX);
	char *text;

	if (!pr.spec.edit)
		return rl_abort(count, key);
	chips_unfold(pr.spec.chips, rl_line_buffer, &whole);
	text = tb_buf_failed(&whole) ? NULL : pr.spec.edit(pr.spec.arg, tb_buf_cstr(&whole));
	if (text)
		put_instead(text);
	free(text);
	tb_buf_free(&whole);
	return 0;
}

/* Up and Down go through the lines of the text; at its edge, through the history. */
static int
line_up(int count, int key)
{
	const char *text = rl_line_buffer;
	int start = rl_point, above;
	char *before;

	while (start && text[start - 1] != '\n')
		start--;
	if (!start && !rl_end && pr.spec.before && (before = pr.spec.before(pr.spec.arg))) {
		rl_insert_text(before);
		free(before);
		return 0;
	}
	if (!start)
		return rl_get_previous_history(count, key);
	above = start - 1;
	while (above && text[above - 1] != '\n')
		above--;
	rl_point = above + rl_point - start < start ? above + rl_point - start : start - 1;
	while (rl_point > above && ((unsigned char)text[rl_point] & 0xc0) == 0x80)
		rl_point--;
	return 0;
}

static int
line_down(int count, int key)
{
	const char *text = rl_line_buffer, *end = strchr(text + rl_point, '\n');
	int start = rl_point, below, last;

	if (!end)
		return rl_get_next_history(count, key);
	while (start && text[start - 1] != '\n')
		start--;
	below = (int)(end - text) + 1;
	last = below + (int)strcspn(text + below, "\n");
	rl_point = below + rl_point - start < last ? below + rl_point - start : last;
	while (rl_point > below && ((unsigned char)text[rl_point] & 0xc0) == 0x80)
		rl_point--;
	return 0;
}

static char *
next_candidate(const char *word, int state)
{
	static size_t i;
	const char *s;

	if (!state)
		i = 0;
	s = pr.spec.complete ? pr.spec.complete(pr.spec.arg, word, i++) : NULL;
	return s ? tb_strdup(s) : NULL;
}

static char **
complete(const char *word, int start, int end)
{
	(void)start;
	(void)end;
	rl_attempted_completion_over = 1;	/* never file names */
	rl_completion_append_character = '\0';
	return rl_completion_matches(word, next_candidate);
}

/* Where the last word begins that they do not all have. */
static size_t
last_word(const char *line)
{
	const char *blank = strrchr(line, ' '), *slash = strrchr(blank ? blank : line, '/');

	return slash > line ? (size_t)(slash - line) + 1 : blank ? (size_t)(blank - line) + 1 : 0;
}

static void
show_candidates(char **matches, int n, int longest)
{
	size_t used = 0, from = pr.spec.words ? last_word(matches[0]) : 0;

	(void)longest;
	for (int i = 1; i <= n && used < sizeof(pr.hint); i++)
		used += (size_t)snprintf(pr.hint + used, sizeof(pr.hint) - used, "%s%s",
					 i > 1 ? "  " : "", matches[i] + from);
}

/* Once: readline without a terminal. */
static void
readline_init(void)
{
	if (pr.sink)
		return;
	pr.sink = fopen("/dev/null", "w");
	rl_outstream = pr.sink;
	rl_readline_name = "tbtui";
	rl_catch_signals = rl_catch_sigwinch = rl_change_environment = 0;
	rl_prep_term_function = no_prep;
	rl_deprep_term_function = nothing;
	rl_redisplay_function = nothing;
	rl_getc_function = give_byte;
	rl_input_available_hook = bytes_waiting;
	rl_attempted_completion_function = complete;
	rl_completion_display_matches_hook = show_candidates;
	rl_completer_word_break_characters = (char *)(uintptr_t)"";
	rl_initialize();
	rl_variable_bind("bell-style", "none");
	rl_variable_bind("show-all-if-ambiguous", "on");
	rl_variable_bind("completion-query-items", "0");
	rl_variable_bind("enable-bracketed-paste", "off");
	rl_variable_bind("revert-all-at-newline", "on");	/* older lines stay what they were */
	rl_bind_key('\r', enter_key);
	rl_bind_key('\n', newline_key);
	rl_bind_key(KEY_EDIT, edit_key);
	rl_bind_keyseq("\\e[A", line_up);
	rl_bind_keyseq("\\eOA", line_up);
	rl_bind_keyseq("\\e[B", line_down);
	rl_bind_keyseq("\\eOB", line_down);
	rl_bind_keyseq("\\e\\C-m", newline_key);
	rl_bind_keyseq("\\e\\C-j", newline_key);
	stifle_history(RECALL_LEN);
}

void
prompt_remember(const char *history, char *const *lines, size_t n)
{
	if (pr.remembers || !n)
		return;
	pr.remembers = true;
	readline_init();
	if (pr.open)
		recall_save(pr.spec.history);
	recall_load(history);
	recall_older(lines, n);
	recall_save(history);
	if (pr.open)
		recall_load(pr.spec.history);
}

static void
tell_change(void)
{
	if (!pr.open || !rl_line_buffer || (pr.last && !strcmp(pr.last, rl_line_buffer)))
		return;
	free(pr.last);
	pr.last = tb_strdup(rl_line_buffer);
	if (pr.spec.changed)
		pr.spec.changed(pr.spec.arg, rl_line_buffer);
}

void
prompt_close(void)
{
	if (!pr.open)
		return;
	recall_save(pr.spec.history);
	rl_callback_handler_remove();
	pr.open = pr.selected = false;
	pr.nfed = 0;
	*pr.hint = 0;
	free(pr.last);
	pr.last = NULL;
}

static void
remember(const char *line)
{
	struct tb_buf whole = TB_BUF(RECALL_MAX);

	chips_unfold(pr.spec.chips, line, &whole);
	if (!tb_buf_failed(&whole))
		recall_put(tb_buf_cstr(&whole));
	tb_buf_free(&whole);
}

/* Enter, or end of file (text NULL).  The callback may open another prompt. */
static void
line_done(char *text)
{
	struct prompt_spec spec = pr.spec;

	if (text && spec.history)
		remember(text);
	if (!spec.stays)
		prompt_close();
	if (spec.done)
		spec.done(spec.arg, text);
	free(text);
}

static const char *
prompt_text(void)
{
	return pr.open && rl_line_buffer ? rl_line_buffer : "";
}

void
prompt_open(const struct prompt_spec *spec)
{
	readline_init();
	prompt_close();
	pr.spec = *spec;
	pr.open = true;
	recall_load(spec->history);
	rl_callback_handler_install("", line_done);
	free(pr.later);
	pr.later = pr.reading && spec->text ? tb_strdup(spec->text) : NULL;
	if (spec->text && !pr.reading)
		rl_insert_text(spec->text);
	pr.selected = spec->selected && spec->text && *spec->text;
	pr.last = tb_strdup(prompt_text());
}

/* What was typed waits at the end of the history while one looks at older lines. */
static void
leave_history(void)
{
	const HIST_ENTRY *h = current_history();

	if (h && rl_line_buffer && !strcmp(h->line, rl_line_buffer))
		while (where_history() < history_length)
			rl_get_next_history(1, 0);
	tell_change();
}

void
prompt_cancel(void)
{
	struct prompt_spec spec = pr.spec;

	if (!pr.open)
		return;
	if (RL_ISSTATE(RL_STATE_ISEARCH)) {	/* out of that first */
		prompt_byte(KEY_EDIT);
		return;
	}
	if (spec.stays)
		leave_history();
	if (!spec.stays)
		prompt_close();
	if (spec.done)
		spec.done(spec.arg, NULL);
}

bool
prompt_is_open(void)
{
	return pr.open;
}

const void *
prompt_owner(void)
{
	return pr.open ? pr.spec.arg : NULL;
}

static size_t
utf8_len(unsigned char lead)
{
	return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The first key after a text that is selected: a character takes its place, Backspace
 * takes it away (true: that was all), others begin to change it. */
static bool
replaces_selected(unsigned char c)
{
	bool rubs = c == 127 || c == 8;

	if (!pr.selected)
		return false;
	pr.selected = false;
	if (rubs || c >= ' ')
		rl_delete_text(0, rl_end), rl_point = 0;
	return rubs;
}

/* Readline reads the tail of a character itself and takes "no byte yet" for the
 * end of input: it gets whole characters. */
void
prompt_byte(unsigned char c)
{
	if (!pr.open || pr.nfed == sizeof(pr.fed))
		return;
	pr.fed[pr.nfed++] = c;
	if (pr.nfed < utf8_len(pr.fed[0]))
		return;
	if (pr.spec.chips && pr.nfed == 4) {
		char whole[5] = { (char)pr.fed[0], (char)pr.fed[1], (char)pr.fed[2], (char)pr.fed[3] };

		chips_guard(whole);
		memcpy(pr.fed, whole, 4);
	}
	if ((size_t)rl_end > TEXT_MAX && c >= ' ' && c != 127) {
		pr.nfed = 0;
		return;
	}
	*pr.hint = 0;
	if (replaces_selected(pr.fed[0]))
		pr.nfed = 0;
	pr.reading = true;
	while (pr.open && pr.nfed)
		rl_callback_read_char();
	pr.reading = false;
	/* A prompt that was opened by the end of another one: its text can be typed now. */
	if (pr.open && pr.later) {
		rl_insert_text(pr.later);
		free(pr.last);
		pr.last = pr.later;
	} else {
		free(pr.later);
	}
	pr.later = NULL;
	tell_change();
}

bool
prompt_paste(const char *s, size_t len)
{
	size_t max = pr.open && pr.spec.chips ? CHIP_TEXT_MAX : TEXT_MAX, room, used;
	struct tb_buf lf = TB_BUF(max), clean = TB_BUF(4 * max);

	if (!pr.open)
		return true;
	(void)replaces_selected(' ');
	room = (size_t)rl_end < max ? max - (size_t)rl_end : 0;
	for (size_t i = 0; i < len && lf.len < room; i++)
		if (s[i] == '\r' || s[i] == '\n') {
			tb_buf_chr(&lf, pr.spec.multiline ? '\n' : ' ');
			i += s[i] == '\r' && i + 1 < len && s[i + 1] == '\n';
		} else {
			tb_buf_chr(&lf, s[i]);
		}
	tb_text_clean_lines(&clean, tb_buf_cstr(&lf), lf.len);
	used = clean.len;
	if (!pr.spec.multiline)
		while (used && clean.p[used - 1] == ' ')
			clean.p[--used] = 0;
	*pr.hint = 0;
	if (clean.len && pr.spec.chips)
		chips_guard(clean.p);
	put_text(tb_buf_cstr(&clean), false);
	tell_change();
	used = tb_buf_failed(&lf) || tb_buf_failed(&clean) ? 0 : lf.len;
	tb_buf_free(&lf);
	tb_buf_free(&clean);
	return used && (used < room || used >= len);
}

void
prompt_insert(const char *text, bool whole)
{
	char *copy = pr.open ? tb_strdup(text) : NULL;

	if (!copy)
		return;
	if (pr.spec.chips)
		chips_guard(copy);
	put_text(copy, whole);
	tell_change();
	free(copy);
}

const char *
prompt_hint(void)
{
	return pr.hint;
}

/* The prompt as it is drawn: while one searches the history, that is what the label says. */
struct shown {
	const char *label;
	struct tb_buf text;	/* chips as words */
	size_t point;
};

static void
shown_make(struct shown *p)
{
	*p = (struct shown){ RL_ISSTATE(RL_STATE_ISEARCH) ? rl_display_prompt : pr.spec.label,
			     TB_BUF(4 * TEXT_MAX), (size_t)rl_point };
	chips_show(pr.spec.chips, prompt_text(), &p->text, &p->point);
}

/* Rows of text: where each starts, and where the cursor falls. */
struct layout {
	int rows, cursor_row, cursor_col;
};

/* Calls row() for each row of at most w columns; the label goes before the first. */
static struct layout
lay_out(const struct shown *p, int w, void (*row)(void *arg, int i, const char *s, size_t len),
	void *arg)
{
	const char *s = tb_buf_cstr(&p->text);
	size_t len = p->text.len, start = 0, i = 0;
	int col = (int)tb_width(p->label);
	struct layout l = { 0, 0, col };

	while (i <= len) {
		uint32_t cp = 0;
		size_t n = i < len ? tb_utf8_next(s + i, len - i, &cp) : 1;
		int cols = cp >= ' ' ? tb_width_cp(cp) : 1;

		if (i < len && cp != '\n' && col + cols >= w && i > start) {
			if (row)
				row(arg, l.rows, s + start, i - start);
			l.rows++;
			start = i;
			col = 0;
		}
		if (i == p->point) {
			l.cursor_row = l.rows;
			l.cursor_col = col;
		}
		if (i == len || cp == '\n') {
			if (row)
				row(arg, l.rows, s + start, i - start);
			l.rows++;
			start = i + 1;
			col = -cols;
		}
		col += cols;
		i += n;
	}
	return l;
}

int
prompt_rows(int w)
{
	struct shown p;
	int rows = 1;

	if (!pr.open)
		return 1;
	shown_make(&p);
	rows = lay_out(&p, w, NULL, NULL).rows;
	tb_buf_free(&p.text);
	return rows;
}

struct drawing {
	struct area a;
	const char *label;
	int first;		/* row of the text at the top of the area */
};

static void
draw_row(void *arg, int i, const char *s, size_t len)
{
	const struct drawing *d = arg;
	struct area a = d->a;
	int y = a.y + i - d->first, skip = i ? 0 : (int)tb_width(d->label);
	struct tb_buf b = TB_BUF(TEXT_MAX);

	if (y < a.y || y >= a.y + a.h)
		return;
	tb_buf_add(&b, s, len);
	if (!i)
		put_clip(y, a.x, skip, d->label, ROLE_KEY);
	put_clip(y, a.x + skip, a.w - skip, tb_buf_cstr(&b), ROLE_TEXT);
	if (pr.selected)
		put_clip(y, a.x + skip, (int)tb_width(tb_buf_cstr(&b)), tb_buf_cstr(&b), ROLE_CURSOR);
	tb_buf_free(&b);
}

void
prompt_draw(struct area a, const char *tail)
{
	struct shown p;
	struct layout l;
	struct drawing d = { .a = a };
	int used;

	if (!pr.open || a.h < 1)
		return;
	shown_make(&p);
	d.label = p.label;
	l = lay_out(&p, a.w, NULL, NULL);
	used = (int)tb_width(p.label) + (int)tb_width(tb_buf_cstr(&p.text)) + 2;
	if (l.cursor_row >= a.h)
		d.first = l.cursor_row - a.h + 1;
	put_blank(a);
	lay_out(&p, a.w, draw_row, &d);
	if (tail && *tail && l.rows == 1 && used < a.w)
		put_right(a.y, a.x + used, a.w - used - 1, tail, ROLE_DIM);
	draw_cursor(a.y + l.cursor_row - d.first, a.x + l.cursor_col);
	tb_buf_free(&p.text);
}

void
prompt_free(void)
{
	prompt_close();
	recall_free();
	if (pr.sink)
		fclose(pr.sink);
	pr.sink = NULL;
}
