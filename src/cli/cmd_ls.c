/* cmd_ls.c - "tbtui ls": models of the index. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "db/blob.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

static cJSON *
model_json(const struct db_model *m)
{
	cJSON *o = json_object();
	char time[32];

	json_set_str(o, "name", m->name);
	json_set_str(o, "kind", kind_name(m->kind));
	json_set_str(o, "path", m->path);
	json_set_str(o, "architecture", *m->arch ? m->arch : NULL);
	json_set_u64(o, "parameters", m->params);
	json_set_str(o, "scheme", *m->scheme ? m->scheme : NULL);
	json_set_u64(o, "size", m->bytes);
	json_set_u64(o, "exclusive_size", m->exclusive);
	json_set_u64(o, "tensors", m->tensors);
	json_set_str(o, "state", db_state_word(m->state));
	json_set_str(o, "modified", tb_time_rfc3339(m->mtime_ns, time));
	json_set_bool(o, "changed", m->changed);
	json_set_str(o, "verified", m->verified_ns ? tb_time_rfc3339(m->verified_ns, time) : NULL);
	json_set_u64(o, "problems", m->problems);
	return o;
}

static enum cli_exit
print_json(const struct db_models *models)
{
	cJSON *o = json_object(), *list = json_array();

	for (size_t i = 0; i < models->n; i++)
		json_push(list, model_json(&models->rows[i]));
	json_set(o, "models", list);
	return cli_print_json(o);
}

static void
text_row(struct cli_table *t, const struct db_model *m)
{
	char params[16], size[16], only[16], time[32], family[MODEL_FAMILY_MAX];

	cli_cell(t, m->name);
	cli_cell(t, kind_name(m->kind));
	cli_cell(t, *m->arch ? model_family(m->arch, family) : "-");
	cli_cell(t, m->params ? tb_human_count(m->params, params) : "-");
	cli_cell(t, *m->scheme ? m->scheme : "-");
	cli_cell(t, tb_human_bytes(m->bytes, size));
	cli_cell(t, tb_human_bytes(m->exclusive, only));
	cli_cell(t, db_model_word(m));
	cli_cellf(t, "%.10s", tb_time_rfc3339(m->mtime_ns, time));
}

static enum cli_exit
print_text(const struct cli *cli, const struct db_models *models)
{
	static const char *const titles[] = { "NAME", "KIND", "ARCH", "PARAMS", "SCHEME", "SIZE",
		"ONLY THIS", "STATE", "MODIFIED" };
	struct cli_table t = { .align = "mlmrlrrll", .drop = "085431726",
			       .wide = cli->wide };

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		cli_cell(&t, titles[i]);
	for (size_t i = 0; i < models->n; i++)
		text_row(&t, &models->rows[i]);
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
list(const struct cli *cli, struct op_ctx *ctx, struct db_query *q)
{
	struct db_models models;
	struct db_totals t;
	struct db *db = NULL;
	struct tb_err err;
	enum cli_exit status;

	q->roots = cli->stores.n ? &ctx->roots : NULL;
	if (cli_index(cli, ctx, &db, &err))
		return cli_fail(&err);
	if (db_models(db, q, &models, &err)) {
		db_close(db);
		return cli_fail(&err);
	}
	status = cli->json ? print_json(&models) : models.n ? print_text(cli, &models) : CLI_OK;
	if (!models.n && (q->filter || q->roots))
		cli_note(cli, "no indexed model fits; \"tbtui scan\" looks for new ones");
	else if (!models.n && !db_totals(db, NULL, &t, NULL) && t.scanned_ns)
		cli_explain(cli, ctx, "there are no models");
	if (!models.n && status == CLI_OK)
		status = CLI_WRONG;
	tb_arena_free(&models.mem);
	db_close(db);
	return status;
}

COMMAND(cli_ls, "ls", "[PATTERN]", "models of the index")
{
	struct db_query q = { 0 };
	const struct tb_opt opts[] = {
		{ 'S', "sort", TB_OPT_STR, &q.sort, "KEY", "name, kind, arch, params, scheme, size, "
		  "exclusive, tensors, state or modified" },
		{ 'r', "reverse", TB_OPT_FLAG, &q.reverse, NULL, "the other way round" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &status))
		return status;
	q.filter = argc > 1 ? argv[1] : NULL;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = list(cli, &ctx, &q);
	op_ctx_free(&ctx);
	return status;
}
