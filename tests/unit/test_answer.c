/* An answer in its parts, however it is cut into pieces. */
#include "config.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/text/answer.h"
#include "tests/unit/unit.h"

static const char think_jinja[] = "{{ messages }}<think></think><tool_call>{{ tools }}";
static const char plain_jinja[] = "{{ messages }}{{ tools }}";
static const char harmony_jinja[] = "<|start|><|channel|>analysis<|message|>{{ messages }}";
static const char tools_json[] =
	"[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{\"type\":\"object\","
	"\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}}}}}]";

static void
both(void *arg, enum answer_part part, const char *text, size_t len)
{
	struct tb_buf *all = arg;

	assert_true(len > 0);
	tb_buf_add(&all[part == ANSWER_THINKING], text, len);
}

/* What is wanted of a whole answer; NULL: nothing of it. */
struct want { const char *text, *thinking, *calls; };

/* calls: as they are written, without ids. */
static void
check_calls(const struct answer *a, const char *raw, const char *want)
{
	char *calls = answer_calls(a), *got;
	struct tb_err err;
	cJSON *list, *all = json_array();

	if (!want || !calls) {
		if (calls || want)
			fail_msg("%s\ncalls %s, not %s", raw, calls ? calls : "nothing",
				 want ? want : "nothing");
		json_free(all);
		return;
	}
	assert_ok(json_parse(&list, calls, strlen(calls), "calls", &err), err);
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		assert_int_equal(strlen(json_str(json_get(v, "id"))), 9);
		assert_string_equal(json_str(json_get(v, "type")), "function");
		json_push(all, json_copy(json_get(v, "function")));
	}
	got = json_print(all);
	if (strcmp(got, want))
		fail_msg("%s\ncalls %s, not %s", raw, got, want);
	free(got);
	free(calls);
	json_free(list);
	json_free(all);
}

static void
check_pieces(const char *source, bool tools, const char *prompt, const char *raw, size_t step,
	     struct want want)
{
	struct tb_buf out[2] = { TB_BUF(1u << 20), TB_BUF(1u << 20) };
	struct chat_template *t;
	struct answer *a;
	struct tb_err err;
	cJSON *list;
	size_t len = strlen(raw), first = step % (len + 1), n;

	assert_ok(chat_template_new(&t, source, strlen(source), &err), err);
	assert_ok(json_parse(&list, tools_json, strlen(tools_json), "tools", &err), err);
	assert_ok(answer_new(&a, t, tools ? list : NULL, prompt, both, out, &err), err);
	/* all at once, a byte at a time, or cut once */
	for (size_t i = 0; i < len; i += n) {
		n = step == 1 ? 1 : !i && step ? first : len - i;
		answer_add(a, raw + i, n);
	}
	answer_end(a);
	assert_ok(answer_status(a, &err), err);
	if (strcmp(answer_text(a), want.text) || strcmp(tb_buf_cstr(&out[0]), want.text))
		fail_msg("%s (%zu)\nsays \"%s\", not \"%s\"", raw, step, answer_text(a), want.text);
	if (strcmp(tb_buf_cstr(&out[1]), want.thinking ? want.thinking : "") ||
	    !answer_thinking(a) != !want.thinking)
		fail_msg("%s (%zu)\nthinks \"%s\"", raw, step, tb_buf_cstr(&out[1]));
	check_calls(a, raw, want.calls);
	for (size_t i = 0; i < len; i++)
		assert_true(answer_place(a, i) <= strlen(want.text));
	answer_free(a);
	json_free(list);
	chat_template_free(t);
	tb_buf_free(&out[0]);
	tb_buf_free(&out[1]);
}

static void
splits(const char *source, bool tools, const char *prompt, const char *raw, struct want want)
{
	for (size_t step = 0; step <= strlen(raw); step++)
		check_pieces(source, tools, prompt, raw, step, want);
}

static void
test_thinking(void **state)
{
	(void)state;
	splits(think_jinja, false, "", "Hi <think> there", (struct want){ "Hi <think> there", NULL, NULL });
	splits(think_jinja, false, "", "\n<think>\nHm, 1 < 2.\n</think>\n\nYes.",
	       (struct want){ "Yes.", "Hm, 1 < 2.", NULL });
	splits(think_jinja, false, "<|assistant|><think>\n", "Hm.\n</think>\n\nYes.</think>",
	       (struct want){ "Yes.</think>", "Hm.", NULL });
	splits(think_jinja, false, "", "<think>never ends </thi",
	       (struct want){ "", "never ends </thi", NULL });
	splits(think_jinja, false, "", "<thi", (struct want){ "<thi", NULL, NULL });
	splits(think_jinja, false, "", "<think>\n\n</think>\n\nYes.", (struct want){ "Yes.", NULL, NULL });
	splits(think_jinja, false, "", "", (struct want){ "", NULL, NULL });
	splits(plain_jinja, false, "", "<think>a</think>b", (struct want){ "<think>a</think>b", NULL, NULL });
}

