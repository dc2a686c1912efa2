#include "config.h"

#include "src/face/after.h"

#include "db/blob.h"
#include "src/ops/home/home.h"
#include "src/ops/scan/scan.h"

void
after_writing(struct op_ctx *ctx, enum tb_status status, struct tb_err *late)
{
	struct scan_result scanned = { 0 };
	struct db_totals totals = { 0 };
	struct db *db = NULL;
	bool indexed;

	late->code = TB_OK;
	if ((status && status != TB_ESYNC) || !ctx->roots.n)
		return;
	indexed = !db_open_read(&db, ctx->db_path, NULL) &&
		  !db_totals(db, &ctx->roots, &totals, NULL) && totals.scanned_ns;
	db_close(db);
	if (indexed && op_scan(ctx, &(struct scan_request){ 0 }, NULL, &scanned, late))
		(void)tb_wrap(late, late->code, "the index is not up to date");
	scan_result_free(&scanned);
}
