#include "config.h"

#include "ui/pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

#define NAMES_MAX 200	/* that are like that of the model */

/* ---- how it is shown ---- */

/* Without what all of a model's tensors begin with: clipped in its middle, the number of the
 * layer stays. */
static const char *
row_name(const struct fetch_row *row)
{
	static const char *const same[] = { "tensor ", "model." };
	const char *name = *row->what ? row->what : row->digest;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same) && tb_starts(name, same[i]); i++)
		name += strlen(same[i]);
	return name;
}

static void
row_part(const struct fetch_row *row, struct job_part *out)
{
	static const enum job_part_state states[] = {
		[FETCH_WAITING] = PART_WAITS, [FETCH_LOADING] = PART_RUNS,
		[FETCH_HASHING] = PART_CHECKED, [FETCH_AGAIN] = PART_AGAIN,
		[FETCH_DONE] = PART_DONE, [FETCH_FAILED] = PART_FAILED,
	};
	uint64_t done = row->there + row->got;

	*out = (struct job_part){ .done = done < row->size ? done : row->size, .total = row->size,
				  .state = states[row->state], .rate = row->rate };
	snprintf(out->name, sizeof(out->name), "%s", row_name(row));
	snprintf(out->why, sizeof(out->why), "%s", row->why);
}

size_t
transfer_parts(transfer_look_fn *look, const void *arg, struct job_part *out, size_t max)
{
	size_t n = look(arg, NULL, 0), held = n < max ? n : max;
	struct fetch_row *rows = held ? tb_calloc(held, sizeof(*rows)) : NULL;

	if (rows) {
		n = look(arg, rows, held);
		for (size_t i = 0; i < n && i < held; i++)
			row_part(&rows[i], &out[i]);
	}
	free(rows);
	return n;
}

/* ---- the job ---- */

struct pulling {
	struct op_ctx *ctx;		/* borrowed */
	struct pull_words words;
	struct loader *loader;		/* owned; NULL: it could not be made anew */
	struct load_result result;
	struct tb_err late;		/* what after_writing() had to tell */
};

static void
pulling_free(void *arg)
{
	struct pulling *t = arg;

	loader_free(t->loader);
	load_result_free(&t->result);
	pull_words_free(&t->words);
	free(t);
}

static enum tb_status
pulling_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct pulling *t = arg;
	enum tb_status status = loader_run(t->loader, job, &t->result, err);

	after_writing(t->ctx, status, &t->late);
	return status == TB_ESYNC ? TB_OK : status;
}

static size_t
pulling_look(const void *arg, struct fetch_row *rows, size_t max)
{
	const struct pulling *t = arg;

	return t->loader ? loader_look(t->loader, rows, max) : 0;
}

static size_t
pulling_parts(void *arg, struct job_part *out, size_t max)
{
	return transfer_parts(pulling_look, arg, out, max);
}

/* What came by this run and before it: a job that is through has its rows still. */
static uint64_t
bytes_there(struct pulling *t)
{
	size_t n = pulling_parts(t, NULL, 0);
	struct job_part *parts = n ? tb_calloc(n, sizeof(*parts)) : NULL;
	uint64_t there = 0;

	if (parts)
		(void)pulling_parts(t, parts, n);
	for (size_t i = 0; parts && i < n; i++)
		there += parts[i].done;
	free(parts);
	return there;
}

static enum tb_status
pulling_again(void *arg, struct tb_err *err)
{
	struct pulling *t = arg;

	loader_free(t->loader);
	t->loader = NULL;
	load_result_free(&t->result);
	return loader_new(&t->loader, t->ctx, &t->words, err);
}

static void
pulling_say(void *arg, struct tb_buf *out)
{
	const struct pulling *t = arg;
	const struct load_result *r = &t->result;
	char text[WORD_MAX], bytes[16];

	if (r->current)
		tb_buf_printf(out, "%s is there already, all of it", r->name);
	else if (r->come_files)
		tb_buf_printf(out, "%s, %s came", word_count(r->come_files, "file", text),
			      tb_human_bytes(r->moved, bytes));
	else
		tb_buf_printf(out, "all of its %s were there", word_count(r->files, "file", text));
	if (!r->current)
		tb_buf_str(out, ". On Models: v verifies it, c talks with it");
	if (r->mended)
		tb_buf_printf(out, "; %s replaced", word_count(r->mended, "damaged file", text));
	if (r->mended && r->undo)
		tb_buf_printf(out, ", u puts back what was there");
	if (r->kept)
		tb_buf_printf(out, "; the one that it replaces is kept as %s", r->kept);
	if (t->late.code)
		tb_buf_printf(out, ". %s", t->late.msg);
}

static void
pulling_left(void *arg, struct tb_buf *out)
{
	struct pulling *t = arg;
	uint64_t there = bytes_there(t);
	char bytes[16];

	if (there)
		tb_buf_printf(out, "%s of it stay, the next pull goes on with them: p on Models",
			      tb_human_bytes(there, bytes));
	else
		tb_buf_str(out, "nothing had come yet");
}

static bool
is_result(const struct db_model *m, const struct load_result *r)
{
	return r->path ? !strcmp(m->path, r->path)
		       : !strcmp(m->name, r->name) && !strcmp(m->root, r->root);
}

/* The cursor of Models goes to what has come. */
static void
pulling_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	const struct load_result *r = &((const struct pulling *)arg)->result;
	const struct db_query q = { .filter = r->path ? NULL : r->name, .limit = NAMES_MAX };
	struct db_models found = { 0 };
	size_t row;

	(void)err;
	if (status || !r->name)
		return;
	view_refresh(v);
	if (r->path ? db_model_by_path(view_db(v), r->path, &found, NULL)
		    : db_models(view_db(v), &q, &found, NULL))
		found.n = 0;
	for (size_t i = 0; i < found.n; i++)
		if (is_result(&found.rows[i], r) && rows_find(v, (uint64_t)found.rows[i].id, &row))
			list_goto(&v->list, row);
	tb_arena_free(&found.mem);
}

static const struct job_ops pulling_job = {
	.flags = JOB_LISTED | JOB_TRANSFER | JOB_CHANGES,
	.run = pulling_run, .done = pulling_done, .result = pulling_say, .free = pulling_free,
	.parts = pulling_parts, .again = pulling_again, .left = pulling_left,
};

bool
task_pull(struct view *v, struct pull_words *w)
{
	struct pulling *t = view_alloc(v, sizeof(*t));
	struct ui_job *j = NULL;
	struct tb_err err;

	if (!t) {
		pull_words_free(w);
		return false;
	}
	*t = (struct pulling){ .ctx = view_ctx(v), .words = *w };
	*w = (struct pull_words){ 0 };
	if (pulling_again(t, &err)) {
		view_complain(v, &err);
		pulling_free(t);
	} else {
		j = view_job(view_home(v), &pulling_job, t, "pull %s", t->words.req.name);
	}
	if (j)
		view_open(v, VIEW_PARTS, &(struct view_arg){ .id = (int64_t)j->id });
	return j != NULL;
}
