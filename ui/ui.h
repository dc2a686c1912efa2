/* ui.h - the full-screen program. */
#ifndef TBTUI_UI_UI_H
#define TBTUI_UI_UI_H

struct op_ctx;

/* Runs the screens until the user quits; returns the exit status. ctx is borrowed. */
int ui_main(struct op_ctx *ctx);
#endif