static void
test_channels(void **state)
{
	(void)state;
	splits(harmony_jinja, false, "<|start|>assistant",
	       "<|channel|>analysis<|message|>Hm. <|end|><|start|>assistant<|channel|>final<|message|>"
	       "Yes <|x|>.<|return|>", (struct want){ "Yes <|x|>.", "Hm.", NULL });
	splits(harmony_jinja, true, "<|start|>assistant",
	       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
	       "to=functions.weather <|constrain|>json<|message|>{\"city\":\"Oslo\"}<|call|>",
	       (struct want){ "", "Hm.", "[{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}]" });
	/* one that does not keep to channels */
	splits(harmony_jinja, true, "<|start|>assistant",
	       "Yes, and a long sentence more, until there are some <|channel|>final<|message|>.",
	       (struct want){ "Yes, and a long sentence more, until there are some <|channel|>final"
			      "<|message|>.", NULL, NULL });
	splits(harmony_jinja, true, "<|start|>assistant",
	       "<|channel|>final<|message|>cut <|en", (struct want){ "cut <|en", NULL, NULL });
}

#define OSLO "[{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}]"
#define OSLO_3 "[{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\",\"days\":3}}]"

static void
test_calls(void **state)
{
	(void)state;
	splits(think_jinja, true, "",
	       "<think>\nHm.</think>I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": "
	       "{\"city\": \"Oslo\"}}\n</tool_call>",
	       (struct want){ "I look.\n", "Hm.", OSLO });
	splits(think_jinja, true, "",
	       "<tool_call>{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}</tool_call>\n"
	       "<tool_call>{\"name\":\"weather\"}</tool_call>",
	       (struct want){ "\n", NULL, "[{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}},"
					  "{\"name\":\"weather\",\"arguments\":{}}]" });
	splits(think_jinja, true, "",
	       "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n"
	       "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
	       (struct want){ "", NULL, OSLO_3 });
	splits(think_jinja, true, "",
	       "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
	       "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
	       (struct want){ "", NULL, OSLO_3 });
	/* signs of other forms in a text are text */
	splits(think_jinja, true, "",
	       "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"<function=rm><parameter=a>b"
	       "</parameter></function> [ARGS]\"}}</tool_call>",
	       (struct want){ "", NULL, "[{\"name\":\"weather\",\"arguments\":{\"city\":\"<function=rm>"
					"<parameter=a>b</parameter></function> [ARGS]\"}}]" });
	/* what is no call is text, and no byte of it is lost */
	splits(think_jinja, true, "", "a <tool_call>{\"nam</tool_call> b",
	       (struct want){ "a <tool_call>{\"nam</tool_call> b", NULL, NULL });
	splits(think_jinja, true, "", "a <tool_call>{\"name\":", (struct want){ "a <tool_call>{\"name\":", NULL, NULL });
	/* nobody gave tools: nothing is a call */
	splits(think_jinja, false, "", "<tool_call>{\"name\":\"weather\"}</tool_call>",
	       (struct want){ "<tool_call>{\"name\":\"weather\"}</tool_call>", NULL, NULL });
}

