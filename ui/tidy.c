#include "config.h"

#include "ui/tidy.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/arena.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/face/words.h"
#include "ui/view.h"

#define NAMED_MAX 5		/* in a question */
#define DIGEST_SHOWN 15		/* "sha256-0123abcd" */

/* From the first look to the end: what was asked is what is done. */
struct keeping {
	struct op_ctx *ctx;		/* borrowed */
	struct tb_arena mem;		/* has the texts */
	struct tidy_request req;
	const char **only;		/* of a prune: these paths alone, NULL: all */
	size_t nonly;
	const char *title;
	struct tidy plan;
	struct tb_err late;		/* what after_writing() had to tell */
};

static void
keeping_free(void *arg)
{
	struct keeping *k = arg;

	if (!k)
		return;
	tidy_free(&k->plan);
	tb_arena_free(&k->mem);
	free(k);
}

static const char **
copy_texts(struct tb_arena *mem, const char *const *from, size_t n)
{
	const char **copy = tb_arena_get(mem, (n + 1) * sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++)
		if (!(copy[i] = tb_arena_str(mem, from[i])))
			return NULL;
	return copy;
}

static struct keeping *
keeping_new(struct view *v, enum tidy_kind kind, const char *const *names, size_t n,
	    const char *title)
{
	struct keeping *k = view_alloc(v, sizeof(*k));

	if (!k)
		return NULL;
	k->ctx = view_ctx(v);
	k->req = (struct tidy_request){ .kind = kind, .n = n };
	k->req.names = copy_texts(&k->mem, names, n);
	k->title = tb_arena_str(&k->mem, title);
	if (k->req.names && k->title)
		return k;
	keeping_free(k);
	view_say(v, "out of memory");
	return NULL;
}

/* ---- doing it ---- */

static enum tb_status
do_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct keeping *k = arg;
	enum tb_status status = tidy_do(&k->plan, k->ctx, job, err);

	after_writing(k->ctx, k->plan.done ? TB_OK : status, &k->late);
	return status;
}

/* "; 3 files (697 B) stay: other models use them". */
static void
say_stays(const struct tidy *t, const char *between, struct tb_buf *out)
{
	char text[WORD_MAX], bytes[16];

	for (enum tidy_why w = 0; w < TIDY_WHY_COUNT; w++) {
		const struct tidy_stay *s = &t->stays[w];

		if (s->files)
			tb_buf_printf(out, "%s%s (%s) stay%s: %s", between,
				      word_count(s->files, "file", text),
				      tb_human_bytes(s->bytes, bytes), s->files == 1 ? "s" : "",
				      w == TIDY_USED ? "other models use them" : tidy_why_text(w));
	}
	if (t->linked)
		tb_buf_printf(out, "%s%s free%s nothing: other names lead to %s", between,
			      word_count(t->linked, "file", text), t->linked == 1 ? "s" : "",
			      t->linked == 1 ? "it" : "them");
	for (size_t i = 0; i < t->unread.n; i++)
		tb_buf_printf(out, "%s%s", between, t->unread.v[i]);
}

static void
do_say(void *arg, struct tb_buf *out)
{
	const struct keeping *k = arg;
	const struct tidy *t = &k->plan;
	char bytes[16];

	if (!t->n)
		tb_buf_str(out, "nothing was done");
	else if (t->kind == TIDY_RM || t->kind == TIDY_PRUNE)
		tb_buf_printf(out, "done; %s are held until u brings them back or frees them",
			      tb_human_bytes(t->bytes, bytes));
	else
		tb_buf_str(out, "done");
	if (t->stays[TIDY_CHANGED].files)
		tb_buf_printf(out, "; %ju had changed and stayed",
			      (uintmax_t)t->stays[TIDY_CHANGED].files);
	if (k->late.code)
		tb_buf_printf(out, "; %s", k->late.msg);
}

/* What is gone has no mark and no page any more. */
static void
do_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	const struct keeping *k = arg;

	(void)err;
	if (!tb_written(status) || !k->plan.n)
		return;
	list_unmark_all(&v->list);
	if (v->id == VIEW_MODEL && k->req.kind != TIDY_CP)
		view_back(v);
}

static const struct job_ops do_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = do_run, .done = do_done, .result = do_say, .free = keeping_free,
};

static void
agreed(struct view *v, void *arg)
{
	static const char *const verbs[] = {
		[TIDY_RM] = "delete", [TIDY_PRUNE] = "prune", [TIDY_CP] = "copy", [TIDY_MV] = "rename",
	};
	struct keeping *k = arg;

	(void)view_job(v, &do_job, k, "%s %s", verbs[k->req.kind], k->title);
}

/* ---- looking, and asking ---- */

