#include "config.h"

#include "src/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/store/name.h"
#include "src/store/ollama.h"
#include "src/store/walk.h"

#define PREFIX_MIN 8	/* hex digits of a digest that are enough to mean one */

bool
store_is_writable(const char *root)
{
	for (const struct store_kind *const *k = store_kinds; *k; k++)
		if ((*k)->writable && (*k)->is(root))
			return true;
	return false;
}

enum tb_status
store_destination(const struct store_roots *r, char **out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const char *root = NULL;
	bool empty;

	for (size_t i = 0; i < r->n && !root; i++)
		if (store_is_writable(r->path[i]))
			root = r->path[i];
	for (size_t i = 0; i < r->n && !root && !status; i++) {
		if (store_root_away(r, i))
			continue;
		status = tb_dir_empty(r->path[i], &empty, err);
		if (!status && (empty || store_is_writable(r->path[i])))
			root = r->path[i];
	}
	*out = root ? tb_strdup(root) : NULL;
	if (status)
		return status;
	if (!root)
		return tb_fail(err, TB_ENOENT, "no Ollama store to write to%s%.300s; name one with"
			       " --store", r->n ? " in " : "", r->n ? r->path[0] : "");
	return *out ? TB_OK : tb_nomem(err);
}

/* TB_ENOENT: it is none. */
static enum tb_status
is_manifest(const char *path, struct tb_err *err)
{
	struct manifest m;
	enum tb_status status = manifest_read(&m, path, err);

	manifest_free(&m);
	return status && status != TB_ENOMEM ? TB_ENOENT : status;
}

static enum tb_status
by_file(const char *path, struct model_loc *out, struct tb_err *err)
{
	enum tb_status status = loc_make_file(out, tb_path_name(path), path, "", err);

	if (status != TB_EFORMAT)
		return status;
	status = is_manifest(path, err);
	if (status)
		return status;
	status = TB_ENOENT;
	for (const struct store_kind *const *k = store_kinds; *k && status == TB_ENOENT; k++)
		if ((*k)->locate && (*k)->root_of(path))
			status = (*k)->locate(path, out, err);
	/* In no store, or under no name: whoever opens it says so. */
	return status != TB_ENOENT ? status
	     : loc_make(out, MODEL_OLLAMA_TENSORS, tb_path_name(path), path, "", err);
}

/* The status of the last resort is TB_ENOENT: "not this, try the next". */
static enum tb_status
store_by_path(const char *ref, struct model_loc *out, struct tb_err *err)
{
	char *path = store_absolute(ref);
	const struct store_kind *kind;
	enum tb_status status = TB_ENOENT;
	bool weights = false;

	if (!path)
		return tb_nomem(err);
	for (size_t i = 0; store_kinds[i] && status == TB_ENOENT; i++)
		if (store_kinds[i]->spelled)
			status = store_kinds[i]->spelled(ref, out, err);
	if (status != TB_ENOENT) {
		free(path);
		return status;
	}
	if (!tb_is_dir(path)) {
		if (!tb_absent(path))
			status = by_file(path, out, err);
		free(path);
		return status;
	}
	kind = store_kind_of(path, false);
	if (kind && kind->locate)
		status = kind->locate(path, out, err);
	if (status == TB_ENOENT && (status = folder_has_weights(path, &weights, err)) == TB_OK)
		status = weights ? loc_make(out, MODEL_SAFETENSORS_DIR, tb_path_name(path), path, "", err)
				 : TB_ENOENT;
	free(path);
	return status;
}

/* The manifest of that name in one root, spelled so or but for case; NULL: there is none,
 * or none that can be found. */
static enum tb_status
manifest_in(const char *root, const struct model_name *name, bool exact, char **path,
	    struct unread *unread, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct tb_err why;

	*path = NULL;
	if (!exact)
		status = ollama_find_manifest(root, name, path, &why);
	else if (!(*path = ollama_manifest_path(root, name)))
		return tb_nomem(err);
	if (*path && (!tb_exists(*path) || tb_is_dir(*path))) {
		free(*path);
		*path = NULL;
	}
	return unread_note(unread, root, status, &why, err);
}

/* Stores that overlap have the same model on two ways. */
static bool
same_model(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || tb_same_place(a, b);
}

static enum tb_status
ambiguous(const char *ref, const char *a, const char *b, struct tb_err *err)
{
	return tb_fail(err, TB_EUSAGE, "%.80s: two stores have one of that name, %.170s and %.170s;"
		       " say which with --store, or by its path", ref, a, b);
}

