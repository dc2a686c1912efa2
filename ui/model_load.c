/* model_load.c - what the Model screen shows, put together by a worker. */
#include "config.h"

#include "ui/model_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/face/figures.h"
#include "src/face/texts.h"
#include "src/ops/home/home.h"
#include "ui/sizes.h"

struct model_loading {
	struct model_loc loc;		/* owned */
	struct opened *o;		/* a reference, until the screen has it */
	struct metadata meta;		/* owned, likewise */
	char *text[PANE_COUNT];		/* owned, likewise */
	unsigned threads;
	bool steady;
};

static const struct { enum pane pane; unsigned texts; } pages[] = {
	{ PANE_TEMPLATE, 1u << TEXT_TEMPLATE }, { PANE_LICENCE, 1u << TEXT_LICENCE },
	{ PANE_SETTINGS, 1u << TEXT_SETTINGS | 1u << TEXT_SYSTEM | 1u << TEXT_MESSAGES },
};

static enum tb_status
model_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct model_loading *l = arg;
	struct tb_buf b = TB_BUF(1u << 22);
	struct figures figures;
	enum tb_status status = opened_new(&l->o, &l->loc, err);

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages) && !status; i++) {
		struct tb_err why;

		status = tb_job_check(job, err);
		/* One damaged text does not hide the others. */
		if (!status && texts_page(l->o->m, pages[i].texts, &l->text[pages[i].pane], &why))
			l->text[pages[i].pane] = tb_strdup(why.msg);
	}
	for (size_t i = 0; !status && i < l->o->m->nproblems; i++)
		tb_buf_printf(&b, "%s %s\n", theme_sign(SIGN_BAD), l->o->m->problems[i].message);
	if (b.len)
		l->text[PANE_PROBLEMS] = tb_buf_take(&b);
	tb_buf_free(&b);
	if (!status)
		status = figures_of(l->o->m, l->threads, &figures, err);
	if (status)
		return status;
	l->text[PANE_PARAMETERS] = sizes_params(&figures.params);
	l->text[PANE_MEMORY] = sizes_memory(&figures.memory, l->steady);
	return metadata_read(l->o->m, job, &l->meta, err);
}

static void
model_load_free(void *arg)
{
	struct model_loading *l = arg;

	opened_unref(l->o);
	metadata_free(&l->meta);
	model_loc_free(&l->loc);
	for (int p = 0; p < PANE_COUNT; p++)
		free(l->text[p]);
	free(l);
}

static void
model_load_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	static const char *const none[PANE_COUNT] = {
#define X(id, title, none) [id] = none,
		PANE_LIST(X)
#undef X
	};
	struct model_view *s = v->state;
	struct model_loading *l = arg;

	if (status) {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		return;
	}
	s->o = l->o;
	s->m = s->o->m;
	s->meta = l->meta;
	l->o = NULL;
	l->meta = (struct metadata){ 0 };
	for (int p = 0; p < PANE_COUNT; p++) {
		pager_set(&s->text[p], l->text[p] ? l->text[p] : tb_strdup(none[p]),
			  p != PANE_PARAMETERS);
		l->text[p] = NULL;
	}
	view_refresh(v);
}

static const struct job_ops model_load_job = {
	.run = model_load_run, .done = model_load_done, .free = model_load_free,
};

void
model_load(struct view *v)
{
	struct model_loading *l = tb_calloc(1, sizeof(*l));

	if (l && !model_loc_copy(&l->loc, &v->loc, NULL)) {
		l->threads = view_ctx(v)->threads;
		l->steady = view_steady(v);
		(void)view_job(v, &model_load_job, l, "open %s", v->loc.name);
		return;
	}
	free(l);
	view_say(v, "out of memory");
}
