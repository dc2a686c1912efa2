/* fuzz_tokenizer.c - a hostile tokenizer.json, and a text for it behind a NUL. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool held)
{
	if (!held)
		abort();
}

/* Ids are below the size; pieces decode without harm. */
static void
use(const struct tokenizer *t, const char *text, size_t len)
{
	struct token_ids ids = { 0 };
	struct tb_buf out = TB_BUF(1u << 24);
	struct tb_err err;

	for (unsigned how = 0; how < 4; how++) {
		ids.n = 0;
		if (tokenizer_encode(t, text, len, how & 1, how & 2, &ids, &err))
			continue;
		tb_buf_clear(&out);
		for (size_t i = 0; i < ids.n; i++) {
			must(ids.v[i] < tokenizer_size(t));
			must(tokenizer_piece(t, ids.v[i]) != NULL);
			tokenizer_decode(t, ids.v[i], i == 0, &out);
		}
	}
	free(ids.v);
	tb_buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "Hello  w\xc3\xb6rld 123\n";
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul ? (size_t)(nul - data) : size;
	struct tokenizer *t;
	struct tb_err err;

	if (tokenizer_new(&t, (const char *)data, len, NULL, 0, &err)) {
		must(t == NULL && err.code != TB_OK && *err.msg);
		return 0;
	}
	use(t, text, sizeof(text) - 1);
	use(t, "", 0);
	if (nul)
		use(t, (const char *)nul + 1, size - len - 1);
	tokenizer_free(t);
	return 0;
}