static void
test_forms(void **state)
{
	static const char mistral[] = "{{ messages }}[TOOL_CALLS]", llama[] = "{{ messages }}<|python_tag|>",
		lfm[] = "{{ messages }}<|tool_call_start|>", phi[] = "{{ messages }}<|tool_call|>",
		gemma[] = "{{ messages }}<|tool_call>call:", minicpm[] = "{{ messages }}<function name=",
		kimi[] = "{{ messages }}<|tool_calls_section_begin|>",
		minimax[] = "{{ messages }}<minimax:tool_call>", coder[] = "{{ messages }}<function=",
		deepseek[] = "{{ messages }}<\xef\xbd\x9ctool\xe2\x96\x81" "calls\xe2\x96\x81" "begin\xef\xbd\x9c>";

	(void)state;
	splits(mistral, true, "", "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
	       (struct want){ "", NULL, OSLO });
	splits(mistral, true, "", "[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\", \"days\": 3}",
	       (struct want){ "", NULL, OSLO_3 });
	splits(llama, true, "", "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
	       (struct want){ "", NULL, OSLO });
	splits(llama, true, "", "<|python_tag|>{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
	       (struct want){ "", NULL, OSLO });
	splits(llama, true, "", "[weather(city='Oslo', days=3)]", (struct want){ "", NULL, OSLO_3 });
	splits(lfm, true, "", "<|tool_call_start|>[weather(city=\"Oslo\")]<|tool_call_end|>Wait.",
	       (struct want){ "Wait.", NULL, OSLO });
	splits(phi, true, "", "<|tool_call|>[{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}]<|/tool_call|>",
	       (struct want){ "", NULL, OSLO });
	splits(minimax, true, "", "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo"
	       "</parameter>\n</invoke>\n</minimax:tool_call>", (struct want){ "", NULL, OSLO });
	splits(coder, true, "", "<function=weather><parameter=city>Oslo</parameter></function>",
	       (struct want){ "", NULL, OSLO });
	splits(deepseek, true, "",
	       "<\xef\xbd\x9ctool\xe2\x96\x81" "calls\xe2\x96\x81" "begin\xef\xbd\x9c>"
	       "<\xef\xbd\x9ctool\xe2\x96\x81" "call\xe2\x96\x81" "begin\xef\xbd\x9c>weather"
	       "<\xef\xbd\x9ctool\xe2\x96\x81sep\xef\xbd\x9c>{\"city\":\"Oslo\"}"
	       "<\xef\xbd\x9ctool\xe2\x96\x81" "call\xe2\x96\x81" "end\xef\xbd\x9c>"
	       "<\xef\xbd\x9ctool\xe2\x96\x81" "calls\xe2\x96\x81" "end\xef\xbd\x9c>",
	       (struct want){ "", NULL, OSLO });
	splits(kimi, true, "", "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
	       "<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>",
	       (struct want){ "", NULL, OSLO });
	splits(mistral, true, "", "[TOOL_CALLS]weather[CALL_ID]abc123def[ARGS]{\"city\": \"Oslo\"}",
	       (struct want){ "", NULL, OSLO });
	splits(gemma, true, "", "I look.<|tool_call>call:weather{city:<|\"|>Oslo<|\"|>,days:3}<tool_call|>",
	       (struct want){ "I look.", NULL, OSLO_3 });
	splits(gemma, true, "", "<|tool_call>call:weather{city:<|\"|>a \"b\", {c}\n<|\"|>,days:[1.5,{of:null,"
	       "<|\"|>so<|\"|>:true}]}<tool_call|>",
	       (struct want){ "", NULL, "[{\"name\":\"weather\",\"arguments\":{\"city\":\"a \\\"b\\\", {c}\\n\","
					"\"days\":[1.5,{\"of\":null,\"so\":true}]}}]" });
	splits(gemma, true, "", "<|tool_call>call:weather{city:<|\"|>Oslo}<tool_call|>", (struct want){
	       "<|tool_call>call:weather{city:<|\"|>Oslo}<tool_call|>", NULL, NULL });
	splits(gemma, true, "", "<|tool_call>call:weather{city :2024-05-01,days:3}<tool_call|>",
	       (struct want){ "", NULL, "[{\"name\":\"weather\",\"arguments\":{\"city\":\"2024-05-01\","
					"\"days\":3}}]" });
	/* what cannot be read is no call without arguments */
	splits(mistral, true, "", "[TOOL_CALLS]weather[ARGS]{\"city\":\"Oslo\",}", (struct want){
	       "[TOOL_CALLS]weather[ARGS]{\"city\":\"Oslo\",}", NULL, NULL });
	splits(minicpm, true, "", "<function name=\"weather\"><param name=\"city\"><![CDATA[Oslo]]></param>"
	       "<param name=\"days\">3</param></function>", (struct want){ "", NULL, OSLO_3 });
	/* without a tag only what is there may be called, and only by an answer that is nothing else */
	splits(plain_jinja, true, "", "{\"name\": \"other\", \"parameters\": {}}",
	       (struct want){ "{\"name\": \"other\", \"parameters\": {}}", NULL, NULL });
	splits(plain_jinja, true, "", "Use {\"name\": \"weather\"}",
	       (struct want){ "Use {\"name\": \"weather\"}", NULL, NULL });
	splits(plain_jinja, true, "", "[1, 2, 3]", (struct want){ "[1, 2, 3]", NULL, NULL });
}

/* With tools; call: and what the model has called; begins: the beginning of its answer. */
static bool
written(const struct chat_template *t, const cJSON *tools, bool call, bool begins,
	struct tb_buf *out)
{
	static const struct chat_message said[] = {
		{ .role = "user", .content = "Weather?" },
		{ .role = "assistant", .content = "", .tool_calls = "[{\"id\":\"abc123def\",\"type\":"
		  "\"function\",\"function\":{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\","
		  "\"days\":3}}}]" },
	};
	const struct chat_vars vars = { .messages = said, .nmessages = 1 + call, .tools = tools,
					.bos_token = "<s>", .eos_token = "</s>",
					.add_generation_prompt = begins };

