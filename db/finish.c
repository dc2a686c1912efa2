/* finish.c - the end of a root's scan: what many models have to do with one file, sums,
 * and leaving out what nobody uses any more.
 *
 * Done in memory over the lists of all models, which takes a few milliseconds where
 * joins of half a million rows take a second.  Only what differs is written. */
#include "config.h"

#include "db/names.h"
#include "db/pack.h"
#include "db/stmt.h"
#include "db/write.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/store/model.h"

struct used_file {
	int64_t id;
	uint64_t dev, ino, size;
	bool missing;
	bool elsewhere;			/* in another root than the one that was scanned */
	int64_t owners, had;		/* now, and in the index */
	int64_t last;			/* the last model seen with it */
	size_t inode;			/* the first file with its inode */
	/* of that first file: the models that use the inode */
	int64_t inode_owners, inode_last;
};

struct used_model { int64_t id, had; uint64_t exclusive; };

struct usage {
	struct used_file *file;		/* by id; owned */
	size_t nfiles, files_cap;
	struct used_model *model;	/* by id; owned */
	size_t nmodels, models_cap;
	uint64_t *ids;			/* of one model; owned */
	size_t ids_cap;
};

static enum tb_status
read_files(struct db *db, int64_t root, struct usage *u, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT id, dev, ino, size, missing, owners, root <> ?"
		  " FROM files ORDER BY id", "i", root);
	while (rows_next(&r)) {
		if (!tb_grow(&u->file, &u->files_cap, u->nfiles + 1, sizeof(*u->file))) {
			r.failed = true;
			continue;
		}
		u->file[u->nfiles++] = (struct used_file){
			.id = rows_i64(&r, 0), .dev = rows_u64(&r, 1),
			.ino = rows_u64(&r, 2), .size = rows_u64(&r, 3),
			.missing = rows_i64(&r, 4), .had = rows_i64(&r, 5),
			.elsewhere = rows_i64(&r, 6),
		};
	}
	return rows_end(&r);
}

struct inode { uint64_t dev, ino; size_t file; };

static int
inode_cmp(const void *a, const void *b)
{
	const struct inode *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* Two paths can be one file (links of a cache): it counts once. */
static enum tb_status
find_inodes(struct usage *u, struct tb_err *err)
{
	struct inode *in = tb_calloc(u->nfiles + 1, sizeof(*in));

	if (!in)
		return tb_nomem(err);
	for (size_t i = 0; i < u->nfiles; i++)
		in[i] = (struct inode){ u->file[i].dev, u->file[i].ino, i };
	qsort(in, u->nfiles, sizeof(*in), inode_cmp);
	for (size_t i = 0, first = 0; i < u->nfiles; i++) {
		if (in[i].ino != in[first].ino || in[i].dev != in[first].dev)
			first = i;
		u->file[in[i].file].inode = in[first].file;
	}
	free(in);
	return TB_OK;
}

static bool
use_files(struct usage *u, int64_t model, const void *p, size_t len)
{
	size_t n = pack_count(p, len);

	if (!tb_grow(&u->ids, &u->ids_cap, n + 1, sizeof(*u->ids)))
		return false;
	if (!pack_read64(p, len, u->ids, n))
		return true;	/* damaged: the next scan puts it again */
	for (size_t i = 0; i < n; i++) {
		int64_t id = (int64_t)u->ids[i];
		size_t at = (size_t)id - 1;	/* where none was ever dropped */
		struct used_file *f, *inode;

		if (at >= u->nfiles || u->file[at].id != id)
			at = TB_FIRST(u->nfiles, k, u->file[k].id < id);
		if (at >= u->nfiles || u->file[at].id != id)
			continue;
		f = &u->file[at];
		inode = &u->file[f->inode];
		f->owners += f->last != model;
		f->last = model;
		if (!f->missing && inode->inode_last != model) {
			inode->inode_last = model;
			inode->inode_owners++;
		}
	}
	return true;
}

static enum tb_status
read_models(struct db *db, struct usage *u, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT m.id, m.exclusive, c.files FROM models m"
		  " JOIN contents c ON c.model = m.id ORDER BY m.id", "");
	while (rows_next(&r)) {
		int64_t id = rows_i64(&r, 0);

		if (!tb_grow(&u->model, &u->models_cap, u->nmodels + 1, sizeof(*u->model)) ||
		    !use_files(u, id, sqlite3_column_blob(r.st, 2),
			     (size_t)sqlite3_column_bytes(r.st, 2))) {
			r.failed = true;
			continue;
		}
		u->model[u->nmodels++] = (struct used_model){ id, rows_i64(&r, 1), 0 };
	}
	return rows_end(&r);
}

