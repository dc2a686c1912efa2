/* audit.h - what cannot be found out again: verify runs, findings, last results.
 * Kept in audits.db beside the index.
 *
 * Reading works on any connection; writing on one from db_open_write(). */
#ifndef TBTUI_DB_AUDIT_H
#define TBTUI_DB_AUDIT_H

#include "db/db.h"

/* id, word */
#define SEVERITY_LIST(X) \
	X(SEV_NOTE, "note")		/* space, or something to know: no damage */ \
	X(SEV_WARNING, "warning")	/* odd, but the data is what it should be */ \
	X(SEV_ERROR, "error")		/* damage */
#define X(id, word) id,
enum severity { SEVERITY_LIST(X) };
#undef X
const char *severity_word(enum severity s);

/* id, word */
#define RUN_LIST(X) \
	X(RUN_RUNNING, "running")	/* or its program died */ \
	X(RUN_CLEAN, "clean") \
	X(RUN_DAMAGE, "damage") \
	X(RUN_EMPTY, "empty")		/* nothing was checked: not the same as clean */ \
	X(RUN_CANCELLED, "cancelled") \
	X(RUN_FAILED, "failed") \
	X(RUN_RECORDED, "recorded")	/* read, but some had nothing to be compared with yet */ \
	X(RUN_SKIPPED, "skipped")	/* all was found good before, so nothing was read */
#define X(id, word) id,
enum run_state { RUN_LIST(X) RUN_STATE_COUNT };
#undef X
const char *run_state_word(enum run_state s);
bool run_state_good(enum run_state s);	/* bytes were read, and nothing is known to be wrong */

struct db_run {
	int64_t id;
	int64_t started_ns, ended_ns;	/* ended 0: not yet */
	const char *scope;		/* the references, a line each; "": all models */
	bool deep;
	enum run_state state;
	uint64_t models, manifests, blobs, bytes;	/* checked */
	uint64_t recorded;		/* of the blobs: had no digest to be compared with */
	uint64_t compared;		/* with a digest, or with what they were */
	uint64_t skipped;		/* not read: found good since since_ns, and not touched */
	int64_t since_ns;		/* 0: nothing was skipped */
	int64_t resumes;		/* the run that it went on with, 0: none */
	uint64_t resumed, resumed_bytes;	/* files found good then, and not read again */
	uint64_t errors, warnings, notes;
	double seconds;
	const char *message;		/* why it failed, "" */
	const char *program;		/* that made it, and its version; "": not known */
};
struct db_runs DB_LIST(struct db_run);
/* sort: started (newest first) bytes errors seconds. filter: scope. */
enum tb_status db_runs(struct db *db, const struct db_query *q, struct db_runs *out,
		       struct tb_err *err) TB_MUST_USE;
/* Those before `run` (its id, scope and depth count) that skipped nothing, newest first. */
enum tb_status db_runs_like(struct db *db, const struct db_run *run, unsigned max,
			    struct db_runs *out, struct tb_err *err) TB_MUST_USE;
enum tb_status db_run_by_id(struct db *db, int64_t id, struct db_runs *out, struct tb_err *err)
	TB_MUST_USE;

struct db_finding {
	int64_t id, run;
	enum severity severity;
	const char *code;		/* stable: "digest_mismatch"; see src/ops/verify/verify.h */
	const char *model;		/* name, "" when it concerns none */
	const char *model_path;
	const char *blob;		/* digest or path, "" */
	const char *tensor;		/* "" */
	bool has_offset;
	uint64_t offset;
	bool has_bytes;			/* so many are wrong from there on; else, where offset is
					 * known, that is where to look */
	uint64_t bytes;
	const char *rows;		/* of the tensor: "rows 5 to 9 of its scales", "" */
	const char *expected, *actual;	/* "" when they say nothing */
	const char *message;		/* one sentence */
};
struct db_findings DB_LIST(struct db_finding);
/* sort: severity (worst first, then model) model code blob. filter: message. */
enum tb_status db_findings(struct db *db, int64_t run, const struct db_query *q,
			   struct db_findings *out, struct tb_err *err) TB_MUST_USE;
