#include "config.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/text/chat_template.h"
#include "tests/unit/unit.h"

static enum tb_status
go_render_vars(const char *source, const struct chat_vars *vars, struct tb_buf *out,
	       struct tb_err *err)
{
	struct chat_template *t;
	enum tb_status status = chat_template_new_go(&t, source, strlen(source), err);

	*out = TB_BUF(1u << 27);
	if (!status)
		status = chat_template_render(t, vars, out, err);
	chat_template_free(t);
	return status;
}

static const struct chat_message go_hello[] = {
	{ .role = "system", .content = "Be brief." },
	{ .role = "user", .content = "Hi <b>" },
	{ .role = "assistant", .content = "H\xc3\xa9!", .thinking = "hm",
	  .tool_calls = "[{\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":"
			"{\"b\":1500000,\"a\":[true,null,\"<\"]}}}]" },
	{ .role = "tool", .content = "8", .tool_name = "f" },
};
/* So that a template is not taken for one of turns. */
#define GO_MESSAGES "{{ if .Messages }}{{ end }}"

static void
go_gives(const char *source, const char *want)
{
	struct chat_vars vars = { .messages = go_hello, .nmessages = 4 };
	char *all = tb_asprintf(GO_MESSAGES "%s", source);
	struct tb_err err = { 0 };
	struct tb_buf out;

	if (go_render_vars(all, &vars, &out, &err))
		fail_msg("%s\nfails: %s", source, err.msg);
	if (strcmp(tb_buf_cstr(&out), want))
		fail_msg("%s\ngives \"%s\", not \"%s\"", source, tb_buf_cstr(&out), want);
	tb_buf_free(&out);
	free(all);
}

static void
go_fails(const char *source, enum tb_status code, const char *part)
{
	struct chat_vars vars = { .messages = go_hello, .nmessages = 4 };
	char *all = tb_asprintf(GO_MESSAGES "%s", source);
	struct tb_err err = { 0 };
	struct tb_buf out;
	enum tb_status status = go_render_vars(all, &vars, &out, &err);

	if (status != code || !strstr(err.msg, part) || !strstr(err.msg, "line "))
		fail_msg("%s\ngives status %d, \"%s\", not \"%s\"", source, status,
			 status ? err.msg : tb_buf_cstr(&out), part);
	assert_int_equal(out.len, 0);
	tb_buf_free(&out);
	free(all);
}

static void
test_go_text(void **state)
{
	(void)state;
	go_gives("a\n{{- 1 -}}\n b", "a1b");
	go_gives("a \n{{ 1 }} \nb", "a \n1 \nb");
	go_gives("a {{- /* no */ -}} b{{/* x */}}c", "abc");
	go_gives("{{`{{raw}}`}}{{\"\\x41\\u00e9\\n\\\"\\101\"}}{{'a'}}", "{{raw}}A\xc3\xa9\n\"A97");
	go_gives("{{ 0x1F }} {{ 1_000 }} {{ 017 }} {{ 0b11 }} {{ -3 }} {{ 1e3 }} {{ .5 }} {{ 1e6 }}",
		 "31 1000 15 3 -3 1000 0.5 1e+06");
	go_gives("} }} { \xc3\xa9", "} }} { \xc3\xa9");
	go_gives("{{\n1\n}}", "1");
}

