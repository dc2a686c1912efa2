/* The header of a safetensors file: the first byte says how much data is behind it. */
#include "config.h"

#include <stdlib.h>

#include "src/format/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What st_parse() promises, so that a broken promise is a finding. */
static void
check(const struct st_header *h, uint64_t end)
{
	for (size_t i = 0; i < h->ntensors; i++) {
		const struct st_tensor *t = &h->tensors[i];

		if (t->off < h->data_off || t->len > end - t->off || t->off > end ||
		    t->ndim > TB_MAX_DIMS || st_find(h, t->name) != t)
			abort();
	}
	for (size_t i = 0; i < h->nmeta; i++)
		if (st_meta_find(h, h->meta[i].key) != h->meta[i].value)
			abort();
}

/* What was read can be written, and reads back with the same shapes. */
static void
rewrite(struct st_header *h)
{
	struct tb_buf out = TB_BUF(1 << 20);
	struct st_header again;
	uint64_t len = 0;

	if (!st_layout(h->tensors, h->ntensors, h->meta, h->nmeta, &out, NULL)) {
		for (size_t i = 0; i < h->ntensors; i++)
			len += h->tensors[i].len;
		if (st_parse(&again, out.p + 8, out.len - 8, len, "again", NULL) ||
		    again.ntensors != h->ntensors || again.nmeta != h->nmeta)
			abort();
		st_free(&again);
	}
	tb_buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_err err = { 0 };
	struct st_header h;

	if (size == 0)
		return 0;
	if (!st_parse(&h, (const char *)data + 1, size - 1, *data, "fuzz", &err)) {
		check(&h, h.data_off + *data);
		rewrite(&h);
		st_free(&h);
	} else if (!err.code || !*err.msg) {
		abort();
	}
	return 0;
}
