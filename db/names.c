/* names.c - the numbers of names, forms and files while models are put: a model's are
 * mostly those of the models before it, and asking SQLite for each costs more than all
 * else that is done with it. */
#include "config.h"

#include "db/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/ids.h"
#include "db/stmt.h"
#include "db/write.h"
#include "src/base/mem.h"

#define FORM_MAX (SCHEME_NAME_MAX + TB_MAX_DIMS * 21 + 48)

struct file_known { struct tb_ident ident; bool missing; };

struct db_names {
	struct ids names;
	struct ids forms;	/* by text, as the index has them */
	struct ids keys;	/* the same by struct form_key: no text needs to be made */
	struct ids files;	/* those put since; by path */
	struct file_known *file;	/* beside files.entry; owned */
	size_t file_cap;
	uint32_t last_name, last_file;	/* see ids_find_then() */
	int64_t version;	/* of the index when names and forms were read */
};

struct form_key {
	uint64_t kind, bits, group, plain, ggml, dtype, ndim, bytes;
	uint64_t dim[TB_MAX_DIMS];
};

void
db_names_forget(struct db *db)
{
	struct db_names *n = db->names;

	if (!n)
		return;
	ids_free(&n->names);
	ids_free(&n->forms);
	ids_free(&n->keys);
	ids_free(&n->files);
	free(n->file);
	free(n);
	db->names = NULL;
}

/* Another program may have written in the meantime. */
enum tb_status
db_names_check(struct db *db, struct tb_err *err)
{
	int64_t now = 0;
	enum tb_status status = db->names ? db_version(db, &now, err) : TB_OK;

	if (!status && db->names && now != db->names->version)
		db_names_forget(db);
	return status;
}

static enum tb_status
load_ids(struct db *db, struct ids *to, const char *sql, struct tb_err *err)
{
	struct db_rows r;
	bool full = false;

	rows_open(&r, db, NULL, true, err, sql, "");
	while (!full && rows_next(&r)) {
		const char *text = (const char *)sqlite3_column_text(r.st, 1);
		size_t len = (size_t)sqlite3_column_bytes(r.st, 1);

		if (text && !ids_find(to, text, len))
			full = !ids_add(to, text, len, rows_i64(&r, 0));
	}
	if (rows_end(&r))
		return r.status;
	return full ? tb_nomem(err) : TB_OK;
}

static enum tb_status
names_of(struct db *db, struct db_names **out, struct tb_err *err)
{
	struct db_names *n = db->names;
	enum tb_status status;

	*out = n;
	if (n)
		return TB_OK;
	n = db->names = tb_calloc(1, sizeof(*n));
	if (!n)
		return tb_nomem(err);
	status = db_version(db, &n->version, err);
	if (!status)
		status = load_ids(db, &n->names, "SELECT id, name FROM names", err);
	if (!status)
		status = load_ids(db, &n->forms, "SELECT id, scheme || '|' || dtype || '|' || shape ||"
				  " '|' || bytes FROM forms", err);
	if (status)
		db_names_forget(db);
	*out = n;
	return status;
}

enum tb_status
db_name_id(struct db *db, const char *text, int64_t *id, struct tb_err *err)
{
	size_t len = strlen(text);
	struct db_names *n;
	struct ids_entry *e;
	enum tb_status status = names_of(db, &n, err);

	if (status)
		return status;
	e = ids_find_then(&n->names, text, len, &n->last_name);
	if (e) {
		*id = e->id;
		return TB_OK;
	}
	status = db_exec(db, err, "INSERT INTO names(name) VALUES (?)", "s", text);
	*id = sqlite3_last_insert_rowid(db->sql);
	if (!status && !ids_add(&n->names, text, len, *id))
		status = tb_nomem(err);
	return status;
}

