/* What servers answer: stretches of something, their own words, and how long they are asked again. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/patience.h"
#include "src/net/stretch.h"
#include "src/net/words.h"

static char came[64];

static enum tb_status
keep(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	size_t at = strlen(came);

	(void)arg;
	(void)enough;
	(void)err;
	assert_true(at + n < sizeof(came));
	memcpy(came + at, p, n);
	came[at + n] = 0;
	return TB_OK;
}

static void
put_header(struct http_answer *a, const char *line)
{
	a->headers = TB_BUF(4096);
	tb_buf_str(&a->headers, line);
	tb_buf_chr(&a->headers, 0);
}

/* One request for [off, off + len) of 10 bytes, answered so. */
static enum tb_status
ask(uint64_t off, uint64_t len, int code, const char *header, const char *body,
    struct http_fate *fate, struct tb_err *err)
{
	struct stretch s = { .host = "far", .what = "blob", .said_by = "its manifest", .size = 10,
			     .off = off, .len = len, .fn = keep };
	struct http_answer a = { .status = code };
	struct http_ask asked = { 0 };
	enum tb_status status = TB_OK;
	bool enough = false;

	*came = 0;
	put_header(&a, header);
	stretch_ask(&s, &asked);
	assert_string_equal(asked.headers[0], "Accept-Encoding: identity");
	assert_int_equal(asked.headers[1] == NULL, len == 10);
	if (http_well(&a))
		status = asked.begin(asked.arg, &a, err);
	for (; !status && *body && !enough && http_well(&a); body++)	/* byte for byte */
		status = asked.fn(asked.arg, body, 1, &enough, err);
	status = stretch_end(&s, &a, status, fate, err);
	http_answer_free(&a);
	return status;
}

static void
a_stretch_is_what_was_asked_for(void **state)
{
	static const struct {
		uint64_t off, len;
		int code;
		const char *header, *body, *came, *why;	/* why NULL: it is fine */
		bool again;
	} rows[] = {
		{ 0, 10, 200, "Content-Length: 10", "0123456789", "0123456789", NULL, false },
		{ 0, 10, 200, "", "0123456789", "0123456789", NULL, false },
		{ 2, 3, 206, "Content-Range: bytes 2-4/10", "234", "234", NULL, false },
		{ 2, 3, 206, "content-range: bytes 2-4/*", "234", "234", NULL, false },
		/* a server without ranges */
		{ 2, 3, 200, "Content-Length: 10", "0123456789", "234", NULL, false },
		{ 0, 3, 200, "", "0123456789", "012", NULL, false },
		/* another part, another size, no word of it */
		{ 2, 3, 206, "Content-Range: bytes 3-5/10", "345", "", "3-5 came, asked for were 2-4", false },
		{ 2, 3, 206, "Content-Range: bytes 2-5/10", "2345", "", "2-5 came", false },
		{ 2, 3, 206, "Content-Range: bytes 2-1/10", "", "", "2-1 came", false },
		{ 2, 3, 206, "Content-Range: bytes 2-4/11", "234", "", "11 bytes there, not the 10 of its "
		  "manifest", false },
		{ 2, 3, 206, "Content-Range: bytes 2-18446744073709551615/10", "234", "", "came", false },
		{ 2, 3, 206, "Content-Range: bytes -4/10", "234", "", "without saying which", false },
		{ 2, 3, 206, "", "234", "", "without saying which", false },
		{ 0, 10, 206, "Content-Range: bytes 0-9/10", "0123456789", "", "answered with 206", false },
		{ 2, 3, 204, "", "", "", "answered with 204", false },
		{ 0, 10, 200, "Content-Length: 11", "01234567890", "", "11 bytes there", false },
		{ 2, 3, 416, "", "", "", "shorter there than its manifest says", false },
		/* too much, too little */
		{ 0, 10, 200, "", "01234567890", "0123456789", "more bytes", false },
		{ 2, 3, 206, "Content-Range: bytes 2-4/10", "2345", "234", "more bytes", false },
		{ 2, 3, 206, "Content-Range: bytes 2-3/10", "23", "23", "after 2 of 3", true },
		{ 2, 3, 200, "", "01", "", "after 0 of 3", true },
	};
	struct http_fate fate;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		enum tb_status status = ask(rows[i].off, rows[i].len, rows[i].code, rows[i].header,
					    rows[i].body, &fate, &err);

		if (rows[i].why)
			assert_fails(status, err, status ? status : TB_EIO, rows[i].why);
		else
			assert_ok(status, err);
		assert_string_equal(came, rows[i].came);
		assert_int_equal(fate.again, rows[i].again);
		assert_false(fate.whole);
	}
}

