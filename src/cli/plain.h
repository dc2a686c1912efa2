/* plain.h - "tbtui --plain": numbered menus, a line at a time. */
#ifndef TBTUI_CLI_PLAIN_H
#define TBTUI_CLI_PLAIN_H

#include "src/cli/cli.h"

/* Runs `argv` (ended by NULL, argv[0] a command's name) as the command line would. */
typedef enum cli_exit plain_run(struct cli *cli, int argc, char **argv);

enum cli_exit plain_main(struct cli *cli, plain_run *run);
#endif
