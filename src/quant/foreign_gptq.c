/* foreign_gptq.c - GPTQ, whose zeros have 1 taken away, and its second version. */
#include "config.h"

#include "src/quant/foreign.h"

#include <string.h>

#include "src/quant/scheme_row.h"

static int
gptq_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	return foreign_stream(q->codes + row * 4, q->rows, col, s->bits, 0);
}

/* Whole words had 1 in each code taken away, with what was borrowed; where codes
 * straddle words, each for itself. */
static int
gptq_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	static const uint32_t ones[9] = { [2] = 0x55555555, [4] = 0x11111111, [8] = 0x01010101 };
	bool v2 = s->kind == SCHEME_GPTQ_V2, whole = ones[s->bits] != 0;
	const uint8_t *p = q->zeros + group * (q->rows * s->bits / 32) * 4;
	int z = foreign_stream(p, 1, row, s->bits, v2 ? 0 : ones[s->bits]);

	return v2 || whole ? z : (z + 1) & ((1 << s->bits) - 1);
}

static bool
gptq_need(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t groups,
	  struct foreign_need *out)
{
	static const bool widths[9] = { [2] = true, [3] = true, [4] = true, [8] = true };

	out->codes = foreign_up(cols * s->bits, 32) * rows * 4;
	out->zeros = groups * foreign_up(rows * s->bits, 32) * 4;
	return cols * s->bits % 32 == 0 && rows * s->bits % 32 == 0 &&
	       s->group != SCHEME_PER_TENSOR && widths[s->bits];
}

static uint64_t
gptq_place(const struct scheme *s, uint64_t height, uint64_t cols, uint64_t row, uint64_t col)
{
	uint64_t words = foreign_up(cols * s->bits, 32);

	return ((row / height * words + col * s->bits / 32) * height + row % height) * 4;
}

static unsigned
gptq_fit(enum scheme_kind kind, const struct foreign_said *said, const struct foreign_parts *p,
	 struct foreign_answer *out)
{
	static const uint8_t widths[] = { 2, 3, 4, 8 };
	bool v2 = said->format && !strcmp(said->format, "gptq_v2");
	uint64_t rows = p->codes.rows;
	unsigned n = 0;

	if (v2 != (kind == SCHEME_GPTQ_V2) || p->codes.ndim < 2 || p->scales.cols != p->codes.cols)
		return 0;
	for (unsigned i = 0; i < sizeof(widths); i++) {
		unsigned bits = widths[i];
		uint64_t cols = rows <= UINT64_MAX / 32 && rows * 32 % bits == 0 ? rows * 32 / bits : 0;
		struct scheme s = { .kind = kind, .bits = bits,
				    .group = foreign_group(said, cols, p->scales.rows) };

		if (!p->has_order || cols == p->order.cols)
			n += foreign_fit(&out[n], s, p, p->scales.cols, cols);
	}
	return n;
}

static const struct foreign_layout gptq = {
	.names = { { ".qweight", ".scales", ".qzeros", ".g_idx", NULL, DT_I32 } },
	.fit = gptq_fit, .need = gptq_need, .code = gptq_code, .zero = gptq_zero,
	.place = gptq_place, .bits = ":", .scales_down = true,
};

const struct scheme_row scheme_row_gptq = { .form = FORM_MATRIX, .mode = "gptq", .foreign = &gptq };
const struct scheme_row scheme_row_gptq_v2 = { .form = FORM_MATRIX, .mode = "gptq_v2",
					       .foreign = &gptq };
