#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/modelfile.h"

static size_t
from_base64(const char *s, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	size_t n = 0, have = 0;

	for (; *s && *s != '='; s++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *s) - digits);
		have += 6;
		if (have >= 8)
			out[n++] = (char)(bits >> (have -= 8));
	}
	return n;
}

/* Its name as the recorded cases have it. */
static void
check_command(const struct modelfile_command *c, const cJSON *want, const char *text)
{
	const char *name = json_str(json_get(want, "name")), *args = json_str(json_get(want, "args"));
	char *role = tb_asprintf("%s: %s", c->name, c->value);
	const char *got = c->word == MODELFILE_MESSAGE ? role : c->value;
	const char *word = c->word == MODELFILE_FROM ? "model" : c->word == MODELFILE_PARAMETER
			   ? c->name : modelfile_word(c->word);

	if (c->word == MODELFILE_PARAMETER ? strcmp(word, name) : strcasecmp(word, name))
		fail_msg("%s: reads as %s, not %s", text, word, name);
	if (strcmp(got, args))
		fail_msg("%s: \"%s\", not \"%s\"", text, got, args);
	free(role);
}

static void
check_commands(const struct modelfile *m, const cJSON *c, const char *text)
{
	struct tb_buf out = TB_BUF(1 << 20), again = TB_BUF(1 << 20);
	const cJSON *want = json_first(json_get(c, "commands"));
	size_t i;

	for (i = 0; i < m->n && want; i++, want = json_next(want)) {
		check_command(&m->commands[i], want, text);
		modelfile_print(&out, &m->commands[i]);
		if (!modelfile_say(&again, &m->commands[i]))
			fail_msg("%s: command %zu cannot be said again", text, i);
	}
	assert_int_equal(i, m->n);
	assert_null(want);
	assert_string_equal(tb_buf_cstr(&out), json_str(json_get(c, "formatted")));
	tb_buf_free(&out);
	tb_buf_free(&again);
}

static void
check_case(const cJSON *c)
{
	static const struct { const char *word, *message; } errors[] = {
		{ "no FROM", "no FROM line" }, { "bad command", "no command" },
		{ "bad role", "role of a MESSAGE" }, { "unexpected EOF", "unexpected EOF" },
	};
	const char *base64 = json_str(json_get(c, "base64"));
	const char *text = base64 ? base64 : json_str(json_get(c, "text"));
	const char *error = json_str(json_get(c, "error")), *message = NULL;
	char *bytes = tb_calloc(strlen(text) + 1, 1), line[32];
	size_t len = base64 ? from_base64(base64, bytes) : strlen(text);
	struct tb_err err = { 0 };
	struct modelfile m;
	uint64_t n;

	if (!base64)
		memcpy(bytes, text, len);
	if (modelfile_parse(&m, bytes, len, "f", &err)) {
		for (size_t i = 0; error && i < 4; i++)
			if (!strcmp(errors[i].word, error))
				message = errors[i].message;
		if (!message || !strstr(err.msg, message))
			fail_msg("%s: %s, not %s", text, err.msg, error ? error : "commands");
		snprintf(line, sizeof(line), "line %d:", json_u64(json_get(c, "line"), &n) ? (int)n : 0);
		if (json_get(c, "line") && !strstr(err.msg, line))
			fail_msg("%s: %s, not %s", text, err.msg, line);
	} else if (error) {
		fail_msg("%s: is read, not %s", text, error);
	} else {
		check_commands(&m, c, text);
	}
	modelfile_free(&m);
	free(bytes);
}

static void
test_recorded(void **state)
{
	struct tb_err err = { 0 };
	size_t n = 0;
	cJSON *doc;

	(void)state;
	assert_ok(json_read(&doc, unit_shared("data/modelfiles.json"), 1 << 20, &err), err);
	for (const cJSON *c = json_first(json_get(doc, "public")); c; c = json_next(c), n++)
		check_case(c);
	assert_true(n > 100);
	json_free(doc);
}

/* Lines are counted as an editor does, also where they end as on other systems. */
static void
test_lines(void **state)
{
	static const char text[] = "# one\r\nFROM a\r\n\r\nSYSTEM \"\"\"x\r\ny\"\"\"\r\nWHAT is\r\n";
	static const char open[] = "FROM a\nSYSTEM hi\nLICENSE \"\"\"never\nends\n\n";
	struct tb_err err = { 0 };
	struct modelfile m;

	(void)state;
	assert_fails(modelfile_parse(&m, text, sizeof(text) - 1, "f", &err), err, TB_EFORMAT,
		     "f: line 6: no command");
	assert_fails(modelfile_parse(&m, open, sizeof(open) - 1, "f", &err), err, TB_EFORMAT,
		     "f: line 3: unexpected EOF");
}

/* Whatever a value is, it is said such that it reads as what it is, or not at all. */
static void
test_said(void **state)
{
	static const struct { const char *value; bool can; } rows[] = {
		{ "plain", true }, { "", true }, { " led and followed ", true },
		{ "\"in quotes\"", true }, { "\"", true }, { "\"\"\"", true }, { "a\n\nb\n", true },
		{ "\n\"begins a line\"\nand more", true }, { "ends with \"", true },
		{ "# no comment", true }, { "a\r\nb", true }, { "tab\tin", true }, { "\t", true },
		{ "\"\"\"tri\nple\"\"\"", true }, { "x\ny \"\"\"\nz", false }, { "bell\a", false },
		{ "no\xc2\xa0" "break", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct modelfile_command c = { MODELFILE_MESSAGE, "user", rows[i].value, 0 };
		struct tb_buf text = TB_BUF(1000);
		struct tb_err err = { 0 };
		struct modelfile m;

		tb_buf_str(&text, "FROM x\n");
		if (modelfile_say(&text, &c) != rows[i].can)
			fail_msg("row %zu: %s", i, tb_buf_cstr(&text));
		tb_buf_str(&text, "SYSTEM behind\n");
		assert_ok(modelfile_parse(&m, text.p, text.len, "f", &err), err);
		assert_int_equal(m.n, rows[i].can ? 3 : 2);
		if (rows[i].can)
			assert_string_equal(m.commands[1].value, rows[i].value);
		assert_string_equal(m.commands[m.n - 1].value, "behind");
		modelfile_free(&m);
		tb_buf_free(&text);
	}
}

/* A megabyte of ends of lines in a value is read in one pass. */
static void
test_long(void **state)
{
	size_t len = 8 << 20;
	char *text = tb_calloc(len, 1);
	struct tb_err err = { 0 };
	struct modelfile m;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', len);
	memcpy(text, "FROM a\nSYSTEM \"", 15);
	assert_fails(modelfile_parse(&m, text, len, "f", &err), err, TB_EFORMAT, "line 2: unexpected");
	text[len - 1] = '"';
	assert_ok(modelfile_parse(&m, text, len, "f", &err), err);
	assert_int_equal(strlen(m.commands[1].value), len - 16);
	modelfile_free(&m);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
