#include "config.h"

#include "src/net/hub_name.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define PAGE "https://huggingface.co/"
#define REPO_MAX 96
#define REVISION_MAX 200
#define PART_MAX 255
#define PATH_MAX_BYTES 1024

bool
hub_name_is(const char *text)
{
	return tb_starts(text, "hf:") || tb_starts(text, PAGE);
}

void
hub_name_free(struct hub_name *n)
{
	free(n->repo);
	free(n->revision);
	free(n->which);
	*n = (struct hub_name){ 0 };
}

/* The hub's own rule of the words before and behind the slash. */
static bool
is_repo_word(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", p[i]))
			return false;
		if (i && (p[i] == '-' || p[i] == '.') && p[i - 1] == p[i])
			return false;	/* "--" means the slash in a cache's folders */
	}
	return n && !strchr("-.", p[0]) && !strchr("-.", p[n - 1]);
}

static bool
is_repo(const char *repo)
{
	size_t org = strcspn(repo, "/"), n = strlen(repo);

	if (n > REPO_MAX || tb_ends(repo, ".git"))
		return false;
	return is_repo_word(repo, org) && (!repo[org] || is_repo_word(repo + org + 1, n - org - 1));
}

/* What git takes as the name of a branch, and a cache as that of a file in refs/. */
static bool
is_revision(const char *text)
{
	size_t n = strlen(text);

	for (const char *c = text; *c; c++) {
		bool first = c == text || c[-1] == '/';

		if ((unsigned char)*c <= ' ' || strchr("~^:?*[\\\177", *c) || (first && strchr("/.-", *c)) ||
		    (*c == '.' && c[1] == '.') || (*c == '@' && c[1] == '{'))
			return false;
	}
	return n && n <= REVISION_MAX && text[n - 1] != '/' && tb_utf8_valid(text, n);
}

bool
hub_is_commit(const char *revision)
{
	return strlen(revision) == 40 && strspn(revision, "0123456789abcdef") == 40;
}

bool
hub_path_ok(const char *path, const char **why)
{
	size_t n = strlen(path);

	*why = "leads out of its folder";
	if (*path == '/')
		return false;
	for (const char *p = path;; p += strcspn(p, "/") + 1) {
		size_t part = strcspn(p, "/");

		if (!part || (part <= 2 && !strncmp(p, "..", part)))
			return false;
		*why = "is longer than a file's name can be";
		if (part > PART_MAX)
			return false;
		*why = "leads out of its folder";
		if (!p[part])
			break;
	}
	*why = "is longer than a file's name can be";
	if (n > PATH_MAX_BYTES)
		return false;
	*why = "has characters that no file's name should have";
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)path[i] < ' ' || path[i] == 127 || path[i] == '\\')
			return false;
	return tb_utf8_valid(path, n);
}

/* The page's address as the name: "…/ORG/NAME/tree/REVISION". */
static bool
take_page(struct hub_name *n, const char *text)
{
	const char *end = text + strcspn(text, "?#"), *tree;
	char *path = tb_strndup(text, (size_t)(end - text));
	size_t len = path ? strlen(path) : 0;

	while (len && path[len - 1] == '/')
		path[--len] = 0;
	tree = path ? strstr(path, "/tree/") : NULL;
	n->repo = path ? tb_strndup(path, tree ? (size_t)(tree - path) : len) : NULL;
	n->revision = tb_strdup(tree ? tree + 6 : "main");
	n->which = tb_strdup("");
	free(path);
	return n->repo && n->revision && n->which;
}

/* "@REVISION" and ":WHICH" in either order behind the repository. */
static bool
take_parts(struct hub_name *n, const char *text)
{
	size_t repo = strcspn(text, "@:");
	const char *at = text[repo] == '@' ? text + repo + 1 : NULL;
	const char *colon = strchr(text + repo, ':'), *behind;

	if (!at && colon && (behind = strrchr(colon, '@')))
		at = behind + 1;
	n->repo = tb_strndup(text, repo);
	n->revision = !at ? tb_strdup("main")
			  : tb_strndup(at, colon && colon > at ? (size_t)(colon - at) : strlen(at));
	n->which = !colon ? tb_strdup("")
			  : tb_strndup(colon + 1, at && at > colon ? (size_t)(at - colon - 2)
								   : strlen(colon + 1));
	return n->repo && n->revision && n->which;
}

enum tb_status
hub_name_parse(struct hub_name *out, const char *text, struct tb_err *err)
{
	bool page = tb_starts(text, PAGE);
	const char *rest = page ? text + strlen(PAGE) : tb_starts(text, "hf:") ? text + 3 : "", *why;
	enum tb_status status = TB_OK;

	*out = (struct hub_name){ 0 };
	if (tb_starts(rest, "//"))
		rest += 2;
	if (!(page ? take_page(out, rest) : take_parts(out, rest)))
		status = tb_nomem(err);
	else if (!is_repo(out->repo))
		status = tb_fail(err, TB_EUSAGE, "%.200s: not the name of a repository; like "
				 "hf:ORG/NAME, hf:ORG/NAME@REVISION or hf:ORG/NAME:Q4_K_M", text);
	else if (!is_revision(out->revision))
		status = tb_fail(err, TB_EUSAGE, "%.200s: what follows \"@\" is no branch, tag or "
				 "commit", text);
	else if (strchr(text, ':') && *out->which && !hub_path_ok(out->which, &why))
		status = tb_fail(err, TB_EUSAGE, "%.200s: what follows \":\" %s; it says which GGUF "
				 "file: Q4_K_M, or its name", text, why);
	if (status)
		hub_name_free(out);
	return status;
}
