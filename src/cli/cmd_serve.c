/* cmd_serve.c - "serve": models for other programs, until a signal ends it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/run_model.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/serve/serve.h"

struct serving {
	struct cli *cli;
	struct op_ctx ctx;
	struct serve_opts opts;
	struct serve *serve;
};

/* ---- the log ---- */

static void
log_json(const struct serve_line *l)
{
	cJSON *o = json_object();
	char time[32];

	json_set_str(o, "time", tb_time_rfc3339(tb_now_ns(), time));
	json_set_str(o, "method", l->method);
	json_set_str(o, "path", l->path);
	json_set_u64(o, "status", l->status);
	json_set_f64(o, "seconds", l->seconds);
	if (l->model) {
		json_set_str(o, "model", l->model);
		json_set_str(o, "end", l->end);
		json_set_u64(o, "prompt_tokens", l->prompt_tokens);
		json_set_u64(o, "reused_tokens", l->reused_tokens);
		json_set_u64(o, "tokens", l->tokens);
		json_set_f64(o, "first_token_seconds", l->first_token_seconds);
	}
	(void)cli_print_json(o);
	fflush(stdout);
}

static void
log_text(const struct serve_line *l)
{
	struct tb_buf line = TB_BUF(8192), clean = TB_BUF(32768);
	char time[32];

	tb_buf_printf(&line, "%s %s %.200s %u", tb_time_rfc3339(tb_now_ns(), time), l->method, l->path,
		      l->status);
	if (l->model)
		tb_buf_printf(&line, " %.80s: %u + %u tokens read, %u said in %.2f s, %s", l->model,
			      l->reused_tokens, l->prompt_tokens, l->tokens, l->seconds,
			      l->end ? l->end : "");
	tb_text_clip(&clean, tb_buf_cstr(&line), SIZE_MAX, false);
	fprintf(stderr, "%s\n", tb_buf_cstr(&clean));
	tb_buf_free(&line);
	tb_buf_free(&clean);
}

static void
log_line(void *arg, const struct serve_line *l)
{
	const struct cli *cli = arg;

	if (cli->json)
		log_json(l);
	else if (!cli->quiet)
		log_text(l);
}

/* ---- what is served ---- */

static const char *
host_of(const struct serving *s, char out[80])
{
	const char *a = s->opts.listen ? s->opts.listen : "127.0.0.1";

	snprintf(out, 80, strchr(a, ':') ? "[%s]" : "%s", a);
	return out;
}

static void
announce_json(const struct serving *s)
{
	cJSON *o = json_object(), *list = json_array();
	struct serve_model m;
	char host[80], url[120];

	snprintf(url, sizeof(url), "http://%s:%u/v1", host_of(s, host), serve_port(s->serve));
	json_set_str(o, "url", url);
	for (size_t i = 0; serve_model(s->serve, i, &m); i++) {
		cJSON *one = json_object();

		json_set_str(one, "model", m.name);
		json_set_bool(one, "loaded", m.loaded);
		json_set_u64(one, "bytes", m.bytes);
		if (m.loaded) {
			json_set_u64(one, "context", m.context);
			json_set_u64(one, "weight_bytes", m.weights);
			json_set_u64(one, "slot_bytes", m.each);
		}
		json_push(list, one);
	}
	json_set(o, "models", list);
	json_set_u64(o, "slots", s->opts.slots);
	(void)cli_print_json(o);
	fflush(stdout);
}

static void
announce(const struct serving *s)
{
	struct serve_model m;
	char host[80], weights[16], each[16];

	if (s->cli->json) {
		announce_json(s);
		return;
	}
	for (size_t i = 0; serve_model(s->serve, i, &m); i++)
		if (m.loaded)
			cli_line("%s: %s of weights; %u at a time, up to %s each for %u tokens", m.name,
				 tb_human_bytes(m.weights, weights), s->opts.slots,
				 tb_human_bytes(m.each, each), m.context);
		else
			cli_line("%s: %s, loaded when it is asked for", m.name,
				 tb_human_bytes(m.bytes, weights));
	printf("Listening at http://%s:%u/v1%s; Ctrl-C ends it.\n", host_of(s, host),
	       serve_port(s->serve), s->opts.key_file ? ", for those who have the key" : "");
	fflush(stdout);
}

static enum tb_status
serve_load(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct serving *s = arg;

	return serve_begin(&s->serve, &s->ctx, &s->opts, job, err);
}

