/* What a hub says, and what it is asked by. */
#include "config.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "src/base/mem.h"
#include "src/net/hub_api.h"
#include "src/net/hub_name.h"
#include "src/net/hub_token.h"
#include "src/net/url.h"

#define SHA1 "0123456789012345678901234567890123456789"
#define SHA2 "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd"

/* ---- names ---- */

static void
a_name_is_taken_apart(void **state)
{
	static const struct { const char *text, *repo, *revision, *which; } rows[] = {
		{ "hf:org/name", "org/name", "main", "" },
		{ "hf:gpt2", "gpt2", "main", "" },
		{ "hf://org/na.me-1_x", "org/na.me-1_x", "main", "" },
		{ "hf:org/name@v1.0", "org/name", "v1.0", "" },
		{ "hf:org/name@refs/pr/1", "org/name", "refs/pr/1", "" },
		{ "hf:org/name:Q4_K_M", "org/name", "main", "Q4_K_M" },
		{ "hf:org/name@v1:Q4_K_M", "org/name", "v1", "Q4_K_M" },
		{ "hf:org/name:Q4_K_M@v1", "org/name", "v1", "Q4_K_M" },
		{ "hf:org/name:deep/x-Q8_0.gguf", "org/name", "main", "deep/x-Q8_0.gguf" },
		{ "https://huggingface.co/org/name", "org/name", "main", "" },
		{ "https://huggingface.co/org/name/", "org/name", "main", "" },
		{ "https://huggingface.co/org/name/tree/v2?x=1", "org/name", "v2", "" },
	};
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct hub_name n;

		assert_true(hub_name_is(rows[i].text));
		assert_ok(hub_name_parse(&n, rows[i].text, &err), err);
		assert_string_equal(n.repo, rows[i].repo);
		assert_string_equal(n.revision, rows[i].revision);
		assert_string_equal(n.which, rows[i].which);
		hub_name_free(&n);
	}
	assert_false(hub_name_is("llama3:8b"));
	assert_false(hub_name_is("hfx:org/name"));
}

static void
what_is_no_name_is_refused(void **state)
{
	static const char *const rows[] = {
		"hf:", "hf:/", "hf:org/", "hf:/name", "hf:a/b/c", "hf:../name", "hf:org/..",
		"hf:org/na--me", "hf:org/na me", "hf:org/name.git", "hf:-org/name", "hf:org/name@",
		"hf:org/name@../x", "hf:org/name@a b", "hf:org/name@/x", "hf:org/name@.x", "hf:org/n\nx",
		"hf:org/name@x/", "hf:org/name@a\\b", "hf:org/name:../../x", "hf:org/name:/etc/passwd",
		"https://huggingface.co/", "https://huggingface.co/datasets/a/b",
	};
	struct hub_name n;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (hub_name_parse(&n, rows[i], &err) != TB_EUSAGE)
			fail_msg("%s was taken", rows[i]);
		assert_null(n.repo);
	}
}

/* ---- lists of files ---- */

#define FILE_ENTRY(path) "{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":3,\"path\":\"" path "\"}"

static enum tb_status
read_page(struct hub_files *f, const char *text, struct tb_err *err)
{
	enum tb_status status;

	*f = (struct hub_files){ 0 };
	status = hub_files_add(f, text, strlen(text), "org/name", err);
	return status ? status : hub_files_sort(f, "org/name", err);
}

static void
a_list_of_files_is_read(void **state)
{
	static const char text[] = "[{\"type\":\"directory\",\"oid\":\"" SHA1 "\",\"size\":0,\"path\":\"deep\"},"
		"{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":9000000000,\"lfs\":{\"oid\":\"" SHA2 "\","
		"\"size\":9000000000,\"pointerSize\":135},\"xetHash\":\"x\",\"path\":\"model.safetensors\"},"
		FILE_ENTRY("deep/config.json") "]";
	struct hub_files f;
	struct tb_err err;

	(void)state;
	assert_ok(read_page(&f, text, &err), err);
	assert_int_equal(f.n, 2);
	assert_string_equal(f.v[0].path, "deep/config.json");
	assert_string_equal(f.v[0].digest, "gitsha1:" SHA1);
	assert_string_equal(hub_file_hex(&f.v[0]), SHA1);
	assert_string_equal(f.v[1].digest, "sha256:" SHA2);
	assert_int_equal(f.v[1].size, 9000000000);
	assert_ptr_equal(hub_files_find(&f, "model.safetensors"), &f.v[1]);
	assert_null(hub_files_find(&f, "deep"));
	hub_files_free(&f);
}

