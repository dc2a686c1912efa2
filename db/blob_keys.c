#include "config.h"

#include "db/blob_keys.h"

#include <stdlib.h>
#include <string.h>

#include "db/stmt.h"
#include "src/base/mem.h"

static const char keys_sql[] =
	"SELECT f.id, f.root_path, f.digest, f.kind, f.size, f.owners, f.missing, f.state, f.mtime_ns,"
	" f.media,"
	" CASE WHEN f.digest IS NULL OR f.kind <> 2 THEN f.path END"
	" FROM file_state f WHERE f.kind >= 2 ORDER BY f.digest IS NULL, f.digest, f.path";
_Static_assert(DB_FILE_BLOB == 2, "keys_sql counts on it");

static void
read_key(struct db_rows *r, struct db_blob_key *k)
{
	const void *digest = sqlite3_column_blob(r->st, 2);
	const char *media = (const char *)sqlite3_column_text(r->st, 9);
	int64_t kind = rows_i64(r, 3);
	struct db_blob fate;

	*k = (struct db_blob_key){
		.id = rows_i64(r, 0), .size = rows_u64(r, 4),
		.kind = kind < DB_FILE_COUNT ? (uint8_t)kind : DB_FILE_FOREIGN,
		.state = (uint8_t)db_state_of(rows_i64(r, 7)),
		.missing = rows_i64(r, 6),
		.mtime_ns = rows_i64(r, 8),
	};
	while (k->media < MEDIA_UNKNOWN && (!media || strcmp(media_name((enum media)k->media), media)))
		k->media++;
	fate = (struct db_blob){ .kind = k->kind, .missing = k->missing, .mtime_ns = k->mtime_ns };
	db_blob_fate(&fate, rows_i64(r, 5));
	k->owners = (uint32_t)fate.owners;
	k->young = fate.young;
	k->unclear = fate.unclear;
	if (digest && sqlite3_column_bytes(r->st, 2) == TB_SHA256_LEN) {
		k->hashed = true;
		memcpy(k->digest, digest, TB_SHA256_LEN);
	}
	if (sqlite3_column_type(r->st, 10) != SQLITE_NULL)
		k->path = rows_text(r, 10);
}

/* ---- whose they are ---- */

/* The keys by id, and the place of each model in the order of names. */
struct id_place { int64_t id; size_t at; };
struct id_places { struct id_place *v; size_t n, cap; };

static int
id_place_cmp(const void *a, const void *b)
{
	const struct id_place *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct id_place *
place_of(const struct id_places *p, int64_t id)
{
	const struct id_place key = { .id = id };

	return p->n ? bsearch(&key, p->v, p->n, sizeof(key), id_place_cmp) : NULL;
}

static bool
add_place(struct id_places *p, int64_t id, size_t at)
{
	if (!tb_grow(&p->v, &p->cap, p->n + 1, sizeof(*p->v)))
		return false;
	p->v[p->n++] = (struct id_place){ id, at };
	return true;
}

/* One walk over the files of all models. */
static enum tb_status
read_owners(struct db *db, const struct id_places *models, const struct id_places *keys,
	    struct db_blob_keys *out, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT model, file FROM model_files", "");
	while (rows_next(&r)) {
		const struct id_place *model = place_of(models, rows_i64(&r, 0));
		const struct id_place *file = place_of(keys, rows_i64(&r, 1));
		const struct id_place *best = file ? place_of(models, out->rows[file->at].owner) : NULL;

		if (model && file && (!best || model->at < best->at))
			out->rows[file->at].owner = model->id;
	}
	return rows_end(&r);
}

static enum tb_status
find_owners(struct db *db, struct db_blob_keys *out, struct tb_err *err)
{
	struct id_places models = { 0 }, keys = { 0 };
	struct db_rows r;
	bool ok = true;
	enum tb_status status;

	for (size_t i = 0; i < out->n && ok; i++)
		ok = add_place(&keys, out->rows[i].id, i);
	if (keys.n)
		qsort(keys.v, keys.n, sizeof(*keys.v), id_place_cmp);
	rows_open(&r, db, NULL, true, err,
		  "SELECT id FROM models ORDER BY name COLLATE tb_natural, id", "");
	while (rows_next(&r))
		r.failed |= !add_place(&models, rows_i64(&r, 0), models.n);
	if (models.n)
		qsort(models.v, models.n, sizeof(*models.v), id_place_cmp);
	status = rows_end(&r);
	if (!status)
		status = ok ? read_owners(db, &models, &keys, out, err) : tb_nomem(err);
	free(models.v);
	free(keys.v);
	return status;
}

enum tb_status
db_blob_keys(struct db *db, const struct store_roots *roots, struct db_blob_keys *out,
	     struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;
	enum tb_status status;

	*out = (struct db_blob_keys){ 0 };
	rows_open(&r, db, &out->mem, true, err, keys_sql, "");
	while (rows_next(&r)) {
		struct db_blob_key *more;

		if (!db_among(roots, (const char *)sqlite3_column_text(r.st, 1)))
			continue;
		more = rows_push(&out->mem, out->rows, &out->n, &cap, sizeof(*more));
		r.failed |= !more;
		if (!more)
			continue;
		out->rows = more;
		read_key(&r, &out->rows[out->n - 1]);
	}
	out->total = out->n;
	status = rows_end(&r);
	if (!status)
		status = find_owners(db, out, err);
	if (status) {
		tb_arena_free(&out->mem);
		*out = (struct db_blob_keys){ 0 };
	}
	return status;
}

/* ---- a window ---- */

static const char one_sql[] = "SELECT " DB_BLOB_COLUMNS ", (SELECT name FROM models WHERE id = ?2)"
	" FROM file_state f WHERE f.id = ?1";

enum tb_status
db_blob_window(struct db *db, const struct db_blob_key *const *keys, size_t n,
	       struct db_blob_uses *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct db_rows r;

	*out = (struct db_blob_uses){ 0 };
	out->rows = tb_arena_get(&out->mem, (n + 1) * sizeof(*out->rows));
	if (!out->rows)
		return tb_nomem(err);
	for (size_t i = 0; i < n && !status; i++) {
		rows_open(&r, db, &out->mem, true, err, one_sql, "ii", keys[i]->id, keys[i]->owner);
		if (rows_next(&r)) {
			struct db_blob_use *u = &out->rows[out->n++];

			db_blob_read(&r, &u->blob);
			u->owner = rows_text(&r, 12);
		}
		status = rows_end(&r);
	}
	if (status)
		*out = (struct db_blob_uses){ 0 };
	return status;
}
