/* models.c - lists of models. */
#include "config.h"

#include "db/blob.h"
#include "db/stmt.h"

#include <string.h>

#define COLUMNS "id, name, path, root_path, kind, arch, scheme, params, bytes, exclusive, " \
	"tensors, files, problems, mtime_ns, state, changed, verified_ns, bad"

static const struct db_sort sorts[] = {
	{ "name", "name COLLATE tb_natural", false },
	{ "kind", "kind", false },
	{ "arch", "tb_family(arch) COLLATE tb_natural", false },
	{ "params", "params", true },
	{ "scheme", "scheme COLLATE tb_natural", false },
	{ "size", "bytes", true },
	{ "exclusive", "exclusive", true },
	{ "tensors", "tensors", true },
	{ "state", "state", true },
	{ "modified", "mtime_ns", true },
	{ NULL, NULL, false }
};

static const struct { const char *word, *meaning; } states[] = {
#define X(id, word, meaning) [id] = { word, meaning },
	DB_STATE_LIST(X)
#undef X
};

const char *
db_state_word(enum db_state s)
{
	return states[s].word;
}

struct model_loc
db_model_loc(const struct db_model *m)
{
	return (struct model_loc){
		.kind = m->kind, .name = (char *)m->name, .path = (char *)m->path,
		.root = (char *)m->root, .mtime_ns = m->mtime_ns,
	};
}

const char *
db_model_word(const struct db_model *m)
{
	return m->state == DB_NEVER && m->changed ? "changed" : db_state_word(m->state);
}

const char *
db_state_meaning(enum db_state s)
{
	return states[s].meaning;
}

enum db_state
db_state_of(int64_t number)
{
	return number >= 0 && number < DB_STATE_COUNT ? (enum db_state)number : DB_NEVER;
}

bool
db_among(const struct store_roots *roots, const char *path)
{
	for (size_t i = 0; roots && path && i < roots->n; i++)
		if (!strcmp(roots->path[i], path))
			return true;
	return !roots;
}

static void
read_model(struct db_rows *r, void *row)
{
	struct db_model *m = row;
	int c = 0;

	m->id = rows_i64(r, c++);
	m->name = rows_text(r, c++);
	m->path = rows_text(r, c++);
	m->root = rows_text(r, c++);
	m->kind = kind_of_number(rows_i64(r, c++));
	m->arch = rows_text(r, c++);
	m->scheme = rows_text(r, c++);
	m->params = rows_u64(r, c++);
	m->bytes = rows_u64(r, c++);
	m->exclusive = rows_u64(r, c++);
	m->tensors = rows_u64(r, c++);
	m->files = rows_u64(r, c++);
	m->problems = rows_u64(r, c++);
	m->mtime_ns = rows_i64(r, c++);
	m->state = db_state_of(rows_i64(r, c++));
	m->changed = rows_i64(r, c++);
	m->verified_ns = rows_i64(r, c++);
	m->bad = rows_u64(r, c++);
}

/* What is no model is known all the same: its blobs are used. */
static const struct db_list models_list = {
	.columns = COLUMNS, .from = "model_state", .where = "tb_is_model(kind)", .filter = "name",
	.root = "root_path", .path = "path", .tie = "name COLLATE tb_natural, id", .sort = sorts,
};

enum tb_status
db_models(struct db *db, const struct db_query *q, struct db_models *out, struct tb_err *err)
{
	return query_window(db, &models_list, q, ROWS(out, read_model), err);
}

enum tb_status
db_models_find(struct db *db, const struct db_query *q, int64_t id, uint64_t *row, bool *found,
	       struct tb_err *err)
{
	return query_find(db, &models_list, q, id, row, found, err);
}

enum tb_status
db_model_by_id(struct db *db, int64_t id, struct db_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_model), err,
			   "SELECT " COLUMNS " FROM model_state WHERE id = ?", "i", id);
}

enum tb_status
db_model_by_path(struct db *db, const char *path, struct db_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_model), err,
			   "SELECT " COLUMNS " FROM model_state WHERE path = ?", "s", path);
}

enum tb_status
db_blob_owners(struct db *db, int64_t blob, struct db_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_model), err,
			   "SELECT " COLUMNS " FROM model_state WHERE id IN "
			   "(SELECT model FROM model_files WHERE file = ?) "
			   "ORDER BY name COLLATE tb_natural, id", "i", blob);
}
