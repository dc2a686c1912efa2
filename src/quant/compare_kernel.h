/* compare_kernel.h - private to src/quant: the loop over a block, compiled once for
 * each instruction set: compare_scalar.c, compare_avx2.c, compare_avx512.c define
 * COMPARE_NAME and LANES, the doubles in a register.  Differences and squares of F32
 * are exact in double; each lane has its own sums. */
#include <string.h>

#include "src/quant/compare_ops.h"

typedef float lanes_f __attribute__((vector_size(4 * LANES)));
typedef double lanes_d __attribute__((vector_size(8 * LANES)));
typedef int64_t lanes_l __attribute__((vector_size(8 * LANES)));

struct pair_sums { lanes_d aa, bb, ab, dd, max; lanes_l unequal; };

static inline void
lanes_take(struct pair_sums *l, const float *pa, const float *pb)
{
	lanes_f fa, fb;
	lanes_d a, b, d, size;
	lanes_l more;

	memcpy(&fa, pa, sizeof(fa));
	memcpy(&fb, pb, sizeof(fb));
	a = __builtin_convertvector(fa, lanes_d);
	b = __builtin_convertvector(fb, lanes_d);
	d = a - b;
	size = (lanes_d)((lanes_l)d & INT64_MAX);
	more = size > l->max;
	l->max = (lanes_d)(((lanes_l)size & more) | ((lanes_l)l->max & ~more));
	l->unequal -= a != b;
	l->aa += a * a;
	l->bb += b * b;
	l->ab += a * b;
	l->dd += d * d;
}

static inline void
lanes_end(const struct pair_sums *l, struct compare_block *out)
{
	*out = (struct compare_block){ 0 };
	for (unsigned i = 0; i < LANES; i++) {
		out->aa += l->aa[i];
		out->bb += l->bb[i];
		out->ab += l->ab[i];
		out->dd += l->dd[i];
		out->max = l->max[i] > out->max ? l->max[i] : out->max;
		out->unequal += (uint64_t)l->unequal[i];
	}
}

/* What does not fill the lanes is filled up with zeros, which add nothing. */
void
COMPARE_NAME(const float *a, const float *b, size_t n, struct compare_block *out)
{
	struct pair_sums l = { 0 };
	float rest[2][LANES] = { 0 };
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		lanes_take(&l, a + i, b + i);
	if (i < n) {
		memcpy(rest[0], a + i, (n - i) * sizeof(*a));
		memcpy(rest[1], b + i, (n - i) * sizeof(*b));
		lanes_take(&l, rest[0], rest[1]);
	}
	lanes_end(&l, out);
}
