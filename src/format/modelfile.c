#include "config.h"

#include "src/format/modelfile.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

static const char *const words[] = {
#define X(id, word) [id] = word,
	MODELFILE_LIST(X)
#undef X
};

const char *
modelfile_word(enum modelfile_word w)
{
	return words[w];
}

struct reader {
	const char *s;		/* UTF-8, but for single bytes perhaps */
	size_t left;
	unsigned line, begin;	/* that of the command */
	const char *what;
	bool cr;		/* the last was one: "\r\n" is one end of a line */
	uint32_t cp;
	char bytes[4];
	size_t nbytes;
};

static bool
is_blank(uint32_t cp)
{
	return cp == ' ' || cp == '\t';
}

static bool
is_newline(uint32_t cp)
{
	return cp == '\n' || cp == '\r';
}

static bool
is_letter(uint32_t cp)
{
	return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z');
}

/* The next character; false: there is none. */
static bool
next(struct reader *r)
{
	size_t n;

	if (!r->left)
		return false;
	n = tb_utf8_next(r->s, r->left, &r->cp);
	r->s += n;
	r->left -= n;
	if (r->cp == '\r' || (r->cp == '\n' && !r->cr))
		r->line++;
	r->cr = r->cp == '\r';
	r->nbytes = tb_utf8_put(r->cp, r->bytes);
	return true;
}

static void
take(struct reader *r, struct tb_buf *b)
{
	if (tb_graphic_cp(r->cp))
		tb_buf_few(b, r->bytes, r->nbytes);
}

static enum tb_status
ends_early(const struct reader *r, const char *after, struct tb_err *err)
{
	return tb_fail(err, TB_EFORMAT, "%s: line %u: unexpected EOF: a value is missing, or a quote "
		       "that ends it, behind %.40s", r->what, r->begin, after);
}

static enum tb_status
bad_command(const struct reader *r, struct tb_err *err)
{
	struct tb_buf list = TB_BUF(256);
	enum tb_status status;

	for (size_t i = 0; i < MODELFILE_WORDS; i++)
		tb_buf_printf(&list, "%s%s", i ? " " : "", words[i]);
	status = tb_fail(err, TB_EFORMAT, "%s: line %u: no command; one of %s, and a value, must be "
			 "here", r->what, r->line, tb_buf_cstr(&list));
	tb_buf_free(&list);
	return status;
}

/* Behind blanks and comments: r->cp is what a command begins with; false: there is none. */
static bool
find_command(struct reader *r)
{
	bool comment = false;

	while (next(r)) {
		if (is_newline(r->cp))
			comment = false;
		else if (r->cp == '#')
			comment = true;
		else if (!comment && !is_blank(r->cp))
			return true;
	}
	return false;
}

static enum tb_status
read_word(struct reader *r, struct tb_buf *b, enum modelfile_word *out, struct tb_err *err)
{
	tb_buf_clear(b);
	take(r, b);
	for (;;) {
		if (!next(r))
			return ends_early(r, tb_buf_cstr(b), err);
		if (is_blank(r->cp))
			break;
		if (!is_letter(r->cp))
			return bad_command(r, err);
		take(r, b);
	}
	for (*out = 0; *out < MODELFILE_WORDS; ++*out)
		if (!strcasecmp(words[*out], tb_buf_cstr(b)))
			return TB_OK;
	return bad_command(r, err);
}

/* What stands between a PARAMETER or MESSAGE and its value. */
static enum tb_status
read_name(struct reader *r, struct tb_buf *b, enum modelfile_word word, struct tb_err *err)
{
	static const char *const roles[] = { "system", "user", "assistant" };
	bool more = word == MODELFILE_PARAMETER;

	tb_buf_clear(b);
	for (;;) {
		if (!next(r))
			return ends_early(r, words[word], err);
		if (is_blank(r->cp))
			break;
		if (!is_letter(r->cp) &&
		    !(more && ((r->cp >= '0' && r->cp <= '9') || r->cp == '_')))
			return ends_early(r, words[word], err);
		take(r, b);
	}
	for (size_t i = 0; !more && i < sizeof(roles) / sizeof(*roles); i++)
		more = !strcmp(tb_buf_cstr(b), roles[i]);
	return more ? TB_OK : tb_fail(err, TB_EFORMAT, "%s: line %u: the role of a MESSAGE must be "
				      "system, user or assistant", r->what, r->line);
}

