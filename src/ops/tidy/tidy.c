/* tidy.c - a plan, what it frees, and how it is done. */
#include "config.h"

#include "src/ops/tidy/tidy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/tidy/tidy_parts.h"

#define TREE_DEPTH 64
#define NAMED_MAX 20		/* names in what an operation is called */

#define X(id, word) [id] = word,
static const char *const do_words[] = { TIDY_DO_LIST(X) };
#undef X
#define X(id, word, text) [id] = { word, text },
static const struct { const char *word, *text; } whys[] = { TIDY_WHY_LIST(X) };
#undef X

const char *
tidy_do_word(enum tidy_do d)
{
	return do_words[d];
}

const char *
tidy_why_word(enum tidy_why w)
{
	return whys[w].word;
}

const char *
tidy_why_text(enum tidy_why w)
{
	return whys[w].text;
}

/* ---- a plan ---- */

enum tb_status
tidy_root(struct tidy *t, const char *root, size_t *i, struct tb_err *err)
{
	for (*i = 0; *i < t->roots.n; ++*i)
		if (!strcmp(t->roots.v[*i], root))
			return TB_OK;
	return tb_names_add(&t->roots, root, err);
}

void
tidy_stays(struct tidy *t, enum tidy_why why, uint64_t bytes)
{
	t->stays[why].files++;
	t->stays[why].bytes += bytes;
}

int64_t
tidy_stamp(const char *path)
{
	struct stat st;
	int64_t m, c;

	if (lstat(path, &st))
		return 0;
	m = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	c = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	return m > c ? m : c;
}

bool
tidy_is_young(int64_t stamp, int64_t age)
{
	return stamp > tb_now_ns() - age;
}

