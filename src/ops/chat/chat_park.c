/* chat_park.c - what models have read for sessions, in files beside the index: "kv/N.kv". */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/chat/chat_parts.h"

/* Caller frees; NULL: no memory. */
static char *
parked(const char *index_path, int64_t id)
{
	char *dir = db_chats_beside(index_path, "kv");
	char *path = dir ? tb_asprintf("%s/%" PRId64 ".kv", dir, id) : NULL;

	free(dir);
	return path;
}

void
park_forget(const char *index_path, int64_t id)
{
	char *path = parked(index_path, id);

	if (path)
		(void)!unlink(path);
	free(path);
}

void
park_take_up(struct chat *c, int64_t id)
{
	const struct speaker_ops *ops = c->speaker->ops;
	char *path = parked(c->keep.index, id);

	if (path && ops->take_up && tb_exists(path) && ops->take_up(c->speaker, path, NULL, NULL))
		(void)!unlink(path);		/* of other weights, or damaged: it is made again */
	free(path);
}

struct parked_file { char *path; uint64_t bytes; int64_t mtime_ns; };

static int
oldest_first(const void *a, const void *b)
{
	const struct parked_file *x = a, *y = b;

	return (x->mtime_ns > y->mtime_ns) - (x->mtime_ns < y->mtime_ns);
}

/* Files go, the oldest first, until what is left and `more` have room. */
static enum tb_status
park_make_room(const char *dir, uint64_t max_bytes, uint64_t more, struct tb_err *err)
{
	struct tb_names names = { 0 };
	struct parked_file *files;
	uint64_t bytes = more;
	size_t n = 0;
	enum tb_status status = tb_names_read(&names, dir, err);

	if (status)
		return status;
	files = tb_calloc(names.n + 1, sizeof(*files));
	for (size_t i = 0; files && i < names.n; i++) {
		struct tb_ident id;
		char *path = tb_ends(names.v[i], ".kv") ? tb_path_join(dir, names.v[i]) : NULL;

		if (!path || tb_file_ident(path, &id, NULL)) {
			free(path);
			continue;
		}
		files[n++] = (struct parked_file){ path, id.size, id.mtime_ns };
		bytes += id.size;
	}
	if (files)
		qsort(files, n, sizeof(*files), oldest_first);
	for (size_t i = 0; i < n; i++) {
		if (bytes > max_bytes && !unlink(files[i].path))
			bytes -= files[i].bytes;
		free(files[i].path);
	}
	status = files ? TB_OK : tb_nomem(err);
	free(files);
	tb_names_free(&names);
	return status;
}

enum tb_status
chat_park(struct chat *c, uint64_t max_bytes, struct tb_job *job, struct tb_err *err)
{
	const struct speaker_ops *ops = c->speaker->ops;
	uint64_t bytes = ops->keep && ops->keep_bytes ? ops->keep_bytes(c->speaker) : 0;
	char *path, *dir;
	enum tb_status status = TB_OK;

	if (!c->keep.id || !c->keep.grown || !bytes || bytes > max_bytes)
		return TB_OK;
	path = parked(c->keep.index, c->keep.id);
	dir = path ? tb_path_parent(path) : NULL;
	if (!dir)
		status = tb_nomem(err);
	else if (mkdir(dir, 0700) && errno != EEXIST)
		status = tb_fail_errno(err, "%s", dir);
	if (!status) {
		(void)!unlink(path);
		status = park_make_room(dir, max_bytes, bytes, err);
	}
	if (!status)
		status = ops->keep(c->speaker, path, job, err);
	if (!status)	/* that it is there belongs to what is known of the reading */
		kept_write(c, true);
	free(path);
	free(dir);
	return status;
}
