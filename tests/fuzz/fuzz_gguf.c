/* The metadata of a GGUF file: the first byte says how much data is behind it. */
#include "config.h"

#include <stdlib.h>

#include "src/format/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the reader promises, so that a broken promise is a finding. */
static void
check(const struct gguf *g, uint64_t end)
{
	for (size_t i = 0; i < g->ntensors; i++) {
		const struct gguf_tensor *t = &g->tensors[i];

		if (t->off < g->data_off || t->off > end || t->len > end - t->off ||
		    t->ndim > GGUF_DIMS || !ggml_info(t->type) || t->off % g->alignment !=
		    g->data_off % g->alignment)
			abort();
	}
	for (size_t i = 0; i < g->nkv; i++) {
		const struct gguf_kv *kv = &g->kv[i];

		if (gguf_find(g, kv->key) != kv || kv->off > end || kv->len > end - kv->off)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_err err = { 0 };
	struct gguf g;
	uint64_t end;

	if (size == 0)
		return 0;
	end = size - 1 + *data * 16u;
	if (!gguf_parse(&g, data + 1, size - 1, end, "fuzz", &err)) {
		check(&g, end);
		gguf_free(&g);
	} else if (!err.code || !*err.msg) {
		abort();
	}
	return 0;
}