uint64_t
tidy_size(const char *path)
{
	struct stat st;

	return lstat(path, &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size;
}

/* What lies between the store and the file are folders of one file system.  Most files lie where
 * the one before did; the journal looks at all of them once more. */
static bool
reachable(struct tidy *t, size_t at, const char *path, const struct stat *is, enum tidy_why *why)
{
	const char *root = t->roots.v[at];
	size_t n = strlen(root), dir = (size_t)(tb_path_name(path) - path);
	bool near = t->near && t->near_root == at && strlen(t->near) == dir &&
		    !strncmp(t->near, path, dir);
	char *copy = near ? NULL : tb_strdup(path);
	struct stat top, st;
	bool ok = copy && !strncmp(path, root, n) && path[n] == '/' && !stat(root, &top);

	*why = TIDY_ELSEWHERE;
	for (char *p = ok ? copy + n + 1 : NULL; ok && (p = strchr(p, '/')); p++) {
		*p = 0;
		ok = !lstat(copy, &st) && S_ISDIR(st.st_mode) && st.st_dev == top.st_dev;
		if (!ok && S_ISLNK(st.st_mode))
			*why = TIDY_LINKED;
		*p = '/';
	}
	if (near)
		return is->st_dev == t->near_dev;
	free(t->near);
	t->near = ok ? tb_strndup(path, dir) : NULL;
	t->near_root = at;
	t->near_dev = ok ? top.st_dev : 0;
	free(copy);
	return ok && is->st_dev == top.st_dev;
}

void
tidy_action_free(struct tidy_action *a)
{
	free(a->model);
	free(a->path);
	free(a->to);
	free(a->text);
}

enum tb_status
tidy_add(struct tidy *t, const struct tidy_new *from, struct tb_err *err)
{
	enum tb_status status = tb_job_check(t->job, err);
	struct tidy_action a = { 0 };
	struct stat st;
	enum tidy_why why = TIDY_ELSEWHERE;
	bool there;

	if (status)
		return status;
	there = !lstat(from->path, &st);
	a = (struct tidy_action){
		.what = from->what, .root = from->root, .path = tb_strdup(from->path),
		.model = tb_strdup(from->model ? from->model : ""),
		.to = from->to ? tb_strdup(from->to) : NULL,
		.text = from->text ? tb_strdup(from->text) : NULL,
		.size = there && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
	};
	if (!a.path || !a.model || (from->to && !a.to) || (from->text && !a.text) ||
	    !tb_grow(&t->v, &t->cap, t->n + 1, sizeof(a))) {
		tidy_action_free(&a);
		return tb_nomem(err);
	}
	if (!there || !reachable(t, a.root, a.path, &st, &why)) {
		tidy_stays(t, why, a.size);
		tidy_action_free(&a);
		return TB_OK;
	}
	if (from->digest)
		memcpy(a.digest, from->digest, sizeof(a.digest));
	t->v[t->n++] = a;
	return TB_OK;
}

void
tidy_free(struct tidy *t)
{
	while (t->n)
		tidy_action_free(&t->v[--t->n]);
	free(t->v);
	free(t->near);
	tb_names_free(&t->names);
	tb_names_free(&t->roots);
	tb_names_free(&t->unread);
	tb_names_free(&t->pulls);
	*t = (struct tidy){ 0 };
}

/* ---- what it frees ---- */

/* A file of a plan: its bytes are free when all of its names go. */
struct file { uint64_t dev, ino, size; nlink_t links; size_t action; };
struct files { struct file *v; size_t n, cap; };

static enum tb_status
files_add(struct files *f, const char *path, size_t action, unsigned depth, struct tb_err *err)
{
	struct tb_names names = { 0 };
	enum tb_status status = TB_OK;
	struct stat st;

	if (lstat(path, &st))
		return TB_OK;		/* gone meanwhile */
	if (S_ISREG(st.st_mode)) {
		if (!tb_grow(&f->v, &f->cap, f->n + 1, sizeof(*f->v)))
			return tb_nomem(err);
		f->v[f->n++] = (struct file){ st.st_dev, st.st_ino, (uint64_t)st.st_size, st.st_nlink,
					      action };
		if (tidy_is_pull(path))	/* most of it may be a hole */
			f->v[f->n - 1].size = fetch_left_there(path);
	}
	if (!S_ISDIR(st.st_mode) || !depth)
		return TB_OK;
	status = tb_names_read(&names, path, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *below = tb_path_join(path, names.v[i]);

		status = below ? files_add(f, below, action, depth - 1, err) : tb_nomem(err);
		free(below);
	}
	tb_names_free(&names);
	return status;
}

static int
by_inode(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->action < y->action ? -1 : x->action > y->action;
}

/* The files of one that is in several follow one another. */
static void
count_models(struct tidy *t)
{
	const struct tidy_action *last = NULL;

	t->models = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct tidy_action *a = &t->v[i];

		if ((a->what != TIDY_REMOVE && a->what != TIDY_REWRITE) || !*a->model || *a->digest)
			continue;
		t->models += !last || last->root != a->root || strcmp(last->model, a->model) != 0;
		last = a;
	}
}

/* What goes is known: sums up what that frees. */
static enum tb_status
tidy_sum(struct tidy *t, struct tb_err *err)
{
	struct files f = { 0 };
	enum tb_status status = TB_OK;

	t->bytes = t->linked = 0;
	count_models(t);
	for (size_t i = 0; i < t->n && !status; i++) {
		struct tidy_action *a = &t->v[i];

		a->bytes = 0;
		a->size = a->what == TIDY_REMOVE ? 0 : a->size;
		if (a->what == TIDY_REMOVE || a->what == TIDY_DELETE)
			status = files_add(&f, a->path, i, TREE_DEPTH, err);
	}
	if (f.n)
		qsort(f.v, f.n, sizeof(*f.v), by_inode);
	for (size_t i = 0, end; i < f.n; i = end) {
		for (end = i; end < f.n && f.v[end].dev == f.v[i].dev && f.v[end].ino == f.v[i].ino;
		     end++)
			if (t->v[f.v[end].action].what == TIDY_REMOVE &&
			    (end == i || f.v[end].action != f.v[end - 1].action))
				t->v[f.v[end].action].size += f.v[end].size;
		if (end - i < f.v[i].links) {
			t->linked += end - i;
			continue;
		}
		t->v[f.v[i].action].bytes += f.v[i].size;
		t->bytes += f.v[i].size;
	}
	free(f.v);
	return status;
}

