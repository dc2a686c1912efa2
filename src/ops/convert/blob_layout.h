/* blob_layout.h - the header of a blob: names, shapes, metadata. Private to blob*.c. */
#ifndef TBTUI_OPS_BLOB_LAYOUT_H
#define TBTUI_OPS_BLOB_LAYOUT_H

#include "src/base/buf.h"
#include "src/format/safetensors.h"
#include "src/ops/plan/plan.h"

/* The tensors of one plan_out in the file; ndim etc. of those it has not are 0. */
enum slot { SLOT_WEIGHT, SLOT_SCALE, SLOT_BIAS, SLOT_GLOBAL, SLOTS };
struct placed { uint64_t off[SLOTS]; bool has[SLOTS]; };

/* Appends the header to `out`; *placed (owned by the caller) has an entry for each out
 * of the blob, in order; *size is the file's. */
enum tb_status blob_layout(const struct plan *p, size_t blob, struct tb_buf *out,
			   struct placed **placed, size_t *n, uint64_t *size, struct tb_err *err)
	TB_MUST_USE;
/* The first out of a blob. */
const struct plan_out *blob_outs(const struct plan *p, size_t blob, size_t *n);
#endif
