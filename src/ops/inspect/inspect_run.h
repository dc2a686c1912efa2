/* inspect_run.h - private to src/ops/inspect. */
#ifndef TBTUI_OPS_INSPECT_RUN_H
#define TBTUI_OPS_INSPECT_RUN_H

#include "src/ops/inspect/inspect.h"
#include "src/quant/sketch.h"

/* inspect_dist.c: how the values of a tensor are distributed, gathered in the same pass as
 * their statistics.  A sketch for each worker; of large tensors, of blocks that are spread over all of it. */
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

/* inspect_kept.c: results in req->facts.  What cannot be kept or read is computed again:
 * neither fails.  kept_get() fills all of *out but seconds and bytes. */
bool kept_get(const struct inspect_request *req, struct inspect_result *out);
void kept_put(const struct inspect_request *req, const struct inspect_result *r);
#endif
