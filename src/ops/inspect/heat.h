/* heat.h - a tensor as a map: how large the values are in each of some cells, into which
 * rows and columns of its matrix (inspect_matrix()) are divided. */
#ifndef TBTUI_OPS_HEAT_H
#define TBTUI_OPS_HEAT_H

#include "src/ops/inspect/inspect.h"

#define HEAT_SIDE_MAX 1024u

struct heat_request {
	const struct model *model;	/* borrowed */
	const struct tensor *tensor;	/* of that model */
	struct inspect_window of;	/* rows, cols 0: all that follow */
	unsigned rows, cols;		/* cells, 1 to HEAT_SIDE_MAX; fewer come where there
					 * are fewer values */
};

struct heat_cell {
	float mean, max;		/* of the magnitudes of what is finite */
	bool bad;			/* something is NaN or infinite */
};

struct heat {
	struct inspect_window of;
	unsigned rows, cols;
	struct heat_cell *cell;		/* owned; row after row */
};

/* Every value is looked at, on ctx->pool; progress counts bytes. */
enum tb_status heat_run(struct op_ctx *ctx, const struct heat_request *req, struct heat *out,
			struct tb_job *job, struct tb_err *err) TB_MUST_USE;
void heat_free(struct heat *h);

/* What cells of the map begin with: of row r, of column c.  heat_row(h, h->rows) is what
 * follows the last. */
uint64_t heat_row(const struct heat *h, unsigned r);
uint64_t heat_col(const struct heat *h, unsigned c);

/* The smallest and the largest mean (or maximum) of a cell: the ends of a scale. */
void heat_range(const struct heat *h, bool max, float *lo, float *hi);
/* 0 to levels - 1 between them. */
unsigned heat_level(const struct heat_cell *c, bool max, float lo, float hi, unsigned levels);
#endif
