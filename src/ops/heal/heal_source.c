/* heal_source.c - files that may have the bytes of those that are damaged: by name or last
 * hash, by size, and then by hashing them.  Whatever lies in a folder that was named is looked
 * at with stat() first, and only regular files are opened. */
#include "config.h"

#include "src/ops/heal/heal_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/store/hub.h"
#include "src/store/journal.h"

#define FOLDER_DEPTH 24
#define FOLDER_ENTRIES 4000000u		/* more is a mistake, or malice */

static enum tb_status
add_file(struct heal_run *r, const struct heal_source *s, const char *path,
	 const struct tb_ident *id, const char *known, struct tb_err *err)
{
	struct heal_file f = { .from = s->word, .id = *id };

	if (!id->size)
		return TB_OK;		/* nothing is no source of anything */
	f.path = tb_arena_str(&r->plan->mem, path);
	f.known = *known ? tb_arena_str(&r->plan->mem, known) : "";
	if (!f.path || !f.known || !tb_grow(&r->files, &r->cap, r->nfiles + 1, sizeof(*r->files)))
		return tb_nomem(err);
	r->files[r->nfiles++] = f;
	return TB_OK;
}

/* What the names of files in stores say of their bytes, wherever a store was copied to. */
static const char *
claimed(const char *path, char out[TB_DIGEST_MAX])
{
	const char *name = tb_path_name(path);
	bool plain = strlen(name) == 64;
	char text[TB_DIGEST_MAX];
	uint8_t bytes[TB_SHA256_LEN];

	if (hub_digest(path, out))
		return out;
	*out = 0;
	if (plain || (strlen(name) == 71 && (tb_starts(name, "sha256-") ||
					     tb_starts(name, "sha256:")))) {
		memcpy(text, "sha256:", 7);
		memcpy(text + 7, plain ? name : name + 7, 65);
		if (tb_digest_bytes(text, bytes))
			memcpy(out, text, TB_DIGEST_MAX);
	}
	return out;
}

/* ---- folders ---- */

struct folder {
	struct heal_run *r;
	const struct heal_source *s;
	const char *top;
	uint64_t left;			/* entries that it may have */
};

static enum tb_status walk_entries(struct folder *w, const char *dir, unsigned depth,
				   struct tb_err *err);

/* Links to files are followed, as caches have them; those to folders are not, which may lead
 * in a circle. */
static enum tb_status
walk_entry(struct folder *w, const char *path, unsigned depth, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct tb_ident id;
	struct stat st;

	if (lstat(path, &st))
		return TB_OK;
	if (S_ISDIR(st.st_mode))
		return depth ? walk_entries(w, path, depth - 1, err) : TB_OK;
	if ((!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) || tb_file_ident(path, &id, NULL))
		return TB_OK;
	return add_file(w->r, w->s, path, &id, claimed(path, digest), err);
}

static enum tb_status
walk_entries(struct folder *w, const char *dir, unsigned depth, struct tb_err *err)
{
	struct tb_names names = { 0 };
	struct tb_err why;
	enum tb_status status = tb_names_read(&names, dir, &why);

	if (status == TB_ENOMEM)
		return tb_pass(err, &why);
	for (size_t i = 0, n = names.n; !status && i < n; i++) {
		char *path = tb_path_join(dir, names.v[i]);

		status = !path ? tb_nomem(err) : tb_job_check(w->r->job, err);
		if (!status && !w->left--)
			status = tb_fail(err, TB_ELIMIT, "%s: more than %u files are in it; name a "
					 "folder with less", w->top, FOLDER_ENTRIES);
		if (!status)
			status = walk_entry(w, path, depth, err);
		free(path);
		if (status) {
			tb_names_free(&names);
			return status;
		}
	}
	tb_names_free(&names);
	return TB_OK;	/* what cannot be read is no source */
}

static enum tb_status
add_folder(struct heal_run *r, const struct heal_source *s, const char *dir, struct tb_err *err)
{
	struct folder w = { r, s, dir, FOLDER_ENTRIES };

	return walk_entries(&w, dir, FOLDER_DEPTH, err);
}

/* ---- the sources ---- */

static enum tb_status
add_twin(struct heal_run *r, const struct model_loc *loc, bool given, struct tb_err *err)
{
	if (!tb_grow(&r->twins, &r->twins_cap, r->ntwins + 1, sizeof(*r->twins)))
		return tb_nomem(err);
	r->twins[r->ntwins].given = given;
	return model_loc_copy(&r->twins[r->ntwins++].loc, loc, err);
}

static enum tb_status
twin_walked(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	return add_twin(arg, loc, true, err);
}

