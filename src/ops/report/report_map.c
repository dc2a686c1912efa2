/* report_map.c - a picture of what fills the stores: a rectangle a model, as large as its
 * bytes, coloured, patterned and signed by its state (colour alone tells nobody).
 *
 * Places are per cent and letters are pixels, so that the picture is as wide as the page and
 * its names stay as large as text. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/report/report_html.h"

#define TILES 80		/* models with one of their own */
#define WIDE 2.6		/* of a usual page: width to height */

struct tile {
	const char *name;	/* NULL: so many models together */
	enum look look;
	uint64_t n, bytes;
	double x, y, w, h;	/* 0..100 */
};

struct map { struct tile *v; size_t n; uint64_t bytes; };

static int
by_tile_bytes(const void *a, const void *b)
{
	const struct tile *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->name && y->name ? strcmp(x->name, y->name) : (int)x->look - (int)y->look;
}

/* The largest models each, the others of a state together, then what is no model's. */
static bool
make_tiles(const struct report *r, struct map *m)
{
	struct tile rest[LOOK_COUNT] = { 0 };
	size_t n = 0;

	m->v = tb_calloc(r->models.n + LOOK_COUNT, sizeof(*m->v));
	if (!m->v)
		return false;
	for (size_t i = 0; i < r->models.n; i++)
		m->v[n++] = (struct tile){ .name = r->models.rows[i].name, .n = 1,
			.look = look_of_state(r->models.rows[i].state),
			.bytes = r->models.rows[i].bytes };
	if (n)
		qsort(m->v, n, sizeof(*m->v), by_tile_bytes);
	for (size_t i = TILES; i < n; i++) {
		rest[m->v[i].look].bytes += m->v[i].bytes;
		rest[m->v[i].look].n++;
	}
	n = n < TILES ? n : TILES;
	for (size_t i = 0; i < r->roots.n; i++) {
		const struct db_run_root *s = &r->roots.rows[i];

		rest[LOOK_ORPHAN].n += s->orphans;
		rest[LOOK_ORPHAN].bytes += s->orphan_bytes;
		rest[LOOK_REST].n += s->rest;
		rest[LOOK_REST].bytes += s->rest_bytes;
		rest[LOOK_HELD].n += s->held;
		rest[LOOK_HELD].bytes += s->held_bytes;
	}
	for (int i = 0; i < LOOK_COUNT; i++)
		if (rest[i].n) {
			rest[i].look = (enum look)i;
			m->v[n++] = rest[i];
		}
	if (n)
		qsort(m->v, n, sizeof(*m->v), by_tile_bytes);
	while (n && !m->v[n - 1].bytes)
		n--;
	m->n = n;
	for (size_t i = 0; i < n; i++)
		m->bytes += m->v[i].bytes;
	return true;
}

/* The longest side of a tile by its shortest, for the worst of n tiles in a strip that is
 * `side` long. */
static double
worst_shape(const struct tile *v, size_t n, double sum, double side, double area)
{
	double thick = sum * area / side, worst = 1;

	for (size_t i = 0; i < n; i++) {
		double len = (double)v[i].bytes * area / thick;
		double shape = len > thick ? len / thick : thick / len;

		worst = shape > worst ? shape : worst;
	}
	return worst;
}

/* Squarified: strips along the shorter side of what is left, as long as that makes their
 * tiles no longer and thinner. */
static void
lay_out_map(struct map *m)
{
	double x = 0, y = 0, w = WIDE * 100, h = 100, area = w * h / (double)m->bytes;
	size_t i = 0;

	while (i < m->n) {
		bool upright = w > h;
		double side = upright ? h : w, sum = (double)m->v[i].bytes, at = 0, thick;
		double shape = worst_shape(&m->v[i], 1, sum, side, area);
		size_t n = 1;

		for (; i + n < m->n; n++) {
			double more = sum + (double)m->v[i + n].bytes;
			double next = worst_shape(&m->v[i], n + 1, more, side, area);

			if (next > shape)
				break;
			shape = next;
			sum = more;
		}
		thick = sum * area / side;
		for (size_t k = i; k < i + n; k++) {
			struct tile *t = &m->v[k];
			double len = (double)t->bytes * area / thick;

			t->x = (upright ? x : x + at) / WIDE;
			t->y = upright ? y + at : y;
			t->w = (upright ? thick : len) / WIDE;
			t->h = upright ? len : thick;
			at += len;
		}
		*(upright ? &x : &y) += thick;
		*(upright ? &w : &h) -= thick;
		i += n;
	}
}

