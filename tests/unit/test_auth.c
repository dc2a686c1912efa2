#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/base64.h"
#include "src/base/mem.h"
#include "src/net/auth.h"
#include "src/net/challenge.h"
#include "src/net/docker_config.h"
#include "src/net/http.h"
#include "src/net/registry.h"
#include "src/net/ssh_key.h"
#include "src/net/url.h"
#include "tests/unit/little_server.h"

/* ---- challenges ---- */

static void
challenge_is(const char *text, enum challenge_kind kind, const char *realm, const char *service,
	     const char *scope)
{
	struct challenge c;

	challenge_init(&c);
	assert_true(challenge_add(&c, text));
	assert_int_equal(c.kind, kind);
	assert_string_equal(tb_buf_cstr(&c.realm), realm);
	assert_string_equal(tb_buf_cstr(&c.service), service);
	assert_string_equal(tb_buf_cstr(&c.scope), scope);
	challenge_free(&c);
}

static void
challenges_are_read(void **state)
{
	(void)state;
	challenge_is("Bearer realm=\"https://a/token\",service=\"a, b\",scope=\"x:y:pull,push z\"",
		     CHALLENGE_BEARER, "https://a/token", "a, b", "x:y:pull,push z");
	challenge_is("bearer Realm = \"q\\\"uoted\\\\\" , SERVICE=plain", CHALLENGE_BEARER, "q\"uoted\\",
		     "plain", "");
	challenge_is("Basic realm=\"basic-realm\"", CHALLENGE_BASIC, "basic-realm", "", "");
	challenge_is("Basic realm=one, Bearer realm=two, service=s", CHALLENGE_BEARER, "two", "s", "");
	challenge_is("Bearer realm=two, Basic realm=one, service=s", CHALLENGE_BEARER, "two", "", "");
	challenge_is("Negotiate abc/def==, Basic realm=one", CHALLENGE_BASIC, "one", "", "");
	challenge_is("Negotiate, NTLM", CHALLENGE_NONE, "", "", "");
	challenge_is("Bearer", CHALLENGE_BEARER, "", "", "");
	challenge_is("", CHALLENGE_NONE, "", "", "");
	challenge_is(",,= ,\"x\", realm=a, Bearer realm=\"never closed", CHALLENGE_BEARER,
		     "never closed", "", "");
	challenge_is("Bearer realm=a, realm=b", CHALLENGE_BEARER, "a", "", "");
}

/* ---- keys ---- */

/* Made by ssh-keygen for this test. */
static const char key_text[] =
	"-----BEGIN OPENSSH PRIVATE KEY-----\n"
	"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
	"QyNTUxOQAAACAFtrpgwS86irRAaLchZWywn3bx9rWBA+2kgAp38h5CGAAAAIi//5x8v/+c\n"
	"fAAAAAtzc2gtZWQyNTUxOQAAACAFtrpgwS86irRAaLchZWywn3bx9rWBA+2kgAp38h5CGA\n"
	"AAAEAlsUU0gczof+YdynZSWKs4+pdoOYjrZXo4BN8F/3cjwgW2umDBLzqKtEBotyFlbLCf\n"
	"dvH2tYED7aSACnfyHkIYAAAABHRlc3QB\n"
	"-----END OPENSSH PRIVATE KEY-----\n";
static const char key_open[] = "AAAAC3NzaC1lZDI1NTE5AAAAIAW2umDBLzqKtEBotyFlbLCfdvH2tYED7aSACnfyHkIY";
static const char locked_text[] =
	"-----BEGIN OPENSSH PRIVATE KEY-----\n"
	"b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDMpQUxv4\n"
	"vsC/VWOu4ZyXs3AAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAILKtCoBO6fveWhD+\n"
	"7i2YygYAP8TwTIz1EkFOaJZaL1JeAAAAkMFwmHYSW2VT5UYPcMCK2U8uEtOVI/V9tFLIXr\n"
	"1QmBff+o+x37yHLJoNK34LzM4nL8zfW6nkzUeAk3ow4Tl/bVToLRG1jwoxQcmmLjljgUdF\n"
	"IFdtK9olWNmz7qFNDzTWWwaoXcNq5DkYJhTecrqeorjkh5SHCuCoJ8DMEHUOtFLkjloC+L\n"
	"5pXn3rZXqdP/0jWQ==\n"
	"-----END OPENSSH PRIVATE KEY-----\n";
