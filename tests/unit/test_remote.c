#include "config.h"

#include "tests/unit/unit.h"

#include "src/ops/remote/remote_parts.h"

static struct remote server = { .host = (char *)"server", .model = (char *)"m",
				.key = (char *)"sk-secret", .url = { .scheme = (char *)"https",
				.host = (char *)"server", .port = 443 },
				.lock = PTHREAD_MUTEX_INITIALIZER };

static void
note_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	tb_buf_printf(arg, "%s%.*s|", kind == GEN_MSG_THINKING ? "?" : "", (int)len, text);
}

/* The answer that `text` is, and its pieces. */
static enum tb_status
answer_of(const char *text, const char *prefix, struct remote_answer *out, struct tb_buf *pieces,
	  struct tb_err *err)
{
	struct sampler_opts sampler;
	struct remote_ask ask = { .sampler = &sampler, .prefix = prefix, .top = 3,
				  .piece = note_piece, .arg = pieces };

	remote_sampler_init(&sampler);
	return remote_answer_read(&server, &ask, text, strlen(text), 7, out, err);
}

#define SAID(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define END "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

static void
pieces_are(enum remote_kind kind, const char *text, const char *prefix, const char *want)
{
	struct tb_buf pieces = TB_BUF(10000);
	struct remote_answer a;
	struct tb_err err;

	server.kind = kind;
	assert_ok(answer_of(text, prefix, &a, &pieces, &err), err);
	assert_string_equal(tb_buf_cstr(&pieces), want);
	remote_answer_free(&a);
	tb_buf_free(&pieces);
}

/* llama-server says the beginning again, others do not. */
static void
a_given_beginning_comes_once(void **state)
{
	(void)state;
	pieces_are(REMOTE_ANY, SAID(" there") END, "Hi", "Hi| there|");
	pieces_are(REMOTE_LLAMACPP, SAID("Hi there") END, "Hi", "Hi| there|");
	pieces_are(REMOTE_LLAMACPP, SAID("H") SAID("i") SAID(" there") END, "Hi", "Hi| there|");
	pieces_are(REMOTE_LLAMACPP, SAID("Ho") END, "Hi", "Hi|H|o|");
	pieces_are(REMOTE_LLAMACPP, SAID("H") END, "Hi", "Hi|H|");
	pieces_are(REMOTE_LLAMACPP, SAID("Hi there") END, NULL, "Hi there|");
}

static void
what_is_thought_is_no_text(void **state)
{
	(void)state;
	pieces_are(REMOTE_ANY, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n"
		   SAID("Yes.") END, NULL, "?hm|Yes.|");
}

static void
calls_are(const char *text, const char *want)
{
	struct tb_buf pieces = TB_BUF(10000);
	struct remote_answer a;
	struct tb_err err;

	assert_ok(answer_of(text, NULL, &a, &pieces, &err), err);
	assert_string_equal(a.tool_calls, want);
	remote_answer_free(&a);
	tb_buf_free(&pieces);
}

#define CALL(text) "data: {\"choices\":[{\"delta\":{\"tool_calls\":[" text "]}}]}\n\n"

