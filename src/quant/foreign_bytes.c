/* foreign_bytes.c - a byte a weight: whole numbers of compressed-tensors, and E4M3. */
#include "config.h"

#include "src/quant/foreign.h"
#include "src/quant/scheme_row.h"

static int
byte_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	(void)s;
	return (int8_t)q->codes[row * q->cols + col];
}

static int
byte_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	return (int8_t)q->zeros[row / foreign_group_rows(s, q->rows) *
				foreign_up(q->cols, foreign_group_cols(s, q->cols)) + group];
}

static void
fp8_decode(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col,
	   size_t n, float *out)
{
	uint64_t per = foreign_group_cols(s, q->cols);

	dtype_to_f32(DT_F8_E4M3, q->codes + row * q->cols + col, n, out);
	for (size_t i = 0; i < n;) {
		float scale = foreign_scale(s, q, row, (col + i) / per);
		uint64_t left = per - (col + i) % per;

		for (; left && i < n; left--, i++)
			out[i] *= scale;
	}
}

static bool
bytes_need(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t groups,
	   struct foreign_need *out)
{
	(void)groups;
	out->codes = rows * cols;
	out->zeros = scheme_row(s->kind)->foreign->zero ? out->scales : 0;
	return s->bits == 8;
}

/* A square of elements has a scale: of which side? */
static unsigned
square_side(const struct foreign_said *said, const struct foreign_part *w,
	    const struct foreign_part *s)
{
	static const unsigned usual[] = { 128, 64, 32, 16, 256 };

	for (unsigned i = 0; i < said->ngroups + 5; i++) {
		unsigned b = i < said->ngroups ? said->group[i] : usual[i - said->ngroups];

		if (b < SCHEME_PER_ROW && foreign_up(w->rows, b) == s->rows &&
		    foreign_up(w->cols, b) == s->cols)
			return b;
	}
	return 0;
}

static unsigned
bytes_fit(enum scheme_kind kind, const struct foreign_said *said, const struct foreign_parts *p,
	  struct foreign_answer *out)
{
	const struct foreign_part *w = &p->codes, *scales = &p->scales;
	uint64_t n = scales->many * scales->rows * scales->cols;
	struct scheme s = { .kind = kind, .bits = 8 };

	if (n == 1 || (n == w->many && w->many > 1))
		s.group = SCHEME_PER_TENSOR;
	else if (n == w->many * w->rows)
		s.group = SCHEME_PER_ROW;
	else if (scheme_row(kind)->foreign->square)
		s.group = square_side(said, w, scales);
	else
		s.group = scales->rows == w->rows ? foreign_group(said, w->cols, scales->cols) : 0;
	return foreign_fit(out, s, p, w->rows, w->cols);
}

static const struct foreign_layout int8 = {
	.names = { { ".weight", ".weight_scale", ".weight_zero_point", NULL, NULL, DT_I8 } },
	.fit = bytes_fit, .need = bytes_need, .code = byte_code, .zero = byte_zero, .centred = true,
};

static const struct foreign_layout fp8 = {
	.names = { { "", "_scale_inv", NULL, NULL, NULL, DT_F8_E4M3 },
		   { "", "_scale", NULL, NULL, NULL, DT_F8_E4M3 } },
	.fit = bytes_fit, .need = bytes_need, .decode = fp8_decode, .square = true,
};

const struct scheme_row scheme_row_int8 = { .form = FORM_MATRIX, .mode = "ct-int8", .foreign = &int8 };
const struct scheme_row scheme_row_fp8 = { .form = FORM_MATRIX, .mode = "fp8", .foreign = &fp8 };
