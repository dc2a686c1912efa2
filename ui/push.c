#include "config.h"

#include "ui/push.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/push/push.h"
#include "ui/pull.h"
#include "ui/view.h"

#define NAMES_MAX 2000

/* The same from the question to the end. */
struct pushing {
	struct op_ctx *ctx;		/* borrowed */
	char *path, *name;		/* of the model; owned */
	struct pull_words words;	/* where to, and how */
	struct push_request req;	/* borrows from those */
	struct push *push;		/* owned; NULL: it could not be made (anew) */
	struct push_result result;
};

static void
pushing_free(void *arg)
{
	struct pushing *t = arg;

	if (!t)
		return;
	push_free(t->push);
	push_result_free(&t->result);
	pull_words_free(&t->words);
	free(t->path);
	free(t->name);
	free(t);
}

/* ---- sending ---- */

static enum tb_status
pushing_again(void *arg, struct tb_err *err)
{
	struct pushing *t = arg;

	push_free(t->push);
	t->push = NULL;
	push_result_free(&t->result);
	t->result = (struct push_result){ 0 };
	return push_new(&t->push, t->ctx, &t->req, err);
}

static enum tb_status
pushing_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct pushing *t = arg;

	return op_push(t->push, job, &t->result, err);
}

static size_t
pushing_look(const void *arg, struct fetch_row *rows, size_t max)
{
	const struct pushing *t = arg;

	return t->push ? push_look(t->push, rows, max) : 0;
}

static size_t
pushing_parts(void *arg, struct job_part *out, size_t max)
{
	return transfer_parts(pushing_look, arg, out, max);
}

static void
pushing_say(void *arg, struct tb_buf *out)
{
	const struct pushing *t = arg;
	const struct push_result *r = &t->result;
	char text[WORD_MAX], bytes[16];

	if (r->same) {
		tb_buf_printf(out, "%s is there already, as it is here", r->name);
		return;
	}
	tb_buf_printf(out, "%s sent, %s", word_count(r->sum.sent, "file", text),
		      tb_human_bytes(r->sum.bytes, bytes));
	if (r->sum.there + r->sum.mounted)
		tb_buf_printf(out, ", %zu were there", r->sum.there + r->sum.mounted);
	tb_buf_printf(out, ": others pull it as %s", r->name);
}

static void
pushing_left(void *arg, struct tb_buf *out)
{
	(void)arg;
	tb_buf_str(out, "nobody can pull it yet; what was sent stays for the next P");
}

static const struct job_ops pushing_job = {
	.flags = JOB_LISTED | JOB_TRANSFER, .run = pushing_run, .result = pushing_say,
	.free = pushing_free, .parts = pushing_parts, .again = pushing_again, .left = pushing_left,
};

static void
push_agreed(struct view *v, void *arg)
{
	struct pushing *t = arg;
	struct ui_job *j;
	struct tb_err err;

	t->req.dry_run = false;
	t->req.replace |= *t->result.old;	/* as was asked, and nothing that came since */
	if (pushing_again(t, &err)) {
		view_complain(v, &err);
		pushing_free(t);
		return;
	}
	j = view_job(view_home(v), &pushing_job, t, "push %s", t->name);
	if (j)
		view_open(v, VIEW_PARTS, &(struct view_arg){ .id = (int64_t)j->id });
}

/* ---- what would go ---- */

static void ask_where(struct view *v, const char *path, const char *name, const char *text);

static enum tb_status
target_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct pushing *t = *(struct pushing **)arg;
	enum tb_status status = pushing_again(t, err);

	if (!status)
		status = op_push(t->push, job, &t->result, err);
	return status == TB_EEXIST && *t->result.old ? TB_OK : status;
}

static void
target_say(void *arg, struct tb_buf *out)
{
	const struct pushing *t = *(struct pushing **)arg;

	char text[WORD_MAX], bytes[16];

	if (t->result.same)
		tb_buf_str(out, "it is there already, as it is here");
	else
		tb_buf_printf(out, "%s to send, %s", word_count(t->result.sum.sent, "file", text),
			      tb_human_bytes(t->result.sum.bytes, bytes));
}

static void
question(const struct pushing *t, struct tb_buf *q)
{
	const struct push_result *r = &t->result;
	char text[WORD_MAX], bytes[16];

	tb_buf_printf(q, "Push %s to %s? Sends %s", t->name, r->name,
		      tb_human_bytes(r->sum.bytes, bytes));
	tb_buf_printf(q, " in %s", word_count(r->sum.sent, "file", text));
	if (r->blobs > r->sum.sent)
		tb_buf_printf(q, "; %zu of %zu are there", r->blobs - r->sum.sent, r->blobs);
	if (*r->old)
		tb_buf_printf(q, ". REPLACES another model of that name there (%s)",
			      tb_human_bytes(r->old_bytes, bytes));
	if (t->req.insecure)
		tb_buf_str(q, ". Plain HTTP: all in between can read it, and your password");
	if (t->req.skip_verify)
		tb_buf_str(q, ". NOBODY CHECKS WHO ANSWERS: whoever is in between can read it, and"
			   " your password");
	tb_buf_str(q, ".");
}

