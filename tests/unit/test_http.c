#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/http.h"
#include "src/net/hub_api.h"
#include "src/net/registry.h"
#include "tests/unit/little_server.h"

static struct little_server one, two;		/* two origins */

#define OK LITTLE_OK
#define EMPTY LITTLE_EMPTY

struct row {
	const char *path, *answer;	/* %u: the other server's port */
};

static const struct row rows[] = {
	{ "/hello", OK "5\r\nX-One:  first \r\nx-one: second\r\n\r\nhello" },
	{ "/head", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5000000000\r\n\r\n" },
	{ "/part", "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-4/10\r\n"
		   "Connection: close\r\nContent-Length: 3\r\n\r\nllo" },
	{ "/416", "HTTP/1.1 416 Range\r\nContent-Range: bytes */10\r\n" EMPTY },
	{ "/put", "HTTP/1.1 201 Created\r\nLocation: sub/there?x=1\r\n" EMPTY },
	{ "/307", "HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:%u/put\r\n" EMPTY },
	{ "/303", "HTTP/1.1 303 See\r\nLocation: /put\r\n" EMPTY },
	{ "/back", "HTTP/1.1 302 Elsewhere\r\nLocation: http://127.0.0.1:%u/and-back\r\n" EMPTY },
	{ "/and-back", "HTTP/1.1 302 Elsewhere\r\nLocation: http://127.0.0.1:%u/hello\r\n" EMPTY },
	{ "/429", "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\n" EMPTY },
	{ "/503", "HTTP/1.1 503 No\r\n" EMPTY },
	{ "/501", "HTTP/1.1 501 No\r\n" EMPTY },
	{ "/short", OK "50\r\n\r\nhello" },
	{ "/trailer", "HTTP/1.1 200 OK\r\nConnection: close\r\nX-One: head\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-One: tail\r\n"
		      "X-Two: tail\r\n\r\n" },
	{ "/silent", NULL },
	{ "/cut", "HTTP/1.1 200 OK\r\nContent-Le" },
};

/* Lists that mean harm: without an end, and of nothing. */
static bool
answer_list(const char *path, struct tb_buf *out)
{
	bool tags = tb_starts(path, "/v2/a/many/tags/list"), hub = tb_starts(path, "/api/models/a/many/");
	struct tb_buf body = TB_BUF(16u << 20);

	tb_buf_str(&body, tags ? "{\"tags\":[\"t\"" : "[1");
	for (unsigned i = 1; i < (tags ? 1000 : 5u << 20); i++)
		tb_buf_str(&body, tags ? ",\"t\"" : ",1");
	tb_buf_str(&body, tags ? "]}" : "]");
	if (tags || hub)
		tb_buf_printf(out, OK "%zu\r\nLink: </v2/a/many/tags/list?last=t>; rel=\"next\"\r\n"
			      "\r\n%s", body.len, tb_buf_cstr(&body));
	tb_buf_free(&body);
	return tags || hub;
}

static void
answer(struct little_server *s, const char *request, struct tb_buf *out)
{
	const char *path = strchr(request, ' ');

	for (size_t i = 0; path && i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = strlen(rows[i].path);

		if (strncmp(path + 1, rows[i].path, len) || path[1 + len] != ' ')
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		if (rows[i].answer)
			tb_buf_printf(out, rows[i].answer, s->other->port);
#pragma GCC diagnostic pop
		return;
	}
	if (!path || !answer_list(path + 1, out))
		tb_buf_str(out, " ");	/* no HTTP */
}

static int
servers_start(void **state)
{
	(void)state;
	one.other = &two;
	two.other = &one;
	little_start(&one, answer);
	little_start(&two, answer);
	return 0;
}

static int
servers_stop(void **state)
{
	(void)state;
	little_stop(&one);
	little_stop(&two);
	return 0;
}

/* ---- asking ---- */

/* Asks the first server. */
static enum tb_status
asked(const char *path, struct http_ask ask, struct http_answer *a, struct tb_err *err)
{
	char *url = tb_asprintf("http://127.0.0.1:%u%s", one.port, path);
	struct http *h;
	enum tb_status status;

	little_forget(&one);
	little_forget(&two);
	ask.url = url;
	assert_ok(http_new(&h, err), *err);
	status = http_do(h, &ask, NULL, a, err);
	http_free(h);
	free(url);
	return status;
}

static void
headers_are_found(void **state)
{
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/hello", (struct http_ask){ 0 }, &a, &err), err);
	assert_int_equal(a.status, 200);
	assert_string_equal(tb_buf_cstr(&a.body), "hello");
	assert_string_equal(http_header(&a, "X-ONE"), "first");
	assert_string_equal(http_header_nth(&a, "X-One", 1), "second");
	assert_null(http_header_nth(&a, "X-One", 2));
	assert_null(http_header(&a, "X"));
	assert_null(http_header(&a, "hello"));
	assert_false(a.elsewhere);
	assert_non_null(strstr(a.url, "/hello"));
	http_answer_free(&a);
	http_answer_free(&a);
	assert_ok(asked("/trailer", (struct http_ask){ 0 }, &a, &err), err);
	assert_string_equal(http_header(&a, "X-One"), "head");
	assert_null(http_header(&a, "X-Two"));
	http_answer_free(&a);
}

static void
a_head_has_no_body(void **state)
{
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/head", (struct http_ask){ .method = "HEAD", .auth = "Basic eDp5" }, &a, &err),
		  err);
	assert_string_equal(http_header(&a, "content-length"), "5000000000");
	assert_int_equal(a.body.len, 0);
	assert_memory_equal(one.log, "HEAD /head ", 11);
	assert_non_null(strstr(one.log, "Authorization: Basic eDp5\r\n"));
	http_answer_free(&a);
}

