/* markdown_block.c - one block of Markdown, as md4c reads it, in rows.
 *
 * md4c tells what begins and ends; whatever has lines of its own (a paragraph, a heading,
 * the text of an item) is gathered in `line` and put into rows when something else begins. */
#include "config.h"

#include "src/face/markdown_block.h"

#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* What a block can cost is bounded by its bytes: beyond that it is text. */
#define CALLS_OF_BYTE 8
#define TEXT_OF_BYTE 64
#define SOME 4096

static unsigned
style_of(const struct mblock *b)
{
	return (b->strong ? MDOWN_BOLD : 0u) | (b->em ? MDOWN_ITALIC : 0u) |
	       (b->code ? MDOWN_CODE : 0u) | (b->head ? MDOWN_HEAD : 0u);
}

/* What stands before a row: bars of quotes, the mark of an item (once) or its room.  It
 * takes no more than half of the columns. */
static void
prefix_make(struct mblock *b)
{
	int cols = 0, most = b->r->width / 2;

	mspan_cut(&b->prefix, 0, 0);
	for (unsigned i = 0; i < b->depth && i < DEPTH; i++) {
		struct container *c = &b->in[i];
		char text[32];
		int w;

		if (c->kind == IN_QUOTE)
			snprintf(text, sizeof(text), "%s", b->r->utf8 ? "│ " : "| ");
		else if (c->marked || c->kind != IN_ITEM)
			snprintf(text, sizeof(text), "%*s", c->kind == IN_ITEM ? c->width : 0, "");
		else
			snprintf(text, sizeof(text), "%s", c->mark);
		w = (int)tb_width(text);
		if (cols + w > most)
			break;
		cols += w;
		c->marked |= c->kind == IN_ITEM;
		mspan_add(&b->prefix, text, strlen(text), MDOWN_DIM);
	}
	b->prefix_cols = cols;
}

void
mblock_put_prefix(struct mblock *b)
{
	size_t run = 0, off = 0;

	prefix_make(b);
	mrow_begin(b->r);
	mrow_put_part(b->r, &b->prefix, 0, b->prefix.text.len, &run, &off);
}

/* The empty row between two paragraphs. */
static void
gap(struct mblock *b)
{
	bool marked[DEPTH];
	unsigned depth = b->depth;

	if (!b->gap)
		return;
	b->gap = false;
	b->depth = b->gap_depth < depth ? b->gap_depth : depth;
	for (unsigned i = 0; i < DEPTH; i++) {	/* no mark of an item stands there */
		marked[i] = b->in[i].marked;
		b->in[i].marked = true;
	}
	mblock_put_prefix(b);
	mrow_end(b->r);
	for (unsigned i = 0; i < DEPTH; i++)
		b->in[i].marked = marked[i];
	b->depth = depth;
}

static void
gap_follows(struct mblock *b, bool yes)
{
	b->gap |= yes;
	b->gap_depth = b->depth;
}

void
mblock_put_wrapped(struct mblock *b, const struct spans *s)
{
	size_t at = 0, run = 0, off = 0;

	while (at < s->text.len && !b->r->over && !b->r->failed) {
		const char *text = s->text.p + at;
		size_t n, shown;
		int width;

		mblock_put_prefix(b);
		width = b->r->width - b->prefix_cols;
		n = shown = mrow_fit(text, s->text.len - at, width < 1 ? 1 : width);
		while (shown && text[shown - 1] == ' ')
			shown--;
		mrow_put_part(b->r, s, at, shown, &run, &off);
		mrow_end(b->r);
		at += n;
		if (at < s->text.len && s->text.p[at] == '\n')
			at++;
		mspan_skip(s, at - (size_t)(text - s->text.p) - shown, &run, &off);
	}
}

static void
flush(struct mblock *b)
{
	if (!b->line.text.len || b->table.on)
		return;
	gap(b);
	mblock_put_wrapped(b, &b->line);
	mspan_cut(&b->line, 0, 0);
}

static void
rule(struct mblock *b)
{
	gap(b);
	mblock_put_prefix(b);
	for (int i = b->prefix_cols; i < b->r->width; i++)
		mrow_put(b->r, b->r->utf8 ? "─" : "-", b->r->utf8 ? strlen("─") : 1, MDOWN_DIM);
	mrow_end(b->r);
}

static struct container *
enter(struct mblock *b, enum in_kind kind)
{
	static struct container deeper;		/* nobody sees what is nested so deep */
	struct container *c = b->depth < DEPTH ? &b->in[b->depth] : &deeper;

	b->depth++;
	*c = (struct container){ .kind = kind };
	return c;
}

static void
item(struct mblock *b, const MD_BLOCK_LI_DETAIL *d)
{
	struct container *list = b->depth && b->depth <= DEPTH ? &b->in[b->depth - 1] : NULL;
	struct container *c = enter(b, IN_ITEM);
	const char *task = !d->is_task ? "" : d->task_mark == ' ' ? "[ ] " : "[x] ";

	if (list && list->kind == IN_ORDERED)
		snprintf(c->mark, sizeof(c->mark), "%u. %s", list->number++, task);
	else
		snprintf(c->mark, sizeof(c->mark), "%s %s", b->r->utf8 ? "•" : "*", task);
	c->width = (int)tb_width(c->mark);
}