enum tb_status
tidy_plan(struct tidy *t, struct op_ctx *ctx, const struct tidy_request *req, struct tb_job *job,
	  struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*t = (struct tidy){ .kind = req->kind, .young = req->young, .job = job };
	tb_job_what(job, "looking into the stores");
	for (size_t i = 0; i < req->n && !status; i++)
		status = tb_names_add(&t->names, req->names[i], err);
	if (!status)
		status = req->kind == TIDY_RM ? tidy_rm(t, ctx, err)
		       : req->kind == TIDY_PRUNE ? tidy_prune(t, ctx, err) : tidy_name(t, ctx, err);
	if (!status)
		status = tidy_sum(t, err);
	t->job = NULL;
	if (status)
		tidy_free(t);
	return status;
}

/* ---- doing it ---- */

static int
actions_by_path(const void *a, const void *b)
{
	const struct tidy_action *x = *(const struct tidy_action *const *)a;
	const struct tidy_action *y = *(const struct tidy_action *const *)b;
	int d = strcmp(x->path, y->path);

	return d ? d : (int)x->what - (int)y->what;
}

/* Of what was announced, what is still true: nothing that was not announced is done. */
static enum tb_status
keep_true(struct tidy *t, struct tidy *now, struct tb_err *err)
{
	struct tidy_action **sorted = tb_calloc(now->n + 1, sizeof(*sorted)), **is;
	size_t n = 0;

	if (!sorted)
		return tb_nomem(err);
	for (size_t i = 0; i < now->n; i++)
		sorted[i] = &now->v[i];
	qsort(sorted, now->n, sizeof(*sorted), actions_by_path);
	for (size_t i = 0; i < t->n; i++) {
		struct tidy_action *a = &t->v[i];

		is = bsearch(&a, sorted, now->n, sizeof(*sorted), actions_by_path);
		if (is) {
			char *text = (*is)->text;	/* of what it is to be by now */

			(*is)->text = a->text;
			a->text = text;
			t->v[n++] = *a;
			continue;
		}
		tidy_stays(t, TIDY_CHANGED, a->size);
		tidy_action_free(&t->v[i]);
	}
	t->n = n;
	free(sorted);
	return TB_OK;
}

static enum tb_status
look_again(struct tidy *t, struct op_ctx *ctx, struct tb_job *job, struct tb_err *err)
{
	struct tidy_request req = { .kind = t->kind, .names = (const char *const *)t->names.v,
				    .n = t->names.n, .young = t->young };
	struct tidy now;
	enum tb_status status = tidy_plan(&now, ctx, &req, job, err);

	if (!status) {
		struct tb_names unread = t->unread;

		status = keep_true(t, &now, err);
		t->unread = now.unread;		/* what is known by now */
		now.unread = unread;
	}
	tidy_free(&now);
	return status;
}

static enum tb_status
stage_text(struct journal *j, const struct tidy_action *a, unsigned *slot, struct tb_err *err)
{
	char *path = NULL;
	enum tb_status status = journal_stage(j, slot, &path, err);

	if (!status)
		status = tb_out_file(path, a->text, strlen(a->text), false, err);
	free(path);
	return status;
}

/* "/store/x" -> "x". */
static const char *
below(const struct tidy *t, const struct tidy_action *a, const char *path)
{
	return path + strlen(t->roots.v[a->root]) + 1;
}

/* Folders above a manifest that are empty without it; of others none. */
static unsigned
clears(const char *rel)
{
	return tb_starts(rel, "manifests/") ? 3 : 0;
}

