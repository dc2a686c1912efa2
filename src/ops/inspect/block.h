/* block.h - one block of a tensor taken apart: the elements that share a scale, with
 * scale, bias, codes and what they decode to.  Of plain numbers, the elements in 16
 * bytes. */
#ifndef TBTUI_OPS_BLOCK_H
#define TBTUI_OPS_BLOCK_H

#include "src/ops/inspect/inspect.h"

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
#endif
