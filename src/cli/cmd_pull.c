/* cmd_pull.c - tbtui pull: a model from a registry into a store. */
#include "config.h"

#include <stdio.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/pull_hub.h"
#include "src/cli/unsafe.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/net/hub_name.h"
#include "src/ops/home/home.h"
#include "src/ops/pull/pull.h"

struct task {
	struct op_ctx *ctx;
	struct pull *pull;
	struct pull_plan plan;
	struct pull_result res;
	struct tb_err late;		/* what after_pull() had to tell */
};

static enum tb_status
pull_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_pull(t->pull, job, &t->res, err);

	after_pull(t->ctx, job, status, &t->late);
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
	json_set_u64(doc, "bytes_begun", p->begun);
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
	char all[16], come[16], begun[16], unsure[16], room[16];

	if (cli->json)
		return plan_json(p);
	cli_line("%s: %s in %zu blob%s, from %s", p->name, tb_human_bytes(p->bytes, all), p->blobs,
		 tb_plural(p->blobs), p->from);
	if (p->come_blobs)
		cli_line("%s in %zu blob%s would be loaded", tb_human_bytes(p->come, come),
			 p->come_blobs, tb_plural(p->come_blobs));
	else
		cli_line("nothing would be loaded");
	if (p->begun)
		cli_line("%s of that lie there from a pull that did not end",
			 tb_human_bytes(p->begun, begun));
	if (p->unsure)
		cli_line("%s that are there would be checked first, and loaded if they are damaged",
			 tb_human_bytes(p->unsure, unsure));
	if (p->room != UINT64_MAX && p->come)
		cli_line("%s are free in %s", tb_human_bytes(p->room, room), p->root);
	if (p->taken == PULL_SAME)
		cli_line("the store has that very model");
	if (p->taken == PULL_OTHER)
		cli_line("the store has another model of that name; --replace takes this one and"
			 " keeps that");
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

static void
pull_last(const struct cli *cli, void *arg, const struct tb_err *err)
{
	const struct task *t = arg;

	(void)cli_pull_failed(cli, err, t->res.moved);
}

static enum cli_exit
pull_do(struct cli *cli, struct task *t, bool dry)
{
	struct tb_err err;
	enum tb_status failed = cli_run_to(cli, "pull", dry ? dry_run : pull_run, t,
					   pull_last, &err);
	enum cli_exit status = CLI_OK;

	if (!failed && dry)
		status = plan_print(cli, &t->plan);
	else if (tb_written(failed))
		status = result_print(cli, &t->res);
	if (failed)
		return cli_pull_failed(cli, &err, t->res.moved);
	return t->late.code && status == CLI_OK ? cli_complain(&t->late) : status;
}

struct pull_args {
	struct pull_request req;
	struct tb_strs include, exclude;
	uint64_t streams;
	bool dry;
};

/* What is only of registries, or only of hubs; false: said. */
static bool
args_fit(const struct pull_args *a, bool hub, enum cli_exit *status)
{
	const struct pull_request *req = &a->req;

	if (a->streams > FETCH_STREAMS_MAX)
		*status = cli_usage("--streams: at most %u", FETCH_STREAMS_MAX);
	else if (!hub && (a->include.n || a->exclude.n))
		*status = cli_usage("--include and --exclude choose files of hf:ORG/NAME; a registry's"
				    " model is one thing");
	else if (hub && req->as)
		*status = cli_usage("a model of a hub is called as it is there");
	else if (hub && req->insecure)
		*status = cli_usage("--insecure: HF_ENDPOINT=http://HOST names a hub without TLS");
	else if (hub && req->replace)
		*status = cli_usage("--replace: revisions of a hub's model lie side by side");
	else
		return true;
	return false;
}

static enum cli_exit
pull_from_hub(struct cli *cli, struct op_ctx *ctx, struct pull_args *a)
{
	struct hub_pull_request req = { .name = a->req.name, .skip_verify = a->req.skip_verify,
					.streams = a->req.streams };

	if (!tb_grow(&a->include.v, &a->include.cap, a->include.n + 1, sizeof(*a->include.v)) ||
	    !tb_grow(&a->exclude.v, &a->exclude.cap, a->exclude.n + 1, sizeof(*a->exclude.v))) {
		struct tb_err err;

		(void)tb_nomem(&err);
		return cli_fail(&err);
	}
	a->include.v[a->include.n] = a->exclude.v[a->exclude.n] = NULL;
	req.include = a->include.v;
	req.exclude = a->exclude.v;
	return cli_pull_hub(cli, ctx, &req, a->dry);
}

static enum cli_exit
pull_from_registry(struct cli *cli, struct op_ctx *ctx, const struct pull_args *a)
{
	struct task t = { .ctx = ctx };
	struct tb_err err;
	enum cli_exit status = pull_new(&t.pull, ctx, &a->req, &err) ? cli_fail(&err)
								     : pull_do(cli, &t, a->dry);

	pull_free(t.pull);
	pull_plan_free(&t.plan);
	pull_result_free(&t.res);
	return status;
}

COMMAND(cli_pull, "pull", "NAME [AS]",
	"download a model from a registry, or hf:ORG/NAME from a hub")
{
	struct pull_args a = { .dry = false };
	const struct tb_opt opts[] = {
		{ 'f', "replace", TB_OPT_FLAG, &a.req.replace, NULL,
		  "the name may be taken; the old model is kept" },
		{ 'n', "dry-run", TB_OPT_FLAG, &a.dry, NULL, "only say what would be loaded" },
		{ 0, "include", TB_OPT_LIST, &a.include, "GLOB",
		  "of a hub: these files alone, not what a model needs" },
		{ 0, "exclude", TB_OPT_LIST, &a.exclude, "GLOB", "of a hub: not these files" },
		{ 0, "streams", TB_OPT_U64, &a.streams, "N",
		  "connections at a time (default 8, at most 64)" },
		{ 0, "insecure", TB_OPT_FLAG, &a.req.insecure, NULL,
		  "ask the registry by plain HTTP, not by TLS" },
		{ 0, "tls-skip-verify", TB_OPT_FLAG, &a.req.skip_verify, NULL,
		  "take any certificate, whoever answers" },
		{ .name = NULL }
	};
	enum cli_exit status = CLI_OK;
	struct op_ctx ctx;
	struct tb_err err;
	bool hub;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status))
		goto done;
	hub = hub_name_is(argv[1]);
	a.req.name = argv[1];
	a.req.as = argc > 2 ? argv[2] : NULL;
	a.req.streams = (unsigned)a.streams;
	if (!args_fit(&a, hub, &status))
		goto done;
	if (cli_ctx(cli, &ctx, &err)) {
		status = cli_fail(&err);
		goto done;
	}
	cli_unsafe(cli, &ctx.config, a.req.name, a.req.insecure, a.req.skip_verify);
	status = hub ? pull_from_hub(cli, &ctx, &a) : pull_from_registry(cli, &ctx, &a);
	op_ctx_free(&ctx);
done:
	tb_strs_free(&a.include);
	tb_strs_free(&a.exclude);
	return status;
}
