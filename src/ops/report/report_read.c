/* report_read.c - a report that was written as JSON comes back; anybody can have written it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/ops/report/report.h"

#define FILE_MAX (256u << 20)

static const char *
read_text(struct tb_arena *mem, const cJSON *v, const char *key, bool *failed)
{
	const char *s = json_str(json_get(v, key));
	const char *copy = s ? tb_arena_str(mem, s) : "";

	*failed |= !copy;
	return copy;
}

static bool
read_finding(struct tb_arena *mem, const cJSON *v, struct db_finding *f, bool *failed)
{
	const char *severity = json_str(json_get(v, "severity"));

	*f = (struct db_finding){
		.code = read_text(mem, v, "code", failed),
		.model = read_text(mem, v, "model", failed),
		.model_path = read_text(mem, v, "model_path", failed),
		.blob = read_text(mem, v, "blob", failed),
		.tensor = read_text(mem, v, "tensor", failed),
		.expected = read_text(mem, v, "expected", failed),
		.actual = read_text(mem, v, "actual", failed),
		.message = read_text(mem, v, "message", failed),
		.has_offset = json_u64(json_get(v, "offset"), &f->offset),
		.has_bytes = json_u64(json_get(v, "bytes"), &f->bytes),
		.rows = read_text(mem, v, "rows", failed),
	};
	for (int s = SEV_NOTE; severity && s <= SEV_ERROR; s++)
		if (!strcmp(severity, severity_word((enum severity)s))) {
			f->severity = (enum severity)s;
			return json_str(json_get(v, "code")) != NULL;
		}
	return false;
}

static enum tb_status
read_findings(struct report_file *r, const cJSON *list, const char *path, struct tb_err *err)
{
	struct db_findings *out = &r->findings;
	bool failed = false;

	out->rows = tb_arena_get(&out->mem, (json_count(list) + 1) * sizeof(*out->rows));
	if (!out->rows)
		return tb_nomem(err);
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!read_finding(&out->mem, v, &out->rows[out->n], &failed))
			return tb_fail(err, TB_EFORMAT, "%s: finding %zu is none", path, out->n);
		out->n++;
	}
	out->total = out->n;
	return failed ? tb_nomem(err) : TB_OK;
}

/* As we write it, or "": who shows it cuts it where that is known to be possible. */
static const char *
read_digest(struct tb_arena *mem, const cJSON *v, bool *failed)
{
	const char *s = json_str(json_get(v, "digest"));
	char digest[TB_DIGEST_MAX];

	if (!s || !digest_parse(s, digest))
		return "";
	s = tb_arena_str(mem, digest);
	*failed |= !s;
	return s;
}

static bool
read_model_json(struct tb_arena *mem, const cJSON *v, struct db_run_model *m, bool *failed)
{
	const char *state = json_str(json_get(v, "state"));

	*m = (struct db_run_model){
		.name = read_text(mem, v, "name", failed), .path = read_text(mem, v, "path", failed),
		.digest = read_digest(mem, v, failed), .kind = "",
	};
	if (!json_u64(json_get(v, "bytes"), &m->bytes))
		m->bytes = 0;
	for (int s = 0; state && s < DB_STATE_COUNT; s++)
		if (!strcmp(state, db_state_word((enum db_state)s))) {
			m->state = (enum db_state)s;
			return json_str(json_get(v, "path")) != NULL;
		}
	return false;
}

static enum tb_status
read_models(struct report_file *r, const cJSON *list, const char *path, struct tb_err *err)
{
	struct db_run_models *out = &r->models;
	bool failed = false;

	out->rows = tb_arena_get(&out->mem, (json_count(list) + 1) * sizeof(*out->rows));
	if (!out->rows)
		return tb_nomem(err);
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!read_model_json(&out->mem, v, &out->rows[out->n], &failed))
			return tb_fail(err, TB_EFORMAT, "%s: model %zu is none", path, out->n);
		out->n++;
	}
	out->total = out->n;
	return failed ? tb_nomem(err) : TB_OK;
}

/* The strings of a list, or of one member of its objects (`key`). */
static enum tb_status
read_strings(struct report_file *r, const cJSON *list, const char *key, const char ***out,
	     size_t *n, struct tb_err *err)
{
	size_t cap = 0;

	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		const char *s = json_str(key ? json_get(v, key) : v);

		if (s && (!tb_grow(out, &cap, *n + 1, sizeof(**out)) ||
			  !((*out)[(*n)++] = tb_arena_str(&r->findings.mem, s))))
			return tb_nomem(err);
	}
	return TB_OK;
}

/* Is it a report, and one that we understand? */
static enum tb_status
check_kind(const cJSON *doc, const char *path, struct tb_err *err)
{
	uint64_t version;

	if (!json_is_array(json_get(doc, "findings")) || !json_is_object(json_get(doc, "checked")))
		return tb_fail(err, TB_EFORMAT, "%s: not a verify report in JSON", path);
	if (json_u64(json_get(doc, "version"), &version) && version > REPORT_VERSION)
		return tb_fail(err, TB_EUNSUP, "%s: a report of version %ju; this program reads %d and "
			       "older ones", path, (uintmax_t)version, REPORT_VERSION);
	return TB_OK;
}

enum tb_status
report_read(struct report_file *r, const char *path, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_read(&doc, path, FILE_MAX, err);

	*r = (struct report_file){ 0 };
	if (!status)
		status = check_kind(doc, path, err);
	if (!status)
		status = read_findings(r, json_get(doc, "findings"), path, err);
	if (!status)
		status = read_models(r, json_get(doc, "models"), path, err);
	if (!status)
		status = read_strings(r, json_get(doc, "scope"), NULL, &r->refs, &r->nrefs, err);
	if (!status)
		status = read_strings(r, json_get(doc, "roots"), "path", &r->roots, &r->nroots, err);
	if (!status && !json_bool(json_get(doc, "deep"), &r->deep))
		r->deep = false;
	json_free(doc);
	if (status)
		report_file_free(r);
	return status;
}

void
report_file_free(struct report_file *r)
{
	free(r->refs);
	free(r->roots);
	tb_arena_free(&r->findings.mem);
	tb_arena_free(&r->models.mem);
	*r = (struct report_file){ 0 };
}
