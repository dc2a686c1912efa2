#include "config.h"

#include "src/quant/foreign.h"

#include "src/quant/scheme_row.h"

#define MATRIX_MAX (UINT64_C(1) << 40)	/* elements; more is a lie, and sums stay exact */

uint64_t
foreign_group_cols(const struct scheme *s, uint64_t cols)
{
	return s->group < SCHEME_PER_ROW ? s->group : cols;
}

uint64_t
foreign_group_rows(const struct scheme *s, uint64_t rows)
{
	if (s->group == SCHEME_PER_TENSOR)
		return rows;
	return scheme_row(s->kind)->foreign->square && s->group < SCHEME_PER_ROW ? s->group : 1;
}

bool
foreign_need(const struct scheme *s, uint64_t rows, uint64_t cols, struct foreign_need *out)
{
	uint64_t groups;

	if (!scheme_foreign(s) || !rows || !cols || !s->group || rows > MATRIX_MAX / cols ||
	    s->bits < 1 || s->bits > 8)
		return false;
	groups = foreign_up(cols, foreign_group_cols(s, cols));
	*out = (struct foreign_need){ .scales = groups *
				      foreign_up(rows, foreign_group_rows(s, rows)) };
	return scheme_row(s->kind)->foreign->need(s, rows, cols, groups, out);
}

float
foreign_scale(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	uint64_t groups = foreign_up(q->cols, foreign_group_cols(s, q->cols));
	uint64_t i = scheme_row(s->kind)->foreign->scales_down ? group * q->rows + row
		     : row / foreign_group_rows(s, q->rows) * groups + group;
	float v;

	dtype_to_f32(q->scale_dtype, q->scales + i * (dtype_bits(q->scale_dtype) / 8), 1, &v);
	return v;
}

/* Part of one row. */
static void
decode_numbers(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col,
	       size_t n, float *out)
{
	const struct foreign_layout *l = scheme_row(s->kind)->foreign;
	uint64_t per = foreign_group_cols(s, q->cols), groups = foreign_up(q->cols, per);
	uint64_t last = UINT64_MAX;
	int zero = l->centred ? 0 : 1 << (s->bits - 1);
	float scale = 0;

	for (size_t i = 0; i < n; i++, col++) {
		uint64_t group = q->order ? foreign_word(q->order, col) : col / per;

		/* It has been looked at; but a file may be written meanwhile. */
		if (group >= groups)
			group = 0;
		if (group != last) {
			scale = foreign_scale(s, q, row, group);
			zero = q->zeros ? l->zero(s, q, row, group) : zero;
			last = group;
		}
		out[i] = (float)(l->code(s, q, row, col) - zero) * scale;
	}
}

uint64_t
foreign_bad_order(const struct scheme *s, const struct foreign_src *q)
{
	uint64_t groups = foreign_up(q->cols, foreign_group_cols(s, q->cols)), col = 0;

	while (q->order && col < q->cols && foreign_word(q->order, col) < groups)
		col++;
	return q->order ? col : q->cols;
}

void
foreign_decode(const struct scheme *s, const struct foreign_src *q, uint64_t first, size_t n,
	       float *out)
{
	const struct foreign_layout *l = scheme_row(s->kind)->foreign;

	while (n) {
		uint64_t row = first / q->cols, col = first % q->cols;
		size_t part = q->cols - col < n ? (size_t)(q->cols - col) : n;

		(l->decode ? l->decode : decode_numbers)(s, q, row, col, part, out);
		out += part;
		first += part;
		n -= part;
	}
}

bool
foreign_among(unsigned v, const unsigned *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

unsigned
foreign_group(const struct foreign_said *said, uint64_t cols, uint64_t groups)
{
	if (!groups || !cols)
		return 0;
	for (unsigned i = 0; i < said->ngroups; i++)
		if (said->group[i] < SCHEME_PER_ROW && foreign_up(cols, said->group[i]) == groups)
			return said->group[i];
	if (groups == 1)
		return SCHEME_PER_ROW;
	return cols % groups || cols / groups >= SCHEME_PER_ROW ? 0 : (unsigned)(cols / groups);
}

/* Do all parts have the bytes that the scheme wants, `many` times?  One scale may serve
 * for all. */
static bool
parts_fit(const struct scheme *s, const struct foreign_parts *p, uint64_t rows, uint64_t cols)
{
	uint64_t many = p->codes.many, scales = p->scales.many * p->scales.rows * p->scales.cols;
	struct foreign_need need;

	if (!foreign_need(s, rows, cols, &need) || !many || need.codes > UINT64_MAX / many ||
	    p->codes.len != need.codes * many || need.scales > UINT64_MAX / many)
		return false;
	if (scales != need.scales * many && (s->group != SCHEME_PER_TENSOR || scales != 1))
		return false;
	if (p->has_zeros && p->zeros.len != need.zeros * many)
		return false;
	return (!p->has_order || p->order.len == cols * many * 4) &&
	       (dtype_floating(p->scales.dtype) && dtype_bits(p->scales.dtype) >= 8);
}

unsigned
foreign_fit(struct foreign_answer *out, struct scheme s, const struct foreign_parts *p,
	    uint64_t rows, uint64_t cols)
{
	*out = (struct foreign_answer){ s, rows, cols };
	return s.group && parts_fit(&s, p, rows, cols);
}
