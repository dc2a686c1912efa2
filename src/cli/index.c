/* index.c - opening the index or a model for a command. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "db/blob.h"
#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
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
cli_index(const struct cli *cli, const struct op_ctx *ctx, struct db **out, struct tb_err *err)
{
	struct db_totals t;
	enum tb_status status = db_open_read(out, ctx->db_path, err);

	if (status)
		return status;
	cli_note(cli, db_notice(*out));
	status = db_totals(*out, NULL, &t, err);
	if (!status && !t.scanned_ns)
		cli_explain(cli, ctx, "nothing is indexed yet");
	if (status) {
		db_close(*out);
		*out = NULL;
	}
	return status;
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

bool
cli_model_damaged(const struct model *m)
{
	return m->nproblems;
}