static void
put_tile(struct tb_buf *out, const struct tile *t)
{
	const struct look_row *l = &looks[t->look];
	char bytes[16];
	bool named = t->w >= 6 && t->h >= 8;

	tb_human_bytes(t->bytes, bytes);
	tb_buf_printf(out, "<svg x=\"%.3f%%\" y=\"%.3f%%\" width=\"%.3f%%\" height=\"%.3f%%\"><title>",
		      t->x, t->y, t->w, t->h);
	if (t->name)
		report_put(out, t->name, report_html_escape);
	else
		tb_buf_printf(out, "%ju %s", (uintmax_t)t->n, l->together);
	tb_buf_printf(out, ": %s, %s</title><rect class=\"t %s\" width=\"100%%\" height=\"100%%\"/>"
		      "<rect fill=\"url(#p-%s)\" width=\"100%%\" height=\"100%%\"/>", bytes, l->word,
		      l->css, l->css);
	if (t->w >= 2 && t->h >= 6)
		tb_buf_printf(out, "<text class=\"%s\" x=\"7\" y=\"18\">%s</text>", l->ink, l->sign);
	if (named) {
		tb_buf_printf(out, "<text class=\"%s%s\" x=\"24\" y=\"18\">", l->ink,
			      t->w < 20 ? " n" : "");
		if (t->name)
			report_put(out, t->name, report_html_escape);
		else
			tb_buf_printf(out, "%ju %s", (uintmax_t)t->n, l->together);
		tb_buf_str(out, "</text>");
	}
	if (named && t->h >= 14)
		tb_buf_printf(out, "<text class=\"s %s%s\" x=\"24\" y=\"35\">%s</text>", l->ink,
			      t->w < 20 ? " n" : "", bytes);
	tb_buf_str(out, "</svg>\n");
}

/* What each look means, with how much of it there is. */
static void
put_legend(const struct report *r, struct tb_buf *out)
{
	uint64_t n[LOOK_COUNT] = { 0 }, bytes[LOOK_COUNT] = { 0 };
	char text[16];

	for (size_t i = 0; i < r->models.n; i++) {
		enum look l = look_of_state(r->models.rows[i].state);

		n[l]++;
		bytes[l] += r->models.rows[i].bytes;
	}
	for (size_t i = 0; i < r->roots.n; i++) {
		n[LOOK_ORPHAN] += r->roots.rows[i].orphans;
		bytes[LOOK_ORPHAN] += r->roots.rows[i].orphan_bytes;
		n[LOOK_REST] += r->roots.rows[i].rest;
		bytes[LOOK_REST] += r->roots.rows[i].rest_bytes;
		n[LOOK_HELD] += r->roots.rows[i].held;
		bytes[LOOK_HELD] += r->roots.rows[i].held_bytes;
	}
	tb_buf_str(out, "<ul class=legend>\n");
	for (int i = 0; i < LOOK_COUNT; i++)
		if (n[i])
			tb_buf_printf(out, "<li><svg class=swatch aria-hidden=\"true\"><rect class=\"%s\" "
				      "width=\"100%%\" height=\"100%%\"/><rect fill=\"url(#p-%s)\" "
				      "width=\"100%%\" height=\"100%%\"/></svg><b>%s %s</b> %ju, %s"
				      "<span class=dim>%s</span></li>\n", looks[i].css, looks[i].css,
				      looks[i].sign, looks[i].word, (uintmax_t)n[i],
				      tb_human_bytes(bytes[i], text), looks[i].meaning);
	tb_buf_str(out, "</ul>\n");
}

void
report_map(struct report_out *o)
{
	struct tb_buf *out = &o->text;
	struct map m = { 0 };
	char bytes[16];

	if (!make_tiles(o->r, &m)) {
		out->failed = true;
		return;
	}
	if (m.n) {
		lay_out_map(&m);
		tb_human_bytes(m.bytes, bytes);
		tb_buf_printf(out, "<section><h2>What fills the disk</h2>\n<svg class=map role=\"img\" "
			      "aria-label=\"%s by model and state; the list below says the same\">\n<defs>",
			      bytes);
		for (int i = 0; i < LOOK_COUNT; i++)
			tb_buf_printf(out, "<pattern id=\"p-%s\" width=\"8\" height=\"8\" "
				      "patternUnits=\"userSpaceOnUse\"%s>%s</pattern>\n", looks[i].css,
				      looks[i].turn, looks[i].pattern);
		tb_buf_str(out, "</defs>\n");
		for (size_t i = 0; i < m.n; i++)
			put_tile(out, &m.v[i]);
		tb_buf_str(out, "</svg>\n");
		put_legend(o->r, out);
		tb_buf_str(out, "<p class=dim>Every model is drawn with all its bytes, also those that "
			   "it shares with others.</p></section>\n");
	}
	free(m.v);
}
