/* tidy.c - house-keeping, planned, asked for, done and told. */
#include "config.h"

#include "src/cli/tidy.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/face/after.h"
#include "src/format/json.h"

struct task {
	struct op_ctx *ctx;
	const struct tidy_request *req;
	struct tidy t;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
plan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;

	return tidy_plan(&t->t, t->ctx, t->req, job, err);
}

static enum tb_status
tidy_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = tidy_do(&t->t, t->ctx, job, err);

	after_writing(t->ctx, t->t.done ? TB_OK : status, &t->late);
	return status;
}

/* ---- as JSON ---- */

enum cli_exit
cli_tidy_json(const struct tidy *t, bool dry)
{
	cJSON *doc = json_object(), *actions = json_array(), *left = json_array();
	cJSON *unread = json_array();

	for (size_t i = 0; i < t->n; i++) {
		const struct tidy_action *a = &t->v[i];
		cJSON *o = json_object();

		json_set_str(o, "action", tidy_do_word(a->what));
		json_set_str(o, "model", *a->model ? a->model : NULL);
		json_set_str(o, "blob", *a->digest ? a->digest : NULL);
		json_set_str(o, "path", a->path);
		if (a->to)
			json_set_str(o, "to", a->to);
		json_set_u64(o, "bytes", a->bytes);
		json_set_u64(o, "size", a->size);
		json_push(actions, o);
	}
	for (int w = 0; w < TIDY_WHY_COUNT; w++) {
		cJSON *o;

		if (!t->stays[w].files)
			continue;
		o = json_object();
		json_set_str(o, "why", tidy_why_word((enum tidy_why)w));
		json_set_u64(o, "files", t->stays[w].files);
		json_set_u64(o, "bytes", t->stays[w].bytes);
		json_push(left, o);
	}
	for (size_t i = 0; i < t->unread.n; i++)
		json_push_str(unread, t->unread.v[i]);
	json_set_bool(doc, "dry_run", dry);
	json_set(doc, "actions", actions);
	json_set(doc, "left", left);
	json_set(doc, "unread", unread);
	json_set_u64(doc, "bytes_freed", t->bytes);
	if (t->undo)
		json_set_u64(doc, "undo", t->undo);
	else
		json_set_str(doc, "undo", NULL);
	return cli_print_json(doc);
}

/* ---- for people ---- */

enum cli_exit
cli_tidy_table(const struct cli *cli, const struct tidy *t)
{
	struct cli_table table = { .align = "lrml", .drop = "0312", .wide = cli->wide };

	if (!t->n)
		return CLI_OK;
	cli_cells(&table, "ACTION", "SIZE", "PATH", "MODEL", NULL);
	for (size_t i = 0; i < t->n; i++) {
		const struct tidy_action *a = &t->v[i];
		char size[16];

		cli_cells(&table, tidy_do_word(a->what), tb_human_bytes(a->size, size), a->path,
			  *a->model ? a->model : "-", NULL);
	}
	return cli_table_end(&table) ? CLI_OK : CLI_FAILED;
}

static uint64_t
count(const struct tidy *t, enum tidy_do what)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->v[i].what == what;
	return n;
}

/* "2 models, 14 files" */
static void
what_goes(const struct tidy *t, char *out, size_t size)
{
	uint64_t n = count(t, TIDY_REMOVE), folders = count(t, TIDY_CLEAR);
	int at = 0;

	*out = 0;
	if (t->models)
		at = snprintf(out, size, "%" PRIu64 " model%s, ", t->models, tb_plural(t->models));
	at += snprintf(out + at, size - (size_t)at, "%" PRIu64 " file%s", n, tb_plural(n));
	if (folders)
		snprintf(out + at, size - (size_t)at, ", %" PRIu64 " empty folder%s", folders,
			 tb_plural(folders));
}

static void
print_stays(const struct tidy *t)
{
	char bytes[16];

	for (int w = 0; w < TIDY_WHY_COUNT; w++)
		if (t->stays[w].files)
			cli_line("left alone: %" PRIu64 " file%s, %s: %s", t->stays[w].files,
				 tb_plural(t->stays[w].files), tb_human_bytes(t->stays[w].bytes, bytes),
				 tidy_why_text((enum tidy_why)w));
	for (size_t i = 0; i < t->unread.n; i++)
		cli_line(t->stays[TIDY_UNCLEAR].files ? "  %s" : "left alone: %s", t->unread.v[i]);
	for (size_t i = 0; i < t->pulls.n; i++)
		cli_line("  %s", t->pulls.v[i]);
	if ((t->stays[TIDY_YOUNG].files || t->stays[TIDY_DOWNLOAD].files) && !t->young)
		cli_line("  \"tbtui prune\" takes it later, if no model uses it then");
	if (t->linked)
		cli_line("%" PRIu64 " file%s %s other names (hard links): %s bytes are not free then",
			 t->linked, tb_plural(t->linked), t->linked == 1 ? "has" : "have",
			 t->linked == 1 ? "its" : "their");
}