/* Those that concern a blob and that reading it can have told. */
enum tb_status db_found_by_reading(struct db *db, int64_t run, struct db_findings *out,
				   struct tb_err *err) TB_MUST_USE;

/* Where a damaged file is damaged: the places (those with bytes) that were found last, by
 * offset.  digest: that of its name, or "".  Whether it still is, its state says. */
enum tb_status db_damaged_places(struct db *db, const char *digest, const char *path,
				 struct db_findings *out, struct tb_err *err) TB_MUST_USE;

/* Writing, between db_begin() and db_end() of db/write.h. */
/* Uses started_ns, scope, since_ns, deep and program; *id is what to put into the other calls. */
enum tb_status db_run_start(struct db *db, const struct db_run *run, int64_t *id,
			    struct tb_err *err) TB_MUST_USE;
enum tb_status db_run_end(struct db *db, const struct db_run *run, struct tb_err *err) TB_MUST_USE;
enum tb_status db_finding_add(struct db *db, const struct db_finding *f, struct tb_err *err)
	TB_MUST_USE;

/* The last result of a model (by path), with the stamp of its files at that time; and that
 * of the run. */
struct db_verified {
	int64_t run;
	const char *name;
	uint64_t stamp, errors;
	enum db_state state;
	int64_t when_ns;
	/* For the run alone; zero: not known. */
	const char *kind, *digest;
	uint64_t bytes, files;
	int64_t list;			/* db_run_files_put() */
};
enum tb_status db_verified_model(struct db *db, const char *path, const struct db_verified *v,
				 struct tb_err *err) TB_MUST_USE;

/* Every byte of the model was found right by no run.  What a run has said of it as it is stays. */
enum tb_status db_model_hashed(struct db *db, const char *path, uint64_t stamp, int64_t when_ns,
			       struct tb_err *err) TB_MUST_USE;

/* The models of a run, by name. */
struct db_run_model {
	const char *name, *path;
	enum db_state state;
	const char *kind;		/* kind_name(); "": not known */
	const char *digest;		/* "sha256:…" as in doc/report.md; "": a file was not read */
	uint64_t bytes, files;
	int64_t list;			/* for db_run_files() of db/run_files.h; 0: none */
	int64_t run;
};
struct db_run_models DB_LIST(struct db_run_model);
enum tb_status db_run_models(struct db *db, int64_t run, struct db_run_models *out,
			     struct tb_err *err) TB_MUST_USE;
/* The one at that path as the last run saw it that looked at it: one row, or none. */
enum tb_status db_run_model_last(struct db *db, const char *path, struct db_run_models *out,
				 struct tb_err *err) TB_MUST_USE;

/* The last hash of a file, and what it was then. */
struct db_hash {
	struct tb_ident id;
	char digest[TB_DIGEST_MAX];
	bool ok;			/* was as its name, its manifest or the hash before said */
	bool recorded;			/* ok, but there was nothing to compare with */
	int64_t when_ns;
	int64_t run;			/* that found it so */
};
enum tb_status db_hash_get(struct db *db, const char *path, struct db_hash *out, bool *found,
			   struct tb_err *err) TB_MUST_USE;
/* Was the file at that path hashed as it is now, and is it what `digest` says?  Of another
 * kind than SHA-256: whoever hashed it has compared it with its name.  db NULL: nobody knows. */
enum tb_status db_hash_known(struct db *db, const char *path, const struct tb_ident *now,
			     const char *digest, bool *known, struct tb_err *err) TB_MUST_USE;
/* The last hash of a file that had another name then: an inode that is older than its hash has been
 * no other file since. */
enum tb_status db_hash_moved(struct db *db, const struct tb_ident *id, int64_t born_ns,
			     struct db_hash *out, bool *found, struct tb_err *err) TB_MUST_USE;
/* Those of all files that are, or were, in the folder and below it, by path. */
struct db_hashed { const char *path; struct db_hash h; };
struct db_hasheds DB_LIST(struct db_hashed);
enum tb_status db_hashes_below(struct db *db, const char *dir, struct db_hasheds *out,
			       struct tb_err *err) TB_MUST_USE;
enum tb_status db_hash_put(struct db *db, const char *path, const struct db_hash *h,
			   struct tb_err *err) TB_MUST_USE;
#endif
