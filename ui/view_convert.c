/* view_convert.c - a conversion as a table: what each tensor becomes and what that
 * costs.  Keys change rows and totals follow; nothing is written until confirmed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/recipe.h"
#include "ui/recipe_pane.h"
#include "ui/view.h"

enum { COL_NAME, COL_SHAPE, COL_FROM, COL_TO, COL_BEFORE, COL_AFTER, COL_ERROR, COL_WHY, COL_OTHER };

static const struct column convert_cols[] = {
	[COL_NAME] = { "TENSOR", 26, 72, false, SORTS_UP, 0, .middle = true },
	[COL_SHAPE] = { "SHAPE", 11, 16, true, SORTS_NOT, 5 },
	[COL_FROM] = { "FROM", 6, 13, false, SORTS_UP, 4 },
	[COL_TO] = { "TO", 12, 13, false, SORTS_UP, 1 },
	[COL_BEFORE] = { "BEFORE", 8, 0, true, SORTS_DOWN, 3 },
	[COL_AFTER] = { "AFTER", 8, 0, true, SORTS_DOWN, 2 },
	[COL_ERROR] = { "ERROR", 7, 0, true, SORTS_DOWN, 2 },
	[COL_WHY] = { "WHY", 20, 44, false, SORTS_UP, 6 },
	[COL_OTHER] = { "OTHER", 12, 13, false, SORTS_UP, 1 },
};

static size_t
row_of(const struct recipe *s, const struct plan_row *r)
{
	return (size_t)(r - s->plan->rows);
}

/* What is equal stays in natural order of names, as the plan is. */
static int
convert_order(const struct view *v, const void *one, const void *other)
{
	const struct plan_row *a = one, *b = other;
	char x[SCHEME_NAME_MAX], y[SCHEME_NAME_MAX];

	switch (v->list.sort) {
	case COL_FROM:
		return strcmp(scheme_name(&a->src->scheme, x), scheme_name(&b->src->scheme, y));
	case COL_TO:
		return strcmp(scheme_name(&a->target, x), scheme_name(&b->target, y));
	case COL_BEFORE:
		return (b->before > a->before) - (b->before < a->before);
	case COL_AFTER:
		return (b->after > a->after) - (b->after < a->after);
	case COL_ERROR:
		return (b->error > a->error) - (b->error < a->error);
	case COL_WHY:
		return strcmp(plan_why_text(a->why), plan_why_text(b->why));
	case COL_OTHER:		/* those that differ first */
		return recipe_row_differs(v->state, row_of(v->state, b)) -
		       recipe_row_differs(v->state, row_of(v->state, a));
	default:
		return 0;
	}
}

static enum tb_status
convert_read(struct view *v, const struct db_query *q, struct rows *out)
{
	const struct recipe *s = v->state;

	(void)q;
	ROWS_ALL(out, s->plan->rows, s->plan->nrows);
	return TB_OK;
}

static bool
convert_match(const struct view *v, const void *row)
{
	const struct recipe *s = v->state;
	const struct plan_row *r = row;

	return tb_contains(r->src->name, v->list.filter) &&
	       (!s->differing || recipe_row_differs(s, row_of(s, r)));
}

static const struct rows_source convert_rows = {
	.size = sizeof(struct plan_row), .read = convert_read, .match = convert_match,
	.order = convert_order,
};

/* What the row becomes in the recipe beside it. */
static void
put_other(const struct recipe *s, size_t row, struct cell *out)
{
	const struct recipe_other *o = recipe_compared(s);
	char name[SCHEME_NAME_MAX];

	out->role = recipe_row_differs(s, row) ? ROLE_WARN : ROLE_DIM;
	if (!o || !o->plan)
		tb_buf_str(&out->text, o && o->failed ? "-" : "…");
	else if (out->role == ROLE_DIM)
		tb_buf_str(&out->text, "same");
	else
		tb_buf_str(&out->text, scheme_equal(&o->plan->rows[row].target,
						    &o->plan->rows[row].src->scheme)
			   ? "keep" : scheme_name(&o->plan->rows[row].target, name));
}

