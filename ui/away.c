#include "config.h"

#include "ui/away.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/scan/scan.h"
#include "ui/loop.h"

void
away_free(struct away *a)
{
	if (!a)
		return;
	db_close(a->db);
	look_close(a->look);
	free(a->ctx.db_path);
	store_roots_free(&a->ctx.roots);
	free(a);
}

/* The mirror's index, in the mirror: it goes with that. */
static enum tb_status
make_index(struct away *a, const struct op_ctx *like, struct tb_job *job, struct tb_err *err)
{
	const char *root = look_loc(a->look)->root;
	char *dir = tb_asprintf("%s/.index", root);
	struct scan_request req = { 0 };
	struct scan_result result = { 0 };
	enum tb_status status;

	a->ctx = *like;
	a->ctx.roots = (struct store_roots){ 0 };
	a->ctx.db_path = dir ? tb_asprintf("%s/index.db", dir) : NULL;
	if (!a->ctx.db_path)
		status = tb_nomem(err);
	else if (mkdir(dir, 0700))
		status = tb_fail_errno(err, "%s", dir);
	else
		status = store_roots_add(&a->ctx.roots, root, err);
	if (!status)
		status = op_scan(&a->ctx, &req, job, &result, err);
	scan_result_free(&result);
	free(dir);
	return status;
}

enum tb_status
away_new(struct away **out, struct op_ctx *ctx, const struct look_request *req,
	 struct tb_job *job, struct tb_err *err)
{
	struct away *a = *out = tb_calloc(1, sizeof(*a));
	enum tb_status status;

	if (!a)
		return tb_nomem(err);
	status = look_open(&a->look, ctx, req, job, err);
	if (!status)
		status = make_index(a, ctx, job, err);
	if (status) {
		away_free(a);
		*out = NULL;
	} else {
		look_job(a->look, NULL);
	}
	return status;
}

struct away *
away_of(const struct ui *ui, const struct model_loc *loc)
{
	struct away *a = ui->away;

	while (a && !(loc->root && !strcmp(loc->root, look_loc(a->look)->root)))
		a = a->next;
	return a;
}

void
away_keep(struct view *v, struct away *a)
{
	struct ui *ui = v->ui;
	struct tb_err err;

	away_sweep(ui);
	if (db_open_read(&a->db, a->ctx.db_path, &err)) {
		view_complain(v, &err);
		away_free(a);
		return;
	}
	a->next = ui->away;
	ui->away = a;
	v->holds = a;
}

void
away_open(struct view *v, struct away *a)
{
	view_open(v, VIEW_MODEL, &(struct view_arg){ .model = look_loc(a->look) });
}

bool
away_can_open(enum view_id id)
{
	return id == VIEW_MODEL || id == VIEW_TENSORS || id == VIEW_TENSOR;
}

bool
away_can(enum action a)
{
	return a != ACT_VERIFY && a != ACT_DEEP && a != ACT_DELETE && a != ACT_RENAME &&
	       a != ACT_COPY && a != ACT_HEAL && a != ACT_PUSH && a != ACT_STATS;
}

static bool
shown_in(const struct view *v, const struct away *a)
{
	for (; v; v = v->below)
		if (v->away == a || v->holds == a)
			return true;
	return false;
}

void
away_sweep(struct ui *ui)
{
	if (jobs_busy(&ui->jobs, false) || ui->dead)
		return;
	for (struct away **p = &ui->away; *p; ) {
		struct away *a = *p;

		if (shown_in(ui->top, a) || shown_in(ui->kept, a)) {
			p = &a->next;
			continue;
		}
		*p = a->next;
		away_free(a);
	}
}

void
away_free_all(struct ui *ui)
{
	while (ui->away) {
		struct away *a = ui->away;

		ui->away = a->next;
		away_free(a);
	}
}
