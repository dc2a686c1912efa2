/* matmul.c - products are planned here: which kernel, which rows go to whom.
 *
 * Few x: the packed rows are read once, and each is multiplied with every x.  More: a
 * chunk at a time is, while it is in the cache.  Many: see mm.h. */
#include "config.h"

#include "src/engine/matrix.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/engine/mm.h"
#include "src/engine/mv.h"
#include "src/engine/team.h"

/* So many x give what each of them gives alone, bit for bit: several tokens in one pass are
 * those that would have come one by one. */
#define FEW MV_TOGETHER
#define BATCH 8				/* matrices that share one fork-join */
#define CHUNK_BYTES (128u << 10)	/* gone through once: who ends last ends soon */
#define CHUNK_BYTES_MANY (32u << 10)	/* more than once: stays in the first-level cache */
#define CHUNK_BYTES_MIN (8u << 10)	/* less is not worth a fork */
#define CHUNKS_A_THREAD 4

struct matmul {
	struct team *team;		/* borrowed */
	enum mv_level level;
	bool exact;
	float *mem;			/* prepared x; owned */
	size_t mem_cap;			/* in floats */
	struct mm many;
};

/* One matrix of a fork-join. */
struct part {
	const struct matrix *w;
	const struct mv_kernel *kernel;
	const float *given;		/* [m][cols] */
	const struct mv_x *x;		/* [m] */
	float *y;
	uint32_t chunk_rows;
	unsigned chunks;
};

struct batch {
	struct part part[BATCH];
	size_t parts, m;
};

enum tb_status
matmul_new(struct matmul **out, struct team *team, struct tb_err *err)
{
	*out = tb_calloc(1, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	(*out)->team = team;
	(*out)->level = mv_level();
	mm_init(&(*out)->many, team, (*out)->level);
	return TB_OK;
}

const char *
matmul_instruction(const struct matmul *mm, const struct matrix *w)
{
	return mm_instruction(&mm->many, w);
}

void
matmul_free(struct matmul *mm)
{
	if (!mm)
		return;
	mm_free(&mm->many);
	free(mm->mem);
	free(mm);
}

void
matmul_exactly(struct matmul *mm)
{
	mm->exact = mm->many.gemm.exact = true;
}

static void
matmul_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct batch *b = arg;
	const struct part *p = b->part;
	uint32_t first, end;

	(void)thread;
	while (chunk >= p->chunks)
		chunk -= p++->chunks;
	first = chunk * p->chunk_rows;
	end = p->w->rows - first < p->chunk_rows ? p->w->rows : first + p->chunk_rows;
	for (size_t i = 0, n; i < b->m; i += n) {
		n = b->m - i < MV_TOGETHER ? b->m - i : MV_TOGETHER;
		p->kernel->rows(p->w, p->x + i, n, p->y + i * p->w->rows, first, end);
	}
	for (size_t i = 0; p->w->global != 1 && i < b->m; i++)
		for (uint32_t r = first; r < end; r++)
			p->y[i * p->w->rows + r] *= p->w->global;
}

static void
cut_chunks(struct part *p, size_t m, unsigned threads)
{
	uint64_t row = matrix_row_bytes(p->w), all = row * p->w->rows;
	uint64_t chunk = m > MV_TOGETHER ? CHUNK_BYTES_MANY : CHUNK_BYTES;

	if (chunk > all / (threads * CHUNKS_A_THREAD))
		chunk = all / (threads * CHUNKS_A_THREAD);
	if (chunk < CHUNK_BYTES_MIN)
		chunk = CHUNK_BYTES_MIN;
	p->chunk_rows = row < chunk ? (uint32_t)(chunk / row) : 1;
	p->chunks = (p->w->rows + p->chunk_rows - 1) / p->chunk_rows;
}

