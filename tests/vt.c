#include "config.h"

#include "tests/vt.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct vt_cell plain = { .ch = L' ', .fg = -1, .bg = -1 };

static struct vt_cell *
at(const struct vt *vt, int y, int x)
{
	return &vt->cell[(size_t)y * (size_t)vt->cols + (size_t)x];
}

static void
blank(struct vt *vt, int y, int from, int to)
{
	for (int x = from; x < to; x++)
		*at(vt, y, x) = plain;
}

bool
vt_init(struct vt *vt, int rows, int cols)
{
	memset(vt, 0, sizeof(*vt));
	vt->pen = plain;
	vt->cursor_on = true;
	return vt_resize(vt, rows, cols);
}

bool
vt_resize(struct vt *vt, int rows, int cols)
{
	struct vt_cell *cell = calloc((size_t)rows * (size_t)cols, sizeof(*cell));

	if (!cell)
		return false;
	free(vt->cell);
	vt->cell = cell;
	vt->rows = rows;
	vt->cols = cols;
	vt->y = vt->x = 0;
	for (int y = 0; y < rows; y++)
		blank(vt, y, 0, cols);
	return true;
}

void
vt_free(struct vt *vt)
{
	free(vt->cell);
	vt->cell = NULL;
}

static void
newline(struct vt *vt)
{
	if (vt->y + 1 < vt->rows) {
		vt->y++;
		return;
	}
	memmove(vt->cell, at(vt, 1, 0),
		sizeof(*vt->cell) * (size_t)(vt->rows - 1) * (size_t)vt->cols);
	blank(vt, vt->rows - 1, 0, vt->cols);
}

static void
put_mark(struct vt *vt, wchar_t wc)
{
	int x = vt->x - 1;
	struct vt_cell *c;

	if (x > 0 && !at(vt, vt->y, x)->ch)
		x--;
	if (x < 0)
		return;
	c = at(vt, vt->y, x);
	for (int i = 0; i < VT_MARKS; i++)
		if (!c->mark[i]) {
			c->mark[i] = wc;
			return;
		}
}

/* Writing over half of a wide character takes the other half away too. */
static void
put_cell(struct vt *vt, int x, wchar_t wc)
{
	if (!at(vt, vt->y, x)->ch && x > 0)
		at(vt, vt->y, x - 1)->ch = L' ';
	if (x + 1 < vt->cols && !at(vt, vt->y, x + 1)->ch)
		at(vt, vt->y, x + 1)->ch = L' ';
	*at(vt, vt->y, x) = vt->pen;
	at(vt, vt->y, x)->ch = wc;
}

static void
put(struct vt *vt, wchar_t wc)
{
	int width = wcwidth(wc);

	if (width < 0) {
		if (!*vt->unknown)
			snprintf(vt->unknown, sizeof(vt->unknown), "U+%04lX, not printable",
				 (unsigned long)wc);
		return;
	}
	if (width == 0) {
		put_mark(vt, wc);
		return;
	}
	if (vt->x + width > vt->cols) {
		vt->x = 0;
		newline(vt);
	}
	put_cell(vt, vt->x, wc);
	if (width == 2) {
		put_cell(vt, vt->x + 1, L' ');
		at(vt, vt->y, vt->x)->ch = wc;
		at(vt, vt->y, vt->x + 1)->ch = 0;
	}
	vt->x += width;
}

