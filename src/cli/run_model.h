/* run_model.h - what the subcommands that run a model share: loading it, sampling
 * options, text on its way to the terminal, figures. */
#ifndef TBTUI_CLI_RUN_MODEL_H
#define TBTUI_CLI_RUN_MODEL_H

#include <stdint.h>

#include "src/base/buf.h"
#include "src/cli/cli.h"
#include "src/ops/run/run.h"
#include "src/ops/home/home.h"

/* A loaded model with the context it was found in, and what it is to read. */
struct run_model {
	struct op_ctx ctx;
	const char *ref;		/* borrowed */
	struct tb_strs adapters;	/* of --adapter; taken in by run_model_open() */
	struct chat_model *model;
	struct tb_buf text;
};
#define RUN_ADAPTER_OPTION(r) \
	{ 0, "adapter", TB_OPT_LIST, &(r).adapters, "FILE|DIR", "apply a LoRA: a " \
	  "GGUF file or a folder that PEFT wrote; repeatable" }
/* *r: zeros, or what the option above filled.  prompt: the text of -p, "-": standard input;
 * NULL: none.  run_model_close() in every case. */
enum tb_status run_model_open(struct run_model *r, const struct cli *cli, const char *ref,
			      const char *prompt, struct tb_err *err) TB_MUST_USE;
void run_model_close(struct run_model *r);

/* Rows of an option table that say how an engine works. */
#define RUN_ENGINE_OPTIONS(cli) \
	{ 0, "exact", TB_OPT_FLAG, &(cli)->exact, NULL, "multiply in F32 throughout: slower, for " \
	  "comparing" }, \
	{ 0, "kv", TB_OPT_STR, &(cli)->kv, "TYPE", "keep keys and values as f32, f16 or int8 (f16; " \
	  "where numbers are compared, f32)" }

/* And in what words it is talked to. */
#define RUN_TEMPLATE_OPTION(cli) \
	{ 0, "template", TB_OPT_STR, &(cli)->template_file, "FILE", "use this " \
	  "template, Jinja or Go (.gotmpl), instead of the model's own" }

/* Values of sampling options; what was not given keeps the model's wish. */
struct run_sampling {
	double temperature, top_p, min_p, repeat_penalty;
	uint64_t top_k, seed, tokens, context;
	struct tb_strs stops;		/* besides the model's */
};
#define RUN_SAMPLING { NAN, NAN, NAN, NAN, UINT64_MAX, UINT64_MAX, UINT64_MAX, \
		       UINT64_MAX, { NULL } }
/* The rows of an option table that fill `s`; penalty: what is said of the default. */
#define RUN_TEXT(x) #x
#define RUN_STRING(x) RUN_TEXT(x)
#define RUN_ELSE(value) " (the model's, else " RUN_TEXT(value) ")"
#define RUN_SAMPLING_OPTIONS(s, penalty) \
	{ 'n', "tokens", TB_OPT_U64, &(s).tokens, "N", "stop after N tokens (the model's " \
	  "num_predict, else to the end of the answer or of the context)" }, \
	{ 0, "temp", TB_OPT_F64, &(s).temperature, "T", "temperature; 0 = always the likeliest" \
	  RUN_ELSE(SAMPLER_TEMPERATURE) }, \
	{ 0, "seed", TB_OPT_U64, &(s).seed, "S", "seed of the random numbers (the " \
	  "model's, else a new one each time)" }, \
	{ 0, "top-k", TB_OPT_U64, &(s).top_k, "K", "choose among the K likeliest; 0 " \
	  "= all" \
	  RUN_ELSE(SAMPLER_TOP_K) }, \
	{ 0, "top-p", TB_OPT_F64, &(s).top_p, "P", "choose among the likeliest that " \
	  "add up to P" \
	  RUN_ELSE(SAMPLER_TOP_P) }, \
	{ 0, "min-p", TB_OPT_F64, &(s).min_p, "P", "only tokens at least P times as " \
	  "likely as the likeliest" \
	  RUN_ELSE(SAMPLER_MIN_P) }, \
	{ 0, "repeat-penalty", TB_OPT_F64, &(s).repeat_penalty, "X", "1 = none" penalty }, \
	{ 0, "stop", TB_OPT_LIST, &(s).stops, "TEXT", "stop at TEXT, which is not " \
	  "shown; repeatable, besides the model's own" }, \
	{ 0, "ctx", TB_OPT_U64, &(s).context, "N", "tokens of context; 0 = all that " \
	  "the model has (its num_ctx, else 0)" }
enum tb_status run_sampling_apply(const struct run_sampling *s, struct sampler_opts *o,
				  uint32_t *tokens, uint32_t *context, struct tb_err *err)
	TB_MUST_USE;

/* Guesses of what comes next: by another model, too, or none at all. */
struct run_guessing {
	const char *draft;
	bool none;
};
#define RUN_GUESSING_OPTIONS(g) \
	{ 0, "draft", TB_OPT_STR, &(g).draft, "REF", "a small model of the same " \
	  "family that guesses ahead; the text is the same, only faster" }, \
	{ 0, "no-speculate", TB_OPT_FLAG, &(g).none, NULL, "do not guess ahead: " \
	  "token by token" }
/* What the answer has to look like. */
struct run_format {
	const char *grammar, *schema, *format;
};
#define RUN_FORMAT_OPTIONS(f) \
	{ 0, "schema", TB_OPT_STR, &(f).schema, "FILE", "answer only in JSON that " \
	  "fits the schema in FILE" }, \
	{ 0, "grammar", TB_OPT_STR, &(f).grammar, "FILE", "answer only what the " \
	  "grammar in FILE allows (llama.cpp's GBNF)" }, \
	{ 0, "format", TB_OPT_STR, &(f).format, "json|FILE", "answer only in JSON, " \
	  "or as the schema or grammar in FILE allows" }
/* *out NULL: nothing was asked for.  grammar_free(). */
enum tb_status run_format_apply(const struct run_format *f, struct grammar **out,
				struct tb_err *err) TB_MUST_USE;
#define RUN_SESSION_OPTION(file) \
	{ 0, "session-file", TB_OPT_STR, &(file), "FILE", "keep the model's state in " \
	  "FILE: a text with the same beginning starts sooner the next time" }
/* Loads what guesses. */
enum tb_status run_guessing_apply(const struct run_guessing *g, const struct cli *cli,
				  struct run_model *r, enum guess_how *how, struct tb_err *err)
	TB_MUST_USE;

/* Is REF a model that is elsewhere?  *url is its address then, in fresh memory; else NULL. */
enum tb_status run_address(const char *ref, char **url, struct tb_err *err) TB_MUST_USE;
/* Of such a model, what says how an engine works here says nothing. */
enum tb_status run_remote_check(const struct run_model *r, const struct cli *cli,
				const struct run_sampling *s, const struct run_guessing *g,
				const char *file, struct tb_err *err) TB_MUST_USE;

/* What takes the text: cleaned, on standard output, at once; with --json nothing, the
 * object at the end has it all. */
gen_text_fn *run_text(const struct cli *cli);
struct cJSON *run_json_ids(const struct token_ids *ids);
/* The alternatives of each token, where some were asked for. */
void run_json_tokens(struct cJSON *o, const struct tokenizer *t, const struct gen_result *r);
/* As --json has them, into an object. */
void run_json_figures(struct cJSON *o, const struct gen_result *r);
/* One line on standard error. */
void run_print_figures(const struct gen_figures *f);

/* As cli_run(), but nothing is drawn: the operation writes to the terminal itself. */
enum tb_status run_quietly(const struct cli *cli, cli_op *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
#endif
