/* probe.h - what this machine could do at most, to measure ourselves against. */
#ifndef TBTUI_ENGINE_PROBE_H
#define TBTUI_ENGINE_PROBE_H

#include <stddef.h>

#include "src/base/err.h"

struct team;

/* Reads `len` bytes once with the team, four streams a thread; seconds it took.  p is
 * 64-byte aligned and was written before (a page never written is the zero page, which
 * stays in the cache). */
double probe_read(struct team *team, const void *p, size_t len);

/* Y[m][rows] = X[m][cols] W^T by OpenBLAS with `threads` threads: the best of `times`, in
 * GFLOP/s. */
enum tb_status probe_sgemm(unsigned threads, size_t m, size_t rows, size_t cols, unsigned times,
			   double *gflops, struct tb_err *err) TB_MUST_USE;
#endif
