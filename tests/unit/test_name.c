#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/format/json.h"
#include "src/store/name.h"

static const struct { const char *text, *path, *show; } good[] = {
	{ "m", "registry.ollama.ai/library/m/latest", "m:latest" },
	{ "m:t", "registry.ollama.ai/library/m/t", "m:t" },
	{ "Ns/M:T", "registry.ollama.ai/Ns/M/T", "Ns/M:T" },
	{ "LIBRARY/m", "registry.ollama.ai/LIBRARY/m/latest", "m:latest" },
	{ "h:5000/n/m", "h:5000/n/m/latest", "h:5000/n/m:latest" },
	{ "http://h/n/m:1.0", "h/n/m/1.0", "h/n/m:1.0" },
	{ "h/library/m", "h/library/m/latest", "h/library/m:latest" },
};

static const char *const bad[] = { "", ":", "/", "m:", ":t", "a//b", "/m", "m@d", "a/b/c/d",
	"..", "../m", "m/..", "h/../m", ".m", "m:.t", "m:-t", "-m", "a.b/m", "m\n", "m t",
	"h:5000/m", "http://n/m", "n/m/", "\xc3\xa9" };

static void
test_names(void **state)
{
	struct tb_err err = { 0 };
	struct model_name n;
	char out[640];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_ok(name_parse(good[i].text, &n, &err), err);
		assert_string_equal(name_path(&n, out), good[i].path);
		assert_string_equal(name_format(&n, out), good[i].show);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (name_parse(bad[i], &n, &err) != TB_EUSAGE)
			fail_msg("\"%s\" taken for a name", bad[i]);
}

static void
test_lengths(void **state)
{
	struct tb_err err = { 0 };
	struct model_name n;
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "%0350d/%080d/%080d:%080d", 1, 2, 3, 4);
	assert_ok(name_parse(text, &n, &err), err);
	assert_int_equal(strlen(name_path(&n, text)), 350 + 3 * 81);
	snprintf(text, sizeof(text), "%0351d/n/m", 1);
	assert_fails(name_parse(text, &n, &err), err, TB_EUSAGE, "host has more");
	snprintf(text, sizeof(text), "%081d", 1);
	assert_fails(name_parse(text, &n, &err), err, TB_EUSAGE, "model has more");
}

/* One case of names.json: the parse, the path and the short form. */
static void
check_case(const cJSON *c)
{
	const char *input = json_str(json_get(c, "input"));
	const cJSON *result = json_get(c, "result");
	struct model_name n;
	char out[640];
	bool ok = name_parse(input, &n, NULL) == TB_OK;

	if (json_str(result)) {
		if (ok)
			fail_msg("\"%s\" taken for a name", input);
		return;
	}
	if (!ok)
		fail_msg("\"%s\" refused", input);
	assert_string_equal(n.host, json_str(json_get(result, "host")));
	assert_string_equal(n.ns, json_str(json_get(result, "namespace")));
	assert_string_equal(n.model, json_str(json_get(result, "model")));
	assert_string_equal(n.tag, json_str(json_get(result, "tag")));
	assert_string_equal(name_path(&n, out), json_str(json_get(c, "path")));
	assert_string_equal(name_format(&n, out), json_str(json_get(c, "short")));
}

static void
test_shared_names(void **state)
{
	const char *path = unit_shared("data/names.json");
	struct tb_err err = { 0 };
	size_t len, count = 0;
	struct model_name n;
	char *text, out[640];
	cJSON *doc;

	(void)state;
	assert_ok(tb_file_slurp(path, 1 << 20, &text, &len, &err), err);
	assert_ok(json_parse(&doc, text, len, path, &err), err);
	for (const cJSON *c = json_first(json_path(doc, "public.names")); c; c = json_next(c)) {
		check_case(c);
		count++;
	}
	assert_true(count > 50);
	for (const cJSON *c = json_first(json_path(doc, "public.display")); c; c = json_next(c)) {
		assert_ok(name_parse(json_str(json_get(c, "input")), &n, &err), err);
		assert_string_equal(name_format(&n, out), json_str(json_get(c, "short")));
	}
	json_free(doc);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_shared_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
