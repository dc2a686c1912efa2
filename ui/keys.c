#include "config.h"

#include "ui/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/text.h"

const struct action_info action_info[ACT_COUNT] = {
	[ACT_NONE] = { "", "", EVERYWHERE, 0, "" },
#define A(id, name, keys, where, rank, help) [ACT_##id] = { name, keys, where, rank, help },
#include "ui/action.def"
#undef A
#define V(id, tab, keys, rank, ops, title, help) \
	[ACT_VIEW_##id] = { title, keys, EVERYWHERE, rank, help },
#include "ui/views.def"
#undef V
};

static const struct {
	const char *name;
	int key;
	const char *utf8, *ascii;	/* how people read it */
} named[] = {
	{ "Enter", '\r', "⏎", "Enter" }, { "Esc", KEYS_ESC, "Esc", "Esc" },
	{ "Space", ' ', "Space", "Space" }, { "Tab", '\t', "Tab", "Tab" },
	{ "S-Tab", KEYS_STAB, "S-Tab", "S-Tab" }, { "BS", KEYS_BACKSPACE, "Bksp", "Bksp" },
	{ "Up", KEYS_UP, "↑", "Up" }, { "Down", KEYS_DOWN, "↓", "Down" },
	{ "Left", KEYS_LEFT, "←", "Left" }, { "Right", KEYS_RIGHT, "→", "Right" },
	{ "Home", KEYS_HOME, "Home", "Home" }, { "End", KEYS_END, "End", "End" },
	{ "PgUp", KEYS_PGUP, "PgUp", "PgUp" }, { "PgDn", KEYS_PGDN, "PgDn", "PgDn" },
	{ "Del", KEYS_DELETE, "Del", "Del" },
};
#define NNAMED (sizeof(named) / sizeof(*named))

static int
key_of(const char *s, size_t len)
{
	uint32_t cp;

	for (size_t i = 0; i < NNAMED; i++)
		if (strlen(named[i].name) == len && !memcmp(named[i].name, s, len))
			return named[i].key;
	if (len == 3 && !memcmp(s, "C-", 2))
		return KEYS_CTRL(s[2]);
	if (len >= 2 && len <= 3 && s[0] == 'F' && isdigit((unsigned char)s[1])) {
		unsigned n = (unsigned)(s[1] - '0');

		if (len == 3)
			n = isdigit((unsigned char)s[2]) ? n * 10 + (unsigned)(s[2] - '0') : 0;
		return n >= 1 && n <= 12 ? KEYS_F1 + (int)n - 1 : 0;
	}
	return len && tb_utf8_next(s, len, &cp) == len ? (int)cp : 0;
}

int
keys_parse(const char **s)
{
	const char *start = *s + strspn(*s, " ");
	size_t len = strcspn(start, " ");

	*s = start + len + strspn(start + len, " ");
	return key_of(start, len);
}

bool
keys_applies(enum action a, enum view_id in)
{
	return a != ACT_NONE &&
	       (action_info[a].where == EVERYWHERE || (action_info[a].where & 1u << in));
}

static bool
has_key(enum action a, int key)
{
	for (const char *s = action_info[a].keys; *s; )
		if (keys_parse(&s) == key)
			return true;
	return false;
}

/* Of the one program; written before the first key is read. */
static struct bound { int in, key; enum action action; char name[16]; } bound[256];
static size_t nbound;

bool
keys_bind(int in, const char *key, enum action a)
{
	struct bound b = { .in = in, .key = key_of(key, strlen(key)), .action = a };

	if (!b.key || nbound == sizeof(bound) / sizeof(*bound) || strlen(key) >= sizeof(b.name))
		return false;
	snprintf(b.name, sizeof(b.name), "%s", key);
	bound[nbound++] = b;
	return true;
}

const char *
keys_bound(size_t i, int *in, enum action *a)
{
	if (i >= nbound)
		return NULL;
	*in = bound[i].in;
	*a = bound[i].action;
	return bound[i].name;
}

/* The last one said counts. */
static const struct bound *
own_binding(int in, int key)
{
	for (size_t i = nbound; i-- > 0; )
		if (bound[i].in == in && bound[i].key == key)
			return &bound[i];
	return NULL;
}

/* What belongs to the screen alone goes before what is everywhere. */
enum action
keys_action(enum view_id in, int key)
{
	enum action common = ACT_NONE;
	const struct bound *own;

	if (key == KEYS_CTRL('h'))
		key = KEYS_BACKSPACE;
	if ((own = own_binding((int)in, key)))
		return own->action;
	for (enum action a = 1; a < ACT_COUNT; a++) {
		if (!keys_applies(a, in) || !has_key(a, key))
			continue;
		if (action_info[a].where != EVERYWHERE)
			return a;
		common = a;
	}
	own = own_binding(KEYS_EVERYWHERE, key);
	return own && (own->action == ACT_NONE || keys_applies(own->action, in)) ? own->action
										  : common;
}

enum action
keys_by_name(const char *name, enum view_id in)
{
	enum action common = ACT_NONE;

	for (enum action a = 1; a < ACT_COUNT; a++) {
		if (!keys_applies(a, in) || strcasecmp(action_info[a].name, name))
			continue;
		if (action_info[a].where != EVERYWHERE)
			return a;
		common = a;
	}
	return common;
}

/* The i-th key of the action, own ones first, whether it reaches it or not; NULL after the
 * last. */
static const char *
nth_key(enum action a, size_t i, size_t *len)
{
	const char *s = action_info[a].keys;

	for (size_t k = 0; k < nbound; k++)
		if (bound[k].action == a && i-- == 0) {
			*len = strlen(bound[k].name);
			return bound[k].name;
		}
	for (; *s; s += *len + strspn(s + *len, " ")) {
		*len = strcspn(s, " ");
		if (i-- == 0)
			return s;
	}
	return NULL;
}

const char *
keys_label(enum action a, enum view_id in, bool utf8, char out[16])
{
	const char *key;
	size_t len, i = 0;

	while ((key = nth_key(a, i, &len)) && keys_action(in, key_of(key, len)) != a)
		i++;
	snprintf(out, 16, "%.*s", key ? (int)len : 0, key ? key : "");
	for (i = 0; i < NNAMED; i++)
		if (!strcmp(named[i].name, out))
			snprintf(out, 16, "%s", utf8 ? named[i].utf8 : named[i].ascii);
	return out;
}

bool
keys_has_word(const char *list, const char *word, size_t len)
{
	for (; *list; list += strspn(list, " ")) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
	}
	return false;
}

void
keys_all(enum action a, enum view_id in, char *out, size_t outlen)
{
	const char *key;
	size_t used = 0, len;

	if (outlen)
		*out = 0;
	for (size_t i = 0; used < outlen && (key = nth_key(a, i, &len)); i++)
		if (keys_action(in, key_of(key, len)) == a && !keys_has_word(out, key, len))
			used += (size_t)snprintf(out + used, outlen - used, "%s%.*s",
						 used ? " " : "", (int)len, key);
}
