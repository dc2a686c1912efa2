/* cmd_undo.c - tbtui undo: what was taken away, back again, or gone for good. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/cli/tidy.h"
#include "src/face/after.h"
#include "src/format/json.h"

struct task {
	struct op_ctx ctx;
	struct tidy_empty req;
	bool empty, dry;
	uint64_t n;
	struct tidy shown, t;		/* shown: what was asked about */
	struct tb_err late;
};

/* ---- undo --list ---- */

static enum cli_exit
list_json(const struct tidy_ops *ops)
{
	cJSON *doc = json_object(), *list = json_array();
	char time[32];

	for (size_t i = 0; i < ops->n; i++) {
		const struct tidy_op *op = &ops->v[i];
		cJSON *o = json_object();

		json_set_u64(o, "number", op->n);
		json_set_str(o, "store", op->root);
		json_set_str(o, "what", op->what);
		json_set_str(o, "when", op->when_ns ? tb_time_rfc3339(op->when_ns, time) : NULL);
		json_set_str(o, "state", op->problem ? "unreadable" : journal_state_word(op->state));
		json_set_u64(o, "files", op->things);
		json_set_u64(o, "bytes", op->bytes);
		json_set_str(o, "problem", op->problem);
		json_push(list, o);
	}
	json_set(doc, "operations", list);
	return cli_print_json(doc);
}

static enum cli_exit
list_text(const struct cli *cli, const struct tidy_ops *ops)
{
	struct cli_table t = { .align = "rllrml", .drop = "045132", .wide = cli->wide };

	cli_cells(&t, "N", "WHEN", "STATE", "HOLDS", "WHAT", "STORE", NULL);
	for (size_t i = 0; i < ops->n; i++) {
		const struct tidy_op *op = &ops->v[i];
		char bytes[16], time[32];

		cli_cell_u64(&t, op->n);
		cli_cellf(&t, "%.16s", op->when_ns ? tb_time_rfc3339(op->when_ns, time) : "-");
		cli_cells(&t, op->problem ? "unreadable" : op->in_use ? "in use"
			  : tidy_op_killed(op) ? "unfinished" : journal_state_word(op->state), tb_human_bytes(op->bytes, bytes),
			  op->problem ? op->problem : op->what, op->root, NULL);
	}
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
undo_list(const struct cli *cli, struct op_ctx *ctx)
{
	struct tidy_ops ops;
	struct tb_err err;
	enum cli_exit status;
	bool all = true;

	if (tidy_ops(ctx, &ops, &err))
		return cli_fail(&err);
	if (cli->json)
		status = list_json(&ops);
	else if (ops.n)
		status = list_text(cli, &ops);
	else
		status = (cli_line("there is nothing to undo"), CLI_OK);
	for (size_t i = 0; i < ops.n; i++)
		all &= ops.v[i].n > 0;
	tidy_ops_free(&ops);
	return status == CLI_OK && !all ? CLI_WRONG : status;
}

/* ---- undo N, undo --empty ---- */

static enum tb_status
undo_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status;

	status = t->empty ? op_undo_empty(&t->ctx, &t->req, job, &t->t, err)
			  : op_undo(&t->ctx, t->n, t->dry, job, &t->t, err);
	if (t->t.recovered || (!t->empty && !t->dry))
		after_writing(&t->ctx, status, &t->late);
	return status;
}

static enum cli_exit
undo_print(const struct cli *cli, const struct task *t)
{
	const struct tidy_stay *gone = &t->t.stays[TIDY_GONE];
	char bytes[16];
	enum cli_exit status = CLI_OK;

	if (cli->json)
		return cli_tidy_json(&t->t, t->dry);
	if (cli->quiet && !t->dry)
		return CLI_OK;
	if (t->dry || cli->verbose)
		status = cli_tidy_table(cli, &t->t);
	if (t->t.recovered)
		cli_line("%" PRIu64 " operation%s that %s killed: dealt with, as if %s had not been",
			 t->t.recovered, tb_plural(t->t.recovered), t->t.recovered == 1 ? "was" : "were",
			 t->t.recovered == 1 ? "it" : "they");
	for (size_t i = 0; i < t->t.unread.n; i++)
		cli_line("left alone: %s", t->t.unread.v[i]);
	if (!t->empty && !t->t.undo)
		return status;
	if (t->empty && !t->t.n)
		cli_line("nothing to empty");
	else if (t->empty)
		cli_line("%zu operation%s: %s%s", t->t.n, tb_plural(t->t.n),
			 tb_human_bytes(t->t.bytes, bytes), t->dry ? " would be free" : " are free");
	else
		cli_line("operation %" PRIu64 ": %zu thing%s %s back in place", t->t.undo, t->t.n,
			 tb_plural(t->t.n), t->dry ? "would be" : t->t.n == 1 ? "is" : "are");
	if (gone->files)
		cli_line("not back: %" PRIu64 " thing%s, %s: %s", gone->files, tb_plural(gone->files),
			 tb_human_bytes(gone->bytes, bytes), tidy_why_text(TIDY_GONE));
	return status;
}

