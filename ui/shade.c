#include "config.h"

#include "ui/shade.h"

#include <curses.h>

#include "ui/draw.h"

/* From cold to hot, and then what is wrong.  All pairs of them and the roles must be
 * pairs that the terminal has: 64 with 8 colours. */
static const short few[] = {
	COLOR_BLACK, COLOR_BLUE, COLOR_MAGENTA, COLOR_RED, COLOR_YELLOW, COLOR_GREEN
};
static const short many[] = { 16, 17, 54, 90, 126, 161, 203, 209, 215, 229, 46 };

static const struct { const char *utf8, *ascii; } signs[] = {
	{ " ", " " }, { "░", "." }, { "▒", "+" }, { "▓", "*" }, { "█", "#" },
};

#define COUNT(a) ((unsigned)(sizeof(a) / sizeof(*(a))))

static unsigned
colors(void)
{
	return COLORS >= 256 ? COUNT(many) : COUNT(few);
}

bool
shade_halves(void)
{
	unsigned n = colors();

	return theme_colors() && theme_utf8() && COLOR_PAIRS > ROLE_COUNT + (int)(n * n);
}

unsigned
shade_levels(void)
{
	return shade_halves() ? colors() - 1 : COUNT(signs);
}

void
shade_put(int y, int x, unsigned upper, unsigned lower)
{
	static const wchar_t half[] = L"\u2580";
	const short *color = COLORS >= 256 ? many : few;
	unsigned n = colors(), up = upper == SHADE_BAD ? n - 1 : upper;
	unsigned low = lower == SHADE_BAD ? n - 1 : lower;
	short pair = (short)(ROLE_COUNT + 1 + (int)(up * n + low));

	if (!shade_halves()) {
		put_clip(y, x, 1, upper == SHADE_BAD ? "!" : theme_utf8() ? signs[upper].utf8
			 : signs[upper].ascii, upper == SHADE_BAD ? ROLE_BAD : ROLE_BAR);
		return;
	}
	if (y < 0 || y >= LINES || x < 0 || x >= COLS)
		return;
	init_pair(pair, color[up], color[low]);
	attrset(COLOR_PAIR(pair));
	mvaddnwstr(y, x, half, 1);
	attrset(A_NORMAL);
}
