/* window_walk.c - plain numbers in another order than that in which they are stored, where
 * neighbours do not stay neighbours: turned matrices, every other number of a row. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/convert/window.h"

struct reader {
	const struct values *v;
	const struct strided *k;
	size_t size;		/* bytes of one */
	uint8_t *room;		/* what is read on the way */
};

static enum tb_status
read_run(const struct reader *r, uint64_t first, size_t n, struct tb_err *err)
{
	const struct quant_parts room = { .codes = r->room };

	return values_read(r->v, first, n, &room, err);
}

/* A turned matrix: `rows` whole rows of those that are written from element `at` on, of `cols`
 * each, which are columns of the source.  Its rows are read, as much of each as is needed. */
static enum tb_status
by_columns(const struct reader *r, uint64_t at, size_t rows, uint8_t *to, struct tb_err *err)
{
	uint64_t cols = r->k->dim[r->k->ndim - 1], step = r->k->step[r->k->ndim - 1];
	uint64_t place = walk_place(r->k, at);
	enum tb_status status = TB_OK;

	for (uint64_t c = 0; c < cols && !status; c++) {
		status = read_run(r, place + c * step, rows, err);
		for (size_t i = 0; i < rows && !status; i++)
			memcpy(to + (i * cols + c) * r->size, r->room + i * r->size, r->size);
	}
	return status;
}

/* Part of a row: what it touches is read, and what it needs is taken. */
static enum tb_status
by_elements(const struct reader *r, uint64_t at, size_t n, uint8_t *to, struct tb_err *err)
{
	uint64_t step = r->k->step[r->k->ndim - 1], most = WINDOW_ELEMS / step;
	enum tb_status status = TB_OK;

	most = most ? most : 1;
	for (size_t done = 0, run; done < n && !status; done += run) {
		run = n - done < most ? n - done : most;
		status = read_run(r, walk_place(r->k, at + done), (run - 1) * step + 1, err);
		for (size_t i = 0; i < run && !status; i++)
			memcpy(to + (done + i) * r->size, r->room + i * step * r->size, r->size);
	}
	return status;
}

/* Whole rows of a turned matrix together, what is left of a row by itself. */
static enum tb_status
walk_all(const struct reader *r, uint64_t first, size_t n, uint8_t *to, struct tb_err *err)
{
	const struct strided *k = r->k;
	uint64_t cols = k->dim[k->ndim - 1];
	bool turned = k->ndim > 1 && k->step[k->ndim - 2] == 1;
	enum tb_status status = TB_OK;

	for (size_t done = 0, part; done < n && !status; done += part) {
		uint64_t at = first + done, rows = k->ndim > 1 ? k->dim[k->ndim - 2] : 1;

		rows -= at / cols % rows;	/* to the end of the matrix */
		if (rows > (n - done) / cols)
			rows = (n - done) / cols;
		part = cols - at % cols < n - done ? cols - at % cols : n - done;
		if (turned && at % cols == 0 && rows) {
			part = rows * cols;
			status = by_columns(r, at, rows, to + done * r->size, err);
		} else {
			status = by_elements(r, at, part, to + done * r->size, err);
		}
	}
	return status;
}

enum tb_status
window_walk(const struct values *v, const struct strided *k, uint64_t first, size_t n, void *out,
	    struct tb_err *err)
{
	struct reader r = { v, k, dtype_bits(v->t->scheme.dtype) / 8, NULL };
	enum tb_status status;

	r.room = malloc(r.size * (n > WINDOW_ELEMS ? n : WINDOW_ELEMS));
	if (!r.room)
		return tb_nomem(err);
	status = walk_all(&r, first, n, out, err);
	free(r.room);
	return status;
}