/* A store that is looked into only if it is named has to be named for the undo as well. */
static const char *
undo_command(const struct tidy *t, const struct op_ctx *ctx, char *out, size_t size)
{
	snprintf(out, size, "tbtui undo");
	for (size_t i = 0; i < t->roots.n; i++)
		if (store_roots_above(&ctx->roots, t->roots.v[i]) == ctx->roots.n)
			snprintf(out, size, "tbtui --store %.400s undo", t->roots.v[i]);
	return out;
}

static void
print_done(const struct tidy *t, const struct op_ctx *ctx)
{
	char what[160], bytes[16], undo[440];

	what_goes(t, what, sizeof(what));
	undo_command(t, ctx, undo, sizeof(undo));
	if (count(t, TIDY_COPY) || count(t, TIDY_MOVE))
		cli_line("%s is %s %s; \"%s %" PRIu64 "\" takes that back", t->names.v[0],
			 t->kind == TIDY_CP ? "also" : "now", t->names.v[1], undo, t->undo);
	else if (t->undo)
		cli_line("%s: moved %s to the quarantine; \"%s %" PRIu64 "\" brings it back, \"%s "
			 "--empty %" PRIu64 "\" frees it", what, tb_human_bytes(t->bytes, bytes), undo,
			 t->undo, undo, t->undo);
	else
		cli_line("%s: gone", what);
}

static enum cli_exit
tidy_print(const struct cli *cli, const struct op_ctx *ctx, const struct tidy *t, bool dry)
{
	char what[160], bytes[16];
	enum cli_exit status = CLI_OK;

	if (cli->json)
		return cli_tidy_json(t, dry);
	if (cli->quiet && !dry)
		return CLI_OK;
	if (dry || cli->verbose)
		status = cli_tidy_table(cli, t);
	what_goes(t, what, sizeof(what));
	if (!t->n)
		cli_line("nothing to %s", t->kind == TIDY_PRUNE ? "prune" : "do");
	else if (!dry)
		print_done(t, ctx);
	else if (t->kind == TIDY_RM || t->kind == TIDY_PRUNE)
		cli_line("%s: would go to the quarantine; %s free when that is emptied", what,
			 tb_human_bytes(t->bytes, bytes));
	print_stays(t);
	return status;
}

/* ---- the question ---- */

static enum tb_status
ask(const struct cli *cli, const struct tidy *t, bool *yes, struct tb_err *err)
{
	char question[512], what[160], bytes[16], name[200] = "";

	*yes = true;
	if (t->kind != TIDY_RM && t->kind != TIDY_PRUNE)
		return TB_OK;
	what_goes(t, what, sizeof(what));
	if (t->models == 1 && t->kind == TIDY_RM)
		for (size_t i = 0; i < t->n && !*name; i++)
			tb_text_clean(t->v[i].model, name, sizeof(name));
	snprintf(question, sizeof(question), "Take away %s%s%s%s, %s? (\"tbtui undo\" brings it back.)",
		 name, *name ? " (" : "", what, *name ? ")" : "", tb_human_bytes(t->bytes, bytes));
	return cli_confirm(cli, question, yes, err);
}

enum cli_exit
cli_tidy(struct cli *cli, const struct tidy_request *req, bool dry)
{
	struct task t = { 0 };
	struct op_ctx ctx;
	struct tb_err err;
	enum cli_exit shown = CLI_OK;
	bool yes = false;
	enum tb_status status;

	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	t.ctx = &ctx;
	t.req = req;
	status = cli_run(cli, "plan", plan_run, &t, &err);
	if (!status && t.t.n && !dry) {
		status = ask(cli, &t.t, &yes, &err);
		if (!status && !yes)
			status = tb_fail(&err, TB_EUSAGE, "left as it is");
		if (!status)
			status = cli_run(cli, "tidy", tidy_run, &t, &err);
	}
	if (tb_written(status) || t.t.done)
		shown = tidy_print(cli, &ctx, &t.t, dry);
	if (!status && !t.t.n && req->kind != TIDY_PRUNE && shown == CLI_OK)
		shown = CLI_WRONG;		/* no match, or it could not be had */
	if (!status && t.t.unread.n && req->kind == TIDY_PRUNE && shown == CLI_OK)
		shown = CLI_WRONG;		/* there may be more to take */
	shown = cli_made_end(status, &err, &t.late, shown);
	tidy_free(&t.t);
	op_ctx_free(&ctx);
	return shown;
}

void
cli_tidy_note(const struct cli *cli, struct op_ctx *ctx)
{
	struct tidy_ops ops;
	uint64_t bytes = 0;
	size_t held = 0;
	char text[400], human[16];

	if (tidy_ops(ctx, &ops, NULL))
		return;
	for (size_t i = 0; i < ops.n; i++) {
		const struct tidy_op *o = &ops.v[i];

		held += o->bytes > 0;
		bytes += o->bytes;
		if (!tidy_op_killed(o))
			continue;
		snprintf(text, sizeof(text), "operation %" PRIu64 " of %.250s was killed: \"tbtui undo\" "
			 "deals with it, or the next command that writes there", o->n, o->root);
		cli_note(cli, text);
	}
	snprintf(text, sizeof(text), "%zu operation%s in the quarantine %s %s: \"tbtui undo --list\"",
		 held, tb_plural(held), held == 1 ? "holds" : "hold", tb_human_bytes(bytes, human));
	cli_note(cli, held ? text : "");
	tidy_ops_free(&ops);
}
