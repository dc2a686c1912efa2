/* models.c - lists of models. */
#include "config.h"

#include "db/blob.h"
#include "db/private.h"

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

static void
read_row(struct db_rows *r, struct db_model *m)
{
	int c = 0;

	m->id = rows_i64(r, c++);
	m->name = rows_text(r, c++);
	m->path = rows_text(r, c++);
	m->root = rows_text(r, c++);
	m->kind = kind_of_number(rows_i64(r, c++));
	m->arch = rows_text(r, c++);
	m->scheme = rows_text(r, c++);
	m->params = (uint64_t)rows_i64(r, c++);
	m->bytes = (uint64_t)rows_i64(r, c++);
	m->exclusive = (uint64_t)rows_i64(r, c++);
	m->tensors = (uint64_t)rows_i64(r, c++);
	m->files = (uint64_t)rows_i64(r, c++);
	m->problems = (uint64_t)rows_i64(r, c++);
	m->mtime_ns = rows_i64(r, c++);
	m->state = db_state_of(rows_i64(r, c++));
	m->changed = rows_i64(r, c++);
	m->verified_ns = rows_i64(r, c++);
	m->bad = (uint64_t)rows_i64(r, c++);
}

static enum tb_status
read_all(struct db_rows *r, struct db_models *out)
{
	size_t cap = 0;

	while (rows_next(r)) {
		struct db_model *more = rows_push(r, out->rows, &out->n, &cap,
						  sizeof(*out->rows));

		if (!more)
			continue;
		out->rows = more;
		read_row(r, &out->rows[out->n - 1]);
	}
	if (rows_end(r))
		*out = (struct db_models){ 0 };
	return r->status;
}

/* What is no model is known all the same: its blobs are used. */
#define LIST(what) { \
	.columns = what, .from = "model_state", .where = "tb_is_model(kind)", .filter = "name", \
	.root = "root_path", .path = "path", .tie = "name COLLATE tb_natural, id", .sort = sorts, \
}

enum tb_status
db_models(struct db *db, const struct db_query *q, struct db_models *out, struct tb_err *err)
{
	static const struct db_list list = LIST(COLUMNS);
	struct db_rows r;
	enum tb_status status;

	*out = (struct db_models){ 0 };
	status = db_list_open(&r, db, &list, q, &out->mem, &out->total, err);
	return status ? status : read_all(&r, out);
}

enum tb_status
db_models_find(struct db *db, const struct db_query *q, int64_t id, uint64_t *row, bool *found,
	       struct tb_err *err)
{
	static const struct db_list list = LIST("id");
	struct db_query all = *q;
	struct db_rows r;
	enum tb_status status;
	uint64_t total;

	*found = false;
	all.offset = all.limit = 0;
	status = db_list_open(&r, db, &list, &all, NULL, &total, err);
	if (status)
		return status;
	for (*row = 0; rows_next(&r); ++*row)
		if (rows_i64(&r, 0) == id) {
			*found = true;
			break;
		}
	return rows_end(&r);
}

enum tb_status
db_model_by_id(struct db *db, int64_t id, struct db_models *out, struct tb_err *err)
{
	struct db_rows r;

	*out = (struct db_models){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT " COLUMNS " FROM model_state WHERE id = ?", "i", id);
	(void)read_all(&r, out);
	out->total = out->n;
	return r.status;
}

enum tb_status
db_model_by_path(struct db *db, const char *path, struct db_models *out, struct tb_err *err)
{
	struct db_rows r;

	*out = (struct db_models){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT " COLUMNS " FROM model_state WHERE path = ?", "s", path);
	(void)read_all(&r, out);
	out->total = out->n;
	return r.status;
}

enum tb_status
db_blob_owners(struct db *db, int64_t blob, struct db_models *out, struct tb_err *err)
{
	struct db_rows r;

	*out = (struct db_models){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT " COLUMNS " FROM model_state WHERE id IN "
		  "(SELECT model FROM model_files WHERE file = ?) "
		  "ORDER BY name COLLATE tb_natural, id", "i", blob);
	(void)read_all(&r, out);
	out->total = out->n;
	return r.status;
}