static void
names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const rows[] = {
		FILE_ENTRY("../x"), FILE_ENTRY("/etc/passwd"), FILE_ENTRY("a/../../x"), FILE_ENTRY("a//b"),
		FILE_ENTRY("a/"), FILE_ENTRY("."), FILE_ENTRY("a/./b"), FILE_ENTRY(""),
		FILE_ENTRY("a\\u0000b"), FILE_ENTRY("a\\nb"), FILE_ENTRY("\\u001b[31m"),
		FILE_ENTRY("..\\\\x"), FILE_ENTRY("a") "," FILE_ENTRY("a"),
		FILE_ENTRY("a/b/c") "," FILE_ENTRY("a-b") "," FILE_ENTRY("a"),
		"{\"type\":\"directory\",\"path\":\"../x\"}",
	};
	struct hub_files f;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = tb_asprintf("[%s,%s]", FILE_ENTRY("ok"), rows[i]);

		assert_non_null(text);
		if (read_page(&f, text, &err) != TB_EFORMAT)
			fail_msg("%s was taken", rows[i]);
		hub_files_free(&f);
		free(text);
	}
}

static void
bytes_that_cannot_be_checked_are_refused(void **state)
{
	static const char *const rows[] = {
		"{}", "[1]", "[{\"type\":\"file\"}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"size\":1}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"" SHA1 "\"}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"" SHA1 "\",\"size\":-1}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"../../../etc/passwd\",\"size\":1}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"" SHA1 "\",\"size\":1,\"lfs\":{\"oid\":\"" SHA1 "\"}}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"" SHA1 "\",\"size\":1,\"lfs\":{\"oid\":\"" SHA2
		"\",\"size\":2}}]",
		"[{\"type\":\"file\",\"path\":\"x\",\"oid\":\"" SHA1 "\",\"size\":1e300}]",
	};
	struct hub_files f;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (read_page(&f, rows[i], &err) != TB_EFORMAT)
			fail_msg("%s was taken", rows[i]);
		hub_files_free(&f);
	}
}

/* ---- pages, refusals, tokens ---- */

