/* cmd_sql.c - "tbtui sql": read-only questions to the index. */
#include "config.h"

#include <stdio.h>

#include "src/cli/index.h"
#include "src/format/json.h"

struct sql_rows {
	bool titled;
	cJSON *columns, *list;		/* NULL: text */
};

/* A row of cells, or of titles. */
static void
sql_line(cJSON *cells, int n, const char *const *values)
{
	for (int i = 0; i < n; i++) {
		if (cells) {
			json_push_str(cells, values[i]);
			continue;
		}
		fputs(i ? "\t" : "", stdout);
		cli_put(values[i] ? values[i] : "");
	}
	if (!cells)
		putchar('\n');
}

static enum tb_status
sql_row(void *arg, int n, const char *const *names, const char *const *values, struct tb_err *err)
{
	struct sql_rows *r = arg;
	cJSON *cells = r->list ? json_array() : NULL;

	(void)err;
	if (!r->titled)
		sql_line(r->columns, n, names);
	r->titled = true;
	sql_line(cells, n, values);
	if (r->list)
		json_push(r->list, cells);
	return TB_OK;
}

COMMAND(cli_sql, "sql", "[QUERY]",
	"query the index (read-only); without QUERY, list its tables")
{
	struct sql_rows r = { .titled = false };
	cJSON *doc = NULL;
	enum cli_exit status;
	enum tb_status failed;
	struct cli_index x;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 1, &status))
		return status;
	if (cli->json) {
		doc = json_object();
		r.columns = json_array();
		r.list = json_array();
		json_set(doc, "columns", r.columns);
		json_set(doc, "rows", r.list);
	}
	failed = cli_index_open(&x, cli, &err);
	if (!failed)
		failed = db_sql(x.db, argc > 1 ? argv[1] : db_tables_sql, sql_row, &r, &err);
	cli_index_close(&x);
	if (!failed)
		return doc ? cli_print_json(doc) : CLI_OK;
	json_free(doc);
	return cli_fail(&err);
}
