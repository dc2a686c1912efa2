/* pull_there.c - what of a model the store has already, and whether that is right. */
#include "config.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/sha256_files.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/pull/pull_parts.h"
#include "src/store/ollama.h"

/* ---- by names and sizes ---- */

static enum tb_status
find_blob(struct pull *p, struct db *db, struct pull_blob *b, struct tb_err *err)
{
	char *path = ollama_blob_path(p->root, b->layer->digest);
	const struct tb_ident before = b->was;
	enum tb_status status = TB_OK;
	bool sure = b->there == PULL_SURE;

	if (!path)
		return tb_nomem(err);
	b->was = (struct tb_ident){ 0 };
	if (tb_absent(path))
		b->there = PULL_ABSENT;
	else if (tb_file_ident(path, &b->was, NULL) || b->was.size != b->layer->size)
		b->there = PULL_DAMAGED;
	else {
		sure = sure && tb_ident_equal(&before, &b->was);
		if (!sure)
			status = db_hash_known(db, path, &b->was, b->layer->digest, &sure, err);
		b->there = sure ? PULL_SURE : PULL_UNSURE;
	}
	free(path);
	return status;
}

enum tb_status
pull_find_name(struct pull *p, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX], *text = NULL;
	enum tb_status status;
	size_t len = 0;

	free(p->taken_path);
	p->taken = PULL_NEW;
	status = ollama_find_manifest(p->root, &p->local, &p->taken_path, err);
	if (status || !p->taken_path)
		return status;
	p->taken = PULL_OTHER;
	if (tb_file_slurp(p->taken_path, MANIFEST_MAX, &text, &len, NULL))
		return TB_OK;			/* whatever it is, it is another */
	status = tb_sha256_bytes(text, len, digest, err);
	free(text);
	if (!status && !strcmp(digest, p->text.digest))
		p->taken = PULL_SAME;
	return status;
}

enum tb_status
pull_find(struct pull *p, struct tb_err *err)
{
	enum tb_status status = pull_find_name(p, err);
	struct db *db = NULL;

	if (!status && tb_exists(p->ctx->db_path))
		(void)!db_open_read(&db, p->ctx->db_path, NULL);	/* else all is hashed */
	for (size_t i = 0; !status && i < p->n; i++)
		status = find_blob(p, db, &p->blobs[i], err);
	db_close(db);
	return status;
}

/* ---- by their bytes ---- */

struct pull_hashing {
	struct pull *p;
	size_t *of;			/* owned: the blob of each file */
	struct tb_hash_file *files;	/* owned, as are their paths */
	size_t n;
	struct tb_job *job;
};

static void
hash_done(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
	  const char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct pull_hashing *h = arg;
	struct pull_blob *b = &h->p->blobs[h->of[i]];
	struct tb_ident now;

	(void)err;
	if (status == TB_ECANCEL)
		return;
	if (!status && !strcmp(digest, b->layer->digest) && !tb_file_now(f, &now, NULL) &&
	    tb_ident_equal(&now, &f->id)) {
		b->was = f->id;
		b->there = PULL_SURE;
	} else {
		b->there = PULL_DAMAGED;
	}
	tb_job_step(h->job, 0, 1);
}

static int
by_size_down(const void *a, const void *b, void *arg)
{
	const struct pull_blob *blobs = arg;
	uint64_t x = blobs[*(const size_t *)a].was.size, y = blobs[*(const size_t *)b].was.size;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The files of h->of, the largest first; *bytes: of them all. */
static enum tb_status
hash_list(struct pull_hashing *h, uint64_t *bytes, struct tb_err *err)
{
	*bytes = 0;
	qsort_r(h->of, h->n, sizeof(*h->of), by_size_down, h->p->blobs);
	for (size_t i = 0; i < h->n; i++) {
		const struct pull_blob *b = &h->p->blobs[h->of[i]];

		h->files[i] = (struct tb_hash_file){ ollama_blob_path(h->p->root, b->layer->digest),
						     b->was.size, b->was.dev };
		if (!h->files[i].path)
			return tb_nomem(err);
		*bytes += b->was.size;
	}
	return TB_OK;
}

enum tb_status
pull_hash(struct pull *p, struct tb_job *job, struct tb_err *err)
{
	struct pull_hashing h = { .p = p, .job = job };
	enum tb_status status = TB_OK;
	uint64_t bytes = 0;

	h.of = tb_calloc(p->n + 1, sizeof(*h.of));
	h.files = tb_calloc(p->n + 1, sizeof(*h.files));
	if (!h.of || !h.files)
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < p->n; i++)
		if (p->blobs[i].there == PULL_UNSURE)
			h.of[h.n++] = i;
	if (!status)
		status = hash_list(&h, &bytes, err);
	if (!status && h.n) {
		const struct tb_hash_files all = { .files = h.files, .n = h.n, .arg = &h,
						   .done = hash_done };

		tb_job_total(job, bytes, h.n);
		tb_job_what(job, "checking %zu blob%s that %s there", h.n, tb_plural(h.n),
			    h.n == 1 ? "is" : "are");
		status = tb_sha256_files(p->ctx->pool, &all, job, err);
	}
	for (size_t i = 0; i < h.n; i++)
		free((char *)h.files[i].path);
	free(h.files);
	free(h.of);
	return status;
}
