#include "config.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/text/chat_template.h"
#include "tests/unit/unit.h"

static const struct chat_message hello[] = {
	{ .role = "system", .content = "Be brief." },
	{ .role = "user", .content = " Hi <b>\"you\"</b> \n" },
	{ .role = "assistant", .content = "H\xc3\xa9!" },
};

static enum tb_status
rendered(const char *source, struct tb_buf *out, struct tb_err *err)
{
	struct chat_vars vars = { .messages = hello, .nmessages = 3, .bos_token = "<s>",
				  .add_generation_prompt = true };
	struct chat_template *t;
	enum tb_status status = chat_template_new(&t, source, strlen(source), err);

	*out = TB_BUF(1u << 27);
	if (!status)
		status = chat_template_render(t, &vars, out, err);
	chat_template_free(t);
	return status;
}

static void
gives(const char *source, const char *want)
{
	struct tb_buf out;
	struct tb_err err = { 0 };

	assert_ok(rendered(source, &out, &err), err);
	if (strcmp(tb_buf_cstr(&out), want))
		fail_msg("%s\ngives \"%s\", not \"%s\"", source, tb_buf_cstr(&out), want);
	tb_buf_free(&out);
}

static void
fails(const char *source, enum tb_status code, const char *part)
{
	struct tb_buf out;
	struct tb_err err = { 0 };

	assert_fails(rendered(source, &out, &err), err, code, part);
	assert_int_equal(out.len, 0);
	tb_buf_free(&out);
}

static void
test_text_and_blanks(void **state)
{
	(void)state;
	gives("", "");
	gives("a\n", "a");
	gives("a\n\n", "a\n");
	gives("a\r\nb", "a\nb");
	gives("  {% if true %}\n  x\n  {% endif %}\ny", "  x\ny");
	gives("a {%- if true -%} b {%- endif -%} c", "abc");
	gives("a {%+ if true +%}\nb{% endif %}", "a \nb");
	gives("a {{- 'b' -}} \n c", "abc");
	gives("x\n  {# no #}\ny", "x\ny");
	gives("  {{ 1 }}\n  {{ 2 }}", "  1\n  2");
	gives("{% raw %}{{ x }}{% endraw %}", "{{ x }}");
	gives("{ a } { % #", "{ a } { % #");
}

static void
test_expressions(void **state)
{
	(void)state;
	gives("{{ 1 + 2 * 3 ** 2 - -1 }}", "20");
	gives("{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }}", "3 -4 2 3.5 2.0");
	gives("{{ 1 < 2 <= 2 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ not 1 in [1] }}",
	      "True True True False");
	gives("{{ 'a' ~ 1 ~ none ~ missing }}", "a1None");
	gives("{{ 'x' if false else 'y' }}{{ 'z' if false }}", "y");
	gives("{{ 0 or 'a' }} {{ 1 and 'b' }} {{ '' or [] or {} }}", "a b {}");
	gives("{{ [1, 'a', none, 1.5, ('b',)] }} {{ {'k': \"it's\"} }}",
	      "[1, 'a', None, 1.5, ('b',)] {'k': \"it's\"}");
	gives("{{ 'h\xc3\xa9llo'[1] }}{{ 'h\xc3\xa9llo'[-2:] }}{{ 'abc'[::-1] }}{{ [1,2,3][1:] }}",
	      "\xc3\xa9loc" "ba[2, 3]");
	gives("{{ 'a' 'b' }}{{ '\\n\\x41\\u00e9\\q' }}", "ab\nA\xc3\xa9\\q");
	gives("{{ 'ab' * 2 }}{{ [0] * 2 + [1] }}", "abab[0, 0, 1]");
	gives("{{ 'b' in 'abc' }}{{ 'k' in {'k': 1} }}{{ 3 not in [1] }}", "TrueTrueTrue");
	gives("{{ {'a': {'b': [5]}}.a['b'].0 }}", "5");
	gives("{{ 1e3 }} {{ 0.1 }} {{ 1e20 }}", "1000.0 0.1 1e+20");
}