static enum tb_status
by_name(const struct store_roots *r, const char *ref, struct model_loc *out,
	struct unread *unread, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct model_name name;
	char *path, *found = NULL;
	size_t in = 0;

	if (name_parse(ref, &name, NULL))
		return TB_ENOENT;
	for (int exact = 1; exact >= 0 && !found; exact--) {
		for (size_t i = 0; i < r->n && !status; i++) {
			status = manifest_in(r->path[i], &name, exact, &path, unread, err);
			if (!status && path && found && !same_model(found, path))
				status = ambiguous(ref, r->path[in], r->path[i], err);
			if (path && !found) {
				found = path;
				in = i;
				continue;
			}
			free(path);
		}
	}
	if (!status)
		status = found ? store_ollama.locate(found, out, err) : TB_ENOENT;
	free(found);
	return status;
}

/* A name as a walk over the roots gives it: exact, else but for case, else its last
 * component. */
struct match {
	const char *ref;
	struct model_loc *out;
	int rank;		/* of what *out holds; 0 = nothing */
	size_t root, in;	/* that is walked; that *out is in */
	size_t other;		/* a root with another of that rank, or SIZE_MAX */
};

static bool
means(const char *ref, const struct model_loc *loc)
{
	for (const struct store_kind *const *k = store_kinds; *k; k++)
		if ((*k)->means && (*k)->means(ref, loc))
			return true;
	return false;
}

static enum tb_status
store_consider(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct match *m = arg;
	int rank = strcmp(loc->name, m->ref) == 0 || means(m->ref, loc) ? 4
		 : strcasecmp(loc->name, m->ref) == 0 ? 3
		 : strcmp(tb_path_name(loc->name), m->ref) == 0 ? 2
		 : strcasecmp(tb_path_name(loc->name), m->ref) == 0 ? 1 : 0;

	if (rank && rank == m->rank && m->root != m->in &&
	    !same_model(loc->path, m->out->path))
		m->other = m->root;
	if (rank <= m->rank)
		return TB_OK;
	if (m->rank)
		model_loc_free(m->out);
	m->other = SIZE_MAX;
	m->rank = 0;
	if (model_loc_copy(m->out, loc, err))
		return TB_ENOMEM;
	m->rank = rank;
	m->in = m->root;
	return TB_OK;
}

static enum tb_status
by_walk(const struct store_roots *r, const char *ref, struct model_loc *out,
	struct unread *unread, struct tb_err *err)
{
	struct match m = { .ref = ref, .out = out, .other = SIZE_MAX };
	enum tb_status status = TB_OK;

	for (; m.root < r->n && status != TB_ENOMEM; m.root++)
		status = store_walk(r->path[m.root], store_consider, &m, unread, err);
	if (status != TB_ENOMEM)
		status = m.other != SIZE_MAX ? ambiguous(ref, r->path[m.in], r->path[m.other], err)
			 : m.rank ? TB_OK : TB_ENOENT;
	if (status && m.rank)
		model_loc_free(out);
	return status;
}

/* "sha256:" and "sha256-" are dropped; false if the rest is no prefix of a digest. */
static bool
hex_prefix(const char *ref, char out[65])
{
	size_t n;

	if (tb_starts(ref, "sha256:") || tb_starts(ref, "sha256-"))
		ref += 7;
	n = strlen(ref);
	if (n < PREFIX_MIN || n > 64 || strspn(ref, "0123456789abcdefABCDEF") != n)
		return false;
	for (size_t i = 0; i <= n; i++)
		out[i] = ref[i] >= 'A' && ref[i] <= 'F' ? (char)(ref[i] + 32) : ref[i];
	return true;
}

/* Blobs whose digest begins so, in one root: how many, and the digest of one of them. */
static enum tb_status
blobs_like(const char *root, const char *hex, char found[TB_DIGEST_MAX], unsigned *n,
	   struct unread *unread, struct tb_err *err)
{
	char *dir = tb_path_join(root, "blobs"), digest[TB_DIGEST_MAX];
	struct tb_names names = { 0 };
	struct tb_err why;
	enum tb_status status = dir ? tb_names_read(&names, dir, &why) : tb_nomem(&why);