static const char other_text[] =
	"-----BEGIN OPENSSH PRIVATE KEY-----\n"
	"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAaAAAABNlY2RzYS\n"
	"1zaGEyLW5pc3RwMjU2AAAACG5pc3RwMjU2AAAAQQQh4s5h3jxVc621bqj1g7EqNWSgWZ+U\n"
	"Z+oJw443QHd8v/t9apeJnmqh6QK2WL7JVsH4d7+cj+84SLrqLdXlA3bbAAAAoDCIFi8wiB\n"
	"YvAAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCHizmHePFVzrbVu\n"
	"qPWDsSo1ZKBZn5Rn6gnDjjdAd3y/+31ql4meaqHpArZYvslWwfh3v5yP7zhIuuot1eUDdt\n"
	"sAAAAhAN3QfKSPkjwzrFRez94mjTfxa1JuTs1r9WNaBcyLWkb+AAAABHRlc3QBAgM=\n"
	"-----END OPENSSH PRIVATE KEY-----\n";

static void
a_key_is_read_and_signs(void **state)
{
	struct tb_err err;
	struct ssh_key k;
	char *both;

	(void)state;
	assert_ok(ssh_key_parse(&k, key_text, strlen(key_text), "key", &err), err);
	assert_ok(ssh_key_sign(&k, "GET,https://a.example/token?nonce=x&ts=1,Zg==", &both, &err), err);
	assert_memory_equal(both, key_open, strlen(key_open));
	/* the same of OpenSSL: openssl pkeyutl -sign -rawin */
	assert_string_equal(both + strlen(key_open) + 1, "cmhb0BsOaJxUm5QVvjn+gFVm+koKVV8yfm8TNh2mgZPYmRmgjPeY1LdWJ4tYpv42WBI3/BGsQzRF1Fd/jPlhCg==");
	free(both);
	ssh_key_wipe(&k);
	assert_fails(ssh_key_parse(&k, locked_text, strlen(locked_text), "key", &err), err, TB_EUNSUP,
		     "passphrase");
	assert_fails(ssh_key_parse(&k, other_text, strlen(other_text), "key", &err), err, TB_EUNSUP,
		     "another kind (ecdsa");
	for (size_t n = 0; n < strlen(key_text) - 4; n += 7)
		assert_int_not_equal(ssh_key_parse(&k, key_text, n, "key", NULL), TB_OK);
}

static void
a_damaged_key_is_none(void **state)
{
	char text[sizeof(key_text)];
	struct ssh_key k;
	size_t taken = 0;

	(void)state;
	for (size_t i = 40; i < sizeof(text) - 40; i++) {
		memcpy(text, key_text, sizeof(text));
		text[i] = text[i] == 'A' ? 'B' : 'A';
		taken += !ssh_key_parse(&k, text, strlen(text), "key", NULL);
	}
	/* what holds the comment, and words that nobody needs */
	assert_true(taken < 90);
}

/* ---- Docker's configuration ---- */

static void
entry_is(const char *text, const char *url, const char *want)
{
	struct docker_entry e;
	struct tb_err err;
	struct url u;
	char got[500];

	assert_ok(url_parse(&u, url, &err), err);
	assert_ok(docker_config_find(text, strlen(text), "config.json", &u, &e, &err), err);
	snprintf(got, sizeof(got), "%s|%s|%s|%s|%s|%s", e.cred.user ? e.cred.user : "",
		 e.cred.password ? e.cred.password : "", e.cred.token ? e.cred.token : "",
		 e.cred.refresh ? e.cred.refresh : "", e.helper ? e.helper : "",
		 e.server ? e.server : "");
	assert_string_equal(got, want);
	docker_entry_free(&e);
	url_free(&u);
}

