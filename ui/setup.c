#include "config.h"

#include "ui/setup.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/near.h"
#include "src/ops/home/home.h"
#include "ui/loop.h"
#include "ui/theme.h"

/* Of the one program; written before the first screen. */
static char columns[VIEW_COUNT][256];

const char *
setup_columns(enum view_id id)
{
	return *columns[id] ? columns[id] : NULL;
}

static void
no_word(struct config *c, const struct config_line *l, const char *what, struct tb_near *near)
{
	char hint[160];

	tb_near_text(near, hint, sizeof(hint));
	config_wrong(c, l, "no %s \"%.60s\"%s", what, near->word, hint);
}

/* VIEW_COUNT: "all"; false: there is none of that name. */
static bool
view_of(struct config *c, const struct config_line *l, const char *word, int *id)
{
	struct tb_near near = { .word = word };

	for (*id = 0; *id < VIEW_COUNT && strcasecmp(view_rows[*id].title, word); ++*id)
		tb_near_try(&near, view_rows[*id].title);
	if (*id < VIEW_COUNT || !strcmp(word, "all")) {
		tb_near_free(&near);
		return true;
	}
	no_word(c, l, "screen", &near);
	return false;
}

static bool
reaches(enum action a, int view)
{
	return view == VIEW_COUNT ? a != ACT_NONE : keys_applies(a, (enum view_id)view);
}

static void
set_key(struct config *c, const struct config_line *l)
{
	struct tb_near near = { .word = l->word[3] };
	enum action a = ACT_NONE;
	int view;

	if (!view_of(c, l, l->word[1], &view))
		return;
	if (strcmp(l->word[3], "none")) {
		for (a = 1; a < ACT_COUNT; a++) {
			if (reaches(a, view) && !strcasecmp(action_info[a].name, l->word[3]))
				break;
			if (reaches(a, view))
				tb_near_try(&near, action_info[a].name);
		}
		if (a == ACT_COUNT) {
			no_word(c, l, "action", &near);
			return;
		}
		tb_near_free(&near);
	}
	if (!keys_bind(view == VIEW_COUNT ? KEYS_EVERYWHERE : view, l->word[2], a))
		config_wrong(c, l, "no key \"%.60s\"", l->word[2]);
}

static void
set_color(struct config *c, const struct config_line *l)
{
	struct tb_near near = { .word = l->word[1] };
	const char *odd;
	char name[16];
	int r = 0;

	for (; r < ROLE_COUNT && strcmp(theme_role((enum role)r, name), l->word[1]); r++)
		tb_near_try(&near, name);
	if (r == ROLE_COUNT) {
		no_word(c, l, "role", &near);
		return;
	}
	tb_near_free(&near);
	odd = theme_set((enum role)r, l->word[2], l->word[3], l->word + 4, l->n - 4);
	if (odd)
		config_wrong(c, l, "no color or attribute \"%.60s\"", odd);
}

static void
set_columns(struct config *c, const struct config_line *l)
{
	char list[sizeof(*columns)] = "", word[32];
	const struct table *t;
	int view;

	if (!view_of(c, l, l->word[1], &view))
		return;
	t = view < VIEW_COUNT ? view_rows[view].ops->columns : NULL;
	if (!t) {
		config_wrong(c, l, "\"%.60s\" has no columns to choose", l->word[1]);
		return;
	}
	for (size_t i = 2; i < l->n; i++) {
		struct tb_near near = { .word = l->word[i] };
		size_t k = 0, used = strlen(list);

		for (; k < t->ncols && strcmp(table_column_word(&t->cols[k], word), l->word[i]); k++)
			tb_near_try(&near, word);
		if (k == t->ncols)
			no_word(c, l, "column", &near);
		else
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? " " : "", word);
		tb_near_free(&near);
	}
	memcpy(columns[view], list, sizeof(list));
}

void
setup(struct config *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct config_line *l = &c->lines[i];

		if (!strcmp(l->word[0], "key"))
			set_key(c, l);
		else if (!strcmp(l->word[0], "color"))
			set_color(c, l);
		else if (!strcmp(l->word[0], "columns"))
			set_columns(c, l);
	}
}

/* ---- printing ---- */

static void
lower(struct tb_buf *out, const char *s)
{
	for (; *s; s++)
		tb_buf_chr(out, *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s);
}

/* What the tables say, but for what was bound to something else. */
static void
print_table_keys(int view, struct tb_buf *out)
{
	for (enum action a = 1; a < ACT_COUNT; a++) {
		bool everywhere = action_info[a].where == EVERYWHERE;

		if (everywhere != (view == VIEW_COUNT) ||
		    (!everywhere && !keys_applies(a, (enum view_id)view)))
			continue;
		for (const char *s = action_info[a].keys; *s; ) {
			size_t len = strcspn(s, " ");

			tb_buf_str(out, "key ");
			lower(out, view == VIEW_COUNT ? "all" : view_rows[view].title);
			tb_buf_printf(out, " %.*s ", (int)len, s);
			lower(out, action_info[a].name);
			tb_buf_chr(out, '\n');
			s += len + strspn(s + len, " ");
		}
	}
}

static void
print_own_keys(struct tb_buf *out)
{
	const char *key;
	enum action a;
	int in;

	for (size_t i = 0; (key = keys_bound(i, &in, &a)); i++) {
		tb_buf_str(out, "key ");
		lower(out, in == KEYS_EVERYWHERE ? "all" : view_rows[in].title);
		tb_buf_printf(out, " %s ", strcmp(key, "\"") ? key : "\"\\\"\"");
		lower(out, a == ACT_NONE ? "none" : action_info[a].name);
		tb_buf_chr(out, '\n');
	}
}

static void
print_columns(enum view_id id, struct tb_buf *out)
{
	const struct table *t = view_rows[id].ops->columns;
	char word[32];

	if (!t)
		return;
	tb_buf_str(out, "columns ");
	lower(out, view_rows[id].title);
	if (*columns[id])
		tb_buf_printf(out, " %s", columns[id]);
	for (size_t i = 0; !*columns[id] && i < t->ncols; i++)
		tb_buf_printf(out, " %s", table_column_word(&t->cols[i], word));
	tb_buf_chr(out, '\n');
}

void
setup_print(struct config *c, struct tb_buf *out)
{
	setup(c);
	tb_buf_str(out, "\n# key VIEW KEY ACTION: VIEW is a screen or all, ACTION none takes the key"
		   " away; a key\n# of a screen goes before that of all.\n");
	print_table_keys(VIEW_COUNT, out);
	for (int v = 0; v < VIEW_COUNT; v++)
		print_table_keys(v, out);
	print_own_keys(out);
	tb_buf_str(out, "\n# color ROLE FOREGROUND BACKGROUND [ATTRIBUTE...]: default, black, red,"
		   " green, yellow,\n# blue, magenta, cyan, white or 0 to 255; bold, dim, italic,"
		   " underline, reverse, normal.\n");
	for (int r = 0; r < ROLE_COUNT; r++)
		theme_print((enum role)r, out);
	tb_buf_str(out, "\n# columns VIEW COLUMN...: those that are shown where there is room.\n");
	for (int v = 0; v < VIEW_COUNT; v++)
		print_columns((enum view_id)v, out);
}