/* A refusal is for the caller to tell. */
static void
what_is_refused_may_be_tried_again(void **state)
{
	struct http_fate fate;
	struct tb_err err;

	(void)state;
	assert_ok(ask(2, 3, 403, "", "", &fate, &err), err);
	assert_false(fate.again);
	assert_ok(ask(2, 3, 503, "", "", &fate, &err), err);
	assert_true(fate.again);
}

static void
words_of_servers_are_found(void **state)
{
	static const struct { const char *header, *type, *body, *words; } rows[] = {
		{ "", "application/json", "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"no\"}]}", "no" },
		{ "", "application/json", "{\"errors\":[{\"code\":\"DENIED\"},{\"message\":\"b\",\"detail\":\"c\"}]}",
		  "DENIED; b; c" },
		{ "", "text/plain", "{\"error\":\"pull model manifest\"}\n", "pull model manifest" },
		{ "", "", "{\"message\":\"m\"}", "m" },
		{ "", "", "{\"details\":\"d\"}", "d" },
		{ "", "", "{\"errors\":{}}", "" },
		{ "X-Error-Message: gated", "", "{\"error\":\"other\"}", "gated" },
		{ "", "text/plain", " \nbusy: try later\n", "busy: try later" },
		{ "", "", " <html>no</html>", "" },
		{ "", "text/html; charset=x", "no", "" },
		{ "", "", "", "" },
		{ "", "text/plain", "\033[2Ja\nb", "\357\277\275[2Ja b" },
		{ "", "text/plain", "a text that goes on and on", "a text that goes o…" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct http_answer a = { .status = 400, .body = TB_BUF(4096) };
		struct tb_buf words = TB_BUF(4096);

		put_header(&a, rows[i].header);
		snprintf(a.type, sizeof(a.type), "%s", rows[i].type);
		tb_buf_str(&a.body, rows[i].body);
		server_words(&a, 19, &words);
		assert_string_equal(tb_buf_cstr(&words), rows[i].words);
		tb_buf_free(&words);
		http_answer_free(&a);
	}
}

static void
patience_grows_and_ends(void **state)
{
	static const struct { enum patience_kind kind; unsigned tries, first, most, wanted; } rows[] = {
#define X(id, tries, first, most, wanted) { id, tries, (unsigned)(first * 100), most, wanted },
		PATIENCE_LIST(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct patience p = { rows[i].kind, 0 };
		struct http_fate fate = { .again = true };
		double seconds, first = rows[i].first / 100.0;
		unsigned tries = 1;

		for (; patience_left(&p, &fate, &seconds); tries++) {
			double least = first * 0.5 * (1u << (tries - 1));

			assert_true(seconds >= least || seconds == rows[i].most);
			assert_true(seconds <= rows[i].most && seconds <= least * 3);
		}
		assert_int_equal(tries, rows[i].tries);
		p.tries = 0;
		fate.retry_after = rows[i].wanted;
		assert_true(patience_left(&p, &fate, &seconds));
		assert_true(seconds == rows[i].wanted);
		fate.retry_after++;	/* that is said, and not waited for */
		assert_false(patience_left(&p, &fate, &seconds));
		fate = (struct http_fate){ .again = false };
		p.tries = 0;
		assert_false(patience_left(&p, &fate, &seconds));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stretch_is_what_was_asked_for),
		cmocka_unit_test(what_is_refused_may_be_tried_again),
		cmocka_unit_test(words_of_servers_are_found),
		cmocka_unit_test(patience_grows_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
