#include "config.h"

#include "src/cli/run_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/text/grammar.h"
#include "src/text/tokenizer.h"

#define PROMPT_MAX (64u << 20)

static enum tb_status
run_load(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct run_model *r = arg;
	enum tb_status status = chat_model_open(&r->model, &r->ctx, r->ref, job, err);

	for (size_t i = 0; i < r->adapters.n && !status; i++)
		status = chat_model_adapt(r->model, &r->ctx, r->adapters.v[i], job, err);
	return status;
}

enum tb_status
run_model_open(struct run_model *r, const struct cli *cli, const char *ref, const char *prompt,
	       struct tb_err *err)
{
	enum tb_status status = TB_OK;

	r->ref = ref;
	r->text = TB_BUF(PROMPT_MAX);
	if (prompt)
		status = cli_read_text(prompt, &r->text, err);
	if (!status)
		status = cli_ctx(cli, &r->ctx, err);
	if (!status)
		status = cli_run(cli, "Loading", run_load, r, err);
	if (!status)
		cli_note(cli, tokenizer_note(r->model->tokenizer));
	return status;
}

void
run_model_close(struct run_model *r)
{
	chat_model_free(r->model);
	op_ctx_free(&r->ctx);
	tb_buf_free(&r->text);
	tb_strs_free(&r->adapters);
}

static enum tb_status
take_u32(const char *name, uint64_t from, uint32_t *to, struct tb_err *err)
{
	if (from == UINT64_MAX)
		return TB_OK;
	if (from > INT32_MAX)
		return tb_fail(err, TB_EUSAGE, "--%s: too large", name);
	*to = (uint32_t)from;
	return TB_OK;
}

enum tb_status
run_sampling_apply(const struct run_sampling *s, struct sampler_opts *o, uint32_t *tokens,
		   uint32_t *context, struct tb_err *err)
{
	enum tb_status status;

	if (!isnan(s->temperature))
		o->temperature = (float)s->temperature;
	if (!isnan(s->top_p))
		o->top_p = (float)s->top_p;
	if (!isnan(s->min_p))
		o->min_p = (float)s->min_p;
	if (!isnan(s->repeat_penalty))
		o->repeat_penalty = (float)s->repeat_penalty;
	if (s->seed != UINT64_MAX)
		o->seed = s->seed;
	if ((status = take_u32("top-k", s->top_k, &o->top_k, err)) ||
	    (status = take_u32("tokens", s->tokens, tokens, err)))
		return status;
	return take_u32("ctx", s->context, context, err);
}

struct draft_load {
	struct run_model *r;
	const char *ref;
};

static enum tb_status
load_draft(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct draft_load *l = arg;

	return chat_model_draft(l->r->model, &l->r->ctx, l->ref, job, err);
}

enum tb_status
run_guessing_apply(const struct run_guessing *g, const struct cli *cli, struct run_model *r,
		   enum guess_how *how, struct tb_err *err)
{
	struct draft_load l = { r, g->draft };

	if (g->none && g->draft)
		return tb_fail(err, TB_EUSAGE, "--draft and --no-speculate: take one of them");
	*how = g->none ? GUESS_NEVER : GUESS_WORTH;
	if (!g->none && !g->draft)
		cli_note(cli, r->model->draft_note);
	return g->draft ? cli_run(cli, "Loading", load_draft, &l, err) : TB_OK;
}

enum tb_status
run_address(const char *ref, char **url, struct tb_err *err)
{
	struct config config;
	enum tb_status status;

	*url = NULL;
	if ((status = config_load(&config, err)))
		return status;
	status = config_address(&config, ref, url, err);
	config_free(&config);
	return status;
}

enum tb_status
run_remote_check(const struct run_model *r, const struct cli *cli, const struct run_sampling *s,
		 const struct run_guessing *g, const char *file, struct tb_err *err)
{
	const struct { const char *name; bool given; } rows[] = {
		{ "adapter", r->adapters.n > 0 }, { "exact", cli->exact }, { "template", cli->template_file },
		{ "kv", cli->kv },
		{ "ctx", s->context != UINT64_MAX }, { "draft", g->draft },
		{ "no-speculate", g->none }, { "session-file", file },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].given)
			return tb_fail(err, TB_EUSAGE, "--%s: the model runs elsewhere, its server"
				       " decides that", rows[i].name);
	return TB_OK;
}

