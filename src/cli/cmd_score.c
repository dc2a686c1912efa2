/* cmd_score.c - "logits" and "perplexity": what a model thinks, for checking. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/mem.h"
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
	struct run_model against;	/* what it is compared with */
	struct score_pair pair;
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

static enum tb_status
run_pair(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scoring *s = arg;

	return score_pair(s->r.model, s->against.model, s->file, s->len, 0, job, &s->pair, err);
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

static int
by_kl(const void *a, const void *b)
{
	double x = (*(const struct score_pair_token *const *)a)->kl;
	double y = (*(const struct score_pair_token *const *)b)->kl;

	return (x < y) - (x > y);
}

/* The tokens that they differ about most; *n: how many there are. free() the list. */
static const struct score_pair_token **
worst(const struct score_pair *p, size_t *n)
{
	const struct score_pair_token **list = tb_calloc(p->n + 1, sizeof(*list));

	for (size_t i = 0; list && i < p->n; i++)
		list[i] = &p->token[i];
	if (list)
		qsort(list, p->n, sizeof(*list), by_kl);
	*n = list && *n < p->n ? *n : list ? p->n : 0;
	return list;
}

static cJSON *
pair_token_json(const struct scoring *s, const struct score_pair_token *t)
{
	const struct tokenizer *names = s->r.model->tokenizer;
	cJSON *o = json_object();

	json_set_u64(o, "at", (uint64_t)(t - s->pair.token));
	json_set_u64(o, "id", t->id);
	json_set_str(o, "piece", tokenizer_piece(names, t->id));
	json_set_f64(o, "kl", t->kl);
	json_set_f64(o, "logprob", t->logprob[0]);
	json_set_f64(o, "logprob_against", t->logprob[1]);
	json_set_str(o, "first", tokenizer_piece(names, t->first[0]));
	json_set_str(o, "first_against", tokenizer_piece(names, t->first[1]));
	return o;
}

static enum cli_exit
print_pair_json(const struct scoring *s, const struct score_pair_token **list, size_t n)
{
	const struct score_pair *p = &s->pair;
	cJSON *o = json_object(), *tokens = json_array();

	json_set_u64(o, "tokens", p->n);
	json_set_f64(o, "nll", p->nll[0]);
	json_set_f64(o, "nll_against", p->nll[1]);
	json_set_f64(o, "perplexity", exp(p->nll[0]));
	json_set_f64(o, "perplexity_against", exp(p->nll[1]));
	json_set_f64(o, "kl", p->kl);
	json_set_f64(o, "kl_most", p->kl_most);
	json_set_u64(o, "same_first", p->same);
	for (size_t i = 0; i < n; i++)
		json_push(tokens, pair_token_json(s, list[i]));
	json_set(o, "worst", tokens);
	return cli_print_json(o);
}

static enum cli_exit
print_pair(const struct cli *cli, const struct scoring *s)
{
	const struct score_pair *p = &s->pair;
	const struct tokenizer *names = s->r.model->tokenizer;
	size_t n = s->top;
	const struct score_pair_token **list = worst(p, &n);
	enum cli_exit status = CLI_OK;

	if (cli->json) {
		status = print_pair_json(s, list, n);
		free(list);
		return status;
	}
	printf("perplexity %.6f, against %.6f  (%zu tokens)\n", exp(p->nll[0]), exp(p->nll[1]), p->n);
	printf("KL divergence %.6f a token, %.6f at most; the same first choice at %.2f %%\n", p->kl,
	       p->kl_most, 100.0 * (double)p->same / (double)p->n);
	if (n)
		printf("\n%8s  %9s  %9s  %9s  %s\n", "AT", "KL", "SHARE", "AGAINST", "TOKEN");
	for (size_t i = 0; i < n; i++) {
		const struct score_pair_token *t = list[i];
		const char *piece = tokenizer_piece(names, t->id);

		cli_line("%8zu  %9.5f  %7.2f %%  %7.2f %%  %s", (size_t)(t - p->token), t->kl,
			 100 * exp(t->logprob[0]), 100 * exp(t->logprob[1]), piece ? piece : "");
	}
	free(list);
	return status;
}

/* These numbers are compared with those of others: what is kept is not rounded, unless that
 * is asked for. */
static void
keep_all(struct cli *cli)
{
	cli->kv = cli->kv ? cli->kv : kv_type_name(KV_F32);
}

COMMAND(cli_logits, "logits", "REF", "list the likeliest next tokens of a text")
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

COMMAND(cli_perplexity, "perplexity", "REF FILE",
	"measure how well a model predicts a text")
{
	struct scoring s = { .top = 10 };
	const char *against = NULL;
	const struct tb_opt opts[] = {
		{ 0, "against", TB_OPT_STR, &against, "REF", "compare with another "
		  "model of the same vocabulary, token by token" },
		{ 0, "top", TB_OPT_U64, &s.top, "K", "how many of the tokens they "
		  "differ about most (10)" },
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
	    (against && run_model_open(&s.against, cli, against, NULL, &err)) ||
	    cli_run(cli, "Scoring", against ? run_pair : run_perplexity, &s, &err))
		status = cli_fail(&err);
	else
		status = against ? print_pair(cli, &s) : print_perplexity(cli, &s.perplexity);
	score_pair_free(&s.pair);
	run_model_close(&s.against);
	run_model_close(&s.r);
	free(s.file);
	return status;
}
