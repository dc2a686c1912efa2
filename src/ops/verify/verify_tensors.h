/* verify_tensors.h - the tensors of one file, whichever format it has. */
#ifndef TBTUI_OPS_VERIFY_TENSORS_H
#define TBTUI_OPS_VERIFY_TENSORS_H

#include "src/base/file.h"
#include "src/format/format.h"
#include "src/quant/scheme.h"

struct verify_tensor {
	const char *name;		/* borrowed from the header */
	struct scheme scheme;		/* plain or in blocks: parts are not joined */
	uint64_t off, len;		/* bytes, inside the file */
};

struct verify_tensors {
	struct verify_tensor *v;	/* owned; sorted by off */
	size_t n;
	struct st_header st;
};

/* A file that is of no format, or damaged, has no tensors: that is told elsewhere.
 * Only memory can be short. */
enum tb_status verify_tensors_read(struct verify_tensors *out, const struct tb_file *f,
				   struct tb_err *err) TB_MUST_USE;
void verify_tensors_free(struct verify_tensors *t);
/* The one that has the byte at `off`; NULL: it lies between or before them. */
const struct verify_tensor *verify_tensor_at(const struct verify_tensors *t, uint64_t off);
#endif
