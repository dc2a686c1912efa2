/* cmd_ls.c - "tbtui ls": models of the index. */
#include "config.h"

#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/cli/table.h"
#include "src/format/json.h"

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

static void
ls_row(struct cli_table *t, const struct db_model *m)
{
	char params[16], size[16], only[16], time[32], family[MODEL_FAMILY_MAX];

	cli_cells(t, m->name, kind_name(m->kind),
		  *m->arch ? model_family(m->arch, family) : "-",
		  m->params ? tb_human_count(m->params, params) : "-",
		  *m->scheme ? m->scheme : "-", tb_human_bytes(m->bytes, size),
		  tb_human_bytes(m->exclusive, only), db_model_word(m), NULL);
	cli_cellf(t, "%.10s", tb_time_rfc3339(m->mtime_ns, time));
}

static enum cli_exit
ls_print(const struct cli *cli, const struct db_models *models)
{
	struct cli_table t = { .align = "mlmrlrrll", .drop = "085431726", .wide = cli->wide };
	cJSON *o, *list;

	if (cli->json) {
		o = json_object();
		list = json_array();
		for (size_t i = 0; i < models->n; i++)
			json_push(list, model_json(&models->rows[i]));
		json_set(o, "models", list);
		return cli_print_json(o);
	}
	if (!models->n)
		return CLI_OK;
	cli_cells(&t, "NAME", "KIND", "ARCH", "PARAMS", "SCHEME", "SIZE", "ONLY THIS", "STATE",
		  "MODIFIED", NULL);
	for (size_t i = 0; i < models->n; i++)
		ls_row(&t, &models->rows[i]);
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
ls_models(const struct cli *cli, struct cli_index *x, struct db_query *q)
{
	struct db_models models;
	struct db_totals t;
	struct tb_err err;
	enum cli_exit status;

	q->roots = x->roots;
	if (db_models(x->db, q, &models, &err))
		return cli_fail(&err);
	status = ls_print(cli, &models);
	if (!models.n && (q->filter || q->roots))
		cli_note(cli, "no indexed model fits; \"tbtui scan\" looks for new ones");
	else if (!models.n && !db_totals(x->db, NULL, &t, NULL) && t.scanned_ns)
		cli_explain(cli, &x->ctx, "there are no models");
	if (!models.n && status == CLI_OK)
		status = CLI_WRONG;
	tb_arena_free(&models.mem);
	return status;
}

COMMAND(cli_ls, "ls", "[PATTERN]", "list the models")
{
	struct db_query q = { 0 };
	const struct tb_opt opts[] = {
		{ 'S', "sort", TB_OPT_STR, &q.sort, "KEY", "name, kind, arch, params, scheme, size, "
		  "exclusive, tensors, state or modified" },
		{ 'r', "reverse", TB_OPT_FLAG, &q.reverse, NULL, "in reverse order" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct cli_index x;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &status))
		return status;
	q.filter = argc > 1 ? argv[1] : NULL;
	status = cli_index_open(&x, cli, &err) ? cli_fail(&err) : ls_models(cli, &x, &q);
	cli_index_close(&x);
	return status;
}
