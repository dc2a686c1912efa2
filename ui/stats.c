#include "config.h"

#include "ui/stats.h"

#include <stdlib.h>
#include <string.h>

#include "db/facts.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

static size_t
stats_place(const struct tensor_stats *st, uint64_t ord)
{
	return TB_FIRST(st->n, i, st->row[i].ord < ord);
}

static struct stats_row *
stats_row_of(struct tensor_stats *st, uint64_t ord)
{
	size_t i = stats_place(st, ord);

	if (i < st->n && st->row[i].ord == ord)
		return &st->row[i];
	if (!tb_grow(&st->row, &st->cap, st->n + 1, sizeof(*st->row)))
		return NULL;
	memmove(st->row + i + 1, st->row + i, (st->n - i) * sizeof(*st->row));
	st->row[i] = (struct stats_row){ .ord = ord, .none = true };
	st->n++;
	return &st->row[i];
}

void
stats_start(struct tensor_stats *st, struct db *db, int64_t model)
{
	if (db_facts_any(db, model, &st->any, NULL))
		st->any = false;
}

const struct value_stats *
stats_get(struct tensor_stats *st, struct db *db, int64_t model, uint64_t ord)
{
	size_t i = stats_place(st, ord);
	bool asked = i < st->n && st->row[i].ord == ord;
	struct stats_row *row;
	struct db_facts f;

	if (asked || !st->any)
		return asked && !st->row[i].none ? &st->row[i].s : NULL;
	if (db_facts_list(db, model, ord, 1, &f, NULL))
		return NULL;
	row = stats_row_of(st, ord);
	if (row && f.n && f.rows[0].has_stats) {
		row->s = f.rows[0].stats.of;
		row->none = false;
	}
	tb_arena_free(&f.mem);
	return row && !row->none ? &row->s : NULL;
}

void
stats_put(struct tensor_stats *st, uint64_t ord, const struct value_stats *s)
{
	struct stats_row *row = stats_row_of(st, ord);

	if (!row)
		return;
	row->s = *s;
	row->none = false;
	st->any = true;
}

void
stats_free(struct tensor_stats *st)
{
	free(st->row);
	*st = (struct tensor_stats){ 0 };
}

enum { STATS_MSG_ROW = 1 };

static enum tb_status
stats_job_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct stats_job *j = arg;
	struct db *facts = inspect_facts(j->ctx);
	struct model *m = NULL;
	enum tb_status status = model_open(&m, &j->loc, err);

	tb_job_total(job, 0, j->n);
	for (size_t i = 0; !status && i < j->n; i++) {
		const struct tensor *t = model_tensor(m, j->want[i].name);
		struct inspect_request req = { .model = m, .tensor = t, .facts = facts,
						.one_of_many = true };
		struct inspect_result result;
		struct stats_row row = { .ord = j->want[i].ord };

		tb_job_what(job, "%s", j->want[i].name);
		if (!t)
			status = tb_fail(err, TB_ENOENT, "%s: %s is not there any more",
					 j->loc.name, j->want[i].name);
		else
			status = op_inspect(j->ctx, &req, job, &result, err);
		if (status)
			break;
		row.s = result.stats;
		tb_job_step(job, 0, 1);
		tb_job_post(job, STATS_MSG_ROW, &row, sizeof(row));
	}
	model_free(m);
	db_close(facts);
	return status;
}

static void
stats_job_message(struct view *v, void *arg, const struct tb_msg *msg)
{
	struct stats_job *j = arg;
	struct stats_row row;

	if (!v || msg->kind != STATS_MSG_ROW || msg->len != sizeof(row))
		return;
	memcpy(&row, msg->data, sizeof(row));
	j->found(v, row.ord, &row.s);
}

static void
stats_job_say(void *arg, struct tb_buf *out)
{
	const struct stats_job *j = arg;
	char text[WORD_MAX];

	tb_buf_str(out, word_count(j->n, "tensor", text));
}

void
stats_job_free(void *arg)
{
	struct stats_job *j = arg;

	if (!j)
		return;
	tb_arena_free(&j->mem);
	free(j->want);
	model_loc_free(&j->loc);
	free(j);
}

static const struct job_ops stats_ops = {
	.flags = JOB_LISTED, .run = stats_job_run, .message = stats_job_message, .result = stats_job_say,
	.free = stats_job_free,
};

struct stats_job *
stats_job_new(struct view *v)
{
	struct stats_job *j = tb_calloc(1, sizeof(*j));

	if (j && model_loc_copy(&j->loc, &v->loc, NULL)) {
		free(j);
		return NULL;
	}
	if (j)
		j->ctx = view_ctx(v);
	return j;
}

bool
stats_job_add(struct stats_job *j, uint64_t ord, const char *name)
{
	const char *copy = tb_arena_str(&j->mem, name);

	if (!copy || !tb_grow(&j->want, &j->cap, j->n + 1, sizeof(*j->want)))
		return false;
	j->want[j->n++] = (struct stats_want){ ord, copy };
	return true;
}

void
stats_job_start(struct view *v, struct stats_job *j)
{
	const char *name = j->n == 1 ? j->want[0].name : j->loc.name;

	(void)view_job(v, &stats_ops, j, "statistics %s", name);
}
