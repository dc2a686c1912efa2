/* open.h - "tbtui PATH". */
#ifndef TBTUI_CLI_OPEN_H
#define TBTUI_CLI_OPEN_H

#include "src/cli/cli.h"

/* Is the first operand rather a path than a mistyped command? */
bool cli_is_path(const char *word);
/* argv[0] is the path. */
int cli_open(struct cli *cli, int argc, char **argv, const struct cli_screens *screens);
#endif
