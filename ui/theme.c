#include "config.h"

#include "ui/theme.h"

#include <ctype.h>
#include <curses.h>
#include <langinfo.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

/* Of the one terminal; changed by theme_set() before it is used. */
static struct {
	const char *name;
	short fg8, fg256, bg;
	attr_t color, mono;
} roles[ROLE_COUNT] = {
#define X(id, c8, c256, attr, mono) [id] = { #id, c8, c256, -1, attr, mono },
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
		short bg = roles[r].bg < COLORS ? roles[r].bg : -1;

		if (colors && (fg >= 0 || bg >= 0) && init_pair((short)(r + 1), fg, bg) == OK)
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

/* ---- as people write them ---- */

static const char *const colors[] = { "black", "red", "green", "yellow", "blue", "magenta",
				      "cyan", "white" };
static const struct { const char *name; attr_t attr; } words[] = {
	{ "normal", A_NORMAL }, { "bold", A_BOLD }, { "dim", A_DIM }, { "italic", A_ITALIC },
	{ "underline", A_UNDERLINE }, { "reverse", A_REVERSE },
};
#define NWORDS (sizeof(words) / sizeof(*words))

const char *
theme_role(enum role r, char out[16])
{
	size_t n = 0;

	for (const char *s = roles[r].name + strlen("ROLE_"); *s && n < 15; s++)
		out[n++] = *s == '_' ? '-' : (char)tolower((unsigned char)*s);
	out[n] = 0;
	return out;
}

static bool
color_of(const char *word, short *out)
{
	uint64_t n;

	*out = -1;
	if (!strcmp(word, "default"))
		return true;
	for (short i = 0; i < 8; i++)
		if (!strcmp(word, colors[i]))
			*out = i;
	if (*out < 0 && tb_parse_u64(word, &n) && n < 256)
		*out = (short)n;
	return *out >= 0;
}

const char *
theme_set(enum role r, const char *fg, const char *bg, char *const *attr_words, size_t n)
{
	attr_t attr = A_NORMAL;
	short f, b;

	if (!color_of(fg, &f))
		return fg;
	if (!color_of(bg, &b))
		return bg;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < NWORDS && strcmp(words[k].name, attr_words[i]))
			k++;
		if (k == NWORDS)
			return attr_words[i];
		attr |= words[k].attr;
	}
	if (f < 8)		/* more than few terminals have: as it was there */
		roles[r].fg8 = f;
	roles[r].fg256 = f;
	roles[r].bg = b;
	roles[r].color = roles[r].mono = attr;
	return NULL;
}

static void
put_color(struct tb_buf *out, short c)
{
	if (c < 0)
		tb_buf_str(out, " default");
	else if (c < 8)
		tb_buf_printf(out, " %s", colors[c]);
	else
		tb_buf_printf(out, " %d", c);
}

void
theme_print(enum role r, struct tb_buf *out)
{
	char name[16];

	tb_buf_printf(out, "color %s", theme_role(r, name));
	put_color(out, roles[r].fg256);
	put_color(out, roles[r].bg);
	for (size_t i = 0; i < NWORDS; i++)
		if (words[i].attr ? roles[r].color & words[i].attr : !roles[r].color)
			tb_buf_printf(out, " %s", words[i].name);
	tb_buf_chr(out, '\n');
}
