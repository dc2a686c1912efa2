/* slice.h - a part of a model's tensors, under other names: what a plan is then made of. */
#ifndef TBTUI_OPS_SLICE_H
#define TBTUI_OPS_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/store/model.h"

struct slice {			/* all borrowed */
	const char *const *keep;	/* globs; none: all tensors … */
	size_t nkeep;
	const char *const *drop;	/* … but those of these */
	size_t ndrop;
	const char *const *rename;	/* "FROM=TO", one after the other; each with one * at most, which
					 * stands for the same on both sides */
	size_t nrename;
};

/* Takes tensors out of the open model and calls others otherwise: its files stay as they are.
 * TB_EUSAGE: a pattern that fits none, none that is left, two of one name. */
enum tb_status slice_model(struct model *m, const struct slice *s, struct tb_err *err) TB_MUST_USE;

/* How many tensors its architecture needs that it has not; the name of the first in `first`.
 * 0 also where the architecture is not known. */
size_t slice_lacks(const struct model *m, char *first, size_t size);

/* What tb_parse_bytes() takes, or "none" (UINT64_MAX). */
bool slice_size(const char *text, uint64_t *out);
#endif
