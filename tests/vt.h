/* vt.h - the smallest terminal that can show what tbtui drew.
 *
 * Understands exactly the sequences listed in tbtest.ti, the mode that marks what is
 * pasted, OSC 52 (to the clipboard), and one private OSC (OSC 777 ; idle BEL), which the program under test emits
 * when it has nothing left to do.  Anything else is an error, not a guess: vt_feed() remembers the
 * first unknown sequence and the test fails with it. */
#ifndef TBTUI_TESTS_VT_H
#define TBTUI_TESTS_VT_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

enum { VT_BOLD = 1, VT_DIM = 2, VT_UNDER = 4, VT_REV = 8 };
#define VT_MARKS 3		/* combining characters kept a cell */

struct vt_cell {
	wchar_t ch;		/* 0 in the right half of a wide character */
	wchar_t mark[VT_MARKS];
	unsigned char attr;	/* VT_* bits */
	signed char fg, bg;	/* 0-7, or -1 for the terminal's default */
};

struct vt {
	int rows, cols;
	int y, x;		/* x == cols: the next character wraps */
	bool cursor_on;
	bool marks_paste;	/* private mode 2004 */
	unsigned modes;			/* that were switched on: bits, see vt_mode() */
	unsigned long idle;	/* idle marks seen so far */
	struct vt_cell pen, *cell;
	char esc[4096];
	char copied[4096];	/* by OSC 52, as it was sent: base64 */
	size_t esc_len;
	char unknown[80];	/* first sequence not understood, "" if none */
	mbstate_t mb;
};

bool vt_init(struct vt *vt, int rows, int cols);	/* false: out of memory */
bool vt_resize(struct vt *vt, int rows, int cols);	/* clears it */
void vt_free(struct vt *vt);
void vt_feed(struct vt *vt, const char *bytes, size_t n);

/* Copies row `y` as UTF-8, without trailing blanks, to `out`. */
void vt_row(const struct vt *vt, int y, char *out, size_t outlen);

/* Same row, one letter per column: '.' plain, 'r' reverse, 'b' bold,
 * 'u' underline, 'd' dim, digits for a foreground colour on plain text. */
void vt_row_attr(const struct vt *vt, int y, char *out, size_t outlen);
#endif
