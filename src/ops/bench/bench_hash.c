/* bench_hash.c - SHA-256: each way of this CPU, a file alone, and files side by side. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/sha256_files.h"
#include "src/base/sha256_lanes.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"

#define PART ((size_t)1 << 20)		/* written at a time */
#define LARGE ((size_t)256 << 20)
#define SMALL ((size_t)16 << 20)
#define FILES 32u
#define TIMES 3

struct hashed {
	struct tb_hash_file files[FILES];
	char *path[FILES];		/* owned */
	size_t n;
	enum tb_status status;
};

/* Side by side, as measured at first use. */
static enum tb_status
hash_streams(struct bench *b)
{
	const struct sha_way *ways;
	size_t n = sha_ways(&ways);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && !status; i++)
		if (ways[i].usable && ways[i].streams > 1)
			status = bench_row(b, "GB/s", 1e-9 * ways[i].rate, b->sha,
					   "SHA-256, %u streams, %s", ways[i].streams,
					   ways[i].name);
	return status;
}

static enum tb_status
hash_alone(struct bench *b, const char *path)
{
	char digest[TB_DIGEST_MAX];
	double best = 0;
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, path, b->err);

	if (status)
		return status;
	for (unsigned i = 0; i < TIMES && !status; i++) {
		double start = tb_monotonic(), rate;

		status = tb_sha256_file(&f, NULL, NULL, digest, b->err);
		rate = 1e-9 * (double)f.id.size / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	tb_file_close(&f);
	return status ? status : bench_row(b, "GB/s", best, b->sha,
					   "hash a file in the page cache, 1 thread");
}

static void
file_done(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
	  const char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct hashed *h = arg;

	(void)i;
	(void)f;
	(void)digest;
	(void)err;
	if (status)
		h->status = status;	/* whichever: the benchmark ends */
}

static enum tb_status
hash_together(struct bench *b, struct hashed *h, struct tb_pool *pool)
{
	const struct tb_hash_files all = { .files = h->files, .n = h->n, .arg = h,
					   .done = file_done };
	unsigned threads = tb_pool_size(pool);
	double best = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		double start = tb_monotonic(), rate;
		enum tb_status status = tb_sha256_files(pool, &all, NULL, b->err);

		if (status || h->status)
			return status ? status : tb_fail(b->err, h->status, "a file of the "
							 "benchmark cannot be read");
		rate = 1e-9 * (double)(h->n * SMALL) / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	return bench_row(b, "GB/s", best, b->sha * threads, "hash %u files in the page cache, "
			 "%u thread%s", FILES, threads, tb_plural(threads));
}

/* A new file that the page cache keeps. */
static enum tb_status
make_file(struct bench *b, size_t size, char **path)
{
	char *block = tb_aligned(PART);
	const struct bench_bits bits = { UINT64_MAX, 0 };
	enum tb_status status = TB_OK;
	int fd;

	if (!block)
		return tb_nomem(b->err);
	bench_fill(block, PART, BENCH_SEED, &bits);
	fd = bench_temp("", path, b->err);
	for (size_t i = 0; fd >= 0 && i < size && !status; i += PART)
		status = bench_write(fd, *path, block, PART, b->err);
	if (fd < 0)
		status = *path ? TB_EIO : TB_ENOMEM;
	else
		close(fd);
	free(block);
	return status;
}

static enum tb_status
hash_many(struct bench *b)
{
	struct hashed h = { .n = 0 };
	enum tb_status status = TB_OK;

	while (!status && h.n < FILES) {
		status = make_file(b, SMALL, &h.path[h.n]);
		h.files[h.n] = (struct tb_hash_file){ h.path[h.n], SMALL, 0 };
		h.n += h.path[h.n] != NULL;
	}
	if (!status)
		status = hash_together(b, &h, NULL);
	if (!status && tb_pool_size(b->ctx->pool) > 1)
		status = hash_together(b, &h, b->ctx->pool);
	for (size_t i = 0; i < h.n; i++) {
		unlink(h.path[i]);
		free(h.path[i]);
	}
	return status;
}

enum tb_status
bench_hash(struct bench *b)
{
	char *path = NULL;
	enum tb_status status;

	tb_job_what(b->job, "hash");
	status = hash_streams(b);
	if (!status)
		status = make_file(b, LARGE, &path);
	if (!status)
		status = hash_alone(b, path);
	if (path)
		unlink(path);
	free(path);
	return status ? status : hash_many(b);
}
