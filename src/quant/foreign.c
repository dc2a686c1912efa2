#include "config.h"

#include "src/quant/foreign.h"

#include <string.h>

#define MATRIX_MAX (UINT64_C(1) << 40)	/* elements; more is a lie, and sums stay exact */

static uint64_t
up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* Inputs that share a scale, and outputs. */
static uint64_t
group_cols(const struct scheme *s, uint64_t cols)
{
	return s->group < SCHEME_PER_ROW ? s->group : cols;
}

static uint64_t
group_rows(const struct scheme *s, uint64_t rows)
{
	if (s->group == SCHEME_PER_TENSOR)
		return rows;
	return s->kind == SCHEME_FP8 && s->group < SCHEME_PER_ROW ? s->group : 1;
}

static const bool gptq_bits[9] = { [2] = true, [3] = true, [4] = true, [8] = true };

bool
foreign_need(const struct scheme *s, uint64_t rows, uint64_t cols, struct foreign_need *out)
{
	uint64_t groups, words = up(cols * s->bits, 32), down = up(rows * s->bits, 32);

	if (!scheme_foreign(s) || !rows || !cols || !s->group || rows > MATRIX_MAX / cols ||
	    s->bits < 1 || s->bits > 8)
		return false;
	groups = up(cols, group_cols(s, cols));
	out->scales = groups * up(rows, group_rows(s, rows));
	if (s->kind == SCHEME_AWQ) {
		*out = (struct foreign_need){ cols * (rows / 8) * 4, groups * (rows / 8) * 4,
					      out->scales };
		return s->bits == 4 && rows % 8 == 0 && s->group != SCHEME_PER_TENSOR;
	}
	if (s->kind == SCHEME_INT8 || s->kind == SCHEME_FP8) {
		out->codes = rows * cols;
		out->zeros = s->kind == SCHEME_INT8 ? out->scales : 0;
		return s->bits == 8;
	}
	if (s->kind == SCHEME_CT_INT) {
		out->codes = rows * words * 4;
		out->zeros = down * groups * 4;
		return true;
	}
	out->codes = words * rows * 4;
	out->zeros = groups * down * 4;
	return cols * s->bits % 32 == 0 && rows * s->bits % 32 == 0 &&
	       s->group != SCHEME_PER_TENSOR && gptq_bits[s->bits];
}

static uint32_t
word(const uint8_t *p, uint64_t i)
{
	p += i * 4;
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Number i of a stream whose words are `stride` words apart; `add` is added to each. */
static int
stream(const uint8_t *p, uint64_t stride, uint64_t i, unsigned bits, uint32_t add)
{
	uint64_t at = i * bits / 32;
	unsigned shift = (unsigned)(i * bits % 32);
	uint32_t v = (word(p, at * stride) + add) >> shift;

	if (shift + bits > 32)
		v |= (word(p, (at + 1) * stride) + add) << (32 - shift);
	return (int)(v & ((1u << bits) - 1));
}

/* In which nibble of a word AWQ has an output. */
static unsigned
awq_shift(uint64_t row)
{
	static const uint8_t nibble[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

	return nibble[row % 8] * 4u;
}

static int
awq_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	(void)s;
	return (int)(word(q->codes, col * (q->rows / 8) + row / 8) >> awq_shift(row) & 15);
}

static int
awq_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	(void)s;
	return (int)(word(q->zeros, group * (q->rows / 8) + row / 8) >> awq_shift(row) & 15);
}

static int
gptq_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	return stream(q->codes + row * 4, q->rows, col, s->bits, 0);
}

/* Whole words had 1 in each code taken away, with what was borrowed; where codes
 * straddle words, each for itself. */
static int
gptq_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	static const uint32_t ones[9] = { [2] = 0x55555555, [4] = 0x11111111, [8] = 0x01010101 };
	bool v2 = s->kind == SCHEME_GPTQ_V2, whole = ones[s->bits] != 0;
	const uint8_t *p = q->zeros + group * (q->rows * s->bits / 32) * 4;
	int z = stream(p, 1, row, s->bits, v2 ? 0 : ones[s->bits]);

	return v2 || whole ? z : (z + 1) & ((1 << s->bits) - 1);
}