static enum tb_status
look_at_range(void *arg, const struct http_answer *a, struct tb_err *err)
{
	const char *range = http_header(a, "Content-Range");

	*(int *)arg = a->status;
	assert_int_equal(a->body.len, 0);
	return a->status == 206 && range ? TB_OK : tb_fail(err, TB_EFORMAT, "no part");
}

static void
a_beginning_may_refuse(void **state)
{
	static const char *const range[] = { "Range: bytes=2-4", NULL };
	int seen = 0;
	struct http_ask ask = { .headers = range, .begin = look_at_range, .arg = &seen };
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/part", ask, &a, &err), err);
	assert_int_equal(seen, 206);
	assert_string_equal(tb_buf_cstr(&a.body), "llo");
	assert_non_null(strstr(one.log, "Range: bytes=2-4\r\n"));
	http_answer_free(&a);
	assert_fails(asked("/hello", ask, &a, &err), err, TB_EFORMAT, "no part");
	assert_int_equal(seen, 200);
	assert_false(http_again(&a, TB_EFORMAT));
	seen = 0;
	assert_ok(asked("/416", ask, &a, &err), err);
	assert_int_equal(a.status, 416);
	assert_int_equal(seen, 0);
	assert_string_equal(http_header(&a, "Content-Range"), "bytes */10");
	http_answer_free(&a);
}

/* A body that is made while it is sent. */
static enum tb_status
give_letters(void *arg, uint64_t off, char *p, size_t n, size_t *put, struct tb_err *err)
{
	if (arg && off >= 7)
		return tb_fail(err, TB_EIO, "disk gone");
	*put = n > 7 ? 7 : n;
	for (size_t i = 0; i < *put; i++)
		p[i] = (char)('a' + (off + i) % 26);
	return TB_OK;
}

static void
a_body_is_sent_as_it_comes(void **state)
{
	struct http_ask ask = { .method = "PATCH", .send = give_letters, .nsend = 26 };
	struct http_answer a;
	struct tb_err err;
	char *where;

	(void)state;
	assert_ok(asked("/put", ask, &a, &err), err);
	assert_int_equal(a.status, 201);
	assert_memory_equal(one.log, "PATCH /put ", 11);
	assert_non_null(strstr(one.log, "Content-Length: 26\r\n"));
	assert_non_null(strstr(one.log, "\r\n\r\nabcdefghijklmnopqrstuvwxyz\n===="));
	assert_null(strstr(one.log, "Content-Type"));
	assert_ok(http_location(&a, &where, &err), err);
	assert_non_null(strstr(where, "127.0.0.1:"));
	assert_non_null(strstr(where, "/sub/there?x=1"));
	free(where);
	http_answer_free(&a);
	ask.method = "PUT";
	ask.nsend = 3000000;
	assert_ok(asked("/put", ask, &a, &err), err);
	assert_memory_equal(one.log, "PUT /put ", 9);
	http_answer_free(&a);
	ask.send_arg = &ask;
	assert_fails(asked("/put", ask, &a, &err), err, TB_EIO, "disk gone");
	assert_false(http_again(&a, TB_EIO));
}

static void
nothing_is_sent_as_no_bytes(void **state)
{
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/put", (struct http_ask){ .method = "PUT" }, &a, &err), err);
	assert_non_null(strstr(one.log, "Content-Length: 0\r\n"));
	assert_null(strstr(one.log, "Content-Type"));
	http_answer_free(&a);
	assert_ok(asked("/put", (struct http_ask){ .body = "{}", .nbody = 2 }, &a, &err), err);
	assert_memory_equal(one.log, "POST /put ", 10);
	http_answer_free(&a);
}

static void
a_secret_stays_with_whom_it_is_for(void **state)
{
	static const char *const lines[] = { "authorization: Basic SECRET", "Cookie: SECRET",
					     "Accept: all", NULL };
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/307", (struct http_ask){ .key = "SECRET", .headers = lines }, &a, &err), err);
	assert_true(a.elsewhere);
	assert_non_null(strstr(one.log, "SECRET"));
	assert_null(strstr(two.log, "SECRET"));
	assert_non_null(strstr(two.log, "Accept: all\r\n"));
	http_answer_free(&a);
	/* who leads back to it might choose what the secret is used for */
	assert_ok(asked("/back", (struct http_ask){ .auth = "Basic SECRET" }, &a, &err), err);
	assert_non_null(strstr(one.log, "GET /hello "));
	assert_null(strstr(strstr(one.log, "===="), "SECRET"));
	assert_null(strstr(two.log, "SECRET"));
	http_answer_free(&a);
	assert_fails(asked("/hello", (struct http_ask){ .auth = "Basic a\r\nHost: b" }, &a, &err), err,
		     TB_EUSAGE, "end of line");
	assert_string_equal(one.log, "");
}

