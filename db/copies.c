/* copies.c - content that is on the disk more than once. */
#include "config.h"

#include "db/copies.h"
#include "db/blob.h"
#include "db/copies_parts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

/* A file that was hashed holds what was found then, whatever it is called; but of one that
 * has rotted what it should hold is kept, not what it does. */
#define KNOWN "WITH known AS MATERIALIZED (SELECT f.path, r.path AS root, f.size, f.owners, " \
	"f.dev, f.ino, coalesce(h.digest, f.digest) AS digest FROM main.files f " \
	"JOIN main.roots r ON r.id = f.root LEFT JOIN audit.hashes h ON h.path = f.path " \
	"AND h.dev = f.dev AND h.ino = f.ino AND h.size = f.size AND h.mtime_ns = f.mtime_ns " \
	"AND (h.ok OR f.digest IS NOT NULL) " \
	"WHERE NOT f.missing AND f.size > 0 AND f.kind IN (0, 2)) "
_Static_assert(DB_FILE_MODEL == 0 && DB_FILE_BLOB == 2, "files of models, and blobs");

static const char files_sql[] = KNOWN
	"SELECT digest, path, root, size, owners, dev, ino, 0, '', '' FROM known "
	"WHERE (digest, size) IN (SELECT digest, size FROM known GROUP BY 1, 2 HAVING count(*) > 1)";

static const char unknown_sql[] = KNOWN
	"SELECT k.root, k.size FROM known k WHERE k.digest IS NULL AND EXISTS (SELECT 1 FROM "
	"known o WHERE o.size = k.size AND (o.ino <> k.ino OR o.dev <> k.dev))";

/* "CROSS JOIN" keeps the order: kept digests, their models, and only these models'
 * tensors. */
static const char tensors_sql[] =
	"WITH twice AS MATERIALIZED (SELECT digest FROM audit.facts WHERE digest IS NOT NULL "
	" GROUP BY digest HAVING count(*) > 1), "
	"mine AS MATERIALIZED (SELECT fm.id AS facts, m.id AS model, m.name, m.stamp, r.path AS root"
	" FROM audit.fact_models fm CROSS JOIN main.models m ON m.path = fm.path"
	" JOIN main.roots r ON r.id = m.root), "
	"mf AS MATERIALIZED (SELECT mine.model, f.ord, f.file FROM mine CROSS JOIN "
	" main.model_files f ON f.model = mine.model) "
	"SELECT f.digest, fi.path, mine.root, t.bytes, fi.owners, fi.dev, fi.ino, t.off, mine.name,"
	" t.name FROM mine CROSS JOIN main.tensors t ON t.model = mine.model "
	"CROSS JOIN audit.facts f ON f.model = mine.facts AND f.tensor = t.name "
	" AND f.model_stamp = mine.stamp AND f.digest IN twice "
	"JOIN mf ON mf.model = mine.model AND mf.ord = t.file "
	"JOIN main.files fi ON fi.id = mf.file WHERE t.bytes > 0";

static bool
take_copy(struct copy_reading *in, struct db_rows *r)
{
	struct copy_found *f;

	if (!db_among(in->roots, rows_text(r, 2)))
		return true;
	if (!tb_grow(&in->rows, &in->cap, in->n + 1, sizeof(*in->rows)))
		return false;
	f = &in->rows[in->n++];
	*f = (struct copy_found){
		.row = { .digest = rows_digest(r, 0), .path = rows_text(r, 1),
			 .root = rows_text(r, 2), .size = rows_u64(r, 3),
			 .owners = rows_u64(r, 4), .model = rows_text(r, 8),
			 .tensor = rows_text(r, 9) },
		.dev = rows_u64(r, 5), .ino = rows_u64(r, 6),
		.off = rows_u64(r, 7),
	};
	return true;
}

static bool
same_content(const struct copy_found *a, const struct copy_found *b)
{
	return a->row.size == b->row.size && !strcmp(a->row.digest, b->row.digest);
}

#define ORDER(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
by_content(const void *x, const void *y)
{
	const struct copy_found *a = x, *b = y;
	int d = strcmp(a->row.digest, b->row.digest);

	if (d)
		return d;
	ORDER(a->row.size, b->row.size);
	ORDER(a->dev, b->dev);
	ORDER(a->ino, b->ino);
	ORDER(a->off, b->off);
	d = strcmp(a->row.path, b->row.path);
	d = d ? d : strcmp(a->row.model, b->row.model);
	return d ? d : strcmp(a->row.tensor, b->row.tensor);
}

/* While groups are ordered: row.group is what can be saved of them. */
static int
by_gain(const void *x, const void *y)
{
	const struct copy_found *a = x, *b = y;

	ORDER(b->row.group, a->row.group);
	return by_content(x, y);
}

