/* bench_stats.c - statistics of a tensor in a file that the page cache keeps, beside the
 * rate at which memory is read. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/probe.h"
#include "src/format/safetensors.h"
#include "src/ops/home/home.h"
#include "src/ops/inspect/inspect.h"
#include "src/store/store.h"

#define TIMES 7
#define READ ((size_t)256 << 20)	/* for the limit: more than any cache holds */
#define BLOCK ((size_t)1 << 20)
#define COLS 65536u

/* A file with one tensor of some rows of COLS. */
struct subject {
	const char *name;
	struct st_tensor t[3];
	size_t parts;
	struct st_meta meta[2];
	size_t nmeta;
	struct bench_bits bits;	/* of the first part */
};

static const struct subject subjects[] = {
	{ .name = "BF16", .parts = 1,
	  .bits = { UINT64_C(0x80ff80ff80ff80ff), UINT64_C(0x3b803b803b803b80) },
	  .t = { { .name = "w", .dtype = DT_BF16, .ndim = 2, .dim = { 1, COLS } } } },
	{ .name = "int4", .parts = 3, .bits = { UINT64_MAX, 0 }, .nmeta = 2,
	  .meta = { { "group_size", "64" }, { "quant_type", "int4" } },
	  .t = { { .name = "w", .dtype = DT_U32, .ndim = 2, .dim = { 1, COLS / 8 } },
		 { .name = "w.bias", .dtype = DT_BF16, .ndim = 2, .dim = { 1, COLS / 64 } },
		 { .name = "w.scale", .dtype = DT_BF16, .ndim = 2, .dim = { 1, COLS / 64 } } } },
};

static enum tb_status
write_file(const struct subject *s, uint64_t rows, int fd, const char *path, struct tb_err *err)
{
	struct tb_buf head = TB_BUF(4096);
	struct st_tensor t[3];
	uint64_t *block = tb_aligned(BLOCK);
	enum tb_status status;

	memcpy(t, s->t, sizeof(t));
	for (size_t i = 0; i < s->parts; i++)
		t[i].dim[0] = rows;
	status = block ? st_layout(t, s->parts, s->meta, s->nmeta, &head, err) : tb_nomem(err);
	if (!status)
		status = bench_write(fd, path, head.p, head.len, err);
	for (size_t i = 0; i < s->parts && !status; i++) {
		/* scales and biases as BF16 are made */
		bench_fill(block, BLOCK, BENCH_SEED, i ? &subjects[0].bits : &s->bits);
		for (uint64_t left = t[i].len, n; left && !status; left -= n) {
			n = left < BLOCK ? left : BLOCK;
			status = bench_write(fd, path, block, (size_t)n, err);
		}
	}
	tb_buf_free(&head);
	free(block);
	return status;
}

static double
read_rate(struct bench *b, const void *memory)
{
	return 1e-9 * (double)READ / probe_read(b->team, memory, READ);
}

static enum tb_status
measure(struct bench *b, const struct subject *s, const struct model *m, const void *memory)
{
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, "w") };
	double rate[TIMES], read[TIMES], share[TIMES];
	unsigned threads = tb_pool_size(b->ctx->pool);
	struct inspect_result r;
	enum tb_status status;

	if (!req.tensor)
		return tb_fail(b->err, TB_EFORMAT, "%s: no tensor", m->loc.path);
	status = op_inspect((struct op_ctx *)b->ctx, &req, NULL, &r, b->err);
	for (unsigned i = 0; i < TIMES && !status; i++) {
		double before = read_rate(b, memory);

		status = op_inspect((struct op_ctx *)b->ctx, &req, NULL, &r, b->err);
		read[i] = (before + read_rate(b, memory)) / 2;
		/* packed bytes: scales are not what is asked about */
		rate[i] = 1e-9 * (double)req.tensor->weight.len / r.seconds;
		share[i] = rate[i] / read[i];
	}
	if (status)
		return status;
	status = bench_row(b, "GB/s", bench_median(read, TIMES), 0,
			   "limit: memory read, %u thread%s, 268 MB", threads, tb_plural(threads));
	if (status)
		return status;
	rate[0] = bench_median(rate, TIMES);
	return bench_row(b, "GB/s", rate[0], rate[0] / bench_median(share, TIMES),
			 "statistics, %s, %.0f MB in the page cache", s->name,
			 1e-6 * (double)req.tensor->weight.len);
}

static enum tb_status
measure_file(struct bench *b, const struct subject *s, const char *path)
{
	const struct store_roots none = { 0 };
	struct model_loc loc;
	struct model *m = NULL;
	char *memory = tb_aligned(READ);
	enum tb_status status = memory ? store_resolve(&none, path, &loc, b->err)
				       : tb_nomem(b->err);

	if (!status) {
		memset(memory, 1, READ);
		status = model_open(&m, &loc, b->err);
		model_loc_free(&loc);
	}
	if (!status)
		status = measure(b, s, m, memory);
	model_free(m);
	free(memory);
	return status;
}

enum tb_status
bench_stats(struct bench *b, unsigned which, uint64_t rows)
{
	const struct subject *s = &subjects[which];
	char *path;
	int fd = bench_temp(".safetensors", &path, b->err);
	enum tb_status status = fd >= 0 ? TB_OK : path ? TB_EIO : TB_ENOMEM;

	tb_job_what(b->job, "statistics, %s", s->name);
	if (fd >= 0) {
		status = write_file(s, rows, fd, path, b->err);
		close(fd);
		if (!status)
			status = measure_file(b, s, path);
		unlink(path);
	}
	free(path);
	return status;
}
