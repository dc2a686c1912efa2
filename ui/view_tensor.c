/* view_tensor.c - one tensor: facts and histogram, values, bytes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
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
		bytes_open_at(s);
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
	s->blob = arg->blob ? tb_strdup(arg->blob) : NULL;
	s->byte = arg->byte;
	status = s->name && (s->blob || !arg->blob) ? opened_load(v, tensor_opened, err)
						    : tb_nomem(err);
	if (status) {
		free(s->name);
		free(s->blob);
	}
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
	free(s->blob);
}

static bool
tensor_same(const struct view *v, const struct view_arg *arg)
{
	const struct tensor_view *s = v->state;

	return !arg->tensor || (!arg->blob && loc_same(&v->loc, arg->model) &&
				!strcmp(s->name, arg->tensor));
}

/* Panes. */

struct panes {
	const char *title[PANE_COUNT];
	char bytes[INSPECT_PARTS][32];
};

static void
tensor_panes(const struct tensor_view *s, struct panes *out)
{
	*out = (struct panes){ .title = {
		[PANE_FACTS] = "Histogram", [PANE_HEAT] = "Map", [PANE_VALUES] = "Values"
	} };
	for (unsigned p = 0; p < INSPECT_PARTS; p++) {
		snprintf(out->bytes[p], sizeof(out->bytes[p]), "Bytes of %s", inspect_part_name(p));
		if (s->t && values_part_of(s->t, p))
			out->title[PANE_BYTES + p] = out->bytes[p];
	}
}

static void
tensor_draw(struct view *v, struct area a)
{
	struct tensor_view *s = v->state;
	struct panes panes;

	if (a.h >= 4) {
		struct area name = area_top(&a, 1);

		put_clip(name.y, name.x + 1, name.w - 1, s->name, ROLE_TITLE);
	}
	if (!s->t) {
		draw_waiting(a, s->error, "Opening...");
		return;
	}
	tensor_panes(s, &panes);
	if (a.h >= 4)
		draw_panes(area_top(&a, 1), panes.title, PANE_COUNT, s->pane);
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
	struct panes panes;

	if (!s->t)
		return false;
	tensor_panes(s, &panes);
	switch (a) {
	case ACT_NEXT_PANE:
	case ACT_PREV_PANE:
		s->pane = draw_next_pane(panes.title, PANE_COUNT, s->pane,
					 a == ACT_NEXT_PANE ? 1 : -1);
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
	case ACT_HEX:		/* once more: the next part */
		do
			s->pane = draw_next_pane(panes.title, PANE_COUNT, s->pane, 1);
		while (s->pane < PANE_BYTES);
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