static void
convert_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct plan_row *r = row;
	bool changes = !scheme_equal(&r->src->scheme, &r->target);
	char text[WORD_MAX], scheme[SCHEME_NAME_MAX];

	if (!changes)
		out->role = ROLE_DIM;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, r->src->name); break;
	case COL_SHAPE:
		tb_buf_str(&out->text, word_shape(r->src->dim, r->src->ndim, theme_sign(SIGN_TIMES),
						  text));
		break;
	case COL_FROM: tb_buf_str(&out->text, scheme_name(&r->src->scheme, scheme)); break;
	case COL_TO:
		tb_buf_str(&out->text, changes ? scheme_name(&r->target, scheme) : "keep");
		break;
	case COL_BEFORE: tb_buf_str(&out->text, tb_human_bytes(r->before, text)); break;
	case COL_AFTER: tb_buf_str(&out->text, tb_human_bytes(r->after, text)); break;
	case COL_ERROR:
		if (!changes)
			tb_buf_str(&out->text, "0");
		else if (r->error >= 0)
			tb_buf_printf(&out->text, "%.2f%%", 100 * r->error);
		else
			tb_buf_str(&out->text, "…");
		break;
	case COL_WHY: tb_buf_str(&out->text, plan_why_text(r->why)); break;
	case COL_OTHER: put_other(v->state, row_of(v->state, r), out); break;
	}
}

static const struct table convert_table = {
	.cols = convert_cols, .ncols = COL_OTHER, .rows = &convert_rows, .cell = convert_cell,
	.empty = "No tensor has that in its name; Esc shows all.",
};
/* Beside another recipe. */
static const struct table compare_table = {
	TABLE_COLS(convert_cols), .rows = &convert_rows, .cell = convert_cell,
	.empty = "No tensor here differs; D shows the others, too.",
};

static const struct table *
convert_table_of(const struct view *v)
{
	const struct recipe *s = v->state;

	return !s->plan ? NULL : recipe_compared(s) ? &compare_table : &convert_table;
}

/* Drawing. */

#define PARTS 7

/* The recipe, each part behind the key that changes it, the first of them with a word to
 * say what it is.  Returns columns. */
static int
put_recipe(struct area a, const struct recipe *s, int words)
{
	char rules[32], budget[PLAN_POLICY_MAX] = "no budget", policy[PLAN_POLICY_MAX];
	const struct plan_limit *b = &s->words.budget;
	bool measures = plan_policy_measures(s->plan->policy);
	bool limited = b->bytes || b->bits > 0 || b->error > 0;
	const struct { enum action key; const char *word, *value; } parts[PARTS] = {
		{ ACT_SCHEME, "scheme ", measures ? "chosen" : s->plan->quant },
		{ ACT_POLICY, "policy ", measures ? plan_policy_name(s->plan->policy) : policy },
		{ ACT_BUDGET, "budget ", budget },
		{ ACT_DEST, "to ", recipe_dest_name(s->plan->dest) },
		{ ACT_FLAVOUR, "rounding ", flavour_name(s->plan->flavour) },
		{ ACT_EXPERTS, "experts ", plan_experts_name(s->plan->experts) },
		{ ACT_RULE, "", rules },
	};
	int x = 1;

	plan_policy_text(s->plan->policy, s->plan->mix, &s->plan->limit, policy);
	if (b->bytes)
		tb_human_bytes(b->bytes, budget);
	else if (b->bits > 0 || b->error > 0)
		plan_policy_text(b->bits > 0 ? PLAN_BUDGET : PLAN_LOSS, 0, b, budget);
	snprintf(rules, sizeof(rules), "%zu rule%s", s->nrules, tb_plural(s->nrules));
	for (int i = 0; i < PARTS; i++) {
		const char *colon = i == 2 ? strchr(budget, ':') : NULL;
		char key[16], text[128];
		int w;

		keys_label(parts[i].key, VIEW_CONVERT, theme_utf8(), key);
		snprintf(text, sizeof(text), "%s%s", i < words && (i != 2 || limited)
			 ? parts[i].word : "", colon ? colon + 1 : parts[i].value);
		w = (int)tb_width(text);
		if (a.h && x + 2 < a.w) {
			put_clip(a.y, a.x + x, 1, key, ROLE_KEY);
			put_clip(a.y, a.x + x + 2, w < a.w - x - 2 ? w : a.w - x - 2, text,
				 ROLE_TEXT);
		}
		x += w + 4;
	}
	return x - 2;
}

