#include "config.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "src/base/buf.h"
#include "src/net/key.h"
#include "src/net/sse.h"
#include "src/net/url.h"

/* ---- addresses ---- */

static void
an_address_is_taken_apart(void **state)
{
	struct tb_err err;
	struct url u;
	char *text;

	(void)state;
	assert_ok(url_parse(&u, "HTTPS://Example.ORG/v1/#org/name:8b", &err), err);
	assert_string_equal(u.scheme, "https");
	assert_string_equal(u.host, "example.org");
	assert_int_equal(u.port, 443);
	assert_string_equal(u.path, "/v1");
	assert_string_equal(u.fragment, "org/name:8b");
	text = url_below(&u, "/models");
	assert_string_equal(text, "https://example.org:443/v1/models");
	free(text);
	text = url_host(&u);
	assert_string_equal(text, "example.org");
	free(text);
	url_free(&u);

	assert_ok(url_parse(&u, "http://[::1]:8080/a/b?version=1", &err), err);
	assert_true(url_is_loopback(&u));
	text = url_below(&u, "/models");
	assert_string_equal(text, "http://[::1]:8080/a/b/models?version=1");
	free(text);
	text = url_host(&u);
	assert_string_equal(text, "[::1]:8080");
	free(text);
	url_free(&u);
}

static void
what_is_no_address_is_refused(void **state)
{
	struct tb_err err;
	struct url u;

	(void)state;
	assert_fails(url_parse(&u, "ftp://host/", &err), err, TB_EUSAGE, "not http");
	assert_fails(url_parse(&u, "file:///etc/passwd", &err), err, TB_EUSAGE, "not http");
	assert_fails(url_parse(&u, "https://me:secret@host/v1", &err), err, TB_EUSAGE, "password");
	assert_null(strstr(err.msg, "secret"));
	assert_fails(url_parse(&u, "https://host:99999/v1", &err), err, TB_EUSAGE, "no address");
	assert_fails(url_parse(&u, "https://ho st/v1", &err), err, TB_EUSAGE, "no address");
	assert_fails(url_parse(&u, "https://", &err), err, TB_EUSAGE, "no address");
}

static bool
loopback(const char *text)
{
	struct tb_err err;
	struct url u;
	bool is;

	assert_ok(url_parse(&u, text, &err), err);
	is = url_is_loopback(&u);
	url_free(&u);
	return is;
}

static void
this_machine_is_known(void **state)
{
	(void)state;
	assert_true(loopback("http://localhost:1/"));
	assert_true(loopback("http://127.0.0.1/"));
	assert_true(loopback("http://127.8.9.1:99/"));
	assert_true(loopback("http://2130706433/"));	/* 127.0.0.1 in one number */
	assert_false(loopback("http://localhost.example.org/"));
	assert_false(loopback("http://127.0.0.1.example.org/"));
	assert_false(loopback("http://10.0.0.1/"));
	assert_false(loopback("http://[::2]/"));
}

static bool
same(const char *a, const char *b)
{
	struct url x, y;
	struct tb_err err;
	bool is;

	assert_ok(url_parse(&x, a, &err), err);
	assert_ok(url_parse(&y, b, &err), err);
	is = url_same_origin(&x, &y);
	url_free(&x);
	url_free(&y);
	return is;
}

static void
an_origin_is_scheme_host_and_port(void **state)
{
	(void)state;
	assert_true(same("https://a.b/x", "https://A.B:443/y"));
	assert_false(same("https://a.b", "http://a.b"));
	assert_false(same("https://a.b", "https://a.b:444"));
	assert_false(same("https://a.b", "https://b.a.b"));
	assert_false(same("http://localhost:80", "http://127.0.0.1:80"));
}

/* ---- events ---- */

static enum tb_status
note_event(void *arg, const char *event, const char *data, size_t len, struct tb_err *err)
{
	tb_buf_printf(arg, "[%s|%.*s]", event, (int)len, data);
	return strcmp(data, "bad") ? TB_OK : tb_fail(err, TB_EFORMAT, "bad data");
}

