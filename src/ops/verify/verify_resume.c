/* verify_resume.c - going on where a run was interrupted: what it had found good, and nobody
 * has touched since, is not read again.  What it had found anything else about is: a
 * report is never clean because the damage was found before the interruption. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

/* What was good longer ago is looked at again. */
#define RESUME_NS (INT64_C(7) * 86400 * 1000000000)

static bool
interrupted(const struct db_run *run, int64_t now)
{
	return (run->state == RUN_RUNNING || run->state == RUN_CANCELLED ||
		run->state == RUN_FAILED) && run->started_ns > now - RESUME_NS;
}

static int
by_blob(const void *a, const void *b)
{
	const struct db_finding *const *x = a, *const *y = b;

	return strcmp((*x)->blob, (*y)->blob);
}

/* What those runs found out by reading, by blob. */
static enum tb_status
list_doubts(struct verify_resume *z, struct tb_err *err)
{
	size_t cap = 0;

	for (size_t i = 0; i < z->nruns; i++)
		for (size_t k = 0; k < z->found[i].n; k++) {
			if (!tb_grow(&z->doubts, &cap, z->ndoubts + 1, sizeof(*z->doubts)))
				return tb_nomem(err);
			z->doubts[z->ndoubts++] = &z->found[i].rows[k];
		}
	if (z->ndoubts)
		qsort(z->doubts, z->ndoubts, sizeof(struct db_finding *), by_blob);
	return TB_OK;
}

/* The runs that were interrupted one after the other, the last first. */
enum tb_status
verify_resume_find(struct verify_run *r, const struct db_run *run, struct tb_err *err)
{
	struct verify_resume *z = &r->resume;
	struct db_runs before = { 0 };
	enum tb_status status;

	if (r->req->all || r->req->since_ns > 0)
		return TB_OK;
	status = db_runs_like(r->db, run, VERIFY_RESUMES, &before, err);
	while (!status && z->nruns < before.n && z->nruns < VERIFY_RESUMES &&
	       interrupted(&before.rows[z->nruns], r->started_ns)) {
		z->runs[z->nruns] = before.rows[z->nruns].id;
		status = db_found_by_reading(r->db, z->runs[z->nruns], &z->found[z->nruns], err);
		z->nruns++;
	}
	tb_arena_free(&before.mem);
	return status ? status : list_doubts(z, err);
}

void
verify_resume_free(struct verify_resume *z)
{
	for (size_t i = 0; i < z->nruns; i++)
		tb_arena_free(&z->found[i].mem);
	free(z->doubts);
}

/* The first that was found about the target, or the end. */
static size_t
first_doubt(const struct verify_resume *z, const char *blob)
{
	size_t from = 0, to = z->ndoubts;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (strcmp(z->doubts[mid]->blob, blob) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Was it read by one of those runs, as it is now? */
static bool
read_then(const struct verify_resume *z, const struct verify_target *t)
{
	for (size_t i = 0; i < z->nruns; i++)
		if (t->was.run == z->runs[i])
			return t->known && t->was.ok && !t->unsized &&
			       tb_ident_equal(&t->was.id, &t->file->id);
	return false;
}

bool
verify_resume_skips(struct verify_run *r, struct verify_target *t)
{
	const struct verify_resume *z = &r->resume;
	const char *blob = *t->file->digest ? t->file->digest : t->file->path;
	size_t first = first_doubt(z, blob), end = first;
	const char *changed = finding_word(F_CHANGED_SINCE);

	if (!read_then(z, t))
		return false;
	for (; end < z->ndoubts && !strcmp(z->doubts[end]->blob, blob); end++)
		if (strcmp(z->doubts[end]->code, changed) != 0)
			return false;
	/* It was compared and is known by now: reading it would not tell it again. */
	if (end > first)
		verify_find_for_all(r, t, F_CHANGED_SINCE, (struct verify_where){
				    .expected = z->doubts[first]->expected,
				    .actual = z->doubts[first]->actual },
				    "was written since the last verify");
	r->out->resumes = z->runs[0];
	r->out->resumed++;
	r->out->resumed_bytes += t->file->id.size;
	r->out->resumed_compared += !t->was.recorded;
	return true;
}
