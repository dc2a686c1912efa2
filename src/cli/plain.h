/* plain.h - "tbtui --plain": numbered menus, a line at a time. */
#ifndef TBTUI_CLI_PLAIN_H
#define TBTUI_CLI_PLAIN_H

#include "src/cli/cli.h"

enum cli_exit plain_main(struct cli *cli);
#endif
