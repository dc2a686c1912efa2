#include "config.h"

#include "src/ops/home/home.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/out.h"
#include "src/base/text.h"

#define CONFIG_MAX (1u << 20)
#define WRONG_MAX 20u			/* lines that are told */
#define STORES_MAX 1000u		/* each is compared with all others, on the disk */

/* The words that begin a line, and how many follow. */
static const struct { const char *word; size_t min, max; const char *usage; } forms[] = {
	{ "store", 1, 1, "store DIR" },
	{ "remote", 2, 2, "remote NAME URL" },
	{ "registry", 1, CONFIG_WORDS, "registry HOST [SETTING...]" },
	{ "key", 3, 3, "key VIEW KEY ACTION" },
	{ "color", 3, CONFIG_WORDS, "color ROLE FOREGROUND BACKGROUND [ATTRIBUTE...]" },
	{ "columns", 2, CONFIG_WORDS, "columns VIEW COLUMN..." },
	{ "sessions", 1, 1, "sessions off|SIZE" },
};
#define NFORMS (sizeof(forms) / sizeof(*forms))

/* no: the line, 0 if `what` says what it is about.  A file that is something else than a
 * configuration has too many to tell. */
static void
complain(struct config *c, unsigned no, const char *what)
{
	struct tb_buf line = TB_BUF(8192), clean = TB_BUF(8192);

	if (++c->nwrong > WRONG_MAX + 1)
		return;
	if (c->nwrong > WRONG_MAX)
		tb_buf_printf(&line, "%s: more lines are wrong", c->path);
	else if (no)
		tb_buf_printf(&line, "%s:%u: %s", c->path, no, what);
	else
		tb_buf_str(&line, what);
	tb_text_clip(&clean, tb_buf_cstr(&line), SIZE_MAX, false);
	tb_buf_printf(&c->wrong, "%s\n", tb_buf_cstr(&clean));
	tb_buf_free(&line);
	tb_buf_free(&clean);
}

void
config_wrong(struct config *c, const struct config_line *l, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	complain(c, l->no, what);
}

static void
drop_words(struct config_line *l)
{
	while (l->n)
		free(l->word[--l->n]);
}

/* One word from *s on, in fresh memory; NULL with *why set, or without: no memory. */
static char *
take_word(const char **s, const char *end, const char **why)
{
	bool quoted = **s == '"';
	const char *p = *s + quoted;
	struct tb_buf b = TB_BUF(CONFIG_MAX);

	while (p < end && (quoted ? *p != '"' : *p != ' ' && *p != '\t')) {
		if (quoted && *p == '\\' && p + 1 < end)
			p++;
		tb_buf_chr(&b, *p++);
	}
	if (quoted && p == end)
		*why = "the closing \" is missing";
	*s = p + (quoted && p < end);
	if (!*why)
		tb_buf_str(&b, "");
	return *why ? tb_buf_free(&b), NULL : b.len ? tb_buf_take(&b) : tb_strdup("");
}

/* Comments and empty lines have no words; *why: what is wrong with the line. */
static enum tb_status
split(const char *s, const char *end, struct config_line *l, const char **why)
{
	*why = NULL;
	l->n = 0;
	while (end > s && strchr("\r\t ", end[-1]))
		end--;
	for (;;) {
		while (s < end && (*s == ' ' || *s == '\t'))
			s++;
		if (s == end || (!l->n && *s == '#'))
			return TB_OK;
		if (l->n == CONFIG_WORDS) {
			*why = "too many words";
			return TB_OK;
		}
		l->word[l->n] = take_word(&s, end, why);
		if (!l->word[l->n])
			return *why ? TB_OK : TB_ENOMEM;
		l->n++;
	}
}

/* Has the line the words that its first one wants? */
static bool
in_form(struct config *c, const struct config_line *l)
{
	struct tb_near near = { .word = l->word[0] };
	char hint[128];

	for (size_t i = 0; i < NFORMS; i++) {
		if (strcmp(forms[i].word, l->word[0])) {
			tb_near_try(&near, forms[i].word);
			continue;
		}
		tb_near_free(&near);
		if (l->n - 1 >= forms[i].min && l->n - 1 <= forms[i].max)
			return true;
		config_wrong(c, l, "\"%s\" is wanted", forms[i].usage);
		return false;
	}
	tb_near_text(&near, hint, sizeof(hint));
	config_wrong(c, l, "no setting \"%.60s\"%s", l->word[0],
		     *hint ? hint : ": store, remote, registry, key, color, columns or sessions");
	return false;
}

