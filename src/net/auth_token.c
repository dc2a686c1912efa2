/* auth_token.c - asking a realm for a token. */
#include "config.h"

#include "src/net/auth_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/base64.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/key.h"
#include "src/net/words.h"

#define ANSWER_MAX 65536u
#define ANSWER_SECONDS 30u
#define TOKEN_MAX 32768u
#define LIFE_USUAL 60u			/* seconds, if nobody says */
#define LIFE_MAX 86400u
#define PARAMS_MAX 64			/* of an address */
#define WORDS_COLUMNS 200		/* of a refusal's */

/* "in hex, in base64: the SHA-256 of nothing", which stands for the body of a GET */
#define NO_BODY "ZTNiMGM0NDI5OGZjMWMxNDlhZmJmNGM4OTk2ZmI5MjQyN2FlNDFlNDY0OWI5MzRjYTQ5NTk5MWI3ODUyYjg1NQ=="

/* As a form has it: a blank is a plus. */
static void
put_coded(struct tb_buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-_.~", c))
			tb_buf_chr(out, c);
		else if (c == ' ')
			tb_buf_chr(out, '+');
		else
			tb_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

static void
put_param(struct tb_buf *out, const char *name, const char *s, size_t n)
{
	tb_buf_printf(out, "%s%s=", out->len ? "&" : "", name);
	put_coded(out, s, n);
}

/* "scope=A&scope=B" of "A B"; or one with all of them. */
static void
put_scopes(struct tb_buf *out, const char *scope, bool in_one)
{
	if (in_one && *scope)
		put_param(out, "scope", scope, strlen(scope));
	while (!in_one && *(scope += strspn(scope, " "))) {
		put_param(out, "scope", scope, strcspn(scope, " "));
		scope += strcspn(scope, " ");
	}
}

static int
param_order(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t n = strcspn(x, "="), m = strcspn(y, "=");
	int d = strncmp(x, y, n < m ? n : m);

	return d ? d : n != m ? (n < m ? -1 : 1) : x < y ? -1 : x > y;	/* one name: as they were */
}

/* The same parameters in the order of their names. */
static enum tb_status
sort_params(struct tb_buf *query, struct tb_err *err)
{
	char *text = tb_buf_take(query), *param[PARAMS_MAX];
	size_t n = 0;

	if (!text)
		return tb_nomem(err);
	for (char *p = text, *next; p && n < PARAMS_MAX; p = next) {
		if ((next = strchr(p, '&')))
			*next++ = 0;
		param[n++] = p;
	}
	qsort(param, n, sizeof(*param), param_order);
	for (size_t i = 0; i < n; i++)
		tb_buf_printf(query, "%s%s", i ? "&" : "", param[i]);
	free(text);
	return tb_buf_status(query, "an address for tokens", err);
}

/* Something that was never asked before. */
static enum tb_status
put_nonce(struct tb_buf *out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(100);
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return tb_fail_errno(err, "no random numbers");
	tb_base64(&text, bytes, sizeof(bytes));
	for (size_t i = 0; i < text.len && text.p[i] != '='; i++)
		tb_buf_chr(out, text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i]);
	tb_buf_free(&text);
	return TB_OK;
}

/* The whole address that is asked. */
static enum tb_status
token_url(const struct realm *r, bool sign, char **out, struct tb_err *err)
{
	size_t front = strcspn(r->text, "?#"), given = strcspn(r->text, "#");
	struct tb_buf query = TB_BUF(65536), nonce = TB_BUF(100);
	enum tb_status status = TB_OK;
	char ts[32];

	if (given > front + 1)
		tb_buf_add(&query, r->text + front + 1, given - front - 1);
	if (*r->service)
		put_param(&query, "service", r->service, strlen(r->service));
	put_scopes(&query, r->scope, false);
	if (sign && !(status = put_nonce(&nonce, err))) {
		snprintf(ts, sizeof(ts), "%" PRId64, tb_now_ns() / 1000000000);
		put_param(&query, "ts", ts, strlen(ts));
		put_param(&query, "nonce", tb_buf_cstr(&nonce), nonce.len);
		status = sort_params(&query, err);
	}
	if (!status)
		status = tb_buf_status(&query, "an address for tokens", err);
	*out = status ? NULL : tb_asprintf("%.*s%s%s", (int)front, r->text, query.len ? "?" : "",
					   tb_buf_cstr(&query));
	tb_buf_free(&query);
	tb_buf_free(&nonce);
	return status ? status : *out ? TB_OK : tb_nomem(err);
}

/* What the realm is shown. */
static enum tb_status
show_realm(const struct auth *a, enum auth_way way, const char *url, char **auth, struct tb_err *err)
{
	enum tb_status status;
	char *text;

	*auth = NULL;
	if (way == AUTH_PASSWORD)
		return auth_basic(a, auth, err);
	if (way != AUTH_SIGNED)
		return TB_OK;
	text = tb_asprintf("GET,%s,%s", url, NO_BODY);
	status = text ? ssh_key_sign(&a->key, text, auth, err) : tb_nomem(err);
	free(text);
	return status;
}

