/* tidy_rm.c - which models are meant, and what goes with each. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/tidy/tidy_parts.h"
#include "src/store/hub.h"
#include "src/store/split.h"

struct dev_ino { uint64_t dev, ino; };
struct locs {
	struct model_loc *v;
	struct dev_ino *at;		/* where each of v lies */
	size_t n, cap, at_cap;
};

/* Each once, however many names were given for it. */
static enum tb_status
locs_add(struct locs *l, const struct model_loc *loc, struct tb_err *err)
{
	struct stat st;

	if (stat(loc->path, &st))
		return tb_fail_errno(err, "%s", loc->path);
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].ino == st.st_ino && l->at[i].dev == st.st_dev)
			return TB_OK;
	if (!tb_grow(&l->v, &l->cap, l->n + 1, sizeof(*l->v)) ||
	    !tb_grow(&l->at, &l->at_cap, l->n + 1, sizeof(*l->at)))
		return tb_nomem(err);
	if (model_loc_copy(&l->v[l->n], loc, err))
		return TB_ENOMEM;
	l->at[l->n++] = (struct dev_ino){ st.st_dev, st.st_ino };
	return TB_OK;
}

static void
locs_free(struct locs *l)
{
	while (l->n)
		model_loc_free(&l->v[--l->n]);
	free(l->v);
	free(l->at);
}

/* ---- names ---- */

struct glob { struct locs *to; const char *pattern; };

static enum tb_status
glob_match(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	const struct glob *g = arg;
	size_t n = strlen(loc->name);
	char *plain = tb_ends(loc->name, ":latest") ? tb_strndup(loc->name, n - 7) : tb_strdup(loc->name);
	bool yes = plain && (tb_glob(g->pattern, loc->name) || tb_glob(g->pattern, plain));

	if (!plain)
		return tb_nomem(err);
	free(plain);
	return yes ? locs_add(g->to, loc, err) : TB_OK;
}

static enum tb_status
find_models(struct locs *out, struct op_ctx *ctx, const char *name, struct tb_err *err)
{
	struct glob g = { out, name };
	struct unread unread = { 0 };
	enum tb_status status = TB_OK;
	struct model_loc loc;

	if (!strpbrk(name, "*?[") || tb_exists(name)) {
		status = store_resolve(&ctx->roots, name, &loc, err);
		if (status)
			return status;
		status = locs_add(out, &loc, err);
		model_loc_free(&loc);
		return status;
	}
	for (size_t i = 0; i < ctx->roots.n && !status; i++)
		if (!store_root_away(&ctx->roots, i))
			status = store_walk(ctx->roots.path[i], glob_match, &g, &unread, err);
	unread_free(&unread);
	return status;
}

/* ---- Ollama ---- */

static int
by_root(const void *a, const void *b)
{
	const struct model_loc *x = a, *y = b;
	int d = strcmp(x->root, y->root);

	return d ? d : strcmp(x->path, y->path);
}

/* locs[0 .. n) are of one store. */
static enum tb_status
rm_ollama(struct tidy *t, const struct model_loc *locs, size_t n, struct tb_err *err)
{
	if (!*locs->root || !tidy_is_ollama(locs->root))
		return tb_fail(err, TB_EUSAGE, "%s: is a manifest in no store; remove the file",
			       locs->path);
	return tidy_ollama_rm(t, locs->root, locs, n, err);
}

/* ---- Hugging Face ---- */

struct hub_rm { struct tidy *t; size_t root; const char *model; struct tb_names orphans; };

static enum tb_status
note_orphan(void *arg, const char *path, struct tb_err *err)
{
	struct hub_rm *r = arg;

	return tb_names_add(&r->orphans, path, err);
}

static enum tb_status
rm_hub_blob(void *arg, const char *path, struct tb_err *err)
{
	struct hub_rm *r = arg;
	char digest[TB_DIGEST_MAX] = "";

	if (tb_names_have(&r->orphans, path))
		return TB_OK;		/* is none of this revision's */
	if (!hub_digest(path, digest) || !tb_starts(digest, "sha256:"))
		*digest = 0;
	return tidy_add(r->t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
			.model = r->model, .digest = digest, .root = r->root }, err);
}

/* The names in refs/ (refs/pr/1 as well) that mean the revision. */
static enum tb_status
rm_hub_refs(struct hub_rm *r, const char *dir, const char *rev, unsigned depth,
	    struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, dir, err);

	for (size_t i = 0; i < names.n && !status; i++) {
		char *path = tb_path_join(dir, names.v[i]), *text = NULL;

		if (!path)
			status = tb_nomem(err);
		else if (tb_is_dir(path))
			status = depth ? rm_hub_refs(r, path, rev, depth - 1, err) : TB_OK;
		else if (!tb_file_slurp(path, 256, &text, NULL, NULL) &&
			 strcspn(text, " \r\n\t") == strlen(rev) && tb_starts(text, rev))
			status = tidy_add(r->t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
					  .root = r->root }, err);
		free(text);
		free(path);
	}
	tb_names_free(&names);
	return status == TB_ENOENT ? TB_OK : status;
}

