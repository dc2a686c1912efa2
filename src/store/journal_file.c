/* journal_file.c - the list of an operation as a file, and the folders of all of them. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/store/journal_parts.h"

#define JOURNAL_MAX (256u << 20)	/* bytes: a million steps */
#define PATH_BYTES 4096

#define X(id, word) [id] = word,
static const char *const states[] = { JOURNAL_STATE_LIST(X) };
static const char *const dos[] = { JOURNAL_DO_LIST(X) };
#undef X

const char *
journal_state_word(enum journal_state s)
{
	return states[s];
}

const char *
journal_do_word(enum journal_do d)
{
	return dos[d];
}

/* ---- paths ---- */

bool
journal_path_safe(const char *path)
{
	size_t n = strlen(path);

	if (!n || n >= PATH_BYTES || (tb_path_inside(path, JOURNAL_DIR, strlen(JOURNAL_DIR)) &&
				      !tb_starts(path, JOURNAL_PULL "/")))
		return false;
	for (const char *p = path;; p += n + 1) {
		n = strcspn(p, "/");
		if (!n || (n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (!p[n])
			return true;
	}
}

enum tb_status
journal_own_dir(const char *dir, struct tb_err *err)
{
	struct stat st;

	if (lstat(dir, &st))
		return tb_fail_errno(err, "%s", dir);
	if (!S_ISDIR(st.st_mode))
		return tb_fail(err, TB_EUNSUP, "%s: is no folder, or a link to one", dir);
	return TB_OK;
}

bool
journal_seen(struct tb_path *last, const char *path, bool now)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n && n < sizeof(last->s) && !strncmp(last->s, path, n) && !last->s[n])
		return true;
	if (now && n < sizeof(last->s)) {
		memcpy(last->s, path, n);
		last->s[n] = 0;
	}
	return false;
}

void
journal_look_anew(const struct journal *j)
{
	if (j->seen)
		*j->seen->way.s = *j->seen->parents.s = 0;
}

enum tb_status
journal_way(const struct journal *j, const char *path, unsigned *missing, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct stat top, st;
	unsigned gone = 0;
	char *full;

	if (j->seen && journal_seen(&j->seen->way, path, false)) {
		if (missing)
			*missing = 0;
		return TB_OK;
	}
	full = tb_path_join(j->root, path);
	if (!full)
		return tb_nomem(err);
	if (!status && lstat(j->dir, &top))
		status = tb_fail_errno(err, "%s", j->dir);
	for (char *p = full ? full + strlen(j->root) + 1 : NULL; !status && (p = strchr(p, '/')); p++) {
		*p = 0;
		if (gone || lstat(full, &st)) {
			if (!gone && errno != ENOENT)
				status = tb_fail_errno(err, "%s", full);
			gone++;
		} else if (!S_ISDIR(st.st_mode)) {
			status = tb_fail(err, TB_EUNSUP, "%s: is a link, or no folder; what is "
					 "behind it is left alone", full);
		} else if (st.st_dev != top.st_dev) {
			status = tb_fail(err, TB_EUNSUP, "%s: is on another file system than %s; what "
					 "is in it is left alone", full, j->root);
		}
		*p = '/';
	}
	if (!status && gone && !missing)
		status = tb_fail(err, TB_ENOENT, "%s: its folder is not there", full);
	if (missing)
		*missing = gone;
	if (!status && !gone && j->seen)
		(void)journal_seen(&j->seen->way, path, true);
	free(full);
	return status;
}

/* ---- the list ---- */

/* JSON has characters, and names in folders have bytes: what is not printable ASCII is %XX. */
static void
set_path(cJSON *o, const char *key, const char *path)
{
	struct tb_buf b = TB_BUF(3 * PATH_BYTES + 1);

	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p < 0x20 || *p > 0x7e || *p == '%')
			tb_buf_printf(&b, "%%%02X", *p);
		else
			tb_buf_chr(&b, (char)*p);
	json_set_buf(o, key, &b);
	tb_buf_free(&b);
}

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* NULL: no memory, or no path that one may go. */
static char *
get_path(const cJSON *v)
{
	const char *text = json_str(v);
	char *path = text ? tb_strdup(text) : NULL, *to = path;

	for (const char *p = path; p && *p; p++)
		if (*p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
			*to++ = (char)(hex(p[1]) * 16 + hex(p[2]));
			p += 2;
		} else {
			*to++ = *p;
		}
	if (!path)
		return NULL;
	*to = 0;
	if (journal_path_safe(path))
		return path;
	free(path);
	return NULL;
}