/* A value without the white space around it, and whether its quotes are closed. */
struct value {
	struct tb_buf *text;
	size_t first, end;	/* first == SIZE_MAX: nothing but white space yet */
};

static bool
quoted(const char *s, size_t n, const char *quote, bool *closed)
{
	size_t q = strlen(quote);

	if (n < q || memcmp(s, quote, q))
		return false;
	*closed = n >= 2 * q && !memcmp(s + n - q, quote, q);
	return true;
}

/* Bytes of quotes on either side; false: one is missing. */
static bool
value_closed(const struct value *v, size_t *quotes)
{
	const char *s = tb_buf_cstr(v->text) + (v->end ? v->first : 0);
	size_t n = v->end ? v->end - v->first : 0;
	bool closed;

	*quotes = 0;
	if (quoted(s, n, "\"\"\"", &closed))
		*quotes = 3;
	else if (quoted(s, n, "\"", &closed))
		*quotes = 1;
	return !*quotes || closed;
}

static void
value_take(struct value *v, struct reader *r)
{
	bool space = is_blank(r->cp) || is_newline(r->cp);
	size_t before = v->text->len;

	if (!space && !tb_graphic_cp(r->cp))
		return;
	tb_buf_few(v->text, r->bytes, r->nbytes);
	if (space)
		return;
	if (!v->end)
		v->first = before;
	v->end = v->text->len;
}

static enum tb_status
read_value(struct reader *r, struct tb_buf *b, struct modelfile *m, struct modelfile_command *c,
	   struct tb_err *err)
{
	struct value v = { .text = b };
	size_t quotes;

	tb_buf_clear(b);
	while (next(r)) {
		if (is_newline(r->cp) && value_closed(&v, &quotes))
			break;
		value_take(&v, r);
	}
	if (tb_buf_failed(b))
		return tb_buf_status(b, r->what, err);
	if (!value_closed(&v, &quotes))
		return ends_early(r, words[c->word], err);
	c->value = v.end ? tb_arena_text(&m->texts, b->p + v.first + quotes,
					 v.end - v.first - 2 * quotes) : "";
	return c->value ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_command(struct reader *r, struct tb_buf *b, struct modelfile *m, struct tb_err *err)
{
	struct modelfile_command c = { .name = "", .line = r->line };
	enum tb_status status;

	r->begin = r->line;
	status = read_word(r, b, &c.word, err);
	if (!status && (c.word == MODELFILE_PARAMETER || c.word == MODELFILE_MESSAGE)) {
		status = read_name(r, b, c.word, err);
		if (!status && !(c.name = tb_arena_str(&m->texts, tb_buf_cstr(b))))
			status = tb_nomem(err);
	}
	if (!status)
		status = read_value(r, b, m, &c, err);
	if (status)
		return status;
	if (!tb_grow(&m->commands, &m->cap, m->n + 1, sizeof(c)))
		return tb_nomem(err);
	m->commands[m->n++] = c;
	return TB_OK;
}

/* Half a pair alone is a character that nobody knows. */
static void
utf16_to_utf8(const unsigned char *p, size_t n, bool big, struct tb_buf *out)
{
	for (size_t i = 0; i + 1 < n; i += 2) {
		uint32_t cp = big ? p[i] << 8 | p[i + 1] : p[i + 1] << 8 | p[i], low = 0;
		char bytes[4];

		if (cp >= 0xd800 && cp < 0xdc00 && i + 3 < n)
			low = big ? p[i + 2] << 8 | p[i + 3] : p[i + 3] << 8 | p[i + 2];
		if (low >= 0xdc00 && low < 0xe000) {
			cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
			i += 2;
		} else if (cp >= 0xd800 && cp < 0xe000) {
			cp = 0xfffd;
		}
		tb_buf_few(out, bytes, tb_utf8_put(cp, bytes));
	}
	if (n % 2)
		tb_buf_str(out, "\xef\xbf\xbd");
}

static enum tb_status
read_commands(struct reader *r, struct modelfile *m, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(MODELFILE_MAX * 4ul);
	enum tb_status status = TB_OK;
	bool from = false;

	while (!status && find_command(r))
		status = read_command(r, &b, m, err);
	tb_buf_free(&b);
	for (size_t i = 0; i < m->n; i++)
		from |= m->commands[i].word == MODELFILE_FROM;
	if (!status && !from)
		return tb_fail(err, TB_EFORMAT, "%s: no FROM line says what the model is made from",
			       r->what);
	return status;
}

enum tb_status
modelfile_parse(struct modelfile *m, const char *text, size_t len, const char *what,
		struct tb_err *err)
{
	struct reader r = { .s = text, .left = len, .line = 1, .what = what };
	struct tb_buf utf8 = TB_BUF(MODELFILE_MAX * 2ul);
	enum tb_status status = TB_OK;

