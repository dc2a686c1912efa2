/* A Modelfile; what is read of it is said again such that it reads the same. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/format/modelfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
same(const struct modelfile *a, const struct modelfile *b)
{
	if (a->n != b->n)
		abort();
	for (size_t i = 0; i < a->n; i++)
		if (a->commands[i].word != b->commands[i].word ||
		    strcmp(a->commands[i].name, b->commands[i].name) ||
		    strcmp(a->commands[i].value, b->commands[i].value))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf text = TB_BUF(8 << 20);
	struct tb_err err = { 0 };
	struct modelfile m, again;
	bool all = true;

	if (modelfile_parse(&m, (const char *)data, size, "fuzz", &err)) {
		if (!err.code || !*err.msg)
			abort();
		return 0;
	}
	for (size_t i = 0; i < m.n; i++)
		all &= modelfile_say(&text, &m.commands[i]);
	if (all && !tb_buf_failed(&text)) {
		if (modelfile_parse(&again, text.p, text.len, "again", &err))
			abort();
		same(&m, &again);
		modelfile_free(&again);
	}
	modelfile_free(&m);
	tb_buf_free(&text);
	return 0;
}
