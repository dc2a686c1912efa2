/* names.c - ids of names and schemes while models are put: a model's names are mostly
 * those of the models before it, and asking SQLite for each costs more than the row. */
#include "config.h"

#include "db/private.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

#define SLOTS (1u << 18)		/* at most half are used: some 10 MB */

struct db_names {
	struct { const char *text; int64_t id; } slot[SLOTS];
	size_t n;
	struct db_mem mem;
};

void
db_names_forget(struct db *db)
{
	if (db->names)
		db_free(&db->names->mem);
	free(db->names);
	db->names = NULL;
}

static size_t
find(const struct db_names *names, const char *text)
{
	uint64_t h = 0xcbf29ce484222325;
	size_t i;

	for (const char *p = text; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	i = (size_t)(h ^ h >> 32) % SLOTS;
	while (names->slot[i].text && strcmp(names->slot[i].text, text))
		i = (i + 1) % SLOTS;
	return i;
}

/* last_insert_rowid() is that of the statement, not of the trigger that feeds the
 * full-text table: SQLite restores it when a trigger ends. */
static enum tb_status
ask(struct db *db, const char *text, int64_t *id, struct tb_err *err)
{
	enum tb_status status = db_value(db, id, 0, err, "SELECT id FROM names WHERE name = ?",
					 "s", text);

	if (!status && !*id) {
		status = db_exec(db, err, "INSERT INTO names(name) VALUES (?)", "s", text);
		*id = sqlite3_last_insert_rowid(db->sql);
	}
	return status;
}

enum tb_status
db_name_id(struct db *db, const char *text, int64_t *id, struct tb_err *err)
{
	struct db_names *names = db->names;
	enum tb_status status;
	size_t i;

	if (!names)
		names = db->names = tb_calloc(1, sizeof(*names));
	if (!names)
		return tb_nomem(err);
	i = find(names, text);
	if (names->slot[i].text) {
		*id = names->slot[i].id;
		return TB_OK;
	}
	status = ask(db, text, id, err);
	if (!status && names->n < SLOTS / 2) {
		names->slot[i].text = db_keep(&names->mem, text);
		names->slot[i].id = *id;
		names->n += names->slot[i].text != NULL;
	}
	return status;
}

enum tb_status
db_scheme_id(struct db *db, const struct scheme *s, int64_t *id, struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];
	enum tb_status status;

	if (db->scheme_id && scheme_equal(s, &db->scheme)) {
		*id = db->scheme_id;
		return TB_OK;
	}
	scheme_name(s, name);
	status = db_value(db, id, 0, err, "SELECT id FROM schemes WHERE name = ?", "s", name);
	if (!status && !*id) {
		status = db_exec(db, err, "INSERT INTO schemes(name) VALUES (?)", "s", name);
		*id = sqlite3_last_insert_rowid(db->sql);
	}
	if (!status) {
		db->scheme = *s;
		db->scheme_id = *id;
	}
	return status;
}