enum tb_status
run_format_apply(const struct run_format *f, struct grammar **out, struct tb_err *err)
{
	const char *file = f->grammar ? f->grammar : f->schema;
	char *text;
	size_t len;
	enum tb_status status;

	*out = NULL;
	if (!!f->grammar + !!f->schema + !!f->format > 1)
		return tb_fail(err, TB_EUSAGE, "--schema, --grammar and --format: take one of them");
	if (f->format)
		return grammar_read(out, f->format, err);
	if (!file)
		return TB_OK;
	if ((status = tb_file_slurp(file, GRAMMAR_FILE_MAX, &text, &len, err)))
		return status;
	status = f->schema ? grammar_schema(out, text, len, file, err)
			   : grammar_gbnf(out, text, len, file, err);
	free(text);
	return status;
}

static void
run_no_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	(void)text;
	(void)len;
}

static void
run_show_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	cli_put_lines(text, len);
	fflush(stdout);
}

gen_text_fn *
run_text(const struct cli *cli)
{
	return cli->json ? run_no_text : run_show_text;
}

cJSON *
run_json_ids(const struct token_ids *ids)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < ids->n; i++)
		json_push_u64(list, ids->v[i]);
	return list;
}

static cJSON *
json_token(const struct tokenizer *t, uint32_t id, float logprob)
{
	cJSON *o = json_object();

	json_set_u64(o, "id", id);
	json_set_str(o, "piece", tokenizer_piece(t, id));
	json_set_f64(o, "logprob", (double)logprob);
	return o;
}

void
run_json_tokens(cJSON *o, const struct tokenizer *t, const struct gen_result *r)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < r->ids.n && r->tokens; i++) {
		const struct gen_token *k = &r->tokens[i];
		cJSON *row = json_token(t, k->id, k->logprob), *top = json_array();

		json_set_u64(row, "begin", k->begin);
		json_set_u64(row, "end", k->end);
		for (unsigned j = 0; j < k->ntop; j++)
			json_push(top, json_token(t, k->top[j].id, k->top[j].logprob));
		json_set(row, "top", top);
		json_push(list, row);
	}
	if (r->tokens)
		json_set(o, "tokens", list);
	else
		json_free(list);
}

void
run_json_figures(struct cJSON *o, const struct gen_result *r)
{
	const struct gen_figures *f = &r->figures;

	json_set_str(o, "stop", gen_stop_name(r->stop));
	json_set_u64(o, "prompt_tokens", f->prompt_tokens);
	json_set_u64(o, "reused_tokens", f->reused_tokens);
	json_set_u64(o, "forced_tokens", f->forced);
	json_set_u64(o, "proposed_tokens", f->guessed);
	json_set_u64(o, "accepted_tokens", f->right);
	json_set_f64(o, "prefill_tokens_per_second", gen_prefill_rate(f));
	json_set_f64(o, "decode_tokens_per_second", gen_decode_rate(f));
	json_set_f64(o, "time_to_first_token", f->first_token_seconds);
	json_set_u64(o, "context_used", f->context_used);
	json_set_u64(o, "context", f->context);
	json_set_u64(o, "peak_rss", f->peak_rss);
}

void
run_print_figures(const struct gen_figures *f)
{
	char rss[16], guesses[64] = "";

	if (f->guessed)
		snprintf(guesses, sizeof(guesses), "%u of %u guesses right, ", f->right, f->guessed);
	fprintf(stderr, "prefill %u tokens %.1f tok/s (%u reused), first token %.2f s, "
		"decode %u tokens %.1f tok/s, %scontext %u of %u, memory %s\n",
		f->prompt_tokens, gen_prefill_rate(f), f->reused_tokens, f->first_token_seconds,
		f->tokens, gen_decode_rate(f), guesses, f->context_used, f->context,
		tb_human_bytes(f->peak_rss, rss));
}

enum tb_status
run_quietly(const struct cli *cli, cli_op *fn, void *arg, struct tb_err *err)
{
	struct cli quiet = *cli;

	quiet.quiet = true;
	quiet.progress = false;
	return cli_run(&quiet, "", fn, arg, err);
}