static void
dockers_entries_are_found(void **state)
{
	static const char text[] = "{\"auths\":{"
		"\"a.example\":{\"auth\":\"bWU6cDphc3M=\"},"
		"\"https://b.example:5000/v2/\":{\"username\":\"u\",\"password\":\"p w\"},"
		"\"https://index.docker.io/v1/\":{\"auth\":\"bWU6aHVi\"},"
		"\"ghcr.io/org\":{\"auth\":\"bWU6b3Jn\"},"
		"\"c.example\":{\"identitytoken\":\"idt\",\"auth\":\"\"},"
		"\"d.example\":{\"registrytoken\":\"regt\"},"
		"\"kept.example\":{}},"
		"\"credHelpers\":{\"h.example\":\"some-store\"},\"credsStore\":\"pass\"}";

	(void)state;
	entry_is(text, "https://a.example/v2/x", "me|p:ass||||");
	entry_is(text, "https://A.EXAMPLE:443/", "me|p:ass||||");
	entry_is(text, "https://b.example:5000/", "u|p w||||");
	entry_is(text, "https://registry-1.docker.io/", "me|hub||||");
	entry_is(text, "https://c.example/", "|||idt||");
	entry_is(text, "https://d.example/", "||regt|||");
	entry_is(text, "https://h.example/", "||||some-store|h.example");
	entry_is(text, "https://kept.example/", "||||pass|kept.example");
	entry_is(text, "https://ghcr.io/", "||||pass|ghcr.io");
	entry_is("{\"auths\":{\"a.example\":{\"auth\":\"bWU6cDphc3M=\"}}}", "https://a.example:444/",
		 "|||||");
	entry_is("{\"auths\":{\"a.example\":{\"auth\":\"bWU6cDphc3M=\"}}}", "https://x.a.example/",
		 "|||||");
	entry_is("{}", "https://a.example/", "|||||");
}

static void
what_docker_should_not_say_is_refused(void **state)
{
	static const char evil[] = "{\"credsStore\":\"../../tmp/x\"}";
	static const char none[] = "{\"auths\":{\"a.example\":{\"auth\":\"bWU=\"}}}";
	struct docker_entry e;
	struct credentials c;
	struct tb_err err;
	struct url u;

	(void)state;
	assert_ok(url_parse(&u, "https://a.example/", &err), err);
	assert_fails(docker_config_find(evil, strlen(evil), "f", &u, &e, &err), err, TB_EFORMAT,
		     "no name of a program");
	assert_fails(docker_config_find(none, strlen(none), "f", &u, &e, &err), err, TB_EFORMAT,
		     "log in again");
	assert_fails(docker_config_find("[", 1, "f", &u, &e, &err), err, TB_EFORMAT, "f");
	assert_fails(docker_helper_read("SECRET", 6, "x", &c, &err), err, TB_EFORMAT, "not JSON");
	assert_null(strstr(err.msg, "SECRET"));
	url_free(&u);
}

/* ---- asking ---- */

static struct little_server registry, elsewhere;

#define TOKEN(text) tb_buf_printf(out, LITTLE_OK "%zu\r\n\r\n%s", strlen(text), text)

/* What the registry wants, and what its realm gives; a test sets them. */
static struct {
	const char *challenge;		/* %u: the realm's port */
	bool realm_elsewhere;
	const char *wants;		/* a line of who asks for a token; NULL: nobody needs to */
	unsigned life;
	unsigned busy;			/* requests for a token that it cannot answer yet */
} manner;

