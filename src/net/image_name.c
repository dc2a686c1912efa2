#include "config.h"

#include "src/net/image_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/net/url.h"

#define OLLAMA_HOST "registry.ollama.ai"
#define DOCKER_HOST "docker.io"
#define REPO_MAX 255u
#define TAG_MAX 128u

void
image_name_free(struct image_name *n)
{
	free(n->scheme);
	free(n->host);
	free(n->repo);
	free(n->tag);
	*n = (struct image_name){ 0 };
}

static bool
alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A tag, or a part of a repository: no "..", nothing that means something in a URL. */
static bool
is_word(const char *s, size_t n)
{
	if (!n || (!alnum(*s) && *s != '_'))
		return false;
	for (size_t i = 1; i < n; i++)
		if (!alnum(s[i]) && !strchr("_.-", s[i]))
			return false;
	return true;
}

static bool
is_repo(const char *s)
{
	size_t len = strlen(s);

	if (!len || len > REPO_MAX)
		return false;
	for (const char *end;; s = end + 1) {
		end = strchrnul(s, '/');
		if (!is_word(s, (size_t)(end - s)))
			return false;
		if (!*end)
			return true;
	}
}

/* HOST or HOST:PORT, or an IPv6 address in brackets: as an address has it. */
static bool
is_host(const char *s)
{
	char *text = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == strlen(s)
			     ? tb_asprintf("https://%s", s) : NULL;
	struct url u = { 0 };
	bool well = text && *s && !strchr(".-_:]", *s) && !url_parse(&u, text, NULL) && !*u.path;

	url_free(&u);
	free(text);
	return well;
}

/* Takes "docker://" and "http(s)://" off the front; *docker: whether the first was there. */
static const char *
take_scheme(struct image_name *n, const char *s, bool *docker)
{
	const char *scheme = "";

	if ((*docker = !strncasecmp(s, "docker://", 9)))
		s += 9;
	if (!strncasecmp(s, "http://", 7)) {
		scheme = "http";
		s += 7;
	} else if (!strncasecmp(s, "https://", 8)) {
		scheme = "https";
		s += 8;
	}
	n->scheme = tb_strdup(scheme);
	return s;
}

/* Cuts "@DIGEST" and ":TAG" off the end of `s`; false: that is no digest. */
static bool
take_end(struct image_name *n, char *s)
{
	char *at = strchr(s, '@'), *colon;

	if (at)
		*at++ = 0;
	colon = strrchr(s, ':');
	if (colon && strchr(colon, '/'))
		colon = NULL;			/* a port's */
	n->tag = tb_strdup(colon ? colon + 1 : at ? "" : "latest");
	if (colon)
		*colon = 0;
	return !at || (tb_starts(at, "sha256:") && digest_parse(at, n->digest));
}

/* Is what stands before the first of its slashes a host?  Where a scheme says so; else as Ollama has
 * it (host/namespace/model), or because no namespace is written so. */
static bool
has_host(const char *s, bool said)
{
	const char *slash = strchr(s, '/');

	return said || (slash && (strchr(slash + 1, '/') ||
				  strcspn(s, ".:[") < (size_t)(slash - s)));
}

/* HOST/REPO; where it says less, what Ollama or Docker mean by that. */
static void
take_place(struct image_name *n, const char *s, bool host)
{
	const char *repo = host ? strchrnul(s, '/') : s;
	bool library;

	n->host = host ? tb_strndup(s, (size_t)(repo - s)) : tb_strdup(OLLAMA_HOST);
	for (char *c = n->host; c && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	repo += host && *repo == '/';
	library = *repo && !strchr(repo, '/') && n->host &&
		  (!strcmp(n->host, OLLAMA_HOST) || !strcmp(n->host, DOCKER_HOST));
	n->repo = tb_asprintf("%s%s", library ? "library/" : "", repo);
}

/* Whoever writes "USER:PASSWORD@HOST/..." shall not read it again on a terminal or in a log. */
static enum tb_status
say_no_name(const char *text, const char *rest, struct tb_err *err)
{
	size_t host = strcspn(rest, "/");

	if (rest[host] && memchr(rest, '@', host))
		return tb_fail(err, TB_EUSAGE, "what has a user or a password before its \"@\" is not a"
			       " name in a registry; leave them out, and write a line \"HOST USER"
			       " PASSWORD\" into ~/.config/tbtui/keys or use docker login");
	return tb_fail(err, TB_EUSAGE, "\"%.200s\": not a name in a registry; like llama3:8b,"
		       " HOST/NAMESPACE/MODEL:TAG or docker://HOST/REPOSITORY:TAG", text);
}

enum tb_status
image_name_parse(struct image_name *n, const char *text, struct tb_err *err)
{
	const char *behind;
	bool docker, well = false;
	char *rest;

	*n = (struct image_name){ 0 };
	behind = take_scheme(n, text, &docker);
	rest = tb_strdup(behind);
	if (rest && n->scheme) {
		well = take_end(n, rest);
		take_place(n, rest, has_host(rest, docker || *n->scheme));
	}
	free(rest);
	if (!n->scheme || !n->tag || !n->host || !n->repo) {
		image_name_free(n);
		return tb_nomem(err);
	}
	if (well && is_host(n->host) && is_repo(n->repo) &&
	    (*n->tag ? is_word(n->tag, strlen(n->tag)) && strlen(n->tag) <= TAG_MAX : *n->digest))
		return TB_OK;
	image_name_free(n);
	return say_no_name(text, behind, err);
}

const char *
image_reference(const struct image_name *n)
{
	return *n->digest ? n->digest : n->tag;
}

char *
image_name_text(const struct image_name *n)
{
	/* a host that looks like a namespace */
	bool bare = !strchr(n->repo, '/') && !strpbrk(n->host, ".:");
	const char *scheme = !strcmp(n->scheme, "http") ? "http://" : bare ? "https://" : "";

	return tb_asprintf("%s%s/%s%s%s%s%s", scheme, n->host, n->repo, *n->tag ? ":" : "",
			   n->tag, *n->digest ? "@" : "", n->digest);
}

enum tb_status
image_name_local(const struct image_name *n, struct model_name *out, struct tb_err *err)
{
	const char *slash = strchr(n->repo, '/');
	char *text = tb_asprintf("%s/%s%s:%.80s", n->host, slash ? "" : "library/", n->repo,
				 *n->tag ? n->tag : n->digest + strlen("sha256:"));
	enum tb_status status;

	if (!text)
		return tb_nomem(err);
	if (!*n->tag)			/* enough of the digest to tell it from others */
		text[strlen(text) - (2 * TB_SHA256_LEN - 12)] = 0;
	status = slash && strchr(slash + 1, '/') ? TB_EUSAGE : name_parse(text, out, NULL);
	free(text);
	if (!status)
		return TB_OK;
	return tb_fail(err, TB_EUSAGE, "%.100s/%.255s: a store has only names of the form"
		       " HOST/NAMESPACE/MODEL:TAG; say behind it what it shall be called", n->host,
		       n->repo);
}
