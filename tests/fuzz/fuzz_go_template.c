/* fuzz_go_template.c - a hostile chat template in Go's language. */
#include "config.h"

#include <stdlib.h>

#include "src/text/chat_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct chat_message messages[] = {
		{ .role = "system", .content = "Be brief." },
		{ .role = "user", .content = "H\xc3\xa9llo \n" },
		{ .role = "assistant", .content = "", .thinking = "hm",
		  .tool_calls = "[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[1,null]}}}]" },
		{ .role = "tool", .content = "7", .tool_name = "f" },
	};
	struct chat_vars vars = { .messages = messages, .nmessages = 4, .think = CHAT_THINK_ON };
	static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\","
		"\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"array\","
		"\"null\"]},\"b\":{\"anyOf\":[{\"type\":\"string\"}]}}}}}]";
	struct tb_buf out = TB_BUF(1u << 20);
	struct chat_template *t;
	struct tb_err err;
	cJSON *doc;

	if (chat_template_new_go(&t, (const char *)data, size, &err)) {
		if (t || err.code == TB_OK)
			abort();
		return 0;
	}
	if (json_parse(&doc, tools, sizeof(tools) - 1, "tools", &err))
		abort();
	vars.tools = doc;
	if (chat_template_render(t, &vars, &out, &err) && out.len)
		abort();
	json_free(doc);
	chat_template_free(t);
	tb_buf_free(&out);
	return 0;
}
