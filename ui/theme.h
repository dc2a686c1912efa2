/* theme.h - colours and signs by role, never by name: one row a role. */
#ifndef TBTUI_UI_THEME_H
#define TBTUI_UI_THEME_H

#include <stdbool.h>
#include <stddef.h>

struct tb_buf;

/* id, foreground with 8 colours, with 256 (-1 = the terminal's own), attributes
 * with colours, attributes without */
#define ROLE_LIST(X) \
	X(ROLE_TEXT, -1, -1, A_NORMAL, A_NORMAL) \
	X(ROLE_DIM, -1, 245, A_NORMAL, A_NORMAL)	/* what matters less */ \
	X(ROLE_FRAME, -1, -1, A_REVERSE, A_REVERSE)	/* line 1 */ \
	X(ROLE_TAB_ON, -1, -1, A_BOLD, A_BOLD)		/* the tab one is in */ \
	X(ROLE_HEAD, COLOR_CYAN, 73, A_BOLD, A_BOLD)	/* titles of columns */ \
	X(ROLE_CURSOR, -1, -1, A_REVERSE, A_REVERSE) \
	X(ROLE_MARK, COLOR_YELLOW, 179, A_BOLD, A_BOLD)	/* rows with a mark */ \
	X(ROLE_OK, COLOR_GREEN, 71, A_NORMAL, A_NORMAL) \
	X(ROLE_BAD, COLOR_RED, 203, A_BOLD, A_BOLD) \
	X(ROLE_WARN, COLOR_YELLOW, 179, A_NORMAL, A_NORMAL) \
	X(ROLE_BAR, COLOR_BLUE, 67, A_NORMAL, A_NORMAL) \
	X(ROLE_TITLE, -1, -1, A_BOLD, A_BOLD)		/* headings inside a body */ \
	X(ROLE_STRONG, -1, -1, A_BOLD, A_BOLD)		/* of a text that somebody wrote */ \
	X(ROLE_STRESS, -1, -1, A_ITALIC, A_ITALIC) \
	X(ROLE_CODE, COLOR_CYAN, 109, A_NORMAL, A_BOLD) \
	X(ROLE_CODE_BLOCK, COLOR_CYAN, 109, A_NORMAL, A_NORMAL) \
	X(ROLE_KEY, -1, -1, A_BOLD, A_BOLD)		/* the key in the key line */ \
	X(ROLE_ERROR, COLOR_RED, 203, A_BOLD, A_BOLD)	/* messages */

#define X(id, c8, c256, attr, mono) id,
enum role { ROLE_LIST(X) ROLE_COUNT };
#undef X

/* id, in UTF-8, in ASCII: same number of columns */
#define SIGN_LIST(X) \
	X(SIGN_OK, "✓", "+") \
	X(SIGN_BAD, "✗", "x") \
	X(SIGN_NONE, "·", "-")		/* not known, never done */ \
	X(SIGN_WARN, "!", "!") \
	X(SIGN_PART, "~", "~")		/* looked at, as far as one can */ \
	X(SIGN_CURSOR, "▸", ">") \
	X(SIGN_MARK, "•", "*") \
	X(SIGN_DOT, "·", "|")		/* between things in a line */ \
	X(SIGN_OPENED, "▾", "-") \
	X(SIGN_CLOSED, "▸", "+") \
	X(SIGN_ASC, "▲", "^") \
	X(SIGN_DESC, "▼", "v") \
	X(SIGN_FULL, "▓", "#")		/* bars */ \
	X(SIGN_EMPTY, "░", ".") \
	X(SIGN_TIMES, "×", "x")		/* of shapes */

#define X(id, utf8, ascii) id,
enum sign { SIGN_LIST(X) SIGN_COUNT };
#undef X

/* "tab-on": what the configuration calls a role. */
const char *theme_role(enum role r, char out[16]);
/* Before theme_init(): other colours ("default", "red", "0" to "255") and attributes.
 * Returns the word that is not understood, or NULL. */
const char *theme_set(enum role r, const char *fg, const char *bg, char *const *attrs, size_t n);
/* As a line of the configuration. */
void theme_print(enum role r, struct tb_buf *out);

/* After curses has started. mono: attributes only. */
void theme_init(bool mono);
/* Are colours in use? */
bool theme_colors(void);
/* curses attributes of a role. */
unsigned long theme_attr(enum role r);

/* Can the terminal show more than ASCII?  Set by theme_locale(), from LC_CTYPE. */
void theme_locale(void);
bool theme_utf8(void);
const char *theme_sign(enum sign s);
#endif
