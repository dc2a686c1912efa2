/* view_tensor.c - one tensor: facts and histogram, values, bytes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "ui/tensor.h"

static void
tensor_opened(struct view *v, struct opened *o, const struct tb_err *err)
{
	struct tensor_view *s = v->state;

	s->o = o;
	s->t = o ? model_tensor(o->m, s->name) : NULL;
	if (s->t) {
		grid_init(s);
		heat_view_init(s);
		facts_compute(v, false);
	} else if (o) {
		snprintf(s->error, sizeof(s->error), "%s has no %s any more: R reads the stores.",
			 v->loc.name, s->name);
	} else {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
	}
}

static enum tb_status
tensor_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct tensor_view *s = v->state;
	enum tb_status status;

	if (!arg->tensor)
		return tb_fail(err, TB_EUSAGE, "Open a tensor from Tensors.");
	s->name = tb_strdup(arg->tensor);
	if (!s->name)
		return tb_nomem(err);
	status = opened_load(v, tensor_opened, err);
	if (status)
		free(s->name);
	return status;
}

static void
tensor_close(struct view *v)
{
	struct tensor_view *s = v->state;

	grid_free(s);
	heat_view_free(s);
	free(s->result);
	opened_unref(s->o);
	free(s->name);
}

static bool
tensor_same(const struct view *v, const struct view_arg *arg)
{
	const struct tensor_view *s = v->state;

	return !arg->tensor || (loc_same(&v->loc, arg->model) && !strcmp(s->name, arg->tensor));
}

/* Panes. */

static bool
tensor_has_pane(const struct tensor_view *s, unsigned pane)
{
	return pane < PANE_BYTES || (s->t && values_part_of(s->t, pane - PANE_BYTES));
}

static const char *
pane_title(unsigned pane, char out[32])
{
	if (pane < PANE_BYTES)
		return pane == PANE_FACTS ? "Histogram" : pane == PANE_HEAT ? "Map" : "Values";
	snprintf(out, 32, "Bytes of %s", inspect_part_name(pane - PANE_BYTES));
	return out;
}

static void
tensor_turn(struct tensor_view *s, int by)
{
	do
		s->pane = (s->pane + (unsigned)(PANE_COUNT + by)) % PANE_COUNT;
	while (!tensor_has_pane(s, s->pane));
}

/* b goes to the bytes, and then from part to part. */
static void
next_part(struct tensor_view *s)
{
	if (s->pane < PANE_BYTES) {
		s->pane = PANE_BYTES;
		return;
	}
	do
		s->pane = s->pane + 1 < PANE_COUNT ? s->pane + 1 : PANE_BYTES;
	while (!tensor_has_pane(s, s->pane));
}

static void
tensor_draw_panes(struct area a, const struct tensor_view *s)
{
	char text[32];
	int x = a.x + 1;

	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	for (unsigned i = 0; i < PANE_COUNT; i++) {
		const char *title = pane_title(i, text);
		int w = (int)strlen(title);

		if (!tensor_has_pane(s, i))
			continue;
		put_clip(a.y, x, w, title, i == s->pane ? ROLE_CURSOR : ROLE_DIM);
		x += w + 2;
	}
}

static void
tensor_draw(struct view *v, struct area a)
{
	struct tensor_view *s = v->state;

	if (a.h >= 4) {
		struct area name = area_top(&a, 1);

		put_clip(name.y, name.x + 1, name.w - 1, s->name, ROLE_TITLE);
	}
	if (!s->t) {
		a.x++;
		a.w--;
		(void)put_wrap(a, *s->error ? s->error : "Opening...",
			       *s->error ? ROLE_ERROR : ROLE_DIM);
		return;
	}
	if (a.h >= 4)
		tensor_draw_panes(area_top(&a, 1), s);
	if (a.h >= 12)
		put_blank(area_top(&a, 1));
	if (s->pane != PANE_HEAT)
		heat_leave(s);
	if (s->pane == PANE_FACTS)
		facts_draw(a, s);
	else if (s->pane == PANE_HEAT)
		heat_draw(v, a);
	else
		grid_draw(v, a);
}

static bool
tensor_act(struct view *v, enum action a)
{
	struct tensor_view *s = v->state;

	if (!s->t)
		return false;
	switch (a) {
	case ACT_NEXT_PANE:
	case ACT_PREV_PANE:
		tensor_turn(s, a == ACT_NEXT_PANE ? 1 : -1);
		return true;
	case ACT_HISTOGRAM:
		s->pane = PANE_FACTS;
		return true;
	case ACT_HEAT:		/* once more: the other measure */
		s->heat.max ^= s->pane == PANE_HEAT;
		s->pane = PANE_HEAT;
		return true;
	case ACT_VALUES:
		s->pane = PANE_VALUES;
		return true;
	case ACT_HEX:
		next_part(s);
		return true;
	case ACT_AGAIN:
		if (!s->computing)
			facts_compute(v, true);
		return true;
	case ACT_LOG_SCALE:
		s->log_scale = !s->log_scale;
		return true;
	default:
		return s->pane == PANE_HEAT ? heat_act(s, a)
					    : s->pane != PANE_FACTS && grid_act(s, a);
	}
}

static bool
tensor_can(const struct view *v, enum action a)
{
	const struct tensor_view *s = v->state;

	if (a == ACT_LOG_SCALE)
		return s->result && s->pane == PANE_FACTS;
	if (a == ACT_ZOOM_IN || a == ACT_ZOOM_OUT)
		return s->t && s->pane == PANE_HEAT;
	if (a == ACT_AGAIN)
		return s->result && !s->computing && s->pane == PANE_FACTS;
	return s->t && a != ACT_OPEN;
}

static void
tensor_summary(struct view *v, struct tb_buf *out)
{
	const struct tensor_view *s = v->state;

	if (s->t && s->pane == PANE_HEAT)
		heat_place(s, out);
	else if (s->t && s->pane != PANE_FACTS)
		grid_place(s, out);
}

static bool
tensor_subject(struct view *v, struct view_arg *out)
{
	const struct tensor_view *s = v->state;

	*out = (struct view_arg){ .model = &v->loc, .tensor = s->name };
	return true;
}

const struct view_ops view_tensor = {
	.size = sizeof(struct tensor_view), .needs_model = true, .open = tensor_open,
	.close = tensor_close, .same = tensor_same, .draw = tensor_draw, .act = tensor_act,
	.can = tensor_can, .summary = tensor_summary, .subject = tensor_subject,
};
