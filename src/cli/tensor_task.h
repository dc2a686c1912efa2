/* tensor_task.h - "tbtui tensor": what was asked for and what came of it, between the
 * command and what prints it. */
#ifndef TBTUI_CLI_TENSOR_TASK_H
#define TBTUI_CLI_TENSOR_TASK_H

#include "src/cli/far.h"
#include "src/ops/home/home.h"
#include "src/ops/inspect/inspect.h"
#include "src/ops/digest/digest.h"

#define TENSOR_HEX_MAX (1u << 20)

struct tensor_task {
	struct op_ctx ctx;
	struct cli_far far;
	struct model *m;
	const struct tensor *t;
	/* what is asked for */
	bool stats, hist, again, digest, heat;
	uint64_t bins;
	const char *values, *hex, *part, *cells, *block;
	/* and what came of it */
	struct inspect_result res;
	struct digest_item sum;
	struct heat map;		/* owned */
	struct block taken;		/* if block */
	struct inspect_window win;
	float *v;			/* owned; NULL: not asked for */
	enum values_part of;
	uint64_t off, len;
	uint8_t *bytes;			/* owned; NULL: not asked for */
};

/* tensor_text.c, tensor_json.c */
enum cli_exit tensor_text(const struct tensor_task *k);
enum cli_exit tensor_json(const struct tensor_task *k);
#endif
