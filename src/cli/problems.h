/* problems.h - what is wrong with a model, told in a line each; of very many the first ones. */
#ifndef TBTUI_CLI_PROBLEMS_H
#define TBTUI_CLI_PROBLEMS_H

#include "src/cli/cli.h"
#include "src/store/model.h"

/* On standard output. */
void cli_problems_print(const struct model *m);
/* As notes beside it; true: there are some. */
bool cli_problems_note(const struct cli *cli, const struct model *m);
#endif
