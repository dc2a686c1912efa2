/* recipe_plan.h - the plan behind a recipe; for recipe*.c only. */
#ifndef TBTUI_UI_RECIPE_PLAN_H
#define TBTUI_UI_RECIPE_PLAN_H

#include "ui/recipe.h"

/* Makes the plan anew from quant, policy, rules …; false: it could not be, a message
 * says why, and the old plan stays. */
bool recipe_remake(struct view *v);
/* A plan with the same rows, for a job that must not see later changes. */
struct plan *recipe_copy(const struct recipe *s, struct tb_err *err);
#endif