char *
config_store(const struct config_line *l)
{
	const char *home = getenv("HOME"), *dir = l->n == 2 ? l->word[1] : "";

	if (strcmp(l->word[0], "store"))
		return NULL;
	if (tb_starts(dir, "~/") && home)
		return tb_path_join(home, dir + 2);
	return *dir == '/' ? tb_strdup(dir) : NULL;
}

static bool
is_sessions(const struct config_line *l, uint64_t *kv_bytes)
{
	*kv_bytes = CONFIG_KV_BYTES;
	return !strcmp(l->word[0], "sessions") && l->n == 2 &&
	       (!strcmp(l->word[1], "off") || tb_parse_bytes(l->word[1], kv_bytes));
}

bool
config_keeps_sessions(const struct config *c, uint64_t *kv_bytes)
{
	bool keeps = true;
	uint64_t bytes;

	*kv_bytes = CONFIG_KV_BYTES;
	for (size_t i = 0; i < c->n; i++)
		if (is_sessions(&c->lines[i], &bytes)) {
			keeps = strcmp(c->lines[i].word[1], "off") != 0;
			*kv_bytes = bytes;
		}
	return keeps;
}

static bool
check_sessions(struct config *c, const struct config_line *l)
{
	uint64_t bytes;

	if (strcmp(l->word[0], "sessions") || is_sessions(l, &bytes))
		return true;
	config_wrong(c, l, "\"%.60s\": off, or a size as 4GB, is wanted", l->word[1]);
	return false;
}

/* Shall the line be kept?  *stores counts them. */
static bool
check_store(struct config *c, const struct config_line *l, size_t *stores)
{
	const char *dir = l->word[1];

	if (strcmp(l->word[0], "store"))
		return true;
	if (*dir != '/' && !tb_starts(dir, "~/"))
		config_wrong(c, l, "\"%.200s\": a store begins with / or ~/", dir);
	if (++*stores == STORES_MAX + 1)
		config_wrong(c, l, "this store and those below are left out: %u are enough",
			     STORES_MAX);
	return *stores <= STORES_MAX;
}

static enum tb_status
parse(struct config *c, const char *text, struct tb_err *err)
{
	unsigned no = 0;
	size_t stores = 0;

	for (const char *s = text; *s; ) {
		const char *end = s + strcspn(s, "\n"), *why;
		struct config_line l = { .no = ++no };
		enum tb_status status = split(s, end, &l, &why);

		if (why)
			config_wrong(c, &l, "%s", why);
		if (!status && !why && l.n && in_form(c, &l) && check_store(c, &l, &stores) &&
		    config_check_remote(c, &l) && config_check_registry(c, &l) &&
		    check_sessions(c, &l)) {
			if (!tb_grow(&c->lines, &c->cap, c->n + 1, sizeof(*c->lines)))
				status = TB_ENOMEM;
			else
				c->lines[c->n++] = l;
			if (!status)
				l.n = 0;
		}
		drop_words(&l);
		if (status)
			return tb_nomem(err);
		s = end + (*end == '\n');
	}
	return TB_OK;
}

enum tb_status
config_load(struct config *c, struct tb_err *err)
{
	enum tb_status status;
	struct tb_err why;
	char *text;

	*c = (struct config){ .path = tb_config_path("config"), .wrong = TB_BUF(1u << 20) };
	if (!c->path)
		return tb_nomem(err);
	if (!*c->path || tb_absent(c->path))
		return TB_OK;
	if (tb_file_slurp(c->path, CONFIG_MAX, &text, NULL, &why)) {
		complain(c, 0, why.msg);
		return TB_OK;
	}
	status = parse(c, text, err);
	free(text);
	return status;
}

void
config_free(struct config *c)
{
	while (c->n)
		drop_words(&c->lines[--c->n]);
	free(c->lines);
	free(c->path);
	tb_buf_free(&c->wrong);
	*c = (struct config){ 0 };
}

/* ---- writing ---- */

static const char head[] =
	"# What tbtui is set to; \"tbtui --print-config\" prints all that can be.\n";

/* What is there, byte for byte; an empty file for none. */
static enum tb_status
read_text(const struct config *c, char **text, struct tb_err *err)
{
	if (!*c->path)
		return tb_fail(err, TB_EUSAGE, "there is no place for a configuration: set HOME or "
			       "XDG_CONFIG_HOME");
	if (!tb_absent(c->path))
		return tb_file_slurp(c->path, CONFIG_MAX, text, NULL, err);
	*text = tb_strdup(head);
	return *text ? TB_OK : tb_nomem(err);
}

