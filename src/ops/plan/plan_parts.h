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
	ATOM_WOVEN,		/* as numbers of a whole whose shape it has */
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

/* Does it belong to another layer of a model in a store than its weights? */
bool plan_beside(const struct plan *p, const struct tensor *t);

/* plan_gguf.c: what a GGUF makes of a tensor.  The first is for each row before all else. */
enum tb_status plan_gguf_open(struct plan *p, struct tb_err *err) TB_MUST_USE;
/* What the row gets instead of what a policy or a person has chosen. */
void plan_gguf_target(const struct plan *p, const struct tensor *t, struct plan_target *target,
		      enum plan_why *why);
/* Groups of which a GGUF has blocks with the same numbers. */
bool plan_gguf_repacks(const struct tensor *t);
enum tb_status plan_gguf_atoms(struct plan *p, struct layout *l, size_t row, struct tb_err *err)
	TB_MUST_USE;

/* What policies ask of a model besides its tensors. */
struct policy_model {
	const char *arch;	/* config.json's architecture, "" if none */
	const char *type;	/* its model_type; GGUF: general.architecture */
	unsigned layers, experts, heads, kv_heads;	/* kv_heads of the first layer; 0: not said */
};
enum tb_status policy_model(const struct model *m, struct policy_model *out, struct tb_err *err)
	TB_MUST_USE;

struct policy_choice { struct plan_target target; enum plan_why why; };
extern const struct policy_choice policy_kept[PLAN_WHY_COUNT];
struct policy_choice policy_take(struct scheme s, enum plan_why why);
uint64_t policy_row(const struct tensor *t);	/* elements that follow each other in a row */
/* The first and last eighths of the layers, and between them every third. */
bool policy_more_bits(uint64_t layer, unsigned layers);

/* For a floating tensor (BF16, F16, F32) that is asked to become `asked`, quantized. */
struct policy_choice policy_ollama(const struct policy_model *m, const struct tensor *t,
				   const struct scheme *asked);
struct policy_choice policy_uniform(const struct tensor *t, const struct scheme *asked);

/* plan_mlx.c: mix 0 is mlx_lm's default. */
struct policy_choice policy_mlx(const struct policy_model *m, const struct tensor *t,
				const struct scheme *asked, unsigned mix);
bool mlx_mix_parse(const char *s, unsigned *mix);
const char *mlx_mix_name(unsigned mix);			/* NULL behind the last; 0: "" */
/* What most of its tensors get; as many to a scale as `group` says, 0: as usual. */
struct scheme mlx_mix_scheme(unsigned mix, unsigned group);

/* plan_llama.c: the choices of all rows of a model. */
enum tb_status policy_llama(const struct plan *p, const struct policy_model *m,
			    const struct plan_request *req, struct policy_choice *out,
			    struct tb_err *err) TB_MUST_USE;
bool llama_mix_parse(const char *s, unsigned *mix);	/* any case */
const char *llama_mix_name(unsigned mix);		/* NULL behind the last */
struct scheme llama_mix_scheme(unsigned mix);
/* Would llama-quantize touch it, by its name in GGUF files? */
bool llama_quantizes(const struct plan_out *o);

bool plan_fits(const struct plan *p, size_t row, const struct plan_target *target);
void plan_set_row(const struct plan *p, struct plan_row *r, const struct plan_target *target,
		  enum plan_why why);
void plan_count(struct plan *p);			/* totals */

/* plan_budget.c: an estimate of what measuring would choose. */
enum tb_status plan_estimate(struct plan *p, struct tb_err *err) TB_MUST_USE;
#endif