static void
test_go_values(void **state)
{
	(void)state;
	go_gives("{{ .Missing }}", "<no value>");
	go_gives("{{ .System }}{{ len .Messages }}{{ (index .Messages 1).Role }}", "Be brief.4user");
	go_gives("{{ $m := index .Messages 2 }}{{ $m.Thinking }}{{ $m.Content | len }}", "hm4");
	go_gives("{{ range .Messages }}{{ range .ToolCalls }}{{ .ID }} {{ .Function.Name }} "
		 "{{ .Function.Arguments }}{{ end }}{{ end }}",
		 "c1 f {\"a\":[true,null,\"\\u003c\"],\"b\":1500000}");
	go_gives("{{ range $k, $v := (index (index .Messages 2).ToolCalls 0).Function.Arguments }}"
		 "{{ $k }}={{ $v }};{{ end }}", "a=[true <nil> <];b=1.5e+06;");
	go_gives("{{ (index .Messages 1) }}", "{user Hi <b>  [] []  }");
	go_gives("{{ json (index .Messages 1) }}",
		 "{\"Role\":\"user\",\"Content\":\"Hi \\u003cb\\u003e\",\"Thinking\":\"\",\"Images\":null,"
		 "\"ToolCalls\":null,\"ToolName\":\"\",\"ToolCallID\":\"\"}");
	go_gives("{{ .Tools }}{{ json .Missing }}{{ json 1e21 }} {{ json 1e-7 }} {{ json 1.5e6 }}",
		 "nullnull1e+21 1e-7 1500000");
	go_gives("{{ .Think }} {{ .IsThinkSet }} [{{ .ThinkLevel }}]", "false false []");
	go_gives("{{ (.Missing).X.Y }}", "<no value>");
	go_fails("{{ .Missing.X }}", TB_EFORMAT, ".X of nothing");
	go_fails("{{ .System.X }}", TB_EFORMAT, "no field .X");
	go_fails("\n{{ range .Messages }}\n{{ .Nope }}{{ end }}", TB_EFORMAT, "line 3");
}

static void
test_go_statements(void **state)
{
	(void)state;
	go_gives("{{ if 0 }}a{{ else if \"\" }}b{{ else if 1 }}c{{ else }}d{{ end }}", "c");
	go_gives("{{ with .Nope }}a{{ else with .System }}{{ . }}{{ else }}c{{ end }}", "Be brief.");
	go_gives("{{ range $i, $m := .Messages }}{{ if eq $i 1 }}{{ continue }}{{ end }}"
		 "{{ if eq $i 3 }}{{ break }}{{ end }}{{ $i }}{{ $m.Role }}{{ end }}",
		 "0system2assistant");
	go_gives("{{ range .Tools }}x{{ else }}none{{ end }}{{ range 3 }}{{ . }}{{ end }}"
		 "{{ range $i := 2 }}{{ $i }}{{ end }}", "none01201");
	go_gives("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}", "32");
	go_gives("{{ $x := 0 }}{{ range $x = .Messages }}{{ end }}{{ $x.Role }}", "tool");
	go_gives("{{ define \"t\" }}[{{ . }}{{ $ }}]{{ end }}{{ template \"t\" 1 }}"
		 "{{ block \"b\" .System }}<{{ . }}>{{ end }}{{ template \"b\" 2 }}",
		 "[11]<Be brief.><2>");
	go_gives("{{ template \"t\" }}{{ define \"t\" }}[{{ . }}]{{ end }}", "[<no value>]");
	go_gives("{{ with $y := .System }}{{ $y }}{{ $.System }}{{ end }}", "Be brief.Be brief.");
	go_fails("{{ range $i, $x := 3 }}{{ end }}", TB_EFORMAT, "two variables");
	go_fails("{{ range \"abc\" }}{{ end }}", TB_EFORMAT, "range cannot go over a string");
	go_fails("{{ break }}", TB_EFORMAT, "outside of a range");
	go_fails("{{ $nope }}", TB_EFORMAT, "$nope is not known");
	go_fails("{{ if 1 }}{{ $x := 1 }}{{ end }}{{ $x }}", TB_EFORMAT, "$x is not known");
	go_fails("{{ template \"nope\" . }}", TB_EFORMAT, "\"nope\" is not defined");
	go_fails("{{ if 1 }}", TB_EFORMAT, "before {{end}}");
	go_fails("x\n{{ end }}", TB_EFORMAT, "line 2: {{end}} without");
	go_fails("{{ if 1 }}{{ else }}{{ else }}{{ end }}", TB_EFORMAT, "second {{else}}");
	go_fails("{{ define \"a\" }}x{{ end }}{{ define \"a\" }}y{{ end }}", TB_EFORMAT, "twice");
	go_fails("{{ if 1 }}{{ define \"a\" }}x{{ end }}{{ end }}", TB_EFORMAT, "within something");
	go_fails("{{ $a, $b := 1 }}", TB_EFORMAT, "two variables");
}

