/* report.h - a verify run as something to read, to keep, or to feed to a program.
 *
 * What each format says is in doc/report.md.  Every one ends with a line of its own, the
 * seal: the SHA-256 of all bytes before that line. */
#ifndef TBTUI_OPS_REPORT_H
#define TBTUI_OPS_REPORT_H

#include "db/audit.h"
#include "db/run_files.h"
#include "src/base/buf.h"
#include "src/base/sha256.h"

/* id, name for --format */
#define REPORT_LIST(X) \
	X(REPORT_TEXT, "text") \
	X(REPORT_JSON, "json") \
	X(REPORT_CSV, "csv") \
	X(REPORT_MD, "md") \
	X(REPORT_HTML, "html")
#define X(id, name) id,
enum report_format { REPORT_LIST(X) REPORT_COUNT };
#undef X
const char *report_format_name(enum report_format f);
enum tb_status report_format_parse(const char *name, enum report_format *out, struct tb_err *err)
	TB_MUST_USE;

/* What the ending of a file's name means; a name without one is text. TB_EUSAGE: another. */
enum tb_status report_format_of(const char *path, enum report_format *out, struct tb_err *err)
	TB_MUST_USE;
/* May a report be written there?  TB_ENOENT: the folder is missing; TB_EEXIST: something
 * has that name, which only a regular file gives up, and that only with `replace`. */
enum tb_status report_place(const char *path, bool replace, struct tb_err *err) TB_MUST_USE;

#define REPORT_VERSION 1	/* of the document in JSON */

struct report {
	struct db *db;			/* for lists of files: one model's at a time */
	bool opened;			/* and it is the report's own */
	struct db_runs runs;		/* exactly one */
	struct db_findings findings;	/* worst first */
	struct db_run_models models;	/* how each stands after the run, by name */
	struct db_run_roots roots;	/* stores, by path; none where models were named */
};
/* A run of the audits; TB_ENOENT if there is none of that number, 0 = the last one.  db
 * outlives the report. */
enum tb_status report_load(struct report *r, struct db *db, int64_t run, struct tb_err *err)
	TB_MUST_USE;
/* The same of the index at that path. */
enum tb_status report_open(struct report *r, const char *db_path, int64_t run,
			   struct tb_err *err) TB_MUST_USE;
void report_free(struct report *r);

/* "79 hashed, 1 structure, 1 damaged"; nothing for no models. */
void report_states(const struct db_run_models *models, struct tb_buf *out);

/* For a terminal: findings, and what it comes to in some lines below them. */
void report_brief(const struct report *r, struct tb_buf *out);

/* A report goes to `put` in pieces; it is never whole in memory. */
typedef enum tb_status report_put_fn(void *arg, const char *text, size_t len, struct tb_err *err);
/* Text is clean for a terminal in every format.  seal: what is in its last line; or NULL. */
enum tb_status report_print(const struct report *r, enum report_format f, report_put_fn *put,
			    void *arg, char seal[TB_DIGEST_MAX], struct tb_err *err) TB_MUST_USE;
/* Into a file, atomically, where report_place() lets it. */
enum tb_status report_write(const struct report *r, enum report_format f, const char *path,
			    bool replace, char seal[TB_DIGEST_MAX], struct tb_err *err) TB_MUST_USE;

/* Does the last line of a file seal what is before it?  TB_EFORMAT: it was changed after it
 * was written; TB_ENOENT: there is no such line, or no such file. */
enum tb_status report_seal_check(const char *path, enum report_format *f,
				 char seal[TB_DIGEST_MAX], struct tb_err *err) TB_MUST_USE;

/* What became of findings: those of `a` that b lacks, those of b that a lacks, and
 * those of both.  Findings are the same when code, model, blob and tensor are. */
struct report_diff {
	const struct db_finding **gone, **fresh, **same;	/* owned arrays of borrowed rows */
	size_t ngone, nfresh, nsame;
};
enum tb_status report_compare(const struct db_findings *a, const struct db_findings *b,
			      struct report_diff *out, struct tb_err *err) TB_MUST_USE;
void report_diff_free(struct report_diff *d);

/* What became of models: those that are not alike, by path.  was NULL: new; now NULL: gone. */
struct report_changes {
	struct report_change { const struct db_run_model *was, *now; } *rows;	/* owned; borrows */
	size_t n, same;
	size_t unknown;			/* of the same: one side has no digest */
};
enum tb_status report_changed(const struct db_run_models *a, const struct db_run_models *b,
			      struct report_changes *out, struct tb_err *err) TB_MUST_USE;
void report_changes_free(struct report_changes *c);
/* Of a model that is there on both sides: has its digest changed? */
bool report_other_digest(const struct report_change *c);

/* A report that was written as JSON: scope, deep, findings, models and stores come back. */
struct report_file {
	const char **refs, **roots;	/* owned arrays; texts lie with the findings */
	size_t nrefs, nroots;
	bool deep;
	struct db_findings findings;
	struct db_run_models models;	/* without kind, files and list */
};
enum tb_status report_read(struct report_file *r, const char *path, struct tb_err *err) TB_MUST_USE;
void report_file_free(struct report_file *r);
#endif
