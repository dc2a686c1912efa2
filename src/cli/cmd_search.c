/* cmd_search.c - "tbtui search": tensors of all models in the index, by name. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>

#include "db/db.h"
#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/face/words.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

#define WORDS_MAX 65536

static cJSON *
tensor_json(const struct db_tensor *t)
{
	cJSON *o = json_object(), *shape = json_array();

	for (unsigned i = 0; i < t->ndim; i++)
		json_push_u64(shape, t->dim[i]);
	json_set_str(o, "model", t->model_name);
	json_set_str(o, "name", t->name);
	json_set_str(o, "dtype", t->dtype);
	json_set(o, "shape", shape);
	json_set_str(o, "scheme", t->scheme);
	json_set_u64(o, "parameters", t->elems);
	json_set_u64(o, "bytes", t->bytes);
	json_set_str(o, "file", t->file);
	json_set_u64(o, "offset", t->off);
	return o;
}

static enum cli_exit
print_json(const struct db_tensors *found)
{
	cJSON *o = json_object(), *list = json_array();

	json_set_u64(o, "total", found->total);
	for (size_t i = 0; i < found->n; i++)
		json_push(list, tensor_json(&found->rows[i]));
	json_set(o, "tensors", list);
	return cli_print_json(o);
}

static void
text_row(struct cli_table *table, const struct db_tensor *t)
{
	char shape[WORD_MAX], size[16];

	cli_cell(table, t->model_name);
	cli_cell(table, t->name);
	cli_cell(table, t->scheme);
	cli_cell(table, word_shape(t->dim, t->ndim, " x ", shape));
	cli_cell(table, tb_human_bytes(t->bytes, size));
}

static enum cli_exit
print_text(const struct db_tensors *found)
{
	static const char *const titles[] = { "MODEL", "NAME", "SCHEME", "SHAPE", "SIZE" };
	struct cli_table t = { .align = "llllr" };

	for (size_t i = 0; found->n && i < sizeof(titles) / sizeof(*titles); i++)
		cli_cell(&t, titles[i]);
	for (size_t i = 0; i < found->n; i++)
		text_row(&t, &found->rows[i]);
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
search(const struct cli *cli, const struct op_ctx *ctx, struct db_query *q)
{
	struct db_tensors found;
	struct db *db = NULL;
	struct tb_err err;
	enum cli_exit status;
	char line[96];

	q->roots = cli->stores.n ? &ctx->roots : NULL;
	if (cli_index(cli, ctx, &db, &err))
		return cli_fail(&err);
	if (db_search(db, q, &found, &err)) {
		db_close(db);
		return cli_fail(&err);
	}
	status = cli->json ? print_json(&found) : print_text(&found);
	snprintf(line, sizeof(line), "%ju of %ju shown; --limit 0 shows all", (uintmax_t)found.n,
		 (uintmax_t)found.total);
	if (found.n < found.total && !cli->json)
		cli_note(cli, line);
	if (!found.total)
		cli_note(cli, "no tensor of an indexed model has that in its name");
	if (!found.total && status == CLI_OK)
		status = CLI_WRONG;
	tb_arena_free(&found.mem);
	db_close(db);
	return status;
}

COMMAND(cli_search, "search", "WORD...",
	"tensors of all models whose names have the words")
{
	struct db_query q = { .limit = 1000 };
	const struct tb_opt opts[] = {
		{ 'S', "sort", TB_OPT_STR, &q.sort, "KEY", "model, name or size" },
		{ 'r', "reverse", TB_OPT_FLAG, &q.reverse, NULL, "the other way round" },
		{ 'n', "limit", TB_OPT_U64, &q.limit, "N", "at most so many rows (1000); 0: all" },
		{ 0, "offset", TB_OPT_U64, &q.offset, "N", "leave out the first N" },
		{ .name = NULL }
	};
	struct tb_buf words = TB_BUF(WORDS_MAX);
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, -1, &status))
		return status;
	for (int i = 1; i < argc; i++)
		tb_buf_printf(&words, "%s%s", i > 1 ? " " : "", argv[i]);
	q.filter = tb_buf_cstr(&words);
	if (tb_buf_status(&words, "the words", &err) || cli_ctx(cli, &ctx, &err)) {
		tb_buf_free(&words);
		return cli_fail(&err);
	}
	status = search(cli, &ctx, &q);
	op_ctx_free(&ctx);
	tb_buf_free(&words);
	return status;
}
