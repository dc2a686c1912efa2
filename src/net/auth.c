#include "config.h"

#include "src/net/auth_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/base64.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/key.h"

#define RENEW_SECONDS 5.0	/* before its end */
#define FRESH_SECONDS 10.0	/* refused so soon, a new one of that way is refused, too */
#define WAYS_MAX 3

/* What one scope was given last. */
struct auth_grant {
	char *scope, *value;		/* owned; "Bearer TOKEN", NULL: nothing now */
	double got, ends;
	enum auth_way way;
	struct realm realm;		/* of a token that was bought */
};

/* ---- who gives tokens ---- */

static void
realm_free(struct realm *r)
{
	url_free(&r->url);
	free(r->text);
	free(r->service);
	free(r->scope);
	*r = (struct realm){ 0 };
}

static bool
has_word(const char *words, const char *word, size_t n)
{
	for (; *(words += strspn(words, " ")); words += strcspn(words, " "))
		if (strcspn(words, " ") == n && !strncmp(words, word, n))
			return true;
	return false;
}

/* The words of both, each once. */
static char *
join_scopes(const char *wanted, const char *said)
{
	struct tb_buf out = TB_BUF(16384);

	tb_buf_str(&out, wanted);
	for (; *(said += strspn(said, " ")); said += strcspn(said, " "))
		if (!has_word(tb_buf_cstr(&out), said, strcspn(said, " ")))
			tb_buf_printf(&out, "%s%.*s", out.len ? " " : "", (int)strcspn(said, " "),
				      said);
	return tb_buf_take(&out);
}

static enum tb_status
realm_read(struct realm *r, const struct auth *a, const struct challenge *c, const char *scope,
	   struct tb_err *err)
{
	enum tb_status status = url_parse(&r->url, tb_buf_cstr(&c->realm), err);

	if (status)
		return tb_wrap(err, status == TB_EUSAGE ? TB_EFORMAT : status, "%s: where it gives"
			       " tokens", a->host);
	if (!strcmp(a->url.scheme, "https") && strcmp(r->url.scheme, "https"))
		return tb_fail(err, TB_EUNSUP, "%s: it gives tokens at http://%.100s, without TLS, which"
			       " is refused", a->host, r->url.host);
	r->text = tb_strdup(tb_buf_cstr(&c->realm));
	r->service = tb_strdup(tb_buf_cstr(&c->service));
	r->scope = join_scopes(scope, tb_buf_cstr(&c->scope));
	return r->text && r->service && r->scope ? TB_OK : tb_nomem(err);
}

/* Registries whose realm is another server of the same people. */
static const struct { const char *registry, *realm; } pairs[] = {
	{ "docker.io", "auth.docker.io" },
	{ "index.docker.io", "auth.docker.io" },
	{ "registry-1.docker.io", "auth.docker.io" },
	{ "registry.gitlab.com", "gitlab.com" },
};

/* Does the realm belong to the registry, so that it may have the password? */
static bool
belongs(const struct auth *a, const struct url *realm)
{
	char *host;
	bool same;

	if (url_same_origin(&a->url, realm))
		return true;
	if (strcmp(realm->scheme, "https") && !url_is_loopback(realm) && !a->cred.plain)
		return false;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (!strcmp(pairs[i].registry, a->url.host) && !strcmp(pairs[i].realm, realm->host) &&
		    a->url.port == 443 && realm->port == 443)
			return true;
	host = url_host(realm);
	same = a->token_host && host && !strcasecmp(a->token_host, host);
	free(host);
	return same;
}

static bool
is_ollamas(const struct auth *a)
{
	return !strcmp(a->url.host, "registry.ollama.ai") && a->url.port == 443;
}

/* What can be shown for a token, in the order in which it is tried. */
static size_t
possible_ways(const struct auth *a, const struct realm *r, enum auth_way ways[WAYS_MAX])
{
	bool sign = a->signs && url_same_origin(&a->url, &r->url);
	size_t n = 0;

	if (a->cred.token)
		ways[n++] = AUTH_GIVEN;
	if (a->cred.refresh && belongs(a, &r->url))
		ways[n++] = AUTH_REFRESH;
	if (a->cred.user && belongs(a, &r->url))
		ways[n++] = AUTH_PASSWORD;
	if (n)			/* who is known is not nobody */
		return n;
	if (sign && is_ollamas(a))
		ways[n++] = AUTH_SIGNED;
	ways[n++] = AUTH_NOBODY;
	if (sign && !is_ollamas(a))
		ways[n++] = AUTH_SIGNED;
	return n;
}