/* Numbers of inodes are larger than JSON's. */
static void
set_number(cJSON *o, const char *key, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	json_set_str(o, key, text);
}

static bool
get_number(const cJSON *o, const char *key, uint64_t *out)
{
	const char *text = json_str(json_get(o, key));

	*out = 0;
	return text && tb_parse_u64(text, out);
}

static cJSON *
ident_json(const struct journal_ident *id)
{
	cJSON *o = json_object();
	char time[32];

	set_number(o, "inode", id->ino);
	set_number(o, "size", id->size);
	set_number(o, "mtime_ns", (uint64_t)id->mtime_ns);
	json_set_str(o, "modified", tb_time_rfc3339(id->mtime_ns, time));
	return o;
}

static bool
get_ident(const cJSON *o, struct journal_ident *id)
{
	uint64_t mtime = 0;
	bool ok = get_number(o, "inode", &id->ino) && get_number(o, "size", &id->size) &&
		  get_number(o, "mtime_ns", &mtime);

	id->mtime_ns = (int64_t)mtime;
	return ok;
}

static cJSON *
step_json(const struct journal_step *s)
{
	cJSON *o = json_object();

	json_set_str(o, "do", dos[s->what]);
	set_path(o, "path", s->path);
	if (s->to)
		set_path(o, "to", s->to);
	else
		json_set_u64(o, "slot", s->slot);
	if (s->what != JOURNAL_PUT)
		json_set(o, "old", ident_json(&s->old));
	if (s->what == JOURNAL_PUT || s->what == JOURNAL_SWAP)
		json_set(o, "new", ident_json(&s->new));
	json_set_u64(o, "makes", s->made);
	json_set_u64(o, "clears", s->clear);
	json_set_str(o, "model", s->model);
	json_set_str(o, "digest", s->digest);
	set_number(o, "bytes", s->bytes);
	return o;
}

static char *
list_path(const struct journal *j, enum journal_state state)
{
	return tb_asprintf("%s/" JOURNAL_LIST "%s", j->dir, states[state]);
}

enum tb_status
journal_write(struct journal *j, struct tb_err *err)
{
	cJSON *doc = json_object(), *steps = json_array();
	char time[32], *path = list_path(j, JOURNAL_BEGUN), *text;
	enum tb_status status = TB_OK;

	json_set_u64(doc, "version", 1);
	json_set_u64(doc, "number", j->n);
	json_set_str(doc, "what", j->what);
	json_set_str(doc, "when", tb_time_rfc3339(j->when_ns, time));
	set_number(doc, "when_ns", (uint64_t)j->when_ns);
	for (size_t i = 0; i < j->nsteps; i++)
		json_push(steps, step_json(&j->steps[i]));
	json_set(doc, "steps", steps);
	text = json_print(doc);
	json_free(doc);
	if (!text || !path)
		status = tb_nomem(err);
	else if (strlen(text) > JOURNAL_MAX)
		status = tb_fail(err, TB_ELIMIT, "%s: too much for one operation", path);
	else
		status = tb_out_file(path, text, strlen(text), false, err);
	if (!status)
		j->state = JOURNAL_BEGUN;
	free(text);
	free(path);
	return status;
}

enum tb_status
journal_set_state(struct journal *j, enum journal_state state, struct tb_err *err)
{
	char *from = list_path(j, j->state), *to = list_path(j, state);
	enum tb_status status = TB_OK;
	int folder = -1;

	if (!from || !to)
		status = tb_nomem(err);
	else if ((status = tb_folder_open(to, &folder, err)) == TB_OK && rename(from, to)) {
		status = tb_fail_errno(err, "%s: cannot be written", to);
		if (folder >= 0)
			close(folder);
	} else if (!status) {
		j->state = state;
		status = tb_folder_sync(folder, to, err);
	}
	free(from);
	free(to);
	return status;
}

