/* seal.c - is the index what the last scan left?
 *
 * SQLite says whether a file is whole, not who wrote what is in it: a root that was renamed
 * or a number that was changed makes models vanish from lists without any damage.  The end
 * of a scan leaves the digest of the file in the audits, its start takes that away; an index
 * that has another is made again. */
#include "config.h"

#include "db/stmt.h"
#include "db/write.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "src/base/mem.h"

#define STEP (1u << 20)

/* Through SQLite's own descriptor: closing another one would drop the locks that this
 * process holds on the file. */
static enum tb_status
digest(struct db *db, char out[TB_DIGEST_MAX], struct tb_err *err)
{
	sqlite3_file *f = NULL;
	sqlite3_int64 size = 0, n;
	struct tb_sha256 sum;
	enum tb_status status = tb_sha256_init(&sum, err);
	char *buf = status ? NULL : malloc(STEP);

	if (!status && !buf)
		status = tb_nomem(err);
	if (!status && (sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_FILE_POINTER, &f) ||
			!f || !f->pMethods || f->pMethods->xFileSize(f, &size)))
		status = db_sql_fail(db, err, "size");
	for (sqlite3_int64 at = 0; !status && at < size; at += n) {
		n = size - at < STEP ? size - at : STEP;
		if (f->pMethods->xRead(f, buf, (int)n, at))
			status = tb_fail(err, TB_EDB, "%s: cannot be read", db->path);
		else
			tb_sha256_add(&sum, buf, (size_t)n);
	}
	if (!status)
		tb_sha256_done(&sum, out);
	else
		tb_sha256_free(&sum);
	free(buf);
	return status;
}

enum tb_status
db_unseal(struct db *db, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM audit.seal", "");
}

void
db_settle(struct db *db)
{
	char now[TB_DIGEST_MAX];
	int64_t busy = 1;

	sqlite3_exec(db->sql, "PRAGMA optimize", NULL, NULL, NULL);
	/* Does somebody still read what is not in the file yet?  Then there is no seal this time. */
	if (!db_value(db, &busy, 1, NULL, "PRAGMA main.wal_checkpoint(truncate)", "") && !busy &&
	    !db_unseal(db, NULL) && !digest(db, now, NULL))
		(void)!db_exec(db, NULL, "INSERT INTO audit.seal VALUES (?)", "d", now);
	sqlite3_exec(db->sql, "PRAGMA audit.wal_checkpoint(passive)", NULL, NULL, NULL);
}

/* A writer is at work, or was when it ended: the file alone is not all of the index. */
static bool
unsettled(const struct db *db)
{
	char *wal = tb_asprintf("%s-wal", db->path);
	struct stat st;
	bool some = !wal || (stat(wal, &st) == 0 && st.st_size > 0);

	free(wal);
	return some;
}

enum tb_status
db_seal_check(struct db *db, bool *broken, struct tb_err *err)
{
	char now[TB_DIGEST_MAX];
	int64_t seals, same;
	enum tb_status status;

	*broken = false;
	status = db_value(db, &seals, 0, err, "SELECT count(*) FROM audit.seal", "");
	if (status || !seals || unsettled(db))
		return status;
	status = digest(db, now, err);
	if (!status)
		status = db_value(db, &same, 0, err,
				  "SELECT count(*) FROM audit.seal WHERE digest = ?", "d", now);
	*broken = !status && !same;
	return status;
}
