/* mm.h - private to the engine's products: many x at once, straight from packed rows.
 *
 * MM_ROWS rows of W are unpacked into a panel, a stretch of columns at a time, and meet
 * all tokens, a few of them in registers at once.  x is packed once for all matrices that
 * take it so.  A kernel is a row of the table in mm.c: what it multiplies, which CPU it
 * needs, how rows are unpacked, and its tile, which says how x is packed and what is
 * computed. */
#ifndef TBTUI_ENGINE_MM_H
#define TBTUI_ENGINE_MM_H

#include <stdbool.h>

#include "src/engine/gemm.h"
#include "src/engine/mv.h"

#define MM_ROWS 32		/* of a panel; a lane a row, two vectors */
#define MM_TILE_ROWS 16		/* panels are made of tiles of so many rows */
#define MM_TILE 1024		/* bytes of such a tile: 64 a row */
#define MM_STRETCH 4096		/* columns of a panel at most: it stays in the second-level
				 * cache */

struct mm_kernel;

/* x for a kernel.  Tokens stand in blocks of tile->tokens side by side. */
struct mm_x {
	const struct mm_kernel *kernel;
	const float *x;		/* as given; borrowed */
	size_t m;
	uint32_t cols;
	uint32_t step;		/* elements that share a scale and a unit */
	uint32_t group;		/* of the matrices' schemes, 0 or a multiple of step */
	char *data;		/* tile->x_size() bytes a block of tokens */
};

/* MM_ROWS rows of W, or fewer behind which are copies of the last, a stretch of columns. */
struct mm_panel {
	char *tiles;		/* [64 bytes of a row][2 halves][MM_TILE] */
	float *scale, *bias;	/* [step][MM_ROWS]; only some tiles have them */
	float *row;		/* room for a stretch of one row as floats */
};

/* What a panel is made of: rows [first, first + rows), columns [col, col + n). */
struct mm_part {
	const struct matrix *w;
	uint32_t first, rows, col, n;
};

/* y[token][w->rows] of rows of the panel, for blocks of tokens. */
struct mm_job {
	const struct mm_x *x;
	const struct mm_panel *panel;
	struct mm_part part;
	float *y;
	size_t block, end;	/* of tokens */
};

struct mm_tile {
	unsigned tokens;
	size_t (*x_size)(const struct mm_x *x);
	/* false: not for such an x (not finite, out of range). */
	bool (*pack)(const struct mm_x *x, size_t block);
	/* Sets y where part.col is 0, else adds. */
	void (*multiply)(const struct mm_job *job);
	const char *instruction;	/* that it is made of, one of peak.h's */
};

typedef void mm_unpack_fn(const struct mm_x *x, const struct mm_part *part,
			  const struct mm_panel *panel);

struct mm_kernel {
	enum mv_level level;
	enum scheme_kind kind;
	unsigned bits, type;		/* as in mv.c; bits 0 and MV_ANY: any */
	const struct mm_tile *tile;
	mm_unpack_fn *unpack;
	unsigned many;			/* from so many x on it is better than mv.c's */
	unsigned step;			/* at most so many elements share a unit of x; 0: none */
	unsigned block;			/* that were rounded together, >= step; 0: step */
	int off;			/* by which codes are too large; 0: they have minima */
};

/* The best for w up to a level; NULL: none. */
const struct mm_kernel *mm_find(const struct matrix *w, enum mv_level level);

struct mm {
	struct team *team;		/* borrowed */
	enum mv_level level;
	struct gemm gemm;		/* for all else */
	float *x, *panels;		/* workspace; owned */
	size_t x_cap, panels_cap;
};

/* One of the matrices of a product. */
struct mm_one { const struct matrix *w; float *y; };

void mm_init(struct mm *mm, struct team *team, enum mv_level level);
void mm_free(struct mm *mm);
/* What it multiplies w with: the tile's instruction, or "sgemm". */
const char *mm_instruction(const struct mm *mm, const struct matrix *w);
/* Is it better than mv.c's kernels for m of x? */
bool mm_better(const struct mm *mm, const struct matrix *w, size_t m);
enum tb_status mm_run(struct mm *mm, const struct mm_one *one, size_t n, const float *x, size_t m,
		      struct tb_err *err) TB_MUST_USE;

static inline size_t
mm_blocks(const struct mm_x *x)
{
	return (x->m + x->kernel->tile->tokens - 1) / x->kernel->tile->tokens;
}
#endif
