/* verify_values.c - numbers that are none: NaN and infinities in floating tensors. */
#include "config.h"

#include "src/ops/verify_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"

#define WINDOW 65536u		/* elements; 256 KB of floats fit the second-level cache */

struct tally { uint64_t bad, first; };	/* elements; first: index of the first bad one */

static enum tb_status
scan_tensor(struct verify_run *r, const struct tb_file *f, const struct st_tensor *t,
	    void *raw, float *x, struct tally *out, struct tb_err *err)
{
	unsigned bytes = dtype_bits(t->dtype) / 8;
	uint64_t n = t->len / bytes;
	enum tb_status status = TB_OK;

	for (uint64_t at = 0; !status && at < n; at += WINDOW) {
		size_t len = n - at < WINDOW ? (size_t)(n - at) : WINDOW;

		status = tb_job_check(r->job, err);
		if (!status)
			status = tb_file_read(f, t->off + at * bytes, raw, len * bytes, err);
		if (status)
			break;
		dtype_to_f32(t->dtype, raw, len, x);
		for (size_t i = 0; i < len; i++)
			if (!isfinite(x[i]) && !out->bad++)
				out->first = at + i;
	}
	return status;
}

static void
report(struct verify_run *r, const struct verify_target *t, const struct st_tensor *s,
       const struct tally *tally)
{
	const char *blob = *t->file->digest ? t->file->digest : t->file->path;
	uint64_t offset = s->off + tally->first * (dtype_bits(s->dtype) / 8);
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = blob, .tensor = s->name,
				   .offset = &offset };

	verify_find(r, F_NONFINITE, &at, "%s: %s holds %ju value%s NaN or infinite, "
		    "the first at byte %ju of %s", m->loc.name, s->name, (uintmax_t)tally->bad,
		    tally->bad == 1 ? " that is" : "s that are", (uintmax_t)offset, blob);
}

/* Types of less than a byte, and E8M0, which are scales, hold no infinities that say
 * anything about the tensor. F64 beyond the range of F32 is told as infinite. */
static bool
worth(const struct st_tensor *t)
{
	return dtype_floating(t->dtype) && dtype_bits(t->dtype) >= 8 && t->dtype != DT_F8_E8M0 &&
	       t->dtype != DT_C64;
}

static void
note_gguf(struct verify_run *r, const struct verify_target *t, const struct tb_file *f)
{
	const char *blob = *t->file->digest ? t->file->digest : t->file->path;
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = blob };
	char magic[4];

	if (!tb_file_read(f, 0, magic, sizeof(magic), NULL) && !memcmp(magic, "GGUF", 4))
		verify_find(r, F_NOT_READ, &at, "%s: %s is GGUF, whose values are not looked at",
			    m->loc.name, blob);
}

enum tb_status
verify_values(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      struct tb_err *err)
{
	struct st_header h = { 0 };
	void *raw;
	float *x;
	enum tb_status status = TB_OK;

	if (st_read(&h, f, NULL)) {	/* a damaged file is told of elsewhere */
		note_gguf(r, t, f);
		return TB_OK;
	}
	raw = malloc((size_t)WINDOW * 8);
	x = malloc((size_t)WINDOW * sizeof(*x));
	if (!raw || !x)
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < h.ntensors; i++) {
		struct tally tally = { 0 };

		if (!worth(&h.tensors[i]))
			continue;
		status = scan_tensor(r, f, &h.tensors[i], raw, x, &tally, err);
		if (!status && tally.bad)
			report(r, t, &h.tensors[i], &tally);
	}
	free(raw);
	free(x);
	st_free(&h);
	return status;
}
