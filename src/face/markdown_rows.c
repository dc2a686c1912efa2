/* markdown_rows.c - rows: how words are put into them, and how code is. */
#include "config.h"

#include "src/face/markdown_rows.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define TAB 8
#define BYTES_OF_COLUMN 32	/* marks without a width make no endless row */

void
mspan_add(struct spans *s, const char *text, size_t len, unsigned style)
{
	if (!len)
		return;
	if (s->n && s->run[s->n - 1].style == style) {
		s->run[s->n - 1].len += (uint32_t)len;
	} else if (tb_grow(&s->run, &s->cap, s->n + 1, sizeof(*s->run))) {
		s->run[s->n++] = (struct mdown_run){ (uint32_t)len, (uint8_t)style };
	} else {
		s->text.failed = true;
		return;
	}
	tb_buf_add(&s->text, text, len);
}

void
mspan_cut(struct spans *s, size_t text, size_t runs)
{
	size_t len = 0;

	if (s->text.len <= text)
		return;
	for (size_t i = s->n; i > runs; i--)
		len += s->run[i - 1].len;
	s->n = runs;
	/* its last run may have gone on */
	if (runs && s->text.len - len > text)
		s->run[runs - 1].len -= (uint32_t)(s->text.len - len - text);
	s->text.len = text;
	s->text.p[text] = 0;
}

void
mspan_free(struct spans *s)
{
	tb_buf_free(&s->text);
	free(s->run);
	*s = (struct spans)SPANS;
}

void
mrow_free(struct mrow_made *r)
{
	mspan_free(&r->spans);
	free(r->row);
	tb_buf_free(&r->code);
	free(r->codes);
}

void
mrow_begin(struct mrow_made *r)
{
	if (!tb_grow(&r->row, &r->cap, r->n + 1, sizeof(*r->row))) {
		r->failed = true;
		return;
	}
	r->row[r->n] = (struct row_place){ .text = r->spans.text.len, .run = r->spans.n };
}

void
mrow_put(struct mrow_made *r, const char *text, size_t len, unsigned style)
{
	struct row_place *p = r->failed ? NULL : &r->row[r->n];

	if (!p || !len)
		return;
	if (len > r->limit - r->spans.text.len) {
		r->over = true;
		return;
	}
	/* A run belongs to one row: the first of a row never goes on with the last one's. */
	if (r->spans.n == p->run) {
		if (!tb_grow(&r->spans.run, &r->spans.cap, p->run + 1, sizeof(*r->spans.run))) {
			r->failed = true;
			return;
		}
		r->spans.run[r->spans.n++] = (struct mdown_run){ 0, (uint8_t)style };
	}
	mspan_add(&r->spans, text, len, style);
	r->failed |= tb_buf_failed(&r->spans.text);
}

void
mrow_end(struct mrow_made *r)
{
	struct row_place *p = r->failed ? NULL : &r->row[r->n];

	if (!p)
		return;
	p->len = r->spans.text.len - p->text;
	p->nruns = r->spans.n - p->run;
	r->n++;
}

void
mrow_put_part(struct mrow_made *r, const struct spans *s, size_t from, size_t len, size_t *run,
	      size_t *run_off)
{
	while (len && *run < s->n) {
		size_t n = s->run[*run].len - *run_off;

		n = n < len ? n : len;
		mrow_put(r, s->text.p + from, n, s->run[*run].style);
		from += n;
		len -= n;
		*run_off += n;
		if (*run_off == s->run[*run].len) {
			++*run;
			*run_off = 0;
		}
	}
}

static int
columns_of(uint32_t cp, int col)
{
	return cp == '\t' ? TAB - col % TAB : tb_width_cp(cp);
}

size_t
mrow_fit(const char *text, size_t len, int width)
{
	size_t i = 0, end = 0, most = (size_t)width * BYTES_OF_COLUMN;
	int cols = 0;

	while (i < len && text[i] != '\n') {
		uint32_t cp;
		size_t n = tb_utf8_next(text + i, len - i, &cp);
		int w = columns_of(cp, cols);

		if (cols + w > width && (cp == ' ' || cp == '\t'))
			return i + n;	/* nobody sees a blank at the edge */
		if (cols + w > width || i > most)
			return end ? end : i ? i : n;
		cols += w;
		i += n;
		if (cp == ' ' || cp == '\t' || w == 2)	/* a row may end behind wide characters */
			end = i;
	}
	return i;
}

