/* fetch_file.c - a file while it comes, and how it gets its name when it is right.
 *
 * Who loads it holds a lock on it.  "HEX.done" is never written to: it gets its name when its
 * digest was right, and another that is right may take its place.
 *
 * HEX.parts: 64 bytes "tbtui-parts 1 SIZE PART", then 16 a part: how much of it there is.  They
 * are written behind the data, so a kill loses a little and never claims too much; after a power
 * cut they may, and then the digest says so. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_parts.h"

#define HEAD_LEN 64
#define ROW_LEN 16
#define PART_MIN (16u << 20)
#define PARTS_MAX 4096u			/* of a file */
#define TRIES 8

struct beside { char s[FETCH_NAME_MAX + 16]; };

static const char *
beside(struct beside *b, const struct fetch_file *file, const char *suffix)
{
	snprintf(b->s, sizeof(b->s), "%s%s", file->name, suffix);
	return b->s;
}

static void
remove_beside(const struct fetch *f, const struct fetch_file *file, const char *suffix)
{
	struct beside b;

	unlinkat(f->dir_fd, beside(&b, file, suffix), 0);
}

enum tb_status
fetch_write_failed(const struct fetch *f, const struct fetch_file *file, struct tb_err *err)
{
	int e = errno;

	if (e == ENOSPC || e == EDQUOT)
		return tb_fail(err, TB_ELIMIT, "%s: %s; what came is kept: make room, and the same "
			       "command goes on with it", f->dir,
			       e == EDQUOT ? "your quota is used up" : "the disk is full");
	errno = e;
	return tb_fail_errno(err, "%s/%s: cannot be written", f->dir,
			     file ? file->name : f->list);
}

uint64_t
fetch_part_size(const struct fetch *f, uint64_t size)
{
	uint64_t part = f->opts.part, least = size / PARTS_MAX + 1;

	if (!part) {
		part = size / (4 * f->opts.streams) + 1;
		part = (part + (1u << 20) - 1) >> 20 << 20;
		part = part < PART_MIN ? PART_MIN : part > 8 * PART_MIN ? 8 * PART_MIN : part;
		if (size < 2 * part)
			return UINT64_MAX;
	}
	part = part < least ? least : part;
	return size > part ? part : UINT64_MAX;
}

