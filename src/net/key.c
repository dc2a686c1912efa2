#include "config.h"

#include "src/net/key.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/net/url.h"

#define KEYS_MAX (1u << 20)

void
api_key_free(char *key)
{
	if (key)
		explicit_bzero(key, strlen(key));
	free(key);
}

void
api_login_free(struct api_login *l)
{
	api_key_free(l->secret);
	free(l->user);
	*l = (struct api_login){ 0 };
}

/* What can stand in a header without ending it. */
static bool
is_key(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] <= 0x20 || p[i] > 0x7e)
			return false;
	return n > 0 && n <= 4096;
}

/* Are the n bytes "HOST[:PORT]" or "http(s)://HOST[:PORT]" the server?  *plain: written with
 * http://. */
static bool
names_server(const char *p, size_t n, const struct url *u, bool *plain)
{
	char *word = tb_strndup(p, n), *text;
	struct url named = { 0 };
	bool same;

	if (!word)
		return false;
	text = url_is(word) ? tb_strdup(word) : tb_asprintf("%s://%s", u->scheme, word);
	same = text && !url_parse(&named, text, NULL) && url_same_origin(&named, u);
	*plain = same && url_is(word) && !strcmp(named.scheme, "http");
	url_free(&named);
	free(text);
	free(word);
	return same;
}

/* From *at on; how long it is, 0: there is none. */
static size_t
next_word(const char *line, size_t n, size_t *at)
{
	size_t len = 0;

	while (*at < n && strchr(" \t\r", line[*at]))
		++*at;
	while (*at + len < n && !strchr(" \t\r", line[*at + len]))
		len++;
	return len;
}

/* "HOST KEY" or, if users may be, "HOST USER PASSWORD": is it for this server?  false with *wrong:
 * these are not such words. */
static bool
read_line(const char *line, size_t n, const struct url *u, bool users, struct api_login *f,
	  bool *wrong, struct tb_err *err)
{
	size_t at[4] = { 0 }, len[4];

	for (size_t i = 0; i < 4; i++) {
		if (i)
			at[i] = at[i - 1] + len[i - 1];
		len[i] = next_word(line, n, &at[i]);
	}
	*wrong = false;
	if (!len[0] || line[at[0]] == '#')
		return false;
	*wrong = !is_key(line + at[1], len[1]) || len[3] ||
		 (len[2] && (!users || !is_key(line + at[2], len[2]) ||
			     memchr(line + at[1], ':', len[1])));
	if (*wrong || !names_server(line + at[0], len[0], u, &f->plain))
		return false;
	f->secret = tb_strndup(line + at[len[2] ? 2 : 1], len[len[2] ? 2 : 1]);
	f->user = len[2] ? tb_strndup(line + at[1], len[1]) : NULL;
	if (!f->secret || (len[2] && !f->user)) {
		api_login_free(f);
		(void)tb_nomem(err);
	}
	return true;
}

/* The file is nobody else's business: what others can read is no secret, and what others can
 * write is not ours. */
enum tb_status
api_key_private(const char *path, struct tb_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return tb_fail_errno(err, "%s", path);
	if (st.st_uid != geteuid())
		return tb_fail(err, TB_EUSAGE, "%s: it belongs to somebody else; keys are read from"
			       " your own file alone", path);
	if (st.st_mode & 077)
		return tb_fail(err, TB_EUSAGE, "%s: others may read it; chmod 600 %s", path, path);
	return TB_OK;
}

/* users: names with passwords are wanted, too. */
static enum tb_status
read_keys(const char *path, const char *text, size_t len, const struct url *u, bool users,
	  struct api_login *f, struct tb_err *err)
{
	unsigned no = 0;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		bool wrong, ours = read_line(text + at, n, u, true, f, &wrong, err);

		no++;
		if (ours && !f->secret)
			return TB_ENOMEM;
		if (ours && (users || !f->user))
			return TB_OK;
		api_login_free(f);
		if (wrong)
			return tb_fail(err, TB_EUSAGE, "%s:%u: neither \"HOST KEY\" nor \"HOST USER"
				       " PASSWORD\"", path, no);
		at += n + 1;
	}
	return TB_OK;
}