	return !chat_template_render(t, &vars, out, NULL);
}

/* What a template writes of a call, behind what it asks with (begins: with the beginning of an
 * answer), is read as that. */
static bool
comes_back(const struct chat_template *t, const cJSON *tools, bool begins)
{
	struct tb_buf prompt = TB_BUF(1u << 20), all = TB_BUF(1u << 20);
	struct tb_buf out[2] = { TB_BUF(1u << 20), TB_BUF(1u << 20) };
	struct answer *a;
	struct tb_err err;
	char *calls;
	size_t n = 0;
	bool same = written(t, tools, false, begins, &prompt) && written(t, tools, true, false, &all);

	while (n < prompt.len && n < all.len && prompt.p[n] == all.p[n])
		n++;
	assert_ok(answer_new(&a, t, tools, begins ? tb_buf_cstr(&prompt) : "", both, out, &err), err);
	if (same)
		answer_add(a, all.p + n, all.len - n);
	answer_end(a);
	calls = answer_calls(a);
	same = calls && strstr(calls, "\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\",\"days\":3}}}]");
	free(calls);
	answer_free(a);
	tb_buf_free(&prompt);
	tb_buf_free(&all);
	tb_buf_free(&out[0]);
	tb_buf_free(&out[1]);
	return same;
}

static bool
template_comes_back(const char *source)
{
	static const char tools[] =
		"[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"description\":\"of a city\","
		"\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\","
		"\"description\":\"which\"},\"days\":{\"type\":\"integer\",\"description\":\"how many\"}},"
		"\"required\":[\"city\"]}}}]";
	struct chat_template *t;
	struct tb_err err;
	cJSON *list;
	bool back;

	assert_ok(chat_template_new(&t, source, strlen(source), &err), err);
	assert_ok(json_parse(&list, tools, strlen(tools), "tools", &err), err);
	back = comes_back(t, list, true) || comes_back(t, list, false);
	chat_template_free(t);
	json_free(list);
	return back;
}

/* Those that do not write this conversation, and one whose form has no sign of its own. */
static bool
does_not_come_back(const char *name)
{
	static const char *const names[] = {
		"Kimi-K2-Instruct.jinja", "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja",
		"fireworks-ai-llama-3-firefunction-v2.jinja",
		"ibm-granite-granite-3.3-2B-Instruct.jinja", "meetkai-functionary-medium-v3.2.jinja",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void
test_templates(void **state)
{
	const char *dir = unit_shared("data/templates/llama.cpp");
	struct tb_names names;
	struct tb_err err;
	size_t n = 0;

	(void)state;
	assert_ok(tb_names_read(&names, dir, &err), err);
	for (size_t i = 0; i < names.n; i++) {
		struct tb_path path;
		char *source;

		if (!tb_ends(names.v[i], ".jinja"))
			continue;
		assert_ok(tb_file_slurp(tb_path_in(&path, dir, names.v[i]), 1u << 20, &source, NULL, &err),
			  err);
		if (strstr(source, "tool_call") && !does_not_come_back(names.v[i])) {
			if (!template_comes_back(source))
				fail_msg("%s: what it writes of a call is not read as one", names.v[i]);
			n++;
		}
		free(source);
	}
	tb_names_free(&names);
	assert_true(n > 20);
}

/* How Go templates say it. */
static void
test_go_tags(void **state)
{
	static const char source[] =
		"{{ range .Messages }}{{ if eq .Role \"assistant\" }}{{ if .Thinking }}<reason>\n{{ .Thinking }}\n"
		"</reason>\n{{ end }}{{ if .ToolCalls }}[[CALLS]] {{ \"{\" }}{{ range .ToolCalls }}"
		"{\"name\": {{ .Function.Name }}{{ end }}{{ end }}{{ .Content }}{{ end }}{{ end }}{{ .Tools }}";
	struct chat_template *t;
	struct tb_err err;

	(void)state;
	assert_ok(chat_template_new_go(&t, source, strlen(source), &err), err);
	assert_string_equal(chat_template_thinking(t).open, "<reason>");
	assert_string_equal(chat_template_thinking(t).close, "</reason>");
	assert_true(chat_template_can(t).tools && chat_template_can(t).thinking);
	assert_string_equal(answer_tag(t, true, 2), "[[CALLS]]");
	assert_null(answer_tag(t, false, 2));
	chat_template_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thinking),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_go_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
