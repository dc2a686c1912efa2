#include "config.h"

#include "ui/theme.h"

#include <curses.h>
#include <langinfo.h>
#include <string.h>

static const struct {
	short fg8, fg256;
	attr_t color, mono;
} roles[ROLE_COUNT] = {
#define X(id, c8, c256, attr, mono) [id] = { c8, c256, attr, mono },
	ROLE_LIST(X)
#undef X
};

static const struct {
	const char *utf8, *ascii;
} signs[SIGN_COUNT] = {
#define X(id, u, a) [id] = { u, a },
	SIGN_LIST(X)
#undef X
};

/* Of the one terminal that there is; written before the first frame. */
static unsigned long attrs[ROLE_COUNT];
static bool utf8, in_color;

void
theme_locale(void)
{
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool
theme_utf8(void)
{
	return utf8;
}

const char *
theme_sign(enum sign s)
{
	return utf8 ? signs[s].utf8 : signs[s].ascii;
}

void
theme_init(bool mono)
{
	bool colors = !mono && has_colors() && start_color() == OK;

	in_color = colors;
	if (colors)
		use_default_colors();
	for (int r = 0; r < ROLE_COUNT; r++) {
		short fg = COLORS >= 256 ? roles[r].fg256 : roles[r].fg8;

		attrs[r] = colors ? roles[r].color : roles[r].mono;
		if (colors && fg >= 0 && init_pair((short)(r + 1), fg, -1) == OK)
			attrs[r] |= (unsigned long)COLOR_PAIR(r + 1);
	}
}

bool
theme_colors(void)
{
	return in_color;
}

unsigned long
theme_attr(enum role r)
{
	return attrs[r];
}
