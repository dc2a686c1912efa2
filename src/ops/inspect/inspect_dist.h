/* inspect_dist.h - private to src/ops: how the values of a tensor are distributed,
 * gathered in the same pass as their statistics. */
#ifndef TBTUI_OPS_INSPECT_DIST_H
#define TBTUI_OPS_INSPECT_DIST_H

#include "src/ops/inspect/inspect.h"
#include "src/quant/sketch.h"

struct values;

/* A sketch for each worker; of large tensors, of blocks that are spread over all of it. */
struct dist_pass {
	struct sketch *sketch;		/* owned */
	unsigned workers;
	uint64_t every;			/* one block of so many is looked at */
};
enum tb_status dist_init(struct dist_pass *d, unsigned workers, enum dtype type, uint64_t elems,
			 struct tb_err *err) TB_MUST_USE;
void dist_free(struct dist_pass *d);
/* n values from `first` on, in the type of the sketches.  `first` and, but for the end
 * of the tensor, n are multiples of DIST_BLOCK. */
#define DIST_BLOCK 256u
void dist_add(struct dist_pass *d, unsigned worker, const void *src, size_t n, uint64_t first);

/* stats: min, max and count are used. */
enum tb_status dist_finish(struct dist_pass *d, const struct values *r,
			   const struct value_stats *stats, struct inspect_dist *out,
			   struct tb_err *err) TB_MUST_USE;
#endif