/* What is deleted for good is named first. */
static enum tb_status
ask_empty(const struct cli *cli, struct task *t, struct tb_err *err)
{
	char question[256], bytes[16];
	enum tb_status status;
	bool yes = false;

	t->req.dry = true;
	status = op_undo_empty(&t->ctx, &t->req, NULL, &t->shown, err);
	t->req.dry = t->dry;
	t->req.shown = &t->shown;
	if (status || t->dry || !t->shown.n)
		return status;
	snprintf(question, sizeof(question), "Delete for good what %zu operation%s took away, %s?",
		 t->shown.n, tb_plural(t->shown.n), tb_human_bytes(t->shown.bytes, bytes));
	status = cli_confirm(cli, question, &yes, err);
	return status ? status : yes ? TB_OK : tb_fail(err, TB_EUSAGE, "left as it is");
}

static enum cli_exit
undo(const struct cli *cli, struct task *t)
{
	enum cli_exit shown = CLI_OK;
	enum tb_status status = TB_OK;
	struct tb_err err;

	if (t->empty)
		status = ask_empty(cli, t, &err);
	if (!status)
		status = cli_run(cli, "undo", undo_run, t, &err);
	if (tb_written(status))
		shown = undo_print(cli, t);
	if (shown == CLI_OK && (t->shown.unread.n || t->t.unread.n))
		shown = CLI_WRONG;		/* there may be more */
	tidy_free(&t->shown);
	tidy_free(&t->t);
	return cli_made_end(status, &err, &t->late, shown);
}

/* "90s", "15m", "12h", "30d", "2w"; a number alone is days. */
static bool
parse_age(const char *text, uint64_t *seconds)
{
	size_t n = strspn(text, "0123456789");
	char *digits = tb_strndup(text, n);
	uint64_t unit = !text[n] ? 86400 : text[n + 1] ? 0 : (uint64_t)tb_age_unit(text[n]);
	bool ok = digits && tb_parse_u64(digits, seconds);

	free(digits);
	return ok && unit && !__builtin_mul_overflow(*seconds, unit, seconds);
}

static enum cli_exit
undo_numbers(struct task *t, int argc, char **argv, uint64_t *numbers)
{
	for (int i = 1; i < argc; i++)
		if (!tb_parse_u64(argv[i], &numbers[i - 1]) || !numbers[i - 1])
			return cli_usage("\"%s\": is no number of an operation; see tbtui undo --list",
					 argv[i]);
	t->n = argc > 1 ? numbers[0] : 0;
	t->req.numbers = numbers;
	t->req.n = (size_t)argc - 1;
	return CLI_OK;
}

COMMAND(cli_undo, "undo", "[N...]",
	"take back what rm, prune, cp, mv, heal or dedupe did")
{
	struct task t = { 0 };
	const char *older = NULL;
	bool list = false;
	const struct tb_opt opts[] = {
		{ 'l', "list", TB_OPT_FLAG, &list, NULL, "what can be undone, and what it holds" },
		{ 0, "empty", TB_OPT_FLAG, &t.empty, NULL,
		  "delete for good what these operations took away (none named: all)" },
		{ 0, "older", TB_OPT_STR, &older, "AGE",
		  "with --empty: only operations at least this old (30d, 12h)" },
		{ 'n', "dry-run", TB_OPT_FLAG, &t.dry, NULL, "only say what would be done" },
		{ .name = NULL }
	};
	enum cli_exit status;
	uint64_t *numbers;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	if (older && (!t.empty || argc > 1 || !parse_age(older, &t.req.older)))
		return cli_usage("--older AGE goes with --empty and no numbers; AGE is 30d, 12h, 15m");
	if ((list && (t.empty || argc > 1)) || (!t.empty && argc > 2))
		return cli_usage("one operation is undone at a time, the last one first");
	numbers = tb_calloc((size_t)argc, sizeof(*numbers));
	if (!numbers)
		return cli_fail((tb_nomem(&err), &err));
	status = undo_numbers(&t, argc, argv, numbers);
	if (status == CLI_OK && cli_ctx(cli, &t.ctx, &err)) {
		status = cli_fail(&err);
	} else if (status == CLI_OK) {
		status = list ? undo_list(cli, &t.ctx) : undo(cli, &t);
		op_ctx_free(&t.ctx);
	}
	free(numbers);
	return status;
}
