#include "config.h"

#include "src/store/hub.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/walk.h"

#define MAX_DEPTH 8		/* folders below a snapshot */
#define TARGET_MAX 4096
#define HUB_REVISION_MAX 128

/* Bytes of `path` that are the repository's folder, when it lies in one of its snapshots;
 * 0: it does not. */
static size_t
hub_repository(const char *path)
{
	const char *at = strstr(path, "/models--"), *end = at ? strchr(at + 1, '/') : NULL;

	return end && tb_starts(end, "/snapshots/") ? (size_t)(end - path) : 0;
}

static bool
is_hash(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return !name[n] && (n == 64 || n == 40);
}

bool
hub_digest(const char *path, char digest[TB_DIGEST_MAX])
{
	const char *name = strrchr(path, '/'), *repo = strstr(path, "/models--");

	if (!name || !repo || name - path < 6 || strncmp(name - 6, "/blobs", 6) != 0 ||
	    !is_hash(name + 1))
		return false;
	snprintf(digest, TB_DIGEST_MAX, "%s:%s", strlen(name + 1) == 64 ? "sha256" : "gitsha1",
		 name + 1);
	return true;
}

/* A link to nothing still says which blob it means, if it is one of the usual ones. */
static char *
hub_broken(const char *repo, size_t n, const char *target)
{
	const char *rest = target;

	while (tb_starts(rest, "../"))
		rest += 3;
	if (rest == target || !tb_starts(rest, "blobs/") || !is_hash(rest + 6))
		return NULL;
	return tb_asprintf("%.*s/%s", (int)n, repo, rest);
}

/* `real` is below the folder that `repo` is; its path as seen from there. */
static char *
inside(const char *repo, size_t n, const char *real)
{
	char *folder = tb_strndup(repo, n), *base = folder ? realpath(folder, NULL) : NULL;
	size_t len = base ? strlen(base) : 0;
	char *path = NULL;

	if (base && tb_starts(real, base) && real[len] == '/')
		path = tb_asprintf("%s%s", folder, real + len);
	free(folder);
	free(base);
	return path;
}

enum tb_status
hub_follow(const char *path, enum hub_link *kind, char **blob, struct tb_err *err)
{
	size_t n = hub_repository(path);
	char target[TARGET_MAX], *real;
	ssize_t len = n ? readlink(path, target, sizeof(target) - 1) : -1;

	*kind = HUB_PLAIN;
	*blob = NULL;
	if (len < 0)
		return TB_OK;
	target[len] = 0;
	real = realpath(path, NULL);
	if (!real && errno == ENOMEM)
		return tb_nomem(err);
	*blob = real ? inside(path, n, real) : hub_broken(path, n, target);
	*kind = *blob ? HUB_BLOB : HUB_OUTSIDE;
	free(real);
	return TB_OK;
}

/* The revision that a name in refs/ ("main", "pr/1") means, or "".  `path` lies in the
 * repository or is its folder. */
static const char *
hub_ref(const char *path, const char *ref, char out[HUB_REVISION_MAX])
{
	size_t n = hub_repository(path);
	bool safe = *ref && *ref != '/' && *ref != '.' && !strstr(ref, "..");
	char *file = safe ? tb_asprintf("%.*s/refs/%s", (int)(n ? n : strlen(path)), path, ref) : NULL;
	char *text = NULL;

	*out = 0;
	if (file && !tb_file_slurp(file, HUB_REVISION_MAX - 1, &text, NULL, NULL)) {
		memcpy(out, text, strlen(text) + 1);
		out[strcspn(out, " \r\n\t")] = 0;
	}
	free(file);
	free(text);
	return out;
}

/* ---- what no snapshot leads to ---- */

/* The last names of all links below `dir`, but in its entry `except` (NULL: in all). */
static enum tb_status
hub_links(const char *dir, const char *except, unsigned depth, struct tb_names *out,
	  struct tb_err *err)
{
	struct tb_names names = { 0 };
	enum tb_status status = depth ? tb_names_read(&names, dir, err) : TB_OK;
	char target[TARGET_MAX];

