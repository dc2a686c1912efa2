/* verify_sidecar.c - lists of sums beside files that nobody else says the digest of: as
 * sha256sum writes them (both ways), and what huggingface_hub keeps of a download. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define LIST_MAX (4u << 20)
#define NAME_LEN_MAX 1024
#define HEX "0123456789abcdefABCDEF"

static const char *const lists[] = {
	"sha256sums", "sha256sum", "sha256sums.txt", "sha256sum.txt", "sha256.txt", "checksum.txt",
	"checksums.txt",
};

struct sidecar {
	struct verify_model *to;
	const struct model *m;
	const char *dir, *name;		/* of the list; borrowed */
	const struct tb_names *beside;	/* what is in dir */
	bool *differ;			/* for each file: two lists do; owned */
	unsigned sums, bad, first_bad, absent, outside;
	char first[200];		/* that is absent */
};

/* ---- lines ---- */

/* Backslashes and line ends in a name, where the line begins with a backslash. */
static bool
unescape(char *name)
{
	char *to = name;

	for (const char *p = name; *p; p++) {
		if (*p != '\\') {
			*to++ = *p;
			continue;
		}
		p++;
		if (*p != '\\' && *p != 'n' && *p != 'r')
			return false;
		*to++ = *p == 'n' ? '\n' : *p == 'r' ? '\r' : '\\';
	}
	*to = 0;
	return true;
}

enum line { LINE_SUM, LINE_OTHER, LINE_BAD };	/* OTHER: of another algorithm */

/* "SHA256 (NAME) = HEX", as BSD and openssl have it. */
static enum line
parse_bsd(char *line, const char **hex, char **name)
{
	static const char *const words[] = { "SHA256", "SHA2-256", "sha256" };
	char *open = strchr(line, '('), *close = open ? strrchr(open, ')') : NULL, *p = close;
	size_t n = strcspn(line, " (");

	if (!close || line + n + strspn(line + n, " ") != open)
		return LINE_BAD;
	p += 1 + strspn(p + 1, " ");
	if (*p++ != '=')
		return LINE_BAD;
	*hex = p + strspn(p, " ");
	*name = open + 1;
	*close = 0;
	line[n] = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(line, words[i]))
			return strspn(*hex, HEX) == 64 && !(*hex)[64] ? LINE_SUM : LINE_BAD;
	return strspn(*hex, HEX) == strlen(*hex) && n > 2 ? LINE_OTHER : LINE_BAD;
}

/* A line without its end; cuts it up. *name NULL: it has none. */
static enum line
parse_line(char *line, const char **hex, char **name)
{
	bool escaped = *line == '\\';
	size_t n;

	line += escaped;
	n = strspn(line, HEX);
	*hex = line;
	*name = NULL;
	if (n < 8 || (line[n] && line[n] != ' ' && line[n] != '\t')) {
		enum line kind = parse_bsd(line, hex, name);

		return kind == LINE_SUM && escaped && !unescape(*name) ? LINE_BAD : kind;
	}
	if (n != 64)
		return n == 32 || n == 40 || n == 56 || n == 96 || n == 128 ? LINE_OTHER : LINE_BAD;
	if (!line[n] || !line[n + 1 + (line[n + 1] == ' ' || line[n + 1] == '*')]) {
		line[n] = 0;
		return LINE_SUM;
	}
	*name = line + n + 1 + (line[n + 1] == ' ' || line[n + 1] == '*');
	line[n] = 0;
	return escaped && !unescape(*name) ? LINE_BAD : LINE_SUM;
}

/* ---- what they say ---- */

/* The model's file of that name in the folder of the list; NULL: it has none. */
static struct verify_file *
file_called(const struct sidecar *s, const char *name)
{
	for (size_t i = 0; i < s->m->nfiles; i++)
		if (s->m->files[i].name && !strcmp(s->m->files[i].name, name))
			return &s->to->files[i];
	return NULL;
}

