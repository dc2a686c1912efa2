/* recipe.h - the state of the Convert screen: the plan, how to change it, undo it,
 * price it and write it. */
#ifndef TBTUI_UI_RECIPE_H
#define TBTUI_UI_RECIPE_H

#include "src/ops/convert/convert.h"
#include "src/ops/plan/plan.h"
#include "ui/opened.h"
#include "ui/view.h"

struct recipe {
	struct opened *o;		/* NULL until the model is open */
	struct plan *plan;		/* owned; NULL until then */

	char quant[SCHEME_NAME_MAX];	/* what the plan was made for, with these: */
	enum plan_policy policy;
	enum flavour flavour;
	enum plan_dest dest;
	enum plan_experts experts;
	char **rules;			/* "PATTERN=SCHEME"; owned */
	size_t nrules, rules_cap;

	/* What rows were before each change, newest last; owned. */
	struct recipe_undo {
		struct recipe_was { size_t row; struct scheme target; enum plan_why why; } *rows;
		size_t n;
	} *undo;
	size_t nundo, undo_cap;
	struct ui_job *pricing;		/* errors are being sampled */
	bool price_again;		/* rows have changed meanwhile */

	char *wanted;			/* where to, as typed and not written yet; owned */
	unsigned writing;		/* jobs that write what was confirmed here */
	char *written;			/* where this plan was written to, NULL once it is another;
					 * owned */
	struct convert_target *target;	/* while one is asked whether to write; owned */
	bool legend;			/* its row with the keys is on the screen */
	char error[512];
};

enum tb_status recipe_open(struct view *v, const struct view_arg *arg, struct tb_err *err);
void recipe_close(struct view *v);

/* Changes; each says what is wrong by itself. */
void recipe_set(struct view *v, const size_t *row, size_t n, const char *target);
void recipe_undo(struct view *v);
void recipe_next_policy(struct view *v);
void recipe_next_flavour(struct view *v);
void recipe_next_experts(struct view *v);
void recipe_ask_rule(struct view *v);
void recipe_ask_scheme(struct view *v);
void recipe_ask_target(struct view *v);		/* where to, then whether, then writes */
#endif
