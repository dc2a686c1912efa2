/* recipe_plan.h - the plan behind a recipe; for recipe*.c only. */
#ifndef TBTUI_UI_RECIPE_PLAN_H
#define TBTUI_UI_RECIPE_PLAN_H

#include "ui/recipe.h"

bool recipe_asks_scheme(const char *policy);	/* is a scheme to be said besides it? */
/* Makes the plan anew from other words and the rules behind the first `nrules`, which are
 * new; false: it could not be, a message says why, and all stays. */
bool recipe_remake(struct view *v, const struct recipe_words *words, size_t nrules);
/* What is there now can be come back to: the plan is the undo's, as soon as another one takes
 * its place; false: no memory. */
bool recipe_keep(struct recipe *s, size_t nrules);
/* A plan that was made elsewhere, with its words, as a change that can be undone; taken in
 * every case.  Its rules become those of the recipe. */
bool recipe_replace(struct view *v, const struct recipe_words *words, struct plan *fresh);
void recipe_others_free(struct recipe *s);
/* This plan takes the place of the one there; the caller frees or keeps that. */
void recipe_swap(struct view *v, struct plan *fresh);
/* The rows have changed: what was written was another plan. */
void recipe_changed(struct view *v);
/* A plan with the same rows, for a job that must not see later changes. */
struct plan *recipe_copy(const struct recipe *s, struct tb_err *err);

/* recipe_price.c: samples the errors of rows that have none, in the background. */
void recipe_price(struct view *v);
/* The same of all that rows could become, and then the choice within the policy's limit. */
void recipe_choose(struct view *v);
#endif