static enum tb_status
from_file(const struct url *u, bool users, struct api_login *f, struct tb_err *err)
{
	char *path = tb_config_path("keys"), *text = NULL;
	enum tb_status status;
	size_t len = 0;

	if (!path)
		return tb_nomem(err);
	if (!*path || tb_absent(path)) {
		free(path);
		return TB_OK;
	}
	status = api_key_private(path, err);
	if (!status)
		status = tb_file_slurp(path, KEYS_MAX, &text, &len, err);
	if (!status) {
		status = read_keys(path, text, len, u, users, f, err);
		explicit_bzero(text, len);
	}
	free(text);
	free(path);
	return status;
}

/* A key alone says not whose it is: it becomes that of the first server. */
static bool
first_server(const struct url *u)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *first;
	char *origin = tb_asprintf("%s://%s:%u", u->scheme, u->host, u->port);
	bool same;

	pthread_mutex_lock(&lock);
	if (!first && origin) {
		first = origin;
		origin = NULL;
		same = true;
	} else {
		same = origin && !strcmp(first, origin);
	}
	pthread_mutex_unlock(&lock);
	free(origin);
	return same;
}

static enum tb_status
from_own_variable(const struct url *u, struct api_login *f, struct tb_err *err)
{
	const char *text = getenv("TBTUI_API_KEY");
	bool wrong;

	if (!text || !*text)
		return TB_OK;
	if (is_key(text, strlen(text)))
		return !first_server(u) || (f->secret = tb_strdup(text)) ? TB_OK : tb_nomem(err);
	if (read_line(text, strlen(text), u, false, f, &wrong, err))
		return f->secret ? TB_OK : TB_ENOMEM;
	return wrong ? tb_fail(err, TB_EUSAGE, "TBTUI_API_KEY: neither a key nor \"HOST KEY\"")
		     : TB_OK;
}

static enum tb_status
from_openai_variable(const struct url *u, struct api_login *f, struct tb_err *err)
{
	const char *text = getenv("OPENAI_API_KEY");

	if (!text || !*text || strcmp(u->scheme, "https") || u->port != 443 ||
	    strcmp(u->host, "api.openai.com"))
		return TB_OK;
	if (!is_key(text, strlen(text)))
		return tb_fail(err, TB_EUSAGE, "OPENAI_API_KEY: no key");
	return (f->secret = tb_strdup(text)) ? TB_OK : tb_nomem(err);
}

/* Not where all can read it, unless its line says so. */
static enum tb_status
may_go(const struct url *u, const struct api_login *f, struct tb_err *err)
{
	char *host;

	if (!f->secret || f->plain || strcmp(u->scheme, "http") || url_is_loopback(u))
		return TB_OK;
	host = url_host(u);
	tb_fail(err, TB_EUSAGE, "http://%s: its %s would cross the network for all to read; use"
		" https://, or write its line in ~/.config/tbtui/keys as \"http://%s %s\"",
		host ? host : "?", f->user ? "password" : "key", host ? host : "?",
		f->user ? "USER PASSWORD" : "KEY");
	free(host);
	return TB_EUSAGE;
}

enum tb_status
api_key_find(const struct url *u, char **out, struct tb_err *err)
{
	struct api_login f = { 0 };
	enum tb_status status = from_own_variable(u, &f, err);

	*out = NULL;
	if (!status && !f.secret)
		status = from_openai_variable(u, &f, err);
	if (!status && !f.secret)
		status = from_file(u, false, &f, err);
	if (!status)
		status = may_go(u, &f, err);
	if (status)
		api_login_free(&f);
	else
		*out = f.secret;
	return status;
}

enum tb_status
api_login_find(const struct url *u, struct api_login *out, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct api_login){ 0 };
	status = from_file(u, true, out, err);
	if (!status)
		status = may_go(u, out, err);
	if (status)
		api_login_free(out);
	return status;
}

void
api_key_places(const struct url *u, struct tb_buf *out)
{
	char *path = tb_config_path("keys"), *host = url_host(u);

	tb_buf_printf(out, "$TBTUI_API_KEY, or a line \"%s KEY\" in %s", host ? host : "HOST",
		      path && *path ? path : "~/.config/tbtui/keys");
	free(path);
	free(host);
}
