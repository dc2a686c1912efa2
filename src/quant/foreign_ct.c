/* foreign_ct.c - "pack-quantized" of compressed-tensors: rows of words. */
#include "config.h"

#include "src/quant/foreign.h"
#include "src/quant/scheme_row.h"

static int
ct_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	return foreign_stream(q->codes + row * foreign_up(q->cols * s->bits, 32) * 4, 1, col,
			      s->bits, 0);
}

static int
ct_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	uint64_t groups = foreign_up(q->cols, foreign_group_cols(s, q->cols));

	return foreign_stream(q->zeros + group * 4, groups, row, s->bits, 0);
}

static bool
ct_need(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t groups,
	struct foreign_need *out)
{
	out->codes = rows * foreign_up(cols * s->bits, 32) * 4;
	out->zeros = foreign_up(rows * s->bits, 32) * groups * 4;
	return true;
}

static uint64_t
ct_place(const struct scheme *s, uint64_t height, uint64_t cols, uint64_t row, uint64_t col)
{
	(void)height;
	return (row * foreign_up(cols * s->bits, 32) + col * s->bits / 32) * 4;
}

static unsigned
ct_fit(enum scheme_kind kind, const struct foreign_said *said, const struct foreign_parts *p,
       struct foreign_answer *out)
{
	static const unsigned usual[] = { 4, 8 };
	const unsigned *bits = said->nbits ? said->bits : usual;
	const struct foreign_part *w = &p->codes, *scales = &p->scales;
	unsigned n = 0;

	for (unsigned i = 0; i < (said->nbits ? said->nbits : 2); i++) {
		uint64_t cols = w->cols <= UINT64_MAX / 32 ? w->cols * 32 / bits[i] : 0;
		unsigned group = scales->rows == w->rows ? foreign_group(said, cols, scales->cols)
				 : scales->many * scales->rows * scales->cols == 1
				 ? SCHEME_PER_TENSOR : 0;
		struct scheme s = { .kind = kind, .bits = bits[i], .group = group };

		n += !foreign_among(bits[i], bits, i) && foreign_fit(&out[n], s, p, w->rows, cols);
	}
	return n;
}

static const struct foreign_layout ct = {
	.names = { { ".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_g_idx",
		     ".weight_shape", DT_I32 } },
	.fit = ct_fit, .need = ct_need, .code = ct_code, .zero = ct_zero, .place = ct_place,
	.bits = "",
};

const struct scheme_row scheme_row_ct_int = { .form = FORM_MATRIX, .mode = "ct-int", .foreign = &ct };
