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
#include "src/ops/home/home.h"
#include "src/ops/scan/scan.h"

bool
cli_is_path(const char *word)
{
	return strchr(word, '/') || tb_exists(word);
}

struct open_found {
	struct model_loc loc;		/* owned; if n */
	size_t n;
	struct unread unread;		/* owned */
};

static enum tb_status
open_count(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct open_found *f = arg;

	if (f->n++)
		return TB_OK;
	return model_loc_copy(&f->loc, loc, err);
}

/* The only model there, or the number of them. */
static enum tb_status
open_look(const char *path, struct open_found *f, struct tb_err *err)
{
	const struct store_roots none = { .given = true };

	if (!tb_exists(path))
		return tb_fail(err, TB_ENOENT, "%s: no such file or folder", path);
	if (tb_is_dir(path))
		return store_walk(path, open_count, f, &f->unread, err);
	f->n = 1;
	return store_resolve(&none, path, &f->loc, err);
}

/* Below a store that is known anyway? */
static bool
is_known(const struct op_ctx *ctx, const char *path)
{
	for (size_t i = 0; i < ctx->roots.n; i++)
		if (tb_path_inside(path, ctx->roots.path[i], strlen(ctx->roots.path[i])))
			return true;
	return false;
}

struct scanning { struct op_ctx *ctx; struct scan_result out; };

static enum tb_status
open_scan(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scanning *s = arg;

	return op_scan(s->ctx, &(struct scan_request){ 0 }, job, &s->out, err);
}

static enum cli_exit
print_models(struct cli *cli, struct op_ctx *ctx)
{
	struct scanning s = { .ctx = ctx };
	struct tb_err err;

	if (cli_run(cli, "scan", open_scan, &s, &err))
		return cli_fail(&err);
	scan_result_free(&s.out);
	return cli_command("ls")->run(cli, 1, (char *[]){ (char *)"ls", NULL });
}

/* What could not be read is said; where nothing else is wrong, that is. */
static enum cli_exit
tell_unread(const struct cli *cli, const struct unread *u, enum cli_exit status)
{
	for (size_t i = 0; i < u->n; i++)
		cli_note(cli, u->v[i].why);
	return status == CLI_OK && u->n ? CLI_WRONG : status;
}

/* The stores that are looked into anyway, if the model is in one; else the path alone. */
static enum tb_status
ctx_for(struct cli *cli, char *path, const struct open_found *f, struct op_ctx *ctx, struct tb_err *err)
{
	struct tb_strs *stores = &cli->stores;
	enum tb_status status = cli_ctx(cli, ctx, err);

	if (status || (f->n == 1 && is_known(ctx, f->loc.path)))
		return status;
	op_ctx_free(ctx);
	stores->n = 0;
	if (!tb_grow(&stores->v, &stores->cap, 1, sizeof(*stores->v)))
		return tb_nomem(err);
	stores->v[stores->n++] = path;
	return cli_ctx(cli, ctx, err);
}

int
cli_open(struct cli *cli, int argc, char **argv, const struct cli_screens *screens)
{
	bool show = !cli->json && !cli->plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	struct open_found f = { .n = 0 };
	struct op_ctx ctx = { 0 };
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 0, &status))
		return status;
	if (open_look(argv[0], &f, &err))
		status = cli_fail(&err);
	else if (f.n == 1 && !show)
		status = cli_command("show")->run(cli, 2, (char *[]){ (char *)"show",
								     f.loc.path, NULL });
	else if (ctx_for(cli, argv[0], &f, &ctx, &err))
		status = cli_fail(&err);
	else
		status = show ? (enum cli_exit)screens->run(&ctx, f.n == 1 ? &f.loc : NULL)
			      : print_models(cli, &ctx);
	if (!show)
		status = tell_unread(cli, &f.unread, status);
	op_ctx_free(&ctx);
	model_loc_free(&f.loc);
	unread_free(&f.unread);
	return status;
}
