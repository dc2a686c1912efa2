/* tidy_ollama.c - what may be taken away from an Ollama store.
 *
 * Ollama knows no locks.  It writes a model's manifest last, and touches blobs that it uses
 * again: what is younger than an hour, or lies beside a running download, may be needed by a
 * manifest that is about to be written.  So is what an unreadable manifest may name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/search.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/tidy/tidy_parts.h"
#include "src/store/ollama.h"

/* Who names a digest: a manifest that stays, or one of those that go. */
struct named { uint8_t digest[TB_SHA256_LEN]; uint32_t goes; };	/* goes: 0, or 1 + its number */

struct ollama_view {
	const struct model_loc *locs;	/* of the manifests that go; borrowed */
	struct goes { uint64_t dev, ino; int64_t stamp; } *id;	/* of them; owned */
	size_t nlocs;
	struct named *v;		/* sorted; owned */
	size_t n, cap;
	uint32_t now;			/* whose digests are added */
	bool failed;			/* for want of memory */
	bool unclear, shared, download;
};

bool
tidy_is_ollama(const char *root)
{
	const struct store_kind *kind = store_kind_of(root, false);

	return kind && kind->writable;
}

/* ---- who names what ---- */

static void
name_digest(void *arg, const char *digest)
{
	struct ollama_view *w = arg;
	struct named d = { .goes = w->now };

	if (!tb_digest_bytes(digest, d.digest))
		return;
	if (tb_grow(&w->v, &w->cap, w->n + 1, sizeof(d)))
		w->v[w->n++] = d;
	else
		w->failed = true;
}

static enum tb_status
see_manifest(void *arg, const char *path, const struct manifest *m, struct tb_err *err)
{
	struct ollama_view *w = arg;

	struct tb_ident id;

	w->now = 0;
	if (w->nlocs && !tb_file_ident(path, &id, NULL))
		for (size_t i = 0; i < w->nlocs && !w->now; i++)
			if (w->id[i].ino == id.ino && w->id[i].dev == id.dev)
				w->now = (uint32_t)i + 1;
	ollama_each_digest(m, name_digest, w);
	return w->failed ? tb_nomem(err) : TB_OK;
}

static int
by_digest(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int d = memcmp(x->digest, y->digest, sizeof(x->digest));

	return d ? d : x->goes < y->goes ? -1 : x->goes > y->goes;
}

/* The first of those that name it, NULL: nobody. */
static const struct named *
who_names(const struct ollama_view *w, const uint8_t digest[TB_SHA256_LEN])
{
	size_t at = TB_FIRST(w->n, i, memcmp(w->v[i].digest, digest, TB_SHA256_LEN) < 0);

	return at < w->n && !memcmp(w->v[at].digest, digest, TB_SHA256_LEN) ? &w->v[at] : NULL;
}

/* ---- the store ---- */

/* Does somebody download into it?  Who writes such a file does so all the time. */
static bool
downloads(const char *dir, const struct tb_names *names)
{
	char digest[TB_DIGEST_MAX];
	bool any = false;

	for (size_t i = 0; i < names->n && !any; i++) {
		char *path = tb_path_join(dir, names->v[i]);

		any = !path || (store_ollama.file(path, digest) == STORE_PARTIAL &&
				tidy_is_young(tidy_stamp(path), TIDY_HOUR));
		free(path);
	}
	return any;
}

static void
view_free(struct ollama_view *w)
{
	free(w->v);
	free(w->id);
}

static enum tb_status
view_open(struct ollama_view *w, struct tidy *t, const char *root, const char *blobs,
	  struct tb_names *names, const struct model_loc *locs, size_t n, struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status;

	*w = (struct ollama_view){ .locs = locs, .nlocs = n, .shared = ollama_blobs_shared(root),
				   .id = tb_calloc(n + 1, sizeof(*w->id)) };
	if (!w->id)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct tb_ident id;

		if (!tb_file_ident(locs[i].path, &id, NULL))
			w->id[i] = (struct goes){ id.dev, id.ino, tidy_stamp(locs[i].path) };
	}
	status = ollama_manifests(root, see_manifest, w, &why);
	if (status == TB_ENOMEM)
		return tb_pass(err, &why);
	if (status) {
		w->unclear = true;
		if (tb_names_add(&t->unread, why.msg, err))
			return TB_ENOMEM;
	}
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_digest);
	status = tb_names_read(names, blobs, err);
	w->download = !status && (downloads(blobs, names) || tidy_pulls_run(root));
	return status == TB_ENOENT ? TB_OK : status;
}

