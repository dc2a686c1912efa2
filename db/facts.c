/* facts.c - what was computed about tensors: putting and finding it. */
#include "config.h"

#include "db/facts.h"
#include "db/stmt.h"

#include <string.h>

#include "src/base/hash.h"

static uint64_t
mix(uint64_t h, uint64_t v)
{
	return tb_fnv(h, &v, sizeof(v));
}

static uint64_t
mix_part(uint64_t h, const struct model *m, const struct tensor_part *p)
{
	const struct model_file *f = &m->files[p->file];

	h = mix(mix(h, f->id.dev), f->id.ino);
	h = mix(mix(h, f->id.size), (uint64_t)f->id.mtime_ns);
	return mix(mix(mix(h, f->missing), p->off), p->len);
}

/* One number for the identities of the files that a tensor's parts are in.  How the parts
 * are read counts, too: config.json can change what the same bytes mean. */
static uint64_t
facts_stamp(const struct model *m, const struct tensor *t)
{
	const struct scheme *s = &t->scheme;
	uint64_t h = mix(mix(mix(TB_FNV, s->kind), s->bits), s->group);

	h = mix_part(mix(mix(h, s->dtype), s->ggml), m, &t->weight);
	if (t->has_scale)
		h = mix_part(h, m, &t->scale);
	if (t->has_bias)
		h = mix_part(h, m, &t->bias);
	return t->has_global ? mix_part(h, m, &t->global) : h;
}

#define COLUMNS "f.stats_ns, f.digest_ns, f.elems, f.zeros, f.nans, f.infs, f.first_nan, " \
	"f.first_inf, f.min, f.max, f.absmax, f.mean, f.std, f.sketch, f.digest"
enum {
	AT_STATS_NS, AT_DIGEST_NS, AT_ELEMS, AT_ZEROS, AT_NANS, AT_INFS, AT_FIRST_NAN,
	AT_FIRST_INF, AT_MIN, AT_MAX, AT_ABSMAX, AT_MEAN, AT_STD, AT_SKETCH, AT_DIGEST
};

static void
read_stats(struct db_rows *r, struct db_stats *s)
{
	size_t len = (size_t)sqlite3_column_bytes(r->st, AT_SKETCH);
	void *sketch = len ? tb_arena_get(r->mem, len) : NULL;

	*s = (struct db_stats){
		.of = { rows_u64(r, AT_ELEMS), rows_u64(r, AT_ZEROS), rows_u64(r, AT_NANS),
			rows_u64(r, AT_INFS), rows_u64(r, AT_FIRST_NAN), rows_u64(r, AT_FIRST_INF),
			sqlite3_column_double(r->st, AT_MIN), sqlite3_column_double(r->st, AT_MAX),
			sqlite3_column_double(r->st, AT_ABSMAX),
			sqlite3_column_double(r->st, AT_MEAN),
			sqlite3_column_double(r->st, AT_STD) },
		.sketch = sketch, .sketch_len = sketch ? len : 0,
		.when_ns = rows_i64(r, AT_STATS_NS),
	};
	r->failed |= len && !sketch;
	if (sketch)
		memcpy(sketch, sqlite3_column_blob(r->st, AT_SKETCH), len);
}

static void
read_fact(struct db_rows *r, void *row)
{
	struct db_fact *f = row;

	*f = (struct db_fact){
		.has_stats = sqlite3_column_type(r->st, AT_STATS_NS) != SQLITE_NULL,
		.has_digest = sqlite3_column_bytes(r->st, AT_DIGEST) == TB_SHA256_LEN,
		.ord = rows_u64(r, AT_DIGEST + 1),
	};
	if (f->has_stats)
		read_stats(r, &f->stats);
	if (f->has_digest) {
		memcpy(f->digest, sqlite3_column_blob(r->st, AT_DIGEST), TB_SHA256_LEN);
		f->digest_ns = rows_i64(r, AT_DIGEST_NS);
	}
}

enum tb_status
db_facts_get(struct db *db, const struct model *m, const struct tensor *t, struct db_facts *out,
	     struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_fact), err, "SELECT " COLUMNS ", 0 "
			   "FROM audit.fact_models fm JOIN audit.facts f ON f.model = fm.id "
			   "WHERE fm.path = ? AND f.tensor = ? AND f.stamp = ?", "ssi", m->loc.path,
			   t->name, (int64_t)facts_stamp(m, t));
}

