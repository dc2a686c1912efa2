/* report_diff.c - two sets of findings beside each other, and reports read back. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/report/report.h"

#define FILE_MAX (256u << 20)

/* ---- comparing ---- */

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

/* ---- reading a report ---- */

static const char *
read_text(struct tb_arena *mem, const cJSON *v, const char *key, bool *failed)
{
	const char *s = json_str(json_get(v, key));
	const char *copy = s ? tb_arena_str(mem, s) : "";

	*failed |= !copy;
	return copy;
}

static bool
read_finding(struct tb_arena *mem, const cJSON *v, struct db_finding *f, bool *failed)
{
	const char *severity = json_str(json_get(v, "severity"));

	*f = (struct db_finding){
		.code = read_text(mem, v, "code", failed),
		.model = read_text(mem, v, "model", failed),
		.model_path = read_text(mem, v, "model_path", failed),
		.blob = read_text(mem, v, "blob", failed),
		.tensor = read_text(mem, v, "tensor", failed),
		.expected = read_text(mem, v, "expected", failed),
		.actual = read_text(mem, v, "actual", failed),
		.message = read_text(mem, v, "message", failed),
		.has_offset = json_u64(json_get(v, "offset"), &f->offset),
	};
	for (int s = SEV_NOTE; severity && s <= SEV_ERROR; s++)
		if (!strcmp(severity, severity_word((enum severity)s))) {
			f->severity = (enum severity)s;
			return json_str(json_get(v, "code")) != NULL;
		}
	return false;
}

static enum tb_status
read_findings(struct report_file *r, const cJSON *list, const char *path, struct tb_err *err)
{
	struct db_findings *out = &r->findings;
	bool failed = false;

	out->rows = tb_arena_get(&out->mem, (json_count(list) + 1) * sizeof(*out->rows));
	if (!out->rows)
		return tb_nomem(err);
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!read_finding(&out->mem, v, &out->rows[out->n], &failed))
			return tb_fail(err, TB_EFORMAT, "%s: finding %zu is none", path, out->n);
		out->n++;
	}
	out->total = out->n;
	return failed ? tb_nomem(err) : TB_OK;
}

enum tb_status
report_read(struct report_file *r, const char *path, struct tb_err *err)
{
	cJSON *doc = NULL;
	char *text = NULL;
	size_t len, cap = 0;
	enum tb_status status = tb_file_slurp(path, FILE_MAX, &text, &len, err);

	*r = (struct report_file){ 0 };
	if (!status)
		status = json_parse(&doc, text, len, path, err);
	if (!status && (!json_is_array(json_get(doc, "findings")) ||
			!json_is_object(json_get(doc, "checked"))))
		status = tb_fail(err, TB_EFORMAT, "%s: not a verify report in JSON", path);
	if (!status)
		status = read_findings(r, json_get(doc, "findings"), path, err);
	for (const cJSON *v = json_first(json_get(doc, "scope")); v && !status; v = json_next(v)) {
		if (!json_str(v))
			continue;
		if (!tb_grow(&r->refs, &cap, r->nrefs + 1, sizeof(*r->refs)) ||
		    !(r->refs[r->nrefs++] = tb_arena_str(&r->findings.mem, json_str(v))))
			status = tb_nomem(err);
	}
	if (!status && !json_bool(json_get(doc, "deep"), &r->deep))
		r->deep = false;
	json_free(doc);
	free(text);
	if (status)
		report_file_free(r);
	return status;
}

void
report_file_free(struct report_file *r)
{
	free(r->refs);
	tb_arena_free(&r->findings.mem);
	*r = (struct report_file){ 0 };
}
