/* main.c - argv goes to the command line or to the screens. */
#include "config.h"

#include <malloc.h>

#include "src/cli/cli.h"
#include "ui/setup.h"
#include "ui/ui.h"

/* What is larger is a mapping of its own, which is gone when it is freed.  glibc raises its limit
 * to the largest thing that was ever freed; such things lie between small ones then, and a
 * program that is open for days holds more and more that nobody uses. */
#define MAPPED_MIN (256 << 10)

int
main(int argc, char **argv)
{
	static const struct cli_screens screens = { .run = ui_main, .print_config = setup_print };

	mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	return cli_main(argc, argv, &screens);
}
