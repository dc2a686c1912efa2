/* ctx.h - what every operation works on: the index, the stores, the workers. */
#ifndef TBTUI_OPS_CTX_H
#define TBTUI_OPS_CTX_H

#include <stdbool.h>

#include "src/base/err.h"
#include "src/base/pool.h"
#include "src/ops/home/settings.h"
#include "src/store/store.h"

struct op_ctx {
	char *db_path;			/* owned */
	struct config config;
	/* Those that were given; or those of the configuration, then usual places that are
	 * there, then what was scanned before. */
	struct store_roots roots;
	size_t nconfig, nusual;
	unsigned threads;		/* >= 1 */
	struct tb_pool *pool;		/* `threads` workers; owned */
	bool mono;			/* no colours (NO_COLOR, --color never) */
};

/* db NULL: $TBTUI_DB, else $XDG_DATA_HOME/tbtui/index.db, else ~/.local/share/…;
 * no dirs: those of the configuration, the usual ones that exist, and those that were
 * scanned before; threads 0: all cores. */
enum tb_status op_ctx_init(struct op_ctx *ctx, const char *db, const char *const *dirs, size_t ndirs,
			   unsigned threads, struct tb_err *err) TB_MUST_USE;
void op_ctx_free(struct op_ctx *ctx);
#endif
