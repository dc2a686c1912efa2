#include "config.h"

#include "src/ops/home/home.h"

#include <stdlib.h>

#include "db/write.h"
#include "src/base/file.h"
#include "src/base/mem.h"

/* Not in the current folder, which is any: a job that is started without a home says where. */
static enum tb_status
default_db(char **out, struct tb_err *err)
{
	const char *db = getenv("TBTUI_DB"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (db && *db)
		*out = tb_strdup(db);
	else if (xdg && *xdg == '/')
		*out = tb_asprintf("%s/tbtui/index.db", xdg);
	else if (home && *home)
		*out = tb_asprintf("%s/.local/share/tbtui/index.db", home);
	else
		return tb_fail(err, TB_EUSAGE, "where is the index?  HOME is not set: give --db FILE, or "
			       "set TBTUI_DB, XDG_DATA_HOME or HOME");
	return *out ? TB_OK : tb_nomem(err);
}

/* A store that was scanned once belongs to those that are looked into, until it is
 * removed: the index remembers them.  One that cannot be read has none; who needs it
 * says so. */
static enum tb_status
add_scanned(struct op_ctx *ctx, struct tb_err *err)
{
	struct db_lines roots = { 0 };
	struct db *db = NULL;
	enum tb_status status = TB_OK;

	if (tb_exists(ctx->db_path) && !db_open_read(&db, ctx->db_path, NULL) &&
	    !db_roots(db, &roots, NULL))
		for (size_t i = 0; i < roots.n && !status; i++)
			status = store_roots_add(&ctx->roots, roots.rows[i], err);
	tb_arena_free(&roots.mem);
	db_close(db);
	return status;
}

static enum tb_status
known_roots(struct op_ctx *ctx, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ctx->config.n && !status; i++) {
		char *dir = config_store(&ctx->config.lines[i]);

		if (dir)
			status = store_roots_add(&ctx->roots, dir, err);
		free(dir);
	}
	ctx->nconfig = ctx->roots.n;
	if (!status)
		status = store_roots_add_usual(&ctx->roots, err);
	ctx->nusual = ctx->roots.n - ctx->nconfig;
	return status ? status : add_scanned(ctx, err);
}

enum tb_status
op_ctx_init(struct op_ctx *ctx, const char *db, const char *const *dirs, size_t ndirs,
	    unsigned threads, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*ctx = (struct op_ctx){ .threads = threads ? threads : tb_cpus() };
	if (db)
		ctx->db_path = tb_strdup(db);
	else
		status = default_db(&ctx->db_path, err);
	ctx->pool = status ? NULL : tb_pool_new(ctx->threads);
	if (!status)
		status = ctx->db_path && ctx->pool ? config_load(&ctx->config, err) : tb_nomem(err);
	if (!status)
		status = ndirs ? store_roots_init(&ctx->roots, dirs, ndirs, err)
			       : known_roots(ctx, err);
	if (status)
		op_ctx_free(ctx);
	return status;
}

void
op_ctx_free(struct op_ctx *ctx)
{
	store_roots_free(&ctx->roots);
	tb_pool_free(ctx->pool);
	free(ctx->db_path);
	config_free(&ctx->config);
	*ctx = (struct op_ctx){ 0 };
}