static bool
get_unsigned(const cJSON *o, const char *key, unsigned *out)
{
	uint64_t n;

	*out = 0;
	if (!json_u64(json_get(o, key), &n) || n > UINT32_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

static bool
step_read(struct journal_step *s, const cJSON *o)
{
	const char *what = json_str(json_get(o, "do")), *model = json_str(json_get(o, "model"));
	const char *digest = json_str(json_get(o, "digest"));
	unsigned i = 0;

	while (i < JOURNAL_DO_COUNT && (!what || strcmp(what, dos[i]) != 0))
		i++;
	*s = (struct journal_step){ .what = i < JOURNAL_DO_COUNT ? (enum journal_do)i : JOURNAL_TAKE };
	s->path = get_path(json_get(o, "path"));
	s->to = s->what == JOURNAL_MOVE ? get_path(json_get(o, "to")) : NULL;
	s->model = tb_strdup(model ? model : "");
	if (digest && !digest_parse(digest, s->digest))
		*s->digest = 0;
	return i < JOURNAL_DO_COUNT && s->path && s->model &&
	       (s->what == JOURNAL_MOVE ? s->to != NULL : get_unsigned(o, "slot", &s->slot)) &&
	       (s->what == JOURNAL_PUT || get_ident(json_get(o, "old"), &s->old)) &&
	       ((s->what != JOURNAL_PUT && s->what != JOURNAL_SWAP) ||
		get_ident(json_get(o, "new"), &s->new)) &&
	       get_unsigned(o, "makes", &s->made) && get_unsigned(o, "clears", &s->clear) &&
	       get_number(o, "bytes", &s->bytes);
}

static enum tb_status
steps_read(struct journal *j, const cJSON *doc, const char *path, struct tb_err *err)
{
	const cJSON *steps = json_get(doc, "steps");
	const char *what = json_str(json_get(doc, "what"));
	uint64_t version = 0, number = 0, when = 0;

	if (!json_u64(json_get(doc, "version"), &version) || version != 1)
		return tb_fail(err, TB_EFORMAT, "%s: of another version of tbtui", path);
	if (!json_is_array(steps) || !what || !json_u64(json_get(doc, "number"), &number) ||
	    number != j->n || !get_number(doc, "when_ns", &when) || when > INT64_MAX)
		return tb_fail(err, TB_EFORMAT, "%s: is no list of an operation", path);
	j->when_ns = (int64_t)when;
	free(j->what);
	j->what = tb_strdup(what);
	if (!j->what)
		return tb_nomem(err);
	for (const cJSON *o = json_first(steps); o; o = json_next(o)) {
		if (!tb_grow(&j->steps, &j->cap, j->nsteps + 1, sizeof(*j->steps)))
			return tb_nomem(err);
		if (!step_read(&j->steps[j->nsteps++], o))
			return tb_fail(err, TB_EFORMAT, "%s: step %zu cannot be believed; nothing of it "
				       "is touched", path, j->nsteps);
	}
	return TB_OK;
}

/* By the name of its list; more than one is nothing that we made. */
static enum tb_status
find_state(struct journal *j, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, j->dir, err);
	unsigned found = 0;

	for (size_t i = 0; i < names.n && !status; i++)
		for (unsigned s = JOURNAL_BEGUN; s < JOURNAL_STATE_COUNT; s++)
			if (tb_starts(names.v[i], JOURNAL_LIST) &&
			    !strcmp(names.v[i] + strlen(JOURNAL_LIST), states[s])) {
				j->state = (enum journal_state)s;
				found++;
			}
	tb_names_free(&names);
	if (!status && found > 1)
		status = tb_fail(err, TB_EFORMAT, "%s: has more than one list; nothing of it is "
				 "touched", j->dir);
	return status;
}

/* .tbtui and the folder in it are folders of this file system. */
static enum tb_status
journal_place(const struct journal *j, struct tb_err *err)
{
	char *above = tb_path_join(j->root, JOURNAL_DIR);
	enum tb_status status = above ? journal_own_dir(above, err) : tb_nomem(err);

	free(above);
	return status ? status : journal_own_dir(j->dir, err);
}

static enum tb_status
list_read(struct journal *j, struct tb_err *err)
{
	char *path = list_path(j, j->state);
	cJSON *doc = NULL;
	enum tb_status status = path ? json_read(&doc, path, JOURNAL_MAX, err) : tb_nomem(err);

	if (!status)
		status = steps_read(j, doc, path, err);
	json_free(doc);
	free(path);
	return status;
}

enum tb_status
journal_look(struct journal *j, const char *root, uint64_t n, struct tb_err *err)
{
	enum tb_status status;

	*j = (struct journal){ .root = tb_strdup(root), .what = tb_strdup(""), .n = n, .lock = -1 };
	j->dir = tb_asprintf("%s/" JOURNAL_DIR "/%" PRIu64, root, n);
	status = j->root && j->dir && j->what ? journal_place(j, err) : tb_nomem(err);
	if (status == TB_ENOENT)
		status = tb_fail(err, TB_ENOENT, "%s: has no operation %" PRIu64 " to undo", root, n);
	if (!status)
		status = find_state(j, err);
	j->seen = tb_calloc(1, sizeof(*j->seen));
	if (status)
		journal_free(j);
	return status;
}

enum tb_status
journal_read(struct journal *j, const char *root, uint64_t n, struct tb_err *err)
{
	enum tb_status status = journal_look(j, root, n, err);

	if (!status && j->state != JOURNAL_DRAFT)
		status = list_read(j, err);
	if (status)
		journal_free(j);
	return status;
}

/* ---- all of them ---- */

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum tb_status
journal_list(const char *root, uint64_t **out, size_t *n, struct tb_err *err)
{
	char *dir = tb_path_join(root, JOURNAL_DIR);
	enum tb_status status = dir ? journal_own_dir(dir, err) : tb_nomem(err);
	struct tb_names names = { 0 };
	uint64_t number;

	*out = NULL;
	*n = 0;
	if (!status)
		status = tb_names_read(&names, dir, err);
	if (!status && names.n && !(*out = tb_calloc(names.n, sizeof(**out))))
		status = tb_nomem(err);
	for (size_t i = 0; i < names.n && !status; i++)
		if (*names.v[i] != '0' && strlen(names.v[i]) < 10 && tb_parse_u64(names.v[i], &number))
			(*out)[(*n)++] = number;
	if (*n)
		qsort(*out, *n, sizeof(**out), by_number);
	tb_names_free(&names);
	free(dir);
	return status == TB_ENOENT ? TB_OK : status;
}

uint64_t
journal_last(const char *root)
{
	char *path = tb_path_join(root, JOURNAL_DIR "/last"), *text = NULL;
	uint64_t last = 0, *numbers, written;
	size_t n;

	if (!journal_list(root, &numbers, &n, NULL)) {
		while (n && numbers[n - 1] > JOURNAL_SANE)
			n--;
		last = n ? numbers[n - 1] : 0;
		free(numbers);
	}
	if (path && !tb_file_slurp(path, 32, &text, NULL, NULL)) {
		text[strcspn(text, "\n")] = 0;
		if (tb_parse_u64(text, &written) && written > last && written <= JOURNAL_SANE)
			last = written;
	}
	free(text);
	free(path);
	return last;
}

bool
journal_in_use(const struct journal *j)
{
	int fd = open(j->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool used = fd >= 0 ? flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK
			    : errno != ENOENT;		/* nobody can say */

	if (fd >= 0)
		close(fd);
	return used;
}

bool
journal_unfinished(const struct journal *j)
{
	return (j->state == JOURNAL_DRAFT || j->state == JOURNAL_BEGUN ||
		j->state == JOURNAL_UNDOING || j->state == JOURNAL_EMPTYING) && !journal_in_use(j);
}
