/* markdown.c - where blocks begin and end, while the text is still coming.
 *
 * Only that is decided here, line by line, and only at the top: what a block says is read by
 * md4c.  An item of a list is a block of its own, so that a long list is laid out item by
 * item; so is a line of fenced code. */
#include "config.h"

#include "src/face/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/markdown_rows.h"

enum open_kind { OPEN_NONE, OPEN_TEXT, OPEN_QUOTE, OPEN_LIST, OPEN_FENCE };

/* The block that may go on. */
struct open_block {
	size_t at;		/* where it begins */
	size_t next;		/* the first line that nobody has looked at */
	enum open_kind kind;
	size_t item;		/* columns where an item's text begins */
	char fence;
	size_t fences;		/* how many of them opened it */
	size_t indent;		/* that many blanks before its lines are the fence's */
	bool inside;		/* a line of code was cut: what comes next goes on with it */
	bool blank;		/* the last line was empty, but an item may go on */
	bool gap;		/* an empty row comes first */
};

struct mdown {
	struct tb_buf src;
	bool verbatim, ended, changed;
	struct open_block split;	/* behind all that is settled */
	struct mrow_made rows;
	struct mrow_mark settled;
	size_t work;
};

struct mdown *
mdown_new(unsigned flags)
{
	struct mdown *m = tb_calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->src = TB_BUF((size_t)1 << 30);
	m->verbatim = flags & MDOWN_VERBATIM;
	m->rows = (struct mrow_made){ .spans = SPANS, .code = TB_BUF((size_t)1 << 30),
				      .utf8 = flags & MDOWN_UTF8, .limit = SIZE_MAX };
	return m;
}

void
mdown_free(struct mdown *m)
{
	if (!m)
		return;
	mrow_free(&m->rows);
	tb_buf_free(&m->src);
	free(m);
}

void
mdown_add(struct mdown *m, const char *text, size_t len)
{
	/* A line's end is \n for us, whoever wrote it. */
	for (const char *cr; (cr = memchr(text, '\r', len)); text = cr + 1) {
		tb_text_clean_lines(&m->src, text, (size_t)(cr - text));
		len -= (size_t)(cr + 1 - text);
	}
	tb_text_clean_lines(&m->src, text, len);
	m->changed = true;
}

void
mdown_end(struct mdown *m)
{
	m->ended = m->changed = true;
}

/* A line, and what it begins. */
struct line {
	size_t off, len;	/* without its end */
	const char *s;		/* behind the blanks */
	size_t n;
	size_t indent;		/* columns */
};

static struct line
line_of(const struct mdown *m, size_t off, size_t len)
{
	struct line l = { .off = off, .len = len, .s = m->src.p + off, .n = len };

	for (; l.n && (*l.s == ' ' || *l.s == '\t'); l.s++, l.n--)
		l.indent += *l.s == '\t' ? 4 - l.indent % 4 : 1;
	return l;
}

static size_t
run_of(const struct line *l, char c)
{
	size_t n = 0;

	while (n < l->n && l->s[n] == c)
		n++;
	return n;
}

/* Opens it a block of code? */
static bool
opens_fence(const struct line *l)
{
	char c = l->n ? *l->s : 0;
	size_t n = run_of(l, c);

	return l->indent < 4 && (c == '`' || c == '~') && n >= 3 &&
	       (c == '~' || !memchr(l->s + n, '`', l->n - n));
}

static bool
closes_fence(const struct line *l, const struct open_block *s)
{
	size_t n = run_of(l, s->fence);

	if (l->indent > 3 || n < s->fences)
		return false;
	while (n < l->n && (l->s[n] == ' ' || l->s[n] == '\t'))
		n++;
	return n == l->n;
}

static bool
is_heading(const struct line *l)
{
	size_t n = run_of(l, '#');

	return l->indent < 4 && n && n < 7 && (n == l->n || l->s[n] == ' ' || l->s[n] == '\t');
}

/* "---", "* * *"; *solid: without blanks between, so that text above it is a heading. */
static bool
is_rule(const struct line *l, bool *solid)
{
	char c = l->n ? *l->s : 0;
	size_t n = 0;

	*solid = c && run_of(l, c) == l->n;
	if (l->indent > 3 || !c || !strchr("-_*=", c))
		return false;
	for (size_t i = 0; i < l->n; i++) {
		n += l->s[i] == c;
		if (l->s[i] != c && l->s[i] != ' ' && l->s[i] != '\t')
			return false;
	}
	return n >= 3 || (*solid && (c == '-' || c == '='));
}

