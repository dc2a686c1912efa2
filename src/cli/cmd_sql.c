/* cmd_sql.c - "tbtui sql": read-only questions to the index. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>

#include "db/blob.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

struct rows {
	bool json, titled;
	cJSON *columns, *list;
};

static enum tb_status
row(void *arg, int n, const char *const *names, const char *const *values, struct tb_err *err)
{
	struct rows *r = arg;
	cJSON *cells = r->json ? json_array() : NULL;

	(void)err;
	for (int i = 0; !r->titled && i < n; i++) {
		if (r->json) {
			json_push_str(r->columns, names[i]);
		} else {
			fputs(i ? "\t" : "", stdout);
			cli_put(names[i]);
		}
	}
	if (!r->titled && !r->json)
		putchar('\n');
	r->titled = true;
	for (int i = 0; i < n; i++) {
		if (r->json) {
			json_push_str(cells, values[i]);
		} else {
			fputs(i ? "\t" : "", stdout);
			cli_put(values[i] ? values[i] : "");
		}
	}
	if (r->json)
		json_push(r->list, cells);
	else
		putchar('\n');
	return TB_OK;
}

static enum cli_exit
query(const struct cli *cli, struct op_ctx *ctx, const char *sql)
{
	struct rows r = { .json = cli->json };
	cJSON *doc = cli->json ? json_object() : NULL;
	struct db *db = NULL;
	struct tb_err err;
	enum tb_status status;

	if (doc) {
		r.columns = json_array();
		r.list = json_array();
		json_set(doc, "columns", r.columns);
		json_set(doc, "rows", r.list);
	}
	status = cli_index(cli, ctx, &db, &err);
	if (!status)
		status = db_sql(db, sql, row, &r, &err);
	db_close(db);
	if (status) {
		json_free(doc);
		return cli_fail(&err);
	}
	return doc ? cli_print_json(doc) : CLI_OK;
}

COMMAND(cli_sql, "sql", "[QUERY]",
	"read-only SQL over the index; without QUERY its tables")
{
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 1, &status))
		return status;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = query(cli, &ctx, argc > 1 ? argv[1] : db_tables_sql);
	op_ctx_free(&ctx);
	return status;
}