/* ---- what the user has ---- */

/* Once; a key that cannot be used is as none until somebody has to be told. */
static enum tb_status
look_for_secrets(struct auth *a, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;

	if (a->looked)
		return TB_OK;
	if ((status = credentials_find(&a->url, job, &a->cred, err)))
		return status;
	a->key_path = ssh_key_ollama();
	if (!a->key_path)
		return tb_nomem(err);
	a->signs = *a->key_path && !tb_absent(a->key_path) && !ssh_key_read(&a->key, a->key_path, NULL);
	a->looked = true;
	return TB_OK;
}

/* How a key comes to be where none is used, or why that which is there is not. */
static void
put_key_advice(const struct auth *a, struct tb_buf *out)
{
	struct tb_err why;
	struct ssh_key k;

	if (a->signs || !*a->key_path)
		return;
	if (tb_absent(a->key_path))
		tb_buf_printf(out, "; or, for Ollama's registries, make a key (ssh-keygen -t ed25519 -N ''"
			      " -f %s) and give them its .pub", a->key_path);
	else if (ssh_key_read(&k, a->key_path, &why))
		tb_buf_printf(out, "; and the key is of no use: %s", why.msg);
	else
		ssh_key_wipe(&k);
}

/* Nothing more can be shown.  r NULL: no realm was asked; why: what it said. */
static enum tb_status
say_missing(struct auth *a, const struct realm *r, const struct tb_err *why, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(4096), to = TB_BUF(1000);
	char *realm = r ? url_host(&r->url) : NULL;

	if (credentials_some(&a->cred) && r && !a->cred.token && !belongs(a, &r->url)) {
		tb_buf_printf(&text, "it gives tokens at %s, which is not shown the password of %s."
			      " If both are yours to trust, write \"registry %s auth %s\" into the"
			      " configuration", realm ? realm : "?", a->host, a->host,
			      realm ? realm : "?");
	} else if (credentials_some(&a->cred)) {
		tb_buf_printf(&text, "it does not take %s from %s", a->cred.user
			      ? "the name and password" : "the token", a->cred.from);
		if (why && why->code)
			tb_buf_printf(&text, " (%s)", why->msg);
	} else {
		credentials_places(&a->url, &to);
		tb_buf_printf(&text, "it wants to know who asks%s; write %s", a->signs
			      ? ", and Ollama's key is not enough" : "", tb_buf_cstr(&to));
		put_key_advice(a, &text);
		if (why && why->code)
			tb_buf_printf(&text, " (%s)", why->msg);
	}
	tb_fail(err, TB_EUSAGE, "%s: %s", a->host, tb_buf_cstr(&text));
	tb_buf_free(&text);
	tb_buf_free(&to);
	free(realm);
	return TB_EUSAGE;
}

/* ---- what is shown ---- */

static struct auth_grant *
grant_of(struct auth *a, const char *scope, bool make)
{
	for (size_t i = 0; i < a->ngrants; i++)
		if (!strcmp(a->grants[i].scope, scope))
			return &a->grants[i];
	if (!make || !tb_grow(&a->grants, &a->cap, a->ngrants + 1, sizeof(*a->grants)))
		return NULL;
	a->grants[a->ngrants] = (struct auth_grant){ .scope = tb_strdup(scope) };
	return a->grants[a->ngrants].scope ? &a->grants[a->ngrants++] : NULL;
}

static void
grant_drop(struct auth_grant *g)
{
	api_key_free(g->value);
	g->value = NULL;
	realm_free(&g->realm);
}

static enum tb_status
copy_value(const char *value, char **out, struct tb_err *err)
{
	*out = tb_strdup(value);
	return *out ? TB_OK : tb_nomem(err);
}