static bool
prepare_x(const struct part *p, struct mv_x *xs, char *data, const float *x, size_t m)
{
	uint32_t cols = p->w->cols;

	for (size_t i = 0; i < m; i++) {
		xs[i] = (struct mv_x){ .x = x + i * cols, .cols = cols,
				       .group = p->w->scheme.group };
		if (!p->kernel->prepare)
			continue;
		mv_x_place(&xs[i], data + i * mv_x_size(cols), cols);
		if (!p->kernel->prepare(&xs[i]))
			return false;
	}
	return true;
}

/* Its x at `mem`: m descriptions, then m pieces of data.  Parts with the same x, kernel and
 * group share it. */
static void
batch_add(struct batch *b, char *mem, struct part p)
{
	size_t heads = (b->m * sizeof(struct mv_x) + 63) / 64 * 64;
	struct mv_x *xs = (struct mv_x *)mem;

	for (const struct part *q = b->part; !p.x && q < b->part + b->parts; q++)
		if (q->given == p.given && q->kernel == p.kernel &&
		    (!q->kernel->prepare || q->w->scheme.group == p.w->scheme.group))
			p.x = q->x;
	if (!p.x) {
		if (!prepare_x(&p, xs, mem + heads, p.given, b->m)) {
			p.kernel = &mv_any;
			(void)prepare_x(&p, xs, mem + heads, p.given, b->m);
		}
		p.x = xs;
	}
	b->part[b->parts++] = p;
}

/* Parts that the kernels for one x take. */
static enum tb_status
run_few(struct matmul *mm, const struct part *few, size_t n, size_t m, struct tb_err *err)
{
	struct batch b = { .m = m };
	size_t each = 0;
	unsigned chunks = 0;
	enum tb_status status;

	for (size_t i = 0; i < n; i++) {
		size_t size = (m * sizeof(struct mv_x) + 63) / 64 * 64 + m * mv_x_size(few[i].w->cols);

		each = size > each ? size : each;
	}
	if ((status = matrix_room(&mm->mem, &mm->mem_cap, n * each / sizeof(float), err)))
		return status;
	for (size_t i = 0; i < n; i++) {
		batch_add(&b, (char *)mm->mem + i * each, few[i]);
		cut_chunks(&b.part[i], m, team_size(mm->team));
		chunks += b.part[i].chunks;
	}
	team_run(mm->team, matmul_chunk, &b, chunks);
	return TB_OK;
}

/* x[i] meets w[i]. */
static enum tb_status
run_batch(struct matmul *mm, const struct matrix *const *w, size_t n, const float *const *x,
	  size_t m, float *const *y, struct tb_err *err)
{
	struct part few[BATCH];
	struct mm_one many[BATCH];
	size_t nfew = 0, nmany = 0;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && !status; i++) {
		const struct mv_kernel *kernel = mm->exact ? mv_find_exact(w[i], mm->level)
							   : mv_find(w[i], mm->level);

		if (m > FEW && (m > kernel->few || mm_better(&mm->many, w[i], m)))
			many[nmany++] = (struct mm_one){ w[i], y[i] };
		else
			few[nfew++] = (struct part){ .w = w[i], .kernel = kernel, .given = x[i],
						     .y = y[i] };
		if (nmany && (i + 1 == n || x[i + 1] != x[i])) {
			status = mm_run(&mm->many, many, nmany, x[i], m, err);
			nmany = 0;
		}
	}
	return status || !nfew ? status : run_few(mm, few, nfew, m, err);
}

enum tb_status
matmul_each(struct matmul *mm, const struct matrix *const *w, size_t n, const float *const *x,
	    size_t m, float *const *y, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && m && !status; i += BATCH)
		status = run_batch(mm, w + i, n - i < BATCH ? n - i : BATCH, x + i, m, y + i, err);
	return status;
}

enum tb_status
matmul_run(struct matmul *mm, const struct matrix *const *w, size_t n, const float *x, size_t m,
	   float *const *y, struct tb_err *err)
{
	const float *same[BATCH] = { x, x, x, x, x, x, x, x };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && m && !status; i += BATCH)
		status = run_batch(mm, w + i, n - i < BATCH ? n - i : BATCH, same, m, y + i, err);
	return status;
}