static enum tb_status
rm_hub_revision(struct hub_rm *r, const char *repo, const char *rev, struct tb_err *err)
{
	char *snapshot = tb_asprintf("%s/snapshots/%s", repo, rev), *refs = tb_path_join(repo, "refs");
	enum tb_status status = snapshot && refs ? TB_OK : tb_nomem(err);

	if (!status)
		status = tidy_add(r->t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = snapshot,
				  .model = r->model, .root = r->root }, err);
	if (!status)
		status = rm_hub_refs(r, refs, rev, 4, err);
	if (!status)
		status = hub_left(repo, note_orphan, r, err);
	tb_names_sort(&r->orphans);
	if (!status)
		status = hub_left_without(repo, rev, rm_hub_blob, r, err);
	tb_names_free(&r->orphans);
	free(snapshot);
	free(refs);
	return status;
}

/* A download that goes on would find its repository gone. */
static enum tb_status
hub_downloads(const char *repo, bool *yes, struct tb_err *err)
{
	char *blobs = tb_path_join(repo, "blobs");
	struct tb_names names = { 0 };
	enum tb_status status = blobs ? tb_names_read(&names, blobs, err) : tb_nomem(err);

	*yes = false;
	for (size_t i = 0; i < names.n; i++) {
		char *path = store_is_partial(names.v[i]) ? tb_path_join(blobs, names.v[i]) : NULL;

		*yes |= path && tidy_is_young(tidy_stamp(path), TIDY_HOUR);
		free(path);
	}
	tb_names_free(&names);
	free(blobs);
	return status == TB_ENOENT ? TB_OK : status;
}

/* `repo` is a folder of the cache: its last revision takes it along. */
static enum tb_status
rm_hub(struct tidy *t, const struct model_loc *loc, const char *repo, struct tb_err *err)
{
	const char *rest = loc->path + strlen(repo) + strlen("/snapshots/");
	char *rev = tb_strndup(rest, strcspn(rest, "/")), *cache = tb_path_parent(repo);
	char *snapshots = tb_path_join(repo, "snapshots");
	struct hub_rm r = { .t = t, .model = loc->name };
	struct tb_names revs = { 0 };
	enum tb_status status = rev && cache && snapshots ? tidy_root(t, cache, &r.root, err)
							  : tb_nomem(err);
	bool busy = false;

	if (!status)
		status = hub_downloads(repo, &busy, err);
	if (!status && busy && !t->young)
		status = tb_fail(err, TB_EUSAGE, "%s: a download is under way there; remove it when "
				 "that has ended, or with --young", repo);
	if (!status)
		status = tb_names_read(&revs, snapshots, err);
	if (!status && revs.n > 1)
		status = rm_hub_revision(&r, repo, rev, err);
	else if (!status)
		status = tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = repo,
				  .model = loc->name, .root = r.root }, err);
	tb_names_free(&revs);
	free(snapshots);
	free(cache);
	free(rev);
	return status;
}

/* ---- folders and files ---- */

/* Blobs are taken with models, or by prune. */
static bool
is_blob(const char *path)
{
	char *dir = tb_path_parent(path), *above = dir ? tb_path_parent(dir) : NULL;
	char digest[TB_DIGEST_MAX];
	bool yes = dir && above && digest_parse(tb_path_name(path), digest) &&
		   (!strcmp(tb_path_name(dir), "blobs") || !strcmp(tb_path_name(above), "blobs"));

	free(above);
	free(dir);
	return yes;
}

char *
tidy_store_of(const struct op_ctx *ctx, const char *path)
{
	char *dir = tb_path_parent(path);
	size_t i = dir ? store_roots_above(&ctx->roots, dir) : ctx->roots.n;

	if (i == ctx->roots.n)
		return dir;
	free(dir);
	return tb_strdup(ctx->roots.path[i]);
}

/* A file, and those that are one model with it. */
static enum tb_status
rm_files(struct tidy *t, const struct model_loc *loc, size_t root, struct tb_err *err)
{
	char *dir = tb_path_parent(loc->path);
	struct tb_names names = { 0 };
	enum tb_status status = dir ? tb_names_read(&names, dir, err) : tb_nomem(err);

	for (size_t i = 0; i < names.n && !status; i++) {
		char *path;

		if (strcmp(names.v[i], tb_path_name(loc->path)) != 0 &&
		    !split_same(names.v[i], tb_path_name(loc->path)))
			continue;
		path = tb_path_join(dir, names.v[i]);
		status = path ? tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
					 .model = loc->name, .root = root }, err) : tb_nomem(err);
		free(path);
	}
	tb_names_free(&names);
	free(dir);
	return status;
}

