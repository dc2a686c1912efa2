/* What the page of templates says where a store's own is not the one in use. */
#include "config.h"

#include "src/face/texts.h"
#include "src/ops/model_text/model_text.h"
#include "tests/unit/models.h"
#include "tests/unit/unit.h"

static struct model *
make(const char *root, bool own, const char *jinja, const char *config)
{
	struct ollama_writer w;
	struct fixture f = { 0 };
	struct tb_err err = { 0 };

	models_begin(&w, root);
	fixture_add(&f, "w", DT_BF16, DIMS(4, 4));
	fixture_blob(&f, &w, "w");
	if (own)
		assert_ok(ollama_add_bytes(&w, MEDIA_TEMPLATE, NULL, "{{ .Prompt }}", 13, &err), err);
	if (jinja)
		models_json(&w, "tokenizer_config.json", jinja);
	return models_finish(&w, "m", config);
}

/* Page and choice; part NULL: the page has no such remark. */
static void
says_of(const char *root, bool own, const char *jinja, const char *config, const char *source,
	const char *part)
{
	struct model *m = make(root, own, jinja, config);
	struct template_used used;
	struct tb_err err;
	char *text;

	assert_ok(model_template_used(m, &used, &err), err);
	assert_int_equal(used.own, own);
	if (source)
		assert_string_equal(used.source, source);
	else
		assert_null(used.source);
	assert_ok(texts_page(m, 1u << TEXT_TEMPLATE, &text, &err), err);
	if (part)
		assert_non_null(strstr(text, part));
	else
		assert_true(!text || !strstr(text, "Go's language"));
	if (own)
		assert_non_null(strstr(text, "{{ .Prompt }}"));
	free(text);
	model_free(m);
}

static void
says(const char *root, bool own, const char *jinja, const char *source, const char *part)
{
	says_of(root, own, jinja, "{}", source, part);
}

static void
test_templates(void **state)
{
	static const char jinja[] = "{\"chat_template\":\"{{ messages }}\"}";

	(void)state;
	says("neither", false, NULL, NULL, NULL);
	says("jinja", false, jinja, "tokenizer_config.json", NULL);
	says("both", true, jinja, "tokenizer_config.json",
	     "who speaks: the Jinja template of tokenizer_config.json is used)");
	says("own", true, NULL, TEMPLATE_OF_STORE, "(used: its TEMPLATE, in Go's language)");
	/* code within Ollama: what is here is used instead */
	says_of("code", false, jinja, "{\"renderer\":\"qwen9\"}", "tokenizer_config.json",
		"renderer qwen9): the Jinja template of tokenizer_config.json is used)");
	says_of("code2", true, jinja, "{\"renderer\":\"qwen9\"}", "tokenizer_config.json",
		"renderer qwen9)");
	says("broken", true, "{\"chat_template\":\"{% if\"}", TEMPLATE_OF_STORE, "Go's language)");
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_templates) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
