#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include "src/base/job.h"
#include "src/engine/team.h"
#include "src/ops/bench/bench_walk.h"
#include "src/quant/scheme.h"

#define WALKS 7
#define TIMES 3

/* What several vectors at once cost beside one: guesses, batches. */
static enum tb_status
several(struct bench *b, struct walk *w, size_t m, const char *name)
{
	double ratio[TIMES], one, all;
	enum tb_status status = walk_passes(w, m, &all, b->err);	/* grows the workspace */

	for (unsigned i = 0; i < TIMES && !status; i++)
		if (!(status = walk_passes(w, 1, &one, b->err)) &&
		    !(status = walk_passes(w, m, &all, b->err)))
			ratio[i] = all / one;
	return status ? status : bench_row(b, "x one", bench_median(ratio, TIMES), 0,
					   "decode, %zu tokens at once, %s", m, name);
}

enum tb_status
bench_matrices(struct bench *b, const struct scheme *s)
{
	char name[SCHEME_NAME_MAX];
	double rate[WALKS], read[WALKS], share[WALKS], seconds, before;
	enum tb_status status;
	struct walk *w;

	tb_job_what(b->job, "matrices, %s", scheme_name(s, name));
	if ((status = walk_new(&w, s, b->team, b->err)))
		return status;
	status = walk_passes(w, 1, &seconds, b->err);	/* grows the workspace */
	for (unsigned i = 0; i < WALKS && !status; i++) {
		before = walk_read(w);
		status = walk_passes(w, 1, &seconds, b->err);
		read[i] = 2e-9 * (double)walk_bytes(w) / (before + walk_read(w));
		rate[i] = 1e-9 * (double)walk_bytes(w) / seconds;
		share[i] = rate[i] / read[i];
	}
	if (!status) {
		double median = bench_median(rate, WALKS);

		b->read = median / bench_median(share, WALKS);
		status = bench_row(b, "GB/s", bench_median(read, WALKS), 0,
				   "limit: memory read, %u threads, %.0f MB", team_size(b->team),
				   1e-6 * (double)walk_bytes(w));
		if (!status)
			status = bench_row(b, "GB/s", median, b->read, "decode, 155 matrices, %s",
					   scheme_name(s, name));
	}
	for (size_t m = 4; m <= WALK_GUESSED && !status; m *= 2)
		status = several(b, w, m, name);
	walk_free(w);
	return status;
}