static void
answer(struct little_server *s, const char *request, struct tb_buf *out)
{
	static unsigned n;
	char text[200];

	if (strstr(request, " /token") && manner.busy) {
		manner.busy--;
		tb_buf_str(out, "HTTP/1.1 503 Later\r\nRetry-After: 7\r\n" LITTLE_EMPTY);
		return;
	}
	if (strstr(request, " /token")) {
		if (manner.wants && !strstr(request, manner.wants)) {
			tb_buf_str(out, "HTTP/1.1 401 No\r\nContent-Length: 45\r\nConnection: close\r\n\r\n"
				   "{\"errors\":[{\"message\":\"who\\u001b are you?\"}]}   ");
			return;
		}
		snprintf(text, sizeof(text), "{\"token\":\"t%u\",\"expires_in\":%u}", ++n, manner.life);
		TOKEN(text);
		return;
	}
	if (strstr(request, "Authorization: Bearer t") && !strstr(request, "/never/")) {
		TOKEN("fine");
		return;
	}
	tb_buf_str(out, "HTTP/1.1 401 No\r\nWWW-Authenticate: ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	tb_buf_printf(out, manner.challenge, manner.realm_elsewhere ? s->other->port : s->port);
#pragma GCC diagnostic pop
	tb_buf_str(out, "\r\n" LITTLE_EMPTY);
}

#define BEARER "Bearer realm=\"http://127.0.0.1:%u/token?a=1\",service=\"s v\",scope=\"repository:x:pull\""

static void
fresh(const char *challenge, bool realm_elsewhere, const char *wants)
{
	setenv("HOME", unit_tmp(), 1);
	setenv("XDG_CONFIG_HOME", unit_tmp(), 1);
	setenv("DOCKER_CONFIG", unit_path("docker"), 1);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("REGISTRY_AUTH_FILE");
	mkdir(unit_path("tbtui"), 0700);
	mkdir(unit_path("docker"), 0700);
	mkdir(unit_path(".ollama"), 0700);
	chmod(unit_write("tbtui/keys", "", 0), 0600);
	chmod(unit_write("docker/config.json", "", 0), 0600);
	unlink(unit_path(".ollama/id_ed25519"));
	manner.challenge = challenge;
	manner.realm_elsewhere = realm_elsewhere;
	manner.wants = wants;
	manner.life = 60;
	manner.busy = 0;
}

static void
keys_say(const char *rest)
{
	char text[500];

	snprintf(text, sizeof(text), "127.0.0.1:%u %s\n", registry.port, rest);
	chmod(unit_write("tbtui/keys", text, strlen(text)), 0600);
}

static struct auth *
auth_of_registry(const char *token_host)
{
	struct auth_opts opts = { .token_host = token_host };
	char *url = tb_asprintf("http://127.0.0.1:%u", registry.port);
	struct tb_err err;
	struct auth *a;

	assert_ok(auth_new(&a, url, &opts, &err), err);
	free(url);
	return a;
}

/* What is shown next to a registry that has refused `used`. */
static enum tb_status
next_of(struct auth *a, const char *used, char **value, struct tb_err *err)
{
	char *url = tb_asprintf("http://127.0.0.1:%u/v2/", registry.port);
	struct http_ask ask = { .url = url };
	struct http_answer refused;
	struct http *h;
	enum tb_status status;

	assert_ok(http_new(&h, err), *err);
	assert_ok(http_do(h, &ask, NULL, &refused, err), *err);
	assert_int_equal(refused.status, 401);
	little_forget(&registry);
	little_forget(&elsewhere);
	status = auth_answer(a, h, &refused, "repository:x:pull,push", used, NULL, value, NULL, err);
	http_answer_free(&refused);
	http_free(h);
	free(url);
	return status;
}

static void
a_name_is_shown(void **state)
{
	struct tb_err err;
	struct auth *a;
	char *value, *again;

	(void)state;
	fresh("Basic realm=\"%u\"", false, NULL);
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, "wants to know who asks");
	assert_non_null(strstr(err.msg, "tbtui/keys"));
	auth_free(a);
	keys_say("me sesame");
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_string_equal(value, "Basic bWU6c2VzYW1l");
	assert_ok(auth_value(a, NULL, "another", NULL, &again, NULL, &err), err);
	assert_string_equal(again, value);
	auth_value_free(again);
	assert_fails(next_of(a, value, &again, &err), err, TB_EUSAGE, "does not take the name");
	assert_null(strstr(err.msg, "sesame"));
	auth_value_free(value);
	auth_free(a);
}