static void
calls_are_put_together(void **state)
{
	(void)state;
	calls_are(CALL("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\"\"}}")
		  CALL("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}")
		  CALL("{\"index\":0,\"function\":{\"arguments\":\":1}\"}}") END,
		  "[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
		  "{\"x\":1}}},{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\","
		  "\"arguments\":{}}}]");
	/* a server that calls each the first */
	calls_are(CALL("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
		  CALL("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"no\"}}") END,
		  "[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{}}},"
		  "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"no\"}}]");
}

static void
tokens_have_texts(void **state)
{
	struct tb_buf pieces = TB_BUF(10000), text = TB_BUF(100);
	struct remote_answer a;
	struct tb_err err;

	(void)state;
	server.kind = REMOTE_ANY;
	assert_ok(answer_of("data: {\"choices\":[{\"delta\":{\"content\":\"ab c\"},\"logprobs\":{\"content\":["
			    "{\"token\":\"ab\",\"logprob\":-0.5,\"top_logprobs\":[{\"token\":\"ab\",\"logprob\":-0.5},"
			    "{\"token\":\"x\",\"logprob\":-2}]},{\"token\":\" c\",\"logprob\":-1}]}}]}\n\n" END,
			    NULL, &a, &pieces, &err), err);
	assert_int_equal(a.gen.ids.n, 2);
	assert_int_equal(a.gen.tokens[0].ntop, 2);
	assert_int_equal(a.gen.tokens[0].end, 2);
	assert_int_equal(a.gen.tokens[1].begin, 2);
	assert_int_equal(a.gen.tokens[1].end, 4);
	assert_true(remote_token(&server, a.gen.tokens[0].top[1].id, &text));
	assert_string_equal(tb_buf_cstr(&text), "x");
	assert_int_equal(a.gen.tokens[0].top[0].id, a.gen.tokens[0].id);
	assert_false(remote_token(&server, 999, &text));
	remote_answer_free(&a);
	tb_buf_free(&pieces);
	tb_buf_free(&text);
}

/* As servers have them that continue a text. */
static void
tokens_may_be_lists(void **state)
{
	struct tb_buf pieces = TB_BUF(10000), text = TB_BUF(100);
	struct remote_answer a;
	struct tb_err err;

	(void)state;
	assert_ok(answer_of("data: {\"choices\":[{\"text\":\" in C\",\"logprobs\":{\"tokens\":[\" in\",\" C\"],"
			    "\"token_logprobs\":[-0.25,-1],\"top_logprobs\":[{\" in\":-0.25,\" by\":-3},{}],"
			    "\"text_offset\":[0,3]},\"finish_reason\":\"stop\"}]}\n\n", NULL, &a, &pieces,
			    &err), err);
	assert_int_equal(a.gen.ids.n, 2);
	assert_int_equal(a.gen.tokens[0].ntop, 2);
	assert_true(a.gen.tokens[0].logprob == -0.25f);
	assert_int_equal(a.gen.tokens[1].end, 5);
	assert_true(remote_token(&server, a.gen.tokens[0].top[1].id, &text));
	assert_string_equal(tb_buf_cstr(&text), " by");
	remote_answer_free(&a);
	tb_buf_free(&pieces);
	tb_buf_free(&text);
}

static void
text_is_mended(void **state)
{
	static const char *const rows[][2] = {
		{ "\"a\\u0000b\"", "\"a\xef\xbf\xbd" "b\"" },
		{ "\"\\\\u0000\"", "\"\\\\u0000\"" },
		{ "\"\\ud83d\\ude00 \\ud83d x \\ude00\"",
		  "\"\\ud83d\\ude00 \xef\xbf\xbd x \xef\xbf\xbd\"" },
		{ "\"\xff\xc3\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\"\\", "\"\\" }, { "\\u12", "\\u12" }, { "\\ud83d", "\xef\xbf\xbd" },
		{ "\xc3\xa9\\n", "\xc3\xa9\\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tb_buf out = TB_BUF(1000);

		remote_mend(&out, rows[i][0], strlen(rows[i][0]));
		assert_string_equal(tb_buf_cstr(&out), rows[i][1]);
		tb_buf_free(&out);
	}
}

static void
refused(int status, const char *body, enum tb_status code, const char *part)
{
	struct tb_err err;

	assert_fails(remote_refused(&server, status, body, strlen(body), &err), err, code, part);
	assert_null(strstr(err.msg, "sk-secret"));
}

static void
errors_say_what_to_do(void **state)
{
	(void)state;
	refused(401, "{\"error\":{\"message\":\"bad key sk-secret\"}}", TB_EUSAGE,
		"bad key *********; it does not like the key");
	refused(404, "{\"detail\":\"Not Found\"}", TB_ENOENT, "Not Found; no such model");
	refused(400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}", TB_ELIMIT,
		"longer than its context");
	refused(400, "{\"message\":\"This model's maximum context length is 5\"}", TB_ELIMIT, "context");
	refused(503, "", TB_EIO, "answers 503; the server failed");
	refused(400, "plain words", TB_EIO, "answers 400: plain words");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_given_beginning_comes_once),
		cmocka_unit_test(what_is_thought_is_no_text),
		cmocka_unit_test(calls_are_put_together), cmocka_unit_test(tokens_have_texts),
		cmocka_unit_test(tokens_may_be_lists),
		cmocka_unit_test(text_is_mended), cmocka_unit_test(errors_say_what_to_do),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	while (server.ntokens)
		free(server.tokens[--server.ntokens]);
	free(server.tokens);
	return failed;
}