static void
test_go_pipes(void **state)
{
	(void)state;
	go_gives("{{ 1 | printf \"%d-%d\" 2 }} {{ (1) }} {{ len (slice \"abc\" 1) }}", "2-1 1 2");
	go_gives("{{ and 0 (index .Messages 9) }} {{ or 1 (index .Messages 9) }} {{ and 1 \"x\" }} "
		 "{{ or 0 \"\" }}.", "0 1 x .");
	go_gives("{{ 0 | or 0 }} {{ 5 | and 1 }}", "0 5");
	go_gives("{{ eq 1 2 1 }} {{ ne \"a\" \"b\" }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt \"b\" \"a\" }} "
		 "{{ ge 1.5 2.5 }} {{ eq .Missing nil }} {{ eq .Missing \"x\" }} {{ not .Tools }}",
		 "true true true true true false true false true");
	go_gives("{{ index \"abc\" 1 }} {{ slice \"abc\" 1 2 }} {{ len (slice .Messages 1) }} "
		 "{{ (slice .Messages 1 2) | len }} {{ eq (index \"a\" 0) 97 }}", "98 b 3 1 true");
	go_gives("{{ print 1 2 \"a\" \"b\" 3 nil }}|{{ println \"a\" 1 }}", "1 2ab3 <nil>|a 1\n");
	go_gives("{{ html \"<a href='x'>&\" }} {{ js \"a'<\\n\" }} {{ urlquery \"a b&\xc3\xa9\" }}",
		 "&lt;a href=&#39;x&#39;&gt;&amp; a\\'\\u003C\\u000A a+b%26%C3%A9");
	go_gives("{{ html .Missing .Missing 1 2 }}", "&lt;no value&gt;&lt;no value&gt;1 2");
	go_gives("{{ printf \"%v\" (index .Messages 1) }}{{ print (index .Messages 3) }}",
		 "&{user Hi <b>  [] []  }&{tool 8  [] [] f }");
	go_gives("{{ toTypeScriptType 1 }}", "any");
	go_fails("{{ nope 1 }}", TB_EUNSUP, "\"nope\" is not known");
	go_fails("{{ eq 1 \"a\" }}", TB_EFORMAT, "a int and a string cannot be compared");
	go_fails("{{ eq .Messages .Messages }}", TB_EFORMAT, "cannot be compared");
	go_fails("{{ lt true false }}", TB_EFORMAT, "no order");
	go_fails("{{ index .Messages 4 }}", TB_EFORMAT, "index 4 is out of range");
	go_fails("{{ index .Messages \"a\" }}", TB_EFORMAT, "a string is no index");
	go_fails("{{ slice .Messages 5 }}", TB_EFORMAT, "out of range");
	go_fails("{{ len 3 }}", TB_EFORMAT, "a int has no length");
	go_fails("{{ not }}", TB_EFORMAT, "not does not take 0");
	go_fails("{{ call .System }}", TB_EFORMAT, "cannot be called");
	go_fails("{{ printf 3 }}", TB_EFORMAT, "no string");
	go_fails("{{ .System 1 }}", TB_EFORMAT, "no function");
	go_fails("{{ 1 | 2 }}", TB_EFORMAT, "cannot be called");
	go_fails("{{ nil }}", TB_EFORMAT, "nil is no command");
	go_fails("{{ \"a }}", TB_EFORMAT, "no end");
	go_fails("{{ 3i }}", TB_EUNSUP, "imaginary");
	go_fails("{{ 09 }}", TB_EFORMAT, "no number");
	go_fails("{{ }}", TB_EFORMAT, "of nothing");
	go_fails("{{ 1", TB_EFORMAT, "without its");
	go_fails("{{/* a }}", TB_EFORMAT, "no end");
	go_fails("{{ \xff }}", TB_EFORMAT, "UTF-8");
	go_fails("{{ (1 }}", TB_EFORMAT, "does not belong");
	go_fails("{{ 1.Foo }}", TB_EFORMAT, "no number");
	go_fails("{{ \"a\".Foo }}", TB_EFORMAT, "no fields");
}