static enum tb_status
look_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct keeping *k = *(struct keeping **)arg;
	enum tb_status status = tidy_plan(&k->plan, k->ctx, &k->req, job, err);

	if (!status && k->only)
		status = tidy_only(&k->plan, k->only, k->nonly, err);
	return status;
}

/* " (alpha:latest, beta:8b and 3 more)": the models, or files that are not many. */
static void
name_actions(const struct tidy *t, struct tb_buf *q)
{
	uint64_t n = 0, all = t->kind == TIDY_RM ? t->models : t->n;

	if (all < 1 || (t->kind == TIDY_RM && all == 1) || (t->kind == TIDY_PRUNE && all > NAMED_MAX))
		return;
	for (size_t i = 0; i < t->n && n < NAMED_MAX; i++) {
		const struct tidy_action *a = &t->v[i];
		const char *name = t->kind == TIDY_RM ? a->model : tb_path_name(a->path);

		if (t->kind == TIDY_RM && (!*a->model || *a->digest))
			continue;
		tb_buf_str(q, n++ ? ", " : " (");
		if (t->kind == TIDY_PRUNE && strlen(name) > DIGEST_SHOWN)
			tb_buf_printf(q, "%.*s…", DIGEST_SHOWN, name);
		else
			tb_buf_str(q, name);
	}
	if (n && all > n)
		tb_buf_printf(q, " and %ju more", (uintmax_t)(all - n));
	tb_buf_str(q, n ? ")" : "");
}

static void
question(const struct keeping *k, struct tb_buf *q)
{
	const struct tidy *t = &k->plan;
	char text[WORD_MAX], bytes[16];

	tb_human_bytes(t->bytes, bytes);
	if (t->kind == TIDY_RM)
		tb_buf_printf(q, "Delete %s", k->title);
	else
		tb_buf_printf(q, "Delete %s that no model uses", word_count(t->n, "file", text));
	name_actions(t, q);
	tb_buf_printf(q, ", %s?", bytes);
	tb_buf_str(q, " All of it can come back, or be freed for good, with u.");
	say_stays(t, " ", q);
}

static void
look_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct keeping **k = arg;
	struct tb_buf q = TB_BUF(65536);

	if (status) {
		view_complain(v, err);
		return;
	}
	if (!(*k)->plan.n) {
		tb_buf_printf(&q, "There is nothing to delete.");
		say_stays(&(*k)->plan, " ", &q);
		view_say(v, "%s", tb_buf_cstr(&q));
	} else if (!view_may_ask(v)) {
		view_say(v, "Nothing is deleted: the question came too late, press the key again.");
	} else {
		question(*k, &q);
		view_ask_about(v, agreed, *k, keeping_free, tb_buf_cstr(&q));
		*k = NULL;
	}
	tb_buf_free(&q);
}

static void
look_free(void *arg)
{
	struct keeping **k = arg;

	keeping_free(*k);
	free(k);
}

static const struct job_ops look_job = { .run = look_run, .done = look_done, .free = look_free };

static void
look(struct view *v, struct keeping *k)
{
	struct keeping **arg = k ? view_alloc(v, sizeof(*arg)) : NULL;

	if (arg) {
		*arg = k;
		(void)view_job(v, &look_job, arg, "plan %s", k->title);
	} else {
		keeping_free(k);
	}
}

void
task_remove(struct view *v, const char *const *refs, size_t n, const char *title)
{
	look(v, keeping_new(v, TIDY_RM, refs, n, title));
}

void
task_prune(struct view *v, const char *const *paths, size_t n)
{
	struct keeping *k = keeping_new(v, TIDY_PRUNE, NULL, 0, "unused files");

	if (k && paths && !(k->only = copy_texts(&k->mem, paths, n))) {
		keeping_free(k);
		k = NULL;
		view_say(v, "out of memory");
	}
	if (k)
		k->nonly = n;
	look(v, k);
}

/* ---- names ---- */

/* Another name takes nothing away: nothing is asked. */
static enum tb_status
name_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct keeping *k = arg;
	enum tb_status status = tidy_plan(&k->plan, k->ctx, &k->req, job, err);

	return status ? status : do_run(arg, job, err);
}

static const struct job_ops name_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = name_run, .done = do_done, .result = do_say, .free = keeping_free,
};

struct naming { char *path, *name; bool copy; };

static void
naming_free(void *arg)
{
	struct naming *n = arg;

	free(n->path);
	free(n->name);
	free(n);
}

static bool
name_typed(struct view *v, const char *text)
{
	const struct naming *of = v->about;
	const char *const names[] = { of->path, text };
	char *title = tb_asprintf("%s to %s", of->name, text);
	struct keeping *k = NULL;

	if (!strcmp(text, of->name))
		view_say(v, "That is its name already.");
	else if (*text && title)
		k = keeping_new(v, of->copy ? TIDY_CP : TIDY_MV, names, 2, title);
	if (k)
		(void)view_job(v, &name_job, k, "%s %s", of->copy ? "copy" : "rename", title);
	free(title);
	return true;
}