	for (size_t i = 0; !status && i < names.n; i++) {
		char *path;
		ssize_t n;

		if (except && !strcmp(names.v[i], except))
			continue;
		path = tb_path_join(dir, names.v[i]);
		n = path ? readlink(path, target, sizeof(target) - 1) : -1;
		if (n > 0) {
			target[n] = 0;
			status = tb_names_add(out, tb_path_name(target), err);
		} else if (!path) {
			status = tb_nomem(err);
		} else if (errno != EINVAL && errno != ENOENT) {	/* EINVAL: no link */
			status = tb_fail_errno(err, "%s", path);
		} else if (tb_is_dir(path)) {
			status = hub_links(path, NULL, depth - 1, out, err);
		}
		free(path);
	}
	tb_names_free(&names);
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
hub_left_without(const char *repository, const char *revision, store_file_fn *fn, void *arg,
		 struct tb_err *err)
{
	char *snapshots = tb_path_join(repository, "snapshots");
	char *blobs = tb_path_join(repository, "blobs");
	enum tb_status status = snapshots && blobs ? TB_OK : tb_nomem(err);
	struct tb_names used = { 0 }, names = { 0 };

	if (!status)
		status = hub_links(snapshots, revision, MAX_DEPTH, &used, err);
	tb_names_sort(&used);
	if (!status)
		status = tb_names_read(&names, blobs, err);
	for (size_t i = 0; !status && i < names.n; i++) {
		char *path;

		if (*names.v[i] == '.' || tb_names_have(&used, names.v[i]))
			continue;
		path = tb_path_join(blobs, names.v[i]);
		status = path ? fn(arg, path, err) : tb_nomem(err);
		free(path);
	}
	tb_names_free(&names);
	tb_names_free(&used);
	free(snapshots);
	free(blobs);
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
hub_left(const char *repository, store_file_fn *fn, void *arg, struct tb_err *err)
{
	return hub_left_without(repository, NULL, fn, arg, err);
}

/* ---- names of revisions ---- */

/* A download that ended early leaves a name before there is anything that it could mean. */
static enum tb_status
check_ref(const char *repository, const char *path, const char *name, store_odd_fn *fn, void *arg,
	  struct tb_err *err)
{
	char rev[HUB_REVISION_MAX], *snapshot, *why = NULL;
	enum tb_status status = TB_OK;

	hub_ref(repository, name, rev);
	if (!*rev || strchr(rev, '/') || *rev == '.')
		return fn(arg, ODD_REF, path, "is the name of no revision", err);
	snapshot = tb_asprintf("%s/snapshots/%s", repository, rev);
	if (!snapshot)
		status = tb_nomem(err);
	else if (!tb_is_dir(snapshot) && !(why = tb_asprintf("%s means the revision %.60s, of which there "
			"is no snapshot: download it again", name, rev)))
		status = tb_nomem(err);
	else if (why)
		status = fn(arg, ODD_REF, path, why, err);
	free(snapshot);
	free(why);
	return status;
}

static enum tb_status
check_refs(const char *repository, const char *below, unsigned depth, store_odd_fn *fn, void *arg,
	   struct tb_err *err)
{
	char *dir = tb_asprintf("%s/refs/%s", repository, below);
	struct tb_names e = { 0 };
	enum tb_status status = dir ? tb_names_read(&e, dir, err) : tb_nomem(err);

