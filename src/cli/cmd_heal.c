/* cmd_heal.c - tbtui heal: damaged files of models get their bytes back. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/unsafe.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/ops/heal/heal.h"
#include "src/ops/home/home.h"
#include "src/ops/output/output.h"

struct task {
	struct op_ctx *ctx;
	struct heal_request req;
	struct heal_plan plan;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
plan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;

	return op_heal_plan(t->ctx, &t->req, job, &t->plan, err);
}

static enum tb_status
heal_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_heal(t->ctx, &t->plan, job, err);

	after_writing(t->ctx, t->plan.healed ? TB_OK : TB_EIO, &t->late);
	return status;
}

/* ---- for programs ---- */

static cJSON *
item_json(const struct heal_item *item)
{
	cJSON *o = json_object(), *list;

	json_set_str(o, "action", "heal");
	json_set_str(o, "model", item->model);
	json_set_str(o, "blob", item->digest);
	json_set_str(o, "path", item->path);
	json_set_u64(o, "bytes", item->size);
	json_set_str(o, "wrong", heal_wrong_word(item->wrong));
	if (item->why) {
		json_set_str(o, "why", item->why);
		return o;
	}
	json_set_str(o, "from", item->from);
	json_set_str(o, "source", item->source);
	list = json_array();
	for (size_t i = 0; i < item->npatches; i++) {
		const struct heal_patch *p = &item->patches[i];
		cJSON *one = json_object();

		json_set_str(one, "tensor", p->tensor);
		json_set_u64(one, "offset", p->off);
		json_set_u64(one, "bytes", p->len);
		json_set_str(one, "source", p->path);
		json_set_u64(one, "source_offset", p->from);
		json_push(list, one);
	}
	for (size_t i = 0; i < item->nranges; i++) {
		cJSON *one = json_object();

		json_set_u64(one, "offset", item->ranges[i].off);
		json_set_u64(one, "bytes", item->ranges[i].len);
		json_push(list, one);
	}
	json_set(o, "ranges", list);
	return o;
}

static enum cli_exit
plan_json(const struct heal_plan *p, bool dry_run)
{
	cJSON *o = json_object(), *actions = json_array(), *unhealed = json_array();
	cJSON *unread = json_array(), *bad = json_array(), *undos = json_array(), *checked = json_object();

	for (size_t i = 0; i < p->n; i++)
		json_push(p->items[i].why ? unhealed : actions, item_json(&p->items[i]));
	for (size_t i = 0; i < p->nbad; i++)
		json_push_str(bad, p->bad[i]);
	json_set_bool(o, "dry_run", dry_run);
	json_set(o, "actions", actions);
	json_set_u64(o, "bytes_freed", 0);
	if (p->nundo)
		json_set_u64(o, "undo", p->undo[0]);
	else
		json_set_str(o, "undo", NULL);
	for (size_t i = 0; i < p->nundo; i++)
		json_push_u64(undos, p->undo[i]);
	json_set(o, "undos", undos);
	json_set(o, "unhealed", unhealed);
	json_set(o, "unknown_damage", bad);
	for (size_t i = 0; i < p->nunread; i++)
		json_push_str(unread, p->unread[i]);
	json_set(o, "unread", unread);
	json_set_u64(checked, "models", p->models);
	json_set_u64(checked, "files", p->files);
	json_set_u64(checked, "bytes", p->bytes);
	json_set_u64(checked, "believed", p->believed);
	json_set_u64(checked, "unknown", p->unknown);
	json_set(o, "checked", checked);
	json_set_u64(o, "bytes_written", p->write);
	json_set_u64(o, "bytes_loaded", p->come);
	json_set_f64(o, "seconds", p->seconds);
	return cli_print_json(o);
}

/* ---- for people ---- */

/* A digest says little to a person whose file has a name. */
static const char *
item_name(const struct heal_item *item)
{
	return strstr(item->path, "/blobs/") ? item->digest : item->path;
}

static void
print_item(const struct heal_item *item)
{
	char size[16];

	cli_line("%s: %s %s", item->model, item_name(item), heal_wrong_text(item->wrong));
	if (item->why) {
		cli_line("    not healed: %s", item->why);
	} else if (item->nranges) {
		cli_line("    %s at %zu place%s of it from %s (%s)", tb_human_bytes(item->come, size),
			 item->nranges, tb_plural(item->nranges), item->source, item->from);
	} else if (item->source) {
		cli_line("    %s from %s (%s)", tb_human_bytes(item->size, size), item->source,
			 item->from);
	} else {
		for (size_t i = 0; i < item->npatches; i++)
			cli_line("    the tensor %s, %s, from %s (%s)", item->patches[i].tensor,
				 tb_human_bytes(item->patches[i].len, size), item->patches[i].path,
				 item->from);
	}
}

