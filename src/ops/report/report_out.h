/* report_out.h - inside reports: where their text goes, and what all formats say alike. */
#ifndef TBTUI_OPS_REPORT_OUT_H
#define TBTUI_OPS_REPORT_OUT_H

#include "src/ops/report/report.h"

#define REPORT_SHOWN 500	/* findings of a code in HTML and Markdown; elsewhere all */

/* Formats add to `text`, and call report_more() between things of a line or some. */
struct report_out {
	const struct report *r;
	struct tb_buf text;
	struct tb_sha256 seal;
	report_put_fn *put;
	void *arg;
	enum tb_status status;		/* what failed first */
	struct tb_err *err;
};
/* Lets go what has come together; false: stop, something failed. */
bool report_more(struct report_out *o);

/* report_json.c, report_text.c, report_table.c (CSV, Markdown), report_html.c: all but the
 * seal. */
typedef void report_format_fn(struct report_out *o);
report_format_fn report_json, report_text, report_csv, report_md, report_html;

/* One character of a text that is clean: what the format means something by is escaped. */
typedef void report_escape_fn(struct tb_buf *out, const char *clean);
/* Cleans first; what comes from outside gets in by this alone. */
void report_put(struct tb_buf *out, const char *s, report_escape_fn *escape);

/* report_words.c: "1 model", then what follows. */
void report_count(struct tb_buf *out, uint64_t n, const char *what, const char *then);
/* "clean", and a sentence that says what that means of this run. */
const char *report_verdict(const struct report *r);
/* "7 files read and recorded; …": lines for what was not compared, "" if there is none. */
void report_uncompared(const struct db_run *run, struct tb_buf *out);
void report_scope(const struct db_run *run, struct tb_buf *out);	/* "all models" */
/* The first twelve digits, which are enough for people; "-" for no digest. */
const char *report_short(const char *digest, char out[16]);
/* Without the model's name in front of it. */
const char *report_message(const struct db_finding *f);
/* What a code means; "": nobody knows it. */
const char *report_meaning(const char *code);

/* Findings by severity, worst first, then by code: *out is the caller's to free. */
bool report_by_code(const struct db_findings *f, const struct db_finding ***out);

/* The files of a model, read when they are needed; false: stop. */
bool report_files(struct report_out *o, const struct db_run_model *m, struct db_run_files *out);

/* report_map.c: a picture of the models by bytes as inline SVG, and its legend. */
void report_map(struct report_out *o);
#endif
