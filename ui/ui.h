/* ui.h - the full-screen program. */
#ifndef TBTUI_UI_UI_H
#define TBTUI_UI_UI_H

struct model_loc;
struct op_ctx;

/* Runs the screens until the user quits; returns the exit status. ctx is borrowed, as is
 * `open`, the model whose page comes first (NULL: the list of all). */
int ui_main(struct op_ctx *ctx, const struct model_loc *open);
#endif
