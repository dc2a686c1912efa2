/* walk.c - walks through the elements of a tensor. */
#include "config.h"

#include <math.h>

#include "src/base/half.h"
#include "src/ops/translate/translate.h"

uint64_t
walk_elems(const struct strided *v)
{
	uint64_t n = 1;

	for (unsigned d = 0; d < v->ndim; d++)
		n *= v->dim[d];
	return n;
}

uint64_t
walk_place(const struct strided *v, uint64_t i)
{
	uint64_t at = v->first;

	for (unsigned d = v->ndim; d-- > 0; i /= v->dim[d])
		at += i % v->dim[d] * v->step[d];
	return at;
}

uint64_t
walk_stretch(const struct strided *v, uint64_t i, uint64_t n)
{
	uint64_t block = 1, left;

	for (unsigned d = v->ndim; d-- > 0 && v->step[d] == block;)
		block *= v->dim[d];
	left = block - i % block;
	return left < n ? left : n;
}

struct strided
walk_to_pairs(uint64_t rows, uint64_t cols, uint64_t head)
{
	return (struct strided){ 4, { rows / head, head / 2, 2, cols },
				 { head * cols, cols, head / 2 * cols, 1 }, 0 };
}

struct strided
walk_to_halves(uint64_t rows, uint64_t cols, uint64_t head)
{
	return (struct strided){ 4, { rows / head, 2, head / 2, cols },
				 { head * cols, cols, 2 * cols, 1 }, 0 };
}

/* What had few bits has them again: of several numbers with the same exponential the
 * rounder one. */
static float
log_of(float minus)
{
	float x = (float)log(-(double)minus), few[] = { tb_bf16_f32(tb_f32_bf16(x)),
		tb_f16_f32(tb_f32_f16(x)) };

	for (int i = 0; i < 2; i++)
		if (fabs(exp((double)few[i]) + (double)minus) <= 1.2e-7 * fabs((double)minus))
			return few[i];
	return x;
}

float
change_apply(const struct change *c, float x)
{
	switch (c->what) {
	case CHANGE_ADD:
		return x + c->number;
	case CHANGE_NEG_EXP:
		return (float)-exp((double)x);
	case CHANGE_LOG_NEG:
		return log_of(x);
	default:
		return x;
	}
}
