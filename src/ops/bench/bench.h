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

/* What is measured, in this order. */
enum bench_part {
	BENCH_LIMITS,		/* "limits": what the machine could do at most */
	BENCH_MATRICES,		/* "matrices": products of a 1.1B model, nothing else */
	BENCH_TOKENS,		/* "tokens": whole tokens of that model */
	BENCH_ENCODE, BENCH_HASH, BENCH_STATS,
	BENCH_MODEL,		/* "model": whole tokens of the one that is named */
	BENCH_PARTS
};
/* Bits of them, from words with commas between; false: one is none of them. */
bool bench_parts(const char *words, unsigned *out);

struct bench_request {
	const char *ref;	/* for BENCH_MODEL; NULL: none */
	uint32_t pp, tg;	/* tokens of the prompt, tokens to generate; > 0 */
	uint32_t depth;		/* that are in the context before either */
	unsigned parts;		/* bits of enum bench_part; 0: the model where there is one,
				 * else all but it */
};

struct bench_row {
	char what[256];
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
