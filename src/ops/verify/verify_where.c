/* verify_where.c - bytes of a file are wrong: which, and what they mean to its models.
 * Answers come from the sums that were kept when it was good; else from runs of zeros. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/search.h"
#include "src/base/text.h"
#include "src/model/values.h"
#include "src/ops/verify/verify_guess.h"
#include "src/ops/verify/verify_sums.h"
#include "src/ops/verify/verify_tensors.h"
#include "src/store/tensor_name.h"

#define PLACES_MAX 24	/* that get a finding of their own */

/* ---- what bytes mean ---- */

struct spot { char tensor[256], rows[128]; };

/* Of a tensor of one dimension, or none. */
static void
put_values(const struct tensor_part *p, uint64_t from, uint64_t len, char out[128])
{
	unsigned bits = dtype_bits(p->dtype);
	uint64_t first = bits ? from * 8 / bits : 0, last = bits ? ((from + len) * 8 - 1) / bits : 0;

	if (!p->ndim || !bits)
		return;
	if (first == last)
		snprintf(out, 128, "value %" PRIu64, first);
	else
		snprintf(out, 128, "values %" PRIu64 " to %" PRIu64, first, last);
}

/* "rows 5 to 9", "row 5 of expert 3", "experts 3 to 4": each of a tensor's matrices. */
static void
put_rows(const char *name, const struct tensor_part *p, uint64_t rows, uint64_t first,
	 uint64_t last, char out[128])
{
	uint64_t each = p->ndim > 2 && p->dim[0] ? rows / p->dim[0] : 0;
	uint64_t a = each ? first / each : 0, b = each ? last / each : 0;
	const char *what = tname_role(name) == TNAME_EXPERTS ? "expert" : "slice";
	int n;

	if (a != b) {
		snprintf(out, 128, "%ss %" PRIu64 " to %" PRIu64, what, a, b);
		return;
	}
	first -= a * each;
	last -= a * each;
	n = first == last ? snprintf(out, 128, "row %" PRIu64, first)
			  : snprintf(out, 128, "rows %" PRIu64 " to %" PRIu64, first, last);
	if (each)
		snprintf(out + n, 128 - (size_t)n, " of %s %" PRIu64, what, a);
}

/* Do the part's rows mean those of the tensor?  Packers of other programs turn matrices
 * about. */
static bool
rows_hold(const struct tensor *t, const struct tensor_part *p, uint64_t *rows)
{
	uint64_t want = 1;

	*rows = 1;
	for (unsigned i = 0; i + 1 < p->ndim; i++)
		*rows *= p->dim[i];
	for (unsigned i = 0; i + 1 < t->ndim; i++)
		want *= t->dim[i];
	if (*rows != want || !*rows || p->len % *rows || p->len == 0)
		return false;
	return !scheme_foreign(&t->scheme) ||
	       (p->ndim == t->ndim && !memcmp(p->dim, t->dim, t->ndim * sizeof(*t->dim)));
}

static void
spot_in_part(const struct tensor *t, enum values_part which, uint64_t from, uint64_t len,
	     struct spot *out)
{
	static const char *const of[PART_COUNT] = { "", "its scales", "its biases",
		"its global scale", "its order of groups" };
	const struct tensor_part *p = values_part_of(t, which);
	uint64_t rows;
	size_t n;

	*out = (struct spot){ 0 };
	memcpy(out->tensor, t->name, strnlen(t->name, sizeof(out->tensor) - 1));
	if (p->ndim > 1 && rows_hold(t, p, &rows))
		put_rows(t->name, p, rows, from / (p->len / rows),
			 (from + len - 1) / (p->len / rows), out->rows);
	else if (p->ndim < 2 && scheme_is_plain(&t->scheme))
		put_values(p, from, len, out->rows);
	n = strlen(out->rows);
	if (*of[which])
		snprintf(out->rows + n, sizeof(out->rows) - n, "%s%s", n ? " of " : "", of[which]);
}

