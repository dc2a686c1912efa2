/* chats_open.c - the file of kept chats: made, opened, claimed. */
#include "config.h"

#include "db/chats.h"
#include "db/stmt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"

#define SOON 50			/* ms: who draws or speaks waits no longer for another writer */
#define WAIT 15000

char *
db_chats_beside(const char *index_path, const char *what)
{
	const char *slash = strrchr(index_path, '/'), *base = slash ? slash + 1 : index_path;

	return strcmp(base, "index.db") ? tb_asprintf("%s.%s", index_path, what)
		: tb_asprintf("%.*s%s", (int)(base - index_path), index_path, what);
}

static enum tb_status
refused(const char *path, enum db_verdict v, struct tb_err *err)
{
	return tb_fail(err, TB_EDB, "%s %s; move it away to begin another", path,
		       db_verdict_text(v));
}

/* Nobody else may read it, from its first byte on. */
static enum tb_status
make_private(const char *path, struct tb_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return tb_fail_errno(err, "%s", path);
	close(fd);
	return TB_OK;
}

static enum tb_status
migrate(struct db *db, const char *uri, struct tb_err *err)
{
	struct db step = { .path = db->path, .chats = true };
	enum tb_status status = db_connect(&step, uri, true, err);

	if (!status)
		status = db_migrate(&step, &db_chats_schema, err);
	if (!status)
		status = db_run_sql(&step, "PRAGMA journal_mode = wal", err);
	db_disconnect(&step);
	return status;
}

static enum tb_status
open_write(struct db *db, struct tb_err *err)
{
	char *uri = db_uri(db->path, "mode=rw"), *dir = tb_path_parent(db->path);
	enum db_verdict v = DB_FILE_ABSENT;
	enum tb_status status = uri && dir ? tb_mkdirs(dir, err) : tb_nomem(err);

	if (!status)
		status = db_examine(db->path, &db_chats_schema, false, &v, err);
	if (!status && v == DB_FILE_BROKEN)
		status = db_set_aside(db->path, v, db->notice, sizeof(db->notice), err);
	else if (!status && (v == DB_FILE_OTHER || v == DB_FILE_NEWER))
		status = refused(db->path, v, err);
	if (!status && v != DB_FILE_OURS && !(status = make_private(db->path, err)))
		status = migrate(db, uri, err);
	if (!status)
		status = db_connect(db, uri, true, err);
	if (!status && sqlite3_db_readonly(db->sql, "main") == 1)
		status = tb_fail(err, TB_EIO, "%s: may not be written", db->path);
	if (!status)
		status = db_run_sql(db, "PRAGMA foreign_keys = on; PRAGMA secure_delete = on", err);
	free(uri);
	free(dir);
	return status;
}

static enum tb_status
open_read(struct db *db, struct tb_err *err)
{
	enum db_verdict v;
	char *uri;
	enum tb_status status = db_examine(db->path, &db_chats_schema, false, &v, err);

	if (status)
		return status;
	if (v == DB_FILE_OTHER || v == DB_FILE_NEWER || v == DB_FILE_BROKEN)
		return refused(db->path, v, err);
	if (v != DB_FILE_OURS) {	/* not there, or not made to its end: empty */
		status = db_connect(db, "file::memory:", true, err);
		return status ? status : db_migrate(db, &db_chats_schema, err);
	}
	uri = db_read_uri(db->path);
	status = uri ? db_connect(db, uri, false, err) : tb_nomem(err);
	free(uri);
	return status;
}

enum tb_status
db_chats_open(struct db **out, const char *index_path, bool write, struct tb_err *err)
{
	struct db *db = *out = tb_calloc(1, sizeof(*db));

	if (!db)
		return tb_nomem(err);
	db->writer = write;
	db->chats = true;
	db->path = db_chats_beside(index_path, "chats.db");
	return db_opened(out, !db->path ? tb_nomem(err)
			    : write ? open_write(db, err) : open_read(db, err));
}

/* ---- transactions ---- */

enum tb_status
db_chats_begin(struct db *db, bool synced, struct tb_err *err)
{
	sqlite3_busy_timeout(db->sql, synced ? WAIT : SOON);
	return db_run_sql(db, synced ? "PRAGMA synchronous = full; BEGIN IMMEDIATE"
				     : "PRAGMA synchronous = normal; BEGIN IMMEDIATE", err);
}

enum tb_status
db_chats_end(struct db *db, enum tb_status status, struct tb_err *err)
{
	if (!status)
		status = db_run_sql(db, "COMMIT", err);
	if (status && !sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

/* ---- who has it ---- */

/* A byte a chat, in a file that has none: locks of bytes go with the descriptor, so they do
 * not outlive a program that was killed. */
enum tb_status
db_chats_claim(const char *index_path, int64_t id, struct db_claim *out, struct tb_err *err)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = id, .l_len = 1 };
	char *path = db_chats_beside(index_path, "chats.lock");
	enum tb_status status = TB_OK;

	*out = DB_UNCLAIMED;
	if (!path)
		return tb_nomem(err);
	out->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out->fd < 0)
		status = tb_fail_errno(err, "%s", path);
	else if (fcntl(out->fd, F_OFD_SETLK, &byte) && (errno == EAGAIN || errno == EACCES))
		status = tb_fail(err, TB_EEXIST, "session %lld is open elsewhere", (long long)id);
	if (status)
		db_chats_unclaim(out);
	free(path);
	return status;
}

void
db_chats_unclaim(struct db_claim *c)
{
	if (c->fd >= 0)
		close(c->fd);
	*c = DB_UNCLAIMED;
}