/* The same whether it comes at once or byte by byte. */
static void
events_are(const char *text, const char *want)
{
	for (size_t step = 1; step < 100; step += 98) {
		struct tb_buf all = TB_BUF(10000);
		struct tb_err err;
		struct sse s;
		size_t n = strlen(text);

		sse_init(&s, 1000, note_event, &all);
		for (size_t at = 0; at < n; at += step)
			assert_ok(sse_feed(&s, text + at, n - at < step ? n - at : step, &err), err);
		assert_ok(sse_end(&s, &err), err);
		assert_string_equal(tb_buf_cstr(&all), want);
		sse_free(&s);
		tb_buf_free(&all);
	}
}

static void
events_are_read(void **state)
{
	(void)state;
	events_are("data: a\n\ndata:b\n\n", "[|a][|b]");
	events_are("\xef\xbb\xbf" "data: a\r\ndata:  b\r\n\r\n", "[|a\n b]");
	events_are("event: error\rdata: x\r\rdata: y\r\r", "[error|x][|y]");
	events_are(": ping\n\n:\n\nid: 1\nretry: 5\nnothing\n\n", "");
	events_are("data\n\n", "[|]");
	events_are("data: whole\n", "[|whole]");
	events_are("data: whole\n\ndata: half", "[|whole]");
}

static void
events_have_limits(void **state)
{
	struct tb_buf all = TB_BUF(10000);
	struct tb_err err;
	struct sse s;
	enum tb_status status = TB_OK;

	(void)state;
	sse_init(&s, 100, note_event, &all);
	for (unsigned i = 0; i < 200 && !status; i++)
		status = sse_feed(&s, "x", 1, &err);
	assert_int_equal(status, TB_ELIMIT);
	sse_free(&s);
	sse_init(&s, 100, note_event, &all);
	status = TB_OK;
	for (unsigned i = 0; i < 50 && !status; i++)
		status = sse_feed(&s, "data: xyz\n", 10, &err);
	assert_int_equal(status, TB_ELIMIT);
	sse_free(&s);
	sse_init(&s, 100, note_event, &all);
	assert_fails(sse_feed(&s, "data: bad\n\n", 11, &err), err, TB_EFORMAT, "bad data");
	sse_free(&s);
	tb_buf_free(&all);
}

/* ---- keys ---- */

static void
key_of(const char *url, const char *want)
{
	struct tb_err err;
	struct url u;
	char *key;

	assert_ok(url_parse(&u, url, &err), err);
	assert_ok(api_key_find(&u, &key, &err), err);
	if (want)
		assert_string_equal(key ? key : "(none)", want);
	else
		assert_null(key);
	api_key_free(key);
	url_free(&u);
}

static void
no_key(const char *url, const char *part)
{
	struct tb_err err;
	struct url u;
	char *key;

	assert_ok(url_parse(&u, url, &err), err);
	assert_fails(api_key_find(&u, &key, &err), err, TB_EUSAGE, part);
	assert_null(strstr(err.msg, "sk-"));
	assert_null(key);
	url_free(&u);
}

static void
keys_are(const char *text, mode_t mode)
{
	assert_int_equal(chmod(unit_write("tbtui/keys", text, strlen(text)), mode), 0);
}

static void
without_keys(void)
{
	setenv("XDG_CONFIG_HOME", unit_tmp(), 1);
	mkdir(unit_path("tbtui"), 0700);
	unsetenv("TBTUI_API_KEY");
	unsetenv("OPENAI_API_KEY");
	keys_are("", 0600);
}

static void
a_line_is_for_its_server(void **state)
{
	(void)state;
	without_keys();
	keys_are("# mine\n\n  a.example \t sk-a \r\nlocalhost:8080 sk-l\nhttp://b.example:81 sk-b\n"
		 "https://c.example sk-c", 0600);
	key_of("https://a.example/v1", "sk-a");
	key_of("https://A.Example:443/v2", "sk-a");
	key_of("https://a.example:444/v1", NULL);
	key_of("https://x.a.example/v1", NULL);
	key_of("http://localhost:8080/v1", "sk-l");
	key_of("http://localhost:8081/v1", NULL);
	key_of("http://b.example:81/v1", "sk-b");
	key_of("https://b.example:81/v1", NULL);
	key_of("https://c.example/v1", "sk-c");
	key_of("http://c.example/v1", NULL);
	no_key("http://a.example/v1", "cross the network");
}