/* By the model's tensors, which join a weight and its scales. */
static bool
spot_in_model(const struct model *m, unsigned file, const struct tb_place *at, struct spot *out)
{
	for (size_t i = 0; i < m->ntensors; i++)
		for (enum values_part w = 0; w < PART_COUNT; w++) {
			const struct tensor_part *p = values_part_of(&m->tensors[i], w);

			if (!p || p->file != file || at->off < p->off || at->off - p->off >= p->len)
				continue;
			spot_in_part(&m->tensors[i], w, at->off - p->off,
				     at->len < p->len - (at->off - p->off) ? at->len
				     : p->len - (at->off - p->off), out);
			return true;
		}
	return false;
}

/* By the file's own header. */
static bool
spot_in_file(const struct verify_tensors *list, const struct tb_place *at, struct spot *out)
{
	const struct verify_tensor *v = verify_tensor_at(list, at->off);
	const struct st_tensor *s = v ? st_find(&list->st, v->name) : NULL;
	struct tensor t;

	if (!s)
		return false;
	t = (struct tensor){ .name = v->name, .scheme = v->scheme, .ndim = s->ndim, .weight = {
		.dtype = s->dtype, .ndim = s->ndim, .off = s->off, .len = s->len } };
	memcpy(t.dim, s->dim, sizeof(t.dim));
	memcpy(t.weight.dim, s->dim, sizeof(t.dim));
	spot_in_part(&t, PART_WEIGHT, at->off - s->off,
		     at->len < s->off + s->len - at->off ? at->len : s->off + s->len - at->off, out);
	return true;
}

/* ---- a file whose sums were kept ---- */

struct where {
	struct verify_run *r;
	struct verify_target *t;
	const struct tb_file *f;
	struct tb_sums was;
	struct tb_places places;
	struct model *m;		/* owned; NULL: none uses it, or it cannot be opened */
	unsigned file;			/* of the model */
	struct verify_tensors list;
};

static void
where_close(struct where *w)
{
	tb_sums_free(&w->was);
	tb_places_free(&w->places);
	verify_tensors_free(&w->list);
	model_free(w->m);
}

/* Who the bytes belong to.  What a damaged header says is asked as well: it is believed
 * only as far as it fits the cuts of that time. */
static enum tb_status
where_owner(struct where *w, struct tb_err *err)
{
	struct tb_file then = *w->f;
	const char *path = w->t->file->path;
	enum tb_status status = TB_OK;

	if (w->t->nuses)
		status = model_open(&w->m, &w->r->models[w->t->uses->model].loc, err);
	if (status && status != TB_ENOMEM)
		status = TB_OK;
	while (w->m && w->file < w->m->nfiles && strcmp(w->m->files[w->file].path, path) != 0)
		w->file++;
	if (w->was.n)	/* or a file that is shorter now has no header */
		then.id.size = w->was.size;
	return status ? status : verify_tensors_read(&w->list, &then, err);
}

static enum tb_status
where_open(struct where *w, struct tb_err *err)
{
	enum tb_status status = verify_sums_recall(w->r, w->t, &w->was, err);

	if (status || !w->was.n)
		return status;
	status = tb_sums_compare(&w->was, w->f, w->r->job, &w->places, err);
	if (!status && w->places.n)
		status = where_owner(w, err);
	return status;
}

static bool
is_cut(const struct tb_sums *s, uint64_t off)
{
	size_t i = TB_FIRST(s->ncuts, k, s->cut[k] < off);

	return !off || off == s->size || (i < s->ncuts && s->cut[i] == off);
}