static void
what_is_sent_goes_elsewhere_only_if_it_may(void **state)
{
	struct http_ask ask = { .method = "PUT", .send = give_letters, .nsend = 26, .auth = "SECRET" };
	struct http_answer a;
	struct tb_err err;
	char *where;

	(void)state;
	assert_fails(asked("/307", ask, &a, &err), err, TB_EUNSUP, "nothing was sent there");
	assert_string_equal(two.log, "");
	assert_fails(asked("/307", (struct http_ask){ .method = "DELETE" }, &a, &err), err, TB_EUNSUP,
		     "nothing was sent there");
	ask.send_elsewhere = true;
	assert_ok(asked("/307", ask, &a, &err), err);
	assert_int_equal(a.status, 201);
	assert_true(a.elsewhere);
	assert_non_null(strstr(two.log, "\r\n\r\nabcdefghijklmnopqrstuvwxyz\n"));
	assert_null(strstr(two.log, "SECRET"));
	http_answer_free(&a);
	assert_fails(asked("/303", ask, &a, &err), err, TB_EUNSUP, "use that address");
	ask.stay = true;
	assert_ok(asked("/307", ask, &a, &err), err);
	assert_int_equal(a.status, 307);
	assert_string_equal(two.log, "");
	assert_ok(http_location(&a, &where, &err), err);
	assert_non_null(strstr(where, "/put"));
	free(where);
	http_answer_free(&a);
}

static void
it_is_known_what_may_work_again(void **state)
{
	struct http_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(asked("/429", (struct http_ask){ 0 }, &a, &err), err);
	assert_int_equal(a.retry_after, 7);
	assert_true(http_again(&a, TB_OK));
	http_answer_free(&a);
	assert_ok(asked("/503", (struct http_ask){ 0 }, &a, &err), err);
	assert_int_equal(a.retry_after, 0);
	assert_true(http_again(&a, TB_OK));
	http_answer_free(&a);
	assert_ok(asked("/501", (struct http_ask){ 0 }, &a, &err), err);
	assert_false(http_again(&a, TB_OK));
	http_answer_free(&a);
	assert_ok(asked("/416", (struct http_ask){ 0 }, &a, &err), err);
	assert_false(http_again(&a, TB_OK));
	http_answer_free(&a);
	assert_fails(asked("/short", (struct http_ask){ 0 }, &a, &err), err, TB_EIO, "broke off");
	assert_true(http_again(&a, TB_EIO));
	assert_fails(asked("/cut", (struct http_ask){ 0 }, &a, &err), err, TB_EIO, "broke off");
	assert_true(http_again(&a, TB_EIO));
	assert_fails(asked("/silent", (struct http_ask){ .idle = 1 }, &a, &err), err, TB_EIO,
		     "nothing moved for 1 second");
	assert_true(http_again(&a, TB_EIO));
	assert_fails(asked("/hello", (struct http_ask){ .max = 4 }, &a, &err), err, TB_ELIMIT,
		     "more than 4 bytes");
	assert_false(http_again(&a, TB_ELIMIT));
}

static void
a_list_has_an_end(void **state)
{
	char *address = tb_asprintf("http://127.0.0.1:%u", one.port), *name;
	struct hub_files files;
	struct tb_names tags;
	struct image_name n;
	struct registry *r;
	struct tb_err err;
	struct http *h;
	struct hub *hub;
	unsigned before = one.asked;

	(void)state;
	name = tb_asprintf("%s/a/many", address);
	assert_ok(http_new(&h, &err), err);
	assert_ok(image_name_parse(&n, name, &err), err);
	assert_ok(registry_new(&r, &n, NULL, &err), err);
	assert_ok(registry_tags(r, h, NULL, &tags, &err), err);
	assert_int_equal(tags.n, 10000);
	assert_int_equal(one.asked - before, 10);
	tb_names_free(&tags);
	registry_free(r);
	image_name_free(&n);

	assert_int_equal(setenv("HF_ENDPOINT", address, 1), 0);
	assert_ok(hub_new(&hub, "a/many", NULL, &err), err);
	assert_fails(hub_list(hub, h, "main", NULL, &files, &err), err, TB_ELIMIT,
		     "more than 8388608 bytes");
	hub_free(hub);
	http_free(h);
	free(name);
	free(address);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_found), cmocka_unit_test(a_head_has_no_body),
		cmocka_unit_test(a_beginning_may_refuse),
		cmocka_unit_test(a_body_is_sent_as_it_comes),
		cmocka_unit_test(nothing_is_sent_as_no_bytes),
		cmocka_unit_test(a_secret_stays_with_whom_it_is_for),
		cmocka_unit_test(what_is_sent_goes_elsewhere_only_if_it_may),
		cmocka_unit_test(it_is_known_what_may_work_again),
		cmocka_unit_test(a_list_has_an_end),
	};

	return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