static void
draw_recipe(struct area a, const struct recipe *s)
{
	const struct area nowhere = { 0 };
	int words = PARTS;

	put_blank(a);
	while (words && put_recipe(nowhere, s, words) > a.w)
		words--;
	(void)put_recipe(a, s, words);
}

/* The row under the cursor: its name whole, and why it becomes what it does. */
static void
draw_current(struct area a, struct view *v)
{
	const struct plan_row *r = rows_current(v);
	const char *why = r ? plan_why_text(r->why) : "";
	int w = (int)tb_width(why), room = a.w - 2 - w - 2;

	put_blank(a);
	if (!r)
		return;
	if (room > (int)tb_width(r->src->name))
		room = (int)tb_width(r->src->name);
	if (room > 0)
		put_middle(a.y, a.x + 1, room, r->src->name, ROLE_TITLE);
	put_clip(a.y, a.x + 1 + (room > 0 ? room + 2 : 0), w, why, ROLE_DIM);
}

/* What is used of the budget, and what is left.  Returns the role of it. */
static enum role
say_budget(const struct recipe *s, int cols, struct tb_buf *b)
{
	const struct plan_total *t = &s->plan->total;
	double error = s->words.budget.error;
	uint64_t all = recipe_budget(s);
	char used[16], limit[16], left[16];

	if (!all) {
		tb_buf_printf(b, "%s  ", tb_human_bytes(t->after, used));
		if (t->error < 0) {
			tb_buf_printf(b, "error … of %.3g%%", 100 * error);
			return ROLE_TEXT;
		}
		tb_buf_printf(b, "error %.2f%% of %.3g%% ", 100 * t->error, 100 * error);
		draw_bar(b, (uint64_t)(t->error * 1e6), (uint64_t)(error * 1e6), cols);
		if (t->error > error)
			tb_buf_printf(b, " %.2f%% OVER", 100 * (t->error - error));
		return t->error > error ? ROLE_BAD : ROLE_OK;
	}
	tb_buf_printf(b, "%s of %s ", tb_human_bytes(t->after, used), tb_human_bytes(all, limit));
	draw_bar(b, t->after, all, cols);
	tb_buf_printf(b, " %s %s", tb_human_bytes(t->after > all ? t->after - all : all - t->after,
						  left), t->after > all ? "OVER" : "left");
	return t->after > all ? ROLE_BAD : ROLE_OK;
}

/* What it comes to: as a bar of the budget, else of what it was. */
static void
draw_totals(struct area a, const struct recipe *s)
{
	const struct plan_total *t = &s->plan->total;
	const struct plan_limit *budget = &s->words.budget;
	bool limited = budget->bytes || budget->bits > 0 || budget->error > 0;
	struct tb_buf b = TB_BUF(1024);
	char before[16], after[16];
	int cols = a.w < 100 ? 10 : 20, x;
	enum role role = ROLE_TEXT;

	put_blank(a);
	if (limited) {
		role = say_budget(s, cols, &b);
	} else {
		tb_buf_printf(&b, "%s -> %s ", tb_human_bytes(t->before, before),
			      tb_human_bytes(t->after, after));
		draw_bar(&b, t->after, t->before, cols);
		tb_buf_printf(&b, " %.0f%%", t->before ? 100.0 * (double)t->after /
			      (double)t->before : 100.0);
	}
	x = (int)tb_width(tb_buf_cstr(&b));
	if (x > a.w - 1)
		x = a.w - 1;
	put_clip(a.y, a.x + 1, x, tb_buf_cstr(&b), role);
	tb_buf_clear(&b);
	tb_buf_printf(&b, "  %.2f bits%s", t->bits, limited ? "" : " a weight");
	if (s->choosing)
		tb_buf_str(&b, "  measuring…");
	else if (limited && t->error >= 0 && !(budget->error > 0))
		tb_buf_printf(&b, "  error %.2f%%", 100 * t->error);
	tb_buf_printf(&b, "  %zu/%zu change", t->changed, t->tensors);
	if (!limited && t->error >= 0)
		tb_buf_printf(&b, "  error %.1f%%", 100 * t->error);
	put_clip(a.y, a.x + 1 + x, a.w - 1 - x, tb_buf_cstr(&b), ROLE_TEXT);
	tb_buf_free(&b);
}