/* Of an item: the columns of its mark and the blanks behind it, 0: it is none.  *number: of
 * an ordered one. */
static size_t
item_of(const struct line *l, bool *ordered, unsigned *number)
{
	size_t mark = 0, blank = 0;

	*ordered = false;
	*number = 0;
	if (l->indent > 3 || !l->n)
		return 0;
	if (strchr("-+*", *l->s)) {
		mark = 1;
	} else {
		while (mark < 9 && mark < l->n && l->s[mark] >= '0' && l->s[mark] <= '9')
			*number = *number * 10 + (unsigned)(l->s[mark++] - '0');
		if (!mark || mark == l->n || !strchr(".)", l->s[mark]))
			return 0;
		mark++;
		*ordered = true;
	}
	while (mark + blank < l->n && l->s[mark + blank] == ' ')
		blank++;
	if (mark + blank < l->n && !blank && l->s[mark] != '\t')
		return 0;
	return l->indent + mark + (blank && blank < 5 && mark + blank < l->n ? blank : 1);
}

/* Makes the rows of [s->at, end), which goes on no more. */
static void
close_block(struct mdown *m, struct open_block *s, size_t end)
{
	if (s->kind != OPEN_NONE && end > s->at) {
		if (s->gap && m->rows.n) {
			mrow_begin(&m->rows);
			mrow_end(&m->rows);
		}
		s->gap = false;
		m->work += end - s->at;
		mblock_lay(&m->rows, m->src.p + s->at, end - s->at);
	}
	s->kind = OPEN_NONE;
	s->at = end;
	s->blank = false;
}

static void
fence_begin(struct mdown *m, struct open_block *s, const struct line *l)
{
	const char *lang;
	size_t n;

	s->kind = OPEN_FENCE;
	s->fence = *l->s;
	s->fences = run_of(l, s->fence);
	s->indent = l->indent;
	s->inside = false;
	lang = l->s + s->fences;
	n = l->n - s->fences;
	for (; n && *lang == ' '; lang++)
		n--;
	for (size_t i = 0; i < n; i++)
		if (lang[i] == ' ' || lang[i] == '\t')
			n = i;
	if (s->gap && m->rows.n) {
		mrow_begin(&m->rows);
		mrow_end(&m->rows);
	}
	s->gap = false;
	mrow_code_begin(&m->rows, NULL, lang, n);
}

/* whole: it has its end. */
static void
fence_line(struct mdown *m, struct open_block *s, const struct line *l, bool whole)
{
	const char *text = m->src.p + l->off;
	size_t skip = 0;

	while (!s->inside && skip < s->indent && skip < l->len && text[skip] == ' ')
		skip++;
	m->work += l->len;
	mrow_code(&m->rows, NULL, text + skip, l->len - skip, s->inside);
	mrow_code_text(&m->rows, text + skip, l->len - skip);
	if (whole)
		mrow_code_text(&m->rows, "\n", 1);
	s->inside = !whole;
}

/* A line that is a block for itself. */
static void
alone(struct mdown *m, struct open_block *s, size_t end)
{
	s->kind = OPEN_TEXT;
	close_block(m, s, end);
}

/* A line outside of code.  end: where the next one begins. */
static void
text_line(struct mdown *m, struct open_block *s, const struct line *l, size_t end)
{
	bool solid, ordered;
	unsigned number;
	size_t item;

	if (!l->n) {
		if (s->kind == OPEN_LIST) {
			s->blank = true;
			return;
		}
		close_block(m, s, l->off);
		s->at = end;
		s->gap = true;
		return;
	}
	if (s->kind == OPEN_LIST && l->indent >= s->item) {
		s->blank = false;
		return;
	}
	if (s->kind == OPEN_LIST && s->blank) {
		close_block(m, s, l->off);
		s->gap = true;
	}
	item = item_of(l, &ordered, &number);
	if (opens_fence(l)) {
		close_block(m, s, l->off);
		fence_begin(m, s, l);
		s->at = end;
	} else if (is_rule(l, &solid)) {
		if (s->kind != OPEN_TEXT || !solid || !strchr("-=", *l->s))
			close_block(m, s, l->off);
		alone(m, s, end);
	} else if (is_heading(l)) {
		close_block(m, s, l->off);
		alone(m, s, end);
	} else if (item && (s->kind == OPEN_LIST || s->kind == OPEN_NONE || !ordered || number == 1)) {
		close_block(m, s, l->off);
		s->kind = OPEN_LIST;
		s->item = item;
	} else if (*l->s == '>' && l->indent < 4 && s->kind != OPEN_QUOTE) {
		close_block(m, s, l->off);
		s->kind = OPEN_QUOTE;
	} else if (s->kind == OPEN_NONE) {
		s->kind = OPEN_TEXT;
	}
}

