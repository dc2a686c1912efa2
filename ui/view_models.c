/* view_models.c - one row a model over all stores, from the index. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/blob.h"
#include "db/db.h"
#include "db/usage.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "src/ops/places/places.h"
#include "ui/blob_cells.h"
#include "ui/heal.h"
#include "ui/push.h"
#include "ui/tasks.h"
#include "ui/tidy.h"
#include "ui/view.h"

struct models {
	struct db_totals totals;
	char *places;		/* where was looked, while there is nothing to show; owned */
	struct table nothing;	/* says so */
	struct db_usage usage;	/* while models are marked: what they have for themselves */
	bool weighing;
	unsigned weighed;	/* 1 + the number of the index that it is of */
};

enum {
	COL_NAME, COL_ARCH, COL_PARAMS, COL_SCHEME, COL_SIZE, COL_ONLY, COL_STATE, COL_MODIFIED,
	COL_VERIFIED
};

static const struct column models_cols[] = {
	[COL_NAME] = { "NAME", 22, 60, false, SORTS_UP, 0, .middle = true, .key = "name" },
	[COL_ARCH] = { "ARCH", 8, 14, false, SORTS_UP, 5, .key = "arch" },
	[COL_PARAMS] = { "PARAMS", 7, 0, true, SORTS_DOWN, 4, .key = "params" },
	[COL_SCHEME] = { "SCHEME", 9, 14, false, SORTS_UP, 3, .key = "scheme" },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_DOWN, 1, .key = "size" },
	[COL_ONLY] = { "ONLY THIS", 10, 0, true, SORTS_DOWN, 7, .key = "exclusive" },
	[COL_STATE] = { "STATE", 12, 14, false, SORTS_DOWN, 2, .key = "state" },
	[COL_MODIFIED] = { "MODIFIED", 10, 0, false, SORTS_DOWN, 6, .key = "modified" },
	[COL_VERIFIED] = { "VERIFIED", 10, 0, false, SORTS_NOT, 8 },
};

static enum tb_status
models_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct db_models list = { 0 };
	enum tb_status status = db_models(view_db(v), q, &list, &out->err);

	ROWS_TAKE(out, list);
	return status;
}

static enum tb_status
models_find(struct view *v, const struct db_query *q, uint64_t id, uint64_t *row, bool *found)
{
	return db_models_find(view_db(v), q, (int64_t)id, row, found, NULL);
}

static const struct rows_source models_rows = {
	.size = sizeof(struct db_model), .read = models_read, .find = models_find,
	.id = rows_own_id,
};

static void
models_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_model *m = row;
	char text[WORD_MAX], number[16], family[MODEL_FAMILY_MAX];

	(void)v;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, m->name); break;
	case COL_ARCH: tb_buf_str(&out->text, model_family(m->arch, family)); break;
	case COL_PARAMS:
		tb_buf_str(&out->text, m->params ? tb_human_count(m->params, number) : "-");
		break;
	case COL_SCHEME: tb_buf_str(&out->text, m->scheme); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(m->bytes, number)); break;
	case COL_ONLY: tb_buf_str(&out->text, tb_human_bytes(m->exclusive, number)); break;
	case COL_STATE: model_state_cell(m, out); break;
	case COL_MODIFIED: tb_buf_str(&out->text, word_date(m->mtime_ns, text)); break;
	case COL_VERIFIED:
		tb_buf_str(&out->text, m->verified_ns ? word_age(m->verified_ns, text) : "-");
		break;
	}
}

static const struct table models_table = {
	TABLE_COLS(models_cols), .rows = &models_rows, .cell = models_cell,
	.empty = "No models yet: press p to pull one, R to scan the stores,\n"
		 "or start with --store DIR to look into another folder.",
	.no_match = "No model has that in its name; Esc shows all.",
};

static const struct table *
models_table_of(const struct view *v)
{
	const struct models *s = v->state;

	return s->places ? &s->nothing : &models_table;
}

/* Looking at folders may take its time: a worker does it. */
struct looking {
	const struct op_ctx *ctx;
	struct tb_buf text;
};

static enum tb_status
look_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct looking *l = arg;

	(void)job;
	(void)err;
	places_explain(l->ctx, true, &l->text);
	return TB_OK;
}

static void
look_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct models *s = v->state;
	struct looking *l = arg;

	(void)status;
	(void)err;
	free(s->places);
	s->places = tb_buf_take(&l->text);
	s->nothing = models_table;
	s->nothing.empty = s->places;
}

static void
look_free(void *arg)
{
	struct looking *l = arg;

	tb_buf_free(&l->text);
	free(l);
}

static const struct job_ops look_job = {
	.run = look_run, .done = look_done, .free = look_free,
};

/* What the marked models use is known after a walk over all: a worker does it. */
struct weighing {
	const struct op_ctx *ctx;
	struct db_usage usage;
	unsigned index;
};