	for (size_t i = 0; i < e.n && !status; i++) {
		char *path = tb_path_join(dir, e.v[i]);
		char *name = tb_asprintf("%s%s%s", below, *below ? "/" : "", e.v[i]);

		if (!path || !name)
			status = tb_nomem(err);
		else if (*e.v[i] == '.')
			status = TB_OK;
		else if (!tb_is_dir(path))
			status = check_ref(repository, path, name, fn, arg, err);
		else if (depth)
			status = check_refs(repository, name, depth - 1, fn, arg, err);
		free(path);
		free(name);
	}
	tb_names_free(&e);
	free(dir);
	return status == TB_ENOENT ? TB_OK : status;
}

static enum tb_status
hub_odd(const char *repository, store_odd_fn *fn, void *arg, struct tb_err *err)
{
	return check_refs(repository, "", MAX_DEPTH, fn, arg, err);
}

/* ---- the row ---- */

static const struct store_usual usual[] = {
	{ "HF_HUB_CACHE", NULL, "" },
	{ "HF_HOME", NULL, "/hub" },
	{ "XDG_CACHE_HOME", "/.cache", "/huggingface/hub" },
	{ NULL, NULL, NULL }
};

static bool
hub_is_store(const char *dir)
{
	return tb_starts(tb_path_name(dir), "models--");
}

char *
hub_folder_name(const char *repo)
{
	const char *slash = strchr(repo, '/');

	return slash ? tb_asprintf("models--%.*s--%s", (int)(slash - repo), repo, slash + 1)
		     : tb_asprintf("models--%s", repo);
}

/* "models--org--name" -> "hf:org/name"; NULL when out of memory. */
static char *
hub_name(const char *entry)
{
	const char *rest = entry + strlen("models--"), *dashes = strstr(rest, "--");

	if (!dashes)
		return tb_asprintf("hf:%s", rest);
	return tb_asprintf("hf:%.*s/%s", (int)(dashes - rest), rest, dashes + 2);
}

/* models--org--name/snapshots/REV: the revision that "main" means, or the only one,
 * needs no @REV. */
static enum tb_status
hub_walk(struct walk *w, const char *repo, const char *below, struct tb_err *err)
{
	char *snapshots = tb_path_join(repo, "snapshots"), *name = hub_name(tb_path_name(repo));
	struct tb_names e = { 0 };
	enum tb_status status;
	char rev[HUB_REVISION_MAX];
	struct stat st;

	(void)below;
	hub_ref(repo, "main", rev);
	status = snapshots && name ? walk_entries(w, snapshots, &e, err) : tb_nomem(err);
	for (size_t i = 0; i < e.n && !status; i++) {
		bool plain = e.n == 1 || strcmp(rev, e.v[i]) == 0;
		char *dir = tb_path_join(snapshots, e.v[i]);
		char *full = plain ? tb_strdup(name) : tb_asprintf("%s@%.12s", name, e.v[i]);

		if (!dir || !full)
			status = tb_nomem(err);
		else if (!lstat(dir, &st) && !S_ISLNK(st.st_mode))	/* they link to files alone */
			status = walk_folder(w, dir, full, 1, err);
		free(dir);
		free(full);
	}
	tb_names_free(&e);
	free(snapshots);
	free(name);
	return status;
}

/* "hf:org/name@REV": REV is a name in refs/, or how the revision's name begins. */
/* Is `which` a word of the GGUF file's name, as "Q4_K_M" is of "tiny-Q4_K_M.gguf"? */
static bool
names_file(const char *file, const char *which)
{
	size_t n = strlen(which);

	if (!n || !tb_ends(file, ".gguf"))
		return false;
	if (!strcmp(tb_path_name(file), which))
		return true;
	for (const char *p = file; (p = strcasestr(p, which)); p++)
		if ((p == file || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
			return true;
	return false;
}

/* "hf:ORG/NAME@REVISION", "hf:ORG/NAME:WHICH" or both, as pull takes it. */
static bool
hub_means(const char *ref, const struct model_loc *loc)
{
	size_t n = tb_starts(ref, "hf:") ? 3 + strcspn(ref + 3, "@:") : 0, len;
	const char *at = ref + n, *rev, *which;
	char said[HUB_REVISION_MAX], meant[HUB_REVISION_MAX];

	if (!n || !*at || !at[1] || !tb_starts(loc->name, "hf:") || strncmp(loc->name, ref, n) != 0)
		return false;
	which = strchr(at, ':');
	if (which && !names_file(loc->name + n, which + 1))
		return false;
	if (*at == ':')
		return loc->name[n] == '/';
	rev = strstr(loc->path, "/snapshots/");
	len = which ? (size_t)(which - at - 1) : strlen(at + 1);
	if ((loc->name[n] && !strchr("@/", loc->name[n])) || !rev || !len || len >= sizeof(said))
		return false;
	memcpy(said, at + 1, len);
	said[len] = 0;
	hub_ref(loc->path, said, meant);
	return tb_starts(rev + 11, *meant ? meant : said);
}

static size_t
hub_above(const char *path)
{
	const char *at = strstr(path, "/models--");

	at = at ? strstr(at, "/snapshots") : NULL;
	return at ? (size_t)(at - path) : 0;
}

/* Of the other files in blobs/ nobody says what their bytes are. */
static enum store_file
hub_file(const char *path, char digest[TB_DIGEST_MAX])
{
	bool hash = hub_digest(path, digest);

	if (!hash || !tb_starts(digest, "sha256:"))
		*digest = 0;
	return hash ? STORE_BLOB : store_is_partial(path) ? STORE_PARTIAL : STORE_FOREIGN;
}

const struct store_kind store_hub = {
	.usual = usual,
	.is = hub_is_store,
	.beside = true,
	.walk = hub_walk,
	.means = hub_means,
	.root_of = hub_repository,
	.above = hub_above,
	.left = hub_left,
	.file = hub_file,
	.odd = hub_odd,
};
