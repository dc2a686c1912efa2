/* cmd_pull.c - tbtui pull: a model from a registry into a store. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/unsafe.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/pull/pull.h"

struct task {
	struct op_ctx *ctx;
	struct pull *pull;
	struct pull_plan plan;
	struct pull_result res;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
pull_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_pull(t->pull, job, &t->res, err);

	after_writing(t->ctx, status, &t->late);
	return status;
}

static enum tb_status
dry_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;

	return op_pull_plan(t->pull, job, &t->plan, err);
}

/* ---- what would be ---- */

static enum cli_exit
plan_json(const struct pull_plan *p)
{
	cJSON *doc = json_object();

	json_set_str(doc, "name", p->name);
	json_set_str(doc, "from", p->from);
	json_set_str(doc, "store", p->root);
	json_set_str(doc, "digest", p->digest);
	json_set_str(doc, "taken", pull_name_word(p->taken));
	json_set_u64(doc, "blobs", p->blobs);
	json_set_u64(doc, "bytes", p->bytes);
	json_set_u64(doc, "blobs_to_load", p->come_blobs);
	json_set_u64(doc, "bytes_to_load", p->come);
	json_set_u64(doc, "bytes_to_check", p->unsure);
	if (p->room == UINT64_MAX)
		json_set(doc, "bytes_free", json_string(NULL));
	else
		json_set_u64(doc, "bytes_free", p->room);
	return cli_print_json(doc);
}

static enum cli_exit
plan_print(const struct cli *cli, const struct pull_plan *p)
{
	char all[16], come[16], unsure[16], room[16];

	if (cli->json)
		return plan_json(p);
	cli_line("%s: %s in %zu blob%s, from %s", p->name, tb_human_bytes(p->bytes, all), p->blobs,
		 tb_plural(p->blobs), p->from);
	if (p->come_blobs)
		cli_line("%s in %zu blob%s would be loaded", tb_human_bytes(p->come, come),
			 p->come_blobs, tb_plural(p->come_blobs));
	else
		cli_line("nothing would be loaded");
	if (p->unsure)
		cli_line("%s that are there would be checked first, and loaded if they are damaged",
			 tb_human_bytes(p->unsure, unsure));
	if (p->room != UINT64_MAX && p->come)
		cli_line("%s are free in %s", tb_human_bytes(p->room, room), p->root);
	if (p->taken == PULL_SAME)
		cli_line("the store has that very model");
	if (p->taken == PULL_OTHER)
		cli_line("the store has another model of that name; --replace takes this one and keeps"
			 " that");
	return CLI_OK;
}

/* ---- what was done ---- */

static enum cli_exit
result_json(const struct pull_result *r)
{
	cJSON *doc = json_object();

	json_set_str(doc, "name", r->name);
	json_set_str(doc, "from", r->from);
	json_set_str(doc, "store", r->root);
	json_set_str(doc, "digest", r->digest);
	json_set_bool(doc, "current", r->current);
	json_set_u64(doc, "blobs", r->blobs);
	json_set_u64(doc, "bytes", r->bytes);
	json_set_u64(doc, "blobs_loaded", r->come_blobs);
	json_set_u64(doc, "bytes_loaded", r->come);
	json_set_u64(doc, "bytes_moved", r->moved);
	json_set_u64(doc, "blobs_mended", r->mended);
	if (r->undo)
		json_set_u64(doc, "undo", r->undo);
	else
		json_set(doc, "undo", json_string(NULL));
	json_set_f64(doc, "seconds", r->seconds);
	kept_json(doc, &r->kept);
	return cli_print_json(doc);
}

static enum cli_exit
result_print(const struct cli *cli, const struct pull_result *r)
{
	char all[16], moved[16], rate[16], time[16];

	if (cli->json)
		return result_json(r);
	if (cli->quiet)
		return CLI_OK;
	cli_line("%s: %s%s in %zu blob%s, in %s", r->name, r->current ? "up to date, " : "",
		 tb_human_bytes(r->bytes, all), r->blobs, tb_plural(r->blobs), r->root);
	if (r->moved)
		cli_line("%s loaded from %s in %s (%s/s)", tb_human_bytes(r->moved, moved), r->from,
			 tb_human_time(r->seconds, time),
			 tb_human_bytes((uint64_t)((double)r->moved / (r->seconds + 1e-3)), rate));
	if (r->mended)
		cli_line("%zu damaged blob%s replaced; \"tbtui undo %ju\" has what was there",
			 r->mended, r->mended == 1 ? " was" : "s were", (uintmax_t)r->undo);
	kept_print(&r->kept);
	return CLI_OK;
}

/* ---- */

static enum cli_exit
pull_do(struct cli *cli, struct task *t, bool dry)
{
	struct tb_err err;
	enum tb_status failed = cli_run(cli, "pull", dry ? dry_run : pull_run, t, &err);
	enum cli_exit status = CLI_OK;

	if (!failed && dry)
		status = plan_print(cli, &t->plan);
	else if (!failed || failed == TB_ESYNC)
		status = result_print(cli, &t->res);
	if (failed)
		return cli_fail(&err);
	return t->late.code && status == CLI_OK ? cli_complain(&t->late) : status;
}

COMMAND(cli_pull, "pull", "NAME [AS]", "a model from a registry into a store")
{
	struct pull_request req = { 0 };
	struct task t = { 0 };
	uint64_t streams = 0;
	bool dry = false;
	const struct tb_opt opts[] = {
		{ 'f', "replace", TB_OPT_FLAG, &req.replace, NULL,
		  "the name may be taken; the old model is kept" },
		{ 'n', "dry-run", TB_OPT_FLAG, &dry, NULL, "only say what would be loaded" },
		{ 0, "streams", TB_OPT_U64, &streams, "N",
		  "connections at a time (default 8, at most 64)" },
		{ 0, "insecure", TB_OPT_FLAG, &req.insecure, NULL,
		  "ask the registry by plain HTTP, not by TLS" },
		{ 0, "tls-skip-verify", TB_OPT_FLAG, &req.skip_verify, NULL,
		  "take any certificate, whoever answers" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status))
		return status;
	if (streams > FETCH_STREAMS_MAX)
		return cli_usage("--streams: at most %u", FETCH_STREAMS_MAX);
	req.name = argv[1];
	req.as = argc > 2 ? argv[2] : NULL;
	req.streams = (unsigned)streams;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	cli_unsafe(cli, &ctx.config, req.name, req.insecure, req.skip_verify);
	t.ctx = &ctx;
	status = pull_new(&t.pull, &ctx, &req, &err) ? cli_fail(&err) : pull_do(cli, &t, dry);
	pull_free(t.pull);
	pull_plan_free(&t.plan);
	pull_result_free(&t.res);
	op_ctx_free(&ctx);
	return status;
}
