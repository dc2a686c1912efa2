/* vtab.c - the packed lists of db/schema.sql as the tables that people expect:
 *
 *	tensors(model, ord, name, scheme, dtype, shape, elems, bytes, file, off, file_id)
 *	model_files(model, ord, file)
 *
 * Read-only, in order of models; fast when the model is given. */
#include "config.h"

#include "db/dict.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

struct table { sqlite3_vtab base; struct db *db; bool files; };

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *models;		/* of those that are left; owned */
	int64_t model;
	struct contents c;
	struct dict *dict;		/* the connection's */
	size_t at, n;
	bool end;
};

static int
connect(sqlite3 *sql, void *db, int argc, const char *const *argv, sqlite3_vtab **out,
	char **message)
{
	bool files = argc > 0 && !strcmp(argv[0], "model_files");
	struct table *t;
	int rc = sqlite3_declare_vtab(sql, files
		? "CREATE TABLE t(model INTEGER, ord INTEGER, file INTEGER)"
		: "CREATE TABLE t(model INTEGER, ord INTEGER, name TEXT, scheme TEXT, dtype TEXT,"
		  " shape TEXT, elems INTEGER, bytes INTEGER, file INTEGER, off INTEGER,"
		  " file_id INTEGER)");

	(void)message;
	if (rc)
		return rc;
	t = tb_calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->db = db;
	t->files = files;
	*out = &t->base;
	return sqlite3_vtab_config(sql, SQLITE_VTAB_INNOCUOUS);
}

static int
disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

/* idxNum 1: the model is given. */
static int
best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000000;
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn || !info->aConstraint[i].usable ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = 1;
		info->estimatedCost = 500;
		info->estimatedRows = 500;
		break;
	}
	return SQLITE_OK;
}

static int
open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct cursor *c = tb_calloc(1, sizeof(*c));

	(void)t;
	*out = c ? &c->base : NULL;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static int
close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	sqlite3_finalize(c->models);
	contents_free(&c->c);
	free(c);
	return SQLITE_OK;
}

/* To the first row of the next model that has one. */
static int
next_model(struct cursor *c)
{
	struct table *t = (struct table *)c->base.pVtab;
	struct tb_err err;
	int rc;

	while ((rc = sqlite3_step(c->models)) == SQLITE_ROW) {
		contents_free(&c->c);
		c->model = sqlite3_column_int64(c->models, 0);
		if (db_contents(t->db, c->model, &c->c, &err))
			return err.code == TB_ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
		c->at = 0;
		c->n = t->files ? c->c.nfiles : c->c.n;
		if (c->n)
			return SQLITE_OK;
	}
	c->end = true;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
filter(sqlite3_vtab_cursor *base, int with_model, const char *text, int argc, sqlite3_value **argv)
{
	static const char *const sql[] = {
		"SELECT model FROM contents ORDER BY model", "SELECT model FROM contents WHERE model = ?",
	};
	struct cursor *c = (struct cursor *)base;
	struct table *t = (struct table *)base->pVtab;
	struct tb_err err;
	int rc;

	(void)text;
	sqlite3_finalize(c->models);
	c->models = NULL;
	c->end = false;
	if (db_dict(t->db, &c->dict, &err))
		return err.code == TB_ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	rc = sqlite3_prepare_v2(t->db->sql, sql[with_model], -1, &c->models, NULL);
	if (!rc && argc)
		rc = sqlite3_bind_value(c->models, 1, argv[0]);
	return rc ? rc : next_model(c);
}

static int
next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	return ++c->at < c->n ? SQLITE_OK : next_model(c);
}

static int
eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->end;
}

static void
text(sqlite3_context *ctx, const char *s)
{
	sqlite3_result_text(ctx, s, -1, SQLITE_TRANSIENT);
}

static void
tensor_column(const struct cursor *c, sqlite3_context *ctx, int col)
{
	const struct form *f = dict_form(c->dict, c->c.form[c->at]);

	switch (col) {
	case 2: text(ctx, dict_name(c->dict, c->c.name[c->at])); break;
	case 3: text(ctx, f->scheme); break;
	case 4: text(ctx, f->dtype < DT_COUNT ? dtype_name(f->dtype) : "?"); break;
	case 5: text(ctx, f->shape); break;
	case 6: sqlite3_result_int64(ctx, (int64_t)f->elems); break;
	case 7: sqlite3_result_int64(ctx, (int64_t)f->bytes); break;
	case 8: sqlite3_result_int64(ctx, c->c.place[c->at]); break;
	case 9: sqlite3_result_int64(ctx, (int64_t)c->c.off[c->at]); break;
	default: sqlite3_result_int64(ctx, c->c.place[c->at] < c->c.nfiles
				      ? (int64_t)c->c.file[c->c.place[c->at]] : 0);
	}
}

static int
column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int col)
{
	const struct cursor *c = (const struct cursor *)base;

	if (col == 0)
		sqlite3_result_int64(ctx, c->model);
	else if (col == 1)
		sqlite3_result_int64(ctx, (int64_t)c->at);
	else if (((struct table *)base->pVtab)->files)
		sqlite3_result_int64(ctx, (int64_t)c->c.file[c->at]);
	else
		tensor_column(c, ctx, col);
	return SQLITE_OK;
}

static int
rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *c = (const struct cursor *)base;

	*out = (sqlite3_int64)((uint64_t)c->model << 32 | (c->at & UINT32_MAX));
	return SQLITE_OK;
}

/* No xCreate: the tables are there without being made. */
static const sqlite3_module module = {
	.xConnect = connect, .xBestIndex = best_index, .xDisconnect = disconnect,
	.xDestroy = disconnect, .xOpen = open_cursor, .xClose = close_cursor, .xFilter = filter,
	.xNext = next, .xEof = eof, .xColumn = column, .xRowid = rowid,
};

enum tb_status
db_tables(struct db *db, struct tb_err *err)
{
	if (sqlite3_create_module(db->sql, "tensors", &module, db) ||
	    sqlite3_create_module(db->sql, "model_files", &module, db))
		return db_sql_fail(db, err, "tables");
	return TB_OK;
}