uint64_t
fetch_file_room(const struct fetch *f, const struct fetch_file *file)
{
	const char *const suffixes[] = { "", DONE_SUFFIX };
	uint64_t have = 0, size = file->it.size;

	for (size_t i = 0; i < 2; i++) {
		struct beside b;
		struct stat st;

		if (!fstatat(f->dir_fd, beside(&b, file, suffixes[i]), &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && (uint64_t)st.st_blocks * 512 > have)
			have = (uint64_t)st.st_blocks * 512;
	}
	return have < size ? size - have : 0;
}

/* ---- parts ---- */

bool
fetch_parts_make(struct fetch_file *file, uint64_t part)
{
	uint64_t size = file->it.size;
	size_t n = part == UINT64_MAX || !size ? 1 : (size_t)((size - 1) / part + 1);

	struct fetch_part *parts = tb_calloc(n, sizeof(*parts));

	if (!parts)
		return false;
	free(file->parts);
	file->parts = parts;
	file->nparts = n;
	file->next = file->front = 0;
	file->stream = n == 1;
	for (size_t i = 0; i < n; i++)
		file->parts[i] = (struct fetch_part){ .off = i * part, .len = part };
	file->parts[n - 1].off = n == 1 ? 0 : (n - 1) * part;
	file->parts[n - 1].len = size - file->parts[n - 1].off;
	return true;
}

void
fetch_file_note(const struct fetch_file *file, const struct fetch_part *p)
{
	char row[ROW_LEN + 1];

	if (file->parts_fd < 0)
		return;
	snprintf(row, sizeof(row), "%15ju\n", (uintmax_t)p->got);
	(void)!pwrite(file->parts_fd, row, ROW_LEN, HEAD_LEN + ROW_LEN * (p - file->parts));
}

/* All of it at once, so that no later note needs room. */
static enum tb_status
parts_write(const struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	size_t len = HEAD_LEN + ROW_LEN * file->nparts;
	char *text = malloc(len + 1), head[HEAD_LEN];
	struct beside b;
	ssize_t n = -1;

	if (!text)
		return tb_nomem(err);
	snprintf(head, sizeof(head), "tbtui-parts 1 %ju %ju", (uintmax_t)file->it.size,
		 (uintmax_t)file->parts[0].len);
	snprintf(text, len, "%-63s\n", head);
	for (size_t i = 0; i < file->nparts; i++)
		snprintf(text + HEAD_LEN + ROW_LEN * i, ROW_LEN + 1, "%15ju\n",
			 (uintmax_t)file->parts[i].got);
	remove_beside(f, file, PARTS_SUFFIX);
	file->parts_fd = openat(f->dir_fd, beside(&b, file, PARTS_SUFFIX),
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (file->parts_fd >= 0)
		n = pwrite(file->parts_fd, text, len, 0);
	free(text);
	if (n == (ssize_t)len && !ftruncate(file->fd, (off_t)file->it.size))
		return TB_OK;
	if (n >= 0 && n < (ssize_t)len)
		errno = ENOSPC;
	return fetch_write_failed(f, file, err);
}

/* One row; false: it is none. */
static bool
row_read(const char *row, uint64_t most, uint64_t *got)
{
	char text[ROW_LEN];

	memcpy(text, row, ROW_LEN - 1);
	text[ROW_LEN - 1] = 0;
	return row[ROW_LEN - 1] == '\n' && tb_parse_u64(text + strspn(text, " "), got) &&
	       *got <= most;
}

/* The parts as HEX.parts has them; false: it has none, or none that fit. */
static bool
parts_read(const struct fetch *f, struct fetch_file *file)
{
	char text[HEAD_LEN + ROW_LEN * PARTS_MAX + 1], head[HEAD_LEN + 32];
	uint64_t part = 0;
	struct beside b;
	ssize_t n;

	file->parts_fd = openat(f->dir_fd, beside(&b, file, PARTS_SUFFIX),
				O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	n = file->parts_fd < 0 ? -1 : pread(file->parts_fd, text, sizeof(text) - 1, 0);
	if (n < HEAD_LEN)
		return false;
	text[HEAD_LEN - 1] = 0;
	snprintf(head, sizeof(head), "tbtui-parts 1 %ju ", (uintmax_t)file->it.size);
	if (!tb_starts(text, head))
		return false;
	text[strlen(head) + strcspn(text + strlen(head), " ")] = 0;
	if (!tb_parse_u64(text + strlen(head), &part) || part < file->it.size / PARTS_MAX ||
	    part >= file->it.size || !part || !fetch_parts_make(file, part) ||
	    (size_t)n != HEAD_LEN + ROW_LEN * file->nparts)
		return false;
	for (size_t i = 0; i < file->nparts; i++)
		if (!row_read(text + HEAD_LEN + ROW_LEN * i, file->parts[i].len,
			      &file->parts[i].got))
			return false;
	return true;
}

/* How far it is there in one piece. */
static uint64_t
prefix_of(const struct fetch_file *file)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < file->nparts; i++) {
		sum += file->parts[i].got;
		if (file->parts[i].got < file->parts[i].len)
			break;
	}
	return sum;
}

static void
prefix_to_parts(struct fetch_file *file, uint64_t prefix)
{
	for (size_t i = 0; i < file->nparts; i++) {
		struct fetch_part *p = &file->parts[i];

		p->got = prefix < p->off ? 0 : prefix - p->off < p->len ? prefix - p->off : p->len;
	}
}

static void
drop_parts(struct fetch *f, struct fetch_file *file)
{
	if (file->parts_fd >= 0) {
		close(file->parts_fd);
		file->parts_fd = -1;
		remove_beside(f, file, PARTS_SUFFIX);
	}
}

/* What is there, of `size` bytes, and how the rest is to come. */
static enum tb_status
parts_plan(struct fetch *f, struct fetch_file *file, uint64_t size, struct tb_err *err)
{
	bool known = parts_read(f, file), whole = atomic_load(&file->whole);
	uint64_t part = whole ? UINT64_MAX : fetch_part_size(f, file->it.size), prefix;

	if (known && !whole && size == file->it.size)
		return TB_OK;
	prefix = known ? prefix_of(file) : size;
	if (prefix > size || size > file->it.size || !*file->it.digest)
		prefix = 0;
	drop_parts(f, file);
	if (!fetch_parts_make(file, part))
		return tb_nomem(err);
	if (!prefix && !file->wrong && *file->it.digest)
		prefix = fetch_adopt(f, file);
	if (prefix)
		prefix_to_parts(file, prefix);
	if (!file->stream)
		return parts_write(f, file, err);
	return ftruncate(file->fd, (off_t)prefix) ? fetch_write_failed(f, file, err) : TB_OK;
}

/* ---- from the folder, and back ---- */

/* TB_OK with an open and locked file, or without one: another has it, or (*again) it went away. */
static enum tb_status
lock_file(const struct fetch *f, struct fetch_file *file, bool *again, struct stat *st,
	  struct tb_err *err)
{
	struct stat named;

	*again = false;
	file->fd = openat(f->dir_fd, file->name,
			  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (file->fd < 0)
		return fetch_write_failed(f, file, err);
	if (!flock(file->fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) {
		if (fstat(file->fd, st))
			return tb_fail_errno(err, "%s/%s", f->dir, file->name);
		if (!S_ISREG(st->st_mode))
			return tb_fail(err, TB_EUNSUP, "%s/%s: is no file", f->dir, file->name);
		*again = fstatat(f->dir_fd, file->name, &named, AT_SYMLINK_NOFOLLOW) ||
			 named.st_ino != st->st_ino || named.st_dev != st->st_dev;
		if (!*again && st->st_nlink == 1)
			return TB_OK;
		if (!*again)		/* what has other names is not ours to write */
			remove_beside(f, file, "");
		*again = true;
	}
	close(file->fd);
	file->fd = -1;
	return TB_OK;
}

/* Is it there already, by an earlier run or another who is at work?  One that is wrong goes: who
 * named it so would take it. */
static enum tb_status
look_for_done(struct fetch *f, struct fetch_file *file, bool *right, struct tb_err *err)
{
	enum tb_status status;
	struct beside b;
	struct stat st;

	*right = false;
	if (!*file->it.digest || fstatat(f->dir_fd, beside(&b, file, DONE_SUFFIX), &st,
					 AT_SYMLINK_NOFOLLOW))
		return TB_OK;
	if (S_ISDIR(st.st_mode))
		return tb_fail(err, TB_EUNSUP, "%s/%s: is a folder; take it away", f->dir, b.s);
	/* what a link leads to is not in the folder: the link would become the blob */
	status = S_ISREG(st.st_mode) ? fetch_hash_file(f, file, b.s, right, err) : TB_OK;
	if (!status && !*right)
		remove_beside(f, file, DONE_SUFFIX);
	return status;
}

static enum tb_status
done_path(const struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	file->path = tb_asprintf("%s/%s" DONE_SUFFIX, f->dir, file->name);
	return file->path ? TB_OK : tb_nomem(err);
}

static void
count_there(struct fetch *f, struct fetch_file *file)
{
	uint64_t there = 0;

	for (size_t i = 0; i < file->nparts; i++) {
		struct fetch_part *p = &file->parts[i];

		p->ready = p->got;
		p->taken = p->got == p->len && file->nparts > 1;
		there += p->got;
	}
	pthread_mutex_lock(&f->lock);
	file->there = there - (there < atomic_load(&file->got) ? there : atomic_load(&file->got));
	file->state = there ? FETCH_HASHING : FETCH_LOADING;
	*file->why = 0;
	pthread_mutex_unlock(&f->lock);
}

/* It is locked: who had it before may have ended it. */
static enum tb_status
open_locked(struct fetch *f, struct fetch_file *file, uint64_t size, bool *right,
	    struct tb_err *err)
{
	enum tb_status status = look_for_done(f, file, right, err);

	if (!status && *right) {
		remove_beside(f, file, "");
		remove_beside(f, file, PARTS_SUFFIX);
		fetch_file_close(file);
		return done_path(f, file, err);
	}
	if (!status)
		status = parts_plan(f, file, size, err);
	if (!status)
		status = fetch_hash_begin(file, err);
	if (!status)
		count_there(f, file);
	return status;
}

enum tb_status
fetch_file_open(struct fetch *f, struct fetch_file *file, enum fetch_found *found,
		struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool again = true, right = false;
	struct stat st = { 0 };

	for (unsigned i = 0; !status && again && i < TRIES; i++)
		status = lock_file(f, file, &again, &st, err);
	*found = FETCH_BUSY;
	if (!status && file->fd >= 0) {
		status = open_locked(f, file, (uint64_t)st.st_size, &right, err);
		*found = right ? FETCH_RIGHT : FETCH_OPENED;
	}
	if (status)
		fetch_file_close(file);
	return status;
}

void
fetch_file_close(struct fetch_file *file)
{
	if (file->parts_fd >= 0)
		close(file->parts_fd);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = file->parts_fd = -1;
	free(file->parts);
	file->parts = NULL;
	file->nparts = 0;
	tb_sha256_free(&file->hash);
	file->hashed = 0;
}

enum tb_status
fetch_file_end(struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	enum tb_status status = TB_OK;
	struct beside b;

	fetch_hash_end(file, digest);
	if (*file->it.digest && strcmp(digest, file->it.digest)) {
		(void)!ftruncate(file->fd, 0);
		drop_parts(f, file);
		status = tb_fail(err, TB_EFORMAT, "what came is not what its digest says: %s instead of "
				 "%s; it was thrown away", digest, file->it.digest);
	} else {
		drop_parts(f, file);
		if (!renameat(f->dir_fd, file->name, f->dir_fd, beside(&b, file, DONE_SUFFIX)))
			status = done_path(f, file, err);
		else if (errno == ENOENT)
			status = tb_fail(err, TB_EFORMAT, "somebody took %s/%s away while it came", f->dir,
					 file->name);
		else
			status = fetch_write_failed(f, file, err);
	}
	fetch_file_close(file);
	return status;
}