static bool
is_token(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (s[i] <= 0x20 || s[i] > 0x7e)
			return false;
	return n > 0 && n <= TOKEN_MAX;
}

static enum tb_status
read_token(const struct realm *r, const struct http_answer *a, struct token *out,
	   struct tb_err *err)
{
	const char *text;
	uint64_t life;
	cJSON *v;

	if (json_parse(&v, tb_buf_cstr(&a->body), a->body.len, "a token's answer", NULL))
		return tb_fail(err, TB_EFORMAT, "%s: it was asked for a token and answers something"
			       " else", r->url.host);
	text = json_str(json_get(v, "token"));
	if (!text || !*text)
		text = json_str(json_get(v, "access_token"));
	if (!json_u64(json_get(v, "expires_in"), &life) || !life)
		life = LIFE_USUAL;
	if (life > LIFE_MAX)
		life = LIFE_MAX;
	out->ends = tb_monotonic() + (double)life;
	out->text = text && is_token(text) ? tb_strdup(text) : NULL;
	json_free(v);
	return out->text ? TB_OK : tb_fail(err, TB_EFORMAT, "%s: it was asked for a token and its"
					   " answer has none", r->url.host);
}

static enum tb_status
refused(const struct realm *r, const struct http_answer *a, struct tb_err *err)
{
	struct tb_buf words = TB_BUF(2000);
	bool passing = http_again(a, TB_OK);

	server_words(a, WORDS_COLUMNS, &words);
	tb_fail(err, passing ? TB_EIO : TB_EUSAGE, "%s gives no token (%d)%s%s%s", r->url.host,
		a->status, words.len ? ": " : "", tb_buf_cstr(&words), passing ? "; try again in a moment" : "");
	tb_buf_free(&words);
	return passing ? TB_EIO : TB_EUSAGE;
}

/* Who reads of a host that cannot be asked has not named it. */
static enum tb_status
say_who_sent_us(const struct auth *a, const struct realm *r, enum tb_status status,
		struct tb_err *err)
{
	char *host = url_host(&r->url);

	if (!host || url_same_origin(&r->url, &a->url))
		(void)tb_wrap(err, status, "%s, asked for a token", a->host);
	else
		(void)tb_wrap(err, status, "%s sends who asks to %s for a token", a->host, host);
	free(host);
	return status;
}

/* The form that an identity token is shown in. */
static void
put_form(const struct auth *a, const struct realm *r, struct tb_buf *out)
{
	put_param(out, "grant_type", "refresh_token", strlen("refresh_token"));
	put_param(out, "service", r->service, strlen(r->service));
	put_param(out, "client_id", PACKAGE_NAME, strlen(PACKAGE_NAME));
	put_scopes(out, r->scope, true);
	put_param(out, "refresh_token", a->cred.refresh, strlen(a->cred.refresh));
}

enum tb_status
auth_buy(struct auth *a, struct http *h, const struct realm *r, enum auth_way way,
	 struct tb_job *job, struct token *out, struct tb_err *err)
{
	static const char *const form_type[] = { "Content-Type: application/x-www-form-urlencoded",
						 NULL };
	struct http_ask ask = { .max = ANSWER_MAX, .seconds = ANSWER_SECONDS, .trust = a->trust };
	struct tb_buf form = TB_BUF(65536);
	char *url = NULL, *auth = NULL;
	struct http_answer answer;
	enum tb_status status = TB_OK;
	bool asked = false;

	*out = (struct token){ 0 };
	if (way == AUTH_REFRESH) {
		put_form(a, r, &form);
		ask.url = r->text;
		ask.headers = form_type;
		ask.body = tb_buf_cstr(&form);
		ask.nbody = form.len;
		status = tb_buf_status(&form, "a token's form", err);
	} else if (!(status = token_url(r, way == AUTH_SIGNED, &url, err))) {
		status = show_realm(a, way, url, &auth, err);
		ask.url = url;
		ask.auth = auth;
	}
	if (!status) {
		status = http_do(h, &ask, job, &answer, err);
		a->fate = http_fate(&answer, status);
		if (status && status != TB_ECANCEL && status != TB_ENOMEM)
			status = say_who_sent_us(a, r, status, err);
		asked = !status;
	}
	if (asked) {
		status = answer.status == 200 ? read_token(r, &answer, out, err)
					      : refused(r, &answer, err);
		if (answer.body.p)
			explicit_bzero(answer.body.p, answer.body.cap);
		http_answer_free(&answer);
	}
	if (form.p)
		explicit_bzero(form.p, form.cap);
	tb_buf_free(&form);
	api_key_free(auth);
	free(url);
	return status;
}
