/* generate_remote.h - "generate" where the model is behind a URL. */
#ifndef TBTUI_CLI_GENERATE_REMOTE_H
#define TBTUI_CLI_GENERATE_REMOTE_H

#include "src/cli/run_model.h"

struct grammar;
/* prompt: as of -p; top: alternatives of each token, for --json; grammar: NULL: none. */
enum cli_exit generate_remote(struct cli *cli, const char *url, const char *prompt,
			      const struct run_sampling *s, unsigned top,
			      const struct grammar *grammar);
#endif