static void
target_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct pushing **t = arg;
	struct tb_buf q = TB_BUF(65536);

	(void)err;
	if (status == TB_ECANCEL || !view_may_ask(v))
		return;
	if (status) {			/* which is said above the line, to be put right */
		ask_where(v, (*t)->path, (*t)->name, (*t)->words.line);
		return;
	}
	if ((*t)->result.same)
		return;
	question(*t, &q);
	view_ask_about(v, push_agreed, *t, pushing_free, tb_buf_cstr(&q));
	*t = NULL;
	tb_buf_free(&q);
}

static void
target_free(void *arg)
{
	struct pushing **t = arg;

	pushing_free(*t);
	free(t);
}

static const struct job_ops target_job = {
	.flags = JOB_LISTED, .run = target_run, .done = target_done, .result = target_say,
	.free = target_free,
};

/* ---- where to ---- */

struct push_model {			/* all owned */
	char *path, *name;
	struct tb_names offered;	/* by Tab */
};

static void
model_forget(void *arg)
{
	struct push_model *m = arg;

	free(m->path);
	free(m->name);
	tb_names_free(&m->offered);
	free(m);
}

/* Its own last part, where other models are: "host/ns/NAME". */
static void
offer_like(struct push_model *m, const char *other, const char *word)
{
	const char *slash = strrchr(other, '/'), *own = strrchr(m->name, '/');
	char *name = slash ? tb_asprintf("%.*s%s", (int)(slash - other) + 1, other,
					 own ? own + 1 : m->name) : NULL;

	if (name && tb_starts(name, word) && !tb_names_have(&m->offered, name) &&
	    !tb_names_add(&m->offered, name, NULL))
		tb_names_sort(&m->offered);
	free(name);
}

static const char *
push_offers(struct view *v, const char *word, size_t i)
{
	struct push_model *m = v->about;
	const struct db_query all = { .filter = "/", .limit = NAMES_MAX };
	struct db_models list = { 0 };

	if (!i) {
		tb_names_free(&m->offered);
		offer_like(m, m->name, word);
		if (!db_models(view_db(v), &all, &list, NULL))
			for (size_t k = 0; k < list.n; k++)
				if (kind_has_manifest(list.rows[k].kind))
					offer_like(m, list.rows[k].name, word);
		tb_arena_free(&list.mem);
	}
	return i < m->offered.n ? m->offered.v[i] : NULL;
}

static struct pushing *
pushing_new(struct view *v, const struct push_model *m, const char *line, struct tb_err *err)
{
	struct pushing *t = tb_calloc(1, sizeof(*t));
	const struct pull_request *w;

	if (!t || !(t->path = tb_strdup(m->path)) || !(t->name = tb_strdup(m->name))) {
		(void)tb_nomem(err);
		pushing_free(t);
		return NULL;
	}
	t->ctx = view_ctx(v);
	if (pull_words_read(&t->words, line, err)) {
		pushing_free(t);
		return NULL;
	}
	w = &t->words.req;
	t->req = (struct push_request){
		.ref = t->path, .as = w->name, .insecure = w->insecure, .replace = w->replace,
		.skip_verify = w->skip_verify, .streams = w->streams, .dry_run = true,
	};
	return t;
}

static bool
push_typed(struct view *v, const char *line)
{
	struct pushing **look, *t;
	struct tb_err err;

	t = pushing_new(v, v->about, line, &err);
	if (!t) {
		view_complain(v, &err);
		return err.code == TB_ENOMEM;
	}
	look = view_alloc(v, sizeof(*look));
	if (!look) {
		pushing_free(t);
		return true;
	}
	*look = t;
	(void)view_job(v, &target_job, look, "push to %s", t->req.as);
	return true;
}

/* text: what stands there first. */
static void
ask_where(struct view *v, const char *path, const char *name, const char *text)
{
	struct push_model *m = view_alloc(v, sizeof(*m));

	if (!m)
		return;
	m->path = tb_strdup(path);
	m->name = tb_strdup(name);
	if (m->path && m->name) {
		view_type_about(v, "push to ", text, push_typed, m, model_forget);
		view_type_offers(v, push_offers);
	} else {
		model_forget(m);
		view_say(v, "out of memory");
	}
}

void
task_push(struct view *v, const char *path, const char *name)
{
	ask_where(v, path, name, name);
}
