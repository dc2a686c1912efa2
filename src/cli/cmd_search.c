/* cmd_search.c - "tbtui search": tensors of all models in the index, by name. */
#include "config.h"

#include <stdio.h>

#include "db/tensors.h"
#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/face/words.h"
#include "src/format/json.h"

#define WORDS_MAX 65536

static cJSON *
found_json(const struct db_tensor *t)
{
	cJSON *o = json_object();

	json_set_str(o, "model", t->model_name);
	json_set_str(o, "name", t->name);
	json_set_str(o, "dtype", t->dtype);
	cli_set_shape(o, "shape", t->dim, t->ndim);
	json_set_str(o, "scheme", t->scheme);
	json_set_u64(o, "parameters", t->elems);
	json_set_u64(o, "bytes", t->bytes);
	json_set_str(o, "file", t->file);
	json_set_u64(o, "offset", t->off);
	return o;
}

static enum cli_exit
search_print(const struct cli *cli, const struct db_tensors *found)
{
	struct cli_table table = { .align = "llllr" };
	cJSON *o, *list;

	if (cli->json) {
		o = json_object();
		list = json_array();
		json_set_u64(o, "total", found->total);
		for (size_t i = 0; i < found->n; i++)
			json_push(list, found_json(&found->rows[i]));
		json_set(o, "tensors", list);
		return cli_print_json(o);
	}
	if (found->n)
		cli_cells(&table, "MODEL", "NAME", "SCHEME", "SHAPE", "SIZE", NULL);
	for (size_t i = 0; i < found->n; i++) {
		const struct db_tensor *t = &found->rows[i];
		char shape[WORD_MAX], size[16];

		cli_cells(&table, t->model_name, t->name, t->scheme,
			  word_shape(t->dim, t->ndim, " x ", shape),
			  tb_human_bytes(t->bytes, size), NULL);
	}
	return cli_table_end(&table) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
search(const struct cli *cli, struct cli_index *x, struct db_query *q)
{
	struct db_tensors found;
	struct tb_err err;
	enum cli_exit status;
	char line[96];

	q->roots = x->roots;
	if (db_search(x->db, q, &found, &err))
		return cli_fail(&err);
	status = search_print(cli, &found);
	snprintf(line, sizeof(line), "%ju of %ju shown; --limit 0 shows all", (uintmax_t)found.n,
		 (uintmax_t)found.total);
	if (found.n < found.total && !cli->json)
		cli_note(cli, line);
	if (!found.total)
		cli_note(cli, "no tensor of an indexed model has that in its name");
	if (!found.total && status == CLI_OK)
		status = CLI_WRONG;
	tb_arena_free(&found.mem);
	return status;
}

COMMAND(cli_search, "search", "WORD...", "find tensors of all models by name")
{
	struct db_query q = { .limit = 1000 };
	const struct tb_opt opts[] = {
		{ 'S', "sort", TB_OPT_STR, &q.sort, "KEY", "model, name or size" },
		{ 'r', "reverse", TB_OPT_FLAG, &q.reverse, NULL, "in reverse order" },
		{ 'n', "limit", TB_OPT_U64, &q.limit, "N", "at most N rows (1000); "
		  "0: all" },
		{ 0, "offset", TB_OPT_U64, &q.offset, "N", "skip the first N" },
		{ .name = NULL }
	};
	struct tb_buf words = TB_BUF(WORDS_MAX);
	enum cli_exit status;
	struct cli_index x = { .db = NULL };
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, -1, &status))
		return status;
	for (int i = 1; i < argc; i++)
		tb_buf_printf(&words, "%s%s", i > 1 ? " " : "", argv[i]);
	q.filter = tb_buf_cstr(&words);
	if (tb_buf_status(&words, "the words", &err) || cli_index_open(&x, cli, &err))
		status = cli_fail(&err);
	else
		status = search(cli, &x, &q);
	cli_index_close(&x);
	tb_buf_free(&words);
	return status;
}
