/* verify_values.c - numbers that are none: NaN and infinities in tensors. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/model/values.h"
#include "src/ops/verify/verify_tensors.h"
#include "src/quant/stats.h"

#define WINDOW 65536u		/* elements, whole blocks; 256 KB of floats fit the second-level cache */

static enum tb_status
scan_tensor(struct verify_run *r, struct values_files *fs, const struct model *file,
	    const struct verify_tensor *v, const struct quant_parts *raw, float *x,
	    struct stats *out, struct tb_err *err)
{
	const struct scheme *s = &v->scheme;
	unsigned group = s->group ? s->group : 1;
	const struct tensor t = { .name = v->name, .scheme = *s, .weight = { .off = v->off,
		.len = v->len }, .elems = v->len / scheme_code_bytes(s, group) * group };
	struct values values;
	enum tb_status status = values_open(&values, file, &t, fs, err);

	stats_init(out);
	for (uint64_t at = 0; !status && at < t.elems; at += WINDOW) {
		size_t n = t.elems - at < WINDOW ? (size_t)(t.elems - at) : WINDOW;

		if ((status = tb_job_check(r->job, err)) ||
		    (status = values_read(&values, at, n, raw, err)))
			break;
		values_decode(&values, raw, n, x);
		stats_add(out, DT_F32, x, n, at);
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

/* ---- floats of 8 bits that the file calls U8 or U32 ---- */

static int
by_offset(const void *a, const void *b)
{
	const struct verify_bytes *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static bool
keep_bytes(struct verify_model *to, const struct tensor_part *p, enum dtype dtype)
{
	struct verify_file *f = &to->files[p->file];

	if (!tb_grow(&f->bytes, &f->bytes_cap, f->nbytes + 1, sizeof(*f->bytes)))
		return false;
	f->bytes[f->nbytes++] = (struct verify_bytes){ p->off, p->len, dtype };
	return true;
}

bool
verify_keep_bytes(struct verify_model *to, const struct model *m)
{
	bool ok = true;

	for (size_t i = 0; ok && i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		enum dtype scale = scheme_scale_float(&t->scheme);
		enum dtype code = scheme_code_float(&t->scheme);

		if (t->has_scale && t->scale.dtype == DT_U8 && scale != DT_COUNT)
			ok = keep_bytes(to, &t->scale, scale);
		if (ok && t->has_scale && code != DT_COUNT)
			ok = keep_bytes(to, &t->weight, code);
	}
	for (size_t i = 0; i < to->nfiles; i++)
		if (to->files[i].nbytes > 1)
			qsort(to->files[i].bytes, to->files[i].nbytes, sizeof(*to->files[i].bytes),
			      by_offset);
	return ok;
}

/* The tensor as the model reads it. */
static struct verify_tensor
meant(const struct verify_file *f, const struct verify_tensor *t)
{
	const struct verify_bytes key = { .off = t->off };
	const struct verify_bytes *b = f->nbytes ? bsearch(&key, f->bytes, f->nbytes, sizeof(key),
							   by_offset) : NULL;
	struct verify_tensor v = *t;

	if (b && b->len == t->len)
		v.scheme = scheme_plain(b->dtype);
	return v;
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

enum tb_status
verify_values(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      struct tb_err *err)
{
	struct model_file only = { .path = f->path, .id = f->id };
	const struct model file = { .files = &only, .nfiles = 1 };
	struct quant_parts raw = { .codes = malloc((size_t)WINDOW * 8) };
	float *x = malloc((size_t)WINDOW * sizeof(*x));
	struct verify_tensors list = { 0 };
	struct values_files *fs = NULL;
	enum tb_status status = raw.codes && x ? values_files_open(&fs, &file, err) : tb_nomem(err);

	if (!t->file->sums)	/* the time of a blob may change */
		memcpy(only.digest, t->file->digest, sizeof(only.digest));
	if (!status)
		status = verify_tensors_read(&list, f, err);
	for (size_t i = 0; !status && i < list.n; i++) {
		const struct verify_tensor v = meant(t->file, &list.v[i]);
		struct stats stats;

		if (!worth(&v.scheme)) {
			note_unread(r, t, &v);
			continue;
		}
		status = scan_tensor(r, fs, &file, &v, &raw, x, &stats, err);
		if (!status && stats.nans + stats.infs)
			report_nonfinite(r, t, &v, &stats);
	}
	verify_tensors_free(&list);
	values_files_close(fs);
	free(raw.codes);
	free(x);
	return status;
}