/* Words for one place: "blk.3.ffn_up.weight, rows 5 to 9 (bytes …)". */
static void
put_place(const struct where *w, const struct tb_place *p, struct spot *spot, struct tb_buf *out)
{
	const struct verify_tensor *raw = verify_tensor_at(&w->list, p->off);
	bool known = raw && is_cut(&w->was, raw->off) && is_cut(&w->was, raw->off + raw->len);

	*spot = (struct spot){ 0 };
	if (known && !(w->m && spot_in_model(w->m, w->file, p, spot)))
		(void)spot_in_file(&w->list, p, spot);
	if (w->was.ncuts && p->off < w->was.cut[0])
		tb_buf_str(out, "its header, ");
	else if (*spot->tensor)
		tb_buf_printf(out, "%s, %s%s", spot->tensor, spot->rows, *spot->rows ? ", " : "");
	tb_buf_printf(out, "bytes %" PRIu64 " to %" PRIu64, p->off, p->off + p->len - 1);
}

/* In these bytes the first run of zeros, if there is one. */
static enum tb_status
put_zeros(const struct where *w, const struct tb_place *p, struct tb_buf *out, struct tb_err *err)
{
	struct verify_zeros zeros;
	enum tb_status status = verify_find_zeros(w->r, w->f, p->off, p->len, &zeros, err);

	if (!status && zeros.len)
		tb_buf_printf(out, "; %" PRIu64 " bytes from byte %" PRIu64 " on are zero",
			      zeros.len, zeros.off);
	return status;
}

static void
put_rest(const struct tb_places *places, struct tb_buf *out)
{
	uint64_t bytes = 0;
	char text[16];

	for (size_t i = 0; i < places->n; i++)
		bytes += places->v[i].len;
	tb_buf_printf(out, "; there are %zu more places, %s in all", places->n - PLACES_MAX,
		      tb_human_bytes(bytes, text));
}

static enum tb_status
find_place(const struct where *w, size_t i, enum finding_code code, struct verify_where at,
	   const char *message, struct tb_err *err)
{
	const struct tb_place *p = &w->places.v[i];
	struct tb_buf text = TB_BUF(4096);
	struct spot spot;
	enum tb_status status;

	if (i)
		tb_buf_str(&text, "is damaged in ");
	else
		tb_buf_printf(&text, "%s; damaged in ", message);
	put_place(w, p, &spot, &text);
	status = put_zeros(w, p, &text, err);
	if (i == PLACES_MAX - 1 && w->places.n > PLACES_MAX)
		put_rest(&w->places, &text);
	if (!status)
		status = tb_buf_status(&text, "message", err);
	if (i)
		at.expected = at.actual = NULL;	/* were told */
	at.offset = &p->off;
	at.bytes = &p->len;
	/* bytes that belong to none are not the first one's, unless there is no other */
	at.tensor = *spot.tensor || w->t->file->ntensors > 1 ? spot.tensor : NULL;
	at.rows = spot.rows;
	if (!status)
		verify_find_for_all(w->r, w->t, code, at, tb_buf_cstr(&text));
	tb_buf_free(&text);
	return status;
}

/* Nothing was kept: the first run of zeros, since pages of them may stand in for bytes. */
static enum tb_status
guess_zeros(const struct where *w, struct verify_zeros *zeros, struct tb_buf *out,
	    struct tb_err *err)
{
	enum tb_status status = verify_find_zeros(w->r, w->f, 0, w->f->id.size, zeros, err);

	if (!status && zeros->len)
		tb_buf_printf(out, "; %" PRIu64 " bytes from byte %" PRIu64 " on are zero%s%s",
			      zeros->len, zeros->off, *zeros->tensor ? ", in " : "", zeros->tensor);
	return status;
}

/* The tensor whose values are not like those of the layers around it. */
static enum tb_status
guess_tensor(struct where *w, struct tb_place *at, struct spot *spot, struct tb_buf *out,
	     struct tb_err *err)
{
	struct verify_guess g = { 0 };
	enum tb_status status = where_owner(w, err);
	uint64_t cols;