/* What Go 1.19.8 prints. */
static void
test_go_printf(void **state)
{
	(void)state;
	go_gives("{{ printf \"%05s|%-5s|%5s|%q|%x|% x|%#x|%+q\" \"ab\" \"ab\" \"ab\" \"a\\\"\xc3\xa9\\x00\" "
		 "\"hi\" \"hi\" \"hi\" \"\xc3\xa9\" }}",
		 "000ab|ab   |   ab|\"a\\\"\xc3\xa9\\x00\"|6869|68 69|0x6869|\"\\u00e9\"");
	go_gives("{{ printf \"%g|%e|%f|%6.2f|%G|%v|%#g|%#.3g\" 1e6 1e6 1e6 3.14159 1e-10 1e6 1.0 2.5 }}",
		 "1e+06|1.000000e+06|1000000.000000|  3.14|1E-10|1e+06|1.00000|2.50");
	go_gives("{{ printf \"%+d %#x %x %X %#x %08b %o %#o %O %c %U %#U %q\" 5 255 255 255 255 5 8 8 8 65 "
		 "65 0x1F600 'x' }}",
		 "+5 0xff ff FF 0xff 00000101 10 010 0o10 A U+0041 U+1F600 '\xf0\x9f\x98\x80' 'x'");
	go_gives("{{ printf \"%!|%z|%d|\" 1 \"a\" }}", "%!!(int=1)|%!z(string=a)|%!d(MISSING)|");
	go_gives("{{ printf \"%[2]d %[1]d|%[2]*[1]d|%\" 1 2 }}", "2 1| 1|%!(NOVERB)");
	go_gives("{{ printf \"%*d|%-*d|%.*f\" 5 3 4 7 2 3.14159 }}", "    3|7   |3.14");
	go_gives("{{ printf \"%d\" 1 2 \"x\" }}", "1%!(EXTRA int=2, string=x)");
	go_gives("{{ printf \"%t|%6t|%-6v|%06d|%+.2e|% d|%+q|%s\" true true false -12 12345.678 7 0x1F600 nil }}",
		 "true|  true|false |-00012|+1.23e+04| 7|'\\U0001f600'|%!s(<nil>)");
	go_gives("{{ printf \"%+v|%#v|%#v|%#o|%d\" 3 \"a\" 97 \"x\" .Missing }}",
		 "3|\"a\"|97|%!o(string=x)|%!d(<nil>)");
	go_gives("{{ printf \"%d\" (index (index .Messages 2).ToolCalls 0).Function.Arguments.a }}",
		 "[%!d(bool=true) <nil> %!d(string=<)]");
	go_gives("{{ printf \"%T %T %T %T %T\" 1 2.5 \"a\" true nil }}", "int float64 string bool <nil>");
	go_gives("{{ printf \"%v %d\" (index (index .Messages 2).ToolCalls 0).Function.Arguments 1 }}",
		 "{\"a\":[true,null,\"\\u003c\"],\"b\":1500000} 1");
}

static void
test_go_limits(void **state)
{
	struct tb_buf deep = TB_BUF(1u << 20);

	(void)state;
	go_fails("{{ range 1000000000000 }}{{ end }}", TB_ELIMIT, "too long");
	go_fails("{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}", TB_ELIMIT, "too long");
	go_fails("{{ define \"t\" }}{{ template \"t\" }}{{ end }}{{ template \"t\" }}", TB_ELIMIT,
		 "too deeply");
	go_fails("{{ $x := \"xxxxxxxx\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}", TB_ELIMIT,
		 "too ");
	go_fails("{{ range 1000000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}", TB_ELIMIT, "too long");
	go_fails("{{ printf \"%1000000d%1000000d\" 1 2 | printf \"%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s"
		 "%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s"
		 "%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s\" }}", TB_ELIMIT, "too long");
	tb_buf_str(&deep, "{{ ");
	for (unsigned i = 0; i < 50000; i++)
		tb_buf_chr(&deep, '(');
	tb_buf_str(&deep, "1}}");
	go_fails(tb_buf_cstr(&deep), TB_ELIMIT, "too deeply");
	tb_buf_clear(&deep);
	for (unsigned i = 0; i < 5000; i++)
		tb_buf_str(&deep, "{{ if 1 }}");
	go_fails(tb_buf_cstr(&deep), TB_ELIMIT, "too deeply");
	tb_buf_free(&deep);
}

