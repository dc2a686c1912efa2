/* bundle_file.c - models into one archive and out of it, for export and import. */
#include "config.h"

#include "src/cli/bundle_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/format/json.h"

enum tb_status
bundle_file_open(struct bundle_source *src, const char *name, struct tb_err *err)
{
	*src = (struct bundle_source){ STDIN_FILENO, "standard input" };
	if (!strcmp(name, "-"))
		return TB_OK;
	src->what = name;
	src->fd = open(name, O_RDONLY | O_CLOEXEC);
	return src->fd >= 0 ? TB_OK : tb_fail_errno(err, "%s: cannot be opened", name);
}

void
bundle_file_close(struct bundle_source *src)
{
	if (src->fd > STDIN_FILENO)
		close(src->fd);
	src->fd = -1;
}

/* ---- written ---- */

struct write_task {
	struct op_ctx ctx;
	struct bundle_request req;
	struct bundle b;
	struct tb_out out;
	bool pipe;
};

static enum tb_status
put_piece(void *arg, const char *data, size_t len, struct tb_err *err)
{
	struct write_task *t = arg;

	if (!t->pipe)
		return tb_out_write(&t->out, data, len, err);
	while (len) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tb_fail_errno(err, "standard output: cannot be written");
		data += n;
		len -= (size_t)n;
	}
	return TB_OK;
}

static enum tb_status
write_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct write_task *t = arg;

	return op_bundle(&t->ctx, &t->req, job, &t->b, err);
}

static enum tb_status
open_place(const struct cli *cli, struct write_task *t, const char *dest, bool *replace,
	   struct tb_err *err)
{
	char question[512], clean[400], *dir;
	enum tb_status status = TB_OK;

	t->pipe = !strcmp(dest, "-");
	if (t->pipe)
		return isatty(STDOUT_FILENO) ? tb_fail(err, TB_EUSAGE, "a bundle is no text for a "
						       "terminal: name a file, or a pipe") : TB_OK;
	if (tb_is_dir(dest) || tb_ends(dest, "/"))
		return tb_fail(err, TB_EUSAGE, "%s: is a folder; a bundle is a file", dest);
	if (tb_exists(dest) && !*replace) {
		snprintf(question, sizeof(question), "%s exists already. Replace it?",
			 tb_text_clean(dest, clean, sizeof(clean)));
		status = cli_confirm(cli, question, replace, err);
		if (!status && !*replace)
			status = tb_fail(err, TB_EEXIST, "%s: left as it is", dest);
	}
	if (status)
		return status;
	dir = tb_path_parent(dest);
	status = dir ? tb_out_open(&t->out, dir, err) : tb_nomem(err);
	free(dir);
	return status;
}

static enum cli_exit
write_print(const struct cli *cli, const struct write_task *t, const char *dest)
{
	const struct bundle *b = &t->b;
	char bytes[16];
	cJSON *doc;

	if (t->pipe)
		return CLI_OK;
	if (cli->json) {
		doc = json_object();
		json_set_str(doc, "file", dest);
		json_set_u64(doc, "models", b->nmodels);
		json_set_u64(doc, "members", b->nmembers);
		json_set_u64(doc, "bytes", b->bytes);
		return cli_print_json(doc);
	}
	if (!cli->quiet)
		cli_line("%s: %zu model%s in %zu file%s, %s", dest, b->nmodels, tb_plural(b->nmodels),
			 b->nmembers, tb_plural(b->nmembers), tb_human_bytes(b->bytes, bytes));
	return CLI_OK;
}

enum cli_exit
bundle_file_write(struct cli *cli, const char *const *refs, size_t n, const char *dest,
		  bool replace)
{
	struct write_task t = { .out.fd = -1 };
	enum cli_exit shown = CLI_OK;
	struct tb_err err;
	enum tb_status status;

	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	t.req = (struct bundle_request){ refs, n, put_piece, &t };
	status = open_place(cli, &t, dest, &replace, &err);
	if (!status)
		status = cli_run(cli, "export", write_run, &t, &err);
	if (!status && !t.pipe)
		status = tb_out_commit(&t.out, dest, replace, &err);
	if (tb_written(status))
		shown = write_print(cli, &t, dest);
	tb_out_abort(&t.out);
	bundle_free(&t.b);
	op_ctx_free(&t.ctx);
	return status ? cli_fail(&err) : shown;
}

/* ---- read ---- */

struct import_task {
	struct op_ctx ctx;
	struct bundle_import req;
	struct bundle_imported res;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
import_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct import_task *t = arg;
	enum tb_status status = op_bundle_import(&t->ctx, &t->req, job, &t->res, err);

	after_writing(&t->ctx, status, &t->late);
	return status;
}

static enum cli_exit
import_print(const struct cli *cli, const struct bundle_imported *r)
{
	char bytes[16];
	cJSON *doc, *models, *m;

	if (cli->json) {
		doc = json_object();
		models = json_array();
		for (size_t i = 0; i < r->nmodels; i++) {
			m = json_object();
			json_set_str(m, "name", r->models[i].name);
			kept_json(m, &r->models[i].kept);
			json_push(models, m);
		}
		json_set(doc, "models", models);
		json_set_str(doc, "store", r->root);
		json_set_u64(doc, "members", r->members);
		json_set_u64(doc, "bytes", r->bytes);
		json_set_f64(doc, "seconds", r->seconds);
		return cli_print_json(doc);
	}
	if (cli->quiet)
		return CLI_OK;
	for (size_t i = 0; i < r->nmodels; i++) {
		cli_line("%s%s%s", r->models[i].name, r->root ? " in " : "", r->root ? r->root : "");
		kept_print(&r->models[i].kept);
	}
	cli_line("%zu model%s, %zu file%s with %s, each with its digest", r->nmodels,
		 tb_plural(r->nmodels), r->members, tb_plural(r->members),
		 tb_human_bytes(r->bytes, bytes));
	return CLI_OK;
}

enum cli_exit
bundle_file_import(struct cli *cli, const char *file, const char *name, bool replace)
{
	struct import_task t = { .req = { .name = name, .replace = replace } };
	enum cli_exit shown = CLI_OK;
	struct tb_err err;
	enum tb_status status;

	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	status = bundle_file_open(&t.req.src, file, &err);
	if (!status) {
		status = cli_run(cli, "import", import_run, &t, &err);
		bundle_file_close(&t.req.src);
	}
	if (tb_written(status))
		shown = import_print(cli, &t.res);
	shown = cli_made_end(status, &err, &t.late, shown);
	bundle_imported_free(&t.res);
	op_ctx_free(&t.ctx);
	return shown;
}
