/* pull_hub.h - the part of tbtui pull that is about hubs. */
#ifndef TBTUI_CLI_PULL_HUB_H
#define TBTUI_CLI_PULL_HUB_H

#include "src/cli/cli.h"
#include "src/ops/hub_pull/hub_pull.h"

/* dry: only says what would come. */
enum cli_exit cli_pull_hub(struct cli *cli, struct op_ctx *ctx, const struct hub_pull_request *req,
			   bool dry);
/* Says why a pull ended, of whatever kind, and that what came is not lost; moved: 0 if nothing. */
enum cli_exit cli_pull_failed(const struct cli *cli, const struct tb_err *err, uint64_t moved);
#endif
