/* bench.h - this machine's limits, measured now, and our figures beside them.
 *
 * Memory is read directly before and after each walk that is compared with it: rates
 * of memory change within seconds on shared machines. */
#ifndef TBTUI_OPS_BENCH_H
#define TBTUI_OPS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct op_ctx;
struct tb_job;

struct bench_request {
	const char *ref;	/* a model to run as well; NULL = only the synthetic one */
	uint32_t pp, tg;	/* tokens of the prompt, tokens to generate; > 0 */
};

struct bench_row {
	char what[64];
	double value;
	const char *unit;	/* "GB/s", "GFLOP/s", "tok/s"; static */
	double limit;		/* of the same unit, measured beside it; 0 = this is a limit */
};

struct bench_result {
	struct bench_row *rows;	/* owned */
	size_t n, cap;
	const char *blas_core, *kernels, *encoder;	/* static */
	const char *warning;	/* what holds the figures down, or NULL; static */
	unsigned threads;
};
void bench_result_free(struct bench_result *r);

enum tb_status op_bench(const struct op_ctx *ctx, const struct bench_request *req,
			struct tb_job *job, struct bench_result *out, struct tb_err *err)
	TB_MUST_USE;
#endif
