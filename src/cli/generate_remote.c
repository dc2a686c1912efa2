/* generate_remote.c - "generate" where the model is behind a URL. */
#include "config.h"

#include <stdio.h>

#include "src/cli/generate_remote.h"
#include "src/format/json.h"
#include "src/ops/remote/remote.h"

struct continuing {
	const char *url;
	struct remote *remote;
	struct remote_ask ask;
	struct remote_answer answer;
};

static enum tb_status
continue_reach(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct continuing *c = arg;

	return remote_open(&c->remote, c->url, job, err);
}

static enum tb_status
continue_there(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct continuing *c = arg;

	return remote_answer(c->remote, &c->ask, job, &c->answer, err);
}

/* What a server says was thought is no continuation of the text. */
static void
continue_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	if (kind == GEN_MSG_TEXT)
		run_text(arg)(NULL, text, len);
}

static cJSON *
remote_json_token(struct remote *r, uint32_t id, double logprob)
{
	struct tb_buf text = TB_BUF(65536);
	cJSON *o = json_object();

	remote_token(r, id, &text);
	json_set_buf(o, "text", &text);
	json_set_f64(o, "logprob", logprob);
	tb_buf_free(&text);
	return o;
}

static void
set_tokens(cJSON *o, const struct continuing *c)
{
	const struct gen_result *gen = &c->answer.gen;
	cJSON *list = json_array();

	for (size_t i = 0; gen->tokens && i < gen->ids.n; i++) {
		const struct gen_token *t = &gen->tokens[i];
		cJSON *row = remote_json_token(c->remote, t->id, t->logprob), *top = json_array();

		json_set_u64(row, "begin", t->begin);
		json_set_u64(row, "end", t->end);
		for (unsigned k = 0; k < t->ntop; k++)
			json_push(top, remote_json_token(c->remote, t->top[k].id, t->top[k].logprob));
		json_set(row, "top", top);
		json_push(list, row);
	}
	json_set(o, "tokens", list);
}

static enum cli_exit
print_continued(struct cli *cli, const struct continuing *c)
{
	const struct gen_result *gen = &c->answer.gen;
	enum cli_exit status = CLI_OK;
	cJSON *o;

	if (cli->json) {
		o = json_object();
		json_set_str(o, "text", gen->text);
		if (c->ask.top)
			set_tokens(o, c);
		run_json_figures(o, gen);
		status = cli_print_json(o);
	} else {
		putchar('\n');
		if (cli->verbose)
			run_print_figures(&gen->figures);
	}
	return status == CLI_OK && gen->stop == GEN_CANCELLED ? CLI_WRONG : status;
}

enum cli_exit
generate_remote(struct cli *cli, const char *url, const char *prompt,
		const struct run_sampling *s, unsigned top, const struct grammar *grammar)
{
	struct sampler_opts sampler;
	struct tb_buf text = TB_BUF(64u << 20);
	struct continuing c = { .url = url, .ask = { .sampler = &sampler, .top = top, .grammar = grammar,
						     .stops = s->stops.v, .nstops = s->stops.n,
						     .piece = continue_piece, .arg = cli } };
	enum cli_exit end = CLI_FAILED;
	uint32_t context;
	struct tb_err err;
	enum tb_status status = cli_read_text(prompt, &text, &err);

	remote_sampler_init(&sampler);
	c.ask.prompt = tb_buf_cstr(&text);
	if (!status)
		status = run_sampling_apply(s, &sampler, &c.ask.max_tokens, &context, &err);
	if (!status)
		status = cli_run(cli, "Asking", continue_reach, &c, &err);
	if (!status) {
		cli_note(cli, remote_note(c.remote));
		status = run_quietly(cli, continue_there, &c, &err);
	}
	if (status)
		cli_fail(&err);
	else
		end = print_continued(cli, &c);
	remote_answer_free(&c.answer);
	remote_free(c.remote);
	tb_buf_free(&text);
	return end;
}
