/* view_model.c - one model: its files, and its texts as panes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "ui/page.h"
#include "ui/tasks.h"
#include "ui/view.h"
#include "ui/words.h"

/* The panes: files, problems (when there are), then the pages. */
enum { PANE_FILES, PANE_PROBLEMS, PANE_PAGES, PANE_COUNT = PANE_PAGES + PAGE_COUNT };

struct model_view {
	struct model_loc loc;	/* owned */
	int64_t id;
	struct model *m;	/* owned; NULL while it is being opened */
	unsigned pane;
	struct pager text[PANE_COUNT];
	size_t *row;		/* the files that the filter lets through; owned */
	char error[512];	/* why there is no m */
};

static const char *const pane_titles[PANE_COUNT] = {
	[PANE_FILES] = "Files", [PANE_PROBLEMS] = "Problems",
#define X(id, title, none) [PANE_PAGES + id] = title,
	PAGE_LIST(X)
#undef X
};

static const char *const page_none[PAGE_COUNT] = {
#define X(id, title, none) [id] = none,
	PAGE_LIST(X)
#undef X
};

/* The worker's part. */

struct load {
	struct model_loc loc;	/* owned, until the model has it */
	struct model *m;
	char *text[PAGE_COUNT];
};

static enum tb_status
load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct load *l = arg;
	enum tb_status status = model_open(&l->m, &l->loc, err);

	for (enum page p = 0; !status && p < PAGE_COUNT; p++) {
		struct tb_err why;

		status = tb_job_check(job, err);
		/* One damaged text does not hide the others. */
		if (!status && page_read(l->m, p, &l->text[p], &why))
			l->text[p] = tb_strdup(why.msg);
	}
	return status;
}

static void
load_free(void *arg)
{
	struct load *l = arg;

	model_free(l->m);
	model_loc_free(&l->loc);
	for (enum page p = 0; p < PAGE_COUNT; p++)
		free(l->text[p]);
	free(l);
}

static char *
problems_text(const struct model *m)
{
	struct tb_buf b = TB_BUF(1u << 22);
	char *text;

	for (size_t i = 0; i < m->nproblems; i++)
		tb_buf_printf(&b, "%s %s\n", theme_sign(SIGN_BAD), m->problems[i].message);
	text = tb_buf_take(&b);
	tb_buf_free(&b);
	return text;
}

static void
load_done(void *owner, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct view *v = owner;
	struct model_view *s = v->state;
	struct load *l = arg;

	if (status) {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		return;
	}
	s->m = l->m;
	l->m = NULL;
	free(s->row);
	s->row = tb_calloc(s->m->nfiles, sizeof(*s->row));
	for (enum page p = 0; p < PAGE_COUNT; p++) {
		char *text = l->text[p] ? l->text[p] : tb_strdup(page_none[p]);

		pager_set(&s->text[PANE_PAGES + p], text, p != PAGE_CONFIG);
		l->text[p] = NULL;
	}
	if (s->m->nproblems)
		pager_set(&s->text[PANE_PROBLEMS], problems_text(s->m), true);
	view_refresh(v);
}

static const struct job_ops load_job = { .run = load_run, .done = load_done, .free = load_free };

static void
load(struct view *v)
{
	struct model_view *s = v->state;
	struct load *l = tb_calloc(1, sizeof(*l));

	if (l && loc_copy(&l->loc, &s->loc)) {
		(void)view_job(v, &load_job, l, "open %s", s->loc.name);
		return;
	}
	free(l);
	view_say(v, "out of memory");
}

/* The files as a table. */

enum { COL_FILE, COL_KIND, COL_SIZE, COL_SHARE, COL_STATE, COL_DIGEST };

static const struct column cols[] = {
	[COL_FILE] = { "FILE", 28, 64, false, SORTS_NOT, 0, .middle = true },
	[COL_KIND] = { "KIND", 9, 14, false, SORTS_NOT, 2 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_NOT, 1 },
	[COL_SHARE] = { "SHARE", 17, 0, true, SORTS_NOT, 4 },
	[COL_STATE] = { "", 9, 0, false, SORTS_NOT, 3 },
	[COL_DIGEST] = { "DIGEST", 19, 71, false, SORTS_NOT, 5 },
};

