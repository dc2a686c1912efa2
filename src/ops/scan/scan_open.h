/* scan_open.h - the middle of a scan: models are opened on the pool and written to
 * the index by one thread. */
#ifndef TBTUI_OPS_SCAN_OPEN_H
#define TBTUI_OPS_SCAN_OPEN_H

#include "db/write.h"
#include "src/ops/scan/scan.h"
#include "src/store/unread.h"

/* A model as the walk found it. */
struct scan_model {
	struct model_loc loc;		/* owned */
	bool known;			/* the index has it */
	bool stale;			/* and it is as it was */
	int64_t dir_ns;			/* the folder's mtime, 0 for a file */
};

struct scan_root {
	char *path;			/* borrowed */
	int64_t id;
	struct scan_model *models;	/* owned */
	size_t n, cap, nstale;
	bool interrupted;		/* the last scan: its sums are to be made again */
	bool away;			/* is not there now, and left alone */
	struct unread unread;		/* below it; owned */
};

/* What stat() says of a file.  Like a model's, it is missing when it is no regular
 * file, too (a FIFO, a loop of links). */
void scan_probe(const char *path, struct tb_ident *id, bool *missing);
int64_t scan_dir_mtime(const char *path);

/* Opens the stale models of a root and puts them into the index, some in a transaction;
 * adds to out's counts and items. */
enum tb_status scan_open_stale(struct op_ctx *ctx, struct db *db, struct scan_root *root,
			       struct tb_job *job, struct scan_result *out, struct tb_err *err)
	TB_MUST_USE;

enum tb_status scan_note(struct scan_result *out, enum scan_change change, const char *name,
			 const char *path, const char *problem, struct tb_err *err) TB_MUST_USE;
#endif