static void
put_sum(struct sidecar *s, struct verify_file *f, const char *digest)
{
	size_t at = (size_t)(f - s->to->files);

	if (*f->digest && !f->sums)	/* a blob: its name says it */
		return;
	if (f->sums && strcmp(f->digest, digest) != 0 && !s->differ[at]) {
		gap_add(&s->to->gaps, F_SUMS_BAD, NULL, "%s and %s say different sums of %s: it is "
			"compared with neither", f->sums, s->name, s->m->files[at].name);
		s->differ[at] = true;
	}
	if (f->sums)
		return;
	f->sums = tb_arena_str(&s->to->mem, s->name);
	if (!f->sums)
		gaps_short(&s->to->gaps, NULL);
	snprintf(f->digest, sizeof(f->digest), "%s", digest);
}

/* A name never becomes part of a path: it is looked for among the files that are there. */
static void
use_sum(struct sidecar *s, const char *hex, const char *name)
{
	struct verify_file *f;
	char digest[TB_DIGEST_MAX] = "sha256:";

	for (size_t i = 0; i < 64; i++)
		digest[7 + i] = (char)tolower((unsigned char)hex[i]);
	digest[71] = 0;
	s->sums++;
	while (tb_starts(name, "./"))
		name += 2;
	if (*name == '/' || !strcmp(name, "..") || tb_starts(name, "../") || strstr(name, "/../")) {
		s->outside++;
		return;
	}
	f = file_called(s, name);
	if (f)
		put_sum(s, f, digest);
	else if (!tb_names_have(s->beside, name) && !strchr(name, '/') && !s->absent++)
		snprintf(s->first, sizeof(s->first), "%s", name);
}

static void
read_lines(struct sidecar *s, char *text, const char *own)
{
	unsigned no = 0;

	for (char *line = text, *end; line; line = end) {
		const char *hex;
		char *name;
		enum line kind;

		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		no++;
		line[strcspn(line, "\r")] = 0;
		if (!strcmp(line, "-----BEGIN PGP SIGNATURE-----"))
			return;
		if (!line[strspn(line, " \t")] || *line == '#' || tb_starts(line, "-----") ||
		    tb_starts(line, "Hash: "))
			continue;
		kind = parse_line(line, &hex, &name);
		if (kind == LINE_SUM && (name || own) && strlen(name ? name : own) < NAME_LEN_MAX)
			use_sum(s, hex, name ? name : own);
		else if (kind != LINE_OTHER && !s->bad++)
			s->first_bad = no;
		else if (kind == LINE_OTHER)
			s->sums++;
	}
}

/* own: the file that it is called after, or NULL. */
static void
read_list(struct sidecar *s, const char *name, const char *own)
{
	char *path = tb_path_join(s->dir, name), *text = NULL;
	enum tb_status status;
	struct tb_err why;
	size_t len;

	s->name = name;
	s->sums = s->bad = s->absent = s->outside = 0;
	status = path ? tb_file_slurp(path, LIST_MAX, &text, &len, &why) : tb_nomem(&why);
	if (!status && memchr(text, 0, len))
		status = tb_fail(&why, TB_EFORMAT, "%.200s: is no text", name);
	if (!status)
		read_lines(s, text, own);
	else if (status == TB_ENOMEM)
		gaps_short(&s->to->gaps, &why);
	else if (status != TB_ENOENT)
		gap_add(&s->to->gaps, F_SUMS_BAD, NULL, "%s", why.msg);
	if (!status && s->bad)
		gap_add(&s->to->gaps, F_SUMS_BAD, NULL, "%s: line %u is no sum%s", name, s->first_bad,
			s->bad > 1 ? ", as are others" : "");
	else if (!status && !s->sums)
		gap_add(&s->to->gaps, F_SUMS_BAD, NULL, "%s: has no sums in it", name);
	if (s->outside)
		gap_add(&s->to->gaps, F_SUMS_OTHER, NULL, "%s: %u name%s that lead%s out of its folder %s "
			"ignored", name, s->outside, tb_plural(s->outside), s->outside == 1 ? "s" : "",
			s->outside == 1 ? "is" : "are");
	if (s->absent)
		gap_add(&s->to->gaps, F_SUMS_OTHER, NULL, "%s: %u file%s that it names %s not here, first "
			"%s", name, s->absent, tb_plural(s->absent), s->absent == 1 ? "is" : "are",
			s->first);
	free(text);
	free(path);
}