/* Its mark is shown, even if there is nothing else. */
static void
item_end(struct mblock *b)
{
	const struct container *c = b->depth <= DEPTH ? &b->in[b->depth - 1] : NULL;

	if (c && !c->marked) {
		gap(b);
		mblock_put_prefix(b);
		mrow_end(b->r);
	}
	b->depth--;
}

static void
code_begin(struct mblock *b, const MD_BLOCK_CODE_DETAIL *d)
{
	gap(b);
	prefix_make(b);
	mrow_code_begin(b->r, &b->prefix, d->lang.text, d->lang.size);
	b->verbatim = true;
}

static void
code_end(struct mblock *b)
{
	const char *s = tb_buf_cstr(&b->line.text);
	size_t left = b->line.text.len;

	mrow_code_text(b->r, s, left);
	while (left && !b->r->over && !b->r->failed) {
		const char *end = memchr(s, '\n', left);
		size_t n = end ? (size_t)(end - s) : left;

		prefix_make(b);
		mrow_code(b->r, &b->prefix, s, n, false);
		s += n + (end != NULL);
		left -= n + (end != NULL);
	}
	mspan_cut(&b->line, 0, 0);
	b->verbatim = false;
}

static bool
tight(const struct mblock *b)
{
	return b->depth >= 2 && b->depth <= DEPTH && b->in[b->depth - 1].kind == IN_ITEM &&
	       b->in[b->depth - 2].tight;
}

/* Too much of it: it is shown as text. */
static int
enough(struct mblock *b)
{
	return b->calls-- == 0 || b->r->over || b->r->failed || tb_buf_failed(&b->line.text);
}

static int
enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct mblock *b = arg;

	flush(b);
	switch (type) {
	case MD_BLOCK_QUOTE: (void)enter(b, IN_QUOTE); break;
	case MD_BLOCK_UL: enter(b, IN_LIST)->tight = ((MD_BLOCK_UL_DETAIL *)detail)->is_tight; break;
	case MD_BLOCK_OL: {
		struct container *c = enter(b, IN_ORDERED);

		c->tight = ((MD_BLOCK_OL_DETAIL *)detail)->is_tight;
		c->number = ((MD_BLOCK_OL_DETAIL *)detail)->start;
		break;
	}
	case MD_BLOCK_LI: item(b, detail); break;
	case MD_BLOCK_HR: rule(b); break;
	case MD_BLOCK_H: b->head++; break;
	case MD_BLOCK_CODE: code_begin(b, detail); break;
	case MD_BLOCK_TABLE: mtable_begin(b, ((MD_BLOCK_TABLE_DETAIL *)detail)->col_count); break;
	case MD_BLOCK_TH: b->strong++; break;
	default: break;
	}
	return enough(b);
}

static int
leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct mblock *b = arg;

	if (!b->verbatim)
		flush(b);
	switch (type) {
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_UL:
	case MD_BLOCK_OL: b->depth--; break;
	case MD_BLOCK_LI:
		item_end(b);
		gap_follows(b, b->depth && b->depth <= DEPTH && !b->in[b->depth - 1].tight);
		break;
	case MD_BLOCK_H: b->head--; break;
	case MD_BLOCK_P: gap_follows(b, !tight(b)); break;
	case MD_BLOCK_CODE: code_end(b); break;
	case MD_BLOCK_TH:
		b->strong--;
		/* fallthrough */
	case MD_BLOCK_TD: mtable_cell(b, ((MD_BLOCK_TD_DETAIL *)detail)->align); break;
	case MD_BLOCK_TABLE:
		gap(b);
		mtable_end(b);
		break;
	default: break;
	}
	return enough(b);
}

/* Spans. */

static void
put_attribute(struct spans *to, const MD_ATTRIBUTE *a, unsigned style)
{
	struct tb_buf clean = TB_BUF(SOME);

	tb_text_clean_lines(&clean, a->text ? a->text : "", a->size < SOME / 8 ? a->size : SOME / 8);
	for (size_t i = 0; i < clean.len; i++)
		if (clean.p[i] == '\n' || clean.p[i] == '\t')
			clean.p[i] = ' ';
	mspan_add(to, tb_buf_cstr(&clean), clean.len, style);
	tb_buf_free(&clean);
}

/* The address, unless it is what is shown already. */
static void
address(struct mblock *b, const MD_ATTRIBUTE *href)
{
	size_t from = b->line.text.len - b->link;
	const char *shown = b->line.text.len ? b->line.text.p + b->link : "";
	size_t skip = href->size > from && !strncmp(href->text, "mailto:", 7) ? 7 : 0;

	if (!href->size || (from == href->size - skip && !memcmp(shown, href->text + skip, from)))
		return;
	mspan_add(&b->line, " <", 2, MDOWN_DIM);
	put_attribute(&b->line, href, MDOWN_DIM);
	mspan_add(&b->line, ">", 1, MDOWN_DIM);
}

