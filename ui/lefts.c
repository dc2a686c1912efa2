#include "config.h"

#include "ui/lefts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

#define NOTE_PULL "pull "		/* what pulls call themselves; the name follows */

void
lefts_free(struct lefts *l)
{
	while (l->n)
		free(l->v[--l->n].line);
	free(l->v);
	*l = (struct lefts){ 0 };
}

/* ---- finding them ---- */

struct finding {
	const struct op_ctx *ctx;	/* borrowed */
	lefts_fn *came;
	struct lefts lefts;
};

/* NAME [AS], and nothing that could be an option: it is what a file says. */
static bool
is_names(const char *text)
{
	const char *blank = strchr(text, ' ');

	return *text && *text != '-' && *text != ' ' && !strchr(text, '\t') &&
	       (!blank || (blank[1] && blank[1] != '-' && !strchr(blank + 1, ' ')));
}

/* Those names, and the store if it would not be that by itself. */
static enum tb_status
add_left_row(struct finding *f, const struct fetch_left *l, const char *store, struct tb_err *err)
{
	const char *name = tb_starts(l->note, NOTE_PULL) ? l->note + strlen(NOTE_PULL) : NULL;
	struct left_row *row;

	if (!name || !is_names(name) || strpbrk(store, " \t"))
		return TB_OK;
	if (!tb_grow(&f->lefts.v, &f->lefts.cap, f->lefts.n + 1, sizeof(*f->lefts.v)))
		return tb_nomem(err);
	row = &f->lefts.v[f->lefts.n];
	*row = (struct left_row){ .there = l->there, .size = l->size, .when_ns = l->when_ns,
				  .in_use = l->in_use };
	row->line = f->ctx->roots.n > 1 ? tb_asprintf("%s --store %s", name, store) : tb_strdup(name);
	if (!row->line)
		return tb_nomem(err);
	f->lefts.n++;
	return TB_OK;
}

static enum tb_status
find_in_store(struct finding *f, const char *store, struct tb_err *err)
{
	struct tb_names dirs;
	enum tb_status status = fetch_left_dirs(&dirs, store, err);

	if (status)
		return status;
	for (size_t i = 0; i < dirs.n && !status; i++) {
		struct fetch_lefts found = { 0 };

		if (fetch_left_read(&found, dirs.v[i], NULL))
			continue;	/* doctor and prune tell of that */
		for (size_t k = 0; k < found.n && !status; k++)
			status = add_left_row(f, &found.v[k], store, err);
		fetch_left_free(&found);
	}
	tb_names_free(&dirs);
	return status;
}

static int
newest_first(const void *a, const void *b)
{
	const struct left_row *x = a, *y = b;

	return (x->when_ns < y->when_ns) - (x->when_ns > y->when_ns);
}

static enum tb_status
lefts_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct finding *f = arg;
	const struct store_roots *r = &f->ctx->roots;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < r->n && !status; i++) {
		status = tb_job_check(job, err);
		if (!status)
			status = find_in_store(f, r->path[i], err);
	}
	if (f->lefts.n)
		qsort(f->lefts.v, f->lefts.n, sizeof(*f->lefts.v), newest_first);
	return status;
}

static void
lefts_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct finding *f = arg;

	(void)err;
	if (!status)
		f->came(v, &f->lefts);
}

static void
finding_free(void *arg)
{
	struct finding *f = arg;

	lefts_free(&f->lefts);
	free(f);
}

static const struct job_ops lefts_job = {
	.run = lefts_run, .done = lefts_done, .free = finding_free,
};

void
lefts_ask(struct view *v, lefts_fn *came)
{
	struct finding *f = view_alloc(v, sizeof(*f));

	if (!f)
		return;
	f->ctx = view_ctx(v);
	f->came = came;
	(void)view_job(v, &lefts_job, f, "unfinished");
}

/* ---- how they look ---- */

enum { COL_LINE, COL_THERE, COL_BAR, COL_WHEN };

const struct column lefts_cols[] = {
	[COL_LINE] = { "NOT LOADED TO ITS END", 30, 80, false, SORTS_NOT, 0, .middle = true },
	[COL_THERE] = { "THERE", 8, 0, true, SORTS_NOT, 2 },
	[COL_BAR] = { "OF ALL", 15, 0, false, SORTS_NOT, 1 },
	[COL_WHEN] = { "LAST", 12, 0, false, SORTS_NOT, 3 },
};
_Static_assert(sizeof(lefts_cols) / sizeof(*lefts_cols) == LEFTS_COLS, "lefts.h");

void
lefts_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct left_row *r = row;
	char text[WORD_MAX], bytes[16];

	switch (col) {
	case COL_LINE: tb_buf_str(&out->text, r->line); break;
	case COL_THERE: tb_buf_str(&out->text, tb_human_bytes(r->there, bytes)); break;
	case COL_BAR:
		out->role = ROLE_BAR;
		if (!r->size)
			break;
		draw_bar(&out->text, r->there, r->size, 10);
		tb_buf_printf(&out->text, " %3u%%", tb_percent(r->there, r->size));
		break;
	case COL_WHEN:
		tb_buf_str(&out->text, r->in_use ? "at work" : view_steady(v) ? "-"
			   : word_age(r->when_ns, text));
		break;
	}
}
