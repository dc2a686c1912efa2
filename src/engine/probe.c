#include "config.h"

#include "src/engine/probe.h"

#include <cblas.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/team.h"

#define STREAMS 4		/* a thread; one stream is slower by a tenth */
#define LINE 64

struct read_job {
	const char *p;
	size_t piece;		/* bytes of a thread, a multiple of STREAMS lines */
	_Atomic uint64_t sum;	/* so that nothing is left out */
};

/* One word brings its line: few instructions keep many lines under way. */
static void
read_streams(void *arg, unsigned chunk, unsigned thread)
{
	struct read_job *job = arg;
	const size_t each = job->piece / STREAMS;
	const char *p = job->p + job->piece * chunk;
	uint64_t sum[STREAMS] = { 0 };

	(void)thread;
	for (size_t i = 0; i < each; i += LINE)
#pragma GCC unroll 4
		for (unsigned s = 0; s < STREAMS; s++)
			sum[s] += *(const uint64_t *)(p + s * each + i);
	job->sum += sum[0] + sum[1] + sum[2] + sum[3];
}

double
probe_read(struct team *team, const void *p, size_t len)
{
	unsigned threads = team_size(team);
	const size_t step = STREAMS * LINE;
	struct read_job job = { .p = p, .piece = len / threads / step * step };
	double start = tb_monotonic();

	team_run(team, read_streams, &job, threads);
	return tb_monotonic() - start;
}

static enum tb_status
make_floats(float **out, size_t n, struct tb_err *err)
{
	*out = tb_aligned(n * sizeof(float));
	if (!*out)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		(*out)[i] = (float)(i % 17) - 8;
	return TB_OK;
}

enum tb_status
probe_sgemm(unsigned threads, size_t m, size_t rows, size_t cols, unsigned times, double *gflops,
	    struct tb_err *err)
{
	float *x = NULL, *w = NULL, *y = NULL;
	enum tb_status status = make_floats(&x, m * cols, err);
	double best = 0;
	int before = openblas_get_num_threads();

	status = status ? status : make_floats(&w, rows * cols, err);
	status = status ? status : make_floats(&y, m * rows, err);
	openblas_set_num_threads((int)threads);
	for (unsigned i = 0; !status && i < times; i++) {
		double start = tb_monotonic(), rate;

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)rows,
			    (blasint)cols, 1, x, (blasint)cols, w, (blasint)cols, 0, y,
			    (blasint)rows);
		rate = 2e-9 * (double)m * (double)rows * (double)cols / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	openblas_set_num_threads(before);
	free(x);
	free(w);
	free(y);
	*gflops = best;
	return status;
}
