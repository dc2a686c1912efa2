/* index.h - the index, open for a command that reads it. */
#ifndef TBTUI_CLI_INDEX_H
#define TBTUI_CLI_INDEX_H

#include "db/blob.h"
#include "src/cli/cli.h"
#include "src/ops/home/home.h"

struct cli_index {
	struct op_ctx ctx;
	struct db *db;
	const struct store_roots *roots;	/* those of --store; NULL: all that are in it */
};
/* Tells (cli_note) when it is empty or was not trusted.  cli_index_close() in every case. */
enum tb_status cli_index_open(struct cli_index *x, const struct cli *cli, struct tb_err *err)
	TB_MUST_USE;
void cli_index_close(struct cli_index *x);

/* copies.c: what is on the disk more than once, files or tensors. */
enum cli_exit cli_copies(const struct cli *cli, bool files);
#endif
