/* recipe.h - the state of the Convert screen: the plan, how to change it, undo it,
 * price it and write it. */
#ifndef TBTUI_UI_RECIPE_H
#define TBTUI_UI_RECIPE_H

#include "src/ops/convert/convert.h"
#include "src/ops/plan/plan.h"
#include "ui/opened.h"
#include "ui/view.h"

/* What a plan is made from, but for rules and the model. */
struct recipe_words {
	char quant[2][SCHEME_NAME_MAX];	/* of a policy that is asked for one: of MLX's schemes;
					 * [1]: for a GGUF */
	char policy[PLAN_POLICY_MAX];	/* "ollama", "llama:Q4_K_M", "budget:4.5bpw" */
	struct plan_limit budget;	/* what the bar shows; all 0: none */
	enum flavour flavour;
	enum plan_dest dest;
	enum plan_experts experts;
	bool requantize;		/* tensors that are quantized already, too */
};

/* Another recipe for the same: words or a file. */
struct recipe_other {
	char *text;			/* owned */
	struct plan *plan;		/* NULL until it is made; owned */
	bool failed;			/* there is none */
	bool asked;			/* somebody has named it */
	bool fresh;			/* … and would know what is wrong with it */
	bool take;			/* … and wants it, as soon as it is made */
};
#define RECIPE_OTHERS_MAX 16u

struct recipe {
	struct opened *o;		/* NULL until the model is open */
	struct plan *plan;		/* owned; NULL until then */

	struct recipe_words words;	/* what the plan was made from, with these: */
	char **rules;			/* "PATTERN=SCHEME"; owned */
	size_t nrules, rules_cap;

	/* What was before each change, newest last; owned. */
	struct recipe_undo {
		struct recipe_was { size_t row; struct scheme target; enum plan_why why; } *rows;
		size_t n;
		struct plan *plan;	/* another plan took its place; else NULL */
		struct recipe_words words;
		char **rules;		/* of that plan; owned */
		size_t nrules;
	} *undo;
	size_t nundo, undo_cap;
	unsigned version;		/* of what rows become */
	struct ui_job *pricing;		/* errors are being sampled */
	bool price_again;		/* rows have changed meanwhile */
	struct ui_job *choosing;	/* errors of all that rows could become are */
	bool choose_again;
	/* Those that were measured, for as long as the same rows could become the same. */
	struct recipe_choices {
		struct plan_sample *samples;	/* owned */
		size_t n, nrules;
		const struct model *model;	/* NULL: none */
		enum plan_dest dest;
		enum flavour flavour;
		bool requantize;
	} choices;

	struct recipe_other others[RECIPE_OTHERS_MAX];
	size_t nothers;
	enum plan_dest others_dest;	/* what they are for: */
	enum flavour others_flavour;
	bool others_requantize;
	bool others_listed;
	struct ui_job *planning;	/* one of them is being made */
	size_t compared;		/* with the i-th of them, from 1 on; 0: none */
	bool differing;			/* only rows that differ from it are shown */
	bool pane;			/* all of them are on the screen */

	char *wanted;			/* where to, as typed and not written yet; owned */
	unsigned writing;		/* jobs that write what was confirmed here */
	char *written;			/* where this plan was written to, NULL once it is another;
					 * owned */
	bool saved;			/* it is in a file, as it is */
	struct convert_target *target;	/* while one is asked whether to write; owned */
	bool legend;			/* its row with the keys is on the screen */
	char error[512];
};

enum tb_status recipe_open(struct view *v, const struct view_arg *arg, struct tb_err *err);
void recipe_close(struct view *v);

/* Changes; each says what is wrong by itself. */
void recipe_set(struct view *v, const size_t *row, size_t n, const char *target);
/* The rows with a mark, else the one under the cursor. */
void recipe_set_rows(struct view *v, const char *target);
void recipe_undo(struct view *v);
void recipe_next_policy(struct view *v);
void recipe_next_dest(struct view *v);
void recipe_next_flavour(struct view *v);
void recipe_next_experts(struct view *v);
void recipe_requantize(struct view *v);
void recipe_ask_policy(struct view *v);
void recipe_ask_budget(struct view *v);
void recipe_ask_rule(struct view *v);
void recipe_ask_scheme(struct view *v);
void recipe_ask_rows(struct view *v);		/* a scheme for rows with a mark, or this one */
void recipe_ask_target(struct view *v);		/* where to, then whether, then writes */

/* Others. */
void recipe_others_make(struct view *v);	/* those that are to be seen, one after the other */
const struct recipe_other *recipe_compared(const struct recipe *s);	/* NULL: none */
bool recipe_row_differs(const struct recipe *s, size_t row);
void recipe_compare_next(struct view *v, int by);
void recipe_ask_compare(struct view *v);
void recipe_take(struct view *v, const struct recipe_other *r);
void recipe_ask_load(struct view *v);
void recipe_ask_save(struct view *v);

/* What the budget comes to in bytes; 0: it is none of bytes. */
uint64_t recipe_budget(const struct recipe *s);
const char *recipe_dest_name(enum plan_dest d);
#endif
