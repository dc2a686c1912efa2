/* plan_parts.h - private to plan*.c: who gets which scheme when nobody says so, and
 * laying out what is written. */
#ifndef TBTUI_OPS_PLAN_PARTS_H
#define TBTUI_OPS_PLAN_PARTS_H

#include "src/model/values.h"
#include "src/ops/plan/plan.h"

/* (Re)builds p->parts, p->blobs and the rows' blob and stack. */
enum tb_status plan_layout(struct plan *p, struct tb_err *err) TB_MUST_USE;
void plan_parts_free(struct plan_parts *parts);
void plan_blobs_free(struct plan_blob *blobs, size_t n);

struct policy_model {
	const char *arch;	/* config.json's architecture, "" if none */
	unsigned layers;
};
struct policy_choice { struct plan_target target; enum plan_why why; };
/* For a floating tensor (BF16, F16, F32) that is asked to become `asked`, quantized. */
struct policy_choice policy_ollama(const struct policy_model *m, const struct tensor *t,
				   const struct scheme *asked);
struct policy_choice policy_uniform(const struct tensor *t, const struct scheme *asked);
#endif
