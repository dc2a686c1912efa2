/* keys.h - actions, and which key means which in a screen.
 *
 * Everything here comes from action.def and views.def, and knows no terminal:
 * a key is a Unicode scalar or one of KEYS_*; term.c translates. */
#ifndef TBTUI_UI_KEYS_H
#define TBTUI_UI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/quant/scheme.h"

enum view_id {
#define V(id, tab, keys, rank, ops, title, help) VIEW_##id,
#include "ui/views.def"
#undef V
	VIEW_COUNT
};

/* ACT_UP … and ACT_VIEW_MODELS …, the latter open a screen. */
enum action {
	ACT_NONE,
#define A(id, name, keys, where, rank, help) ACT_##id,
#include "ui/action.def"
#undef A
#define V(id, tab, keys, rank, ops, title, help) ACT_VIEW_##id,
#include "ui/views.def"
#undef V
	ACT_COUNT
};
#define ACT_VIEW_FIRST (ACT_COUNT - (int)VIEW_COUNT)

#define IN(id) (1u << VIEW_##id)
#define EVERYWHERE 0u

/* Keys that are no characters. */
enum {
	KEYS_UP = 0x110000, KEYS_DOWN, KEYS_LEFT, KEYS_RIGHT, KEYS_HOME, KEYS_END, KEYS_PGUP,
	KEYS_PGDN, KEYS_STAB, KEYS_DELETE, KEYS_F1, KEYS_F12 = KEYS_F1 + 11
};
#define KEYS_CTRL(c) ((c) & 0x1f)
#define KEYS_ESC 27
#define KEYS_BACKSPACE 127

struct action_info {
	const char *name;
	const char *keys;	/* as in action.def; the first is the one shown */
	uint32_t where;		/* bits of IN(), or EVERYWHERE */
	unsigned rank;
	const char *help;
};
extern const struct action_info action_info[ACT_COUNT];

/* A key of one's own, in a screen or (KEYS_EVERYWHERE) in all; ACT_NONE takes it away.  It
 * goes before what the tables say of the same screens.  false: no such key, or no room. */
#define KEYS_EVERYWHERE (-1)
bool keys_bind(int in, const char *key, enum action a);
/* What `key` does in the screen; ACT_NONE = nothing. */
enum action keys_action(enum view_id in, int key);
bool keys_applies(enum action a, enum view_id in);
/* An action by its whole name, that of the screen before one of EVERYWHERE; ACT_NONE if there
 * is none that applies. */
enum action keys_by_name(const char *name, enum view_id in);
/* "Enter", "C-f", "é": the key whose name starts *s; moves *s behind it and
 * blanks. 0 at the end or for a name nobody knows. */
int keys_parse(const char **s);
/* The first key of the action that reaches it in this screen, as people read it
 * ("⏎" where the terminal can show it); "" if none. */
const char *keys_label(enum action a, enum view_id in, bool utf8, char out[16]);
/* The i-th key that was bound; NULL after the last. */
const char *keys_bound(size_t i, int *in, enum action *a);
/* Is it one of the words of a list?  They are separated by blanks. */
bool keys_has_word(const char *list, const char *word, size_t len);
/* All of them, separated by blanks. */
void keys_all(enum action a, enum view_id in, char *out, size_t outlen);
#endif