static void
convert_draw(struct view *v, struct area a)
{
	struct recipe *s = v->state;
	int pane;

	s->legend = s->plan && a.h >= 6;
	if (!s->plan) {
		draw_waiting(a, s->error, "Opening…");
		return;
	}
	if (s->legend)
		draw_recipe(area_top(&a, 1), s);
	if (a.h >= 5)
		draw_totals(area_top(&a, 1), s);
	pane = recipe_pane_cols(a.w, a.h);
	s->pane = pane > 0;
	a.w -= pane;
	if (pane) {
		recipe_others_make(v);
		recipe_pane_draw((struct area){ a.y, a.x + a.w, a.h, pane }, s);
	}
	if (a.h >= 12)
		draw_current(area_top(&a, 1), v);
	table_draw(a, v);
}

static void
say_difference(const struct recipe *s, struct tb_buf *out)
{
	const struct recipe_other *o = recipe_compared(s);
	size_t n = 0;

	for (size_t i = 0; o->plan && i < s->plan->nrows; i++)
		n += recipe_row_differs(s, i);
	if (o->plan)
		tb_buf_printf(out, " %s %zu differ from %c %s", theme_sign(SIGN_DOT), n,
			      (char)('A' + s->compared), o->text);
	else
		tb_buf_printf(out, " %s beside %c %s", theme_sign(SIGN_DOT),
			      (char)('A' + s->compared), o->text);
}

static void
convert_summary(struct view *v, struct tb_buf *out)
{
	const struct recipe *s = v->state;

	if (!s->plan)
		return;
	if (v->list.nmarks)
		tb_buf_printf(out, "%zu marked %s ", v->list.nmarks, theme_sign(SIGN_DOT));
	(void)view_count(v, "tensor", out);
	if (recipe_compared(s))
		say_difference(s, out);
	tb_buf_printf(out, " %s ", theme_sign(SIGN_DOT));
	if (s->writing)
		tb_buf_str(out, "is being written");
	else
		tb_buf_str(out, s->written ? "written to " : "nothing is written yet");
	if (!s->writing && s->written)
		word_path(s->written, out);
}

/* Keys. */

/* Which scheme a key stands for, and in a GGUF. */
static const struct { enum action action; const char *target, *gguf; } scheme_keys[] = {
	{ ACT_INT4, "int4", "q4_k" }, { ACT_INT8, "int8", "q8_0" }, { ACT_NVFP4, "nvfp4", "nvfp4" },
	{ ACT_MXFP8, "mxfp8", "q6_k" }, { ACT_MXFP4, "mxfp4", "mxfp4" }, { ACT_KEEP, "keep", "keep" },
};

static const char *
target_of(const struct view *v, enum action a)
{
	const struct recipe *s = v->state;

	for (size_t i = 0; i < sizeof(scheme_keys) / sizeof(*scheme_keys); i++)
		if (scheme_keys[i].action == a)
			return s->plan && s->plan->dest == PLAN_TO_GGUF ? scheme_keys[i].gguf
									 : scheme_keys[i].target;
	return NULL;
}

