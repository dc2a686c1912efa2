/* inspect.h - looking into one logical tensor: statistics, histogram, values, bytes, a block
 * taken apart, a map.  Quantized tensors show what they decode to.
 *
 * Memory is bounded by windows, whatever the tensor.  A file that changed since
 * the model was opened, or shrank meanwhile, is an error, not zeros. */
#ifndef TBTUI_OPS_INSPECT_H
#define TBTUI_OPS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/facts.h"
#include "src/base/err.h"
#include "src/model/values.h"
#include "src/store/model.h"

struct db;
struct op_ctx;
struct tb_job;

#define INSPECT_BINS_MAX 512
#define INSPECT_NONE UINT64_MAX		/* "first_...": there is none */
#define INSPECT_VALUES_MAX (1u << 20)	/* elements of one window */

/* Equal bins over [lo, hi] = [min, max] of the finite values; hi belongs to the
 * last bin.  All equal: everything is in bin 0.  n == 0: not asked for. */
struct inspect_hist {
	double lo, hi;
	unsigned n;
	uint64_t count[INSPECT_BINS_MAX];
};

#define INSPECT_QUANTILES 9
#define INSPECT_DIST_BINS 256
extern const double inspect_shares[INSPECT_QUANTILES];	/* 0.001 … 0.999 */

/* How the finite values are distributed, gathered in the first pass: below quantile[i]
 * lies inspect_shares[i] of them, between neighbours as numpy's "linear" has it.
 * exact: of all of them.  Else either only `counted` of them were looked at (blocks
 * spread over the tensor, 2^22 values at least), or, unless they are BF16 or F16, they
 * were taken to lie evenly in buckets 2^-7 of their magnitude wide, or both. */
struct inspect_dist {
	double quantile[INSPECT_QUANTILES];
	uint64_t counted;
	bool exact;
	struct inspect_hist hist;
};

struct inspect_request {
	const struct model *model;	/* borrowed */
	const struct tensor *tensor;	/* of that model */
	unsigned bins;			/* 0 = no histogram but dist.hist; it costs a second
					 * pass and nothing kept has it */
	struct db *facts;		/* from inspect_facts(): where results are kept; or NULL */
	bool again;			/* do not take what is kept */
	bool one_of_many;		/* the job's total is the caller's to say */
};

struct inspect_result {
	struct value_stats stats;
	struct inspect_dist dist;
	struct inspect_hist hist;
	int64_t kept_ns;		/* when it was computed; 0: now */
	double seconds;
	uint64_t bytes;			/* of the file(s) that were read, both passes */
};

/* Where results are kept, from one call to the next and from one program to the next; NULL
 * if nothing can be written there: nothing is lost but time.  db_close() it. */
struct db *inspect_facts(const struct op_ctx *ctx);

/* On ctx->pool; progress counts bytes. */
enum tb_status op_inspect(struct op_ctx *ctx, const struct inspect_request *req, struct tb_job *job,
			  struct inspect_result *out, struct tb_err *err) TB_MUST_USE;

/* The tensor as a matrix: the last dimension is a row's columns, all others
 * together the rows; a scalar is 1 x 1. */
void inspect_matrix(const struct tensor *t, uint64_t *rows, uint64_t *cols);

/* Where the element with that index is; off: the first byte in weight.file that has to do
 * with it alone, or its block's (ggml), or its word's (packed by other programs). */
struct inspect_place { uint64_t row, col, off; };
void inspect_place(const struct tensor *t, uint64_t index, struct inspect_place *out);

struct inspect_window {
	uint64_t row, col;		/* first */
	uint64_t rows, cols;		/* how many */
};

/* out: w->rows * w->cols floats, row after row.  TB_EUSAGE if the window is not
 * inside the matrix or over INSPECT_VALUES_MAX. */
enum tb_status inspect_values(const struct model *m, const struct tensor *t,
			      const struct inspect_window *w, float *out, struct tb_err *err)
	TB_MUST_USE;

#define INSPECT_PARTS PART_ORDER		/* those before it have names and are shown */
/* As this tensor's scheme calls it: the bias of a foreign one are zero points. */
const char *inspect_part_word(const struct tensor *t, enum values_part p);
const char *inspect_part_name(enum values_part p);	/* "weight", "scale", … */

/* A block: the elements that share a scale, with scale, bias, codes and what they decode to;
 * of plain numbers, the elements in 16 bytes. */
#define BLOCK_FIELDS 8
#define BLOCK_VALUES 256

/* Some numbers of a block with a name. */
struct block_field {
	const char *name;		/* static: "scale", "codes", "dmin" */
	bool whole;			/* whole numbers */
	unsigned n;
	double v[BLOCK_VALUES];
};

struct block {
	uint64_t index, first;		/* of the block; of its first element */
	uint64_t off, len;		/* its bytes in the weight's part */
	unsigned n;			/* elements */
	float value[BLOCK_VALUES];
	unsigned nfields;
	struct block_field field[BLOCK_FIELDS];
};

/* How many there are; 0: the scheme has none that could be shown. */
uint64_t block_count(const struct tensor *t);
/* The block that a byte of a part has to do with; INSPECT_NONE: none, or all. */
uint64_t block_at(const struct tensor *t, enum values_part p, uint64_t off);
enum tb_status block_read(const struct model *m, const struct tensor *t, uint64_t index,
			  struct block *out, struct tb_err *err) TB_MUST_USE;

/* A map: how large the values are in each of some cells, into which rows and columns of the
 * tensor's matrix are divided. */
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
enum tb_status op_heat(struct op_ctx *ctx, const struct heat_request *req, struct tb_job *job,
		       struct heat *out, struct tb_err *err) TB_MUST_USE;
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