	*m = (struct modelfile){ 0 };
	if (len > MODELFILE_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: over %u bytes", what, MODELFILE_MAX);
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		r.s += 3;
		r.left -= 3;
	} else if (len >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2))) {
		utf16_to_utf8((const unsigned char *)text + 2, len - 2, *text == '\xfe', &utf8);
		status = tb_buf_status(&utf8, what, err);
		r.s = tb_buf_cstr(&utf8);
		r.left = utf8.len;
	}
	if (!status)
		status = read_commands(&r, m, err);
	tb_buf_free(&utf8);
	if (status)
		modelfile_free(m);
	return status;
}

void
modelfile_free(struct modelfile *m)
{
	free(m->commands);
	tb_arena_free(&m->texts);
	*m = (struct modelfile){ 0 };
}

static void
print_head(struct tb_buf *out, const struct modelfile_command *c)
{
	tb_buf_printf(out, "%s ", words[c->word]);
	if (c->word == MODELFILE_PARAMETER || c->word == MODELFILE_MESSAGE)
		tb_buf_printf(out, "%s ", c->name);
}

static void
print_quoted(struct tb_buf *out, const struct modelfile_command *c, const char *quote)
{
	print_head(out, c);
	tb_buf_str(out, quote);
	tb_buf_str(out, c->value);
	tb_buf_str(out, quote);
	tb_buf_chr(out, '\n');
}

void
modelfile_print(struct tb_buf *out, const struct modelfile_command *c)
{
	const char *v = c->value;
	bool quotes = strchr(v, '\n') || *v == ' ' || tb_ends(v, " ");

	if (c->word == MODELFILE_FROM || !quotes)
		print_quoted(out, c, "");
	else
		print_quoted(out, c, strchr(v, '"') ? "\"\"\"" : "\"");
}

/* Does the line alone read as that command? */
static bool
reads_back(const char *line, size_t len, const struct modelfile_command *c)
{
	struct tb_buf b = TB_BUF(MODELFILE_MAX * 4ul);
	struct reader r = { .s = line, .left = len, .line = 1, .what = "" };
	struct modelfile m = { 0 };
	bool same = find_command(&r) && !read_command(&r, &b, &m, NULL) && !find_command(&r) &&
		    m.commands->word == c->word && !strcmp(m.commands->name, c->name) &&
		    !strcmp(m.commands->value, c->value);

	tb_buf_free(&b);
	modelfile_free(&m);
	return same;
}

bool
modelfile_say(struct tb_buf *out, const struct modelfile_command *c)
{
	static const char *const ways[] = { "", "\"", "\"\"\"" };
	struct tb_buf line = TB_BUF(MODELFILE_MAX * 4ul);
	bool said = false;

	modelfile_print(&line, c);
	said = !tb_buf_failed(&line) && reads_back(line.p, line.len, c);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && !said; i++) {
		tb_buf_clear(&line);
		print_quoted(&line, c, ways[i]);
		said = !tb_buf_failed(&line) && reads_back(line.p, line.len, c);
	}
	if (said)
		tb_buf_add(out, line.p, line.len);
	tb_buf_free(&line);
	return said;
}