/* A template of turns: it is run once for each, and the last ends before the answer. */
static void
test_go_turns(void **state)
{
	static const struct chat_message m[] = {
		{ .role = "system", .content = "S" }, { .role = "user", .content = "1" },
		{ .role = "assistant", .content = "a" }, { .role = "user", .content = "2" },
	};
	struct chat_vars vars = { .messages = m, .nmessages = 4 };
	struct tb_err err = { 0 };
	struct tb_buf out;

	(void)state;
	assert_ok(go_render_vars("{{ if .System }}<{{ .System }}>{{ end }}[{{ .Prompt }}]({{ .Response }})"
				 "{{ if 1 }}end{{ end }}", &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "<S>[1](a)end[2](");
	tb_buf_free(&out);
	/* one that does not say where the answer stands has it at its end */
	assert_ok(go_render_vars("[{{ .Prompt }}]", &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "[1]a[2]");
	tb_buf_free(&out);
	assert_ok(go_render_vars("[{{ .Prompt }}]{{ if 1 }}{{ print .Response \"x\" }}!{{ else }}y{{ end }}z",
				 &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "[1]ax!z[2]");
	tb_buf_free(&out);
}

/* ---- what models ship with ---- */

static void
set_go_think(const cJSON *v, struct chat_vars *vars)
{
	bool on;

	if (json_bool(v, &on))
		vars->think = on ? CHAT_THINK_ON : CHAT_THINK_OFF;
	vars->think_level = json_str(v);
}

static void
check_go_case(const char *path, const char *source, const cJSON *r, unsigned *checked)
{
	const char *want = json_str(json_get(r, "expected"));
	struct chat_vars vars = { .conversation = json_get(r, "messages"),
				  .tools = json_get(r, "tools") };
	struct tb_err err = { 0 };
	struct tb_buf out;
	enum tb_status status;

	if (json_is_null(vars.tools))
		vars.tools = NULL;
	set_go_think(json_get(r, "think"), &vars);
	status = go_render_vars(source, &vars, &out, &err);
	if (want ? status || strcmp(tb_buf_cstr(&out), want) : status != TB_EFORMAT)
		fail_msg("%s, %s: %s\n%s\n----- wanted\n%s", path, json_str(json_get(r, "name")),
			 status ? err.msg : "differs", tb_buf_cstr(&out), want ? want : "an error");
	tb_buf_free(&out);
	++*checked;
}

static void
check_go_file(const char *path, unsigned *checked)
{
	struct tb_err err = { 0 };
	char *text;
	size_t len;
	cJSON *doc;

	assert_ok(tb_file_slurp(path, 1u << 26, &text, &len, &err), err);
	assert_ok(json_parse(&doc, text, len, path, &err), err);
	for (const cJSON *r = json_first(json_get(doc, "cases")); r; r = json_next(r))
		check_go_case(path, json_str(json_get(doc, "template")), r, checked);
	json_free(doc);
	free(text);
}

static void
for_go_files(const char *dir, const char *ends, void (*fn)(const char *, unsigned *),
	     unsigned *checked)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d))) {
		char *path = tb_path_join(dir, e->d_name);

		if (tb_ends(path, ends))
			fn(path, checked);
		free(path);
	}
	closedir(d);
}

static void
test_go_cases(void **state)
{
	unsigned checked = 0;

	(void)state;
	for_go_files(unit_shared("data/templates/go/cases"), ".json", check_go_file, &checked);
	assert_int_equal(checked, 36 * 8);
}

