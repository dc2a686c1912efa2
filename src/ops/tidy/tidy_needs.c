/* tidy_needs.c - a model that comes back without what a later operation took would be damaged,
 * and could stand where that operation has to put it: the later one is undone first. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/ops/tidy/tidy_parts.h"
#include "src/store/ollama.h"

#define TREE_DEPTH 16

struct needs {
	const struct journal *j;
	struct journal *others;		/* owned: those of the store that can be undone */
	size_t n;
	uint64_t who;			/* has something that is needed; 0: nobody */
};

static enum tb_status
others_read(struct needs *w, struct tb_err *err)
{
	uint64_t *numbers;
	size_t n;
	enum tb_status status = journal_list(w->j->root, &numbers, &n, err);

	if (!status && !(w->others = tb_calloc(n + 1, sizeof(*w->others))))
		status = tb_nomem(err);
	for (size_t i = 0; i < n && !status; i++) {
		struct journal *o = &w->others[w->n];

		if (numbers[i] == w->j->n || journal_read(o, w->j->root, numbers[i], NULL))
			continue;
		if (o->state == JOURNAL_DONE)
			w->n++;
		else
			journal_free(o);
	}
	free(numbers);
	return status;
}

static bool
is_held(const struct journal *j, const struct journal_step *s)
{
	char *slot = s->what == JOURNAL_TAKE ? journal_slot_path(j, s->slot) : NULL;
	bool held = slot && tb_exists(slot);

	free(slot);
	return held;
}

/* Does the operation hold the path, or a folder that it is in? */
static bool
has_path(const struct journal *j, const char *path)
{
	for (size_t i = 0; i < j->nsteps; i++)
		if (tb_path_inside(path, j->steps[i].path, strlen(j->steps[i].path)) &&
		    is_held(j, &j->steps[i]))
			return true;
	return false;
}

static void
need_path(struct needs *w, const char *path)
{
	char *full = tb_path_join(w->j->root, path);

	if (full && !tb_exists(full) && !has_path(w->j, path))
		for (size_t i = 0; i < w->n && !w->who; i++)
			w->who = has_path(&w->others[i], path) ? w->others[i].n : 0;
	free(full);
}

/* ---- manifests name blobs ---- */

static bool
has_digest(const struct journal *j, const char *digest)
{
	for (size_t i = 0; i < j->nsteps; i++)
		if (!strcmp(j->steps[i].digest, digest) && is_held(j, &j->steps[i]))
			return true;
	return false;
}

static void
need_digest(void *arg, const char *digest)
{
	struct needs *w = arg;
	char *path = w->who ? NULL : ollama_blob_path(w->j->root, digest);

	if (path && !tb_exists(path) && !has_digest(w->j, digest))
		for (size_t i = 0; i < w->n && !w->who; i++)
			w->who = has_digest(&w->others[i], digest) ? w->others[i].n : 0;
	free(path);
}

/* ---- links lead to files ---- */

/* "a/b/link" that says "../c" -> "a/c"; false: out of the store. */
static bool
follow(const char *link, const char *target, struct tb_path *out)
{
	size_t n = (size_t)(tb_path_name(link) - link);

	if (*target == '/' || n + strlen(target) + 2 > sizeof(out->s))
		return false;
	memcpy(out->s, link, n);
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && target[0] == '.' && target[1] == '.') {
			if (!n)
				return false;
			for (n--; n && out->s[n - 1] != '/'; n--)
				;
		} else if (len && !(len == 1 && *target == '.')) {
			memcpy(out->s + n, target, len);
			n += len;
			out->s[n++] = '/';
		}
		target += len + (target[len] == '/');
	}
	out->s[n ? n - 1 : 0] = 0;
	return n > 1;
}

/* held: where it lies now; path: where it will. */
static void
need_links(struct needs *w, const char *held, const char *path, unsigned depth)
{
	char target[4096];
	struct tb_names names;
	struct tb_path to;
	ssize_t n = readlink(held, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = 0;
		if (follow(path, target, &to))
			need_path(w, to.s);
		return;
	}
	if (!depth || !tb_is_dir(held) || tb_names_read(&names, held, NULL))
		return;
	for (size_t i = 0; i < names.n && !w->who; i++) {
		char *in = tb_path_join(held, names.v[i]), *at = tb_path_join(path, names.v[i]);

		if (in && at)
			need_links(w, in, at, depth - 1);
		free(in);
		free(at);
	}
	tb_names_free(&names);
}

/* ---- all of it ---- */

static void
need_of_step(struct needs *w, const struct journal_step *s)
{
	char *parent = tb_path_parent(s->path);
	char *slot = s->what == JOURNAL_TAKE ? journal_slot_path(w->j, s->slot) : NULL;
	struct manifest m;

	if (parent && strchr(s->path, '/'))
		need_path(w, parent);
	if (slot && tb_starts(s->path, "manifests/") && !manifest_read(&m, slot, NULL)) {
		ollama_each_digest(&m, need_digest, w);
		manifest_free(&m);
	} else if (slot && !*s->digest) {
		need_links(w, slot, s->path, TREE_DEPTH);
	}
	free(parent);
	free(slot);
}

enum tb_status
tidy_needs(const struct journal *j, struct tb_err *err)
{
	struct needs w = { .j = j };
	enum tb_status status = others_read(&w, err);

	for (size_t i = 0; i < j->nsteps && !status && !w.who; i++)
		need_of_step(&w, &j->steps[i]);
	if (!status && w.who)
		status = tb_fail(err, TB_EUSAGE, "operation %" PRIu64 ": needs what operation %" PRIu64
				 " took later; nothing was undone: undo %" PRIu64 " first", j->n, w.who,
				 w.who);
	for (size_t i = 0; i < w.n; i++)
		journal_free(&w.others[i]);
	free(w.others);
	return status;
}
