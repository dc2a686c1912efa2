/* diff_pair.c - two sides of a row, opened: are they the same bytes, how far are their
 * values apart? */
#include "config.h"

#include <string.h>

#include "src/engine/arch.h"
#include "src/ops/diff/diff_run.h"

#define PIECE 4096u		/* elements decoded at a time: both sides stay in the cache */

/* Is how it is stored so little known that only bytes can be compared? */
static bool
opaque(const struct tensor *t)
{
	return t->origin == ORIGIN_UNKNOWN || !scheme_readable(&t->scheme);
}

bool
diff_row_opaque(const struct diff_row *row)
{
	return opaque(row->a.t) || opaque(row->b.t);
}

/* Do its elements lie one behind the other, in each part? */
static bool
in_rows(const struct tensor *t)
{
	return !opaque(t) && !scheme_foreign(&t->scheme);
}

/* What is compared in slices of its parts has to have parts of one size, and all of
 * them. */
bool
diff_same_coding(const struct diff_row *row)
{
	const struct tensor *a = row->a.t, *b = row->b.t;
	bool slices = !in_rows(a);

	if (row->a.pairs != row->b.pairs || row->a.add != row->b.add ||
	    !scheme_equal(&a->scheme, &b->scheme) || opaque(a) != opaque(b) ||
	    a->global_inverse != b->global_inverse ||
	    (slices && (row->a.expert != DIFF_WHOLE || row->b.expert != DIFF_WHOLE)))
		return false;
	for (enum values_part p = 0; p < PART_COUNT; p++) {
		const struct tensor_part *x = values_part_of(a, p), *y = values_part_of(b, p);

		if (!x != !y || (x && (x->dtype != y->dtype || (slices && x->len != y->len))))
			return false;
	}
	return true;
}

uint64_t
diff_side_bytes(const struct diff_side *s, uint64_t n)
{
	if (n == s->t->elems || s->t->elems == 0)
		return s->t->bytes;
	return (uint64_t)((double)s->t->bytes * ((double)n / (double)s->t->elems));
}

/* What is compared of a row, in elements: of what nobody decodes the bytes. */
uint64_t
diff_row_length(const struct diff_row *row)
{
	return diff_row_opaque(row) ? row->a.t->weight.len : row->a.elems;
}

static enum tb_status
open_side(struct diff_pair *p, struct values *r, const struct model *m,
	  const struct diff_side *s, struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];

	if (s->first % 8 && scheme_is_plain(&s->t->scheme) && s->t->scheme.bits < 8)
		return tb_fail(err, TB_EUNSUP, "tensor %s: its experts share bytes", s->t->name);
	if (!p->opaque)
		return values_open(r, m, s->t, NULL, err);
	if (s->expert == DIFF_WHOLE && diff_same_coding(p->row) && !s->t->has_global)
		return values_open_parts(r, m, s->t, err);
	return tb_fail(err, TB_EUNSUP, "tensor %s: its values cannot be compared, nobody decodes %s",
		       s->t->name, opaque(s->t) ? scheme_name(&s->t->scheme, name)
					       : "the other one");
}

enum tb_status
diff_pair_open(struct diff_pair *p, const struct diff_request *req, const struct diff_row *row,
	       struct tb_err *err)
{
	const struct diff_side *a = &row->a, *b = &row->b;
	enum tb_status status;

	*p = (struct diff_pair){ .row = row, .opaque = diff_row_opaque(row),
				 .coding = diff_same_coding(row),
				 .a_pairs = a->pairs && !b->pairs,
				 .b_pairs = b->pairs && !a->pairs,
				 .cols = a->ndim > 1 ? a->dim[a->ndim - 1] : 1 };
	if (row->a.add != row->b.add) {
		p->a_add = row->a.add;
		p->b_add = row->b.add;
	}
	if (p->a_pairs || p->b_pairs) {		/* whose rows have to be looked up */
		p->head_dim = p->a_pairs ? a->head_dim : b->head_dim;
		if (!p->head_dim || (p->cols && a->elems / p->cols % p->head_dim))
			return tb_fail(err, TB_EUNSUP, "tensor %s: its rows are in the order of "
				       "GGUF files, and how many make up a head is not known",
				       (p->a_pairs ? a : b)->t->name);
	}
	status = open_side(p, &p->a, req->a, &row->a, err);
	if (status)
		return tb_wrap(err, status, "A");
	status = open_side(p, &p->b, req->b, &row->b, err);
	if (!status)
		return TB_OK;
	values_close(&p->a);
	return tb_wrap(err, status, "B");
}