static enum tb_status
add_model_files(struct heal_run *r, const struct heal_source *s, const struct model_loc *loc,
		struct tb_err *err)
{
	struct model *m;
	enum tb_status status = model_open(&m, loc, err);

	if (status)
		return status;
	for (size_t i = 0; !status && i < m->nfiles; i++)
		if (!m->files[i].missing && !m->files[i].unread)
			status = add_file(r, s, m->files[i].path, &m->files[i].id,
					  m->files[i].digest, err);
	model_free(m);
	return status;
}

static enum tb_status
list_one(struct heal_run *r, const struct heal_source *s, const char *given, struct tb_err *err)
{
	bool folder = tb_is_dir(given);
	struct model_loc loc = { 0 };
	struct unread unread = { 0 };
	struct tb_ident id;
	char digest[TB_DIGEST_MAX];
	struct tb_err why;
	enum tb_status status, model;

	if (folder)
		status = add_folder(r, s, given, err);
	else if (tb_exists(given))
		status = (status = tb_file_ident(given, &id, err)) ? status
		       : add_file(r, s, given, &id, claimed(given, digest), err);
	else
		status = TB_ENOENT;
	if (status && status != TB_ENOENT)
		return status;
	model = store_resolve(&r->ctx->roots, given, &loc, &why);
	if (model == TB_ENOMEM || (status && model))
		return tb_pass(err, &why);
	if (status)
		status = add_model_files(r, s, &loc, err);
	if (!status && !model)
		status = add_twin(r, &loc, true, err);
	else if (!status && folder)
		status = store_walk(given, twin_walked, r, &unread, err);
	model_loc_free(&loc);
	unread_free(&unread);
	return status;
}

static enum tb_status
list_given(struct heal_run *r, const struct heal_source *s, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < r->req->nfrom; i++)
		if (!heal_is_address(r->req->from[i]))
			status = list_one(r, s, r->req->from[i], err);
	for (size_t i = 0; i < r->nfiles; i++)
		r->files[i].given = true;
	return status;
}

/* Files of models, and blobs that lie beside them. */
static enum tb_status
list_content(struct heal_run *r, const struct heal_source *s, struct tb_err *err)
{
	bool used = !strcmp(s->word, "model");
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < r->content.n; i++) {
		const struct content_file *f = &r->content.files[i];

		if (!f->missing && !f->unread && (f->model != CONTENT_NONE) == used)
			status = add_file(r, s, f->path, &f->id, content_known(f), err);
	}
	return status;
}

static enum tb_status
list_models(struct heal_run *r, const struct heal_source *s, struct tb_err *err)
{
	enum tb_status status = list_content(r, s, err);

	for (size_t i = 0; !status && i < r->content.nmodels; i++)
		if (!r->content.models[i].failure)
			status = add_twin(r, &r->content.models[i].loc, false, err);
	return status;
}

static enum tb_status
list_held(struct heal_run *r, const struct heal_source *s, const char *root, struct tb_err *err)
{
	uint64_t *numbers = NULL;
	size_t n = 0;
	enum tb_status status = TB_OK;

	if (journal_list(root, &numbers, &n, NULL))
		return TB_OK;
	for (size_t i = 0; !status && i < n; i++) {
		char *dir = tb_asprintf("%s/" JOURNAL_DIR "/%ju", root, (uintmax_t)numbers[i]);

		status = dir ? add_folder(r, s, dir, err) : tb_nomem(err);
		free(dir);
	}
	free(numbers);
	return status;
}

static enum tb_status
list_quarantines(struct heal_run *r, const struct heal_source *s, struct tb_err *err)
{
	struct tb_names roots;
	enum tb_status status = home_quarantines(r->ctx, &roots, err);

	for (size_t i = 0; !status && i < r->content.n; i++) {
		const struct content_file *f = &r->content.files[i];
		char *store = f->wanted ? content_store(&r->content, f) : NULL;

		if (store && (!roots.n || strcmp(roots.v[roots.n - 1], store) != 0))
			status = tb_names_add(&roots, store, err);
		free(store);
	}
	tb_names_sort(&roots);
	for (size_t i = 0; !status && i < roots.n; i++)
		if (!i || strcmp(roots.v[i - 1], roots.v[i]) != 0)
			status = list_held(r, s, roots.v[i], err);
	tb_names_free(&roots);
	return status;
}

/* In the order in which they are asked. */
static const struct heal_source sources[] = {
	{ "given", list_given },
	{ "model", list_models },
	{ "blob", list_content },
	{ "quarantine", list_quarantines },
};