static enum tb_status
rm_plain(struct tidy *t, struct op_ctx *ctx, const struct model_loc *loc, struct tb_err *err)
{
	char *root = tidy_store_of(ctx, loc->path);
	enum tb_status status = TB_OK;
	size_t at = 0;

	if (is_blob(loc->path))
		status = tb_fail(err, TB_EUSAGE, "%s: is a blob; rm takes models, and prune the blobs "
				 "that no model uses", loc->path);
	else if (ctx->roots.given && store_roots_find(&ctx->roots, loc->path) < ctx->roots.n)
		status = tb_fail(err, TB_EUSAGE, "%s: is the store itself; name the folder that it is "
				 "in with --store", loc->path);
	else if (!root)
		status = tb_nomem(err);
	if (!status)
		status = tidy_root(t, root, &at, err);
	if (!status)
		status = kind_is_folder(loc->kind)
		       ? tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = loc->path,
				  .model = loc->name, .root = at }, err)
		       : rm_files(t, loc, at, err);
	free(root);
	return status;
}

/* ---- all ---- */

/* As strcmp(), but a folder comes right before what is in it. */
static int
by_place(const void *a, const void *b)
{
	const struct tidy_action *x = *(const struct tidy_action *const *)a;
	const struct tidy_action *y = *(const struct tidy_action *const *)b;
	const char *p = x->path, *q = y->path;

	while (*p && *p == *q) {
		p++;
		q++;
	}
	if (*p == *q)
		return (x > y) - (x < y);
	if (!*p || !*q)
		return *p ? 1 : -1;
	return *p == '/' ? -1 : *q == '/' ? 1 : (unsigned char)*p - (unsigned char)*q;
}

/* What was named twice, or lies in a folder that goes, goes once. */
static enum tb_status
rm_once(struct tidy *t, struct tb_err *err)
{
	struct tidy_action **sorted = tb_calloc(t->n + 1, sizeof(*sorted));
	const struct tidy_action *last = NULL;
	bool *again = tb_calloc(t->n + 1, sizeof(*again));
	size_t n = 0;

	for (size_t i = 0; sorted && i < t->n; i++)
		sorted[i] = &t->v[i];
	if (sorted && again)
		qsort(sorted, t->n, sizeof(struct tidy_action *), by_place);
	for (size_t i = 0; sorted && again && i < t->n; i++) {
		if (last && tb_path_inside(sorted[i]->path, last->path, strlen(last->path)))
			again[sorted[i] - t->v] = true;
		else
			last = sorted[i];
	}
	for (size_t i = 0; sorted && again && i < t->n; i++)
		if (again[i])
			tidy_action_free(&t->v[i]);
		else
			t->v[n++] = t->v[i];
	if (sorted && again)
		t->n = n;
	free(sorted);
	free(again);
	return sorted && again ? TB_OK : tb_nomem(err);
}

static enum tb_status
rm_one(struct tidy *t, struct op_ctx *ctx, const struct model_loc *loc, struct tb_err *err)
{
	const char *path;
	size_t n;
	const struct store_kind *kind = store_of_model(loc, &path, &n);
	enum tb_status status;
	char *repo;

	if (kind && kind->manifests_are_blobs)
		return tidy_oci_rm(t, loc, err);
	if (kind != &store_hub)
		return rm_plain(t, ctx, loc, err);
	repo = tb_strndup(path, n);
	status = repo ? rm_hub(t, loc, repo, err) : tb_nomem(err);
	free(repo);
	return status;
}

enum tb_status
tidy_rm(struct tidy *t, struct op_ctx *ctx, struct tb_err *err)
{
	struct locs l = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < t->names.n && !status; i++)
		status = find_models(&l, ctx, t->names.v[i], err);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_root);
	for (size_t i = 0, end; i < l.n && !status; i = end) {
		bool ollama = kind_store(l.v[i].kind) == &store_ollama;

		for (end = i + 1; ollama && end < l.n && kind_store(l.v[end].kind) == &store_ollama &&
		     !strcmp(l.v[end].root, l.v[i].root); end++)
			;
		status = ollama ? rm_ollama(t, &l.v[i], end - i, err) : rm_one(t, ctx, &l.v[i], err);
	}
	locs_free(&l);
	return status ? status : rm_once(t, err);
}
