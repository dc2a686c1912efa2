/* aside.c - what a database file is before it is trusted, and moving away one that
 * is not ours.  Nothing is ever deleted here: it could be somebody's. */
#include "config.h"

#include "db/stmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"

const char *
db_verdict_text(enum db_verdict v)
{
	switch (v) {
	case DB_FILE_NEWER:
		return "was made by a newer version of this program";
	case DB_FILE_OLD:
		return "was made by an older version of this program: scan to renew it";
	case DB_FILE_OLDEST:	/* too old to be renewed */
		return "was made by an older version of this program";
	case DB_FILE_OTHER:
		return "is not a file of this program";
	case DB_FILE_UNFINISHED:
		return "was not made to its end: scan to make it";
	case DB_FILE_CHANGED:
		return "was changed by something else than a scan";
	default:
		return "is damaged";
	}
}

char *
db_uri(const char *path, const char *query)
{
	struct tb_buf b = TB_BUF(65536);

	tb_buf_str(&b, "file:");
	for (const char *p = path; *p; p++)
		if (strchr("%?#", *p))
			tb_buf_printf(&b, "%%%02x", (unsigned char)*p);
		else
			tb_buf_chr(&b, *p);
	tb_buf_printf(&b, "?%s", query);
	return tb_buf_take(&b);
}

/* A reader of a WAL file needs to make its -shm; where it cannot, nobody else
 * writes there either. */
char *
db_read_uri(const char *path)
{
	char *shm = tb_asprintf("%s-shm", path), *dir = tb_path_parent(path), *uri = NULL;

	if (shm && dir)
		uri = db_uri(path, access(dir, W_OK) && !tb_exists(shm) ? "mode=ro&immutable=1"
									 : "mode=ro");
	free(shm);
	free(dir);
	return uri;
}

static enum tb_status
judge(struct db *probe, const struct db_schema *s, bool thorough, enum db_verdict *out,
      struct tb_err *err)
{
	int64_t app = 0, version = 0, tables = 0;
	enum tb_status status = db_value(probe, &app, 0, err, "PRAGMA application_id", "");

	if (!status)
		status = db_value(probe, &version, 0, err, "PRAGMA user_version", "");
	if (!status)
		status = db_value(probe, &tables, 0, err,
				  "SELECT count(*) FROM sqlite_schema", "");
	if (status)
		return status;
	if (app == 0 && version == 0 && tables == 0)
		*out = DB_FILE_ABSENT;
	else if (app != s->application)
		*out = DB_FILE_OTHER;
	else if (version < 1)
		*out = DB_FILE_BROKEN;
	else if (version >= s->oldest)
		*out = version == s->version ? DB_FILE_OURS
		     : version > s->version ? DB_FILE_NEWER : DB_FILE_OLD;
	else	/* to who reads it is all the same */
		*out = thorough ? DB_FILE_OLDEST : DB_FILE_OLD;
	if (thorough && (*out == DB_FILE_OURS || *out == DB_FILE_OLD))
		return db_schema_check(probe, s, (int)version, err);
	return TB_OK;
}

/* Only what SQLite calls damage is damage: a file that is busy or that we may not
 * open is an error, or a good index would be set aside. */
enum tb_status
db_examine(const char *path, const struct db_schema *s, bool thorough, enum db_verdict *out,
	   struct tb_err *err)
{
	struct db probe = { .path = (char *)path };
	enum tb_status status = TB_OK;
	struct stat st;
	char *uri;

	*out = DB_FILE_ABSENT;
	if (stat(path, &st))
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return tb_fail(err, TB_EUSAGE, "%s: not a file, so no index", path);
	if (st.st_size == 0)
		return TB_OK;
	/* Whoever made it may have been killed over it: only who writes can take that back. */
	uri = thorough ? db_uri(path, "mode=rw") : db_read_uri(path);
	if (!uri)
		return tb_nomem(err);
	status = db_connect(&probe, uri, thorough, err);
	if (!status)
		status = judge(&probe, s, thorough, out, err);
	if (status && probe.corrupt) {
		*out = DB_FILE_BROKEN;
		status = TB_OK;
	} else if (status && !thorough && (sqlite3_errcode(probe.sql) & 0xff) == SQLITE_READONLY) {
		*out = DB_FILE_UNFINISHED;
		status = TB_OK;
	}
	db_disconnect(&probe);
	free(uri);
	return status;
}

static enum tb_status
move(const char *path, const char *to, const char *suffix, struct tb_err *err)
{
	char *a = tb_asprintf("%s%s", path, suffix), *b = tb_asprintf("%s%s", to, suffix);
	enum tb_status status = TB_OK;

	if (!a || !b)
		status = tb_nomem(err);
	else if (rename(a, b) && (errno != ENOENT || !*suffix))
		status = tb_fail_errno(err, "%s: cannot be set aside", a);
	free(a);
	free(b);
	return status;
}

/* A name that is free: "PATH.damaged-20261120T111500", then with -2, -3, … */
static char *
free_name(const char *path, const char *what)
{
	time_t now = (time_t)(tb_now_ns() / 1000000000);
	char stamp[32] = "";
	struct tm tm;
	char *to;

	if (gmtime_r(&now, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	to = tb_asprintf("%s.%s-%s", path, what, stamp);
	for (int i = 2; to && tb_exists(to) && i < 1000; i++) {
		free(to);
		to = tb_asprintf("%s.%s-%s-%d", path, what, stamp, i);
	}
	return to;
}

enum tb_status
db_set_aside(const char *path, enum db_verdict why, char *notice, size_t len,
	     struct tb_err *err)
{
	char *to = free_name(path, why == DB_FILE_NEWER ? "newer"
				   : why == DB_FILE_OLDEST ? "older" : "damaged");
	enum tb_status status = to ? move(path, to, "-wal", err) : tb_nomem(err);

	if (!status)
		status = move(path, to, "-shm", err);
	if (!status)
		status = move(path, to, "", err);
	if (!status)
		snprintf(notice, len, "%s %s; it was set aside as %s and a new one was made",
			 path, db_verdict_text(why), to);
	free(to);
	return status;
}
