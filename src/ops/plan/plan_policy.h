/* plan_policy.h - who gets which scheme when nobody says so. */
#ifndef TBTUI_OPS_PLAN_POLICY_H
#define TBTUI_OPS_PLAN_POLICY_H

#include "src/ops/plan/plan.h"

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