enum tb_status
auth_basic(const struct auth *a, char **out, struct tb_err *err)
{
	struct tb_buf both = TB_BUF(65536), text = TB_BUF(65536);

	tb_buf_printf(&both, "%s:%s", a->cred.user, a->cred.password);
	tb_buf_str(&text, "Basic ");
	tb_base64(&text, tb_buf_cstr(&both), both.len);
	*out = tb_buf_failed(&both) ? NULL : tb_buf_take(&text);
	if (both.p)
		explicit_bzero(both.p, both.cap);
	tb_buf_free(&both);
	tb_buf_free(&text);
	return *out ? TB_OK : tb_nomem(err);
}

/* A token in that way; the realm is the grant's from then. */
static enum tb_status
obtain(struct auth *a, struct http *h, struct auth_grant *g, struct realm *r, enum auth_way way,
       struct tb_job *job, struct tb_err *err)
{
	struct token t = { .ends = tb_monotonic() + 1e9 };
	enum tb_status status = TB_OK;

	if (way == AUTH_GIVEN)
		t.text = tb_strdup(a->cred.token);
	else
		status = auth_buy(a, h, r, way, job, &t, err);
	if (status)
		return status;
	api_key_free(g->value);
	g->value = t.text ? tb_asprintf("Bearer %s", t.text) : NULL;
	g->got = tb_monotonic();
	g->ends = t.ends;
	g->way = way;
	if (r != &g->realm) {
		realm_free(&g->realm);
		g->realm = *r;
		*r = (struct realm){ 0 };
	}
	api_key_free(t.text);
	return g->value ? TB_OK : tb_nomem(err);
}

static enum tb_status
value_of(struct auth *a, struct http *h, const char *scope, struct tb_job *job, char **value,
	 struct tb_err *err)
{
	struct auth_grant *g = grant_of(a, scope, false);
	enum tb_status status;

	if (a->basic)
		return auth_basic(a, value, err);
	if (!g || !g->value)
		return TB_OK;
	if (g->ends - tb_monotonic() > RENEW_SECONDS || g->ends - g->got < 2 * RENEW_SECONDS)
		return copy_value(g->value, value, err);
	status = obtain(a, h, g, &g->realm, g->way, job, err);
	if (status == TB_EUSAGE) {	/* not any more: the registry will say what it wants */
		grant_drop(g);
		return TB_OK;
	}
	return status ? status : copy_value(g->value, value, err);
}

enum tb_status
auth_value(struct auth *a, struct http *h, const char *scope, struct tb_job *job, char **value,
	   struct http_fate *fate, struct tb_err *err)
{
	enum tb_status status;

	*value = NULL;
	pthread_mutex_lock(&a->lock);
	a->fate = (struct http_fate){ 0 };
	status = value_of(a, h, scope, job, value, err);
	if (fate)
		*fate = a->fate;
	pthread_mutex_unlock(&a->lock);
	return status;
}

/* From the first way on that was not refused yet.  TB_EUSAGE: there is none; *why: what the last one
 * was told. */
static enum tb_status
try_ways(struct auth *a, struct http *h, struct auth_grant *g, struct realm *r, const char *used,
	 struct tb_job *job, struct tb_err *why)
{
	enum auth_way ways[WAYS_MAX];
	size_t n = possible_ways(a, r, ways), i = 0;
	double now = tb_monotonic();
	enum tb_status status = TB_EUSAGE;

	if (used && g->value) {
		while (i < n && ways[i] != g->way)
			i++;
		i += now - g->got < FRESH_SECONDS && now < g->ends;
	}
	for (; i < n && status == TB_EUSAGE; i++)
		status = obtain(a, h, g, r, ways[i], job, why);
	return status;
}

static enum tb_status
answer_bearer(struct auth *a, struct http *h, struct auth_grant *g, const struct challenge *c,
	      const char *used, struct tb_job *job, struct tb_err *err)
{
	struct realm r = { 0 };
	struct tb_err why = { 0 };
	enum tb_status status = realm_read(&r, a, c, g->scope, err);

	if (!status) {
		status = try_ways(a, h, g, &r, used, job, &why);
		if (status == TB_EUSAGE)
			status = say_missing(a, &r, &why, err);
		else if (status)
			status = tb_pass(err, &why);
	}
	if (status)
		grant_drop(g);
	realm_free(&r);
	return status;
}

