/* fuzz_remote.c - what a hostile server answers: the same in whatever pieces it comes, all of it text. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/remote/remote_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
note_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	if (!len || !tb_utf8_valid(text, len))
		abort();
	if (kind == GEN_MSG_TEXT)
		tb_buf_add(arg, text, len);
}

static enum tb_status
read_answer(struct remote *r, const uint8_t *data, size_t size, size_t step, struct tb_buf *text)
{
	struct sampler_opts sampler = { .temperature = 0 };
	struct remote_ask ask = { .sampler = &sampler, .prefix = size & 1 ? "ab" : NULL, .top = 2,
				  .piece = note_piece, .arg = text };
	struct remote_answer a;
	struct tb_err err;
	enum tb_status status = remote_answer_read(r, &ask, (const char *)data, size, step, &a, &err);

	if (status)
		return status;
	if (strcmp(a.gen.text, tb_buf_cstr(text)))
		abort();
	for (size_t i = 0; a.gen.tokens && i < a.gen.ids.n; i++)
		if (a.gen.tokens[i].begin > a.gen.tokens[i].end ||
		    a.gen.tokens[i].end > strlen(a.gen.text) || a.gen.tokens[i].ntop > GEN_TOP)
			abort();
	remote_answer_free(&a);
	return TB_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct remote r = { .host = (char *)"server", .kind = REMOTE_LLAMACPP,
				   .lock = PTHREAD_MUTEX_INITIALIZER };
	struct tb_buf whole = TB_BUF(64u << 20), pieces = TB_BUF(64u << 20);
	enum tb_status a = read_answer(&r, data, size, size + !size, &whole);
	enum tb_status b = read_answer(&r, data, size, 1, &pieces);

	if (a != b || strcmp(tb_buf_cstr(&whole), tb_buf_cstr(&pieces)))
		abort();
	tb_buf_free(&whole);
	tb_buf_free(&pieces);
	while (r.ntokens)
		free(r.tokens[--r.ntokens]);
	return 0;
}