static void
test_statements(void **state)
{
	(void)state;
	gives("{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ m.role[0] }}"
	      "{{ ',' if not loop.last }}{% endfor %}", "1/3s,2/3u,3/3a");
	gives("{% for x in [] %}x{% else %}none{% endfor %}", "none");
	gives("{% for k, v in {'a': 1, 'b': 2}.items() if v > 1 %}{{ k }}{{ loop.first }}"
	      "{% endfor %}", "bTrue");
	gives("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}"
	      "{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "023");
	gives("{% set a, b = 1, 2 %}{{ b }}{% set x %}t{{ a }}{% endset %}{{ x }}", "2t1");
	gives("{% set x | upper %}abc{% endset %}{{ x }}{% filter trim | upper %} d {% endfilter %}",
	      "ABCD");
	/* what a loop sets does not leave it, what is set in a namespace does */
	gives("{% set x = 1 %}{% set ns = namespace(y=1) %}{% for i in [1] %}{% set x = 2 %}"
	      "{% set ns.y = 2 %}{% endfor %}{{ x }}{{ ns.y }}", "12");
	gives("{% macro m(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=3, a=2) }}",
	      "[1d][23]");
	gives("{% macro m() %}<{{ caller('x') }}>{% endmacro %}{% call(v) m() %}{{ v }}!{% endcall %}",
	      "<x!>");
	gives("{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
	      "3210");
	gives("{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}", "b");
	gives("{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}", "1False");
	gives("{% generation %}x{% endgeneration %}", "x");
}

static void
test_tables(void **state)
{
	(void)state;
	gives("{{ ' a ' | trim }}{{ 'ab' | length }}{{ [1, 2] | join('-') }}{{ x | default('d') }}",
	      "a21-2d");
	gives("{{ {'b': [1, none, true], 'a': '\xc3\xa9\"'} | tojson }}",
	      "{\"b\": [1, null, true], \"a\": \"\xc3\xa9\\\"\"}");
	gives("{{ {'b': [1]} | tojson(indent=2) }}", "{\n  \"b\": [\n    1\n  ]\n}");
	gives("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='role') | list }}",
	      "['user']");
	gives("{{ {'b': 1, 'a': 2} | dictsort }}{{ ['b', 'A'] | sort }}",
	      "[('a', 2), ('b', 1)]['A', 'b']");
	gives("{{ ' a b  c'.split() }}{{ 'a,b,c'.split(',', 1) }}{{ 'a.b.c'.rsplit('.', 1) }}",
	      "['a', 'b', 'c']['a', 'b,c']['a.b', 'c']");
	gives("{{ 'xxaxx'.strip('x') }}{{ 'ab'.startswith('a') }}{{ 'ab'.replace('b', 'c') }}",
	      "aTrueac");
	gives("{{ '{} {1} {n}'.format('a', 'b', n=3) }}{{ 'ab'.upper() }}{{ 'a b'.title() }}",
	      "a b 3ABA B");
	gives("{{ messages[0] is mapping }}{{ 'a' is string }}{{ 1 is number }}{{ [] is iterable }}"
	      "{{ x is not defined }}{{ none is none }}{{ 4 is divisibleby(2) }}",
	      "TrueTrueTrueTrueTrueTrueTrue");
	gives("{{ messages[1].content | e }}", " Hi &lt;b&gt;&#34;you&#34;&lt;/b&gt; \n");
	/* generators are true even when empty */
	gives("{{ 1 if [] | select('string') }}{{ [] | select('string') | list }}", "1[]");
	fails("{{ [1] | map('string') | length }}", TB_EFORMAT, "generator");
	gives("{{ 'a-b (c' | title }}{{ ['B', 'a'] | min }}{{ 2.5 | round }}{{ 3 | round }}",
	      "A-B (Ca2.03");
	gives("{{ 3[1:] is undefined }}{{ 2.0 is even }}{{ (1, 2) * true }}", "TrueTrue(1, 2)");
	gives("{{ bos_token }}{{ eos_token }}{{ tools is none }}{{ add_generation_prompt }}",
	      "<s>TrueTrue");
	gives("{{ {'items': 1}['items'] }}{{ {'a': 1}.get('b', 2) }}", "12");
}

/* Texts and bits as Python's int(), float() and round() have them. */
static void
test_numbers(void **state)
{
	(void)state;
	gives("{{ ' 12 ' | int }} {{ '1_000' | int }} {{ '-7.9' | int }} {{ '1e3' | int }}",
	      "12 1000 -7 1000");
	gives("{{ '0x1f' | int }} {{ '0x1f' | int(base=16) }} {{ '0b11' | int(0, 0) }}"
	      " {{ '1__0' | int(5) }} {{ 'inf' | int(6) }} {{ none | int }}", "0 31 3 5 6 0");
	gives("{{ ' 1_0.5 ' | float }} {{ '0x1p3' | float }} {{ '-inf' | float }}", "10.5 0.0 -inf");
	gives("{{ 2.675 | round(2) }} {{ 0.125 | round(2) }} {{ 1.005 | round(2) }}"
	      " {{ 3.5 | round }} {{ -2.5 | round }}", "2.67 0.12 1.0 4.0 -2.0");
	gives("{{ 1234 | round(-2) }} {{ 25 | round(-1) }} {{ 7 | round(2) }}", "1200 20 7");
	gives("{{ 2.341 | round(1, 'ceil') }} {{ 2.39 | round(1, method='floor') }}", "2.4 2.3");
	fails("{{ x | int }}", TB_EFORMAT, "'x' is undefined");
	fails("{{ '99999999999999999999' | int }}", TB_ELIMIT, "too large");
}

/* What is false has no items for filters that are generators, whatever it is. */
static void
test_nothing(void **state)
{
	(void)state;
	gives("{{ none | select | list }}{{ none | reject('string') | list }}"
	      "{{ false | selectattr('a') | list }}{{ 0 | rejectattr('a') | list }}"
	      "{{ none | map(attribute='a') | list }}{{ none | map('upper') | join }}", "[][][][][]");
	fails("{{ 1 | select | list }}", TB_EFORMAT, "cannot be iterated");
	fails("{{ none | list }}", TB_EFORMAT, "cannot be iterated");
}

static void
test_items(void **state)
{
	(void)state;
	gives("{{ ['a', 'A', 'b', 'B', 'a'] | unique | list }}"
	      "{{ ['a', 'A', 'a'] | unique(true) | list }}", "['a', 'b']['a', 'A']");
	gives("{{ [{'k': 'x', 'n': 1}, {'k': 'X', 'n': 2}] | unique(attribute='k')"
	      " | map(attribute='n') | list }}", "[1]");
	gives("{{ [{'k': {'n': 1}}, {'k': {'n': 1}}] | unique(attribute='k.n') | list | length }}",
	      "1");
	fails("{{ [[1], [1]] | unique | list }}", TB_EFORMAT, "cannot be a key");
	gives("{{ [{'k': 3}, {'k': 5}] | max(attribute='k') }}{{ ['b', 'A'] | min(true) }}",
	      "{'k': 5}A");
	gives("{{ [['p', 'q']] | map(attribute='0') | list }}"
	      "{{ [{}] | map(attribute='a.b', default='d') | list }}", "['p']['d']");
	gives("{{ messages | selectattr('role', '==', 'user') | list | length }}"
	      "{{ messages | rejectattr('role', '!=', 'user') | list | length }}", "11");
	gives("{{ true is sameas true }}{{ 1 is sameas true }}", "TrueFalse");
	gives("{{ [none, none] | sort }}{{ 'a1b1' | replace(1, 2) }}", "[None, None]a2b2");
	fails("{{ [] | sort(attribute='a,b') }}", TB_EUNSUP, "several attributes");
}

/* What is safe stays so, and what is put to it is escaped. */
static void
test_markup(void **state)
{
	(void)state;
	gives("{{ '<a>' | safe }}{{ ('<a>' | safe) + '<' }}{{ '&' + ('<a>' | safe) }}",
	      "<a><a>&lt;&amp;<a>");
	gives("{{ ('<' | safe) + ('>' | safe) + '\"' }}{{ ('<' | e) + '<' }}{{ '<' | e | e }}",
	      "<>&#34;&lt;&lt;&lt;");
	gives("{{ ('<a' | safe | upper) + '<' }}{{ (' < ' | safe | trim) + '<' }}"
	      "{{ ('a<b' | safe).split('<')[0] + '<' }}{{ ('<<' | safe)[1:] + '<' }}",
	      "<A&lt;<&lt;a&lt;<&lt;");
	gives("{{ ('{}' | safe).format('<') }}{{ (', ' | safe).join(['<', '>' | safe]) }}"
	      "{{ ('a' | safe).replace('a', '<') }}{{ ('<' | safe) * 2 + '<' }}",
	      "&lt;&lt;, >&lt;<<&lt;");
	/* but not by "~", filters that make new text, and blocks */
	gives("{{ ('<' | safe) ~ '>' }}{{ (['<', '>'] | join('|' | safe)) + '<' }}"
	      "{{ ('a' | safe | replace('a', '<')) + '<' }}{{ ('a' | safe | title) + '<' }}",
	      "<><|><<<A<");
	gives("{% set x %}{{ '<' | safe }}{% endset %}{{ x + '<' }}"
	      "{% macro m() %}<{% endmacro %}{{ m() + '<' }}", "<<<<");
	gives("{{ ['<' | safe] }}{{ ('<' | safe) == '<' }}{{ '<' | safe is escaped }}"
	      "{{ ('<' | safe) is string }}{{ ['<' | safe] | tojson }}",
	      "[Markup('<')]TrueTrueTrue[\"<\"]");
}

static enum tb_status
with(const char *source, const struct chat_vars *vars, struct tb_buf *out, struct tb_err *err)
{
	struct chat_template *t;
	enum tb_status status = chat_template_new(&t, source, strlen(source), err);

	tb_buf_clear(out);
	if (!status)
		status = chat_template_render(t, vars, out, err);
	chat_template_free(t);
	return status;
}

static void
test_variables(void **state)
{
	static const char text[] = "{\"documents\":[{\"title\":\"T\"}],\"x\":1}";
	static const char loop[] = "{% for t in tools %}{{ t }}{% endfor %}{{ tools | length }}";
	struct chat_vars vars = { .messages = hello, .nmessages = 3 };
	struct tb_buf out = TB_BUF(1000);
	struct tb_err err = { 0 };
	cJSON *extra;

	(void)state;
	assert_ok(json_parse(&extra, text, strlen(text), "extra", &err), err);
	assert_ok(with("{{ documents is none }}", &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "True");
	/* no tools: None, as the template asks or not */
	assert_fails(with(loop, &vars, &out, &err), err, TB_EFORMAT, "cannot be iterated");
	vars.forgive_no_tools = true;
	assert_ok(with(loop, &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "0");
	assert_ok(with("{{ tools is none }}", &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "True");
	assert_fails(with("{% for i in none %}{% endfor %}", &vars, &out, &err), err, TB_EFORMAT,
		     "cannot be iterated");
	vars.extra = extra;
	assert_ok(with("{{ documents[0].title }}{{ x }}", &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "T1");
	json_free(extra);
	tb_buf_free(&out);
}

static void
test_errors(void **state)
{
	(void)state;
	fails("a\n{{ raise_exception('No tools here') }}", TB_EFORMAT, "line 2: No tools here");
	fails("{{ a.b }}", TB_EFORMAT, "'a' is undefined");
	fails("{{ f() }}", TB_EFORMAT, "'f' is undefined");
	fails("{{ 1 | nosuch }}", TB_EUNSUP, "filter \"nosuch\"");
	fails("{{ 1 is nosuch }}", TB_EUNSUP, "test \"nosuch\"");
	fails("\n\n{% include 'x' %}", TB_EUNSUP, "line 3: the statement \"include\"");
	fails("{% if 1 %}", TB_EFORMAT, "endif");
	fails("{% endif %}", TB_EUNSUP, "endif");
	fails("{{ 1 ", TB_EFORMAT, "without \"}}\"");
	fails("{{ 'a }}", TB_EFORMAT, "without an end");
	fails("{# a", TB_EFORMAT, "without an end");
	fails("{{ 1 + }}", TB_EFORMAT, "an expression is expected");
	fails("{{ 1 2 }}", TB_EFORMAT, "\"}}\" is expected");
	fails("{{ 'a' + 1 }}", TB_EFORMAT, "str + int");
	fails("{{ 1 // 0 }}", TB_EFORMAT, "division by zero");
	fails("{{ 9223372036854775807 }}", TB_EUNSUP, "too long");
	fails("{{ [].append(1) }}", TB_EFORMAT, "not safe");
	fails("{% break %}", TB_EFORMAT, "outside a loop");
	fails("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", TB_EFORMAT, "does not take");
	fails("{{ f(*x) }}", TB_EUNSUP, "*args");
	fails("{{ \xff }}", TB_EFORMAT, "UTF-8");
}

static void
test_limits(void **state)
{
	struct tb_buf deep = TB_BUF(1u << 20);

	(void)state;
	fails("{% for i in range(100000000) %}{% endfor %}", TB_ELIMIT, "too");
	fails("{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}{% endfor %}",
	      TB_ELIMIT, "too");
	fails("{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(40) %}"
	      "{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}", TB_ELIMIT, "too");
	fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", TB_ELIMIT, "too deeply");
	fails("{{ 'x' * 1000000000 }}", TB_ELIMIT, "too");
	tb_buf_str(&deep, "{{ ");
	for (unsigned i = 0; i < 50000; i++)
		tb_buf_chr(&deep, '(');
	for (unsigned i = 0; i < 50000; i++)
		tb_buf_chr(&deep, ')');
	tb_buf_str(&deep, " }}");
	fails(tb_buf_cstr(&deep), TB_ELIMIT, "too deeply");
	tb_buf_clear(&deep);
	for (unsigned i = 0; i < 5000; i++)
		tb_buf_str(&deep, "{% if 1 %}");
	fails(tb_buf_cstr(&deep), TB_ELIMIT, "too deeply");
	tb_buf_free(&deep);
}

/* What a conversation has beside role and content, and what is said about thinking. */
static void
test_turns(void **state)
{
	static const char source[] = "{% for m in messages %}{{ m.role }}:{{ m.reasoning_content }}"
		"{% for t in m.tool_calls %}{{ t.function.arguments.x }}{% endfor %}{{ m.name }}"
		"{{ m.thinking is defined }};{% endfor %}{{ enable_thinking }}{{ reasoning_effort }}";
	struct chat_message m[] = {
		{ .role = "assistant", .content = "", .thinking = "hm",
		  .tool_calls = "[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":7}}}]" },
		{ .role = "tool", .content = "8", .tool_name = "f" },
	};
	struct chat_vars vars = { .messages = m, .nmessages = 2, .think = CHAT_THINK_OFF,
				  .think_level = "low" };
	struct tb_buf out = TB_BUF(1u << 20);
	struct chat_template *t;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(chat_template_new(&t, source, strlen(source), &err), err);
	assert_ok(chat_template_render(t, &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "assistant:hm7True;tool:fFalse;Falselow");
	tb_buf_clear(&out);
	vars = (struct chat_vars){ .messages = m, .nmessages = 0 };
	assert_ok(chat_template_render(t, &vars, &out, &err), err);
	assert_string_equal(tb_buf_cstr(&out), "");
	m[0].tool_calls = "[{";
	vars.nmessages = 1;
	assert_fails(chat_template_render(t, &vars, &out, &err), err, TB_EFORMAT, "tool_calls");
	chat_template_free(t);
	tb_buf_free(&out);
}

static void
check_reference(const char *path, unsigned *checked)
{
	struct tb_err err = { 0 };
	char *text, *source, *rel;
	struct chat_template *t;
	cJSON *doc;
	size_t len;

	assert_ok(tb_file_slurp(path, 1u << 26, &text, &len, &err), err);
	assert_ok(json_parse(&doc, text, len, path, &err), err);
	rel = tb_asprintf("data/%s", json_str(json_get(doc, "template")));
	assert_ok(tb_file_slurp(unit_shared(rel), 1u << 26, &source, &len, &err), err);
	assert_ok(chat_template_new(&t, source, len, &err), err);
	for (const cJSON *r = json_first(json_get(doc, "renders")); r; r = json_next(r)) {
		const char *want = json_str(json_get(r, "text"));
		struct chat_vars vars = {
			.conversation = json_get(r, "messages"), .tools = json_get(r, "tools"),
			.bos_token = json_str(json_get(doc, "bos_token")),
			.eos_token = json_str(json_get(doc, "eos_token")),
		};
		struct tb_buf out = TB_BUF(1u << 26);
		enum tb_status status;

		(void)json_bool(json_get(r, "add_generation_prompt"), &vars.add_generation_prompt);
		status = chat_template_render(t, &vars, &out, &err);
		if (want ? status || strcmp(tb_buf_cstr(&out), want) : status != TB_EFORMAT)
			fail_msg("%s, %s: %s\n%s", rel, json_key(r), status ? err.msg : "",
				 tb_buf_cstr(&out));
		tb_buf_free(&out);
		++*checked;
	}
	chat_template_free(t);
	json_free(doc);
	free(source);
	free(text);
	free(rel);
}

/* Every template that models ship with, as jinja2 renders it. */
static void
test_references(void **state)
{
	const char *dir = unit_shared("data/reference/chat");
	unsigned checked = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	(void)state;
	assert_non_null(d);
	setenv("TBTUI_NOW", "1767323045", 1);	/* 2026-01-02T03:04:05Z, as `now` says */
	setenv("TZ", "UTC", 1);
	while ((e = readdir(d))) {
		char *path = tb_path_join(dir, e->d_name);

		if (tb_ends(path, ".json"))
			check_reference(path, &checked);
		free(path);
	}
	closedir(d);
	unsetenv("TBTUI_NOW");
	assert_true(checked > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_and_blanks),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_markup),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