static enum tb_status
answer_basic(struct auth *a, const char *used, char **value, struct tb_err *err)
{
	enum tb_status status;

	if (!a->cred.user)
		return say_missing(a, NULL, NULL, err);
	if ((status = auth_basic(a, value, err)))
		return status;
	if (used && !strcmp(used, *value)) {
		auth_value_free(*value);
		*value = NULL;
		return say_missing(a, NULL, NULL, err);
	}
	a->basic = true;
	return TB_OK;
}

static enum tb_status
read_challenge(const struct auth *a, const struct http_answer *refused, struct challenge *c,
	       struct tb_err *err)
{
	const char *text;
	bool ok = true;

	challenge_init(c);
	for (unsigned i = 0; ok && (text = http_header_nth(refused, "WWW-Authenticate", i)); i++)
		ok = challenge_add(c, text);
	if (!ok)
		return tb_nomem(err);
	if (c->kind != CHALLENGE_NONE)
		return TB_OK;
	return *c->others ? tb_fail(err, TB_EUNSUP, "%s: it wants to know who asks, and how (%s) is not"
				    " understood here", a->host, c->others)
			  : tb_fail(err, TB_EUSAGE, "%s: it answers 401 and not what it wants to see",
				    a->host);
}

static enum tb_status
answer_locked(struct auth *a, struct http *h, const struct http_answer *refused, const char *scope,
	      const char *used, struct tb_job *job, char **value, struct tb_err *err)
{
	struct auth_grant *g = grant_of(a, scope, true);
	struct challenge c;
	enum tb_status status;

	if (!g)
		return tb_nomem(err);
	if (a->basic && !used)
		return auth_basic(a, value, err);
	if (g->value && (!used || strcmp(used, g->value)) && tb_monotonic() < g->ends)
		return copy_value(g->value, value, err);	/* of another thread, meanwhile */
	status = read_challenge(a, refused, &c, err);
	if (!status)
		status = look_for_secrets(a, job, err);
	if (!status && c.kind == CHALLENGE_BASIC)
		status = answer_basic(a, used, value, err);
	else if (!status && !(status = answer_bearer(a, h, g, &c, used, job, err)))
		status = copy_value(g->value, value, err);
	challenge_free(&c);
	return status;
}

enum tb_status
auth_answer(struct auth *a, struct http *h, const struct http_answer *refused, const char *scope,
	    const char *used, struct tb_job *job, char **value, struct http_fate *fate,
	    struct tb_err *err)
{
	enum tb_status status;

	*value = NULL;
	pthread_mutex_lock(&a->lock);
	a->fate = (struct http_fate){ 0 };
	status = answer_locked(a, h, refused, scope, used, job, value, err);
	if (fate)
		*fate = a->fate;
	pthread_mutex_unlock(&a->lock);
	return status;
}

void
auth_value_free(char *value)
{
	api_key_free(value);
}

enum tb_status
auth_new(struct auth **out, const char *registry_url, const struct auth_opts *opts,
	 struct tb_err *err)
{
	struct auth *a = tb_calloc(1, sizeof(*a));
	enum tb_status status;

	*out = NULL;
	if (!a)
		return tb_nomem(err);
	if ((status = url_parse(&a->url, registry_url, err))) {
		free(a);
		return status;
	}
	pthread_mutex_init(&a->lock, NULL);
	a->trust = opts ? opts->trust : NULL;
	a->host = url_host(&a->url);
	if (opts && opts->token_host)
		a->token_host = tb_strdup(opts->token_host);
	if (!a->host || (opts && opts->token_host && !a->token_host)) {
		auth_free(a);
		return tb_nomem(err);
	}
	*out = a;
	return TB_OK;
}

void
auth_free(struct auth *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->ngrants; i++) {
		grant_drop(&a->grants[i]);
		free(a->grants[i].scope);
	}
	free(a->grants);
	credentials_free(&a->cred);
	ssh_key_wipe(&a->key);
	url_free(&a->url);
	free(a->host);
	free(a->token_host);
	free(a->key_path);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
