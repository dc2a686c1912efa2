/* ui.c - starts and ends the full-screen program. */
#include "config.h"

#include "ui/ui.h"

int
ui_main(struct op_ctx *ctx)
{
	(void)ctx;
	return 2;
}
