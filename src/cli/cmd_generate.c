/* cmd_generate.c - "generate": a text is continued. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/cli/generate_remote.h"
#include "src/cli/run_model.h"
#include "src/engine/engine.h"
#include "src/format/json.h"
#include "src/text/constraint.h"
#include "src/text/tokenizer.h"

struct generating {
	struct chat_model *model;
	const struct tb_buf *prompt;
	bool raw;
	uint32_t context;
	enum guess_how guess;
	const char *file;
	struct grammar *grammar;	/* NULL: any text; owned */
	struct tb_strs *stops;		/* of --stop, and then of the model as well */
	struct gen_opts opts;
	struct token_ids ids;
	struct gen_result result;
};

static enum tb_status
generate_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct generating *g = arg;
	struct token_ids held = { 0 };
	struct session *s;
	enum tb_status status;

	if ((status = tokenizer_encode(g->model->tokenizer, tb_buf_cstr(g->prompt),
				       g->prompt->len, true, !g->raw, &g->ids, err)) ||
	    (status = session_new(&s, g->model->engine, g->context, err)))
		return status;
	status = g->grammar ? chat_model_constrain(g->model, g->grammar, &g->opts.constraint, err)
			    : TB_OK;
	if (!status)
		status = guesser_new(&g->opts.guesser, g->model, g->guess, g->context, err);
	if (!status && g->file) {
		status = kv_file_load(g->model, s, &held, g->file, job, err);
		status = status == TB_ENOENT ? TB_OK : status;
	}
	if (!status)
		status = generate(g->model, s, &held, &g->ids, &g->opts, job, &g->result, err);
	if (!status && g->file)
		status = kv_file_save(g->model, s, &held, g->file, NULL, err);
	free(held.v);
	guesser_free(g->opts.guesser);
	constraint_free(g->opts.constraint);
	session_free(s);
	return status;
}

static enum cli_exit
generate_with(struct cli *cli, struct run_model *r, struct generating *g)
{
	enum cli_exit status = CLI_OK;
	struct tb_err err;
	cJSON *o;

	g->model = r->model;
	g->prompt = &r->text;
	g->opts.text = run_text(cli);
	if (!tb_grow(&g->stops->v, &g->stops->cap, g->stops->n + r->model->nstops,
		     sizeof(*g->stops->v)))
		cli_lost();
	for (size_t i = 0; !g->raw && i < r->model->nstops; i++)
		g->stops->v[g->stops->n++] = r->model->stops[i];
	g->opts.stops = g->stops->v;
	g->opts.nstops = g->stops->n;
	g->opts.specials = g->raw;
	if (run_quietly(cli, generate_run, g, &err)) {
		status = cli_fail(&err);
	} else if (cli->json) {
		o = json_object();
		json_set(o, "prompt_ids", run_json_ids(&g->ids));
		json_set(o, "ids", run_json_ids(&g->result.ids));
		json_set_str(o, "text", g->result.text);
		run_json_tokens(o, r->model->tokenizer, &g->result);
		run_json_figures(o, &g->result);
		status = cli_print_json(o);
	} else {
		putchar('\n');
		if (g->result.stop == GEN_CONTEXT)
			fputs("(the context is full)\n", stderr);
		if (cli->verbose)
			run_print_figures(&g->result.figures);
	}
	if (status == CLI_OK && g->result.stop == GEN_CANCELLED)
		status = CLI_WRONG;
	free(g->ids.v);
	gen_result_free(&g->result);
	return status;
}

/* Completing text is no conversation: nothing is penalized unless asked for. */
COMMAND(cli_generate, "generate", "REF", "continue a text")
{
	struct run_sampling sampling = RUN_SAMPLING;
	struct run_guessing guessing = { .none = false };
	struct run_format format = { .grammar = NULL };
	struct generating g = { .context = 0, .stops = &sampling.stops };
	struct run_model r = { .ref = NULL };
	const char *prompt = NULL;
	uint64_t top = 0;
	char *url = NULL;
	const struct tb_opt opts[] = {
		{ 'p', "prompt", TB_OPT_STR, &prompt, "TEXT", "what to continue; - reads it from "
		  "standard input" },
		{ 0, "raw", TB_OPT_FLAG, &g.raw, NULL, "special tokens and the model's stop strings are "
		  "plain text" },
		{ 0, "top", TB_OPT_U64, &top, "K", "with --json: the K likeliest tokens at each place, "
		  "at most " RUN_STRING(GEN_TOP) },
		{ 0, "ignore-eos", TB_OPT_FLAG, &g.opts.ignore_eos, NULL, "go on "
		  "past the end of the answer" },
		RUN_SAMPLING_OPTIONS(sampling, " (1)"),
		RUN_ADAPTER_OPTION(r),
		RUN_ENGINE_OPTIONS(cli),
		RUN_GUESSING_OPTIONS(guessing),
		RUN_FORMAT_OPTIONS(format),
		RUN_SESSION_OPTION(g.file),
		{ .name = NULL }
	};
	struct tb_err err;
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 1, 1, &status))
		return status;
	if (!prompt)
		return cli_usage("generate: no prompt; give it with -p");
	if (top > GEN_TOP)
		return cli_usage("generate: --top: at most %d", GEN_TOP);
	g.opts.top = cli->json ? (unsigned)top : 0;
	if (run_address(argv[1], &url, &err)) {
		status = cli_fail(&err);
	} else if (url) {
		if (g.raw || g.opts.ignore_eos)
			status = cli_usage("generate: --raw and --ignore-eos are for models here");
		else if (run_remote_check(&r, cli, &sampling, &guessing, g.file, &err) ||
			 run_format_apply(&format, &g.grammar, &err))
			status = cli_fail(&err);
		else
			status = generate_remote(cli, url, prompt, &sampling, g.opts.top, g.grammar);
	} else if (run_format_apply(&format, &g.grammar, &err) ||
		   run_model_open(&r, cli, argv[1], prompt, &err)) {
		status = cli_fail(&err);
	} else {
		g.opts.sampler = r.model->sampler;
		g.opts.sampler.repeat_penalty = 1;
		g.context = r.model->context;
		g.opts.max_tokens = r.model->max_tokens;
		status = run_sampling_apply(&sampling, &g.opts.sampler, &g.opts.max_tokens,
					    &g.context, &err) ||
			 run_guessing_apply(&guessing, cli, &r, &g.guess, &err)
		       ? cli_fail(&err) : generate_with(cli, &r, &g);
	}
	run_model_close(&r);
	tb_strs_free(&sampling.stops);
	grammar_free(g.grammar);
	free(url);
	return status;
}
