#include "config.h"

#include "src/net/docker_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/base64.h"
#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/key.h"
#include "src/net/url.h"

#define SECRET_MAX 32768u
#define HUB "https://index.docker.io/v1/"	/* what docker login calls its own */

void
docker_entry_free(struct docker_entry *e)
{
	credentials_free(&e->cred);
	free(e->helper);
	free(e->server);
	*e = (struct docker_entry){ 0 };
}

/* May it be part of a program's name? */
static bool
helper_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
		      (name[i] >= '0' && name[i] <= '9') || strchr("._-", name[i])))
			return false;
	return n > 0 && n <= 100;
}

/* Docker's hub has several names, of which login writes one. */
static bool
is_hub(const char *host)
{
	return !strcasecmp(host, "docker.io") || !strcasecmp(host, "index.docker.io") ||
	       !strcasecmp(host, "registry-1.docker.io");
}

/* Is "HOST[:PORT]", with http(s):// and /v1/ or the like around it, the server? */
static bool
names_registry(const char *key, const struct url *u, bool *plain)
{
	bool whole = url_is(key);
	const char *at = whole ? strstr(key, "://") + 3 : key;
	size_t n = strcspn(at, "/");
	const char *path = at + n;
	char *text = tb_asprintf("%s://%.*s", whole && !strncasecmp(key, "http:", 5) ? "http"
				 : whole ? "https" : u->scheme, (int)(n < 300 ? n : 300), at);
	struct url named = { 0 };
	bool same = false;

	*plain = false;
	if (text && (!*path || !strcmp(path, "/") || !strcmp(path, "/v1/") || !strcmp(path, "/v1") ||
		     !strcmp(path, "/v2/") || !strcmp(path, "/v2")) && !url_parse(&named, text, NULL)) {
		same = url_same_origin(&named, u) ||
		       (is_hub(named.host) && is_hub(u->host) && named.port == u->port &&
			!strcmp(named.scheme, u->scheme));
		*plain = same && whole && !strcmp(named.scheme, "http");
	}
	url_free(&named);
	free(text);
	return same;
}

/* "USER:PASSWORD" in two. */
static bool
split_pair(const char *pair, size_t n, struct credentials *out)
{
	const char *colon = memchr(pair, ':', n);
	size_t user = colon ? (size_t)(colon - pair) : n;

	while (n && !pair[n - 1])	/* some wrote whole blocks */
		n--;
	if (!colon || !user || user >= n)
		return false;
	out->user = tb_strndup(pair, user);
	out->password = tb_strndup(colon + 1, n - user - 1);
	return out->user && out->password;
}

/* What can stand in a header or a form; NULL: it cannot, or there is none. */
static char *
take_secret(const cJSON *v)
{
	const char *s = json_str(v);
	size_t n = s ? strlen(s) : 0;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] <= 0x20 || (unsigned char)s[i] > 0x7e)
			return NULL;
	return n && n <= SECRET_MAX ? tb_strdup(s) : NULL;
}

/* One of "auths". */
static enum tb_status
read_entry(const cJSON *v, const char *path, const char *key, struct credentials *out,
	   struct tb_err *err)
{
	const char *auth = json_str(json_get(v, "auth")), *user = json_str(json_get(v, "username"));
	const char *password = json_str(json_get(v, "password"));
	struct tb_buf pair = TB_BUF(SECRET_MAX);
	bool ok = true;

	out->token = take_secret(json_get(v, "registrytoken"));
	out->refresh = take_secret(json_get(v, "identitytoken"));
	if (out->token || out->refresh)
		return TB_OK;
	if (auth && *auth)
		ok = tb_base64_read(&pair, auth, strlen(auth)) &&
		     split_pair(tb_buf_cstr(&pair), pair.len, out);
	else if (user && *user && password)
		ok = (out->user = tb_strdup(user)) && (out->password = tb_strdup(password));
	if (pair.p)
		explicit_bzero(pair.p, pair.cap);
	tb_buf_free(&pair);
	return ok ? TB_OK : tb_fail(err, TB_EFORMAT, "%s: the entry \"%.100s\" has no name and password;"
				    " log in again", path, key);
}

/* A program that keeps it. */
static enum tb_status
take_helper(const char *name, const char *server, const char *path, struct docker_entry *out,
	    struct tb_err *err)
{
	if (!helper_name(name))
		return tb_fail(err, TB_EFORMAT, "%s: \"%.60s\" is no name of a program", path, name);
	out->helper = tb_strdup(name);
	out->server = tb_strdup(server);
	return out->helper && out->server ? TB_OK : tb_nomem(err);
}

static enum tb_status
find_entry(const cJSON *doc, const char *path, const struct url *u, struct docker_entry *out,
	   struct tb_err *err)
{
	const char *store = json_str(json_get(doc, "credsStore")), *server = NULL, *name;
	enum tb_status status = TB_OK;
	char *host;
	bool plain;

	for (const cJSON *v = json_first(json_get(doc, "credHelpers")); v; v = json_next(v))
		if ((name = json_str(v)) && *name && names_registry(json_key(v), u, &plain)) {
			out->cred.plain = plain;
			return take_helper(name, is_hub(u->host) ? HUB : json_key(v), path, out, err);
		}
	for (const cJSON *v = json_first(json_get(doc, "auths")); v; v = json_next(v)) {
		if (!names_registry(json_key(v), u, &plain))
			continue;
		if ((status = read_entry(v, path, json_key(v), &out->cred, err)))
			return status;
		server = json_key(v);
		out->cred.plain = plain;
		if (credentials_some(&out->cred))
			return TB_OK;
	}
	if (!store || !*store)
		return TB_OK;
	host = url_host(u);
	status = host ? take_helper(store, is_hub(u->host) ? HUB : server ? server : host, path, out, err)
		      : tb_nomem(err);
	free(host);
	return status;
}

enum tb_status
docker_config_find(const char *text, size_t len, const char *path, const struct url *u,
		   struct docker_entry *out, struct tb_err *err)
{
	enum tb_status status;
	cJSON *doc;

	*out = (struct docker_entry){ 0 };
	if ((status = json_parse(&doc, text, len, path, err)))
		return status;
	status = find_entry(doc, path, u, out, err);
	json_free(doc);
	if (status)
		docker_entry_free(out);
	return status;
}

enum tb_status
docker_helper_read(const char *text, size_t len, const char *helper, struct credentials *out,
		   struct tb_err *err)
{
	enum tb_status status;
	const char *user;
	cJSON *v;

	*out = (struct credentials){ 0 };
	/* what it answers may be a secret: no message has any of it */
	if (json_parse(&v, text, len, "an answer", NULL))
		return tb_fail(err, TB_EFORMAT, "docker-credential-%s: its answer is not JSON", helper);
	user = json_str(json_get(v, "Username"));
	if (user && !strcmp(user, "<token>")) {
		out->refresh = take_secret(json_get(v, "Secret"));
	} else if (user && *user && json_str(json_get(v, "Secret"))) {
		out->user = tb_strdup(user);
		out->password = tb_strdup(json_str(json_get(v, "Secret")));
	}
	json_free(v);
	status = out->refresh || (out->user && out->password) ? TB_OK
		: tb_fail(err, TB_EFORMAT, "docker-credential-%s: its answer has no name and secret",
			  helper);
	if (status)
		credentials_free(out);
	return status;
}