void
recipe_set_rows(struct view *v, const char *target)
{
	const struct list *l = &v->list;
	size_t n = l->nmarks ? l->nmarks : l->n ? 1 : 0, *row = tb_calloc(n, sizeof(*row));

	for (size_t i = 0; row && i < n; i++)
		row[i] = l->nmarks ? (size_t)l->marks[i] : (size_t)rows_id(v, l->cur);
	if (row && n)
		recipe_set(v, row, n, target);
	free(row);
	view_refresh(v);
}

/* What was set by hand is nowhere else: an Esc too many would lose it. */
static bool
ask_to_leave(struct view *v)
{
	const struct recipe *s = v->state;
	bool by_hand = s->nrules > 0;

	for (size_t i = 0; i < s->plan->nrows && !by_hand; i++)
		by_hand = s->plan->rows[i].why == PLAN_EDITED;
	if (!by_hand || !s->nundo || s->written || s->saved || s->writing || *v->list.filter)
		return false;
	view_ask(v, view_back, "Leave, and lose this recipe (W saves it)?");
	return true;
}

static bool
convert_act(struct view *v, enum action a)
{
	struct recipe *s = v->state;

	if (!s->plan)
		return false;
	if (a == ACT_BACK || a == ACT_QUIT)
		return ask_to_leave(v);
	if (a == ACT_OPEN || a == ACT_WRITE) {
		recipe_ask_target(v);
		return true;
	}
	if (target_of(v, a)) {
		recipe_set_rows(v, target_of(v, a));
		return true;
	}
	switch (a) {
	case ACT_UNDO: recipe_undo(v); break;
	case ACT_RULE: recipe_ask_rule(v); return true;
	case ACT_SCHEME: recipe_ask_scheme(v); return true;
	case ACT_TYPE_FOR: recipe_ask_rows(v); return true;
	case ACT_BESIDE: recipe_ask_compare(v); return true;
	case ACT_LOAD: recipe_ask_load(v); return true;
	case ACT_SAVE: recipe_ask_save(v); return true;
	case ACT_TAKE: recipe_take(v, recipe_compared(s)); return true;
	case ACT_NEXT_PANE: recipe_compare_next(v, 1); return true;
	case ACT_PREV_PANE: recipe_compare_next(v, -1); return true;
	case ACT_DIFFERING:
		s->differing = !s->differing && recipe_compared(s);
		if (!recipe_compared(s))
			view_say(v, "From what? Tab goes through the recipes, = names one.");
		break;
	case ACT_BUDGET: recipe_ask_budget(v); return true;
	case ACT_POLICY_TYPED: recipe_ask_policy(v); return true;
	case ACT_POLICY: recipe_next_policy(v); break;
	case ACT_DEST: recipe_next_dest(v); break;
	case ACT_FLAVOUR: recipe_next_flavour(v); break;
	case ACT_EXPERTS: recipe_next_experts(v); break;
	case ACT_REQUANTIZE: recipe_requantize(v); return true;
	default: return false;
	}
	view_refresh(v);
	return true;
}

static bool
convert_can(const struct view *v, enum action a)
{
	const struct recipe *s = v->state;

	if (a == ACT_UNDO)
		return s->nundo > 0;
	if (a == ACT_TAKE || a == ACT_DIFFERING)
		return recipe_compared(s) != NULL;
	if (s->legend && (a == ACT_SCHEME || a == ACT_POLICY || a == ACT_FLAVOUR ||
			  a == ACT_EXPERTS || a == ACT_RULE || a == ACT_BUDGET || a == ACT_DEST))
		return false;		/* they are in put_recipe()'s row */
	return s->plan && a != ACT_OPEN;
}

const struct view_ops view_convert = {
	.size = sizeof(struct recipe), .needs_model = true, .columns = &convert_table,
	.table = convert_table_of, .open = recipe_open, .close = recipe_close,
	.draw = convert_draw, .act = convert_act, .can = convert_can, .word = target_of,
	.summary = convert_summary,
};