static const char *
file_name(const struct model_file *f)
{
	const char *slash = strrchr(f->path, '/');

	return f->name ? f->name : slash ? slash + 1 : f->path;
}

static const char *
file_kind(const struct model_file *f)
{
	return f->is_manifest ? "manifest"
	     : f->media != MEDIA_UNKNOWN ? media_name(f->media)
	     : f->media_type ? f->media_type : "file";
}

static const struct model_file *
file_at(const struct view *v, size_t row)
{
	const struct model_view *s = v->state;

	return s->m && s->row && row < v->list.n ? &s->m->files[s->row[row]] : NULL;
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct model_view *s = v->state;
	size_t n = 0;

	for (size_t i = 0; s->m && s->row && i < s->m->nfiles; i++)
		if (tb_contains(file_name(&s->m->files[i]), v->list.filter) ||
		    tb_contains(s->m->files[i].digest, v->list.filter))
			s->row[n++] = i;
	return n;
}

static uint64_t
id_of(void *arg, size_t row)
{
	struct view *v = arg;
	struct model_view *s = v->state;

	return s->row ? s->row[row] : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct view *v = arg;
	struct model_view *s = v->state;

	for (*row = 0; s->row && *row < v->list.n; (*row)++)
		if (s->row[*row] == id)
			return true;
	return false;
}

static void
share(struct tb_buf *out, uint64_t part, uint64_t whole)
{
	char text[WORD_MAX];

	tb_buf_printf(out, "%6s ", word_percent(part, whole, text));
	draw_bar(out, part, whole, 10);
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	struct view *v = arg;
	struct model_view *s = v->state;
	const struct model_file *f = file_at(v, row);
	uint64_t size = f && !f->missing ? f->id.size : f ? f->want_size : 0;
	char text[16];

	if (!f)
		return;
	switch (col) {
	case COL_FILE: tb_buf_str(&out->text, file_name(f)); break;
	case COL_KIND: tb_buf_str(&out->text, file_kind(f)); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(size, text)); break;
	case COL_SHARE: share(&out->text, size, s->m->bytes); break;
	case COL_DIGEST: tb_buf_str(&out->text, f->digest); break;
	case COL_STATE:
		if (f->missing)
			tb_buf_printf(&out->text, "%s missing", theme_sign(SIGN_BAD));
		else if (*f->digest && f->id.size != f->want_size)
			tb_buf_printf(&out->text, "%s size", theme_sign(SIGN_BAD));
		out->role = ROLE_BAD;
		break;
	}
}

static const struct list_rows rows = { count, id_of, find };
static const struct table files_table = {
	.cols = cols, .ncols = sizeof(cols) / sizeof(*cols), .rows = &rows, .cell = cell,
	.empty = "No file has that in its name; Esc shows all.",
};

static const struct table *
table(const struct view *v)
{
	const struct model_view *s = v->state;

	return s->m && s->pane == PANE_FILES ? &files_table : NULL;
}

static struct pager *
pager(struct view *v)
{
	struct model_view *s = v->state;

	return s->m && s->pane != PANE_FILES ? &s->text[s->pane] : NULL;
}

/* Drawing. */

static bool
has_pane(const struct model_view *s, unsigned pane)
{
	return pane != PANE_PROBLEMS || (s->m && s->m->nproblems);
}

static void
draw_facts(struct area a, const struct model *m)
{
	const char *dot = theme_sign(SIGN_DOT);
	struct tb_buf b = TB_BUF(4096);
	char text[WORD_MAX], number[16];

	tb_buf_str(&b, *m->arch ? m->arch : "no architecture");
	if (m->params)
		tb_buf_printf(&b, " %s %s parameters", dot, tb_human_count(m->params, number));
	if (*m->scheme)
		tb_buf_printf(&b, " %s %s", dot, m->scheme);
	tb_buf_printf(&b, " %s %s", dot, tb_human_bytes(m->bytes, number));
	tb_buf_printf(&b, " %s %s", dot, word_count(m->ntensors, "tensor", text));
	tb_buf_printf(&b, " %s %s", dot, model_kind_name(m->loc.kind));
	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	put_clip(a.y, a.x + 1, a.w - 1, tb_buf_cstr(&b), ROLE_TEXT);
	tb_buf_free(&b);
}

