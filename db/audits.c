/* audits.c - runs, findings, last results. */
#include "config.h"

#include "db/audit.h"
#include "db/stmt.h"

#include <string.h>

#include "src/base/text.h"
#include "src/store/hub.h"

static const char *const severities[] = {
#define X(id, word) [id] = word,
	SEVERITY_LIST(X)
#undef X
};

static const char *const states[] = {
#define X(id, word) [id] = word,
	RUN_LIST(X)
#undef X
};

const char *
severity_word(enum severity s)
{
	return severities[s];
}

const char *
run_state_word(enum run_state s)
{
	return states[s];
}

bool
run_state_good(enum run_state s)
{
	return s == RUN_CLEAN || s == RUN_RECORDED;
}

/* ---- runs ---- */

static const char *
some(const char *s)
{
	return s ? s : "";
}

#define RUN_COLUMNS "id, started_ns, ended_ns, scope, deep, state, models, manifests, blobs, " \
	"bytes, errors, warnings, notes, seconds, message, recorded, skipped, since_ns, " \
	"compared, program, resumes, resumed, resumed_bytes"

static const struct db_sort run_sorts[] = {
	{ "started", "id", true },
	{ "bytes", "bytes", true },
	{ "errors", "errors", true },
	{ "seconds", "seconds", true },
	{ NULL, NULL, false }
};

static void
read_run(struct db_rows *r, void *row)
{
	int64_t state = rows_i64(r, 5);

	*(struct db_run *)row = (struct db_run){
		.id = rows_i64(r, 0), .started_ns = rows_i64(r, 1), .ended_ns = rows_i64(r, 2),
		.scope = rows_text(r, 3), .deep = rows_i64(r, 4),
		.state = state >= 0 && state < RUN_STATE_COUNT ? (enum run_state)state : RUN_FAILED,
		.models = rows_u64(r, 6), .manifests = rows_u64(r, 7), .blobs = rows_u64(r, 8),
		.bytes = rows_u64(r, 9), .errors = rows_u64(r, 10), .warnings = rows_u64(r, 11),
		.notes = rows_u64(r, 12), .seconds = sqlite3_column_double(r->st, 13),
		.message = rows_text(r, 14), .recorded = rows_u64(r, 15),
		.skipped = rows_u64(r, 16), .since_ns = rows_i64(r, 17),
		.compared = rows_u64(r, 18), .program = rows_text(r, 19),
		.resumes = rows_i64(r, 20), .resumed = rows_u64(r, 21),
		.resumed_bytes = rows_u64(r, 22),
	};
}

enum tb_status
db_runs(struct db *db, const struct db_query *q, struct db_runs *out, struct tb_err *err)
{
	static const struct db_list list = {
		.columns = RUN_COLUMNS, .from = "audit.runs", .where = "1", .filter = "scope",
		.tie = "id DESC", .sort = run_sorts,
	};

	return query_window(db, &list, q, ROWS(out, read_run), err);
}

enum tb_status
db_run_by_id(struct db *db, int64_t id, struct db_runs *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_run), err,
			   "SELECT " RUN_COLUMNS " FROM audit.runs WHERE id = ?", "i", id);
}

enum tb_status
db_runs_like(struct db *db, const struct db_run *run, unsigned max, struct db_runs *out,
	     struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_run), err,
			   "SELECT " RUN_COLUMNS " FROM audit.runs WHERE scope = ? AND deep = ?"
			   " AND since_ns = 0 AND id < ? ORDER BY id DESC LIMIT ?", "siii",
			   run->scope, (int64_t)run->deep, run->id, (int64_t)max);
}

enum tb_status
db_run_start(struct db *db, const struct db_run *run, int64_t *id, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err,
		"INSERT INTO audit.runs(started_ns, scope, deep, since_ns, state, program)"
		" VALUES (?, ?, ?, ?, ?, ?)", "isiiis", run->started_ns, run->scope,
		(int64_t)run->deep, run->since_ns, (int64_t)RUN_RUNNING, some(run->program));

	*id = sqlite3_last_insert_rowid(db->sql);
	return status;
}

enum tb_status
db_run_end(struct db *db, const struct db_run *run, struct tb_err *err)
{
	return db_exec(db, err,
		"UPDATE audit.runs SET ended_ns = ?, state = ?, models = ?, manifests = ?, blobs = ?,"
		" bytes = ?, recorded = ?, skipped = ?, compared = ?, errors = ?, warnings = ?,"
		" notes = ?, seconds = ?, message = ?, resumes = ?, resumed = ?, resumed_bytes = ?"
		" WHERE id = ?", "iiiiiiiiiiiifsiiii", run->ended_ns,
		(int64_t)run->state,
		(int64_t)run->models, (int64_t)run->manifests, (int64_t)run->blobs,
		(int64_t)run->bytes, (int64_t)run->recorded, (int64_t)run->skipped,
		(int64_t)run->compared, (int64_t)run->errors, (int64_t)run->warnings,
		(int64_t)run->notes, run->seconds, run->message ? run->message : "",
		run->resumes, (int64_t)run->resumed, (int64_t)run->resumed_bytes, run->id);
}

