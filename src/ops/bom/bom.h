/* bom.h - models as a bill of materials: CycloneDX 1.6, in JSON.
 *
 * What a model is comes from verify runs (digests, files, how it stood), what it says about
 * itself from its files as they are now. */
#ifndef TBTUI_OPS_BOM_H
#define TBTUI_OPS_BOM_H

#include "src/ops/home/home.h"
#include "src/ops/report/report.h"

struct tb_job;

struct bom_request {
	int64_t run;			/* its models; 0: the last run */
	const char *const *refs;	/* or these, each as it was last verified; borrowed */
	size_t nrefs;
};

/* The document goes to `put` in pieces.  TB_ENOENT: there is no such run or model, or it was
 * never verified. */
enum tb_status op_bom(struct op_ctx *ctx, const struct bom_request *req, report_put_fn *put,
		      void *arg, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
#endif