/* May a blob go that nobody who stays names?  With `since`, what has not been touched since
 * then is not on its way. */
static bool
may_go(const struct tidy *t, const struct ollama_view *w, const char *path, int64_t since,
       enum tidy_why *why)
{
	int64_t stamp = tidy_stamp(path);

	if (w->unclear)
		*why = TIDY_UNCLEAR;
	else if (w->shared)
		*why = TIDY_LINKED;
	else if (w->download && !t->young)
		*why = TIDY_DOWNLOAD;
	else if (!t->young && tidy_is_young(stamp, TIDY_HOUR) && stamp > since)
		*why = TIDY_YOUNG;
	else
		return true;
	return false;
}

/* ---- rm ---- */

struct rm { struct tidy *t; const char *root; size_t at; };

/* The blob that named[i] and its likes name, if it is there. */
static enum tb_status
rm_blob(const struct rm *r, const struct ollama_view *w, const struct named *d, size_t n,
	struct tb_err *err)
{
	char digest[TB_DIGEST_MAX], *path;
	enum tb_status status = TB_OK;
	enum tidy_why why = TIDY_USED;
	int64_t since = 0;
	bool goes;

	tb_digest_text("sha256:", d->digest, TB_SHA256_LEN, digest);
	path = ollama_blob_path(r->root, digest);
	if (!path)
		return tb_nomem(err);
	for (size_t i = 0; i < n && d[i].goes; i++)
		since = w->id[d[i].goes - 1].stamp > since ? w->id[d[i].goes - 1].stamp : since;
	if (!tb_exists(path) || !d[n - 1].goes)
		goto out;		/* nothing to take; or none of those that go names it */
	goes = d->goes && may_go(r->t, w, path, since, &why);
	if (goes)
		status = tidy_add(r->t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
				  .model = w->locs[d->goes - 1].name, .digest = digest,
				  .root = r->at }, err);
	else
		tidy_stays(r->t, why, tidy_size(path));
out:
	free(path);
	return status;
}

/* A manifest that cannot be taken stays, and so does what it names. */
static void
manifest_stays(struct ollama_view *w, size_t loc)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].goes == loc + 1)
			w->v[i].goes = 0;
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_digest);
}

enum tb_status
tidy_ollama_rm(struct tidy *t, const char *root, const struct model_loc *locs, size_t n,
	       struct tb_err *err)
{
	struct rm r = { .t = t, .root = root };
	char *blobs = tb_path_join(root, "blobs");
	struct tb_names names = { 0 };
	struct ollama_view w = { 0 };
	enum tb_status status = blobs ? tidy_root(t, root, &r.at, err) : tb_nomem(err);

	if (!status)
		status = view_open(&w, t, root, blobs, &names, locs, n, err);
	for (size_t i = 0; i < n && !status; i++) {
		size_t before = t->n;

		status = tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = locs[i].path,
				  .model = locs[i].name, .root = r.at }, err);
		if (!status && t->n == before)
			manifest_stays(&w, i);
	}
	for (size_t i = 0, end; i < w.n && !status; i = end) {
		for (end = i + 1; end < w.n && !memcmp(w.v[i].digest, w.v[end].digest, TB_SHA256_LEN);
		     end++)
			;
		status = rm_blob(&r, &w, &w.v[i], end - i, err);
	}
	tb_names_free(&names);
	view_free(&w);
	free(blobs);
	return status;
}

/* ---- prune ---- */

/* An entry of blobs/. */
static enum tb_status
prune_entry(struct tidy *t, const struct ollama_view *w, size_t root, const char *path,
	    struct tb_err *err)
{
	char digest[TB_DIGEST_MAX] = "";
	uint8_t bytes[TB_SHA256_LEN];
	enum store_file kind = store_ollama.file(path, digest);
	enum tidy_why why = TIDY_YOUNG;
	bool goes = false;

