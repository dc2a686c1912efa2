/* report.h - a verify run as something to read, to keep, or to feed to a program. */
#ifndef TBTUI_OPS_REPORT_H
#define TBTUI_OPS_REPORT_H

#include "db/audit.h"
#include "src/base/buf.h"
#include "src/format/json.h"

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
enum tb_status report_format_parse(const char *name, enum report_format *out, struct tb_err *err)
	TB_MUST_USE;

/* What the ending of a file's name means; a name without one is text. TB_EUSAGE: another. */
enum tb_status report_format_of(const char *path, enum report_format *out, struct tb_err *err)
	TB_MUST_USE;
/* May a report be written there?  TB_ENOENT: the folder is missing; TB_EEXIST: something
 * has that name, which only a regular file gives up, and that only with `replace`. */
enum tb_status report_place(const char *path, bool replace, struct tb_err *err) TB_MUST_USE;

struct report {
	struct db_runs runs;		/* exactly one */
	struct db_findings findings;	/* worst first */
	struct db_run_models models;	/* how each stands after the run, by name */
};
/* A run of the audits; TB_ENOENT if there is none of that number, 0 = the last one. */
enum tb_status report_load(struct report *r, struct db *db, int64_t run, struct tb_err *err)
	TB_MUST_USE;
void report_free(struct report *r);

/* "79 hashed, 1 structure, 1 damaged"; nothing for no models. */
void report_states(const struct db_run_models *models, struct tb_buf *out);

/* The document of "verify --json". NULL only when out of memory. */
cJSON *report_json(const struct report *r);
/* Text is clean for a terminal in every format. */
enum tb_status report_render(const struct report *r, enum report_format f, struct tb_buf *out,
			     struct tb_err *err) TB_MUST_USE;
/* Renders into a file, atomically, where report_place() lets it. */
enum tb_status report_write(const struct report *r, enum report_format f, const char *path,
			    bool replace, struct tb_err *err) TB_MUST_USE;

/* What became of findings: those of `a` that b lacks, those of b that a lacks, and
 * those of both.  Findings are the same when code, model, blob and tensor are. */
struct report_diff {
	const struct db_finding **gone, **fresh, **same;	/* owned arrays of borrowed rows */
	size_t ngone, nfresh, nsame;
};
enum tb_status report_compare(const struct db_findings *a, const struct db_findings *b,
			      struct report_diff *out, struct tb_err *err) TB_MUST_USE;
void report_diff_free(struct report_diff *d);

/* A report that was written as JSON: scope, deep and findings come back. */
struct report_file {
	const char **refs;		/* owned; texts lie with the findings */
	size_t nrefs;
	bool deep;
	struct db_findings findings;
};
enum tb_status report_read(struct report_file *r, const char *path, struct tb_err *err) TB_MUST_USE;
void report_file_free(struct report_file *r);
#endif