	*n = 0;
	for (size_t i = 0; i < names.n; i++) {
		if (!digest_parse(names.v[i], digest) || !tb_starts(digest + 7, hex))
			continue;
		if (*n == 0 || strcmp(digest, found) != 0)
			++*n;
		memcpy(found, digest, TB_DIGEST_MAX);
	}
	status = unread_note(unread, dir ? dir : "", status, &why, err);
	tb_names_free(&names);
	free(dir);
	return status;
}

static enum tb_status
store_by_digest(const struct store_roots *r, const char *ref, struct model_loc *out,
		struct unread *unread, struct tb_err *err)
{
	char hex[65], digest[TB_DIGEST_MAX] = "", seen[TB_DIGEST_MAX] = "";
	const char *root = NULL;
	enum tb_status status;
	unsigned n;
	char *path;

	if (!hex_prefix(ref, hex))
		return TB_ENOENT;
	for (size_t i = 0; i < r->n; i++) {
		status = blobs_like(r->path[i], hex, digest, &n, unread, err);
		if (status)
			return status;
		if (n > 1 || (n && *seen && strcmp(seen, digest) != 0))
			return tb_fail(err, TB_EUSAGE, "%s: more than one blob begins so", ref);
		if (n && !root) {
			root = r->path[i];
			memcpy(seen, digest, sizeof(seen));
		}
	}
	if (!root)
		return TB_ENOENT;
	path = ollama_blob_path(root, seen);
	status = path ? loc_make_file(out, seen, path, root, err) : tb_nomem(err);
	free(path);
	return status;
}

/* As people type it: without the tag that goes without saying. */
static enum tb_status
try_name(void *near, const struct model_loc *loc, struct tb_err *err)
{
	char short_name[256];

	(void)err;
	snprintf(short_name, sizeof(short_name), "%s", loc->name);
	if (tb_ends(short_name, ":latest"))
		short_name[strlen(short_name) - strlen(":latest")] = 0;
	tb_near_try(near, short_name);
	return TB_OK;
}

static enum tb_status
not_found(const struct store_roots *r, const char *ref, const struct unread *unread,
	  struct tb_err *err)
{
	struct tb_buf b = TB_BUF(4096);
	struct tb_near near = { .word = ref };
	struct unread ignored = { 0 };
	enum tb_status status;
	char hex[65], hint[200];

	for (size_t i = 0; i < r->n && !tb_exists(ref); i++)
		(void)!store_walk(r->path[i], try_name, &near, &ignored, NULL);
	unread_free(&ignored);
	if (!tb_exists(ref) && *tb_near_text(&near, hint, sizeof(hint)))
		return tb_fail(err, TB_ENOENT, "%.100s: no model or path of that name%s", ref, hint);
	if (tb_is_dir(ref))
		tb_buf_printf(&b, "the folder is no model; -s %.100s takes it for a store, with all "
			      "models in it", ref);
	else if (tb_exists(ref))
		tb_buf_str(&b, "the path is there, but holds no model I know");
	else
		tb_buf_str(&b, "no such path");
	tb_buf_printf(&b, "; no %s of that name in ", hex_prefix(ref, hex) ? "model or blob" : "model");
	for (size_t i = 0; i < r->n; i++)
		tb_buf_printf(&b, "%s%s", i ? ", " : "", r->path[i]);
	if (!r->n)
		tb_buf_str(&b, "any store: there is none; \"tbtui stores add DIR\" adds a folder of "
			   "models");
	if (unread->n)
		tb_buf_printf(&b, "; it may be in what could not be read: %s", unread->v[0].why);
	status = tb_fail(err, TB_ENOENT, "%.100s: %s", ref, tb_buf_cstr(&b));
	tb_buf_free(&b);
	return status;
}

enum tb_status
store_resolve(const struct store_roots *r, const char *ref, struct model_loc *out,
	      struct tb_err *err)
{
	struct unread unread = { 0 };
	enum tb_status status;

	*out = (struct model_loc){ 0 };
	if (!*ref)
		return tb_fail(err, TB_EUSAGE, "a model's name is empty");
	status = store_by_path(ref, out, err);
	if (status == TB_ENOENT)
		status = by_name(r, ref, out, &unread, err);
	if (status == TB_ENOENT)
		status = store_by_digest(r, ref, out, &unread, err);
	if (status == TB_ENOENT)
		status = by_walk(r, ref, out, &unread, err);
	if (status == TB_ENOENT)
		status = not_found(r, ref, &unread, err);
	unread_free(&unread);
	return status;
}