static bool
sgr(struct vt *vt, long n)
{
	static const struct { long n; unsigned char set, clear; } bits[] = {
		{ 1, VT_BOLD, 0 }, { 2, VT_DIM, 0 }, { 4, VT_UNDER, 0 }, { 7, VT_REV, 0 },
		{ 22, 0, VT_BOLD | VT_DIM }, { 24, 0, VT_UNDER }, { 27, 0, VT_REV },
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (bits[i].n == n) {
			vt->pen.attr = (unsigned char)((vt->pen.attr & ~bits[i].clear) | bits[i].set);
			return true;
		}
	if (n == 0)
		vt->pen = plain;
	else if (n >= 30 && n <= 37)
		vt->pen.fg = (signed char)(n - 30);
	else if (n >= 40 && n <= 47)
		vt->pen.bg = (signed char)(n - 40);
	else if (n == 39)
		vt->pen.fg = -1;
	else if (n == 49)
		vt->pen.bg = -1;
	else
		return false;
	return true;
}

static int
clamp(long n, int size)
{
	return n < 1 ? 0 : n > size ? size - 1 : (int)n - 1;
}

static void
erase(struct vt *vt, int from_y, int from_x, int to_y)
{
	for (int y = from_y; y < to_y; y++)
		blank(vt, y, y == from_y ? from_x : 0, vt->cols);
}

/* What programs switch on that report a mouse, or have other cursor keys; nothing here acts
 * on them.  Private modes alone come with h and l. */
static bool
vt_mode(struct vt *vt, const char *args, bool on)
{
	static const char *const modes[] = { "?1", "?1000", "?1002", "?1003", "?1006" };

	if (!strcmp(args, "?25"))
		vt->cursor_on = on;
	else if (!strcmp(args, "?2004"))
		vt->marks_paste = on;
	else
		for (unsigned i = 0; ; i++)
			if (i == sizeof(modes) / sizeof(*modes)) {
				return false;
			} else if (!strcmp(args, modes[i])) {
				vt->modes = on ? vt->modes | 1u << i : vt->modes & ~(1u << i);
				break;
			}
	return true;
}

/* Runs one complete CSI sequence; false if it is unknown. */
static bool
csi(struct vt *vt, char *args, char final)
{
	long v[8] = { 0 };
	int n = 0, x = vt->x < vt->cols ? vt->x : vt->cols - 1;
	bool known = true;

	if (final == 'h' || final == 'l')
		return vt_mode(vt, args, final == 'h');
	if ((final == 'r' && !*args) || (final == 'm' && *args == '>'))
		return true;	/* all rows scroll; keys as always */
	for (char *p = args; n < 8; p++) {
		v[n++] = strtol(p, &p, 10);
		if (*p != ';')
			break;
	}
	switch (final) {
	case 'H':
		vt->y = clamp(v[0], vt->rows);
		vt->x = clamp(v[1], vt->cols);
		return true;
	case 'J':
		erase(vt, v[0] == 2 ? 0 : vt->y, v[0] == 2 ? 0 : x, vt->rows);
		return v[0] == 0 || v[0] == 2;
	case 'K':
		erase(vt, vt->y, x, vt->y + 1);
		return v[0] == 0;
	case 'm':
		for (int i = 0; i < n; i++)
			known &= sgr(vt, v[i]);
		return known;
	}
	return false;
}

static void
not_known(struct vt *vt)
{
	if (!*vt->unknown)
		snprintf(vt->unknown, sizeof(vt->unknown), "ESC%s", vt->esc + 1);
}

/* One more byte of the sequence in vt->esc. */
static void
escape(struct vt *vt, char c)
{
	bool full = vt->esc_len + 2 >= sizeof(vt->esc);

	vt->esc[vt->esc_len++] = c;
	vt->esc[vt->esc_len] = 0;
	if (vt->esc_len == 2 && (c == '[' || c == ']'))
		return;
	if (vt->esc[1] == ']') {
		if (c != '\a' && !full)
			return;
		if (!strcmp(vt->esc, "\033]777;idle\a"))
			vt->idle++;
		else if (!strncmp(vt->esc, "\033]52;c;", 7) && !full)
			snprintf(vt->copied, sizeof(vt->copied), "%.*s", (int)vt->esc_len - 8,
				 vt->esc + 7);
		else
			not_known(vt);
	} else if (vt->esc[1] == '[') {
		char args[sizeof(vt->esc)];

		if ((c < 0x40 || c > 0x7e) && !full)
			return;
		memcpy(args, vt->esc + 2, vt->esc_len - 2);
		args[vt->esc_len - 3] = 0;
		if (!csi(vt, args, c))
			not_known(vt);
	} else {
		not_known(vt);
	}
	vt->esc_len = 0;
}

static void
control(struct vt *vt, char c)
{
	if (c == '\n')
		newline(vt);
	else if (c == '\r')
		vt->x = 0;
	else if (c == '\b')
		vt->x -= vt->x > 0;
	else if (c != '\a' && !*vt->unknown)
		snprintf(vt->unknown, sizeof(vt->unknown), "control character 0x%02x",
			 (unsigned)(unsigned char)c);
}

void
vt_feed(struct vt *vt, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];
		wchar_t wc;
		size_t len;

		if (vt->esc_len) {
			escape(vt, c);
		} else if (c == '\033') {
			vt->esc[vt->esc_len++] = c;
		} else if ((unsigned char)c < 0x20) {
			control(vt, c);
		} else {
			len = mbrtowc(&wc, &c, 1, &vt->mb);
			if (len == 1)
				put(vt, wc);
			else if (len == (size_t)-1)
				memset(&vt->mb, 0, sizeof(vt->mb));
			if (len == (size_t)-1 && !*vt->unknown)
				snprintf(vt->unknown, sizeof(vt->unknown), "byte that is no UTF-8");
		}
	}
}

void
vt_row(const struct vt *vt, int y, char *out, size_t outlen)
{
	size_t len = 0, end = 0;
	mbstate_t mb = { 0 };

	for (int x = 0; x < vt->cols && len + (VT_MARKS + 1) * MB_LEN_MAX < outlen; x++) {
		const struct vt_cell *c = at(vt, y, x);

		if (!c->ch)
			continue;
		len += wcrtomb(out + len, c->ch, &mb);
		for (int i = 0; i < VT_MARKS && c->mark[i]; i++)
			len += wcrtomb(out + len, c->mark[i], &mb);
		if (c->ch != L' ')
			end = len;
	}
	out[end] = 0;
}

void
vt_row_attr(const struct vt *vt, int y, char *out, size_t outlen)
{
	size_t end = 0;

	for (int x = 0; x < vt->cols && (size_t)x + 1 < outlen; x++) {
		const struct vt_cell *c = at(vt, y, x);

		out[x] = c->attr & VT_REV ? 'r' : c->attr & VT_BOLD ? 'b'
		       : c->attr & VT_UNDER ? 'u' : c->attr & VT_DIM ? 'd'
		       : c->fg >= 0 ? (char)('0' + c->fg) : '.';
		if (out[x] != '.')
			end = (size_t)x + 1;
	}
	out[end] = 0;
}