/* A tensor may be known by its digest and by its sums. */
static void
drop_doubles(struct copy_reading *in)
{
	size_t kept = 0;

	for (size_t i = 0; i < in->n; i++)
		if (!kept || by_content(&in->rows[kept - 1], &in->rows[i]))
			in->rows[kept++] = in->rows[i];
	in->n = kept;
}

/* Keeps the contents that are in two places or more. */
static void
keep_copies(struct copy_reading *in, struct db_copies *out)
{
	size_t kept = 0;

	for (size_t i = 0, end; i < in->n; i = end) {
		uint64_t places = 1;

		for (end = i + 1; end < in->n && same_content(&in->rows[i], &in->rows[end]); end++) {
			const struct copy_found *was = &in->rows[end - 1];
			struct copy_found *f = &in->rows[end];

			f->row.link = f->dev == was->dev && f->ino == was->ino && f->off == was->off;
			places += !f->row.link;
		}
		if (places < 2)
			continue;
		out->groups++;
		out->spare += (places - 1) * in->rows[i].row.size;
		for (size_t k = i; k < end; k++) {
			in->rows[kept] = in->rows[k];
			in->rows[kept++].row.group = (places - 1) * in->rows[i].row.size;
		}
	}
	in->n = kept;
}

static enum tb_status
read_rows(struct db *db, const char *sql, struct copy_reading *in, struct tb_arena *mem,
	  struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, mem, true, err, sql, "");
	while (rows_next(&r))
		if (!take_copy(in, &r))
			r.failed = true;
	return rows_end(&r);
}

static enum tb_status
list_copies(struct copy_reading *in, struct db_copies *out, struct tb_err *err)
{
	uint64_t group = 0;

	if (in->n > 1)
		qsort(in->rows, in->n, sizeof(*in->rows), by_content);
	drop_doubles(in);
	keep_copies(in, out);
	if (in->n > 1)
		qsort(in->rows, in->n, sizeof(*in->rows), by_gain);
	out->rows = tb_arena_get(&out->mem, (in->n + 1) * sizeof(*out->rows));
	for (size_t i = 0; out->rows && i < in->n; i++) {
		group += i && !same_content(&in->rows[i - 1], &in->rows[i]);
		out->rows[i] = in->rows[i].row;
		out->rows[i].group = group;
	}
	out->n = in->n;
	return out->rows ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_copies(struct db *db, const char *sql, bool sums, const struct store_roots *roots,
	    struct db_copies *out, struct tb_err *err)
{
	struct copy_reading in = { .roots = roots };
	enum tb_status status;

	*out = (struct db_copies){ 0 };
	status = read_rows(db, sql, &in, &out->mem, err);
	if (!status && sums)
		status = copies_by_sum(db, &in, &out->mem, err);
	if (!status)
		status = list_copies(&in, out, err);
	free(in.rows);
	if (status) {
		tb_arena_free(&out->mem);
		*out = (struct db_copies){ 0 };
	}
	return status;
}

static enum tb_status
count_unknown(struct db *db, const struct store_roots *roots, struct db_copies *out,
	      struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, &out->mem, true, err, unknown_sql, "");
	while (rows_next(&r))
		if (db_among(roots, rows_text(&r, 0))) {
			out->unknown++;
			out->unknown_bytes += rows_u64(&r, 1);
		}
	if (rows_end(&r))
		*out = (struct db_copies){ 0 };
	return r.status;
}

enum tb_status
db_copies_of_files(struct db *db, const struct store_roots *roots, struct db_copies *out,
		   struct tb_err *err)
{
	enum tb_status status = read_copies(db, files_sql, false, roots, out, err);

	return status ? status : count_unknown(db, roots, out, err);
}

enum tb_status
db_copies_of_tensors(struct db *db, const struct store_roots *roots, struct db_copies *out,
		     struct tb_err *err)
{
	return read_copies(db, tensors_sql, true, roots, out, err);
}

static void
read_digest(struct db_rows *r, void *row)
{
	*(struct db_copy *)row = (struct db_copy){
		.digest = rows_digest(r, 0), .path = rows_text(r, 1), .root = "",
		.model = rows_text(r, 2), .tensor = rows_text(r, 3),
	};
}

enum tb_status
db_copies_of_digest(struct db *db, const char *hex, struct db_copies *out, struct tb_err *err)
{
	char low[TB_DIGEST_MAX], high[TB_DIGEST_MAX];

	*out = (struct db_copies){ 0 };
	db_digest_bounds(hex, low, high);
	return rows_select(db, ROWS(out, read_digest), err, "SELECT f.digest, m.path, m.name, "
			   "f.tensor FROM audit.facts f JOIN audit.fact_models fm ON fm.id = f.model "
			   "JOIN main.models m ON m.path = fm.path AND m.stamp = f.model_stamp "
			   "WHERE f.digest BETWEEN ? AND ? ORDER BY f.digest, m.name, f.tensor", "dd",
			   low, high);
}