static int
enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct mblock *b = arg;

	(void)detail;
	switch (type) {
	case MD_SPAN_EM: b->em++; break;
	case MD_SPAN_STRONG: b->strong++; break;
	case MD_SPAN_CODE: b->code++; break;
	case MD_SPAN_DEL: mspan_add(&b->line, "~~", 2, MDOWN_DIM); break;
	case MD_SPAN_A: b->link = b->line.text.len; break;
	case MD_SPAN_IMG:
		mspan_add(&b->line, "[image: ", 8, MDOWN_DIM);
		b->link = b->line.text.len;
		break;
	default: break;
	}
	return enough(b);
}

static int
leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct mblock *b = arg;

	switch (type) {
	case MD_SPAN_EM: b->em--; break;
	case MD_SPAN_STRONG: b->strong--; break;
	case MD_SPAN_CODE: b->code--; break;
	case MD_SPAN_DEL: mspan_add(&b->line, "~~", 2, MDOWN_DIM); break;
	case MD_SPAN_A: address(b, &((MD_SPAN_A_DETAIL *)detail)->href); break;
	case MD_SPAN_IMG:
		address(b, &((MD_SPAN_IMG_DETAIL *)detail)->src);
		mspan_add(&b->line, "]", 1, MDOWN_DIM);
		break;
	default: break;
	}
	return enough(b);
}

/* "&amp;", "&#8594;", "&#x2192;": those that people write; others stay as they are. */
static void
entity(struct mblock *b, const char *text, size_t len)
{
	static const struct { const char *name, *means; } named[] = {
		{ "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" }, { "&quot;", "\"" },
		{ "&apos;", "'" }, { "&nbsp;", " " }, { "&copy;", "©" }, { "&rarr;", "→" },
		{ "&larr;", "←" }, { "&times;", "×" }, { "&mdash;", "—" }, { "&ndash;", "–" },
		{ "&hellip;", "…" },
	};
	struct tb_buf clean = TB_BUF(64);
	char digits[16] = "", utf8[4];
	unsigned long cp = 0;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strlen(named[i].name) == len && !memcmp(named[i].name, text, len)) {
			mspan_add(&b->line, named[i].means, strlen(named[i].means), style_of(b));
			return;
		}
	if (len > 3 && len < sizeof(digits) && text[1] == '#') {
		bool hex = text[2] == 'x' || text[2] == 'X';

		memcpy(digits, text + 2 + hex, len - 3 - hex);
		cp = strtoul(digits, NULL, hex ? 16 : 10);
	}
	if (cp && cp < 0x110000 && (cp < 0xd800 || cp > 0xdfff) && cp != '\n' && cp != '\t') {
		tb_text_clean_lines(&clean, utf8, tb_utf8_put((uint32_t)cp, utf8));
		text = tb_buf_cstr(&clean);
		len = clean.len;
	}
	mspan_add(&b->line, text, len, style_of(b));
	tb_buf_free(&clean);
}

static int
said_text(MD_TEXTTYPE type, const char *text, MD_SIZE len, void *arg)
{
	struct mblock *b = arg;
	const char *tab;

	switch (type) {
	case MD_TEXT_BR:
	case MD_TEXT_SOFTBR: mspan_add(&b->line, b->table.on ? " " : "\n", 1, style_of(b)); break;
	case MD_TEXT_ENTITY: entity(b, text, len); break;
	case MD_TEXT_NULLCHAR: break;		/* the text was cleaned: there is none */
	default:
		for (; !b->verbatim && (tab = memchr(text, '\t', len)); text = tab + 1) {
			mspan_add(&b->line, text, (size_t)(tab - text), style_of(b));
			mspan_add(&b->line, " ", 1, style_of(b));
			len -= (MD_SIZE)(tab + 1 - text);
		}
		mspan_add(&b->line, text, len, style_of(b));
	}
	return enough(b);
}

void
mblock_lay(struct mrow_made *r, const char *text, size_t len)
{
	static const MD_PARSER parser = {
		.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML,
		.enter_block = enter_block, .leave_block = leave_block, .enter_span = enter_span,
		.leave_span = leave_span, .text = said_text,
	};
	struct mblock b = { .r = r, .line = SPANS, .prefix = SPANS, .table.cells = SPANS };
	struct mrow_mark mark = mrow_mark(r);

	b.calls = len * CALLS_OF_BYTE + SOME;
	r->limit = r->spans.text.len + len * TEXT_OF_BYTE + SOME * (size_t)r->width;
	if (md_parse(text, (MD_SIZE)len, &parser, &b) || r->over) {
		mrow_cut(r, &mark);
		r->limit = SIZE_MAX;
		r->over = false;
		mrow_words(r, text, len);
	}
	r->limit = SIZE_MAX;
	mtable_free(&b);
	mspan_free(&b.line);
	mspan_free(&b.prefix);
}