static char *
slurp_go(const char *path)
{
	struct tb_err err = { 0 };
	char *text;
	size_t len;

	assert_ok(tb_file_slurp(path, 1u << 26, &text, &len, &err), err);
	return text;
}

/* The conversation that a file of Ollama's tests is named after. */
static void
check_go_builtin(const char *path, unsigned *checked)
{
	static const struct chat_message m[] = {
		{ .role = "system", .content = "You are a helpful assistant." },
		{ .role = "user", .content = "Hello, how are you?" },
		{ .role = "assistant", .content = "I'm doing great. How can I help you today?" },
		{ .role = "user", .content = "I'd like to show off how chat templating works!" },
	};
	static const struct { const char *name; size_t from, n; } talks[] = {
		{ "user", 1, 1 }, { "user-assistant-user", 1, 3 },
		{ "system-user-assistant-user", 0, 4 },
	};
	const char *base = strrchr(path, '/') + 1;
	char *source = slurp_go(path);

	for (size_t i = 0; i < 3; i++) {
		struct chat_vars vars = { .messages = m + talks[i].from, .nmessages = talks[i].n };
		char *rel = tb_asprintf("data/templates/go/ollama/template/testdata/%s/%s", base,
					talks[i].name);
		char *want = slurp_go(unit_shared(rel));
		struct tb_err err = { 0 };
		struct tb_buf out;

		assert_ok(go_render_vars(source, &vars, &out, &err), err);
		if (strcmp(tb_buf_cstr(&out), want))
			fail_msg("%s\n%s\n----- wanted\n%s", rel, tb_buf_cstr(&out), want);
		tb_buf_free(&out);
		free(want);
		free(rel);
		++*checked;
	}
	free(source);
}

static void
test_go_builtins(void **state)
{
	unsigned checked = 0;

	(void)state;
	for_go_files(unit_shared("data/templates/go/ollama/template"), ".gotmpl", check_go_builtin,
		     &checked);
	assert_int_equal(checked, 60);
}

static void
check_go_tools(const char *path, unsigned *checked)
{
	char *source = slurp_go(path), *want;
	char *want_path = tb_asprintf("%.*s.out", (int)(strlen(path) - strlen(".gotmpl")), path);
	char *messages = slurp_go(unit_shared("data/templates/go/ollama/tools-v0.6.0/messages.json"));
	char *tools = slurp_go(unit_shared("data/templates/go/ollama/tools-v0.6.0/tools.json"));
	struct chat_vars vars = { 0 };
	struct tb_err err = { 0 };
	cJSON *m, *t;
	struct tb_buf out;

	want = slurp_go(want_path);
	assert_ok(json_parse(&m, messages, strlen(messages), "messages", &err), err);
	assert_ok(json_parse(&t, tools, strlen(tools), "tools", &err), err);
	vars.conversation = m;
	vars.tools = t;
	assert_ok(go_render_vars(source, &vars, &out, &err), err);
	if (strcmp(tb_buf_cstr(&out), want))
		fail_msg("%s\n%s\n----- wanted\n%s", path, tb_buf_cstr(&out), want);
	tb_buf_free(&out);
	json_free(m);
	json_free(t);
	free(source);
	free(want);
	free(want_path);
	free(messages);
	free(tools);
	++*checked;
}

static void
test_go_tools(void **state)
{
	unsigned checked = 0;

	(void)state;
	for_go_files(unit_shared("data/templates/go/ollama/tools-v0.6.0"), ".gotmpl", check_go_tools,
		     &checked);
	assert_int_equal(checked, 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go_text),
		cmocka_unit_test(test_go_values),
		cmocka_unit_test(test_go_statements),
		cmocka_unit_test(test_go_pipes),
		cmocka_unit_test(test_go_printf),
		cmocka_unit_test(test_go_limits),
		cmocka_unit_test(test_go_turns),
		cmocka_unit_test(test_go_cases),
		cmocka_unit_test(test_go_builtins),
		cmocka_unit_test(test_go_tools),
	};

	setenv("TBTUI_NOW", "1767323045", 1);	/* 2026-01-02T03:04:05Z */
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
