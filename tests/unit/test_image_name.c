#include "config.h"

#include "tests/unit/unit.h"

#include "src/net/image_name.h"

static const struct row {
	const char *text, *host, *repo, *tag;
	const char *again;		/* as image_name_text() writes it */
	const char *local;		/* in a store; NULL: it has to be said */
} rows[] = {
	{ "llama3", "registry.ollama.ai", "library/llama3", "latest",
	  "registry.ollama.ai/library/llama3:latest", "llama3:latest" },
	{ "llama3:8B-Q4_K_M", "registry.ollama.ai", "library/llama3", "8B-Q4_K_M",
	  "registry.ollama.ai/library/llama3:8B-Q4_K_M", "llama3:8B-Q4_K_M" },
	{ "Me/Model", "registry.ollama.ai", "Me/Model", "latest",
	  "registry.ollama.ai/Me/Model:latest", "Me/Model:latest" },
	{ "localhost:5000/ns/m:t", "localhost:5000", "ns/m", "t", "localhost:5000/ns/m:t",
	  "localhost:5000/ns/m:t" },
	{ "Example.ORG/ns/m", "example.org", "ns/m", "latest", "example.org/ns/m:latest",
	  "example.org/ns/m:latest" },
	{ "http://127.0.0.1:5000/ns/m:t", "127.0.0.1:5000", "ns/m", "t",
	  "http://127.0.0.1:5000/ns/m:t", "127.0.0.1:5000/ns/m:t" },
	{ "https://h/m", "h", "m", "latest", "https://h/m:latest", "h/library/m:latest" },
	{ "docker://h:1/a/b/c/d:t", "h:1", "a/b/c/d", "t", "h:1/a/b/c/d:t", NULL },
	{ "docker://http://h:1/m", "h:1", "m", "latest", "http://h:1/m:latest", "h:1/library/m:latest" },
	{ "docker://docker.io/alpine:3", "docker.io", "library/alpine", "3",
	  "docker.io/library/alpine:3", "docker.io/library/alpine:3" },
	{ "quay.io/m", "quay.io", "m", "latest", "quay.io/m:latest", "quay.io/library/m:latest" },
	{ "localhost/m", "registry.ollama.ai", "localhost/m", "latest",
	  "registry.ollama.ai/localhost/m:latest", "localhost/m:latest" },
	{ "docker://[::1]:5000/a/b", "[::1]:5000", "a/b", "latest", "[::1]:5000/a/b:latest", NULL },
};

static void
a_name_says_where_to_ask(void **state)
{
	char shown[640];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct image_name n;
		struct model_name local;
		struct tb_err err;
		char *text;

		assert_ok(image_name_parse(&n, rows[i].text, &err), err);
		assert_string_equal(n.host, rows[i].host);
		assert_string_equal(n.repo, rows[i].repo);
		assert_string_equal(n.tag, rows[i].tag);
		assert_string_equal(image_reference(&n), rows[i].tag);
		text = image_name_text(&n);
		assert_string_equal(text, rows[i].again);
		if (rows[i].local) {
			assert_ok(image_name_local(&n, &local, &err), err);
			assert_string_equal(name_format(&local, shown), rows[i].local);
		} else {
			assert_fails(image_name_local(&n, &local, &err), err, TB_EUSAGE, "be called");
		}
		image_name_free(&n);
		/* what was written is understood as the same */
		assert_ok(image_name_parse(&n, text, &err), err);
		assert_string_equal(n.host, rows[i].host);
		assert_string_equal(n.repo, rows[i].repo);
		image_name_free(&n);
		free(text);
	}
}

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"

static void
a_digest_is_asked_for_before_a_tag(void **state)
{
	struct image_name n;
	struct model_name local;
	struct tb_err err;
	char shown[640];

	(void)state;
	assert_ok(image_name_parse(&n, "h:5/ns/m:t@sha256:" HEX, &err), err);
	assert_string_equal(n.tag, "t");
	assert_memory_equal(image_reference(&n), "sha256:0123456789abcdef", 23);
	assert_null(strchr(image_reference(&n), 'A'));
	image_name_free(&n);
	assert_ok(image_name_parse(&n, "ns/m@sha256:" HEX, &err), err);
	assert_string_equal(n.tag, "");
	assert_ok(image_name_local(&n, &local, &err), err);
	assert_string_equal(name_format(&local, shown), "ns/m:0123456789ab");
	image_name_free(&n);
}

static void
what_is_no_name_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "/", ":", "m:", "m:a b", "a//b", "h.x/../m", "h.x/a/./b", "docker://", "docker://h",
		"docker://h/", "https://", "https://h", "h.x/a/m?x=1", "h.x/a/m#f", "h.x/a/m%2f",
		"u:p@h/a/m", "u@h.x/a/m", "m@sha256:12", "m@md5:" HEX, "m@", "h:99999/a/m",
		"h:x/a/m", "-h/a/m", "h .x/a/m", "h.x/a/m:t/u:", "h.x/a/\xc3\xa9", "m:-t", "h.x/-a/m",
		"ftp://h/a/m", "file:///etc/passwd", "hf://a/b\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct image_name n;
		struct tb_err err;

		print_message("%s\n", wrong[i]);
		assert_fails(image_name_parse(&n, wrong[i], &err), err, TB_EUSAGE, "not a name");
		assert_null(n.host);
	}
}

static void
a_password_is_not_said_again(void **state)
{
	static const char *const wrong[] = {
		"u:sesame@h/a/m", "https://u:sesame@h/a/m", "docker://u:sesame@h/m:t",
		"docker://http://u:sesame@h:5000/m@sha256:" HEX,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct image_name n;
		struct tb_err err;

		assert_fails(image_name_parse(&n, wrong[i], &err), err, TB_EUSAGE, "docker login");
		assert_null(strstr(err.msg, "sesame"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_where_to_ask),
		cmocka_unit_test(a_digest_is_asked_for_before_a_tag),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(a_password_is_not_said_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
