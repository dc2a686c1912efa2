/* main.c - argv goes to the command line or to the screens. */
#include "config.h"

#include "src/cli/cli.h"
#include "ui/ui.h"

int
main(int argc, char **argv)
{
	return cli_main(argc, argv, ui_main);
}