/* Bytes that fit, wherever that is in a word. */
static size_t
code_fit(const char *line, size_t len, int width)
{
	size_t i = 0, most = (size_t)width * BYTES_OF_COLUMN;
	int cols = 0;

	while (i < len && i <= most) {
		uint32_t cp;
		size_t n = tb_utf8_next(line + i, len - i, &cp);

		cols += columns_of(cp, cols);
		if (cols > width)
			return i ? i : n;
		i += n;
	}
	return i;
}

/* With tabs opened; the row's text begins here. */
static void
put_opened(struct mrow_made *r, const char *text, size_t len, unsigned style)
{
	size_t at = 0;
	int cols = 0;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t cp;
		int w;

		n = tb_utf8_next(text + i, len - i, &cp);
		w = columns_of(cp, cols);
		cols += w;
		if (cp != '\t')
			continue;
		mrow_put(r, text + at, i - at, style);
		mrow_put(r, "        ", (size_t)w, style);
		at = i + 1;
	}
	mrow_put(r, text + at, len - at, style);
}

static int
mspan_width(const struct spans *s)
{
	return s && s->text.len ? (int)tb_width(s->text.p) : 0;
}

static void
put_prefix(struct mrow_made *r, const struct spans *prefix)
{
	size_t run = 0, off = 0;

	if (prefix)
		mrow_put_part(r, prefix, 0, prefix->text.len, &run, &off);
}

void
mrow_code(struct mrow_made *r, const struct spans *prefix, const char *line, size_t len,
	  bool goes_on)
{
	const char *first = r->utf8 ? "│ " : "| ", *later = r->utf8 ? "┆ " : ": ";
	int width = r->width - mspan_width(prefix) - 2;

	width = width < 1 ? 1 : width;
	do {
		const char *bar = goes_on ? later : first;
		size_t n = code_fit(line, len, width);

		mrow_begin(r);
		put_prefix(r, prefix);
		mrow_put(r, bar, strlen(bar), MDOWN_DIM);
		put_opened(r, line, n, MDOWN_BLOCK);
		mrow_end(r);
		line += n;
		len -= n;
		goes_on = true;
	} while (len && !r->failed && !r->over);
}

void
mrow_code_begin(struct mrow_made *r, const struct spans *prefix, const char *lang, size_t len)
{
	struct tb_buf label = TB_BUF(4096);
	int width = r->width - mspan_width(prefix);

	if (!tb_grow(&r->codes, &r->codes_cap, r->ncodes + 1, sizeof(*r->codes))) {
		r->failed = true;
		return;
	}
	r->codes[r->ncodes++] = (struct code_place){ r->code.len, 0 };
	if (!len && r->ncodes < 2)
		return;
	tb_buf_str(&label, r->utf8 ? "╭ " : ". ");
	if (r->ncodes > 1)
		tb_buf_printf(&label, "%zu%s", r->ncodes, len ? " " : "");
	tb_buf_add(&label, lang, len < 64 ? len : mrow_fit(lang, 64, 64));
	mrow_begin(r);
	put_prefix(r, prefix);
	mrow_put(r, tb_buf_cstr(&label), mrow_fit(tb_buf_cstr(&label), label.len, width < 1 ? 1 : width),
		 MDOWN_DIM);
	mrow_end(r);
	tb_buf_free(&label);
}

void
mrow_code_text(struct mrow_made *r, const char *text, size_t len)
{
	tb_buf_add(&r->code, text, len);
	r->failed |= tb_buf_failed(&r->code);
	if (r->ncodes && !r->failed)
		r->codes[r->ncodes - 1].len += len;
}

struct mrow_mark
mrow_mark(const struct mrow_made *r)
{
	return (struct mrow_mark){ r->spans.text.len, r->spans.n, r->n, r->code.len, r->ncodes,
				   r->ncodes ? r->codes[r->ncodes - 1].len : 0 };
}

void
mrow_cut(struct mrow_made *r, const struct mrow_mark *m)
{
	mspan_cut(&r->spans, m->text, m->runs);
	r->n = m->rows;
	r->code.len = m->code;
	r->ncodes = m->ncodes;
	if (r->ncodes)
		r->codes[r->ncodes - 1].len = m->last_code;
}

void
mrow_words(struct mrow_made *r, const char *text, size_t len)
{
	while (len && !r->failed) {
		size_t n = mrow_fit(text, len, r->width), shown = n;

		while (shown && strchr(" \t", text[shown - 1]))
			shown--;
		mrow_begin(r);
		put_opened(r, text, shown, 0);
		mrow_end(r);
		text += n;
		len -= n;
		if (len && *text == '\n') {
			text++;
			len--;
		}
	}
}
