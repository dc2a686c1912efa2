#include "config.h"

#include "src/ops/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/engine/blas.h"
#include "src/engine/matrix.h"
#include "src/engine/team.h"
#include "src/ops/bench/bench_parts.h"
#include "src/ops/home/home.h"
#include "src/quant/codec.h"
#include "src/quant/scheme.h"

void
bench_result_free(struct bench_result *r)
{
	free(r->rows);
	*r = (struct bench_result){ 0 };
}

enum tb_status
bench_row(struct bench *b, const char *unit, double value, double limit, const char *fmt, ...)
{
	struct bench_result *r = b->result;
	struct bench_row *row;
	va_list ap;

	if (!tb_grow(&r->rows, &r->cap, r->n + 1, sizeof(*r->rows)))
		return tb_nomem(b->err);
	row = &r->rows[r->n++];
	*row = (struct bench_row){ .value = value, .unit = unit, .limit = limit };
	va_start(ap, fmt);
	vsnprintf(row->what, sizeof(row->what), fmt, ap);
	va_end(ap);
	tb_job_step(b->job, 0, 1);
	return tb_job_check(b->job, b->err);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
bench_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

void
bench_fill(void *to, size_t len, uint64_t seed, const struct bench_bits *bits)
{
	for (size_t at = 0; at < len; at += 8) {
		uint64_t word;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		word = (seed & bits->mask) | bits->set;
		memcpy((uint8_t *)to + at, &word, len - at < 8 ? len - at : 8);
	}
}

int
bench_temp(const char *ending, char **path, struct tb_err *err)
{
	const char *tmp = getenv("TMPDIR");
	int fd = -1;

	*path = tb_asprintf("%s/tbtui-bench-XXXXXX%s", tmp && *tmp == '/' ? tmp : "/tmp", ending);
	if (!*path)
		(void)tb_nomem(err);
	else if ((fd = mkstemps(*path, (int)strlen(ending))) < 0)
		(void)tb_fail_errno(err, "%s", *path);
	return fd;
}

enum tb_status
bench_write(int fd, const char *path, const void *data, size_t len, struct tb_err *err)
{
	for (const char *p = data; len;) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return tb_fail_errno(err, "%s", path);
		p += n;
		len -= (size_t)n;
	}
	return TB_OK;
}

static enum tb_status
part_limits(struct bench *b)
{
	enum tb_status status = bench_sgemm(b);

	if (!status)
		status = bench_peaks(b);
	return status ? status : bench_sha(b);
}

static enum tb_status
each_scheme(struct bench *b, enum tb_status (*fn)(struct bench *b, const struct scheme *s))
{
	static const char *const names[] = {
		"int4", "int8", "nvfp4", "mxfp8", "q4_0", "q4_k", "q8_0", "bf16", NULL
	};
	enum tb_status status = TB_OK;
	struct scheme s;

	for (const char *const *name = names; *name && !status; name++)
		if (!(status = scheme_parse(*name, &s, b->err)) &&
		    !(b->small && scheme_is_plain(&s)))
			status = fn(b, &s);
	return status;
}

static enum tb_status
part_matrices(struct bench *b)
{
	return each_scheme(b, bench_matrices);
}

static enum tb_status
part_tokens(struct bench *b)
{
	return each_scheme(b, bench_synthetic);
}

static enum tb_status
part_stats(struct bench *b)
{
	enum tb_status status = b->small ? TB_OK : bench_stats(b, BENCH_STATS_BF16, 8192);

	return status || b->small ? status : bench_stats(b, BENCH_STATS_INT4, 16384);
}

static enum tb_status
part_model(struct bench *b)
{
	return bench_model(b, b->req->ref);
}

static const struct {
	const char *word;
	enum tb_status (*run)(struct bench *b);
} parts[BENCH_PARTS] = {
	[BENCH_LIMITS] = { "limits", part_limits }, [BENCH_MATRICES] = { "matrices", part_matrices },
	[BENCH_TOKENS] = { "tokens", part_tokens }, [BENCH_ENCODE] = { "encode", bench_encode },
	[BENCH_HASH] = { "hash", bench_hash }, [BENCH_STATS] = { "stats", part_stats },
	[BENCH_MODEL] = { "model", part_model },
};

bool
bench_parts(const char *words, unsigned *out)
{
	*out = 0;
	for (const char *w = words; ; w++) {
		size_t n = strcspn(w, ","), i = 0;

		while (i < BENCH_PARTS && (strlen(parts[i].word) != n || strncmp(parts[i].word, w, n)))
			i++;
		if (i == BENCH_PARTS)
			return false;
		*out |= 1u << i;
		w += n;
		if (!*w)
			return true;
	}
}

/* The BF16 model takes 2.2 GB, and up to 1 GB beside it is read. */
static enum tb_status
run_parts(struct bench *b)
{
	const unsigned model = 1u << BENCH_MODEL, tables = 1u << BENCH_MATRICES | 1u << BENCH_TOKENS |
		1u << BENCH_STATS;
	unsigned wanted = b->req->parts ? b->req->parts : b->req->ref ? model : ~model;
	enum tb_status status = TB_OK;

	b->small = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) < 5e9;
	if (b->small && wanted & tables && !b->result->warning)
		b->result->warning = "less than 5 GB of memory: BF16 is left out";
	for (size_t i = 0; i < BENCH_PARTS && !status; i++)
		if (wanted & 1u << i)
			status = parts[i].run(b);
	return status;
}

enum tb_status
op_bench(const struct op_ctx *ctx, const struct bench_request *req, struct tb_job *job,
	 struct bench_result *out, struct tb_err *err)
{
	struct bench b = { .ctx = ctx, .req = req, .result = out, .job = job, .err = err };
	enum tb_status status;

	*out = (struct bench_result){ .blas_core = blas_core(), .kernels = matmul_kernels(),
				      .encoder = quant_path(), .warning = blas_held_down() };
	b.team = team_new(ctx->threads);
	if (!b.team)
		return tb_nomem(err);
	out->threads = team_size(b.team);
	status = run_parts(&b);
	team_free(b.team);
	if (status)
		bench_result_free(out);
	return status;
}