static enum tb_status
weigh_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct weighing *w = arg;
	struct db *db;
	enum tb_status status = db_open_read(&db, w->ctx->db_path, err);

	(void)job;
	if (status)
		return status;
	status = db_usage_read(db, &w->usage, err);
	db_close(db);
	return status;
}

static void
weigh_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct models *s = v->state;
	struct weighing *w = arg;

	(void)status;
	(void)err;
	db_usage_free(&s->usage);
	s->usage = w->usage;
	w->usage = (struct db_usage){ 0 };
	s->weighed = w->index;
	s->weighing = false;
}

static void
weigh_free(void *arg)
{
	struct weighing *w = arg;

	db_usage_free(&w->usage);
	free(w);
}

static const struct job_ops weigh_job = {
	.run = weigh_run, .done = weigh_done, .free = weigh_free,
};

static void
models_weigh(struct view *v)
{
	struct models *s = v->state;
	struct weighing *w;

	if (s->weighing || s->weighed == view_index(v) + 1 || !(w = view_alloc(v, sizeof(*w))))
		return;
	*w = (struct weighing){ .ctx = view_ctx(v), .index = view_index(v) + 1 };
	s->weighing = view_job(v, &weigh_job, w, "weigh") != NULL;
}

static void
models_refresh(struct view *v)
{
	struct models *s = v->state;
	struct looking *l;

	if (db_totals(view_db(v), &view_ctx(v)->roots, &s->totals, NULL))
		s->totals = (struct db_totals){ 0 };
	if (!s->totals.models && (l = view_alloc(v, sizeof(*l)))) {
		*l = (struct looking){ .ctx = view_ctx(v), .text = TB_BUF(1u << 16) };
		(void)view_job(v, &look_job, l, "places");
	}
}

/* Is one of the stores new to the index? */
static bool
unknown_store(const struct view *v)
{
	const struct store_roots *r = &view_ctx(v)->roots;
	struct db_totals t;

	for (size_t i = 0; i < r->n; i++) {
		const struct store_roots one = { .path = &r->path[i], .n = 1 };

		if (!store_root_away(r, i) && !db_totals(view_db(v), &one, &t, NULL) &&
		    !t.scanned_ns)
			return true;
	}
	return false;
}

static enum tb_status
models_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	(void)arg;
	(void)err;
	if (unknown_store(v))
		task_scan(v);
	return TB_OK;
}

static void
models_close(struct view *v)
{
	struct models *s = v->state;

	free(s->places);
	db_usage_free(&s->usage);
}

static bool
models_subject(struct view *v, struct view_arg *out)
{
	return view_about(v, rows_current(v), out);
}

/* The models with a mark, else the one under the cursor. */
struct chosen {
	const char **path;	/* n of them, in the rows found; owned as those are */
	size_t n, nfound;
	struct db_models *found;
	char title[128];	/* what they are called */
};

static void
chosen_free(struct chosen *c)
{
	for (size_t i = 0; i < c->nfound; i++)
		tb_arena_free(&c->found[i].mem);
	free(c->found);
	free(c->path);
}

/* false: none. */
static bool
chosen_models(struct view *v, struct chosen *c)
{
	const struct list *l = &v->list;
	uint64_t current = l->n ? rows_id(v, l->cur) : 0;
	const uint64_t *ids = l->nmarks ? l->marks : &current;
	size_t n = l->nmarks ? l->nmarks : l->n > 0;
	const char *name = "";
	char count[WORD_MAX];

	*c = (struct chosen){ .found = tb_calloc(n + 1, sizeof(*c->found)),
			      .path = tb_calloc(n + 1, sizeof(*c->path)) };
	for (; c->found && c->path && c->nfound < n; c->nfound++) {
		struct db_models *m = &c->found[c->nfound];

		if (db_model_by_id(view_db(v), (int64_t)ids[c->nfound], m, NULL) || !m->n)
			continue;
		c->path[c->n++] = m->rows->path;
		name = m->rows->name;
	}
	snprintf(c->title, sizeof(c->title), "%s",
		 c->n == 1 ? name : word_count(c->n, "model", count));
	if (!c->n)
		chosen_free(c);
	return c->n > 0;
}

static void
act_on_chosen(struct view *v, enum action a)
{
	struct chosen c;

	if (!chosen_models(v, &c))
		return;
	if (a == ACT_HEAL)
		task_heal(v, c.path, c.n, c.title);
	else if (a == ACT_DELETE)
		task_remove(v, c.path, c.n, c.title);
	else
		task_verify(v, c.path, c.n, a == ACT_DEEP, c.title);
	chosen_free(&c);
}

