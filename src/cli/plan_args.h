/* plan_args.h - the options that plan, quantize, pack and unpack share. */
#ifndef TBTUI_CLI_PLAN_ARGS_H
#define TBTUI_CLI_PLAN_ARGS_H

#include "src/base/opt.h"
#include "src/cli/far.h"
#include "src/ops/convert/convert.h"

/* Of slice. */
struct slice_args { struct tb_strs keep, drop, rename; const char *shard_max; };

struct plan_args {
	const struct slice_args *slice;		/* or NULL; borrowed */
	const char *quant, *policy, *flavour, *experts, *shared, *decode;
	const char *imatrix;
	const char *plain;		/* a dtype: what would be packed becomes it; or NULL */
	const char *split_max;
	struct tb_strs rules, recipes;
	bool search, feedback;
	bool requantize;
	struct cli_far far;		/* of plan alone */
};

#define PLAN_EXPERT_OPTS(a) \
	{ 0, "experts", TB_OPT_STR, &(a).experts, "LAYOUT", "stacked, per-projection (a blob each), " \
	  "switch-mlp (by that name), per-expert or keep" }, \
	{ 0, "shared", TB_OPT_STR, &(a).shared, "LAYOUT", "shared experts of a layer: packed in one " \
	  "blob, or apart" }

#define PLAN_OPTS(a) \
	{ 'q', "quantize", TB_OPT_STR, &(a).quant, "SCHEME", \
	  "what tensors become: " SCHEME_WORDS SCHEME_DTYPES "keep, or for GGUF files" \
	  " llama-quantize's mixes: Q4_K_M" }, \
	{ 0, "policy", TB_OPT_STR, &(a).policy, "NAME", \
	  "which tensors (help lists all): ollama (default), uniform, mlx[:mixed_3_6], llama:Q4_K_M, keep; or by" \
	  " their errors: budget:SIZE, budget:BITSbpw, loss:ERROR" }, \
	{ 0, "recipe", TB_OPT_LIST, &(a).recipes, "FILE", \
	  "a recipe that plan --save wrote, or just a scheme or policy; plan " \
	  "compares several" }, \
	{ 'r', "rule", TB_OPT_LIST, &(a).rules, "PATTERN=SCHEME", \
	  "for tensors whose names match a glob; repeatable, the last match wins" }, \
	{ 0, "flavour", TB_OPT_STR, &(a).flavour, "NAME", "whose rounding: metal (default), mlx-cpu" }, \
	PLAN_EXPERT_OPTS(a), \
	{ 0, "decode", TB_OPT_STR, &(a).decode, "DTYPE", \
	  "what a GGUF's blocks are decoded to: bf16, f16 or f32 (default: what the " \
	  "model had)" }, \
	{ 0, "requantize", TB_OPT_FLAG, &(a).requantize, NULL, \
	  "also convert tensors that are already quantized" }, \
	{ 0, "search", TB_OPT_FLAG, &(a).search, NULL, \
	  "search for scales with a smaller error; slower" }, \
	{ 0, "imatrix", TB_OPT_STR, &(a).imatrix, "FILE", \
	  "count errors by what tbtui calibrate or llama-imatrix measured; searches" }, \
	{ 0, "feedback", TB_OPT_FLAG, &(a).feedback, NULL, \
	  "let columns make up for the errors of others (GPTQ); needs calibrate --gram" }
#define SPLIT_OPT(a) \
	{ 0, "split-max", TB_OPT_STR, &(a).split_max, "SIZE", \
	  "to GGUF: several files, each with at most SIZE of tensors (4GB)" }
void plan_args_free(struct plan_args *a);
/* What the options ask for, but for source and destination, and nothing that has to be
 * measured; rules are borrowed. */
enum tb_status plan_args_read(const struct plan_args *a, struct plan_request *req,
			      struct tb_err *err) TB_MUST_USE;

/* --policy help: prints all that --policy takes, a line each. */
bool plan_args_words(const struct plan_args *a);

/* A source, open, and what could be made of it for a destination. */
struct planned {
	struct op_ctx ctx;
	struct model_loc loc;
	struct cli_far far;
	struct model *model;		/* as it lies */
	struct hf_view *view;		/* of a GGUF that does not stay one; or NULL */
	struct convert_target target;	/* zeroed without dst */
	uint64_t shard_max;		/* 0: the usual */
	struct recipe_plan {
		char *name;		/* as people call the recipe; owned */
		struct plan *plan;
		struct plan_recipe *recipe;	/* NULL: none; owned */
		struct importance *importance;	/* what it takes care of; NULL: nothing; owned */
	} *list;			/* owned */
	size_t n;
	struct plan *plan;		/* the first of them */
};
struct cli;
/* dst may be NULL: what the scheme is for, else a store.  At most `max` recipes.
 * planned_free() in every case. */
enum tb_status planned_open(struct planned *p, const struct cli *cli, const struct plan_args *a,
			    const char *src, const char *dst, size_t max, struct tb_err *err)
	TB_MUST_USE;
void planned_free(struct planned *p);

/* cmd_quantize.c: a conversion from what is asked to what is said of it; `what` it is called. */
enum cli_exit cli_convert(struct cli *cli, const char *what, const struct plan_args *a,
			  bool replace, const char *src, const char *dst);

/* plan_json.c: what --json says of plans. */
enum cli_exit planned_json(const struct planned *p);
/* plan_compare.c: several, side by side. */
enum cli_exit planned_compare(const struct cli *cli, const struct planned *p);
#endif
