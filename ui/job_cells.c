#include "config.h"

#include "ui/job_cells.h"

#define BAR_COLS 10

const char *
job_word(const struct ui_job *j)
{
	static const char *const words[] = {
		[TB_JOB_QUEUED] = "waits", [TB_JOB_RUNNING] = "runs", [TB_JOB_DONE] = "done",
		[TB_JOB_FAILED] = "failed", [TB_JOB_CANCELLED] = "cancelled",
	};

	return j->held && !j->ended ? "paused" : words[j->progress.state];
}

const char *
job_result(const struct ui_job *j, enum role *role)
{
	bool failed = j->progress.state == TB_JOB_FAILED;

	*role = failed ? ROLE_BAD : ROLE_TEXT;
	return failed ? j->progress.err.msg : j->result ? j->result : j->ended ? "" : j->progress.what;
}

static void
bar(uint64_t done, uint64_t total, struct cell *out)
{
	out->role = ROLE_BAR;
	if (!total)
		return;
	draw_bar(&out->text, done, total, BAR_COLS);
	tb_buf_printf(&out->text, " %3u%%", tb_percent(done, total));
}

/* What is done is done, also where less was to be read than was feared. */
void
job_bar(const struct tb_progress *p, struct cell *out)
{
	uint64_t done, total;

	tb_progress_part(p, &done, &total);
	if (p->state == TB_JOB_DONE)
		total = done = 1;
	bar(done, total, out);
}

void
job_part_state(const struct job_part *p, struct cell *out)
{
	static const struct { const char *word; enum sign sign; enum role role; } looks[] = {
		[PART_FAILED] = { "failed", SIGN_BAD, ROLE_BAD },
		[PART_AGAIN] = { "again", SIGN_WARN, ROLE_WARN },
		[PART_RUNS] = { "loading", SIGN_NONE, ROLE_TEXT },
		[PART_CHECKED] = { "checking", SIGN_NONE, ROLE_TEXT },
		[PART_WAITS] = { "waits", SIGN_NONE, ROLE_DIM },
		[PART_DONE] = { "done", SIGN_OK, ROLE_OK },
	};

	out->role = looks[p->state].role;
	tb_buf_printf(&out->text, "%s %s", theme_sign(looks[p->state].sign), looks[p->state].word);
}

void
job_part_bar(const struct job_part *p, struct cell *out)
{
	bool done = p->state == PART_DONE;

	bar(done ? 1 : p->done, done ? 1 : p->total, out);
}
