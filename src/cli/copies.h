/* copies.h - content that is on the disk more than once, printed. */
#ifndef TBTUI_CLI_COPIES_H
#define TBTUI_CLI_COPIES_H

#include "src/cli/cli.h"

/* Files, or tensors with kept digests. */
enum cli_exit cli_copies(const struct cli *cli, const struct op_ctx *ctx, bool files);
#endif