static int
model_cmp(const void *a, const void *b)
{
	const struct used_model *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* What another root's scan could not tell is no clearer by this one. */
static bool
usage_differs(const struct used_file *f)
{
	return f->owners != f->had && !(f->elsewhere && f->had < 0 && !f->owners);
}

static enum tb_status
write_usage(struct db *db, struct usage *u, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < u->nfiles && !status; i++) {
		const struct used_file *f = &u->file[i];
		struct used_model key = { .id = f->inode_last }, *m;

		if (usage_differs(f))
			status = db_exec(db, err, "UPDATE files SET owners = ? WHERE id = ?", "ii",
					 f->owners, f->id);
		if (f->inode_owners != 1)
			continue;
		m = bsearch(&key, u->model, u->nmodels, sizeof(key), model_cmp);
		if (m)
			m->exclusive += f->size;
	}
	for (size_t i = 0; i < u->nmodels && !status; i++)
		if (u->model[i].had != (int64_t)u->model[i].exclusive)
			status = db_exec(db, err, "UPDATE models SET exclusive = ? WHERE id = ?",
					 "ii", (int64_t)u->model[i].exclusive, u->model[i].id);
	return status;
}

/* owners of all files, exclusive bytes of all models: roots may share files. */
static enum tb_status
count_owners(struct db *db, int64_t root, struct tb_err *err)
{
	struct usage u = { 0 };
	enum tb_status status = read_files(db, root, &u, err);

	if (!status)
		status = find_inodes(&u, err);
	if (!status)
		status = read_models(db, &u, err);
	if (!status)
		status = write_usage(db, &u, err);
	free(u.file);
	free(u.model);
	free(u.ids);
	return status;
}

/* ---- names and forms that no tensor has any more ---- */

struct used_ids { uint8_t *used; size_t cap; };

static bool
mark_used(struct used_ids *ids, const void *p, size_t len)
{
	struct pack_in in = { p, (const uint8_t *)p + len, 0 };
	uint64_t id;

	while (pack_get(&in, &id)) {
		if (id >= UINT32_MAX || !tb_grow(&ids->used, &ids->cap, id + 1, 1))
			return id >= UINT32_MAX;
		ids->used[id] = 1;
	}
	return true;
}

static enum tb_status
drop_unused(struct db *db, const struct used_ids *ids, const char *list, const char *drop,
	    struct tb_err *err)
{
	enum tb_status status = TB_OK;
	int64_t *gone = NULL;
	size_t n = 0, cap = 0;
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, list, "");
	while (rows_next(&r)) {
		int64_t id = rows_i64(&r, 0);

		if ((uint64_t)id < ids->cap && ids->used[id])
			continue;
		if (tb_grow(&gone, &cap, n + 1, sizeof(*gone)))
			gone[n++] = id;
		else
			r.failed = true;
	}
	status = rows_end(&r);
	for (size_t i = 0; i < n && !status; i++)
		status = db_exec(db, err, drop, "i", gone[i]);
	free(gone);
	return status;
}

static enum tb_status
drop_names(struct db *db, struct tb_err *err)
{
	struct used_ids names = { 0 }, forms = { 0 };
	enum tb_status status;
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT names, forms FROM contents", "");
	while (rows_next(&r))
		r.failed |= !mark_used(&names, sqlite3_column_blob(r.st, 0),
				  (size_t)sqlite3_column_bytes(r.st, 0)) ||
			    !mark_used(&forms, sqlite3_column_blob(r.st, 1),
				  (size_t)sqlite3_column_bytes(r.st, 1));
	status = rows_end(&r);
	if (!status)
		status = drop_unused(db, &names, "SELECT id FROM names",
				     "DELETE FROM names WHERE id = ?", err);
	if (!status)
		status = drop_unused(db, &forms, "SELECT id FROM forms",
				     "DELETE FROM forms WHERE id = ?", err);
	free(names.used);
	free(forms.used);
	return status;
}

