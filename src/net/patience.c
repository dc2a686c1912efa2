#include "config.h"

#include "src/net/patience.h"

#include <poll.h>

#include "src/base/hash.h"
#include "src/base/job.h"
#include "src/base/text.h"

#define LOOK_MS 40			/* between two looks at the job */

static const struct {
	unsigned tries;
	double first, most;
	unsigned wanted;
} rows[] = {
#define X(id, tries, first, most, wanted) [id] = { tries, first, most, wanted },
	PATIENCE_LIST(X)
#undef X
};

double patience_pace = 1;

/* 0.5 to 1.5: who broke off together does not come back together. */
static double
by_chance(void)
{
	uint64_t state = (uint64_t)(tb_monotonic() * 1e9);

	return 0.5 + (double)(tb_splitmix(&state) >> 40) / (1 << 24);
}

bool
patience_left(struct patience *p, const struct http_fate *fate, double *seconds)
{
	unsigned n = p->tries++;
	double own = rows[p->kind].first * (double)(1u << n) * by_chance();

	if (!fate->again || p->tries >= rows[p->kind].tries || fate->retry_after > rows[p->kind].wanted)
		return false;
	own = (own < rows[p->kind].most ? own : rows[p->kind].most) * patience_pace;
	*seconds = fate->retry_after > own ? fate->retry_after : own;
	return true;
}

enum tb_status
patience_wait(double seconds, const struct tb_job *job, struct tb_err *err)
{
	double end = tb_monotonic() + seconds;
	enum tb_status status = tb_job_check(job, err);

	for (double left = seconds; !status && left > 0; left = end - tb_monotonic()) {
		poll(NULL, 0, left * 1000 < LOOK_MS ? (int)(left * 1000) + 1 : LOOK_MS);
		status = tb_job_check(job, err);
	}
	return status;
}
