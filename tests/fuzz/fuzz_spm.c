/* fuzz_spm.c - a hostile tokenizer.model, or a list for tiktoken, as a tokenizer. */
#include "config.h"

#include <stdlib.h>

#include "src/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool held)
{
	if (!held)
		abort();
}

static void
use(struct tokenizer *t, const char *text, size_t len)
{
	struct tb_buf out = TB_BUF(1u << 24);
	struct token_ids ids = { 0 };
	struct tb_err err;

	if (!tokenizer_encode(t, text, len, true, true, &ids, &err))
		for (size_t i = 0; i < ids.n; i++) {
			must(ids.v[i] < tokenizer_size(t));
			must(tokenizer_piece(t, ids.v[i]) != NULL);
			tokenizer_decode(t, ids.v[i], i == 0, &out);
		}
	free(ids.v);
	tb_buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "Hello  w\xc3\xb6rld 123 <s>\n\n\xff ab!";
	static const char config[] = "{\"bos_token\":\"<s>\",\"added_tokens_decoder\":{\"5\":{"
				     "\"content\":\"<x>\",\"special\":true},\"300\":{\"content\":"
				     "\"ab\",\"special\":false}}}";
	struct tokenizer *t;
	struct tb_err err;

	for (unsigned how = 0; how < 4; how++) {
		const char *with = how & 1 ? config : NULL;
		size_t len = how & 1 ? sizeof(config) - 1 : 0;
		enum tb_status status;

		if (how & 2)
			status = tokenizer_from_tiktoken(&t, (const char *)data, size, NULL, with,
							 len, &err);
		else
			status = tokenizer_from_spm(&t, data, size, with, len, &err);
		must((t != NULL) == (status == TB_OK));
		if (!t)
			continue;
		use(t, text, sizeof(text) - 1);
		use(t, (const char *)data, size);
		tokenizer_free(t);
	}
	return 0;
}