static void
the_file_is_private(void **state)
{
	(void)state;
	without_keys();
	keys_are("a.example sk-a\n", 0644);
	no_key("https://a.example/v1", "chmod 600");
	keys_are("a.example sk-a\n", 0620);
	no_key("https://a.example/v1", "chmod 600");
	keys_are("b.example user sk-b extra\na.example sk-a\n", 0600);
	no_key("https://a.example/v1", "keys:1: ");
	keys_are("a.example sk-\033a\n", 0600);
	no_key("https://a.example/v1", "keys:1: ");
}

static void
a_login_is_no_key(void **state)
{
	struct api_login l;
	struct tb_err err;
	struct url u;

	(void)state;
	without_keys();
	keys_are("a.example me sk-pass\na.example sk-a\nb.example sk-b\n", 0600);
	key_of("https://a.example/v1", "sk-a");
	assert_ok(url_parse(&u, "https://a.example", &err), err);
	assert_ok(api_login_find(&u, &l, &err), err);
	assert_string_equal(l.user, "me");
	assert_string_equal(l.secret, "sk-pass");
	api_login_free(&l);
	url_free(&u);
	assert_ok(url_parse(&u, "https://b.example", &err), err);
	assert_ok(api_login_find(&u, &l, &err), err);
	assert_null(l.user);
	assert_string_equal(l.secret, "sk-b");
	api_login_free(&l);
	url_free(&u);
	assert_ok(url_parse(&u, "http://a.example", &err), err);
	keys_are("a.example me sk-pass\n", 0600);
	assert_fails(api_login_find(&u, &l, &err), err, TB_EUSAGE, "password would cross");
	assert_null(strstr(err.msg, "sk-"));
	keys_are("http://a.example me sk-pass\n", 0600);
	assert_ok(api_login_find(&u, &l, &err), err);
	assert_true(l.plain);
	api_login_free(&l);
	url_free(&u);
	keys_are("a.example m:e sk-pass\n", 0600);
	no_key("https://a.example/v1", "keys:1: ");
}

static void
variables_are_for_one_server(void **state)
{
	(void)state;
	without_keys();
	setenv("OPENAI_API_KEY", "sk-o", 1);
	key_of("https://api.openai.com/v1", "sk-o");
	key_of("https://api.openai.com.example/v1", NULL);
	key_of("https://api.openai.com:8443/v1", NULL);
	key_of("http://api.openai.com/v1", NULL);
	setenv("TBTUI_API_KEY", "d.example sk-d", 1);
	key_of("https://d.example/v1", "sk-d");
	key_of("https://e.example/v1", NULL);
	key_of("https://api.openai.com/v1", "sk-o");
	setenv("TBTUI_API_KEY", "two words more", 1);
	no_key("https://d.example/v1", "TBTUI_API_KEY");
	setenv("TBTUI_API_KEY", "sk-bare", 1);
	key_of("https://f.example/v1", "sk-bare");	/* the first that asks has it */
	key_of("https://g.example/v1", NULL);
	key_of("https://f.example/v1", "sk-bare");
	keys_are("g.example sk-g\n", 0600);
	key_of("https://g.example/v1", "sk-g");
	unsetenv("TBTUI_API_KEY");
	unsetenv("OPENAI_API_KEY");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_taken_apart),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(this_machine_is_known),
		cmocka_unit_test(an_origin_is_scheme_host_and_port),
		cmocka_unit_test(events_are_read), cmocka_unit_test(events_have_limits),
		cmocka_unit_test(a_line_is_for_its_server), cmocka_unit_test(the_file_is_private),
		cmocka_unit_test(a_login_is_no_key),
		cmocka_unit_test(variables_are_for_one_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
