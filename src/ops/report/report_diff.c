/* report_diff.c - two runs beside each other: findings and models that came, went, changed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/report/report.h"

/* ---- findings ---- */

static int
finding_order(const struct db_finding *a, const struct db_finding *b)
{
	const char *const x[] = { a->code, a->model_path, a->blob, a->tensor };
	const char *const y[] = { b->code, b->model_path, b->blob, b->tensor };
	int d = 0;

	for (int i = 0; !d && i < 4; i++)
		d = strcmp(x[i], y[i]);
	return d;
}

static int
by_identity(const void *a, const void *b)
{
	const struct db_finding *const *x = a, *const *y = b;
	int d = finding_order(*x, *y);

	return d ? d : (*x > *y) - (*x < *y);
}

static const struct db_finding **
sorted(const struct db_findings *f)
{
	const struct db_finding **v = tb_calloc(f->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < f->n; i++)
		v[i] = &f->rows[i];
	if (v && f->n)
		qsort(v, f->n, sizeof(*v), by_identity);
	return v;
}

enum tb_status
report_compare(const struct db_findings *a, const struct db_findings *b,
	       struct report_diff *out, struct tb_err *err)
{
	const struct db_finding **x = sorted(a), **y = sorted(b);
	size_t i = 0, k = 0;

	*out = (struct report_diff){
		.gone = tb_calloc(a->n + 1, sizeof(*out->gone)),
		.fresh = tb_calloc(b->n + 1, sizeof(*out->fresh)),
		.same = tb_calloc(b->n + 1, sizeof(*out->same)),
	};
	if (!x || !y || !out->gone || !out->fresh || !out->same) {
		free(x);
		free(y);
		report_diff_free(out);
		return tb_nomem(err);
	}
	while (i < a->n || k < b->n) {
		int d = i == a->n ? 1 : k == b->n ? -1 : finding_order(x[i], y[k]);

		if (d < 0)
			out->gone[out->ngone++] = x[i];
		else if (d > 0)
			out->fresh[out->nfresh++] = y[k];
		else
			out->same[out->nsame++] = y[k];
		i += d <= 0;
		k += d >= 0;
	}
	free(x);
	free(y);
	return TB_OK;
}

void
report_diff_free(struct report_diff *d)
{
	free(d->gone);
	free(d->fresh);
	free(d->same);
	*d = (struct report_diff){ 0 };
}

/* ---- models ---- */

static int
by_path(const void *a, const void *b)
{
	const struct db_run_model *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static const struct db_run_model **
models_by_path(const struct db_run_models *m)
{
	const struct db_run_model **v = tb_calloc(m->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < m->n; i++)
		v[i] = &m->rows[i];
	if (v && m->n)
		qsort(v, m->n, sizeof(*v), by_path);
	return v;
}

bool
report_other_digest(const struct report_change *c)
{
	return c->was && c->now && *c->was->digest && *c->now->digest &&
	       strcmp(c->was->digest, c->now->digest);
}

enum tb_status
report_changed(const struct db_run_models *a, const struct db_run_models *b,
	       struct report_changes *out, struct tb_err *err)
{
	const struct db_run_model **x = models_by_path(a), **y = models_by_path(b);
	size_t i = 0, k = 0;

	*out = (struct report_changes){ .rows = tb_calloc(a->n + b->n + 1, sizeof(*out->rows)) };
	if (!x || !y || !out->rows) {
		free(x);
		free(y);
		report_changes_free(out);
		return tb_nomem(err);
	}
	while (i < a->n || k < b->n) {
		int d = i == a->n ? 1 : k == b->n ? -1 : by_path(&x[i], &y[k]);
		struct report_change c = { d <= 0 ? x[i] : NULL, d >= 0 ? y[k] : NULL };

		i += d <= 0;
		k += d >= 0;
		if (d || c.was->state != c.now->state || report_other_digest(&c)) {
			out->rows[out->n++] = c;
			continue;
		}
		out->same++;
		out->unknown += !*c.was->digest || !*c.now->digest;
	}
	free(x);
	free(y);
	return TB_OK;
}

void
report_changes_free(struct report_changes *c)
{
	free(c->rows);
	*c = (struct report_changes){ 0 };
}