/* Where a part's slice ends that belongs to the first n of `all`: slices add up to all of
 * its bytes, wherever in it the elements are. */
static size_t
slice_end(const struct tb_map *m, uint64_t n, uint64_t all)
{
	double end = (double)m->len / (double)all * (double)n;

	return n >= all || end > (double)m->len ? m->len : (size_t)end;
}

/* The same of a part whose elements lie one behind the other. */
static uint64_t
part_end(const struct tensor *t, enum values_part p, uint64_t n)
{
	if (p == PART_WEIGHT)
		return scheme_code_bytes(&t->scheme, n);
	return values_part_of(t, p) ? scheme_scales(&t->scheme, n) * (dtype_bits(t->scale.dtype) / 8)
				    : 0;
}

bool
diff_pair_equal(const struct diff_pair *p, uint64_t first, size_t n)
{
	const struct tensor *t = p->a.t;
	uint64_t all = diff_row_length(p->row), a, b, len;
	bool rows = in_rows(t);

	if (memcmp(&p->a.global, &p->b.global, sizeof(p->a.global)))
		return false;
	for (enum values_part k = 0; k < (rows ? PART_GLOBAL : PART_COUNT); k++) {
		const struct tb_map *x = &p->a.part[k], *y = &p->b.part[k];

		a = rows ? part_end(t, k, p->row->a.first + first) : slice_end(x, first, all);
		b = rows ? part_end(t, k, p->row->b.first + first) : a;
		len = rows ? part_end(t, k, n) : slice_end(x, first + n, all) - a;
		if (len && memcmp(x->p + a, y->p + b, (size_t)len))
			return false;
	}
	return true;
}

/* ---- values ---- */

/* In F32, as whoever converted the other side did it. */
static void
shift(float *v, size_t n, float by)
{
	for (size_t i = 0; by != 0 && i < n; i++)
		v[i] += by;
}

/* n elements, PIECE at most: of A from `a` on, which is what is said to be unequal, of B
 * from `b` on. */
static void
add_wide(const struct diff_pair *p, uint64_t a, uint64_t b, size_t n,
	 struct compare *c)
{
	double x[PIECE], y[PIECE];

	values_f64(&p->a, p->row->a.first + a, n, x);
	values_f64(&p->b, p->row->b.first + b, n, y);
	compare_f64(c, x, y, n, a);
}

static void
add_floats(const struct diff_pair *p, uint64_t a, uint64_t b, size_t n,
	   struct compare *c)
{
	float x[PIECE], y[PIECE];

	values_f32(&p->a, p->row->a.first + a, n, x);
	values_f32(&p->b, p->row->b.first + b, n, y);
	shift(x, n, p->a_add);
	shift(y, n, p->b_add);
	compare_f32(c, x, y, n, a);
}

/* Where the other side has row `row` of A. */
static uint64_t
row_of_b(const struct diff_pair *p, uint64_t row)
{
	uint32_t hd = p->head_dim, i = (uint32_t)(row % hd);

	if (p->a_pairs)
		return row - i + slot_unpermuted(i, hd);
	return row - i + (i < hd / 2 ? 2 * i : 2 * (i - hd / 2) + 1);
}

void
diff_pair_add(const struct diff_pair *p, uint64_t first, size_t n, struct compare *c)
{
	bool wide = values_wide(&p->a) || values_wide(&p->b);

	for (uint64_t at = first, other, k; at < first + n; at += k) {
		k = first + n - at < PIECE ? first + n - at : PIECE;
		other = at;
		if (p->a_pairs || p->b_pairs) {		/* row by row */
			uint64_t col = at % p->cols;

			k = p->cols - col < k ? p->cols - col : k;
			other = row_of_b(p, at / p->cols) * p->cols + col;
		}
		(wide ? add_wide : add_floats)(p, at, other, (size_t)k, c);
	}
}

static void
forget_side(const struct values *r, const struct diff_side *s, uint64_t first, uint64_t n,
	    uint64_t all)
{
	for (enum values_part p = PART_WEIGHT; p <= PART_BIAS; p++) {
		size_t from = slice_end(&r->part[p], s->first + first, all);
		size_t to = slice_end(&r->part[p], s->first + first + n, all);

		if (to > from)
			tb_map_forget(&r->part[p], from, to - from);
	}
}

void
diff_pair_forget(const struct diff_pair *p, uint64_t first, size_t n)
{
	uint64_t all = p->opaque ? diff_row_length(p->row) : 0;

	forget_side(&p->a, &p->row->a, first, n, all ? all : p->a.t->elems);
	forget_side(&p->b, &p->row->b, first, n, all ? all : p->b.t->elems);
}