void
task_name(struct view *v, const char *path, const char *name, bool copy)
{
	struct naming *of = view_alloc(v, sizeof(*of));

	if (!of)
		return;
	*of = (struct naming){ tb_strdup(path), tb_strdup(name), copy };
	if (of->path && of->name)
		view_type_about(v, copy ? "copy to: " : "rename to: ", name, name_typed, of,
				naming_free);
	else
		naming_free(of);
}

/* ---- bringing back, and freeing ---- */

struct undoing {
	struct op_ctx *ctx;		/* borrowed */
	struct op_ctx one;		/* of the store alone: others have an operation n, too */
	char *path;			/* owned: that store; NULL: wherever it is */
	uint64_t *numbers;		/* owned */
	size_t n;
	bool free;			/* for good */
	struct tidy done;
	struct tb_err late;
};

static enum tb_status
undo_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct undoing *u = arg;
	struct tidy_empty empty = { .numbers = u->numbers, .n = u->n };
	enum tb_status status;

	u->one = *u->ctx;
	if (u->path)
		u->one.roots = (struct store_roots){ .path = &u->path, .n = 1 };
	status = u->free ? op_undo_empty(&u->one, &empty, job, &u->done, err)
			 : op_undo(&u->one, u->numbers[0], false, job, &u->done, err);
	after_writing(u->ctx, status, &u->late);
	return status;
}

static void
undo_say(void *arg, struct tb_buf *out)
{
	const struct undoing *u = arg;
	char text[WORD_MAX], bytes[16];

	if (u->free)
		tb_buf_printf(out, "%s freed", tb_human_bytes(u->done.bytes, bytes));
	else if (u->done.stays[TIDY_GONE].files)
		tb_buf_printf(out, "%s had been freed already, the rest is as it was",
			      word_count(u->done.stays[TIDY_GONE].files, "thing", text));
	else
		tb_buf_str(out, "all of it is as it was");
	if (u->late.code)
		tb_buf_printf(out, "; %s", u->late.msg);
}

static void
undo_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	(void)arg;
	(void)err;
	if (!status)
		list_unmark_all(&v->list);
}

static void
undo_free(void *arg)
{
	struct undoing *u = arg;

	tidy_free(&u->done);
	free(u->path);
	free(u->numbers);
	free(u);
}

static const struct job_ops undo_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = undo_run, .done = undo_done, .result = undo_say, .free = undo_free,
};

/* NULL: no memory, and told. */
static struct undoing *
undoing_new(struct view *v, const struct tidy_op *const *ops, size_t n, bool only_there)
{
	struct undoing *u = view_alloc(v, sizeof(*u));

	if (!u)
		return NULL;
	u->ctx = view_ctx(v);
	u->numbers = view_alloc(v, (n + 1) * sizeof(*u->numbers));
	for (; u->numbers && u->n < n; u->n++)
		u->numbers[u->n] = ops[u->n]->n;
	u->path = only_there ? tb_strdup(ops[0]->root) : NULL;
	if (u->numbers && (u->path || !only_there))
		return u;
	undo_free(u);
	return NULL;
}

void
task_undo(struct view *v, const struct tidy_op *op, bool only_there)
{
	struct undoing *u = undoing_new(v, &op, 1, only_there);

	if (u)
		(void)view_job(v, &undo_job, u, "bring back %ju (%s)", (uintmax_t)op->n, op->what);
}

static void
empty_agreed(struct view *v, void *arg)
{
	struct undoing *u = arg;
	char text[WORD_MAX];

	(void)view_job(v, &undo_job, u, "free %s", word_count(u->n, "operation", text));
}

void
task_empty(struct view *v, const struct tidy_op *const *ops, size_t n, bool only_there)
{
	struct undoing *u = undoing_new(v, ops, n, only_there);
	struct tb_buf q = TB_BUF(65536);
	uint64_t bytes = 0;
	char text[WORD_MAX];

	if (!u)
		return;
	u->free = true;
	for (size_t i = 0; i < n; i++)
		bytes += ops[i]->bytes;
	if (n == 1)
		tb_buf_printf(&q, "%s", ops[0]->what);
	else
		tb_buf_str(&q, word_count(n, "operation", text));
	tb_buf_printf(&q, ": delete what is held, %s, FOR GOOD? Nothing brings it back then.",
		      tb_human_bytes(bytes, text));
	view_ask_about(v, empty_agreed, u, undo_free, tb_buf_cstr(&q));
	tb_buf_free(&q);
}
