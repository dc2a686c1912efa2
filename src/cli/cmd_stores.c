/* cmd_stores.c - "tbtui stores": the places that are looked into without --store. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/places/places.h"

static enum cli_exit
stores_json(const struct places *p)
{
	cJSON *o = json_object(), *list = json_array();
	char time[32];

	for (size_t i = 0; i < p->n; i++) {
		const struct place *r = &p->rows[i];
		cJSON *row = json_object();

		json_set_str(row, "path", r->path);
		json_set_str(row, "from", place_from_word(r->from));
		json_set_str(row, "state", place_state_word(r->state));
		json_set_u64(row, "models", r->models);
		json_set_u64(row, "size", r->bytes);
		json_set_u64(row, "exclusive", r->bytes - r->shared);
		json_set_u64(row, "shared", r->shared);
		json_set_u64(row, "orphans", r->orphans);
		json_set_u64(row, "leftovers", r->left);
		json_set_u64(row, "quarantine", r->held);
		json_set_str(row, "scanned", r->scanned_ns ? tb_time_rfc3339(r->scanned_ns, time)
							   : NULL);
		json_push(list, row);
	}
	json_set(o, "stores", list);
	return cli_print_json(o);
}

static void
put_bytes(struct cli_table *t, uint64_t bytes)
{
	char size[16];

	cli_cell(t, bytes ? tb_human_bytes(bytes, size) : "-");
}

static enum cli_exit
stores_text(const struct cli *cli, const struct places *p)
{
	struct cli_table t = { .align = "mllrrrrrl", .drop = "070415326", .wide = cli->wide };

	cli_cells(&t, "STORE", "FROM", "STATE", "MODELS", "SIZE", "SHARED", "ORPHANS", "HELD",
		  "SCANNED", NULL);
	for (size_t i = 0; i < p->n; i++) {
		const struct place *r = &p->rows[i];
		char time[32];

		cli_cells(&t, r->path, place_from_word(r->from), place_state_word(r->state), NULL);
		cli_cell_u64(&t, r->models);
		put_bytes(&t, r->bytes);
		put_bytes(&t, r->shared);
		put_bytes(&t, r->orphans);
		put_bytes(&t, r->held);
		cli_cellf(&t, "%.10s", r->scanned_ns ? tb_time_rfc3339(r->scanned_ns, time) : "-");
	}
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
stores_list(const struct cli *cli, const struct op_ctx *ctx, bool all)
{
	struct places p;
	struct tb_err err;
	enum cli_exit status;
	bool none;

	if (op_places(ctx, all, &p, &err))
		return cli_fail(&err);
	none = !p.n;
	status = cli->json ? stores_json(&p) : none ? CLI_OK : stores_text(cli, &p);
	places_free(&p);
	if (none)
		cli_explain(cli, ctx, "there is no store");
	return none && status == CLI_OK ? CLI_WRONG : status;
}

static enum cli_exit
stores_change(const struct cli *cli, const struct op_ctx *ctx, const char *word, const char *dir)
{
	bool adds = !strcmp(word, "add"), known = false;
	uint64_t models = 0;
	struct tb_err err;
	cJSON *o;

	if (adds ? place_add(ctx, dir, &known, &err) : place_remove(ctx, dir, &models, &err))
		return cli_fail(&err);
	if (cli->json) {
		o = json_object();
		json_set_str(o, adds ? "added" : "removed", dir);
		json_set_bool(o, "changed", !known);
		json_set_u64(o, "models_forgotten", models);
		return cli_print_json(o);
	}
	if (cli->quiet)
		return CLI_OK;
	if (adds)
		cli_line("%s: %s", dir, known ? "is one of the stores already"
			 : "added; \"tbtui scan\" indexes what is in it");
	else
		cli_line("%s: removed; the index has forgotten %ju model%s, nothing on the disk is"
			 " touched", dir, (uintmax_t)models, tb_plural(models));
	return CLI_OK;
}

COMMAND(cli_stores, "stores", "[list|add DIR|remove DIR]",
	"list, add or remove the places searched for models")
{
	bool all = false;
	const struct tb_opt opts[] = {
		{ 'a', "all", TB_OPT_FLAG, &all, NULL, "also list the usual places "
		  "that do not exist" },
		{ .name = NULL }
	};
	const char *word;
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 2, &status))
		return status;
	word = argc > 1 ? argv[1] : "list";
	if (strcmp(word, "list") && strcmp(word, "add") && strcmp(word, "remove"))
		return cli_usage("stores: list, add DIR or remove DIR, not \"%.100s\"", word);
	if (argc > 2 && !strcmp(word, "list"))
		return cli_usage("stores list: no operand is wanted");
	if (argc == 2 && strcmp(word, "list"))
		return cli_usage("stores %s: which folder?", word);
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = argc > 2 ? stores_change(cli, &ctx, word, argv[2]) : stores_list(cli, &ctx, all);
	op_ctx_free(&ctx);
	return status;
}
