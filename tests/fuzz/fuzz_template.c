/* fuzz_template.c - a hostile chat template in Jinja. */
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
		{ .role = "assistant", .content = "" },
	};
	const struct chat_vars vars = { .messages = messages, .nmessages = 3, .bos_token = "<s>",
					.add_generation_prompt = true };
	struct tb_buf out = TB_BUF(1u << 20);
	struct chat_template *t;
	struct tb_err err;

	if (chat_template_new(&t, (const char *)data, size, &err)) {
		if (t || err.code == TB_OK)
			abort();
		return 0;
	}
	if (chat_template_render(t, &vars, &out, &err) && out.len)
		abort();
	chat_template_free(t);
	tb_buf_free(&out);
	return 0;
}
