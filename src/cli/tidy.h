/* tidy.h - how house-keeping is asked for and told: rm, prune, cp, mv, undo. */
#ifndef TBTUI_CLI_TIDY_H
#define TBTUI_CLI_TIDY_H

#include "src/cli/cli.h"
#include "src/ops/tidy/tidy.h"

/* Plans, asks (what is only named otherwise needs no question), does it, and tells. */
enum cli_exit cli_tidy(struct cli *cli, const struct tidy_request *req, bool dry);

/* A plan, or what was done, as contract and people have it. */
enum cli_exit cli_tidy_json(const struct tidy *t, bool dry);
/* Each action in a line. */
enum cli_exit cli_tidy_table(const struct cli *cli, const struct tidy *t);
/* Notes what was killed, and what the quarantines hold, if there is anything. */
void cli_tidy_note(const struct cli *cli, struct op_ctx *ctx);
#endif