/* ---- findings ---- */

static const struct db_sort finding_sorts[] = {
	{ "severity", "severity", true },
	{ "model", "model COLLATE tb_natural", false },
	{ "code", "code", false },
	{ "blob", "blob", false },
	{ NULL, NULL, false }
};

#define FINDING_COLUMNS "id, run, severity, code, model, model_path, blob, tensor, offset, " \
	"expected, actual, message, bytes, rows"

static void
read_finding(struct db_rows *r, void *row)
{
	int64_t severity = rows_i64(r, 2);

	*(struct db_finding *)row = (struct db_finding){
		.id = rows_i64(r, 0), .run = rows_i64(r, 1),
		.severity = severity >= SEV_NOTE && severity <= SEV_ERROR ? (enum severity)severity
									  : SEV_ERROR,
		.code = rows_text(r, 3), .model = rows_text(r, 4), .model_path = rows_text(r, 5),
		.blob = rows_text(r, 6), .tensor = rows_text(r, 7),
		.has_offset = sqlite3_column_type(r->st, 8) != SQLITE_NULL,
		.offset = rows_u64(r, 8), .expected = rows_text(r, 9),
		.actual = rows_text(r, 10), .message = rows_text(r, 11),
		.has_bytes = sqlite3_column_type(r->st, 12) != SQLITE_NULL,
		.bytes = rows_u64(r, 12), .rows = rows_text(r, 13),
	};
}

enum tb_status
db_findings(struct db *db, int64_t run, const struct db_query *q, struct db_findings *out,
	    struct tb_err *err)
{
	const struct db_list list = {
		.columns = FINDING_COLUMNS, .from = "audit.findings", .where = "run = ?",
		.filter = "message", .tie = "model COLLATE tb_natural, model_path, code, blob, offset, tensor, "
		"message, id",
		.sort = finding_sorts, .has_arg = true, .arg = run,
	};

	return query_window(db, &list, q, ROWS(out, read_finding), err);
}

enum tb_status
db_found_by_reading(struct db *db, int64_t run, struct db_findings *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_finding), err, "SELECT " FINDING_COLUMNS
			   " FROM audit.findings WHERE run = ? AND blob <> '' AND (severity > ? OR"
			   " tensor <> '' OR code = 'changed_since') ORDER BY id", "ii", run,
			   (int64_t)SEV_NOTE);
}

enum tb_status
db_finding_add(struct db *db, const struct db_finding *f, struct tb_err *err)
{
	static const char with[] = "INSERT INTO audit.findings(run, severity, code, model, "
		"model_path, blob, tensor, expected, actual, message, rows, offset, bytes) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

	return db_exec(db, err, with, !f->has_offset ? "iisssssssss" : f->has_bytes
		       ? "iisssssssssii" : "iisssssssssi", f->run,
		       (int64_t)f->severity, f->code, some(f->model), some(f->model_path),
		       some(f->blob), some(f->tensor), some(f->expected), some(f->actual),
		       some(f->message), some(f->rows), (int64_t)f->offset, (int64_t)f->bytes);
}

/* A place is told once for each model: the first of them stands for all. */
enum tb_status
db_damaged_places(struct db *db, const char *digest, const char *path, struct db_findings *out,
		  struct tb_err *err)
{
	char named[TB_DIGEST_MAX];
	const char *blob = *digest ? digest : hub_digest(path, named) ? named : path;

	return rows_select(db, ROWS(out, read_finding), err, "SELECT " FINDING_COLUMNS
			   " FROM audit.findings WHERE id IN (SELECT min(id) FROM audit.findings "
			   "WHERE bytes IS NOT NULL AND blob = ?1 AND run = (SELECT max(run) "
			   "FROM audit.findings WHERE bytes IS NOT NULL AND blob = ?1) "
			   "GROUP BY offset) ORDER BY offset", "s", blob);
}

/* ---- last results ---- */

enum tb_status
db_verified_model(struct db *db, const char *path, const struct db_verified *v,
		  struct tb_err *err)
{
	static const char last[] = "INSERT OR REPLACE INTO audit.verified(path, run, stamp, errors,"
		" when_ns, state) VALUES (?, ?, ?, ?, ?, ?)";
	static const char of_run[] = "INSERT OR REPLACE INTO audit.run_models(run, path, name, state,"
		" kind, digest, bytes, files, list) VALUES (?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0))";
	enum tb_status status;

	status = db_exec(db, err, last, "siiiii", path, v->run, (int64_t)v->stamp,
			 (int64_t)v->errors, v->when_ns, (int64_t)v->state);
	return status ? status : db_exec(db, err, of_run, "issisdiii", v->run, path, some(v->name),
					 (int64_t)v->state, some(v->kind), v->digest,
					 (int64_t)v->bytes, (int64_t)v->files, v->list);
}

