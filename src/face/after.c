#include "config.h"

#include "src/face/after.h"

#include "db/audit.h"
#include "db/blob.h"
#include "src/ops/home/home.h"
#include "src/ops/scan/scan.h"

static bool
is_indexed(struct op_ctx *ctx)
{
	struct db_totals totals = { 0 };
	struct db *db = NULL;
	bool yes = !db_open_read(&db, ctx->db_path, NULL) &&
		   !db_totals(db, &ctx->roots, &totals, NULL) && totals.scanned_ns;

	db_close(db);
	return yes;
}

void
after_writing(struct op_ctx *ctx, enum tb_status status, struct tb_err *late)
{
	late->code = TB_OK;
	if (is_indexed(ctx))
		after_pull(ctx, NULL, status, late);
}

void
after_pull(struct op_ctx *ctx, struct tb_job *job, enum tb_status status, struct tb_err *late)
{
	struct scan_result scanned = { 0 };

	late->code = TB_OK;
	if (!tb_written(status) || !ctx->roots.n)
		return;
	if (op_scan(ctx, &(struct scan_request){ 0 }, job, &scanned, late))
		(void)tb_wrap(late, late->code, "the index is not up to date");
	scan_result_free(&scanned);
}

static bool
sees_otherwise(struct db *db, int64_t run)
{
	struct db_run_models of = { 0 };
	bool yes = false;

	if (db_run_models(db, run, &of, NULL))
		return false;
	for (size_t i = 0; i < of.n && !yes; i++) {
		struct db_models m = { 0 };

		yes = !db_model_by_path(db, of.rows[i].path, &m, NULL) && (!m.n || m.rows->changed);
		tb_arena_free(&m.mem);
	}
	tb_arena_free(&of.mem);
	return yes;
}

void
after_verify(struct op_ctx *ctx, int64_t run, struct tb_err *late)
{
	struct db *db = NULL;
	bool follow;

	late->code = TB_OK;
	follow = !db_open_read(&db, ctx->db_path, NULL) && sees_otherwise(db, run);
	db_close(db);
	if (follow)
		after_writing(ctx, TB_OK, late);
}
