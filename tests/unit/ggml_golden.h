/* ggml_golden.h - tensors of the files that hold what ggml has made. */
#ifndef TBTUI_TESTS_GGML_GOLDEN_H
#define TBTUI_TESTS_GGML_GOLDEN_H

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/format/gguf.h"
#include "tests/unit/unit.h"

static inline const struct gguf_tensor *
golden_tensor(const struct gguf *g, const char *name)
{
	for (size_t i = 0; i < g->ntensors; i++)
		if (!strcmp(g->tensors[i].name, name))
			return &g->tensors[i];
	fail_msg("no tensor %s", name);
	return NULL;
}

/* Its bytes; caller frees. */
static inline void *
golden_data(const struct tb_file *f, const struct gguf_tensor *t)
{
	struct tb_err err = { 0 };
	void *p = malloc(t->len);

	assert_non_null(p);
	assert_ok(tb_file_read(f, t->off, p, t->len, &err), err);
	return p;
}
#endif
