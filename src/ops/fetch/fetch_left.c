/* fetch_left.c - what lies in a folder of what is fetched: of whom, how much, and is he at it? */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_list.h"
#include "src/ops/fetch/fetch_parts.h"

enum tb_status
fetch_left_dirs(struct tb_names *out, const char *store, struct tb_err *err)
{
	struct tb_names below = { 0 };
	enum tb_status status = tb_names_read(&below, store, NULL) ? TB_OK
				: tb_names_add(&below, ".", err);

	*out = (struct tb_names){ 0 };
	for (size_t i = 0; i < below.n && !status; i++) {
		const char *name = below.v[i];
		char *dir = strcmp(name, ".") ? tb_asprintf("%s/%s/" FETCH_DIR, store, name)
					      : tb_path_join(store, FETCH_DIR);

		if (!dir)
			status = tb_nomem(err);
		else if ((*name != '.' || !name[1]) && tb_is_dir(dir))
			status = tb_names_add(out, dir, err);
		free(dir);
	}
	tb_names_free(&below);
	if (status)
		tb_names_free(out);
	return status;
}

struct look {
	const char *dir;
	int fd;
	struct tb_names names;		/* of the folder, in order */
	bool *taken;			/* those that go with one of the lists */
};

void
fetch_left_free(struct fetch_lefts *l)
{
	while (l->n) {
		free(l->v[--l->n].note);
		tb_names_free(&l->v[l->n].names);
	}
	free(l->v);
	*l = (struct fetch_lefts){ 0 };
}

bool
fetch_left_is_data(const char *name, char digest[TB_DIGEST_MAX])
{
	size_t n = strlen(name);
	uint8_t bytes[TB_SHA256_LEN];

	*digest = 0;
	if (tb_ends(name, DONE_SUFFIX))
		n -= strlen(DONE_SUFFIX);
	if (n == 2 * TB_SHA256_LEN) {
		snprintf(digest, TB_DIGEST_MAX, "sha256:%.64s", name);
		if (tb_digest_bytes(digest, bytes))
			return true;
		*digest = 0;
	}
	return (tb_starts(name, "gitsha1-") || tb_starts(name, "plain-")) &&
	       !tb_ends(name, PARTS_SUFFIX);
}

uint64_t
fetch_left_there(const char *path)
{
	struct stat st;
	uint64_t blocks;

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	blocks = (uint64_t)st.st_blocks * 512;
	return blocks < (uint64_t)st.st_size ? blocks : (uint64_t)st.st_size;
}

/* The file goes with it, if it is there and with no other. */
static enum tb_status
left_take(struct look *k, struct fetch_left *l, const char *name, struct tb_err *err)
{
	size_t at = TB_FIRST(k->names.n, i, strcmp(k->names.v[i], name) < 0);
	char digest[TB_DIGEST_MAX];
	struct tb_path path;
	struct stat st;

	if (at == k->names.n || strcmp(k->names.v[at], name) || k->taken[at])
		return TB_OK;
	k->taken[at] = true;
	tb_path_in(&path, k->dir, name);
	if (!lstat(path.s, &st)) {
		int64_t when = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;

		l->when_ns = when > l->when_ns ? when : l->when_ns;
	}
	if (fetch_left_is_data(name, digest))
		l->there += fetch_left_there(path.s);
	return tb_names_add(&l->names, name, err);
}

/* "NAME SIZE WHAT" */
static enum tb_status
left_line(struct look *k, struct fetch_left *l, char *line, struct tb_err *err)
{
	static const char *const suffixes[] = { "", DONE_SUFFIX, PARTS_SUFFIX };
	char *size = line + strcspn(line, " "), name[FETCH_NAME_MAX + 16];
	enum tb_status status = TB_OK;
	uint64_t n;

	if (!*size || size - line >= FETCH_NAME_MAX)
		return TB_OK;
	*size++ = 0;
	size[strcspn(size, " ")] = 0;
	if (!tb_parse_u64(size, &n))
		return TB_OK;
	l->size += n <= UINT64_MAX - l->size ? n : 0;
	for (size_t i = 0; i < 3 && !status; i++) {
		snprintf(name, sizeof(name), "%s%s", line, suffixes[i]);
		status = left_take(k, l, name, err);
	}
	return status;
}

/* Those at work first: what two of them name is theirs. */
static enum tb_status
left_list(struct look *k, struct fetch_lefts *out, size_t i, bool busy_ones, struct tb_err *err)
{
	const char *name = k->names.v[i];
	bool busy = !k->taken[i] && tb_starts(name, LIST_PREFIX) && fetch_list_busy(k->fd, name);
	struct fetch_left *l;
	enum tb_status status;
	char *text;

	if (k->taken[i] || !tb_starts(name, LIST_PREFIX) || (busy_ones && !busy) ||
	    fetch_list_read(k->fd, name, &text))
		return TB_OK;
	if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v))) {
		free(text);
		return tb_nomem(err);
	}
	l = &out->v[out->n++];
	*l = (struct fetch_left){ .in_use = busy };
	status = left_take(k, l, name, err);
	for (char *line = text, *next; !status && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (line != text)
			status = left_line(k, l, line, err);
		else if (!(l->note = tb_strdup(line + strlen(FETCH_LIST_MAGIC))))
			status = tb_nomem(err);
	}
	free(text);
	return status;
}

/* What no list names. */
static enum tb_status
left_rest(struct look *k, struct fetch_lefts *out, struct tb_err *err)
{
	struct fetch_left rest = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < k->names.n && !status; i++)
		status = left_take(k, &rest, k->names.v[i], err);
	rest.size = rest.there;
	if (!status && !rest.names.n)
		return TB_OK;
	if (!status && (!(rest.note = tb_strdup("")) ||
			!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v))))
		status = tb_nomem(err);
	if (!status) {
		out->v[out->n++] = rest;
		return TB_OK;
	}
	free(rest.note);
	tb_names_free(&rest.names);
	return status;
}

enum tb_status
fetch_left_read(struct fetch_lefts *out, const char *dir, struct tb_err *err)
{
	struct look k = { .dir = dir, .fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						 O_CLOEXEC) };
	enum tb_status status = TB_OK;

	*out = (struct fetch_lefts){ 0 };
	if (k.fd < 0)
		return tb_no_dir(dir) ? TB_OK : tb_fail_errno(err, "%s", dir);
	status = tb_names_read_at(&k.names, k.fd, dir, err);
	if (!status && !(k.taken = tb_calloc(k.names.n + 1, sizeof(*k.taken))))
		status = tb_nomem(err);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; !status && i < k.names.n; i++)
			status = left_list(&k, out, i, pass == 0, err);
	if (!status)
		status = left_rest(&k, out, err);
	tb_names_free(&k.names);
	free(k.taken);
	close(k.fd);
	if (status)
		fetch_left_free(out);
	return status;
}

char *
fetch_left_text(const struct fetch_left *l)
{
	char there[16], size[16], note[200];

	tb_text_clean(l->note, note, sizeof(note));
	tb_human_bytes(l->there, there);
	tb_human_bytes(l->size, size);
	if (!*note)
		return tb_asprintf("%s of something that was loaded, nobody says for what", there);
	if (l->in_use)
		return tb_asprintf("%s of %s of \"tbtui %s\", which is under way", there, size, note);
	return tb_asprintf("%s of %s of an unfinished download: \"tbtui %s\" goes on with it", there,
			   size, note);
}
