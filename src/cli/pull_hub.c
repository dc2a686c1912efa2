#include "config.h"

#include "src/cli/pull_hub.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

struct hub_task {
	struct op_ctx *ctx;
	struct hub_pull *pull;
	struct hub_pull_plan plan;
	struct hub_pull_result res;
	struct tb_err late;		/* what after_pull() had to tell */
};

static enum tb_status
hub_pull_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct hub_task *t = arg;
	enum tb_status status = op_hub_pull(t->pull, job, &t->res, err);

	after_pull(t->ctx, job, status, &t->late);
	return status;
}

static enum tb_status
hub_plan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct hub_task *t = arg;

	return op_hub_pull_plan(t->pull, job, &t->plan, err);
}

static cJSON *
hub_plan_json(const struct hub_pull_plan *p)
{
	cJSON *doc = json_object();

	json_set_str(doc, "name", p->name);
	json_set_str(doc, "store", p->root);
	json_set_str(doc, "path", p->snapshot);
	json_set_str(doc, "commit", p->commit);
	json_set_bool(doc, "current", p->current);
	json_set_u64(doc, "files", p->files);
	json_set_u64(doc, "bytes", p->bytes);
	json_set_u64(doc, "files_to_load", p->come_files);
	json_set_u64(doc, "bytes_to_load", p->come);
	json_set_u64(doc, "bytes_to_check", p->unsure);
	json_set_u64(doc, "files_left_out", p->left_files);
	json_set_u64(doc, "bytes_left_out", p->left);
	if (p->room == UINT64_MAX)
		json_set(doc, "bytes_free", json_string(NULL));
	else
		json_set_u64(doc, "bytes_free", p->room);
	return doc;
}

static void
say_left(const struct hub_pull_plan *p)
{
	char left[16], names[200];

	if (p->left_files)
		cli_line("left out: %zu file%s, %s (%s%s); --include takes others", p->left_files,
			 tb_plural(p->left_files), tb_human_bytes(p->left, left),
			 tb_text_clean(p->left_names, names, sizeof(names)),
			 p->left_files > 3 ? ", ..." : "");
}

static enum cli_exit
hub_plan_print(const struct cli *cli, const struct hub_pull_plan *p)
{
	char all[16], come[16], unsure[16], room[16];

	if (cli->json)
		return cli_print_json(hub_plan_json(p));
	cli_line("%s: %s in %zu file%s, commit %.12s", p->name, tb_human_bytes(p->bytes, all), p->files,
		 tb_plural(p->files), p->commit);
	if (p->come_files)
		cli_line("%s in %zu file%s would be loaded", tb_human_bytes(p->come, come),
			 p->come_files, tb_plural(p->come_files));
	else
		cli_line("nothing would be loaded");
	if (p->unsure)
		cli_line("%s that are there would be checked first, and loaded if they are damaged",
			 tb_human_bytes(p->unsure, unsure));
	if (p->room != UINT64_MAX && p->come)
		cli_line("%s are free in %s", tb_human_bytes(p->room, room), p->root);
	say_left(p);
	return CLI_OK;
}

static enum cli_exit
hub_result_json(const struct hub_pull_result *r)
{
	cJSON *doc = hub_plan_json(&r->plan);

	json_set_u64(doc, "bytes_moved", r->moved);
	json_set_u64(doc, "files_mended", r->mended);
	if (r->undo)
		json_set_u64(doc, "undo", r->undo);
	else
		json_set(doc, "undo", json_string(NULL));
	json_set_f64(doc, "seconds", r->seconds);
	return cli_print_json(doc);
}

static enum cli_exit
hub_result_print(const struct cli *cli, const struct hub_pull_result *r)
{
	const struct hub_pull_plan *p = &r->plan;
	char all[16], moved[16], rate[16], time[16];

	if (cli->json)
		return hub_result_json(r);
	if (cli->quiet)
		return CLI_OK;
	cli_line("%s: %s%s in %zu file%s, in %s", p->name,
		 p->current && !r->mended ? "up to date, " : "", tb_human_bytes(p->bytes, all), p->files,
		 tb_plural(p->files), p->snapshot);
	if (r->moved)
		cli_line("%s loaded in %s (%s/s)", tb_human_bytes(r->moved, moved),
			 tb_human_time(r->seconds, time),
			 tb_human_bytes((uint64_t)((double)r->moved / (r->seconds + 1e-3)), rate));
	if (r->mended)
		cli_line("%zu damaged file%s replaced; \"tbtui undo %ju\" has what was there", r->mended,
			 r->mended == 1 ? " was" : "s were", (uintmax_t)r->undo);
	say_left(p);
	return CLI_OK;
}

enum cli_exit
cli_pull_failed(const struct cli *cli, const struct tb_err *err, uint64_t moved)
{
	enum cli_exit status = cli_fail(err);
	char text[100], bytes[16];

	if (!moved || (err->code != TB_ECANCEL && err->code != TB_EIO))
		return status;
	snprintf(text, sizeof(text), "%s came, which is kept: the same command goes on with it",
		 tb_human_bytes(moved, bytes));
	cli_note(cli, text);
	return status;
}

static void
hub_pull_last(const struct cli *cli, void *arg, const struct tb_err *err)
{
	const struct hub_task *t = arg;

	(void)cli_pull_failed(cli, err, t->res.moved);
}

enum cli_exit
cli_pull_hub(struct cli *cli, struct op_ctx *ctx, const struct hub_pull_request *req, bool dry)
{
	struct hub_task t = { .ctx = ctx };
	struct tb_err err;
	enum cli_exit shown = CLI_OK;
	enum tb_status status = hub_pull_new(&t.pull, ctx, req, &err);

	if (!status)
		status = cli_run_to(cli, "pull", dry ? hub_plan_run : hub_pull_run, &t, hub_pull_last,
				    &err);
	if (!status && dry)
		shown = hub_plan_print(cli, &t.plan);
	else if (tb_written(status) && !dry)
		shown = hub_result_print(cli, &t.res);
	if (t.late.code && shown == CLI_OK)
		shown = cli_complain(&t.late);
	if (status)
		shown = cli_pull_failed(cli, &err, t.res.moved);
	hub_pull_free(t.pull);
	hub_pull_plan_free(&t.plan);
	hub_pull_result_free(&t.res);
	return shown;
}
