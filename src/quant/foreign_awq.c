/* foreign_awq.c - AWQ: a word is 8 outputs. */
#include "config.h"

#include "src/quant/foreign.h"
#include "src/quant/scheme_row.h"

/* In which nibble of a word it has an output. */
static int
awq_nibble(uint32_t word, uint64_t row)
{
	static const uint8_t nibble[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

	return (int)(word >> nibble[row % 8] * 4u & 15);
}

static int
awq_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	(void)s;
	return awq_nibble(foreign_word(q->codes, col * (q->rows / 8) + row / 8), row);
}

static int
awq_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	(void)s;
	return awq_nibble(foreign_word(q->zeros, group * (q->rows / 8) + row / 8), row);
}

static bool
awq_need(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t groups,
	 struct foreign_need *out)
{
	out->codes = cols * (rows / 8) * 4;
	out->zeros = groups * (rows / 8) * 4;
	return s->bits == 4 && rows % 8 == 0 && s->group != SCHEME_PER_TENSOR;
}

/* All inputs of 8 outputs side by side. */
static uint64_t
awq_place(const struct scheme *s, uint64_t height, uint64_t cols, uint64_t row, uint64_t col)
{
	(void)s;
	return ((row / height * cols + col) * (height / 8) + row % height / 8) * 4;
}

/* Its scales are as wide as 8 words, GPTQ's as one. */
static unsigned
awq_fit(enum scheme_kind kind, const struct foreign_said *said, const struct foreign_parts *p,
	struct foreign_answer *out)
{
	struct scheme s = { .kind = kind, .bits = 4,
			    .group = foreign_group(said, p->codes.rows, p->scales.rows) };

	if (p->codes.ndim < 2 || p->scales.cols == p->codes.cols)
		return 0;
	return foreign_fit(out, s, p, p->scales.cols, p->codes.rows);
}

static const struct foreign_layout awq = {
	.names = { { ".qweight", ".scales", ".qzeros", ".g_idx", NULL, DT_I32 } },
	.fit = awq_fit, .need = awq_need, .code = awq_code, .zero = awq_zero, .place = awq_place,
	.bits = ":", .scales_down = true,
};

const struct scheme_row scheme_row_awq = { .form = FORM_MATRIX, .mode = "awq", .foreign = &awq };
