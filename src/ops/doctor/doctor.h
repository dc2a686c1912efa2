/* doctor.h - what this machine, this build and this person's surroundings are, and what of
 * it holds tbtui down: the first thing to put into a report. */
#ifndef TBTUI_OPS_DOCTOR_H
#define TBTUI_OPS_DOCTOR_H

#include <stdint.h>

#include "src/base/dir.h"
#include "src/ops/places/places.h"
#include "src/quant/scheme.h"

/* How matrices of a scheme are multiplied here; static. */
struct doctor_kernel {
	char scheme[SCHEME_NAME_MAX];
	const char *decode, *prefill;	/* as matmul_names() has them */
};

/* A server that the configuration names.  Nobody asks it anything here. */
struct doctor_remote { const char *name, *url; bool key; };	/* borrowed from the context */

/* A registry that the configuration has a line of, or that there is something to show to.  Nobody
 * asks it, or a program that keeps passwords, anything here. */
struct doctor_registry {
	char host[128];
	char *from;			/* where that is which it is shown; NULL: nothing; owned */
};

struct doctor {
	char cpu[96];			/* model name, "" where the kernel does not tell */
	struct tb_names features;	/* those that kernels are chosen by, and there */
	struct doctor_kernel *kernels;	/* owned */
	size_t nkernels, kernels_cap;
	const char *level;		/* best of all kernels */
	struct tb_names models;		/* architectures that can be run */
	unsigned cores, threads;	/* of this process; that are used */
	const char *blas;		/* kernels that OpenBLAS chose */
	uint64_t memory, available;	/* bytes; 0: not known */
	double bandwidth;		/* GB/s read by all threads */
	const char *terminal, *charset;	/* $TERM and the locale's; "" none */
	unsigned columns, lines;	/* 0: standard output is no terminal */
	struct places places;
	struct doctor_remote *remotes;	/* owned */
	size_t nremotes, remotes_cap;
	struct doctor_registry *registries;	/* owned */
	size_t nregistries, registries_cap;
	struct tb_names problems;	/* sentences, each with what to do */
};

enum tb_status op_doctor(const struct op_ctx *ctx, struct doctor *out, struct tb_err *err)
	TB_MUST_USE;
void doctor_free(struct doctor *d);
#endif
