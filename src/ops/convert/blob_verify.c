/* blob_verify.c - what was written is read again, in pieces that any threads take. */
#include "config.h"

#include "src/ops/convert/blob.h"

#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/sha256.h"
#include "src/base/sums.h"

#define PIECE_BYTES (16u << 20)

static int
chunk_cmp(const void *va, const void *vb)
{
	const struct chunk *a = *(const struct chunk *const *)va;
	const struct chunk *b = *(const struct chunk *const *)vb;

	return (a->off > b->off) - (a->off < b->off);
}

/* All chunks in the order of the file. */
static enum tb_status
sort_chunks(struct blob *b, struct tb_err *err)
{
	size_t n = 0;

	b->order = tb_calloc(b->ntasks * 3 + 1, sizeof(*b->order));
	if (!b->order)
		return tb_nomem(err);
	b->order[n++] = &b->header;
	for (size_t i = 0; i < b->ntasks; i++)
		for (int j = 0; j < 3; j++)
			if (b->tasks[i].chunk[j].len)
				b->order[n++] = &b->tasks[i].chunk[j];
	qsort(b->order, n, sizeof(*b->order), chunk_cmp);
	b->norder = n;
	return TB_OK;
}

static bool
begin_piece(struct blob *b, size_t chunk, size_t *cap)
{
	if (!tb_grow(&b->pieces, cap, b->npieces + 1, sizeof(*b->pieces)))
		return false;
	b->pieces[b->npieces++] = chunk;
	return true;
}

enum tb_status
blob_seal(struct blob *b, bool hash, struct tb_err *err)
{
	enum tb_status status = sort_chunks(b, err);
	uint64_t at = 0, piece = 0;
	size_t cap = 0;

	for (size_t i = 0; i < b->norder && !status; at += b->order[i++]->len) {
		if (b->order[i]->off != at)
			return tb_fail(err, TB_EFORMAT, "%s: bytes from %ju on were not written",
				       b->out.dir, (uintmax_t)at);
		if (i && (hash || at - piece < PIECE_BYTES))
			continue;
		piece = at;
		if (!begin_piece(b, i, &cap))
			status = tb_nomem(err);
	}
	if (!status && at != b->size)
		status = tb_fail(err, TB_EIO, "%s: a file of %ju bytes, not %ju", b->out.dir,
				 (uintmax_t)at, (uintmax_t)b->size);
	atomic_store(&b->left, b->npieces);
	return status;
}

/* A header may be longer than the buffer. */
static enum tb_status
verify_chunk(const struct blob *b, const struct tb_file *f, const struct chunk *c,
	     struct tb_sha256 *sha, uint8_t *buf, size_t len, struct tb_err *err)
{
	uint8_t *all = c->len <= len ? buf : malloc(c->len);
	enum tb_status status = all ? tb_file_read(f, c->off, all, c->len, err) : tb_nomem(err);

	if (!status && tb_sum_quick(all, c->len) != c->sum)
		status = tb_fail(err, TB_EIO, "%s: what was written at %ju reads differently",
				 b->out.dir, (uintmax_t)c->off);
	if (!status && sha->ctx)
		tb_sha256_add(sha, all, c->len);
	if (all != buf)
		free(all);
	return status;
}

static enum tb_status
verify_chunks(struct blob *b, const struct tb_file *f, size_t piece, bool hash, uint8_t *buf,
	      size_t len, struct tb_job *job, struct tb_err *err)
{
	size_t end = piece + 1 < b->npieces ? b->pieces[piece + 1] : b->norder;
	struct tb_sha256 sha = { NULL };
	enum tb_status status = hash ? tb_sha256_init(&sha, err) : TB_OK;

	if (!status && f->id.size != b->size)
		status = tb_fail(err, TB_EIO, "%s: a file of %ju bytes, not %ju", b->out.dir,
				 (uintmax_t)f->id.size, (uintmax_t)b->size);
	for (size_t i = b->pieces[piece]; i < end && !status; i++)
		if (!(status = tb_job_check(job, err)))
			status = verify_chunk(b, f, b->order[i], &sha, buf, len, err);
	if (!status && hash)
		tb_sha256_done(&sha, b->digest);
	tb_sha256_free(&sha);
	return status;
}

enum tb_status
blob_verify(struct blob *b, size_t piece, bool hash, uint8_t *buf, size_t len,
	    struct tb_job *job, bool *last, struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, b->out.tmp, err);

	*last = false;
	if (status)
		return status;
	status = verify_chunks(b, &f, piece, hash, buf, len, job, err);
	tb_file_close(&f);
	*last = !status && atomic_fetch_sub(&b->left, 1) == 1;
	return status;
}