/* What the plan costs, or that there is none. */
static void
print_plan(const struct heal_plan *p)
{
	char write[16], room[16];
	uint64_t healable = p->n - p->failed, space;

	for (size_t i = 0; i < p->n; i++)
		print_item(&p->items[i]);
	for (size_t i = 0; i < p->nbad; i++)
		cli_line("%s", p->bad[i]);
	if (p->nbad)
		printf("No digest says what should be there: pull or import the model again\n");
	for (size_t i = 0; i < p->nunread; i++)
		cli_line("%s: what is in it is unknown", p->unread[i]);
	if (!p->n) {
		printf("%ju file%s of %ju model%s looked at: nothing to heal\n",
		       (uintmax_t)(p->files - p->unknown), tb_plural(p->files - p->unknown),
		       (uintmax_t)p->models, tb_plural(p->models));
		return;
	}
	printf("%zu of %ju file%s damaged, %ju can be healed", p->n, (uintmax_t)p->files,
	       tb_plural(p->files), (uintmax_t)healable);
	for (size_t i = 0; healable && i < p->n; i++) {
		if (p->items[i].why)
			continue;
		space = space_free(p->items[i].store);
		printf(": %s to write", tb_human_bytes(p->write, write));
		if (space != UINT64_MAX)
			printf(", %s free", tb_human_bytes(space, room));
		break;
	}
	putchar('\n');
}

static void
print_done(const struct heal_plan *p)
{
	for (size_t i = 0; i < p->n; i++)	/* the others were told before */
		if (p->items[i].why && (p->items[i].source || p->items[i].npatches))
			cli_line("%s: not healed: %s", item_name(&p->items[i]), p->items[i].why);
	printf("healed %ju of %zu\n", (uintmax_t)p->healed, p->n);
	for (size_t i = 0; i < p->nundo; i++)
		printf("\"tbtui undo %ju\" brings back what was there, \"tbtui undo --empty %ju\" "
		       "frees its bytes\n", (uintmax_t)p->undo[i], (uintmax_t)p->undo[i]);
}

/* What a manifest lists could not be looked at. */
static enum cli_exit
again(const struct heal_item *item)
{
	struct tb_err err;

	(void)tb_fail(&err, TB_EIO, "%s: its manifest is healed; run heal again for what it lists",
		      item->model);
	return cli_complain(&err);
}

static enum cli_exit
heal_do(const struct cli *cli, struct task *t, bool dry_run, struct tb_err *err)
{
	struct heal_plan *p = &t->plan;
	uint64_t checked, planned;
	enum cli_exit status = CLI_OK;

	cli_unsafe(cli, &t->ctx->config, "", t->req.insecure, t->req.skip_verify);
	if (cli_run(cli, "heal", plan_run, t, err))
		return cli_fail(err);
	for (size_t i = 0; heal_remote_name(p, i); i++)
		cli_unsafe(cli, &t->ctx->config, heal_remote_name(p, i), false, false);
	checked = p->files - p->unknown;
	planned = p->n - p->failed;
	if (!cli->json && (!cli->quiet || p->failed || p->nbad || p->nunread))
		print_plan(p);
	if (p->unknown) {
		char note[200];

		snprintf(note, sizeof(note), "%ju file%s of which nobody knows what they should be were"
			 " not looked at: \"tbtui verify\" records them, \"tbtui verify\" and heal "
			 "compare then", (uintmax_t)p->unknown, tb_plural(p->unknown));
		cli_note(cli, note);
	}
	if (!dry_run && planned) {
		if (cli_run(cli, "heal", heal_run, t, err))
			status = cli_fail(err);
		if (!cli->json && !cli->quiet)
			print_done(p);
	}
	if (cli->json && plan_json(p, dry_run) != CLI_OK)
		status = CLI_FAILED;
	if (t->late.code && status == CLI_OK)
		status = cli_complain(&t->late);
	for (size_t i = 0; i < p->n && status == CLI_OK; i++)
		if (p->items[i].manifest && p->items[i].done)
			status = again(&p->items[i]);
	if (status != CLI_OK)
		return status;
	return p->failed || p->nbad || p->nunread ? CLI_WRONG : checked ? CLI_OK : CLI_FAILED;
}

COMMAND(cli_heal, "heal", "[REF...]", "replace bad or missing files with good copies")
{
	struct tb_strs from = { 0 };
	bool dry_run = false;
	struct task t = { 0 };
	const struct tb_opt opts[] = {
		{ 'f', "from", TB_OPT_LIST, &from, "REF|FILE|DIR|URL",
		  "look there first for good bytes; repeatable. Other models, blobs and what was taken "
		  "away before are looked at in any case; https://HOST/REPO is a registry's, asked last" },
		{ 'r', "remote", TB_OPT_FLAG, &t.req.remote, NULL,
		  "what nothing here has is loaded from the registry that the model's name speaks of: where "
		  "a verify has recorded the sums of pieces, only those that differ" },
		{ 0, "insecure", TB_OPT_FLAG, &t.req.insecure, NULL, "ask registries by plain HTTP" },
		{ 0, "tls-skip-verify", TB_OPT_FLAG, &t.req.skip_verify, NULL,
		  "take any certificate, whoever answers" },
		{ 'n', "dry-run", TB_OPT_FLAG, &dry_run, NULL, "say what would be done, and do nothing" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	t.req.refs = (const char *const *)argv + 1;
	t.req.nrefs = (size_t)argc - 1;
	t.req.from = from.v;
	t.req.nfrom = from.n;
	t.req.recover = !dry_run;
	t.ctx = &ctx;
	if (cli_ctx(cli, &ctx, &err)) {
		status = cli_fail(&err);
	} else {
		status = heal_do(cli, &t, dry_run, &err);
		heal_free(&t.plan);
		op_ctx_free(&ctx);
	}
	tb_strs_free(&from);
	return status;
}
