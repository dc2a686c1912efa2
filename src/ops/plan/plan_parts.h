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

/* plan_layout.c: a tensor of the source, or a piece of one, on its way out. */
enum atom_part {
	ATOM_WHOLE,
	ATOM_EXPERT,		/* one of a stack */
	ATOM_ROWS,		/* one below the other */
};
struct atom {
	char *name;		/* of what it becomes (part of); owned */
	char *group;		/* NULL: no expert; owned */
	struct plan_piece piece;
	uint64_t index;		/* among the pieces of one name */
	enum atom_part part;
	unsigned ndim;		/* the piece's shape; 0: (a slice of) the source's */
	uint64_t dim[TB_MAX_DIMS];
};
struct layout;
/* A copy of `a`, whose strings are borrowed. */
enum tb_status layout_add(struct layout *l, const struct atom *a, struct tb_err *err) TB_MUST_USE;
/* Its number, for a piece. */
enum tb_status layout_change(struct layout *l, const struct change *c, size_t *out,
			     struct tb_err *err) TB_MUST_USE;

/* plan_gguf.c: what a GGUF makes of a tensor.  The first is for each row before all else. */
enum tb_status plan_gguf_open(struct plan *p, struct tb_err *err) TB_MUST_USE;
/* What the row gets instead of what a policy or a person has chosen. */
void plan_gguf_target(const struct plan *p, const struct tensor *t, struct plan_target *target,
		      enum plan_why *why);
enum tb_status plan_gguf_atoms(struct plan *p, struct layout *l, size_t row, struct tb_err *err)
	TB_MUST_USE;

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