static int
by_size(const void *a, const void *b)
{
	const struct heal_file *x = *(struct heal_file *const *)a, *y = *(struct heal_file *const *)b;

	if (x->id.size != y->id.size)
		return x->id.size < y->id.size ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int
by_digest(const void *a, const void *b)
{
	const struct heal_file *x = *(struct heal_file *const *)a, *y = *(struct heal_file *const *)b;
	int d = strcmp(x->known, y->known);

	return d ? d : x < y ? -1 : x > y;
}

enum tb_status
heal_list_sources(struct heal_run *r, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < sizeof(sources) / sizeof(*sources); i++)
		status = sources[i].list(r, &sources[i], err);
	if (status)
		return status;
	r->by_size = tb_calloc(r->nfiles + 1, sizeof(*r->by_size));
	r->by_digest = tb_calloc(r->nfiles + 1, sizeof(*r->by_digest));
	if (!r->by_size || !r->by_digest)
		return tb_nomem(err);
	for (size_t i = 0; i < r->nfiles; i++) {
		r->by_size[i] = &r->files[i];
		if (*r->files[i].known)
			r->by_digest[r->nknown++] = &r->files[i];
	}
	qsort(r->by_size, r->nfiles, sizeof(*r->by_size), by_size);
	qsort(r->by_digest, r->nknown, sizeof(*r->by_digest), by_digest);
	return TB_OK;
}

/* ---- who has it ---- */

/* Hashes the file, once for all who ask; *size: of what it held, 0 if it is not that. */
static enum tb_status
try_file(struct heal_run *r, struct heal_file *f, const char *digest, uint64_t *size,
	 struct tb_err *err)
{
	pthread_mutex_t *lock = &r->lock[(size_t)(f - r->files) % HEAL_LOCKS];
	bool git = tb_starts(digest, "gitsha1:");
	char *have = git ? f->git : f->sha256;
	enum tb_status status = TB_OK;
	struct tb_err why;
	struct tb_file file;

	pthread_mutex_lock(lock);
	if (!*have && !f->unread && !(status = tb_file_open(&file, f->path, &why))) {
		status = git ? tb_gitsha1_file(&file, r->job, have, &why)
			     : tb_sha256_file(&file, r->job, NULL, have, &why);
		f->size = file.id.size;
		tb_file_close(&file);
	}
	f->unread |= status != TB_OK;
	if (status)
		*have = 0;
	*size = *have && !strcmp(have, digest) ? f->size : 0;
	pthread_mutex_unlock(lock);
	return status == TB_ECANCEL || status == TB_ENOMEM ? tb_pass(err, &why) : TB_OK;
}

/* A link to the damaged file is no other one. */
static bool
is_itself(const struct heal_file *f, const struct heal_item *item)
{
	return (f->id.dev == item->was.dev && f->id.ino == item->was.ino) ||
	       !strcmp(f->path, item->path);
}

/* Is it worth hashing?  One that is known to be something else is not, unless a person has
 * named it. */
static bool
is_likely(const struct heal_file *f, const struct heal_item *item)
{
	if (*f->known && !f->given)
		return false;		/* those that it is known to be were asked first */
	return item->size ? f->id.size == item->size
	     : f->given || !strcmp(tb_path_name(f->path), tb_path_name(item->path));
}

static enum tb_status
take(struct heal_run *r, struct heal_item *item, struct heal_file *f, struct tb_err *err)
{
	uint64_t size = 0;
	enum tb_status status = is_itself(f, item) ? TB_OK : try_file(r, f, item->digest, &size, err);

	if (size) {
		item->source = f->path;
		item->from = f->from;
		item->size = size;
	}
	return status;
}

static enum tb_status
find_one(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct heal_run *r = arg;
	struct heal_item *item = &r->plan->items[i];
	size_t at = TB_FIRST(r->nknown, k, strcmp(r->by_digest[k]->known, item->digest) < 0);
	enum tb_status status = TB_OK;

	(void)worker;
	if (item->why)
		return TB_OK;
	tb_job_what(r->job, "%s", item->model);
	for (; !status && !item->source && at < r->nknown &&
	       !strcmp(r->by_digest[at]->known, item->digest); at++)
		status = take(r, item, r->by_digest[at], err);
	at = item->size ? TB_FIRST(r->nfiles, k, r->by_size[k]->id.size < item->size) : 0;
	for (; !status && !item->source && at < r->nfiles &&
	       (!item->size || r->by_size[at]->id.size == item->size); at++)
		if (is_likely(r->by_size[at], item))
			status = take(r, item, r->by_size[at], err);
	return status;
}

enum tb_status
heal_find_sources(struct heal_run *r, struct tb_err *err)
{
	return tb_pool_try(r->ctx->pool, r->plan->n, find_one, r, r->job, err);
}
