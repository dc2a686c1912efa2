/* bench_limits.c - what OpenBLAS and libcrypto do on this machine. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/engine/peak.h"
#include "src/engine/probe.h"
#include "src/engine/team.h"

#define TIMES 5
#define HASHED ((size_t)1 << 20)	/* stays in the cache */

/* The prompt's product with the widest matrices of the model that prefill runs. */
static const struct { size_t m, rows, cols; } shapes[] = {
	{ 2048, 2048, 2048 }, { 512, 5632, 2048 }, { 512, 2048, 5632 }, { 512, 2048, 2048 },
};

enum tb_status
bench_sgemm(struct bench *b)
{
	enum tb_status status = TB_OK;

	tb_job_what(b->job, "sgemm");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes) && !status; i++) {
		double rate = 0;

		status = probe_sgemm(team_size(b->team), shapes[i].m, shapes[i].rows,
				     shapes[i].cols, TIMES, &rate, b->err);
		if (!status)
			status = bench_row(b, "GFLOP/s", rate, 0, "limit: sgemm %zux%zux%zu",
					   shapes[i].m, shapes[i].rows, shapes[i].cols);
	}
	return status;
}

enum tb_status
bench_peaks(struct bench *b)
{
	const struct peak *p;
	enum tb_status status = TB_OK;

	tb_job_what(b->job, "instructions");
	for (unsigned i = 0; !status && (p = peak_at(i)); i++)
		status = bench_row(b, p->unit, peak_measure(p, b->team), 0, "limit: %s on registers, "
				   "%u threads", p->name, team_size(b->team));
	return status;
}

enum tb_status
bench_sha(struct bench *b)
{
	char *data = tb_aligned(HASHED), digest[TB_DIGEST_MAX];
	double best = 0;

	tb_job_what(b->job, "SHA-256");
	if (!data)
		return tb_nomem(b->err);
	memset(data, 0x5a, HASHED);
	for (unsigned i = 0; i < 64; i++) {
		double start = tb_monotonic(), rate;

		if (tb_sha256_bytes(data, HASHED, digest, NULL))
			break;
		rate = 1e-9 * (double)HASHED / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	free(data);
	b->sha = best;
	return bench_row(b, "GB/s", best, 0, "limit: SHA-256, 1 thread, in the cache");
}