/* By its text: from the index, or as a new row. */
static enum tb_status
form_by_text(struct db *db, struct db_names *n, const struct tensor *t, int64_t *id,
	     struct tb_err *err)
{
	char scheme[SCHEME_NAME_MAX], shape[TB_MAX_DIMS * 21], text[FORM_MAX];
	struct ids_entry *e;
	enum tb_status status;
	size_t used = 0;
	int len;

	scheme_name(&t->scheme, scheme);
	*shape = 0;
	for (unsigned i = 0; i < t->ndim; i++)
		used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%ju",
					 i ? "," : "", (uintmax_t)t->dim[i]);
	len = snprintf(text, sizeof(text), "%s|%d|%s|%ju", scheme, (int)t->weight.dtype, shape,
		       (uintmax_t)t->bytes);
	e = ids_find(&n->forms, text, (size_t)len);
	if (e) {
		*id = e->id;
		return TB_OK;
	}
	status = db_exec(db, err, "INSERT INTO forms(scheme, dtype, shape, elems, bytes)"
			 " VALUES (?, ?, ?, ?, ?)", "sisii", scheme, (int64_t)t->weight.dtype,
			 shape, (int64_t)t->elems, (int64_t)t->bytes);
	*id = sqlite3_last_insert_rowid(db->sql);
	if (!status && !ids_add(&n->forms, text, (size_t)len, *id))
		status = tb_nomem(err);
	return status;
}

enum tb_status
db_form_id(struct db *db, const struct tensor *t, int64_t *id, struct tb_err *err)
{
	struct form_key key = { .kind = t->scheme.kind, .bits = t->scheme.bits,
		.group = t->scheme.group, .plain = t->scheme.dtype, .ggml = t->scheme.ggml,
		.dtype = t->weight.dtype, .ndim = t->ndim, .bytes = t->bytes };
	size_t len = offsetof(struct form_key, dim) + t->ndim * sizeof(*key.dim);
	struct ids_entry *e;
	struct db_names *n;
	enum tb_status status = names_of(db, &n, err);

	if (status)
		return status;
	memcpy(key.dim, t->dim, t->ndim * sizeof(*key.dim));
	e = ids_find(&n->keys, &key, len);
	if (e) {
		*id = e->id;
		return TB_OK;
	}
	status = form_by_text(db, n, t, id, err);
	if (!status && !ids_add(&n->keys, &key, len, *id))
		status = tb_nomem(err);
	return status;
}

enum tb_status
db_file_known(struct db *db, const char *path, const struct tb_ident *ident, bool missing,
	      int64_t *id, struct tb_err *err)
{
	struct ids_entry *e;
	struct db_names *n;
	enum tb_status status = names_of(db, &n, err);
	const struct file_known *f;

	*id = 0;
	if (status)
		return status;
	e = ids_find_then(&n->files, path, strlen(path), &n->last_file);
	if (!e)
		return TB_OK;
	f = &n->file[e - n->files.entry];
	if (f->missing == missing && tb_ident_equal(&f->ident, ident))
		*id = e->id;
	return TB_OK;
}

bool
db_file_seen(struct db *db, const char *path, struct tb_ident *ident)
{
	const struct db_names *n = db->names;
	const struct ids_entry *e = n ? ids_find(&n->files, path, strlen(path)) : NULL;
	const struct file_known *f = e ? &n->file[e - n->files.entry] : NULL;

	if (!f || f->missing || !f->ident.ino)
		return false;
	*ident = f->ident;
	return true;
}

enum tb_status
db_file_remember(struct db *db, const char *path, const struct tb_ident *ident, bool missing,
		 int64_t id, struct tb_err *err)
{
	struct db_names *n = db->names;
	struct ids_entry *e = ids_find(&n->files, path, strlen(path));

	if (!e)
		e = ids_add(&n->files, path, strlen(path), id);
	if (!e || !tb_grow(&n->file, &n->file_cap, n->files.n, sizeof(*n->file)))
		return tb_nomem(err);
	e->id = id;
	n->file[e - n->files.entry] = (struct file_known){ *ident, missing };
	return TB_OK;
}
