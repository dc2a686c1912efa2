/* fuzz_gguf_vocab.c - hostile metadata of a GGUF as a tokenizer, and texts for it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/format/gguf.h"
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
	const struct token_ids *ends = tokenizer_ends(t);
	struct tb_buf out = TB_BUF(1u << 24);
	struct token_ids ids = { 0 };
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
	for (size_t i = 0; i < ends->n; i++)
		must(ends->v[i] < tokenizer_size(t) && (!i || ends->v[i] > ends->v[i - 1]));
	free(ids.v);
	tb_buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "Hello  w\xc3\xb6rld 123 <s>\n\n\xff ab!";
	struct tb_file f = { .path = (char *)"fuzz", .id = { .size = size } };
	struct tokenizer *t = NULL;
	struct tb_err err;
	struct gguf g;

	f.fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (f.fd < 0 || write(f.fd, data, size) != (ssize_t)size || gguf_read(&g, &f, &err)) {
		close(f.fd);
		return 0;
	}
	if (tokenizer_from_gguf(&t, &g, &f, &err)) {
		must(t == NULL && err.code != TB_OK && *err.msg);
	} else {
		use(t, text, sizeof(text) - 1);
		use(t, "", 0);
		use(t, (const char *)data + size / 2, size - size / 2);
	}
	tokenizer_free(t);
	gguf_free(&g);
	close(f.fd);
	return 0;
}
