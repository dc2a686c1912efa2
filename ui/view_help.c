/* view_help.c - the keys of the screen one came from, then all others; made from
 * the action table. */
#include "config.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "ui/view.h"

struct help {
	struct pager pager;
};

static const char *const titles[] = {
#define V(id, tab, keys, rank, ops, title, help) [VIEW_##id] = title,
#include "ui/views.def"
#undef V
};

static void
row(struct tb_buf *out, enum action a, enum view_id in)
{
	char keys[64], name[64];

	keys_all(a, in, keys, sizeof(keys));
	snprintf(name, sizeof(name), "%s", action_info[a].name);
	name[0] |= 0x20;
	if (*keys)
		tb_buf_printf(out, "  %-12s %-14s %s\n", keys, name, action_info[a].help);
}

static void
own_keys(struct tb_buf *out, enum view_id in)
{
	bool any = false;

	for (enum action a = 1; a < ACT_COUNT; a++) {
		if (action_info[a].where == EVERYWHERE || !keys_applies(a, in))
			continue;
		if (!any)
			tb_buf_printf(out, "%s\n\n", titles[in]);
		any = true;
		row(out, a, in);
	}
	if (any)
		tb_buf_chr(out, '\n');
}

static enum tb_status
help_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct help *s = v->state;
	struct tb_buf text = TB_BUF(1u << 20);
	enum view_id from = v->below ? v->below->id : VIEW_MODELS;
	char *whole;

	(void)arg;
	own_keys(&text, from);
	tb_buf_printf(&text, "Everywhere\n\n");
	for (enum action a = 1; a < ACT_COUNT; a++)
		if (action_info[a].where == EVERYWHERE)
			row(&text, a, from);
	tb_buf_printf(&text, "\nAfter : any of the names above, \"sort COLUMN\", "
		      "\"filter TEXT\", or the number of a row.\n\n");
	for (enum view_id in = 0; in < VIEW_COUNT; in++)
		if (in != from)
			own_keys(&text, in);
	whole = tb_buf_take(&text);
	tb_buf_free(&text);
	if (!whole)
		return tb_nomem(err);
	pager_set(&s->pager, whole, false);
	return TB_OK;
}

static void
help_close(struct view *v)
{
	struct help *s = v->state;

	pager_free(&s->pager);
}

/* Opened from another screen it starts with other keys. */
static bool
help_same(const struct view *v, const struct view_arg *arg)
{
	(void)v;
	(void)arg;
	return false;
}

static struct pager *
help_pager(struct view *v)
{
	struct help *s = v->state;

	return &s->pager;
}

static bool
help_act(struct view *v, enum action a)
{
	if (a != ACT_VIEW_HELP)
		return false;
	view_back(v);		/* the same key closes it */
	return true;
}

static bool
help_can(const struct view *v, enum action a)
{
	(void)v;
	return a != ACT_OPEN;
}

static void
help_summary(struct view *v, struct tb_buf *out)
{
	(void)v;
	tb_buf_str(out, "Esc goes back, / searches, n and N go through what was found");
}

const struct view_ops view_help = {
	.size = sizeof(struct help), .open = help_open, .close = help_close, .same = help_same,
	.pager = help_pager, .act = help_act, .can = help_can, .summary = help_summary,
};
