/* verify_values.c - numbers that are none: NaN and infinities in tensors. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/ops/verify/verify_tensors.h"
#include "src/quant/ggml.h"

#define WINDOW 65536u		/* elements, whole blocks; 256 KB of floats fit the second-level cache */

struct tally { uint64_t bad, first; };	/* elements; byte in the file of the first (or of
					 * the block that has it) */

/* Elements and bytes that stand or fall together. */
struct unit { unsigned elems, bytes; };

static struct unit
unit_of(const struct scheme *s)
{
	const struct ggml_info *info;

	if (s->kind == SCHEME_PLAIN)
		return (struct unit){ 1, dtype_bits(s->dtype) / 8 };
	info = ggml_info(s->ggml);
	return (struct unit){ info->block, info->bytes };
}

static void
decode(const struct scheme *s, const void *raw, size_t n, float *x)
{
	if (s->kind == SCHEME_PLAIN)
		dtype_to_f32(s->dtype, raw, n, x);
	else
		ggml_decode(s->ggml, raw, n, x);
}

static enum tb_status
scan_tensor(struct verify_run *r, const struct tb_file *f, const struct verify_tensor *t,
	    void *raw, float *x, struct tally *out, struct tb_err *err)
{
	struct unit u = unit_of(&t->scheme);
	uint64_t n = t->len / u.bytes;		/* units */
	size_t window = WINDOW / u.elems;
	enum tb_status status = TB_OK;

	for (uint64_t at = 0; !status && at < n; at += window) {
		size_t units = n - at < window ? (size_t)(n - at) : window;

		status = tb_job_check(r->job, err);
		if (!status)
			status = tb_file_read(f, t->off + at * u.bytes, raw, units * u.bytes, err);
		if (status)
			break;
		decode(&t->scheme, raw, units * u.elems, x);
		for (size_t i = 0; i < units * u.elems; i++)
			if (!isfinite(x[i]) && !out->bad++)
				out->first = t->off + (at + i / u.elems) * u.bytes;
	}
	return status;
}

static void
report(struct verify_run *r, const struct verify_target *t, const char *tensor,
       const struct tally *tally)
{
	const char *blob = *t->file->digest ? t->file->digest : t->file->path;
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = blob, .tensor = tensor,
				   .offset = &tally->first };

	verify_find(r, F_NONFINITE, &at, "%s: %s holds %ju value%s NaN or infinite, "
		    "the first at byte %ju of %s", m->loc.name, tensor, (uintmax_t)tally->bad,
		    tally->bad == 1 ? " that is" : "s that are", (uintmax_t)tally->first, blob);
}

/* ---- floats of 8 bits that the file calls U8 or U32 ---- */

static int
by_offset(const void *a, const void *b)
{
	const struct verify_bytes *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static bool
keep(struct verify_model *to, const struct tensor_part *p, enum dtype dtype)
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
		enum scheme_kind kind = t->scheme.kind;

		if (!t->has_scale || (kind != SCHEME_NVFP4 && kind != SCHEME_MXFP4 &&
				      kind != SCHEME_MXFP8))
			continue;
		if (t->scale.dtype == DT_U8)
			ok = keep(to, &t->scale, kind == SCHEME_NVFP4 ? DT_F8_E4M3 : DT_F8_E8M0);
		if (kind == SCHEME_MXFP8)
			ok = ok && keep(to, &t->weight, DT_F8_E4M3);
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
	if (s->kind == SCHEME_GGML)
		return ggml_decodable(s->ggml);
	return dtype_floating(s->dtype) && dtype_bits(s->dtype) >= 8 && s->dtype != DT_C64;
}

/* Not being able to look is not the same as having found nothing. */
static void
note_unread(struct verify_run *r, const struct verify_target *t, const struct verify_tensor *v)
{
	const char *blob = *t->file->digest ? t->file->digest : t->file->path;
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = blob, .tensor = v->name };
	char scheme[SCHEME_NAME_MAX];

	if (v->scheme.kind == SCHEME_GGML)
		verify_find(r, F_NOT_READ, &at, "%s: %s is %s, whose values cannot be looked at",
			    m->loc.name, v->name, scheme_name(&v->scheme, scheme));
}

enum tb_status
verify_values(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      struct tb_err *err)
{
	struct verify_tensors list;
	void *raw = malloc((size_t)WINDOW * 8);
	float *x = malloc((size_t)WINDOW * sizeof(*x));
	enum tb_status status = raw && x ? verify_tensors_read(&list, f, err) : tb_nomem(err);

	for (size_t i = 0; !status && i < list.n; i++) {
		const struct verify_tensor v = meant(t->file, &list.v[i]);
		struct tally tally = { 0 };

		if (!worth(&v.scheme)) {
			note_unread(r, t, &v);
			continue;
		}
		status = scan_tensor(r, f, &v, raw, x, &tally, err);
		if (!status && tally.bad)
			report(r, t, v.name, &tally);
	}
	if (raw && x)
		verify_tensors_free(&list);
	free(raw);
	free(x);
	return status;
}