static void
the_next_page_is_found(void **state)
{
	static const struct { const char *link, *next; } rows[] = {
		{ "<https://h/a?cursor=1>; rel=\"next\"", "https://h/a?cursor=1" },
		{ "</a>; rel=prev, </b>; rel=next", "/b" },
		{ "<a>; rel=\"last\"", NULL }, { "", NULL }, { "<a", NULL }, { "a>; rel=next", NULL },
		{ "<a>; rel=\"prev\", <b", NULL }, { NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *next = hub_next_page(rows[i].link);

		if (rows[i].next)
			assert_string_equal(next, rows[i].next);
		else
			assert_null(next);
		free(next);
	}
}

static void
refuse(int status, const char *headers, size_t n, const char *body, bool token, struct tb_err *err)
{
	struct http_answer a = { .status = status, .body = TB_BUF(4096), .headers = TB_BUF(4096) };

	tb_buf_str(&a.body, body);
	tb_buf_add(&a.headers, headers, n);
	assert_int_not_equal(hub_refusal(&a, "org/name at huggingface.co", "v1\033[1m", token, err), TB_OK);
	assert_null(strchr(err->msg, '\033'));
	http_answer_free(&a);
}

static void
refusals_say_what_to_do(void **state)
{
	static const char gated[] = "X-Error-Code: GatedRepo\0X-Error-Message: Access is \033[31mrestricted";
	static const char revision[] = "x-error-code: RevisionNotFound";
	struct tb_err err;

	(void)state;
	refuse(403, gated, sizeof(gated), "", false, &err);
	assert_int_equal(err.code, TB_EUSAGE);
	assert_non_null(strstr(err.msg, "accepted its terms"));
	assert_non_null(strstr(err.msg, "HF_TOKEN"));
	assert_non_null(strstr(err.msg, "restricted"));
	refuse(403, gated, sizeof(gated), "", true, &err);
	assert_non_null(strstr(err.msg, "the one shown may not"));
	refuse(404, revision, sizeof(revision), "", false, &err);
	assert_int_equal(err.code, TB_ENOENT);
	assert_non_null(strstr(err.msg, "commit: v1"));
	refuse(401, "", 0, "{\"error\":\"Repository not found\"}", false, &err);
	assert_non_null(strstr(err.msg, "private"));
	assert_non_null(strstr(err.msg, "\"Repository not found\""));
	refuse(418, "", 0, "<html>", false, &err);
	assert_non_null(strstr(err.msg, "HTTP 418"));
}

static char *
token_for(const char *address)
{
	struct tb_err err;
	struct url u;
	char *auth;

	assert_ok(url_parse(&u, address, &err), err);
	assert_ok(hub_token_find(&u, &auth, &err), err);
	url_free(&u);
	return auth;
}

static void
a_token_is_shown_to_its_hub_alone(void **state)
{
	char *auth;

	(void)state;
	unsetenv("HF_ENDPOINT");
	setenv("HF_TOKEN", " hf_abc\n", 1);
	auth = token_for("https://huggingface.co/x");
	assert_string_equal(auth, "Bearer hf_abc");
	hub_token_free(auth);
	assert_null(token_for("http://huggingface.co"));
	assert_null(token_for("https://huggingface.co:444"));
	assert_null(token_for("https://huggingface.co.evil.example"));
	setenv("HF_ENDPOINT", "http://127.0.0.1:8000", 1);
	assert_null(token_for("https://huggingface.co"));
	auth = token_for("http://127.0.0.1:8000");
	assert_string_equal(auth, "Bearer hf_abc");
	hub_token_free(auth);
	setenv("HF_ENDPOINT", "http://mirror.example", 1);
	assert_null(token_for("http://mirror.example"));
	unsetenv("HF_ENDPOINT");
	unsetenv("HF_TOKEN");
}

static void
a_token_file_is_ones_own(void **state)
{
	const char *path = unit_path("token");
	struct tb_err err;
	struct url u;
	char *auth;

	(void)state;
	setenv("HF_HOME", unit_tmp(), 1);
	unsetenv("HF_TOKEN_PATH");
	assert_null(token_for("https://huggingface.co"));
	unit_write("token", "hf_file\n", 8);
	assert_int_equal(chmod(path, 0600), 0);
	auth = token_for("https://huggingface.co");
	assert_string_equal(auth, "Bearer hf_file");
	hub_token_free(auth);
	assert_int_equal(chmod(path, 0644), 0);
	assert_ok(url_parse(&u, "https://huggingface.co", &err), err);
	assert_fails(hub_token_find(&u, &auth, &err), err, TB_EUSAGE, "chmod 600");
	assert_int_equal(chmod(path, 0600), 0);
	unit_write("token", "two words\n", 10);
	assert_fails(hub_token_find(&u, &auth, &err), err, TB_EUSAGE, "no token");
	assert_null(strstr(err.msg, "words"));
	url_free(&u);
	unsetenv("HF_HOME");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_taken_apart),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(a_list_of_files_is_read),
		cmocka_unit_test(names_that_lead_elsewhere_are_refused),
		cmocka_unit_test(bytes_that_cannot_be_checked_are_refused),
		cmocka_unit_test(the_next_page_is_found),
		cmocka_unit_test(refusals_say_what_to_do),
		cmocka_unit_test(a_token_is_shown_to_its_hub_alone),
		cmocka_unit_test(a_token_file_is_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
