/* main.c - argv goes to the command line or to the screens. */
#include "config.h"

#include "src/cli/cli.h"
#include "ui/setup.h"
#include "ui/ui.h"

int
main(int argc, char **argv)
{
	static const struct cli_screens screens = { .run = ui_main, .print_config = setup_print };

	return cli_main(argc, argv, &screens);
}