static enum tb_status
add_step(struct tidy *t, struct journal *j, const struct tidy_action *a, struct tb_err *err)
{
	const char *rel = below(t, a, a->path);
	const struct journal_note note = { a->model, a->digest, a->bytes, clears(rel) };
	enum tb_status status;
	unsigned slot;

	switch (a->what) {
	case TIDY_REMOVE:
		return journal_take(j, rel, &note, err);
	case TIDY_MOVE:
		return journal_move(j, rel, below(t, a, a->to), &note, err);
	case TIDY_COPY:
		status = stage_text(j, a, &slot, err);
		return status ? status : journal_put(j, slot, below(t, a, a->to), &note, err);
	case TIDY_REWRITE:
		status = stage_text(j, a, &slot, err);
		return status ? status : journal_swap(j, slot, rel, &note, err);
	default:
		return TB_OK;
	}
}

/* "rm llama3:8b qwen3:4b": models by their names, however they were given. */
static char *
what_is_done(const struct tidy *t)
{
	static const char *const verbs[] = { "rm", "prune", "cp", "mv" };
	bool models = t->kind == TIDY_RM && t->models, names = t->kind == TIDY_CP || t->kind == TIDY_MV;
	size_t n = models ? t->n : t->names.n, shown = 0;
	struct tb_buf b = TB_BUF(64 << 10);
	const char *last = "";

	tb_buf_str(&b, verbs[t->kind]);
	for (size_t i = 0; i < n && shown < NAMED_MAX; i++) {
		const char *name = models ? t->v[i].model : names && !i && t->n ? t->v->model
				 : t->names.v[i];

		if (models && (!*name || *t->v[i].digest || !strcmp(name, last)))
			continue;
		tb_buf_printf(&b, " %.300s", name);
		last = name;
		shown++;
	}
	if (shown == NAMED_MAX && (models ? t->models : n) > shown)
		tb_buf_str(&b, " …");
	return tb_buf_take(&b);
}

/* What another program has named again meanwhile is back, and was not done. */
static void
drop_returned(struct tidy *t, size_t root)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].root == root && t->v[i].what == TIDY_REMOVE && *t->v[i].digest &&
		    tb_exists(t->v[i].path)) {
			t->bytes -= t->v[i].bytes;
			tidy_stays(t, TIDY_USED, t->v[i].size);
			tidy_action_free(&t->v[i]);
		} else {
			t->v[n++] = t->v[i];
		}
	t->n = n;
}

static enum tb_status
do_root(struct tidy *t, size_t root, uint64_t after, const struct store_lock *lock,
	struct tb_job *job, struct tb_err *err)
{
	char *what = what_is_done(t);
	struct journal j = { 0 };
	enum tb_status status = what ? TB_OK : tb_nomem(err);
	uint64_t again = 0;
	bool any = false;

	for (size_t i = 0; i < t->n; i++)
		any |= t->v[i].root == root && t->v[i].what != TIDY_CLEAR;
	if (!status && any)
		status = journal_begin(&j, t->roots.v[root], what, after, err);
	j.job = job;
	for (size_t i = 0; i < t->n && !status && any; i++) {
		status = tb_job_check(job, err);
		if (!status && t->v[i].root == root)
			status = add_step(t, &j, &t->v[i], err);
	}
	if (!status && any)
		status = journal_commit(&j, lock, err);
	if (any && tb_written(status)) {
		t->undo = j.n;
		t->done = true;
		if (tidy_is_ollama(t->roots.v[root]) && t->kind != TIDY_CP)
			(void)!tidy_ollama_again(&j, lock, &again, NULL);
		if (again)
			drop_returned(t, root);
	}
	for (size_t i = 0; i < t->n && tb_written(status); i++)
		if (t->v[i].root == root && t->v[i].what == TIDY_CLEAR)
			(void)!rmdir(t->v[i].path);
	journal_free(&j);
	free(what);
	return status;
}

static void
tell_job(const struct tidy *t, struct tb_job *job)
{
	uint64_t bytes = 0, things = 0;

	for (size_t i = 0; i < t->n; i++) {
		things += t->v[i].what != TIDY_CLEAR;
		bytes += t->v[i].what == TIDY_COPY ? 0 : t->v[i].size;
	}
	tb_job_total(job, bytes, things);
	tb_job_what(job, "moving");
}

