#include "config.h"

#include "src/ops/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/file.h"

static const char *const formats[] = {
#define X(id, name) [id] = name,
	REPORT_LIST(X)
#undef X
};

const char *
report_format_name(enum report_format f)
{
	return formats[f];
}

enum tb_status
report_format_parse(const char *name, enum report_format *out, struct tb_err *err)
{
	for (int i = 0; i < REPORT_COUNT; i++)
		if (!strcmp(formats[i], name)) {
			*out = (enum report_format)i;
			return TB_OK;
		}
	return tb_fail(err, TB_EUSAGE, "no report format \"%s\": text, json, csv, md or html",
		       name);
}

enum tb_status
report_format_of(const char *path, enum report_format *out, struct tb_err *err)
{
	static const struct { const char *ending; enum report_format format; } endings[] = {
		{ ".txt", REPORT_TEXT }, { ".text", REPORT_TEXT }, { ".json", REPORT_JSON },
		{ ".csv", REPORT_CSV }, { ".md", REPORT_MD }, { ".markdown", REPORT_MD },
		{ ".html", REPORT_HTML }, { ".htm", REPORT_HTML },
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	*out = REPORT_TEXT;
	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcasecmp(dot, endings[i].ending)) {
			*out = endings[i].format;
			return TB_OK;
		}
	return !dot ? TB_OK : tb_fail(err, TB_EUSAGE, "%.300s: no report is written as %.20s; end"
				      " it with .txt, .json, .csv, .md or .html", path, dot);
}

enum tb_status
report_place(const char *path, bool replace, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	enum tb_status status = TB_OK;

	if (!dir)
		return tb_nomem(err);
	if (!tb_is_dir(dir))
		status = tb_fail(err, TB_ENOENT, "%.400s: there is no folder %s", path, dir);
	else if (tb_is_dir(path))
		status = tb_fail(err, TB_EEXIST, "%.400s is a folder; name a file in it", path);
	else if (!replace && tb_exists(path))
		status = tb_fail(err, TB_EEXIST, "%.400s exists already; give another name", path);
	free(dir);
	return status;
}

enum tb_status
report_load(struct report *r, struct db *db, int64_t run, struct tb_err *err)
{
	struct db_query last = { .limit = 1 };
	enum tb_status status;

	*r = (struct report){ .db = db };
	status = run ? db_run_by_id(db, run, &r->runs, err) : db_runs(db, &last, &r->runs, err);
	if (!status && !r->runs.n)
		status = run ? tb_fail(err, TB_ENOENT, "no verify run %jd; \"tbtui audit\" lists "
				     "them", (intmax_t)run)
			     : tb_fail(err, TB_ENOENT, "nothing was verified yet");
	if (!status)
		status = db_findings(db, r->runs.rows->id, NULL, &r->findings, err);
	if (!status)
		status = db_run_models(db, r->runs.rows->id, &r->models, err);
	if (!status)
		status = db_run_roots(db, r->runs.rows->id, &r->roots, err);
	if (status)
		report_free(r);
	return status;
}

enum tb_status
report_open(struct report *r, const char *db_path, int64_t run, struct tb_err *err)
{
	struct db *db;
	enum tb_status status = db_open_read(&db, db_path, err);

	*r = (struct report){ 0 };
	if (status)
		return status;
	status = report_load(r, db, run, err);
	if (status)
		db_close(db);
	else
		r->opened = true;
	return status;
}

void
report_free(struct report *r)
{
	tb_arena_free(&r->runs.mem);
	tb_arena_free(&r->findings.mem);
	tb_arena_free(&r->models.mem);
	tb_arena_free(&r->roots.mem);
	if (r->opened)
		db_close(r->db);
	*r = (struct report){ 0 };
}
