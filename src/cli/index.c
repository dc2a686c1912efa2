/* index.c - opening the index or a model for a command. */
#include "config.h"

#include "src/cli/index.h"

#include <stdio.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/ops/places/places.h"

void
cli_note(const struct cli *cli, const char *text)
{
	char clean[2048];

	if (*text && !cli->quiet)
		fprintf(stderr, "tbtui: %s\n", tb_text_clean(text, clean, sizeof(clean)));
}

void
cli_explain(const struct cli *cli, const struct op_ctx *ctx, const char *text)
{
	struct tb_buf b = TB_BUF(1u << 16), clean = TB_BUF(1u << 18);

	cli_note(cli, text);
	if (cli->quiet || cli->json)
		return;
	places_explain(ctx, false, &b);
	tb_text_clean_lines(&clean, tb_buf_cstr(&b), b.len);
	fputs(tb_buf_cstr(&clean), stderr);
	tb_buf_free(&b);
	tb_buf_free(&clean);
}

enum tb_status
cli_index_open(struct cli_index *x, const struct cli *cli, struct tb_err *err)
{
	struct db_totals t;
	enum tb_status status;

	*x = (struct cli_index){ .db = NULL };
	status = cli_ctx(cli, &x->ctx, err);
	if (status)
		return status;
	x->roots = cli->stores.n ? &x->ctx.roots : NULL;
	status = db_open_read(&x->db, x->ctx.db_path, err);
	if (status)
		return status;
	cli_note(cli, db_notice(x->db));
	status = db_totals(x->db, NULL, &t, err);
	if (!status && !t.scanned_ns)
		cli_explain(cli, &x->ctx, "nothing is indexed yet");
	return status;
}

void
cli_index_close(struct cli_index *x)
{
	db_close(x->db);
	op_ctx_free(&x->ctx);
}

enum tb_status
cli_model(const struct cli *cli, const char *ref, struct model **out, struct tb_err *err)
{
	struct model_loc loc = { 0 };
	struct op_ctx ctx;
	enum tb_status status = cli_ctx(cli, &ctx, err);

	*out = NULL;
	if (status)
		return status;
	status = store_resolve(&ctx.roots, ref, &loc, err);
	if (!status)
		status = model_open(out, &loc, err);
	model_loc_free(&loc);
	op_ctx_free(&ctx);
	return status;
}
