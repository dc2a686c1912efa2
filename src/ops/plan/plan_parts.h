/* plan_parts.h - what a plan writes: tensors put together from pieces of the source's,
 * in blobs.  Private to plan*.c and convert*.c. */
#ifndef TBTUI_OPS_PLAN_PARTS_H
#define TBTUI_OPS_PLAN_PARTS_H

#include "src/model/values.h"
#include "src/ops/plan/plan.h"

struct plan_piece {
	size_t row;
	uint64_t first, elems;		/* of the row's elements */
};

struct plan_out {
	char *name;			/* owned */
	size_t piece, npieces;		/* into pieces: one after the other */
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS], elems;	/* logical */
	size_t row;			/* its first piece's: scheme, dtypes */
	size_t blob;
};

struct plan_parts {
	struct plan_piece *pieces;
	size_t npieces;
	struct plan_out *outs;		/* in the order in which they are written */
	size_t nouts;
};

/* (Re)builds p->parts, p->blobs and the rows' blob and stack. */
enum tb_status plan_layout(struct plan *p, struct tb_err *err) TB_MUST_USE;
void plan_parts_free(struct plan_parts *parts);

/* Is it one tensor of the source as it is?  Then its parts are copied whatever they are. */
bool plan_out_whole(const struct plan *p, const struct plan_out *o);

/* Bytes of a tensor's parts as `s`; the companions' are 0 where there are none. */
struct plan_bytes { uint64_t codes, scales, biases; };
struct plan_bytes plan_bytes(const struct scheme *s, enum dtype source, uint64_t elems);
#endif