enum tb_status
db_model_hashed(struct db *db, const char *path, uint64_t stamp, int64_t when_ns,
		struct tb_err *err)
{
	return db_exec(db, err, "INSERT INTO audit.verified(path, run, stamp, errors, when_ns, state)"
		       " VALUES (?, 0, ?, 0, ?, ?) ON CONFLICT(path) DO UPDATE SET run = 0,"
		       " stamp = excluded.stamp, errors = 0, when_ns = excluded.when_ns,"
		       " state = excluded.state WHERE stamp <> excluded.stamp", "siii", path,
		       (int64_t)stamp, when_ns, (int64_t)DB_HASHED);
}

static void
read_run_model(struct db_rows *r, void *row)
{
	*(struct db_run_model *)row = (struct db_run_model){
		.name = rows_text(r, 0), .path = rows_text(r, 1),
		.state = db_state_of(rows_i64(r, 2)), .kind = rows_text(r, 3),
		.digest = rows_digest(r, 4), .bytes = rows_u64(r, 5), .files = rows_u64(r, 6),
		.list = rows_i64(r, 7), .run = rows_i64(r, 8),
	};
}

#define RUN_MODEL_COLUMNS "name, path, state, kind, digest, bytes, files, list, run"

enum tb_status
db_run_models(struct db *db, int64_t run, struct db_run_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_run_model), err, "SELECT " RUN_MODEL_COLUMNS
			   " FROM audit.run_models WHERE run = ?"
			   " ORDER BY name COLLATE tb_natural, path", "i", run);
}

enum tb_status
db_run_model_last(struct db *db, const char *path, struct db_run_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_run_model), err, "SELECT " RUN_MODEL_COLUMNS
			   " FROM audit.run_models WHERE path = ?1 AND run ="
			   " (SELECT run FROM audit.verified WHERE path = ?1)", "s", path);
}

/* hashes.ok: what it was compared with did not hold, did, or was not there. */
enum { NOT_OK, OK, RECORDED };

static void
read_hash(struct db_rows *r, void *row)
{
	struct db_hashed *to = row;
	const char *digest = rows_digest(r, 4);

	memcpy(to->h.digest, digest, strlen(digest) + 1);
	to->h.id = rows_ident(r, 0);
	to->h.ok = rows_i64(r, 5) != NOT_OK;
	to->h.recorded = rows_i64(r, 5) == RECORDED;
	to->h.when_ns = rows_i64(r, 6);
	to->h.run = rows_i64(r, 7);
	to->path = rows_text(r, 8);
}

#define HASH_COLUMNS "SELECT dev, ino, size, mtime_ns, digest, ok, when_ns, run, path " \
	"FROM audit.hashes "

enum tb_status
db_hash_get(struct db *db, const char *path, struct db_hash *out, bool *found,
	    struct tb_err *err)
{
	struct db_hasheds list;
	enum tb_status status = rows_select(db, ROWS(&list, read_hash), err, HASH_COLUMNS
					    "WHERE path = ?", "s", path);

	*out = !status && list.n ? list.rows->h : (struct db_hash){ 0 };
	*found = *out->digest;
	if (!status)
		tb_arena_free(&list.mem);
	return status;
}

enum tb_status
db_hash_known(struct db *db, const char *path, const struct tb_ident *now, const char *digest,
	      bool *known, struct tb_err *err)
{
	struct db_hash was;
	bool found = false;
	enum tb_status status = db ? db_hash_get(db, path, &was, &found, err) : TB_OK;

	*known = !status && found && was.ok && tb_ident_equal(&was.id, now) &&
		 (tb_starts(digest, "sha256:") ? !strcmp(was.digest, digest) : !was.recorded);
	return status;
}

enum tb_status
db_hash_moved(struct db *db, const struct tb_ident *id, int64_t born_ns, struct db_hash *out,
	      bool *found, struct tb_err *err)
{
	struct db_hasheds list;
	enum tb_status status = rows_select(db, ROWS(&list, read_hash), err, HASH_COLUMNS
					    "WHERE ino = ? AND dev = ? AND size = ? AND mtime_ns = ?"
					    " AND when_ns > ? ORDER BY when_ns DESC LIMIT 1", "iiiii",
					    (int64_t)id->ino, (int64_t)id->dev, (int64_t)id->size,
					    id->mtime_ns, born_ns);

	*out = !status && list.n ? list.rows->h : (struct db_hash){ 0 };
	*found = *out->digest;
	if (!status)
		tb_arena_free(&list.mem);
	return status;
}

enum tb_status
db_hashes_below(struct db *db, const char *dir, struct db_hasheds *out, struct tb_err *err)
{
	/* "0" is what comes behind "/" */
	return rows_select(db, ROWS(out, read_hash), err, HASH_COLUMNS
			   "WHERE path > ?1 || '/' AND path < ?1 || '0' ORDER BY path", "s", dir);
}

enum tb_status
db_hash_put(struct db *db, const char *path, const struct db_hash *h, struct tb_err *err)
{
	return db_exec(db, err, "INSERT OR REPLACE INTO audit.hashes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		       "siiiidiii", path, (int64_t)h->id.dev, (int64_t)h->id.ino,
		       (int64_t)h->id.size, h->id.mtime_ns, h->digest,
		       (int64_t)(!h->ok ? NOT_OK : h->recorded ? RECORDED : OK), h->when_ns,
		       h->run);
}
