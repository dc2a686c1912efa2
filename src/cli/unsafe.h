/* unsafe.h - what makes a registry less safe to ask is said at each run. */
#ifndef TBTUI_CLI_UNSAFE_H
#define TBTUI_CLI_UNSAFE_H

#include <stdbool.h>

#include "src/cli/cli.h"

/* name: see image_name.h.  The flags of the command, and what the configuration says of its
 * registry; that nobody is sure who answers is also said to who wants quiet. */
void cli_unsafe(const struct cli *cli, const struct config *config, const char *name, bool insecure,
		bool skip_verify);
#endif