static void
a_token_is_got_for_nothing(void **state)
{
	struct tb_err err;
	struct auth *a;
	char *value, *again;

	(void)state;
	fresh(BEARER, true, NULL);
	a = auth_of_registry(NULL);
	assert_ok(auth_value(a, NULL, "repository:x:pull,push", NULL, &value, NULL, &err), err);
	assert_null(value);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_memory_equal(value, "Bearer t", 8);
	assert_non_null(strstr(elsewhere.log, "GET /token?a=1&service=s+v&scope=repository%3Ax%3Apull%2C"
			       "push&scope=repository%3Ax%3Apull HTTP"));
	assert_null(strstr(elsewhere.log, "Authorization"));
	/* the next request shows it at once, and who did not yet know it gets the same */
	assert_ok(auth_value(a, NULL, "repository:x:pull,push", NULL, &again, NULL, &err), err);
	assert_string_equal(again, value);
	auth_value_free(again);
	assert_ok(next_of(a, NULL, &again, &err), err);
	assert_string_equal(again, value);
	assert_int_equal(elsewhere.asked, 0);
	auth_value_free(again);
	/* refused: nothing else can be shown */
	assert_fails(next_of(a, value, &again, &err), err, TB_EUSAGE, "wants to know who asks");
	auth_value_free(value);
	auth_free(a);
}

/* One that has ended is no reason to give up. */
static void
a_token_is_renewed(void **state)
{
	struct tb_err err;
	struct auth *a;
	char *value, *again;

	(void)state;
	fresh(BEARER, false, NULL);
	manner.life = 1;
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	usleep(1100000);
	assert_ok(next_of(a, value, &again, &err), err);
	assert_string_not_equal(again, value);
	auth_value_free(again);
	auth_value_free(value);
	auth_free(a);
}

static void
a_password_buys_a_token(void **state)
{
	char config[200];
	struct tb_err err;
	struct auth *a;
	char *value;

	(void)state;
	fresh(BEARER, false, "Authorization: Basic bWU6c2VzYW1l\r\n");
	keys_say("me sesame");
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_memory_equal(value, "Bearer t", 8);
	auth_value_free(value);
	auth_free(a);
	keys_say("me wrong");
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, "does not take the name");
	assert_non_null(strstr(err.msg, "who\xef\xbf\xbd are you?"));
	auth_free(a);
	keys_say("a-whole-token");
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_string_equal(value, "Bearer a-whole-token");
	auth_value_free(value);
	auth_free(a);
	unit_write("tbtui/keys", "", 0);
	snprintf(config, sizeof(config), "{\"auths\":{\"127.0.0.1:%u\":{\"identitytoken\":\"idt\"}}}",
		 registry.port);
	unit_write("docker/config.json", config, strlen(config));
	manner.wants = "refresh_token=idt";
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_memory_equal(registry.log, "POST /token", 11);
	auth_value_free(value);
	auth_free(a);
}

static void
a_password_stays_with_its_registry(void **state)
{
	struct tb_err err;
	struct auth *a;
	char *value, host[40];

	(void)state;
	fresh(BEARER, true, "Authorization: Basic bWU6c2VzYW1l\r\n");
	keys_say("me sesame");
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, " auth 127.0.0.1:");
	assert_null(strstr(elsewhere.log, "Authorization"));
	assert_null(strstr(elsewhere.log, "sesame"));
	auth_free(a);
	snprintf(host, sizeof(host), "127.0.0.1:%u", elsewhere.port);
	a = auth_of_registry(host);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_non_null(strstr(elsewhere.log, "Authorization: Basic bWU6c2VzYW1l\r\n"));
	auth_value_free(value);
	auth_free(a);
}

static void
realms_are_believed_little(void **state)
{
	char *value;
	struct http_answer refused = { .status = 401, .headers = TB_BUF(1000) };
	struct tb_err err;
	struct auth *a;

	(void)state;
	tb_buf_str(&refused.headers, "WWW-Authenticate: Bearer realm=\"http://a.example/token\"");
	tb_buf_chr(&refused.headers, 0);
	assert_ok(auth_new(&a, "https://a.example", NULL, &err), err);
	assert_fails(auth_answer(a, NULL, &refused, "s", NULL, NULL, &value, NULL, &err), err, TB_EUNSUP,
		     "without TLS");
	tb_buf_clear(&refused.headers);
	tb_buf_str(&refused.headers, "WWW-Authenticate: Digest realm=x");
	tb_buf_chr(&refused.headers, 0);
	assert_fails(auth_answer(a, NULL, &refused, "s", NULL, NULL, &value, NULL, &err), err, TB_EUNSUP,
		     "Digest");
	auth_free(a);
	http_answer_free(&refused);
	/* where nobody answers it is said who sent us there */
	fresh("Bearer realm=\"http://127.0.0.1:1/?%u\"", false, NULL);
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EIO, "sends who asks to 127.0.0.1:1 for a token: ");
	auth_free(a);
}