/* Where a line that is too long is cut: behind a blank, at least behind a character. */
static size_t
cut_at(const struct mdown *m, size_t from)
{
	size_t most = from + MDOWN_BLOCK_MAX, at = most;

	while (at > most - 256 && m->src.p[at - 1] != ' ')
		at--;
	if (m->src.p[at - 1] == ' ')
		return at;
	while (((unsigned char)m->src.p[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/* The line that begins at s->next.  whole: its end is there, too. */
static void
feed(struct mdown *m, struct open_block *s, size_t len, bool whole)
{
	struct line l = line_of(m, s->next, len);
	size_t end = s->next + len + whole;

	if (m->verbatim) {
		m->work += len;
		mrow_words(&m->rows, m->src.p + l.off, len);
		if (!len) {
			mrow_begin(&m->rows);
			mrow_end(&m->rows);
		}
		s->at = end;
	} else if (s->kind == OPEN_FENCE) {
		if (!s->inside && closes_fence(&l, s))
			s->kind = OPEN_NONE;
		else
			fence_line(m, s, &l, whole);
		s->at = end;
	} else {
		text_line(m, s, &l, end);
	}
	s->next = end;
	if (s->kind != OPEN_FENCE && s->next - s->at >= MDOWN_BLOCK_MAX)
		close_block(m, s, s->next);
}

/* A fence that is just being written is not shown as code. */
static bool
half_a_fence(const struct mdown *m, const struct open_block *s)
{
	struct line l = line_of(m, s->next, m->src.len - s->next);

	return s->kind == OPEN_FENCE && !s->inside && l.indent < 4 && l.n &&
	       run_of(&l, s->fence) == l.n;
}

void
mdown_lay(struct mdown *m, int width)
{
	struct open_block open;

	if (width < 1)
		width = 1;
	if (width != m->rows.width) {
		mrow_cut(&m->rows, &(struct mrow_mark){ 0 });
		m->rows.width = width;
		m->split = (struct open_block){ 0 };
	} else if (!m->changed) {
		return;
	} else {
		mrow_cut(&m->rows, &m->settled);
	}
	m->changed = false;
	for (;;) {
		size_t left = m->src.len - m->split.next;
		size_t look = left < MDOWN_BLOCK_MAX ? left : MDOWN_BLOCK_MAX;
		const char *from = tb_buf_cstr(&m->src) + m->split.next;
		const char *nl = look ? memchr(from, '\n', look) : NULL;

		if (nl)
			feed(m, &m->split, (size_t)(nl - from), true);
		else if (left > MDOWN_BLOCK_MAX)
			feed(m, &m->split, cut_at(m, m->split.next) - m->split.next, false);
		else
			break;
	}
	m->settled = mrow_mark(&m->rows);
	open = m->split;
	if (m->src.len > open.next && (m->ended || !half_a_fence(m, &open)))
		feed(m, &open, m->src.len - open.next, false);
	if (open.kind != OPEN_FENCE)
		close_block(m, &open, m->src.len);
}

size_t
mdown_rows(const struct mdown *m)
{
	return m->rows.n;
}

struct mdown_row
mdown_row(const struct mdown *m, size_t i)
{
	const struct row_place *p = &m->rows.row[i];

	return (struct mdown_row){ m->rows.spans.text.p ? m->rows.spans.text.p + p->text : "", p->len,
				   m->rows.spans.run ? m->rows.spans.run + p->run : NULL, p->nruns };
}

const char *
mdown_text(const struct mdown *m, size_t *len)
{
	*len = m->src.len;
	return tb_buf_cstr(&m->src);
}

size_t
mdown_codes(const struct mdown *m)
{
	return m->rows.ncodes;
}

const char *
mdown_code(const struct mdown *m, size_t i, size_t *len)
{
	*len = m->rows.codes[i].len;
	return m->rows.code.p ? m->rows.code.p + m->rows.codes[i].off : "";
}

size_t
mdown_work(const struct mdown *m)
{
	return m->work;
}