	if (!status && w->m)
		status = verify_guess(w->m, w->file, w->r->job, &g, err);
	if (status || !g.t)
		return status;
	cols = g.t->ndim ? g.t->dim[g.t->ndim - 1] : 1;
	*at = (struct tb_place){ g.t->weight.off + scheme_place(&g.t->scheme, g.t->elems / cols, cols,
								g.index), g.t->weight.file == w->file };
	spot_in_part(g.t, PART_WEIGHT, at->off - g.t->weight.off, 1, spot);
	tb_buf_printf(out, "; probably in %s%s%s: %s (a guess, since it was never verified while it "
		      "was good)", spot->tensor, *spot->rows ? ", " : "", spot->rows, g.why);
	return status;
}

static enum tb_status
find_guess(struct where *w, enum finding_code code, struct verify_where at, const char *message,
	   struct tb_err *err)
{
	struct tb_buf text = TB_BUF(4096);
	struct verify_zeros zeros;
	struct tb_place place;
	struct spot spot = { 0 };
	enum tb_status status;

	tb_buf_str(&text, message);
	status = guess_zeros(w, &zeros, &text, err);
	if (!status && !zeros.len && !w->was.n)
		status = guess_tensor(w, &place, &spot, &text, err);
	if (zeros.len) {
		at.offset = &zeros.off;
		at.tensor = *zeros.tensor ? zeros.tensor : NULL;
	} else if (*spot.tensor) {
		at.offset = place.len ? &place.off : NULL;
		at.tensor = spot.tensor;
		at.rows = spot.rows;
	} else if (w->t->file->ntensors > 1 || w->f->id.size > TB_SUMS_PIECE) {
		tb_buf_printf(&text, "; where is not known, since %s", w->was.n
			      ? "no piece differs from what was kept of it"
			      : "it was never verified while it was good");
	}
	if (!status)
		status = tb_buf_status(&text, "message", err);
	if (!status)
		verify_find_for_all(w->r, w->t, code, at, tb_buf_cstr(&text));
	tb_buf_free(&text);
	return status;
}

enum tb_status
verify_find_damage(struct verify_run *r, struct verify_target *t, const struct tb_file *f,
		   enum finding_code code, const char *expected, const char *actual,
		   const char *message, struct tb_err *err)
{
	struct verify_where at = { .expected = expected, .actual = actual };
	struct where w = { .r = r, .t = t, .f = f };
	enum tb_status status = where_open(&w, err);

	if (!status && !w.places.n && !t->unsized)
		status = find_guess(&w, code, at, message, err);
	for (size_t i = 0; !status && i < w.places.n && i < PLACES_MAX; i++)
		status = find_place(&w, i, code, at, message, err);
	where_close(&w);
	return status;
}

/* ---- a file that is too short ---- */

enum tb_status
verify_cut_off(const struct tb_file *f, uint64_t want, struct verify_cut *cut,
	       struct verify_where *at, char out[VERIFY_NAME_MAX], struct tb_err *err)
{
	struct tb_place gone = { f->id.size, want > f->id.size ? want - f->id.size : 0 };
	struct tb_file then = *f;
	struct verify_tensors list = { 0 };
	struct spot spot;
	enum tb_status status = TB_OK;

	then.id.size = want;
	if (gone.len)
		status = verify_tensors_read(&list, &then, err);
	if (!status && spot_in_file(&list, &gone, &spot)) {
		*cut = (struct verify_cut){ gone.off, gone.len, "", "" };
		memcpy(cut->tensor, spot.tensor, sizeof(spot.tensor));
		memcpy(cut->rows, spot.rows, sizeof(spot.rows));
		at->tensor = cut->tensor;
		at->rows = cut->rows;
		at->offset = &cut->off;
		at->bytes = &cut->bytes;
		snprintf(out, VERIFY_NAME_MAX, "; it ends in %.200s%s%s", spot.tensor,
			 *spot.rows ? ", without " : "", spot.rows);
	}
	verify_tensors_free(&list);
	return status;
}
