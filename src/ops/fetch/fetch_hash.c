/* fetch_hash.c - what came, hashed in order: as it comes where it comes in one piece, else from
 * the page cache behind the front, by whichever loader has just ended a part. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_parts.h"

#define PIECE (256u << 10)

static enum tb_status
hash_init(struct tb_sha256 *s, const struct fetch_item *it, struct tb_err *err)
{
	return tb_starts(it->digest, "gitsha1:") ? tb_gitsha1_init(s, it->size, err)
						 : tb_sha256_init(s, err);
}

static void
hash_done(struct tb_sha256 *s, const struct fetch_item *it, char digest[TB_DIGEST_MAX])
{
	if (tb_starts(it->digest, "gitsha1:"))
		tb_gitsha1_done(s, digest);
	else
		tb_sha256_done(s, digest);
}

enum tb_status
fetch_hash_begin(struct fetch_file *file, struct tb_err *err)
{
	file->hashed = 0;
	file->hashing = false;
	return hash_init(&file->hash, &file->it, err);
}

void
fetch_hash_end(struct fetch_file *file, char digest[TB_DIGEST_MAX])
{
	hash_done(&file->hash, &file->it, digest);
}

static enum tb_status
hash_stretch(const struct fetch *f, struct tb_sha256 *s, int fd, const char *name, uint64_t off,
	     uint64_t end, struct tb_err *err)
{
	char *buf = malloc(PIECE);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	while (!status && off < end && !(status = tb_job_check(f->job, err))) {
		size_t n = end - off < PIECE ? (size_t)(end - off) : PIECE;
		ssize_t got = pread(fd, buf, n, (off_t)off);

		if (got > 0)
			tb_sha256_add(s, buf, (size_t)got);
		else if (got)
			status = tb_fail_errno(err, "%s/%s: cannot be read again", f->dir, name);
		else
			status = tb_fail(err, TB_EIO, "%s/%s: somebody else cut it short", f->dir,
					 name);
		off += got > 0 ? (uint64_t)got : 0;
	}
	free(buf);
	return status;
}

/* The lock is held. */
static uint64_t
front_of(struct fetch_file *file)
{
	const struct fetch_part *p = &file->parts[file->front];

	while (p->ready == p->len && file->front + 1 < file->nparts)
		p = &file->parts[++file->front];
	return p->off + p->ready;
}

enum tb_status
fetch_hash_on(struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t front;

	pthread_mutex_lock(&f->lock);
	if (file->hashing) {
		pthread_mutex_unlock(&f->lock);
		return TB_OK;
	}
	file->hashing = true;
	while (!status && (front = front_of(file)) > file->hashed) {
		uint64_t from = file->hashed;

		pthread_mutex_unlock(&f->lock);
		status = hash_stretch(f, &file->hash, file->fd, file->name, from, front, err);
		pthread_mutex_lock(&f->lock);
		if (!status)
			file->hashed = front;
	}
	file->hashing = false;
	pthread_mutex_unlock(&f->lock);
	return status;
}

enum tb_status
fetch_hash_file(struct fetch *f, struct fetch_file *file, const char *name, bool *right,
		struct tb_err *err)
{
	struct tb_sha256 s = { 0 };
	char digest[TB_DIGEST_MAX] = "", *path = NULL;
	struct tb_file in = { .fd = -1 };
	enum tb_status status;

	pthread_mutex_lock(&f->lock);
	file->state = FETCH_HASHING;
	pthread_mutex_unlock(&f->lock);
	*right = false;
	path = tb_path_join(f->dir, name);
	status = path ? tb_file_open(&in, path, err) : tb_nomem(err);
	free(path);
	if (status || in.id.size != file->it.size) {
		tb_file_close(&in);
		return status == TB_ENOENT ? TB_OK : status;
	}
	status = hash_init(&s, &file->it, err);
	if (!status)
		status = hash_stretch(f, &s, in.fd, name, 0, in.id.size, err);
	if (status)
		tb_sha256_free(&s);
	else
		hash_done(&s, &file->it, digest);
	tb_file_close(&in);
	*right = !status && !strcmp(digest, file->it.digest);
	return status;
}
