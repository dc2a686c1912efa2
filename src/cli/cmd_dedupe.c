/* cmd_dedupe.c - tbtui dedupe: equal files become one on the disk. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/ops/dedupe/dedupe.h"
#include "src/ops/home/home.h"

#define LEAST (64 * 1024)	/* bytes: below that blocks and names cost what is gained */

struct task {
	struct op_ctx *ctx;
	struct dedupe_request req;
	struct dedupe_plan plan;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
plan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;

	return op_dedupe_plan(t->ctx, &t->req, job, &t->plan, err);
}

static enum tb_status
dedupe_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_dedupe(t->ctx, &t->plan, job, err);

	after_writing(t->ctx, t->plan.done ? TB_OK : TB_EIO, &t->late);
	return status;
}

/* ---- for programs ---- */

static enum cli_exit
plan_json(const struct dedupe_plan *p, bool dry_run)
{
	cJSON *o = json_object(), *actions = json_array(), *refused = json_array();
	cJSON *undos = json_array();

	for (size_t i = 0; i < p->n; i++) {
		const struct dedupe_item *item = &p->items[i];
		cJSON *one = json_object();

		json_set_str(one, "action", dedupe_how_word(item->how));
		json_set_str(one, "model", item->file.model);
		json_set_str(one, "blob", item->digest);
		json_set_str(one, "path", item->file.path);
		json_set_u64(one, "bytes", item->bytes);
		json_set_str(one, "keep", item->keep.path);
		json_set_u64(one, "set", item->set);
		if (item->why)
			json_set_str(one, "why", item->why);
		json_push(item->why ? refused : actions, one);
	}
	json_set_bool(o, "dry_run", dry_run);
	json_set(o, "actions", actions);
	json_set_u64(o, "bytes_freed", dry_run ? p->bytes : p->freed + p->held);
	json_set_u64(o, "bytes_held", dry_run ? p->link_bytes : p->held);
	if (p->nundo)
		json_set_u64(o, "undo", p->undo[0]);
	else
		json_set_str(o, "undo", NULL);
	for (size_t i = 0; i < p->nundo; i++)
		json_push_u64(undos, p->undo[i]);
	json_set(o, "undos", undos);
	json_set(o, "refused", refused);
	json_set_u64(o, "files", p->files);
	json_set_u64(o, "unread", p->failed + p->nunread);
	json_set_f64(o, "seconds", p->seconds);
	return cli_print_json(o);
}

/* ---- for people ---- */

static void
print_plan(const struct dedupe_plan *p)
{
	char a[16], b[16];

	for (size_t i = 0; i < p->n; i++) {
		const struct dedupe_item *item = &p->items[i];

		if (!i || p->items[i - 1].set != item->set)
			cli_line("%s  %s", tb_human_bytes(item->keep.size, a), item->keep.path);
		cli_line("  = %s", item->file.path);
		if (item->why)
			cli_line("      stays: %s", item->why);
	}
	printf("%ju file%s looked at, %ju can be one with an equal one: %s", (uintmax_t)p->files,
	       tb_plural(p->files), (uintmax_t)p->todo, tb_human_bytes(p->bytes, a));
	if (p->links)
		printf(", of them %s by hard links", tb_human_bytes(p->link_bytes, b));
	putchar('\n');
}

static void
print_done(const struct dedupe_plan *p)
{
	char size[16];

	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].why && p->items[i].bytes)
			cli_line("%s stays: %s", p->items[i].file.path, p->items[i].why);
	if (p->freed)
		printf("%s are free\n", tb_human_bytes(p->freed, size));
	if (p->held)
		printf("moved %s to the quarantine\n", tb_human_bytes(p->held, size));
	for (size_t i = 0; i < p->nundo; i++)
		printf("\"tbtui undo %ju\" brings them back, \"tbtui undo --empty %ju\" frees them\n",
		       (uintmax_t)p->undo[i], (uintmax_t)p->undo[i]);
}

/* Reflinks do no harm and are asked for once; a hard link is asked for each time. */
static enum tb_status
ask(const struct cli *cli, struct dedupe_plan *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool reflink = true, link = true;
	char question[900], clean[2 * sizeof(question)], size[16];

	if (p->todo > p->links) {
		snprintf(question, sizeof(question), "Let %ju files share their bytes with equal ones, "
			 "which frees %s?", (uintmax_t)(p->todo - p->links),
			 tb_human_bytes(p->bytes - p->link_bytes, size));
		status = cli_confirm(cli, question, &reflink, err);
	}
	for (size_t i = 0; !status && i < p->n; i++) {
		struct dedupe_item *item = &p->items[i];

		if (item->why)
			continue;
		if (item->how == DEDUPE_LINK && item->bytes) {
			snprintf(question, sizeof(question), "%.380s (%s) becomes another name of %.380s: "
				 "who writes into one changes both. Do it?", item->file.path,
				 tb_human_bytes(item->bytes, size), item->keep.path);
			status = cli_confirm(cli, tb_text_clean(question, clean, sizeof(clean)), &link,
					     err);
		}
		if (item->how == DEDUPE_LINK ? !link : !reflink)
			item->why = "not wanted";
	}
	return status;
}

static enum cli_exit
dedupe_do(const struct cli *cli, struct task *t, bool dry_run, struct tb_err *err)
{
	struct dedupe_plan *p = &t->plan;
	enum cli_exit status = CLI_OK;
	uint64_t todo = 0;

	if (cli_run(cli, "dedupe", plan_run, t, err))
		return cli_fail(err);
	if (!cli->json && !cli->quiet)
		print_plan(p);
	for (size_t i = 0; i < p->nunread; i++)
		cli_note(cli, p->unread[i]);
	if (p->failed || p->nunread)
		cli_note(cli, "not all files could be read; \"tbtui verify\" says which and why");
	if (!p->files)
		cli_note(cli, "there are no files to compare");
	if (!dry_run && p->todo) {
		if (ask(cli, p, err))
			return cli_fail(err);
		for (size_t i = 0; i < p->n; i++)
			todo += !p->items[i].why;
		if (cli_run(cli, "dedupe", dedupe_run, t, err))
			status = cli_fail(err);
		if (!cli->json && !cli->quiet)
			print_done(p);
	}
	if (cli->json && plan_json(p, dry_run) != CLI_OK)
		status = CLI_FAILED;
	if (t->late.code && status == CLI_OK)
		status = cli_complain(&t->late);
	if (status != CLI_OK)
		return status;
	if (!p->files)
		return CLI_FAILED;
	return p->done < todo || p->failed || p->nunread ? CLI_WRONG : CLI_OK;
}

COMMAND(cli_dedupe, "dedupe", "",
	"make equal files share their space, where the disk can")
{
	bool dry_run = false;
	struct task t = { .req = { .min = LEAST } };
	const struct tb_opt opts[] = {
		{ 'n', "dry-run", TB_OPT_FLAG, &dry_run, NULL, "say what would be done, and do nothing" },
		{ 0, "min", TB_OPT_U64, &t.req.min, "BYTES", "leave smaller files "
		  "alone (default: 65536)" },
		{ 0, "reflink-only", TB_OPT_FLAG, &t.req.reflink_only, NULL,
		  "never make hard links where the file system cannot share blocks" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 0, &status))
		return status;
	t.ctx = &ctx;
	t.req.recover = !dry_run;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = dedupe_do(cli, &t, dry_run, &err);
	dedupe_free(&t.plan);
	op_ctx_free(&ctx);
	return status;
}
