/* tensors.h - files with one tensor, opened, for tests of what looks into them. */
#ifndef TBTUI_TESTS_TENSORS_H
#define TBTUI_TESTS_TENSORS_H

#include "src/format/safetensors.h"
#include "src/ops/home/home.h"
#include "src/ops/inspect/inspect.h"
#include "tests/unit/unit.h"

extern struct op_ctx tensors_ctx;

/* A file that holds the tensors with this data, opened. */
struct model *tensors_model(const char *file, struct st_tensor *t, size_t n,
			    const void *const *data, const struct st_meta *meta, size_t nmeta);
/* One, named "t". */
struct model *tensors_one(enum dtype d, uint64_t n, const void *data);
void tensors_run(const struct model *m, const char *name, unsigned bins,
		 struct inspect_result *out);
void tensors_near(double got, double want, double tolerance);
uint64_t tensors_next(uint64_t *state);		/* random, below 2^31 */

int tensors_set_up(void **state);
int tensors_tear_down(void **state);
#endif