/* ---- which they are ---- */

static bool
is_list(const char *name)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!strcasecmp(name, lists[i]))
			return true;
	return false;
}

/* "FILE.sha256" is of that file alone, "NAME.sha256" of those that it names. */
static void
read_beside(struct sidecar *s)
{
	for (size_t i = 0; i < s->beside->n; i++) {
		const char *name = s->beside->v[i];
		char own[NAME_LEN_MAX];
		size_t n = strlen(name);

		n -= tb_ends(name, ".sha256") ? 7 : tb_ends(name, ".sha256sum") ? 10 : n;
		if (n >= sizeof(own) || (!n && !is_list(name)))
			continue;
		memcpy(own, name, n);
		own[n] = 0;
		if (!n || !tb_names_have(s->beside, own))
			read_list(s, name, NULL);
		else if (file_called(s, own))
			read_list(s, name, own);
	}
}

/* DIR/.cache/huggingface/download/FILE.metadata: the commit, the ETag, and when it was written.
 * A file that was changed since then is not what it speaks of. */
static void
read_download(struct sidecar *s, struct verify_file *f, const char *name)
{
	char *path = tb_asprintf("%s/.cache/huggingface/download/%s.metadata", s->dir, name);
	char *text = NULL, *etag, *when, digest[TB_DIGEST_MAX];
	enum tb_status status;
	struct tb_err why;
	size_t n, len;

	status = path ? tb_file_slurp(path, 4096, &text, &len, &why) : tb_nomem(&why);
	if (status == TB_ENOMEM)
		gaps_short(&s->to->gaps, &why);
	if (status) {
		free(path);
		return;
	}
	s->name = ".cache/huggingface";
	etag = strchr(text, '\n');
	when = etag ? strchr(etag + 1, '\n') : NULL;
	n = etag ? strspn(etag + 1, "0123456789abcdef") : 0;
	if (when && etag + 1 + n == when && (n == 64 || n == 40) &&
	    (double)f->id.mtime_ns / 1e9 <= strtod(when + 1, NULL) + 1) {
		snprintf(digest, sizeof(digest), "%s%.*s", n == 64 ? "sha256:" : "gitsha1:", (int)n,
			 etag + 1);
		put_sum(s, f, digest);
	}
	free(text);
	free(path);
}

enum tb_status
verify_read_sidecars(struct verify_model *to, const struct model *m, struct tb_err *err)
{
	bool folder = kind_is_folder(m->loc.kind);
	struct sidecar s = { .to = to, .m = m, .differ = tb_calloc(m->nfiles + 1, sizeof(bool)) };
	const char *slash = folder ? NULL : strrchr(m->loc.path, '/');
	char *dir = slash ? tb_strndup(m->loc.path, (size_t)(slash - m->loc.path)) : NULL;
	struct tb_names beside = { 0 };
	enum tb_status status = TB_OK;
	struct tb_err why;

	s.dir = folder ? m->loc.path : dir;
	s.beside = &beside;
	if (!s.differ || (slash && !dir))
		gaps_short(&to->gaps, NULL);
	else if (s.dir && *s.dir && !kind_has_manifest(m->loc.kind))
		status = tb_names_read(&beside, s.dir, &why);
	if (status == TB_ENOMEM)
		gaps_short(&to->gaps, &why);
	else if (!status && beside.n) {
		read_beside(&s);
		for (size_t i = 0; folder && i < m->nfiles; i++)
			if (!*to->files[i].digest && m->files[i].name &&
			    tb_names_have(&beside, ".cache"))
				read_download(&s, &to->files[i], m->files[i].name);
	}
	for (size_t i = 0; !to->gaps.nomem && i < m->nfiles; i++)
		if (s.differ[i]) {
			*to->files[i].digest = 0;
			to->files[i].sums = NULL;
		}
	tb_names_free(&beside);
	free(s.differ);
	free(dir);
	return gaps_status(&to->gaps, err);
}