/* As Ollama does it; first as nobody where it is not Ollama's own. */
static void
a_key_signs_for_a_token(void **state)
{
	struct tb_err err;
	struct auth *a;
	char *value, *line;

	(void)state;
	fresh(BEARER, false, "Authorization: AAAA");
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, "ssh-keygen -t ed25519");
	auth_free(a);
	chmod(unit_write(".ollama/id_ed25519", key_text, strlen(key_text)), 0644);
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, "chmod 600");
	auth_free(a);
	chmod(unit_path(".ollama/id_ed25519"), 0600);
	a = auth_of_registry(NULL);
	assert_ok(next_of(a, NULL, &value, &err), err);
	assert_int_equal(registry.asked, 2);
	line = strstr(registry.log, "====") + 5;
	assert_memory_equal(line, "GET /token?a=1&nonce=", 21);
	assert_non_null(strstr(line, "&scope=repository%3Ax%3Apull%2Cpush&scope=repository%3Ax%3Apull&"
			       "service=s+v&ts="));
	assert_non_null(strstr(line, key_open));
	auth_value_free(value);
	auth_free(a);
	/* elsewhere it is not even offered */
	manner.realm_elsewhere = true;
	a = auth_of_registry(NULL);
	assert_fails(next_of(a, NULL, &value, &err), err, TB_EUSAGE, "who");
	assert_null(strstr(elsewhere.log, "Authorization"));
	auth_free(a);
}

static enum tb_status
registry_says(struct registry *r, struct http *h, const char *where, struct http_answer *out,
	      struct tb_err *err)
{
	little_forget(&registry);
	return registry_ask(r, h, where, "pull", &(struct http_ask){ 0 }, NULL, out, err);
}

static void
a_registry_is_shown_it_without_asking(void **state)
{
	char *name = tb_asprintf("http://127.0.0.1:%u/ns/m", registry.port);
	struct http_answer a;
	struct image_name n;
	struct registry *r;
	struct tb_err err;
	struct http *h;
	enum tb_status status;

	(void)state;
	fresh(BEARER, false, NULL);
	assert_ok(image_name_parse(&n, name, &err), err);
	assert_ok(registry_new(&r, &n, NULL, &err), err);
	assert_ok(http_new(&h, &err), err);
	manner.busy = 1;		/* whoever tries again what broke off does so for this, too */
	status = registry_says(r, h, "manifests/a", &a, &err);
	assert_fails(status, err, TB_EIO, "gives no token (503)");
	assert_true(http_again(&a, status));
	assert_int_equal(a.retry_after, 7);
	assert_ok(registry_says(r, h, "manifests/a", &a, &err), err);
	assert_string_equal(tb_buf_cstr(&a.body), "fine");
	assert_int_equal(registry.asked, 3);		/* refused, the token, and again */
	assert_non_null(strstr(registry.log, "scope=repository%3Ans%2Fm%3Apull"));
	http_answer_free(&a);
	assert_ok(registry_says(r, h, "manifests/a", &a, &err), err);
	assert_int_equal(registry.asked, 1);
	http_answer_free(&a);
	status = registry_says(r, h, "/v2/never/x", &a, &err);
	assert_fails(status, err, TB_EUSAGE, "who asks");
	assert_false(http_again(&a, status));
	assert_int_equal(registry.asked, 1);		/* a new token would be no better */
	http_free(h);
	registry_free(r);
	image_name_free(&n);
	free(name);
}

/* ---- programs that keep credentials ---- */

static void
helper_is(const char *script)
{
	struct tb_buf text = TB_BUF(4000);

	tb_buf_printf(&text, "#!/bin/sh\n%s\n", script);
	assert_int_equal(chmod(unit_write("docker-credential-test", tb_buf_cstr(&text), text.len),
			       0755), 0);
	tb_buf_free(&text);
}

