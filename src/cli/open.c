/* open.c - "tbtui PATH": a model's page, or the models of a folder; where there is no
 * screen to show them on, what "show" and "ls" print.  "tbtui URL": a conversation. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/chat/chat.h"
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

struct scanning { struct op_ctx *ctx; struct scan_result out; };

static enum tb_status
open_scan(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scanning *s = arg;

	return op_scan(s->ctx, &(struct scan_request){ 0 }, job, &s->out, err);
}

/* The stores that are looked into anyway, if the model is in one; else the path alone. */
static enum tb_status
ctx_for(struct cli *cli, char *path, const struct open_found *f, struct op_ctx *ctx,
	struct tb_err *err)
{
	struct tb_strs *stores = &cli->stores;
	enum tb_status status = cli_ctx(cli, ctx, err);

	if (status)
		return status;
	for (size_t i = 0; f->n == 1 && i < ctx->roots.n; i++)
		if (tb_path_inside(f->loc.path, ctx->roots.path[i], strlen(ctx->roots.path[i])))
			return TB_OK;
	op_ctx_free(ctx);
	stores->n = 0;
	if (!tb_grow(&stores->v, &stores->cap, 1, sizeof(*stores->v)))
		return tb_nomem(err);
	stores->v[stores->n++] = path;
	return cli_ctx(cli, ctx, err);
}

/* A model behind a URL has nothing to be looked at: it is talked with. */
static enum cli_exit
open_address(struct cli *cli, char *url, bool show, const struct cli_screens *screens)
{
	const struct model_loc loc = { .name = url, .path = url, .root = (char *)"" };
	struct op_ctx ctx = { 0 };
	enum cli_exit status;
	struct tb_err err;

	if (!show)
		return cli_command("chat")->run(cli, 2, (char *[]){ (char *)"chat", url, NULL });
	status = cli_ctx(cli, &ctx, &err) ? cli_fail(&err)
					  : (enum cli_exit)screens->run(&ctx, &loc);
	op_ctx_free(&ctx);
	return status;
}

int
cli_open(struct cli *cli, int argc, char **argv, const struct cli_screens *screens)
{
	bool show = !cli->json && !cli->plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	struct open_found f = { .n = 0 };
	struct op_ctx ctx = { 0 };
	struct scanning s = { .ctx = &ctx };
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 0, &status))
		return status;
	if (speaker_is_remote(argv[0]))
		return open_address(cli, argv[0], show, screens);
	if (open_look(argv[0], &f, &err))
		status = cli_fail(&err);
	else if (f.n == 1 && !show)
		status = cli_command("show")->run(cli, 2, (char *[]){ (char *)"show",
								     f.loc.path, NULL });
	else if (ctx_for(cli, argv[0], &f, &ctx, &err))
		status = cli_fail(&err);
	else if (show)
		status = (enum cli_exit)screens->run(&ctx, f.n == 1 ? &f.loc : NULL);
	else if (cli_run(cli, "scan", open_scan, &s, &err))
		status = cli_fail(&err);
	else
		status = cli_command("ls")->run(cli, 1, (char *[]){ (char *)"ls", NULL });
	for (size_t i = 0; !show && i < f.unread.n; i++)
		cli_note(cli, f.unread.v[i].why);
	if (!show && status == CLI_OK && f.unread.n)
		status = CLI_WRONG;
	scan_result_free(&s.out);
	op_ctx_free(&ctx);
	model_loc_free(&f.loc);
	unread_free(&f.unread);
	return status;
}