	if (tb_is_work(tb_path_name(path)))
		kind = STORE_TEMP;
	else if (kind == STORE_FOREIGN || tb_is_dir(path))
		return TB_OK;
	if (kind == STORE_BLOB) {
		if (tb_digest_bytes(digest, bytes) && who_names(w, bytes))
			return TB_OK;
		goes = may_go(t, w, path, 0, &why);
	} else {
		*digest = 0;
		if (w->shared)
			why = TIDY_LINKED;
		else if (kind == STORE_TEMP && leftover_in_use(path))
			return TB_OK;
		else
			goes = !tidy_is_young(tidy_stamp(path), TIDY_DAY);
		if (!goes && why == TIDY_YOUNG)
			why = TIDY_DOWNLOAD;
	}
	if (goes)
		return tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
				.digest = digest, .root = root }, err);
	tidy_stays(t, why, tidy_size(path));
	return TB_OK;
}

/* Folders of manifests/ in which there is nothing, or only such folders; the lowest first. */
static enum tb_status
prune_folders(struct tidy *t, size_t root, const char *dir, unsigned depth, bool *empty,
	      struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, dir, err);

	*empty = !status;
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path = tb_path_join(dir, names.v[i]);
		bool below = false;

		if (!path)
			status = tb_nomem(err);
		else if (depth < 4 && tb_is_dir(path))
			status = prune_folders(t, root, path, depth + 1, &below, err);
		*empty &= below;
		free(path);
	}
	tb_names_free(&names);
	if (status == TB_ENOENT || status == TB_EIO) {		/* nobody can say: it stays */
		*empty = false;
		return TB_OK;
	}
	/* Who makes a folder is about to write a manifest into it. */
	if (!status && *empty && (!depth || tidy_is_young(tidy_stamp(dir), TIDY_HOUR)))
		*empty = false;
	else if (!status && *empty)
		status = tidy_add(t, &(struct tidy_new){ .what = TIDY_CLEAR, .path = dir, .root = root },
				  err);
	return status;
}

enum tb_status
tidy_ollama_prune(struct tidy *t, const char *root, struct tb_err *err)
{
	char *blobs = tb_path_join(root, "blobs"), *manifests = tb_path_join(root, "manifests");
	char *pulls = tb_path_join(root, FETCH_DIR);
	struct tb_names names = { 0 };
	struct ollama_view w = { 0 };
	size_t at;
	bool empty;
	enum tb_status status = blobs && manifests && pulls ? tidy_root(t, root, &at, err)
							    : tb_nomem(err);

	if (!status)
		status = view_open(&w, t, root, blobs, &names, NULL, 0, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path = tb_path_join(blobs, names.v[i]);

		status = path ? prune_entry(t, &w, at, path, err) : tb_nomem(err);
		free(path);
	}
	if (!status)
		status = prune_folders(t, at, manifests, 0, &empty, err);
	if (!status)
		status = tidy_pulls_prune(t, at, pulls, err);
	tb_names_free(&names);
	view_free(&w);
	free(pulls);
	free(blobs);
	free(manifests);
	return status;
}

/* ---- afterwards ---- */

struct again { struct journal *j; bool *named; };

/* `digest` is one of few that were taken, seldom any. */
static void
mark_again(void *arg, const char *digest)
{
	struct again *a = arg;
	size_t at = TB_FIRST(a->j->nsteps, i, strcmp(a->j->steps[i].digest, digest) < 0);

	for (; at < a->j->nsteps && !strcmp(a->j->steps[at].digest, digest); at++)
		a->named[at] = true;
}

static int
step_by_digest(const void *a, const void *b)
{
	return strcmp(((const struct journal_step *)a)->digest,
		      ((const struct journal_step *)b)->digest);
}

enum tb_status
tidy_ollama_again(struct journal *j, const struct store_lock *lock, uint64_t *n,
		  struct tb_err *err)
{
	struct again a = { j, tb_calloc(j->nsteps + 1, sizeof(*a.named)) };
	enum tb_status status = a.named ? TB_OK : tb_nomem(err);

	*n = 0;
	if (!status) {		/* they are done, and their order matters no more to us */
		qsort(j->steps, j->nsteps, sizeof(*j->steps), step_by_digest);
		status = ollama_named(j->root, mark_again, &a, err);
	}
	for (size_t i = 0; i < j->nsteps && a.named; i++) {
		const struct journal_step *s = &j->steps[i];

		/* All blobs, where it is not known any more what is named. */
		if (s->what == JOURNAL_TAKE && *s->digest && (a.named[i] || status))
			*n += !journal_return(j, i, lock, NULL);
	}
	free(a.named);
	return status;
}
