/* recipe_pane.h - recipes side by side, with a picture of size against error. */
#ifndef TBTUI_UI_RECIPE_PANE_H
#define TBTUI_UI_RECIPE_PANE_H

#include "ui/recipe.h"

#define RECIPE_PANE_FROM 120	/* columns of screen */

/* Columns that it takes of so many; 0: it is not shown. */
int recipe_pane_cols(int w, int h);
void recipe_pane_draw(struct area a, const struct recipe *s);
#endif