/* A link stays one: what it leads to is replaced. */
static enum tb_status
write_text(const struct config *c, const struct tb_buf *text, struct tb_err *err)
{
	char *real = realpath(c->path, NULL);
	struct stat was;
	bool there = real && !stat(real, &was);
	enum tb_status status = tb_buf_failed(text) ? tb_nomem(err) : TB_OK;

	if (!status)
		status = tb_out_file(real ? real : c->path, tb_buf_cstr(text), text->len, true, err);
	if (!status && there && chmod(real, was.st_mode & 07777))
		status = tb_fail_errno(err, "%s: cannot be given the mode it had", real);
	free(real);
	return status;
}

void
config_put_word(struct tb_buf *out, const char *word)
{
	if (*word && !strpbrk(word, " \t\"\\")) {
		tb_buf_str(out, word);
		return;
	}
	tb_buf_chr(out, '"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			tb_buf_chr(out, '\\');
		tb_buf_chr(out, *word);
	}
	tb_buf_chr(out, '"');
}

static void
print_sessions(const struct config *c, struct tb_buf *out)
{
	uint64_t bytes;

	tb_buf_str(out, "\n# sessions off|SIZE: keep no conversations; or how much of what models have read"
		   " for\n# them is kept, so that going on begins at once (4GB).\n");
	for (size_t i = 0; i < c->n; i++)
		if (is_sessions(&c->lines[i], &bytes))
			tb_buf_printf(out, "sessions %s\n", c->lines[i].word[1]);
}

void
config_print(const struct config *c, struct tb_buf *out)
{
	tb_buf_str(out, "# tbtui's configuration: $XDG_CONFIG_HOME/tbtui/config, else"
		   " ~/.config/tbtui/config.\n# A line is a word and what it wants; # begins a"
		   " comment.\n\n# store DIR: a folder that is looked into without --store.\n");
	for (size_t i = 0; i < c->n; i++) {
		char *dir = config_store(&c->lines[i]);

		if (dir) {
			tb_buf_str(out, "store ");
			config_put_word(out, dir);
			tb_buf_chr(out, '\n');
		}
		free(dir);
	}
	tb_buf_str(out, "\n# remote NAME URL: a server; NAME:MODEL is one of its models, as URL#MODEL"
		   " is.\n");
	for (size_t i = 0; i < c->n; i++)
		if (config_is_remote(&c->lines[i])) {
			tb_buf_str(out, "remote ");
			config_put_word(out, c->lines[i].word[1]);
			tb_buf_chr(out, ' ');
			config_put_word(out, c->lines[i].word[2]);
			tb_buf_chr(out, '\n');
		}
	config_print_registries(c, out);
	print_sessions(c, out);
}

enum tb_status
config_add_store(const struct config *c, const char *dir, struct tb_err *err)
{
	struct tb_buf out = TB_BUF(2 * CONFIG_MAX);
	char *text;
	enum tb_status status;

	if (strpbrk(dir, "\r\n"))
		return tb_fail(err, TB_EUSAGE, "%s: a name with a line end in it cannot be written"
			       " into %s", dir, c->path);
	status = read_text(c, &text, err);
	if (status)
		return status;
	tb_buf_str(&out, text);
	if (out.len && text[out.len - 1] != '\n')
		tb_buf_chr(&out, '\n');
	tb_buf_str(&out, "store ");
	config_put_word(&out, dir);
	tb_buf_chr(&out, '\n');
	status = write_text(c, &out, err);
	tb_buf_free(&out);
	free(text);
	return status;
}

static bool
names_store(const char *s, const char *end, const char *dir)
{
	struct config_line l = { 0 };
	const char *why;
	bool ok = !split(s, end, &l, &why) && !why && l.n;
	char *store = ok ? config_store(&l) : NULL;
	bool yes = store && (!strcmp(store, dir) || tb_same_place(store, dir));

	free(store);
	drop_words(&l);
	return yes;
}

enum tb_status
config_drop_store(const struct config *c, const char *dir, bool *dropped, struct tb_err *err)
{
	struct tb_buf out = TB_BUF(2 * CONFIG_MAX);
	enum tb_status status;
	char *text;

	*dropped = false;
	if (tb_absent(c->path))
		return TB_OK;
	status = read_text(c, &text, err);
	if (status)
		return status;
	for (const char *s = text; *s; ) {
		const char *end = s + strcspn(s, "\n"), *next = end + (*end == '\n');

		if (names_store(s, end, dir))
			*dropped = true;
		else
			tb_buf_add(&out, s, (size_t)(next - s));
		s = next;
	}
	if (*dropped)
		status = write_text(c, &out, err);
	tb_buf_free(&out);
	free(text);
	return status;
}
