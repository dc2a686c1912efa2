/* mv.h - private to the engine's products: one x, prepared once, and the kernels
 * that read packed rows with it.
 *
 * A kernel is a row of the table in mv.c: what it multiplies, which CPU it needs,
 * how x is prepared for it.  Kernels read no byte outside their rows. */
#ifndef TBTUI_ENGINE_MV_H
#define TBTUI_ENGINE_MV_H

#include <limits.h>
#include <stdbool.h>

#include "src/engine/matrix.h"

/* What the CPU can do, each level includes those before. */
#define MV_LEVEL_LIST(X) \
	X(MV_SCALAR, "scalar") \
	X(MV_AVX2, "avx2") \
	X(MV_AVX512, "avx512") \
	X(MV_AVX512_VNNI, "avx512-vnni") \
	X(MV_AVX512_BF16, "avx512-bf16") \
	X(MV_AMX, "amx")	/* as TBTUI_CPU calls it, too */

#define X(id, name) id,
enum mv_level { MV_LEVEL_LIST(X) MV_LEVELS };
#undef X

enum mv_level mv_level(void);		/* this machine's, held down by TBTUI_CPU */
const char *mv_level_name(enum mv_level l);

/* Of what is compiled for each width of vectors the widest that this machine may take.  What is
 * named second and third is there on x86-64 alone. */
#ifdef __x86_64__
#define MV_BEST(plain, avx2, avx512) \
	(mv_level() >= MV_AVX512 ? (avx512) : mv_level() >= MV_AVX2 ? (avx2) : (plain))
#else
#define MV_BEST(plain, avx2, avx512) (plain)
#endif

#define MV_ANY UINT_MAX
#define MV_BLOCK 256		/* prepared data is zero padded to blocks of elements */
#define MV_PAD 16		/* and a group's values to this many more */

/* Which members are filled is up to the kernel's prepare function. */
struct mv_x {
	const float *x;		/* as given; borrowed */
	uint32_t cols, group;	/* group: elements that share a scale, 0 = none */
	float *perm;		/* x in the order in which the kernel meets it */
	float *sum;		/* sum of x a group */
	float *unit;		/* what one digit step is worth, a group */
	int8_t *digit;		/* two signed digits an element, see mv_digits.h */
	int32_t *start;		/* where accumulators start, at most one for 4 elements */
};

/* false: this kernel cannot take such an x (not finite, out of range). */
typedef bool mv_prepare_fn(struct mv_x *x);
uint64_t matrix_row_bytes(const struct matrix *w);	/* of codes */

/* y[i * w->rows + r] = W[r] x[i] for i < m and first <= r < end, without w->global.  What
 * an x gets does not depend, not in its last bit, on which others are there. */
typedef void mv_rows_fn(const struct matrix *w, const struct mv_x *x, size_t m, float *y,
			uint32_t first, uint32_t end);
#define MV_TOGETHER 8		/* the largest m */

/* A kernel as what it does with w, x, y, first and end, x after x. */
#define MV_ROWS(name, ...) \
	void name(const struct matrix *w, const struct mv_x *xs, size_t m, float *ys, \
		  uint32_t first, uint32_t end) \
	{ \
		for (size_t i = 0; i < m; i++) { \
			const struct mv_x *x = xs + i; \
			float *y = ys + i * w->rows; \
\
			__VA_ARGS__; \
		} \
	}
/* As one that reads each row once: body(what..., w, x, m, y, first, end), inlined with m a
 * constant, 1, 2 or MV_TILE, so that sums stay in registers.  With more, a few rows are gone
 * through again while they are in the first-level cache. */
#define MV_TILE 4
#define MV_SHARED(name, body, ...) \
	void name(const struct matrix *w, const struct mv_x *x, size_t m, float *y, \
		  uint32_t first, uint32_t end) \
	{ \
		const uint32_t few = m > MV_TILE ? mv_few_rows(w) : end - first; \
\
		for (uint32_t r = first, e; r < end; r = e) { \
			const struct mv_x *xs = x; \
			float *ys = y; \
			size_t left = m; \
\
			e = end - r < few ? end : r + few; \
			for (; left >= MV_TILE; left -= MV_TILE) { \
				body(__VA_ARGS__, w, xs, MV_TILE, ys, r, e); \
				xs += MV_TILE; \
				ys += (size_t)MV_TILE * w->rows; \
			} \
			if (left >= 2) { \
				body(__VA_ARGS__, w, xs, 2, ys, r, e); \
				xs += 2; \
				ys += (size_t)2 * w->rows; \
			} \
			if (left % 2) \
				body(__VA_ARGS__, w, xs, 1, ys, r, e); \
		} \
	}
/* Scales are 16 or 32 bits wide: their dtype is a constant, too. */
#define MV_SHARED_SCALED(name, body, what) \
	static MV_SHARED(name##_bf16, body, what, DT_BF16) \
	static MV_SHARED(name##_f16, body, what, DT_F16) \
	static MV_SHARED(name##_f32, body, what, DT_F32) \
	void name(const struct matrix *w, const struct mv_x *x, size_t m, float *y, \
		  uint32_t first, uint32_t end) \
	{ \
		(w->scale_dtype == DT_BF16 ? name##_bf16 \
		 : w->scale_dtype == DT_F16 ? name##_f16 : name##_f32)(w, x, m, y, first, end); \
	}

/* Rows that take a third of a first-level cache, one at least. */
static inline uint32_t
mv_few_rows(const struct matrix *w)
{
	uint64_t row = matrix_row_bytes(w), rows = row ? (16u << 10) / row : 1;

	return rows ? (uint32_t)rows : 1;
}

struct mv_kernel {
	enum mv_level level;
	enum scheme_kind kind;
	unsigned bits;			/* 0 = any */
	unsigned type;			/* SCHEME_PLAIN: enum dtype; SCHEME_GGML: enum ggml_type,
					 * or MV_ANY */
	mv_prepare_fn *prepare;		/* NULL: x as it is */
	mv_rows_fn *rows;
	unsigned few;			/* up to so many x at once it beats sgemm */
};

/* The best kernel for w up to a level; never NULL. */
const struct mv_kernel *mv_find(const struct matrix *w, enum mv_level level);
/* The best of those that round neither x nor weights; they take every x. */
const struct mv_kernel *mv_find_exact(const struct matrix *w, enum mv_level level);
/* The one that takes every x and every scheme. */
extern const struct mv_kernel mv_any;

/* Memory for one prepared x, and the members of *x put into it. mem: 64-byte aligned. */
size_t mv_x_size(uint32_t cols);
void mv_x_place(struct mv_x *x, void *mem, uint32_t cols);

/* Elements [col, col + n) of row r as F32 times `global`,
 * col and n multiples of the group. */
void matrix_decode(const struct matrix *w, uint32_t r, uint32_t col, uint32_t n, float global,
		   float *out);

static inline size_t
mv_scale_size(enum dtype d)
{
	return d == DT_U8 ? 1 : d == DT_F32 ? 4 : 2;
}

mv_rows_fn mv_rows_any, mv_rows_ggml;
mv_prepare_fn mv_prepare_ggml;
#endif
