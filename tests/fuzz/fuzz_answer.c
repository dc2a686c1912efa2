/* fuzz_answer.c - what a model writes, cut in two places: it is told apart alike. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
count(void *arg, __attribute__((unused)) enum answer_part part,
      __attribute__((unused)) const char *text, size_t len)
{
	*(size_t *)arg += len;
}

static struct answer *
told_apart(const struct chat_template *t, const cJSON *tools, const char *s, size_t len, size_t cut)
{
	struct tb_err err;
	struct answer *a;
	size_t all = 0;

	if (answer_new(&a, t, tools, "", count, &all, &err))
		abort();
	answer_add(a, s, cut);
	answer_add(a, s + cut, len - cut);
	answer_end(a);
	if (all != strlen(answer_text(a)) + (answer_thinking(a) ? strlen(answer_thinking(a)) : 0))
		abort();
	return a;
}

/* The first byte chooses the template, the second whether there are tools, the third a cut. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sources[] = {
		"<think></think><tool_call>", "<|start|><|channel|>analysis<|message|>",
		"[TOOL_CALLS][THINK]", "<minimax:tool_call>", "<function=",
		"<\xef\xbd\x9ctool\xe2\x96\x81" "calls\xe2\x96\x81" "begin\xef\xbd\x9c>",
	};
	static const char list[] = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":"
		"{\"s\":{\"type\":\"string\"}}}}}]";
	struct chat_template *t;
	struct answer *one, *two;
	struct tb_err err;
	const char *source, *s = (const char *)data + 3;
	char *calls[2];
	cJSON *tools;

	if (size < 3 || !tb_utf8_valid(s, size - 3) || memchr(s, 0, size - 3))
		return 0;
	size -= 3;
	source = sources[data[0] % (sizeof(sources) / sizeof(*sources))];
	if (chat_template_new(&t, source, strlen(source), &err) ||
	    json_parse(&tools, list, sizeof(list) - 1, "tools", &err))
		abort();
	one = told_apart(t, data[1] & 1 ? tools : NULL, s, size, size);
	two = told_apart(t, data[1] & 1 ? tools : NULL, s, size, data[2] % (size + 1));
	calls[0] = answer_calls(one);
	calls[1] = answer_calls(two);
	if (strcmp(answer_text(one), answer_text(two)) || !calls[0] != !calls[1] ||
	    (calls[0] && strcmp(calls[0], calls[1])))
		abort();
	free(calls[0]);
	free(calls[1]);
	answer_free(one);
	answer_free(two);
	json_free(tools);
	chat_template_free(t);
	return 0;
}
