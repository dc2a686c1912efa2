/* imatrix_write.c - as llama.cpp writes them today. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/format/gguf_write.h"
#include "src/format/imatrix.h"

/* What a tensor's data is made of. */
struct piece { const struct imatrix_sums *of; enum { PIECE_SUMS, PIECE_COUNTS, PIECE_GRAM } what; };

static const char *const ends[] = { ".in_sum2", ".counts", ".in_gram" };

static enum tb_status
add_tensor(struct gguf_tensor *t, struct piece *p, char *name, const struct imatrix_sums *s,
	   unsigned what, struct tb_err *err)
{
	uint64_t rows = what == PIECE_GRAM ? s->block : s->mats;
	int n = snprintf(name, GGUF_NAME_MAX, "%s%s", s->name, ends[what]);

	if (n < 0 || n >= (int)GGUF_NAME_MAX)
		return tb_fail(err, TB_ELIMIT, "%s%s: the name is too long for the file", s->name,
			       ends[what]);
	*p = (struct piece){ s, what };
	*t = (struct gguf_tensor){ .name = name, .type = GGML_F32, .ndim = 2,
		.ne = { what == PIECE_SUMS ? s->cols : what == PIECE_COUNTS ? 1 : s->block, rows,
			1, 1 } };
	if (what == PIECE_GRAM) {
		t->ndim = 3;
		t->ne[2] = s->mats * imatrix_blocks(s->cols, s->block);
	}
	return TB_OK;
}

static enum tb_status
put_data(struct tb_out *o, const struct piece *p, uint64_t off, uint64_t len, struct tb_err *err)
{
	const struct imatrix_sums *s = p->of;
	size_t n = (size_t)(len / sizeof(float));
	enum tb_status status;
	float *v;

	if (p->what == PIECE_GRAM)
		return tb_out_pwrite(o, off, s->gram, (size_t)len, err);
	if (!(v = tb_calloc(n, sizeof(*v))))
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		v[i] = p->what == PIECE_SUMS ? (float)s->sums[i] : (float)s->counts[i];
	status = tb_out_pwrite(o, off, v, (size_t)len, err);
	free(v);
	return status;
}

static enum tb_status
put_imatrix(const char *path, const struct tb_buf *head, const struct gguf_tensor *t,
	 const struct piece *p, size_t n, uint64_t size, bool replace, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	struct tb_out o = { .fd = -1 };
	enum tb_status status = dir ? tb_out_open(&o, dir, err) : tb_nomem(err);

	if (!status)
		status = tb_out_pwrite(&o, 0, head->p, head->len, err);
	for (size_t i = 0; i < n && !status; i++)
		status = put_data(&o, &p[i], t[i].off, t[i].len, err);
	if (!status && n && t[n - 1].off + t[n - 1].len < size)	/* padding is part of it */
		status = tb_out_pwrite(&o, size - 1, "", 1, err);
	if (!status)
		status = tb_out_commit(&o, path, replace, err);
	else if (o.tmp)
		tb_out_abort(&o);
	free(dir);
	return status;
}

enum tb_status
imatrix_write(const char *path, const struct imatrix_sums *sums, size_t n, uint32_t chunks,
	      uint32_t chunk_size, const char *dataset, bool replace, struct tb_err *err)
{
	struct gguf_keys keys = GGUF_KEYS();
	struct tb_buf head = TB_BUF(GGUF_HEAD_MAX);
	struct gguf_tensor *t = tb_calloc(3 * n, sizeof(*t));
	struct piece *p = tb_calloc(3 * n, sizeof(*p));
	char (*names)[GGUF_NAME_MAX] = tb_calloc(3 * n, sizeof(*names));
	enum tb_status status = t && p && names ? TB_OK : tb_nomem(err);
	uint64_t size = 0;
	size_t nt = 0;

	gguf_put_str(&keys, "general.type", "imatrix");
	gguf_put_array(&keys, "imatrix.datasets", GGUF_STRING, 1);
	gguf_item_str(&keys, dataset, strlen(dataset));
	gguf_put_u32(&keys, "imatrix.chunk_count", chunks);
	gguf_put_u32(&keys, "imatrix.chunk_size", chunk_size);
	for (size_t i = 0; i < n; i++)
		for (unsigned k = PIECE_SUMS; k <= (sums[i].gram ? PIECE_GRAM : PIECE_COUNTS) && !status; k++) {
			status = add_tensor(&t[nt], &p[nt], names[nt], &sums[i], k, err);
			nt++;
		}
	if (!status)
		status = gguf_layout(&keys, t, nt, &head, &size, err);
	if (!status)
		status = put_imatrix(path, &head, t, p, nt, size, replace, err);
	gguf_keys_free(&keys);
	tb_buf_free(&head);
	free(t);
	free(p);
	free(names);
	return status;
}
