/* plan_args.h - the options that plan, quantize, pack and unpack share. */
#ifndef TBTUI_CLI_PLAN_ARGS_H
#define TBTUI_CLI_PLAN_ARGS_H

#include "src/base/opt.h"
#include "src/ops/convert/convert.h"

/* Of slice. */
struct slice_args { struct tb_strs keep, drop, rename; const char *shard_max; };

struct plan_args {
	const struct slice_args *slice;		/* or NULL; borrowed */
	const char *quant, *policy, *flavour, *experts, *shared, *decode;
	struct tb_strs rules;
	bool requantize;
	const char *imatrix;
	bool search, feedback;
};

#define PLAN_EXPERT_OPTS(a) \
	{ 0, "experts", TB_OPT_STR, &(a).experts, "LAYOUT", "stacked, per-projection (a blob each), " \
	  "switch-mlp (by that name), per-expert or keep" }, \
	{ 0, "shared", TB_OPT_STR, &(a).shared, "LAYOUT", "shared experts of a layer: packed in one " \
	  "blob, or apart" }

#define PLAN_OPTS(a) \
	{ 'q', "quantize", TB_OPT_STR, &(a).quant, "SCHEME", \
	  "what tensors become: " SCHEME_WORDS SCHEME_DTYPES "keep" }, \
	{ 0, "policy", TB_OPT_STR, &(a).policy, "NAME", "which tensors: ollama (default), uniform" }, \
	{ 'r', "rule", TB_OPT_LIST, &(a).rules, "PATTERN=SCHEME", \
	  "for names that a glob matches; repeatable, the last match wins" }, \
	{ 0, "flavour", TB_OPT_STR, &(a).flavour, "NAME", "whose rounding: metal (default), mlx-cpu" }, \
	PLAN_EXPERT_OPTS(a), \
	{ 0, "decode", TB_OPT_STR, &(a).decode, "DTYPE", \
	  "as what numbers of a GGUF's blocks are taken: bf16, f16 or f32 (default: what " \
	  "the model had)" }, \
	{ 0, "requantize", TB_OPT_FLAG, &(a).requantize, NULL, \
	  "change tensors that are quantized already, too" }, \
	{ 0, "search", TB_OPT_FLAG, &(a).search, NULL, \
	  "look for scales with less error than the usual ones; slower" }, \
	{ 0, "imatrix", TB_OPT_STR, &(a).imatrix, "FILE", \
	  "count errors by what tbtui calibrate or llama-imatrix measured; searches" }, \
	{ 0, "feedback", TB_OPT_FLAG, &(a).feedback, NULL, \
	  "let columns make up for what others lost (GPTQ); of calibrate --gram" }

/* What the options ask for, but for source and destination; rules are borrowed. */
enum tb_status plan_args_read(const struct plan_args *a, struct plan_request *req,
			      struct tb_err *err) TB_MUST_USE;

/* A source, open, and its plan for a destination. */
struct planned {
	struct op_ctx ctx;
	struct model_loc loc;
	struct model *model;		/* as it lies */
	struct hf_view *view;		/* of a GGUF that does not stay one; or NULL */
	struct convert_target target;	/* zeroed without dst */
	struct plan *plan;
	struct importance *importance;	/* what the plan takes care of; NULL: nothing */
};
struct cli;
/* dst may be NULL: a store.  planned_free() in every case. */
enum tb_status planned_open(struct planned *p, const struct cli *cli, const struct plan_args *a,
			    const char *src, const char *dst, struct tb_err *err) TB_MUST_USE;
void planned_free(struct planned *p);
#endif
