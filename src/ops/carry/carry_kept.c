/* carry_kept.c - where uploads can be gone on with after a kill: "HEX-KEY.upload", two lines: where
 * to, and the address that the registry gave.  What was brought to a repository, from which others
 * of its host can take it: "KEY.repo", the repository and a digest a line.  What cannot be kept is
 * sent again then. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/net/url.h"
#include "src/ops/carry/site.h"

#define SESSION_MAX 16384u
#define REPO_MAX (4u << 20)
#define REPOS_MAX 50u

static char *
kept_path(const char *dir, const char *to, const char *digest)
{
	return tb_asprintf("%s/%s-%016jx.upload", dir, digest + strlen("sha256:"),
			   (uintmax_t)tb_fnv(TB_FNV, to, strlen(to)));
}

char *
kept_session(const char *dir, const char *to, const char *digest)
{
	char *path = kept_path(dir, to, digest), *text = NULL, *session = NULL, *line;
	size_t n = strlen(to);

	if (path && !tb_file_slurp(path, SESSION_MAX, &text, NULL, NULL) && !strncmp(text, to, n) &&
	    text[n] == '\n') {
		line = text + n + 1;
		line[strcspn(line, "\n")] = 0;
		if (url_is(line))
			session = tb_strdup(line);
	}
	free(text);
	free(path);
	return session;
}

static void
make_dir(const char *dir)
{
	char *parent = tb_path_parent(dir);

	if (parent && tb_mkdirs(parent, NULL) == TB_OK)
		(void)!mkdir(dir, 0700);	/* who knows an address may send to it */
	free(parent);
}

void
keep_session(const char *dir, const char *to, const char *digest, const char *session)
{
	char *path = kept_path(dir, to, digest);
	char *text = session ? tb_asprintf("%s\n%s\n", to, session) : NULL;

	if (path && !session) {
		unlink(path);
	} else if (path && text && strlen(text) < SESSION_MAX) {
		make_dir(dir);
		if (tb_out_file(path, text, strlen(text), true, NULL))
			unlink(path);
	}
	free(text);
	free(path);
}

/* ---- repositories ---- */

/* The text of a ".repo", if that is another of the same host. */
static void
take_repo(struct kept_repos *k, char *text, const char *to)
{
	size_t host = strcspn(to, "/") + 1, line = strcspn(text, "\n");
	struct kept_repo r = { NULL, NULL };

	if (text[line] && !strncmp(text, to, host) &&
	    (line != strlen(to) || strncmp(text, to, line) != 0)) {
		r.repo = tb_strndup(text + host, line - host);
		r.digests = tb_strdup(text + line);
	}
	if (r.repo && r.digests && tb_grow(&k->v, &k->cap, k->n + 1, sizeof(r))) {
		k->v[k->n++] = r;
		return;
	}
	free(r.repo);
	free(r.digests);
}

void
kept_repos(struct kept_repos *out, const char *dir, const char *to)
{
	struct tb_names names;

	*out = (struct kept_repos){ 0 };
	if (tb_names_read(&names, dir, NULL))
		return;
	for (size_t i = 0; i < names.n && out->n < REPOS_MAX; i++) {
		char *path = tb_ends(names.v[i], ".repo") ? tb_path_join(dir, names.v[i]) : NULL;
		char *text = NULL;

		if (path && !tb_file_slurp(path, REPO_MAX, &text, NULL, NULL))
			take_repo(out, text, to);
		free(text);
		free(path);
	}
	tb_names_free(&names);
}

void
kept_repos_free(struct kept_repos *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->v[i].repo);
		free(k->v[i].digests);
	}
	free(k->v);
}

const char *
kept_repo_of(const struct kept_repos *k, const char *digest)
{
	for (size_t i = 0; i < k->n; i++)
		if (strstr(k->v[i].digests, digest))
			return k->v[i].repo;
	return NULL;
}

void
keep_repo(const char *dir, const char *to, const struct tb_buf *digests)
{
	char *path = tb_asprintf("%s/%016jx.repo", dir, (uintmax_t)tb_fnv(TB_FNV, to, strlen(to)));
	struct tb_buf text = TB_BUF(REPO_MAX);
	const char *line = tb_buf_cstr(digests), *old;
	char *before = NULL;

	make_dir(dir);
	if (path && !tb_file_slurp(path, REPO_MAX / 2, &before, NULL, NULL) &&
	    !strncmp(before, to, strlen(to)) && before[strlen(to)] == '\n')
		tb_buf_str(&text, before);
	else
		tb_buf_printf(&text, "%s\n", to);
	for (; *line; line += strcspn(line, "\n") + 1) {
		char one[TB_DIGEST_MAX] = "";

		memcpy(one, line, strcspn(line, "\n") < sizeof(one) ? strcspn(line, "\n") : 0);
		old = tb_buf_cstr(&text);
		if (!strstr(old, one))
			tb_buf_printf(&text, "%s\n", one);
	}
	if (path && !tb_buf_failed(&text))
		(void)!tb_out_file(path, text.p, text.len, true, NULL);
	tb_buf_free(&text);
	free(before);
	free(path);
}