enum tb_status
db_facts_list(struct db *db, int64_t model, uint64_t first, uint64_t n, struct db_facts *out,
	      struct tb_err *err)
{
	first = first < INT64_MAX ? first : INT64_MAX;
	n = n < INT64_MAX - first ? n : INT64_MAX - first;
	/* "CROSS JOIN" keeps the order: a window of the model's tensors, then their facts */
	return rows_select(db, ROWS(out, read_fact), err, "SELECT " COLUMNS ", t.ord "
			   "FROM main.models m "
			   "CROSS JOIN audit.fact_models fm ON fm.path = m.path "
			   "CROSS JOIN main.tensors t ON t.model = m.id AND t.ord >= ? AND t.ord < ? "
			   "CROSS JOIN audit.facts f ON f.model = fm.id AND f.tensor = t.name "
			   "AND f.model_stamp = m.stamp WHERE m.id = ? ORDER BY t.ord", "iii",
			   (int64_t)first, (int64_t)(first + n), model);
}

enum tb_status
db_facts_any(struct db *db, int64_t model, bool *any, struct tb_err *err)
{
	int64_t found;
	enum tb_status status = db_value(db, &found, 0, err, "SELECT EXISTS(SELECT 1 "
		"FROM main.models m CROSS JOIN audit.fact_models fm ON fm.path = m.path "
		"CROSS JOIN audit.facts f ON f.model = fm.id AND f.model_stamp = m.stamp "
		"AND f.stats_ns IS NOT NULL WHERE m.id = ?)", "i", model);

	*any = found != 0;
	return status;
}

/* ---- putting ---- */

static enum tb_status
know_model(struct db *db, const struct model *m, int64_t *id, struct tb_err *err)
{
	static const char find[] = "SELECT id FROM audit.fact_models WHERE path = ?";
	enum tb_status status = db_value(db, id, 0, err, find, "s", m->loc.path);

	if (!status && !*id)
		status = db_exec(db, err, "INSERT OR IGNORE INTO audit.fact_models(path) VALUES (?)",
				 "s", m->loc.path);
	if (!status && !*id)
		status = db_value(db, id, 0, err, find, "s", m->loc.path);
	return status;
}

/* What was kept of other files goes; what the other kind has found in these stays. */
#define PUT(columns, marks) "INSERT INTO audit.facts(model, tensor, stamp, model_stamp, " \
	columns ") VALUES (?, ?, ?, ?, " marks ") ON CONFLICT(model, tensor) DO UPDATE SET "
#define RENEW "stamp = excluded.stamp, model_stamp = excluded.model_stamp"
#define ONLY_IF_SAME(column) column " = CASE WHEN stamp = excluded.stamp THEN " column " END, "

static const char put_stats[] =
	PUT("stats_ns, elems, zeros, nans, infs, first_nan, first_inf, min, max, absmax, mean, "
	    "std, sketch", "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?")
	ONLY_IF_SAME("digest") ONLY_IF_SAME("digest_ns")
	"stats_ns = excluded.stats_ns, elems = excluded.elems, zeros = excluded.zeros, "
	"nans = excluded.nans, infs = excluded.infs, first_nan = excluded.first_nan, "
	"first_inf = excluded.first_inf, min = excluded.min, max = excluded.max, "
	"absmax = excluded.absmax, mean = excluded.mean, std = excluded.std, "
	"sketch = excluded.sketch, " RENEW;

static const char put_digest[] =
	PUT("digest_ns, digest", "?, ?") ONLY_IF_SAME("stats_ns")
	"digest_ns = excluded.digest_ns, digest = excluded.digest, " RENEW;

enum tb_status
db_facts_put_stats(struct db *db, const struct model *m, const struct tensor *t,
		   uint64_t model_stamp, const struct db_stats *s, struct tb_err *err)
{
	const struct value_stats *of = &s->of;
	int64_t model;
	enum tb_status status = know_model(db, m, &model, err);

	if (status)
		return status;
	return db_exec(db, err, put_stats, "isiiiiiiiiifffffb", model, t->name,
		       (int64_t)facts_stamp(m, t), (int64_t)model_stamp, s->when_ns,
		       (int64_t)of->count, (int64_t)of->zeros, (int64_t)of->nans,
		       (int64_t)of->infs, (int64_t)of->first_nan, (int64_t)of->first_inf, of->min,
		       of->max, of->absmax, of->mean, of->std, s->sketch, s->sketch_len);
}

enum tb_status
db_facts_put_digest(struct db *db, const struct model *m, const struct tensor *t,
		    uint64_t model_stamp, const uint8_t digest[TB_SHA256_LEN], int64_t when_ns,
		    struct tb_err *err)
{
	int64_t model;
	enum tb_status status = know_model(db, m, &model, err);

	if (status)
		return status;
	return db_exec(db, err, put_digest, "isiiib", model, t->name,
		       (int64_t)facts_stamp(m, t), (int64_t)model_stamp, when_ns,
		       (const void *)digest, (size_t)TB_SHA256_LEN);
}
