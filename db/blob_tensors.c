/* blob_tensors.c - what a file holds, as the models that use it see it. */
#include "config.h"

#include "db/blob.h"
#include "db/private.h"

enum tb_status
db_blob_tensors(struct db *db, int64_t blob, int64_t model, uint64_t limit,
		struct db_places *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_places){ 0 };
	rows_open(&r, db, &out->mem, true, err, "SELECT name, off, count(*) OVER () FROM tensors "
		  "WHERE model = ? AND file_id = ? ORDER BY off, ord LIMIT ?", "iii", model, blob,
		  limit ? (int64_t)limit : -1);
	while (rows_next(&r)) {
		struct db_place *more = rows_push(&r, out->rows, &out->n, &cap, sizeof(*more));

		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_place){ rows_text(&r, 0), (uint64_t)rows_i64(&r, 1) };
		out->total = (uint64_t)rows_i64(&r, 2);
	}
	if (rows_end(&r))
		*out = (struct db_places){ 0 };
	return r.status;
}

enum tb_status
db_has_tensor(struct db *db, int64_t model, const char *name, bool *yes, struct tb_err *err)
{
	int64_t found;
	enum tb_status status = db_value(db, &found, 0, err, "SELECT EXISTS(SELECT 1 FROM tensors "
					 "WHERE model = ? AND name = ?)", "is", model, name);

	*yes = !status && found;
	return status;
}