static void
a_program_is_asked(void **state)
{
	char *path = tb_asprintf("%s:%s", unit_tmp(), getenv("PATH"));
	struct credentials c;
	struct tb_err err;

	(void)state;
	setenv("PATH", path, 1);
	free(path);
	helper_is("read server; [ \"$1 $server\" = 'get a.example' ] || exit 1\n"
		  "echo '{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"se same\"}'");
	assert_ok(docker_helper_ask("test", "a.example", NULL, &c, &err), err);
	assert_string_equal(c.user, "me");
	assert_string_equal(c.password, "se same");
	credentials_free(&c);
	helper_is("echo credentials not found in native keychain; exit 1");
	assert_ok(docker_helper_ask("test", "a.example", NULL, &c, &err), err);
	assert_false(credentials_some(&c));
	helper_is("echo SECRET; exit 3");
	assert_fails(docker_helper_ask("test", "a.example", NULL, &c, &err), err, TB_EIO, "it fails");
	assert_null(strstr(err.msg, "SECRET"));
	helper_is("exec yes");
	assert_fails(docker_helper_ask("test", "a.example", NULL, &c, &err), err, TB_ELIMIT, "over");
	assert_fails(docker_helper_ask("none", "a.example", NULL, &c, &err), err, TB_EIO,
		     "cannot be started");
	helper_is("echo '{\"Username\":\"<token>\",\"Secret\":\"idt\"}'; exec >&-; sleep 30");
	assert_fails(docker_helper_ask("test", "a.example", NULL, &c, &err), err, TB_EIO, "it fails");
}

/* ---- letters ---- */

static void
letters_are_bytes_again(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" }, { "YQ==", "a" }, { "YWI=", "ab" }, { "YWJj", "abc" }, { "YQ", "a" },
		{ "YW\nJj \r\n", "abc" }, { "Y", NULL }, { "YR==", NULL }, { "YQ===", NULL },
		{ "Y=Q=", NULL }, { "YQ=a", NULL }, { "Y!==", NULL }, { "+/+/", "\xfb\xff\xbf" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tb_buf out = TB_BUF(100);
		bool ok = tb_base64_read(&out, rows[i][0], strlen(rows[i][0]));

		assert_int_equal(ok, rows[i][1] != NULL);
		if (ok)
			assert_string_equal(tb_buf_cstr(&out), rows[i][1]);
		tb_buf_free(&out);
	}
}

static int
servers_start(void **state)
{
	(void)state;
	registry.other = &elsewhere;
	elsewhere.other = &registry;
	little_start(&registry, answer);
	little_start(&elsewhere, answer);
	return 0;
}

static int
servers_stop(void **state)
{
	(void)state;
	little_stop(&registry);
	little_stop(&elsewhere);
	return 0;
}

/* A list's next page, an upload's next piece: nobody is there, and nobody is asked. */
static void
from_https_nothing_is_plain(void **state)
{
	struct image_name n;
	struct registry *r;
	struct http *h;
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(image_name_parse(&n, "https://127.0.0.1:1/a/b", &err), err);
	assert_ok(registry_new(&r, &n, NULL, &err), err);
	assert_ok(http_new(&h, &err), err);
	assert_fails(registry_ask(r, h, "http://127.0.0.1:1/v2/a/b/tags/list?last=x", "pull",
				  &(struct http_ask){ 0 }, NULL, &a, &err), err, TB_EUNSUP,
		     "from https to http");
	http_free(h);
	registry_free(r);
	image_name_free(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(challenges_are_read), cmocka_unit_test(a_key_is_read_and_signs),
		cmocka_unit_test(a_damaged_key_is_none), cmocka_unit_test(dockers_entries_are_found),
		cmocka_unit_test(what_docker_should_not_say_is_refused),
		cmocka_unit_test(a_name_is_shown), cmocka_unit_test(a_token_is_got_for_nothing),
		cmocka_unit_test(a_token_is_renewed), cmocka_unit_test(a_password_buys_a_token),
		cmocka_unit_test(a_password_stays_with_its_registry),
		cmocka_unit_test(realms_are_believed_little),
		cmocka_unit_test(from_https_nothing_is_plain),
		cmocka_unit_test(a_key_signs_for_a_token),
		cmocka_unit_test(a_registry_is_shown_it_without_asking),
		cmocka_unit_test(a_program_is_asked),
		cmocka_unit_test(letters_are_bytes_again),
	};

	return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