static void
draw_panes(struct area a, const struct model_view *s)
{
	int x = a.x + 1;

	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	for (unsigned i = 0; i < PANE_COUNT; i++) {
		int w = (int)strlen(pane_titles[i]);

		if (!has_pane(s, i))
			continue;
		put_clip(a.y, x, w, pane_titles[i], i == s->pane ? ROLE_CURSOR : ROLE_DIM);
		x += w + 2;
	}
}

static void
draw(struct view *v, struct area a)
{
	struct model_view *s = v->state;

	if (!s->m) {
		put_clip(a.y, a.x + 1, a.w - 1, *s->error ? s->error : "Opening...",
			 *s->error ? ROLE_ERROR : ROLE_DIM);
		return;
	}
	if (a.h >= 8)
		draw_facts(area_top(&a, 1), s->m);
	if (a.h >= 4)
		draw_panes(area_top(&a, 1), s);
	if (a.h >= 12)
		put_blank(area_top(&a, 1));
	if (s->pane == PANE_FILES)
		table_draw(a, &files_table, &v->list, v);
	else
		pager_draw(a, &s->text[s->pane]);
}

/* Keys. */

static void
turn(struct model_view *s, int by)
{
	do
		s->pane = (s->pane + (unsigned)(PANE_COUNT + by)) % PANE_COUNT;
	while (!has_pane(s, s->pane));
}

static bool
subject(const struct view *v, struct view_arg *out)
{
	const struct model_view *s = v->state;

	*out = (struct view_arg){ .model = &s->loc, .id = s->id };
	return true;
}

static bool
act(struct view *v, enum action a)
{
	struct model_view *s = v->state;
	const char *path = s->loc.path;
	struct view_arg arg;

	switch (a) {
	case ACT_NEXT_PANE:
	case ACT_PREV_PANE:
		turn(s, a == ACT_NEXT_PANE ? 1 : -1);
		return true;
	case ACT_LEFT:
	case ACT_RIGHT:
		if (pager(v) && !pager(v)->wrap)
			return false;
		turn(s, a == ACT_RIGHT ? 1 : -1);
		return true;
	case ACT_OPEN:
		if (s->m && subject(v, &arg))
			view_open(v, VIEW_TENSORS, &arg);
		return true;
	case ACT_VERIFY:
		task_verify(v, &path, 1, s->loc.name);
		return true;
	default:
		return false;
	}
}

static bool
can(const struct view *v, enum action a)
{
	const struct model_view *s = v->state;

	return s->m && a != ACT_OPEN;
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct model_view *s = v->state;
	char text[WORD_MAX];

	if (!s->m)
		return;
	tb_buf_str(out, word_count(s->m->nfiles, "file", text));
	if (*v->list.filter)
		tb_buf_printf(out, ", %zu with \"%s\"", v->list.n, v->list.filter);
	if (s->m->nproblems)
		tb_buf_printf(out, " %s %s %s", theme_sign(SIGN_DOT), theme_sign(SIGN_BAD),
			      word_count(s->m->nproblems, "problem", text));
}

static void
where(struct view *v, struct tb_buf *out)
{
	const struct model_view *s = v->state;

	tb_buf_str(out, s->loc.name);
}

static enum tb_status
model_view_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct model_view *s = v->state;

	if (!loc_copy(&s->loc, arg->model))
		return tb_nomem(err);
	s->id = arg->id;
	load(v);
	return TB_OK;
}

static void
model_view_close(struct view *v)
{
	struct model_view *s = v->state;

	for (size_t i = 0; i < PANE_COUNT; i++)
		pager_free(&s->text[i]);
	free(s->row);
	model_free(s->m);
	model_loc_free(&s->loc);
}

static bool
same(const struct view *v, const struct view_arg *arg)
{
	const struct model_view *s = v->state;

	return arg->model && loc_same(&s->loc, arg->model);
}

const struct view_ops view_model = {
	.size = sizeof(struct model_view), .needs_model = true, .open = model_view_open,
	.close = model_view_close, .same = same, .table = table, .pager = pager, .draw = draw,
	.act = act, .can = can, .summary = summary, .where = where, .subject = subject,
};