/* The one that is higher on the screen is A. */
static void
compare_two(struct view *v, uint64_t one, uint64_t two)
{
	struct db_models found[2] = { 0 };
	struct model_loc loc[2];
	size_t row[2] = { 0 };
	bool turned = rows_find(v, one, &row[0]) && rows_find(v, two, &row[1]) && row[1] < row[0];
	const uint64_t id[2] = { turned ? two : one, turned ? one : two };
	bool there = true;

	for (unsigned i = 0; i < 2 && there; i++) {
		there = !db_model_by_id(view_db(v), (int64_t)id[i], &found[i], NULL) && found[i].n;
		if (there)
			loc[i] = db_model_loc(&found[i].rows[0]);
	}
	if (there)
		view_open(v, VIEW_DIFF, &(struct view_arg){
			.model = &loc[0], .other = &loc[1],
		});
	tb_arena_free(&found[0].mem);
	tb_arena_free(&found[1].mem);
}

/* Two marked ones, or the only marked one and that under the cursor. */
static void
compare_marked(struct view *v)
{
	struct list *l = &v->list;
	uint64_t current = l->n ? rows_id(v, l->cur) : 0;

	if (l->nmarks == 2)
		compare_two(v, l->marks[0], l->marks[1]);
	else if (l->nmarks == 1 && current && current != l->marks[0])
		compare_two(v, l->marks[0], current);
	else
		view_say(v, "Mark two models with Space, or one and go to another; then =.");
}

static bool
models_act(struct view *v, enum action a)
{
	const struct db_model *m = rows_current(v);
	struct view_arg arg;

	switch (a) {
	case ACT_OPEN:
		if (models_subject(v, &arg))
			view_open(v, VIEW_MODEL, &arg);
		return true;
	case ACT_VERIFY:
	case ACT_DEEP:
	case ACT_DELETE:
	case ACT_HEAL:
		act_on_chosen(v, a);
		return true;
	case ACT_VERIFY_ALL:
	case ACT_DEEP_ALL:
		task_verify(v, NULL, 0, a == ACT_DEEP_ALL, "all models");
		return true;
	case ACT_RENAME:
	case ACT_COPY:
		if (m)
			task_name(v, m->path, m->name, a == ACT_COPY);
		return true;
	case ACT_PUSH:
		if (m)
			task_push(v, m->path, m->name);
		return true;
	case ACT_COMPARE:
		compare_marked(v);
		return true;
	case ACT_RESCAN:
		task_scan(v);
		return true;
	default:
		return false;
	}
}

static bool
models_can(const struct view *v, enum action a)
{
	const struct db_model *m = rows_seen(v);

	if (a == ACT_HEAL)
		return m && m->state == DB_DAMAGED;
	return v->list.n || a == ACT_RESCAN || a == ACT_PULL;
}

/* What goes with the marked models, and what stays because others use it. */
static void
summary_marked(struct view *v, struct tb_buf *out)
{
	struct models *s = v->state;
	const struct list *l = &v->list;
	struct db_share share;
	char bytes[16];

	tb_buf_printf(out, "%zu marked", l->nmarks);
	models_weigh(v);
	if (s->weighed != view_index(v) + 1 || !s->usage.file)
		return;
	share = db_usage_of(&s->usage, l->marks, l->nmarks);
	tb_buf_printf(out, ": removing %s frees %s", l->nmarks == 1 ? "it" : "them",
		      tb_human_bytes(share.alone, bytes));
	if (share.shared)
		tb_buf_printf(out, "; %s stay, as others use them",
			      tb_human_bytes(share.shared, bytes));
}

static void
models_summary(struct view *v, struct tb_buf *out)
{
	const struct models *s = v->state;
	const struct db_totals *t = &s->totals;
	const char *dot = theme_sign(SIGN_DOT), *notice = db_notice(view_db(v));
	char bytes[16];

	if (*notice) {
		tb_buf_str(out, notice);
		return;
	}
	if (v->list.nmarks) {
		summary_marked(v, out);
		return;
	}
	if (view_count(v, "model", out))
		return;
	tb_buf_printf(out, " %s %s", dot, tb_human_bytes(t->bytes, bytes));
	if (t->shared_bytes)
		tb_buf_printf(out, " %s shared %s", dot, tb_human_bytes(t->shared_bytes, bytes));
	if (t->orphans)
		tb_buf_printf(out, " %s orphans %s (%ju)", dot,
			      tb_human_bytes(t->orphan_bytes, bytes), (uintmax_t)t->orphans);
	if (t->missing)
		tb_buf_printf(out, " %s missing %ju", dot, (uintmax_t)t->missing);
}

/* The stores. */
static void
models_where(struct view *v, struct tb_buf *out)
{
	const struct store_roots *r = &view_ctx(v)->roots;

	if (r->n > 1)
		tb_buf_printf(out, "%zu stores", r->n);
	else if (r->n)
		word_path(r->path[0], out);
	else
		tb_buf_str(out, "no store");
}

const struct view_ops view_models = {
	.size = sizeof(struct models), .columns = &models_table, .table = models_table_of,
	.open = models_open, .close = models_close, .act = models_act, .can = models_can,
	.refresh = models_refresh, .summary = models_summary, .where = models_where,
	.subject = models_subject,
};