/* ---- sums ---- */

static const char totals_sql[] =
	"WITH f AS (SELECT * FROM files WHERE root = ?1)"
	"UPDATE roots SET (models, tensors) ="
	"  (SELECT count(*), coalesce(sum(tensors), 0) FROM models WHERE root = ?1 AND tb_is_model(kind)),"
	" (bytes, blobs, shared_bytes, orphans, orphan_bytes, missing, leftovers, leftover_bytes) ="
	"  (SELECT coalesce(sum(size) FILTER (WHERE kind IN (0, 2) AND owners > 0 AND NOT missing), 0),"
	"    count(*) FILTER (WHERE kind = 2 AND NOT missing),"
	"    coalesce(sum(size) FILTER (WHERE kind IN (0, 2) AND owners > 1 AND NOT missing), 0),"
	"    count(*) FILTER (WHERE kind = 2 AND owners = 0 AND NOT tb_young(mtime_ns)),"
	"    coalesce(sum(size) FILTER (WHERE kind = 2 AND owners = 0 AND NOT tb_young(mtime_ns)), 0),"
	"    count(*) FILTER (WHERE missing), count(*) FILTER (WHERE kind > 2),"
	"    coalesce(sum(size) FILTER (WHERE kind > 2), 0) FROM f) WHERE id = ?1";

/* ---- whose they are, nobody knows ---- */

/* Of a model whose manifest could not be used the manifest is the only file. */
static const char bad_manifests[] =
	"SELECT path FROM models WHERE root = ? AND tb_shares_blobs(kind) AND problems > 0 AND files < 2";

/* counted: count_owners() has taken away the marks of the scan before. */
static enum tb_status
mark_unclear(struct db *db, int64_t root, const struct unread *unread, bool counted,
	     struct tb_err *err)
{
	struct unread all = { 0 };
	struct tb_arena mem = { 0 };
	struct db_rows r;
	enum tb_status status = unread_add(&all, unread, err), failed;
	struct tb_err why;

	rows_open(&r, db, &mem, true, err, bad_manifests, "i", root);
	while (rows_next(&r)) {
		const char *path = rows_text(&r, 0);

		failed = tb_fail(&why, TB_EFORMAT, "%s", path);
		r.failed |= unread_note(&all, path, failed, &why, err) != TB_OK;
	}
	if (rows_end(&r))
		status = r.status;
	if (!status && !counted)
		status = db_exec(db, err, "UPDATE files SET owners = 0 WHERE root = ? AND owners < 0",
				 "i", root);
	if (!status && all.n) {
		rows_open(&r, db, &mem, true, err, "SELECT id, path FROM files WHERE root = ? AND"
			  " kind = 2 AND owners = 0 AND NOT missing", "i", root);
		while (rows_next(&r))
			if (!r.status && unread_uses(&all, rows_text(&r, 1)))
				r.status = db_exec(db, err, "UPDATE files SET owners = -1 WHERE id = ?",
						   "i", rows_i64(&r, 0));
		status = rows_end(&r);
	}
	tb_arena_free(&mem);
	unread_free(&all);
	return status;
}

/* Sums are made in any case: a blob that nobody uses becomes an orphan by itself. */
enum tb_status
db_finish_root(struct db *db, int64_t root, bool changed, int64_t now_ns,
	       const struct unread *unread, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "UPDATE roots SET scanned_ns = ?, whole = 1 "
					"WHERE id = ?", "ii", now_ns, root);

	if (changed)
		db_names_forget(db);
	if (!status && changed)
		status = count_owners(db, root, err);
	if (!status && changed)
		status = db_exec(db, err, "DELETE FROM files WHERE root = ? AND owners = 0 AND"
				 " (kind < 2 OR missing)", "i", root);
	if (!status && changed)
		status = drop_names(db, err);
	if (!status)
		status = mark_unclear(db, root, unread, changed, err);
	return status ? status : db_exec(db, err, totals_sql, "i", root);
}
