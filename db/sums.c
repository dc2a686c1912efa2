#include "config.h"

#include "db/sums.h"

#include "db/stmt.h"

enum tb_status
db_sums_known(struct db *db, const char *digest, bool *known, struct tb_err *err)
{
	int64_t found;
	enum tb_status status = db_value(db, &found, 0, err, "SELECT EXISTS(SELECT 1 FROM "
					 "audit.sums WHERE digest = ?)", "d", digest);

	*known = !status && found;
	return status;
}

enum tb_status
db_sums_get(struct db *db, const char *digest, struct tb_sums *out, struct tb_err *err)
{
	struct db_rows r;

	*out = (struct tb_sums){ 0 };
	rows_open(&r, db, NULL, true, err, "SELECT pieces FROM audit.sums WHERE digest = ?", "d",
		  digest);
	while (rows_next(&r)) {
		const void *packed = sqlite3_column_blob(r.st, 0);
		size_t len = (size_t)sqlite3_column_bytes(r.st, 0);

		r.failed |= packed && tb_sums_unpack(out, packed, len, NULL) == TB_ENOMEM;
	}
	if (rows_end(&r))
		tb_sums_free(out);
	return r.status;
}

enum tb_status
db_sums_put(struct db *db, const char *digest, const void *packed, size_t len, struct tb_err *err)
{
	return db_exec(db, err, "INSERT OR REPLACE INTO audit.sums VALUES (?, ?)", "db", digest,
		       packed, len);
}

enum tb_status
db_sums_drop(struct db *db, const char *digest, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM audit.sums WHERE digest = ? AND NOT EXISTS "
		       "(SELECT 1 FROM audit.hashes h WHERE h.digest = sums.digest)", "d", digest);
}
