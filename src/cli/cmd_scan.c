/* cmd_scan.c - "tbtui scan". */
#include "config.h"

#include "src/cli/cli.h"
#include "src/cli/tidy.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/scan/scan.h"

struct scan_task {
	struct op_ctx *ctx;
	struct scan_request req;
	struct scan_result out;
};

static enum tb_status
scan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scan_task *a = arg;

	return op_scan(a->ctx, &a->req, job, &a->out, err);
}

static enum cli_exit
scan_json(const struct scan_result *r)
{
	cJSON *o = json_object(), *list = json_array();

	json_set_u64(o, "added", r->added);
	json_set_u64(o, "changed", r->changed);
	json_set_u64(o, "removed", r->removed);
	json_set_u64(o, "unchanged", r->unchanged);
	json_set_u64(o, "unseen", r->unseen);
	json_set_u64(o, "unreadable", r->unread);
	json_set_u64(o, "problems", r->problems);
	json_set_u64(o, "models", r->models);
	json_set_u64(o, "tensors", r->tensors);
	json_set_u64(o, "blobs", r->blobs);
	json_set_u64(o, "orphans", r->orphans);
	json_set_u64(o, "orphan_bytes", r->orphan_bytes);
	json_set_u64(o, "missing", r->missing);
	json_set_u64(o, "leftovers", r->left);
	for (size_t i = 0; i < r->nitems; i++) {
		cJSON *item = json_object();

		json_set_str(item, "change", scan_change_word(r->items[i].change));
		json_set_str(item, "name", r->items[i].name);
		json_set_str(item, "path", r->items[i].path);
		json_set_str(item, "problem", r->items[i].problem);
		json_push(list, item);
	}
	json_set(o, "items", list);
	json_set_f64(o, "seconds", r->seconds);
	json_set_str(o, "notice", *r->notice ? r->notice : NULL);
	return cli_print_json(o);
}

static void
scan_text(const struct cli *cli, const struct scan_result *r)
{
	char bytes[16];

	for (size_t i = 0; !cli->quiet && i < r->nitems; i++) {
		const struct scan_item *item = &r->items[i];
		/* what is wrong with a folder names it */
		bool named = item->problem && tb_starts(item->problem, item->path) &&
			     !strcmp(item->name, item->path);

		cli_line("%-10s  %s%s%s", scan_change_word(item->change), named ? "" : item->name,
			 named || !item->problem ? "" : ": ", item->problem ? item->problem : "");
	}
	printf("%ju model%s: %ju added, %ju changed, %ju removed, %ju unchanged; %ju tensor%s\n",
	       (uintmax_t)r->models, tb_plural(r->models), (uintmax_t)r->added,
	       (uintmax_t)r->changed, (uintmax_t)r->removed, (uintmax_t)r->unchanged,
	       (uintmax_t)r->tensors, tb_plural(r->tensors));
	if (r->unseen)
		printf("%ju model%s not seen: where they lie could not be read, so they stay listed\n",
		       (uintmax_t)r->unseen, tb_plural(r->unseen));
	if (r->problems)
		printf("%ju model%s with problems; \"tbtui verify\" tells which\n",
		       (uintmax_t)r->problems, tb_plural(r->problems));
	if (r->blobs || r->missing || r->left)
		printf("%ju blob%s, %ju missing, %ju orphan%s (%s), %ju leftover%s\n",
		       (uintmax_t)r->blobs, tb_plural(r->blobs), (uintmax_t)r->missing,
		       (uintmax_t)r->orphans, tb_plural(r->orphans),
		       tb_human_bytes(r->orphan_bytes, bytes), (uintmax_t)r->left,
		       tb_plural(r->left));
}

COMMAND(cli_scan, "scan", "[DIR...]", "index the stores")
{
	struct scan_task a = { 0 };
	const struct tb_opt opts[] = {
		{ 'a', "again", TB_OPT_FLAG, &a.req.again, NULL,
		  "open every model, even those that have not changed" },
		{ 0, "forget", TB_OPT_FLAG, &a.req.forget, NULL,
		  "drop stores from the index whose folders are gone" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	a.ctx = &ctx;
	a.req.dirs = (const char *const *)argv + 1;
	a.req.ndirs = (size_t)argc - 1;
	if (!a.req.ndirs && !ctx.roots.n) {
		cli_explain(cli, &ctx, "there is no store to scan");
		status = CLI_FAILED;
	} else if (cli_run(cli, "scan", scan_run, &a, &err)) {
		status = cli_fail(&err);
	} else {
		cli_note(cli, a.out.notice);
		cli_tidy_note(cli, &ctx);
		status = cli->json ? scan_json(&a.out) : CLI_OK;
		if (!cli->json)
			scan_text(cli, &a.out);
		if (!a.out.models && !a.req.ndirs)
			cli_explain(cli, &ctx, "there are no models");
		if (status == CLI_OK && a.out.unread)
			status = CLI_WRONG;
	}
	scan_result_free(&a.out);
	op_ctx_free(&ctx);
	return status;
}