static enum tb_status
serve_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct serving *s = arg;

	(void)err;
	serve_until(s->serve, job);
	serve_end(s->serve);
	s->serve = NULL;
	return TB_OK;
}

static enum tb_status
take_small(const char *name, uint64_t n, uint64_t least, uint64_t most, struct tb_err *err)
{
	if (n >= least && n <= most)
		return TB_OK;
	return tb_fail(err, TB_EUSAGE, "--%s: a number from %llu to %llu", name,
		       (unsigned long long)least, (unsigned long long)most);
}

static enum cli_exit
serve_all(struct serving *s)
{
	struct tb_err err;
	enum tb_status status = cli_ctx(s->cli, &s->ctx, &err);

	if (!status)
		status = cli_run(s->cli, "Loading", serve_load, s, &err);
	if (!status) {
		announce(s);
		status = run_quietly(s->cli, serve_run, s, &err);
	}
	op_ctx_free(&s->ctx);
	return status ? cli_fail(&err) : CLI_OK;
}

COMMAND(cli_serve, "serve", "REF...",
	"serve models over HTTP, as OpenAI's and Ollama's servers do")
{
	struct serving s = { .cli = cli, .opts.keep = -1 };
	struct serve_opts *o = &s.opts;
	uint64_t port = SERVE_PORT, context = 0, slots = SERVE_SLOTS, queue = SERVE_QUEUE;
	uint64_t seconds = SERVE_SECONDS;
	const char *memory = NULL;
	bool plain = false;
	const struct tb_opt opts[] = {
		{ 'p', "port", TB_OPT_U64, &port, "N", "where it listens; 0 = any that is free "
		  "(11435)" },
		{ 0, "listen", TB_OPT_STR, &o->listen, "ADDRESS", "of the interface, in numbers; where "
		  "others can reach it --key-file is needed (127.0.0.1)" },
		{ 0, "key-file", TB_OPT_STR, &o->key_file, "FILE", "one line, the key that programs must "
		  "show; the file must be yours alone" },
		{ 0, "ctx", TB_OPT_U64, &context, "N", "tokens that a conversation can have (the "
		  "model's num_ctx, else 8192)" },
		{ 0, "slots", TB_OPT_U64, &slots, "N", "answers at a time, 1 to 8, each with a "
		  "memory of its own (8)" },
		{ 0, "queue", TB_OPT_U64, &queue, "N", "requests that may wait behind them (64)" },
		{ 0, "timeout", TB_OPT_U64, &seconds, "S", "seconds that an answer may take; 0 = any "
		  "(600)" },
		{ 0, "memory", TB_OPT_STR, &memory, "SIZE", "of models that are loaded at a time; others "
		  "are when they are asked for, and what was asked longest ago makes room (three "
		  "quarters of this machine's)" },
		{ 0, "keep-alive", TB_OPT_F64, &o->keep, "S", "seconds after which a model that nobody "
		  "asks goes from memory; keep_alive of Ollama's API says otherwise (never)" },
		{ 0, "draft", TB_OPT_STR, &o->draft, "REF", "a small model of the "
		  "same family that guesses ahead; the text is the same, only faster" },
		{ 0, "no-speculate", TB_OPT_FLAG, &plain, NULL, "do not guess ahead: "
		  "token by token" },
		RUN_ENGINE_OPTIONS(cli),
		{ .name = NULL }
	};
	struct tb_err err;
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 1, -1, &status))
		return status;
	if (take_small("port", port, 0, UINT16_MAX, &err) ||
	    take_small("slots", slots, 1, SERVE_SLOTS, &err) ||
	    take_small("queue", queue, 0, 10000, &err) ||
	    take_small("ctx", context, 0, INT32_MAX, &err) ||
	    take_small("timeout", seconds, 0, 1000000, &err))
		return cli_fail(&err);
	if (memory && !tb_parse_bytes(memory, &o->memory))
		return cli_usage("serve: --memory: a size like 24GB");
	if (plain && o->draft)
		return cli_usage("serve: --draft and --no-speculate: take one of them");
	o->refs = (const char *const *)argv + 1;
	o->nrefs = (size_t)argc - 1;
	o->port = (uint16_t)port;
	o->context = (uint32_t)context;
	o->slots = (unsigned)slots;
	o->queue = (unsigned)queue;
	o->seconds = (double)seconds;
	o->guess = plain ? GUESS_NEVER : GUESS_WORTH;
	o->log = log_line;
	o->log_arg = cli;
	return serve_all(&s);
}
