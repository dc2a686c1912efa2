/* shade.h - places of a map: with colours two cells, one above the other, in a place;
 * without, one cell as a sign that is darker or lighter. */
#ifndef TBTUI_UI_SHADE_H
#define TBTUI_UI_SHADE_H

#include <stdbool.h>

/* Levels go from 0 to shade_levels() - 1; SHADE_BAD is none of them. */
#define SHADE_BAD 255u
unsigned shade_levels(void);
bool shade_halves(void);
/* lower is not used without shade_halves(). */
void shade_put(int y, int x, unsigned upper, unsigned lower);
#endif