static int
ct_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	return stream(q->codes + row * up(q->cols * s->bits, 32) * 4, 1, col, s->bits, 0);
}

static int
ct_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	uint64_t groups = up(q->cols, group_cols(s, q->cols));

	return stream(q->zeros + group * 4, groups, row, s->bits, 0);
}

static int
byte_code(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col)
{
	(void)s;
	return (int8_t)q->codes[row * q->cols + col];
}

static int
byte_zero(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	return (int8_t)q->zeros[row / group_rows(s, q->rows) *
				up(q->cols, group_cols(s, q->cols)) + group];
}

/* A code, a zero, and which way the scales lie. */
typedef int number_fn(const struct scheme *s, const struct foreign_src *q, uint64_t row,
		      uint64_t at);
static const struct layout { number_fn *code, *zero; bool scales_down; } layouts[] = {
	[SCHEME_AWQ] = { awq_code, awq_zero, true },
	[SCHEME_GPTQ] = { gptq_code, gptq_zero, true },
	[SCHEME_GPTQ_V2] = { gptq_code, gptq_zero, true },
	[SCHEME_CT_INT] = { ct_code, ct_zero, false },
	[SCHEME_INT8] = { byte_code, byte_zero, false },
	[SCHEME_FP8] = { NULL, NULL, false },
};

static float
scale_at(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t group)
{
	uint64_t groups = up(q->cols, group_cols(s, q->cols));
	uint64_t i = layouts[s->kind].scales_down ? group * q->rows + row
						  : row / group_rows(s, q->rows) * groups + group;
	float v;

	dtype_to_f32(q->scale_dtype, q->scales + i * (dtype_bits(q->scale_dtype) / 8), 1, &v);
	return v;
}

/* Where there is an order, it has been looked at; but a file may be written meanwhile. */
static uint64_t
group_of(const struct scheme *s, const struct foreign_src *q, uint64_t col)
{
	uint64_t per = group_cols(s, q->cols), group;

	if (!q->order)
		return col / per;
	group = word(q->order, col);
	return group < up(q->cols, per) ? group : 0;
}

/* Part of one row. */
static void
decode_ints(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col,
	    size_t n, float *out)
{
	const struct layout *l = &layouts[s->kind];
	uint64_t last = UINT64_MAX;
	int zero = s->kind == SCHEME_INT8 ? 0 : 1 << (s->bits - 1);
	float scale = 0;

	for (size_t i = 0; i < n; i++, col++) {
		uint64_t group = group_of(s, q, col);

		if (group != last) {
			scale = scale_at(s, q, row, group);
			zero = q->zeros ? l->zero(s, q, row, group) : zero;
			last = group;
		}
		out[i] = (float)(l->code(s, q, row, col) - zero) * scale;
	}
}

static void
decode_fp8(const struct scheme *s, const struct foreign_src *q, uint64_t row, uint64_t col,
	   size_t n, float *out)
{
	uint64_t per = group_cols(s, q->cols);

	dtype_to_f32(DT_F8_E4M3, q->codes + row * q->cols + col, n, out);
	for (size_t i = 0; i < n;) {
		float scale = scale_at(s, q, row, (col + i) / per);
		uint64_t left = per - (col + i) % per;

		for (; left && i < n; left--, i++)
			out[i] *= scale;
	}
}

uint64_t
foreign_bad_order(const struct scheme *s, const struct foreign_src *q)
{
	uint64_t groups = up(q->cols, group_cols(s, q->cols)), col = 0;

	while (q->order && col < q->cols && word(q->order, col) < groups)
		col++;
	return q->order ? col : q->cols;
}

void
foreign_decode(const struct scheme *s, const struct foreign_src *q, uint64_t first, size_t n,
	       float *out)
{
	while (n) {
		uint64_t row = first / q->cols, col = first % q->cols;
		size_t part = q->cols - col < n ? (size_t)(q->cols - col) : n;

		if (s->kind == SCHEME_FP8)
			decode_fp8(s, q, row, col, part, out);
		else
			decode_ints(s, q, row, col, part, out);
		out += part;
		first += part;
		n -= part;
	}
}
