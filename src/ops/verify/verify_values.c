/* verify_values.c - numbers that are none (NaN, infinities), or that no weight has. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/values.h"
#include "src/ops/verify/verify_scan.h"
#include "src/quant/peak.h"
#include "src/quant/stats.h"

#define OUTLIER 3e4		/* times the mean of the others */
#define WINDOW 65536u		/* elements, whole blocks; 256 KB of floats fit the second-level cache */

/* Of finite values: how many are at least `far`, the first of them, and the sum of the rest. */
struct far { double limit, rest; uint64_t n, of, first; };

static void
add_far(struct far *f, const float *x, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++) {
		double size = fabs((double)x[i]);

		if (size < f->limit)
			f->rest += size;
		else if (!f->n++)
			f->first = at + i;
	}
	f->of += n;
}

/* far: what is asked for instead of *out; or NULL. */
static enum tb_status
scan_tensor(struct verify_run *r, struct values_files *fs, const struct model *file,
	    const struct verify_tensor *v, const struct quant_parts *raw, float *x,
	    struct stats *out, struct far *far, struct tb_err *err)
{
	const struct scheme *s = &v->scheme;
	unsigned group = s->group ? s->group : 1;
	const struct tensor t = { .name = v->name, .scheme = *s, .weight = { .off = v->off,
		.len = v->len }, .elems = v->len / scheme_code_bytes(s, group) * group };
	struct values values;
	enum tb_status status = values_open(&values, file, &t, fs, err);

	if (out)
		stats_init(out);
	for (uint64_t at = 0; !status && at < t.elems; at += WINDOW) {
		size_t n = t.elems - at < WINDOW ? (size_t)(t.elems - at) : WINDOW;

		if ((status = tb_job_check(r->job, err)) ||
		    (status = values_read(&values, at, n, raw, err)))
			break;
		values_decode(&values, raw, n, x);
		if (out)
			stats_add(out, DT_F32, x, n, at);
		if (far)
			add_far(far, x, n, at);
	}
	return status;
}

/* The first is told by its byte in the file, or its block's. */
static void
report_nonfinite(struct verify_run *r, const struct verify_target *t,
		 const struct verify_tensor *v, const struct stats *s)
{
	const char *blob = verify_label(t->file);
	const struct verify_model *m = &r->models[t->uses->model];
	uint64_t bad = s->nans + s->infs;
	uint64_t first = s->first_nan < s->first_inf ? s->first_nan : s->first_inf;
	uint64_t off = v->off + scheme_place(&v->scheme, 1, 1, first);
	struct verify_where at = { .model = m, .blob = blob, .tensor = v->name, .offset = &off };

	verify_find(r, F_NONFINITE, &at, "%s: %s holds %ju value%s NaN or infinite, "
		    "the first at byte %ju of %s", m->loc.name, v->name, (uintmax_t)bad,
		    bad == 1 ? " that is" : "s that are", (uintmax_t)off, blob);
}

/* One exponent with a wrong bit stands alone: values that are as large as others of the
 * tensor (masks, periods of a rotation) are what somebody meant. */
static void
report_outlier(struct verify_run *r, const struct verify_target *t, const struct verify_tensor *v,
	       const struct far *f, double peak)
{
	const char *blob = verify_label(t->file);
	const struct verify_model *m = &r->models[t->uses->model];
	unsigned group = v->scheme.group ? v->scheme.group : 1;
	double mean = f->of > f->n ? f->rest / (double)(f->of - f->n) : 0;
	uint64_t off = v->off + scheme_place(&v->scheme, 1, 1, f->first);
	struct verify_where at = { .model = m, .blob = blob, .tensor = v->name, .offset = &off };

	if (f->n > (group > 1 ? 2 * group : 4) || f->of < 64 || mean <= 0 || peak < OUTLIER * mean)
		return;
	verify_find(r, F_OUTLIER, &at, "%s: %s has a value of %.3g at byte %ju of %s, where the others "
		    "are %.3g on average: a bit of it may have changed", m->loc.name, v->name, peak,
		    (uintmax_t)off, blob, mean);
}

/* Types of less than a byte hold no infinities, and 255 is the only NaN of E8M0.  F64
 * beyond the range of F32 is told as infinite. */
static bool
worth(const struct scheme *s)
{
	if (!scheme_is_plain(s))
		return scheme_readable(s);
	return dtype_floating(s->dtype) && dtype_bits(s->dtype) >= 8 && s->dtype != DT_C64;
}

/* Not being able to look is not the same as having found nothing. */
static void
note_unread(struct verify_run *r, const struct verify_target *t, const struct verify_tensor *v)
{
	const char *blob = verify_label(t->file);
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = blob, .tensor = v->name };
	char scheme[SCHEME_NAME_MAX];

	if (!scheme_is_plain(&v->scheme))
		verify_find(r, F_NOT_READ, &at, "%s: %s is %s, whose values cannot be looked at",
			    m->loc.name, v->name, scheme_name(&v->scheme, scheme));
}

static enum tb_status
look_again(struct verify_run *r, const struct verify_target *t, const struct verify_tensor *v,
	   struct values_files *fs, const struct model *file, const struct quant_parts *raw,
	   float *x, struct tb_err *err)
{
	struct stats stats;
	struct far far = { 0 };
	double peak;
	enum tb_status status = scan_tensor(r, fs, file, v, raw, x, &stats, NULL, err);

	if (status)
		return status;
	if (stats.nans + stats.infs) {
		report_nonfinite(r, t, v, &stats);
		return TB_OK;
	}
	peak = stats.n ? fmax(fabs(stats.min), fabs(stats.max)) : 0;
	if (peak < PEAK)
		return TB_OK;
	far.limit = peak / 1000;
	status = scan_tensor(r, fs, file, v, raw, x, NULL, &far, err);
	if (!status)
		report_outlier(r, t, v, &far, peak);
	return status;
}

enum tb_status
verify_values(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      const struct verify_scan *s, struct tb_err *err)
{
	struct model_file only = { .path = f->path, .id = f->id };
	const struct model file = { .files = &only, .nfiles = 1 };
	struct quant_parts raw = { .codes = malloc((size_t)WINDOW * 8) };
	float *x = malloc((size_t)WINDOW * sizeof(*x));
	struct values_files *fs = NULL;
	enum tb_status status = raw.codes && x ? values_files_open(&fs, &file, err) : tb_nomem(err);

	if (!t->file->sums)	/* the time of a blob may change */
		memcpy(only.digest, t->file->digest, sizeof(only.digest));
	for (size_t i = 0; !status && i < s->list.n; i++) {
		const struct verify_tensor *v = &s->list.v[i];

		if (!worth(&v->scheme))
			note_unread(r, t, v);
		else if (s->flags[i] & SCAN_ODD)
			status = look_again(r, t, v, fs, &file, &raw, x, err);
		if (!status && s->flags[i] & SCAN_ZERO)
			status = verify_scales(r, t, f, v, err);
	}
	if (!status)
		status = verify_blanks(r, t, f, s, err);
	values_files_close(fs);
	free(raw.codes);
	free(x);
	return status;
}
