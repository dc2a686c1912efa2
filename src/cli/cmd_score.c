/* cmd_score.c - "logits" and "perplexity": what a model thinks, for checking. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/file.h"
#include "src/cli/run_model.h"
#include "src/format/json.h"
#include "src/ops/run/run.h"

#define TEXT_MAX (256u << 20)

/* One of the two, with what it needs. */
struct scoring {
	struct run_model r;
	char *file;			/* of perplexity; owned */
	size_t len;
	uint64_t top;
	struct score_logits logits;
	struct score_perplexity perplexity;
};

static enum tb_status
run_logits(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scoring *s = arg;

	return score_logits(s->r.model, tb_buf_cstr(&s->r.text), s->r.text.len, s->top, job,
			    &s->logits, err);
}

static enum tb_status
run_perplexity(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scoring *s = arg;

	return score_perplexity(s->r.model, s->file, s->len, job, &s->perplexity, err);
}

static enum cli_exit
print_logits_json(const struct scoring *s)
{
	cJSON *o = json_object(), *top = json_array();

	for (size_t i = 0; i < s->logits.n; i++) {
		const struct score_top *t = &s->logits.top[i];
		cJSON *row = json_object();

		json_set_u64(row, "id", t->id);
		json_set_str(row, "piece", tokenizer_piece(s->r.model->tokenizer, t->id));
		json_set_f64(row, "logit", t->logit);
		json_set_f64(row, "logprob", t->logprob);
		json_push(top, row);
	}
	json_set(o, "prompt_ids", run_json_ids(&s->logits.prompt));
	json_set(o, "top", top);
	return cli_print_json(o);
}

static enum cli_exit
print_logits(const struct scoring *s)
{
	printf("%8s  %10s  %9s  %s\n", "ID", "LOGIT", "LOGPROB", "PIECE");
	for (size_t i = 0; i < s->logits.n; i++) {
		const struct score_top *t = &s->logits.top[i];
		const char *piece = tokenizer_piece(s->r.model->tokenizer, t->id);

		cli_line("%8" PRIu32 "  %10.5f  %9.5f  %s", t->id, t->logit, t->logprob,
			 piece ? piece : "");
	}
	return CLI_OK;
}

static enum cli_exit
print_perplexity(const struct cli *cli, const struct score_perplexity *p)
{
	cJSON *o;

	if (!cli->json) {
		printf("perplexity %.6f  (%" PRIu64 " tokens, mean NLL %.6f, %.2f s)\n",
		       p->perplexity, p->tokens, p->nll, p->seconds);
		return CLI_OK;
	}
	o = json_object();
	json_set_u64(o, "tokens", p->tokens);
	json_set_f64(o, "nll", p->nll);
	json_set_f64(o, "perplexity", p->perplexity);
	json_set_f64(o, "seconds", p->seconds);
	return cli_print_json(o);
}

/* These numbers are compared with those of others: what is kept is not rounded, unless that
 * is asked for. */
static void
keep_all(struct cli *cli)
{
	cli->kv = cli->kv ? cli->kv : kv_type_name(KV_F32);
}

COMMAND(cli_logits, "logits", "REF", "the likeliest next tokens of a text")
{
	struct scoring s = { .top = 10 };
	const char *prompt = NULL;
	const struct tb_opt opts[] = {
		{ 'p', "prompt", TB_OPT_STR, &prompt, "TEXT", "what comes before; - reads it from "
		  "standard input" },
		{ 0, "top", TB_OPT_U64, &s.top, "K", "how many; default 10" },
		RUN_ADAPTER_OPTION(s.r),
		RUN_ENGINE_OPTIONS(cli),
		{ .name = NULL }
	};
	struct tb_err err;
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 1, 1, &status))
		return status;
	if (!prompt)
		return cli_usage("logits: no prompt; give it with -p");
	keep_all(cli);
	if (run_model_open(&s.r, cli, argv[1], prompt, &err) ||
	    cli_run(cli, "Evaluating", run_logits, &s, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? print_logits_json(&s) : print_logits(&s);
	score_logits_free(&s.logits);
	run_model_close(&s.r);
	return status;
}

COMMAND(cli_perplexity, "perplexity", "REF FILE", "how well a model predicts a text")
{
	struct scoring s = { .top = 0 };
	const struct tb_opt opts[] = {
		RUN_ADAPTER_OPTION(s.r),
		RUN_ENGINE_OPTIONS(cli),
		{ .name = NULL }
	};
	struct tb_err err;
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (tb_file_slurp(argv[2], TEXT_MAX, &s.file, &s.len, &err))
		return cli_fail(&err);
	keep_all(cli);
	if (run_model_open(&s.r, cli, argv[1], NULL, &err) ||
	    cli_run(cli, "Scoring", run_perplexity, &s, &err))
		status = cli_fail(&err);
	else
		status = print_perplexity(cli, &s.perplexity);
	run_model_close(&s.r);
	free(s.file);
	return status;
}
