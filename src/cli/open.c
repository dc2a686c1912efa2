/* open.c - "tbtui PATH": a model's page, or the models of a folder; where there is no
 * screen to show them on, what "show" and "ls" print. */
#include "config.h"

#include "src/cli/open.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/ctx.h"
#include "src/ops/scan.h"

bool
cli_is_path(const char *word)
{
	return strchr(word, '/') || tb_exists(word);
}

struct found { struct model_loc loc; size_t n; };

static enum tb_status
count(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct found *f = arg;

	if (f->n++)
		return TB_OK;
	f->loc = (struct model_loc){ loc->kind, tb_strdup(loc->name), tb_strdup(loc->path),
				     tb_strdup(loc->root), loc->mtime_ns };
	return f->loc.name && f->loc.path && f->loc.root ? TB_OK : tb_nomem(err);
}

/* The only model there, or the number of them. */
static enum tb_status
look(const char *path, struct found *f, struct tb_err *err)
{
	const struct store_roots none = { .given = true };

	if (!tb_exists(path))
		return tb_fail(err, TB_ENOENT, "%s: no such file or folder", path);
	if (tb_is_dir(path))
		return store_walk(path, count, f, NULL, err);
	f->n = 1;
	return store_resolve(&none, path, &f->loc, err);
}

/* Below a store that is known anyway? */
static bool
is_known(const struct op_ctx *ctx, const char *path)
{
	for (size_t i = 0; i < ctx->roots.n; i++) {
		size_t n = strlen(ctx->roots.path[i]);

		if (!strncmp(ctx->roots.path[i], path, n) && (path[n] == '/' || !path[n]))
			return true;
	}
	return false;
}

struct scanning { struct op_ctx *ctx; struct scan_result out; };

static enum tb_status
scan(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scanning *s = arg;

	return op_scan(s->ctx, &(struct scan_req){ 0 }, job, &s->out, err);
}

static enum cli_exit
print_models(struct cli *cli, struct op_ctx *ctx)
{
	struct scanning s = { .ctx = ctx };
	struct tb_err err;

	if (cli_run(cli, "scan", scan, &s, &err))
		return cli_fail(&err);
	scan_result_free(&s.out);
	return cli_ls(cli, 1, (char *[]){ (char *)"ls", NULL });
}

int
cli_open(struct cli *cli, int argc, char **argv, const struct cli_screens *screens)
{
	struct found f = { .n = 0 };
	struct tb_strs *stores = &cli->stores;
	struct op_ctx ctx = { 0 };
	bool show = !cli->json && !cli->plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	enum cli_exit status;
	struct tb_err err;
	char *path;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 0, &status))
		return status;
	path = argv[0];
	if (look(path, &f, &err))
		return cli_fail(&err);
	status = CLI_OK;
	if (f.n == 1 && !show) {
		status = cli_show(cli, 2, (char *[]){ (char *)"show", f.loc.path, NULL });
	} else if (cli_ctx(cli, &ctx, &err)) {
		status = cli_fail(&err);
	} else {
		if (f.n != 1 || !is_known(&ctx, f.loc.path)) {
			op_ctx_free(&ctx);
			stores->n = 0;
			if (!tb_grow(&stores->v, &stores->cap, 1, sizeof(*stores->v)))
				return cli_fail((tb_nomem(&err), &err));
			stores->v[stores->n++] = path;
			if (cli_ctx(cli, &ctx, &err))
				status = cli_fail(&err);
		}
		if (status == CLI_OK)
			status = show ? (enum cli_exit)screens->run(&ctx, f.n == 1 ? &f.loc : NULL)
				      : print_models(cli, &ctx);
	}
	op_ctx_free(&ctx);
	model_loc_free(&f.loc);
	return status;
}