/* A store from which nothing goes is not held: it may be one that cannot be. */
static bool
has_actions(const struct tidy *t, size_t root)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].root == root)
			return true;
	return false;
}

/* Nothing of that store is done. */
static void
drop_failed(struct tidy *t, size_t root)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].root != root) {
			t->v[n++] = t->v[i];
			continue;
		}
		t->bytes -= t->v[i].bytes;
		tidy_action_free(&t->v[i]);
	}
	t->n = n;
	count_models(t);
}

/* The first failure of one of several stores, which does not stop the others. */
static void
note_failure(struct tidy *t, size_t root, enum tb_status status, const struct tb_err *why,
	     struct tb_err *first)
{
	if (!tb_written(status))
		drop_failed(t, root);
	if (status && (tb_written(first->code) || status == TB_ECANCEL))
		*first = *why;
}

static void
hold_stores(struct tidy *t, struct store_lock *locks, uint64_t *after, struct tb_err *first)
{
	for (size_t i = 0; i < t->roots.n; i++) {
		uint64_t last = journal_last(t->roots.v[i]);
		struct tb_err why;
		enum tb_status status;

		*after = last > *after ? last : *after;
		if (!has_actions(t, i))
			continue;
		status = store_lock_alone(&locks[i], t->roots.v[i], &why);
		if (!status)
			status = journal_recover(t->roots.v[i], &locks[i], NULL, &why);
		note_failure(t, i, status, &why, first);
	}
}

static enum tb_status
do_stores(struct tidy *t, struct op_ctx *ctx, struct store_lock *locks, struct tb_job *job,
	  struct tb_err *err)
{
	uint64_t after = home_last_operation(ctx, NULL);
	struct tb_err first = { 0 }, why;
	enum tb_status status = TB_OK;

	hold_stores(t, locks, &after, &first);
	if (t->n)
		status = look_again(t, ctx, job, err);
	if (!status)
		status = tidy_sum(t, err);
	if (status)
		return status;
	tell_job(t, job);
	for (size_t i = 0; i < t->roots.n; i++)
		if (has_actions(t, i) && first.code != TB_ECANCEL) {
			status = do_root(t, i, after, &locks[i], job, &why);
			note_failure(t, i, status, &why, &first);
		} else if (first.code == TB_ECANCEL) {
			drop_failed(t, i);
		}
	if (!first.code)
		return TB_OK;
	if (first.code != TB_ESYNC && t->undo)
		(void)tb_wrap(&first, first.code, "done in part (\"tbtui undo %ju\" brings that back)",
			      (uintmax_t)t->undo);
	return tb_pass(err, &first);
}

enum tb_status
tidy_do(struct tidy *t, struct op_ctx *ctx, struct tb_job *job, struct tb_err *err)
{
	struct store_lock *locks = tb_calloc(t->roots.n + 1, sizeof(*locks));
	enum tb_status status;

	if (!locks)
		return tb_nomem(err);
	for (size_t i = 0; i < t->roots.n; i++)
		locks[i] = STORE_UNLOCKED;
	status = do_stores(t, ctx, locks, job, err);
	for (size_t i = 0; i < t->roots.n; i++)
		store_unlock(&locks[i]);
	free(locks);
	return status;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum tb_status
tidy_only(struct tidy *t, const char *const *paths, size_t n, struct tb_err *err)
{
	const char **sorted = tb_calloc(n + 1, sizeof(*sorted));
	size_t kept = 0;

	if (!sorted)
		return tb_nomem(err);
	memcpy(sorted, paths, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_text);
	for (size_t i = 0; i < t->n; i++) {
		const char *path = t->v[i].path;

		if (bsearch(&path, sorted, n, sizeof(*sorted), by_text))
			t->v[kept++] = t->v[i];
		else
			tidy_action_free(&t->v[i]);
	}
	free(sorted);
	t->n = kept;
	memset(t->stays, 0, sizeof(t->stays));
	return tidy_sum(t, err);
}
