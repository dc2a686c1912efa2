/* inspect_kept.h - private to src/ops: results of op_inspect() in req->facts.  What
 * cannot be kept or read is computed again: neither fails. */
#ifndef TBTUI_OPS_INSPECT_KEPT_H
#define TBTUI_OPS_INSPECT_KEPT_H

#include "src/ops/inspect/inspect.h"

/* Fills all of *out but seconds and bytes. */
bool kept_get(const struct inspect_request *req, struct inspect_result *out);
void kept_put(const struct inspect_request *req, const struct inspect_result *r);
#endif
