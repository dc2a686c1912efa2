/* gguf_head.c - the head of a GGUF that is written: keys, and where each tensor lies. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/gguf_write.h"
#include "src/ops/convert/blob.h"

struct gguf_head {
	struct translated_keys keys;
};

/* In the order of llama-gguf-split. */
static void
put_split(struct gguf_keys *k, const struct plan *p, size_t file, unsigned made)
{
	gguf_put_u16(k, "split.no", (uint16_t)file);
	gguf_put_i32(k, "split.tensors.count", (int32_t)(p->parts->nouts + made));
	gguf_put_u16(k, "split.count", (uint16_t)p->nblobs);
}

enum tb_status
gguf_head_new(struct gguf_head **out, const struct plan *p, const char *pre, struct tb_err *err)
{
	struct gguf_head *h = tb_calloc(1, sizeof(*h));
	const struct translate_ask ask = { .file_type = plan_file_type(p), .pre = pre };
	enum tb_status status;

	*out = NULL;
	if (!h)
		return tb_nomem(err);
	status = translate_keys(&h->keys, p->translate, p->model, &ask, err);
	if (status) {
		gguf_head_free(h);
		return status;
	}
	if (p->nblobs > 1)
		put_split(&h->keys.keys, p, 0, h->keys.nmade);
	*out = h;
	return TB_OK;
}

void
gguf_head_free(struct gguf_head *h)
{
	if (h)
		translated_keys_free(&h->keys);
	free(h);
}

static enum tb_status
describe(const struct plan *p, const struct plan_out *o, struct gguf_tensor *t, struct tb_err *err)
{
	unsigned type;

	if (!scheme_ggml_type(&p->rows[o->row].target, &type) || o->ndim > GGUF_DIMS)
		return tb_fail(err, TB_EUNSUP, "%s: GGUF has no place for its type or shape", o->name);
	t->type = type;
	t->name = o->name;
	t->ndim = o->ndim;
	for (unsigned d = 0; d < GGUF_DIMS; d++)
		t->ne[d] = d < o->ndim ? o->dim[o->ndim - 1 - d] : 1;
	return TB_OK;
}

static void
put_zeros(struct tb_buf *out, uint64_t n)
{
	while (n-- && !tb_buf_failed(out))
		tb_buf_chr(out, 0);
}

/* Tensors that are made here lie first, so that their bytes belong to the head. */
static enum tb_status
put_made(const struct gguf_head *h, const struct gguf_tensor *t, unsigned n, struct tb_buf *out,
	 struct tb_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		tb_buf_add(out, h->keys.made[i].v, h->keys.made[i].n * sizeof(float));
		put_zeros(out, -t[i].len % GGUF_ALIGNMENT);
	}
	return tb_buf_status(out, "the head of a GGUF file", err);
}

enum tb_status
gguf_head_layout(const struct gguf_head *h, const struct plan *p, size_t blob, struct tb_buf *out,
		 struct placed **placed, size_t *n, uint64_t *size, struct tb_err *err)
{
	const struct plan_out *outs = blob_outs(p, blob, n);
	unsigned made = blob ? 0 : h->keys.nmade;
	struct gguf_keys more = GGUF_KEYS();	/* all that a file behind the first says */
	struct gguf_tensor *t = tb_calloc(*n + made, sizeof(*t));
	enum tb_status status = TB_OK;

	*placed = tb_calloc(*n + 1, sizeof(**placed));
	if (!t || !*placed)
		status = tb_nomem(err);
	for (unsigned i = 0; i < made && !status; i++)
		t[i] = (struct gguf_tensor){ .name = h->keys.made[i].name, .type = GGML_F32, .ndim = 1,
					     .ne = { h->keys.made[i].n, 1, 1, 1 } };
	for (size_t i = 0; i < *n && !status; i++)
		status = describe(p, &outs[i], &t[made + i], err);
	if (blob)
		put_split(&more, p, blob, h->keys.nmade);
	if (!status)
		status = gguf_layout(blob ? &more : &h->keys.keys, t, *n + made, out, size, err);
	if (!status)
		status = put_made(h, t, made, out, err);
	for (size_t i = 0; i < *n && !status; i++)
		(*placed)[i] = (struct placed){ .off = { t[made + i].off }, .has = { true },
			.bytes = t[made + i].len, .pad = -t[made + i].len % GGUF_ALIGNMENT };
	free(t);
	gguf_keys_free(&more);
	if (status) {
		free(*placed);
		*placed = NULL;
	}
	return status;
}
