/* report_json.c - a report as JSON, for programs: doc/report.md and data/report.schema.json. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"

/* Adds a document, which goes with that; `open`: without the brace at its end. */
static void
put_json(struct tb_buf *out, cJSON *doc, bool open)
{
	char *text = json_print(doc);

	json_free(doc);
	if (text)
		tb_buf_add(out, text, strlen(text) - open);
	else
		out->failed = true;
	free(text);
}

static void
set_some(cJSON *o, const char *key, const char *s)
{
	json_set_str(o, key, s && *s ? s : NULL);
}

static cJSON *
scope_json(const char *scope)
{
	cJSON *a = json_array();
	struct tb_buf ref = TB_BUF(1u << 20);

	for (; *scope; scope += *scope == '\n') {
		size_t n = strcspn(scope, "\n");

		tb_buf_clear(&ref);
		tb_buf_add(&ref, scope, n);
		if (tb_buf_failed(&ref))
			json_push(a, NULL);	/* notes that it is not whole */
		else
			json_push_str(a, tb_buf_cstr(&ref));
		scope += n;
	}
	tb_buf_free(&ref);
	return a;
}

static cJSON *
states_json(const struct db_run_models *models)
{
	uint64_t n[DB_STATE_COUNT] = { 0 };
	cJSON *o = json_object();

	for (size_t i = 0; i < models->n; i++)
		n[models->rows[i].state]++;
	for (int s = 0; s < DB_STATE_COUNT; s++)
		if (n[s])
			json_set_u64(o, db_state_word((enum db_state)s), n[s]);
	return o;
}

static void
set_resumes(cJSON *to, const struct db_run *run)
{
	cJSON *o;

	if (!run->resumes) {
		json_set_str(to, "resumes", NULL);
		return;
	}
	o = json_object();
	json_set_i64(o, "run", run->resumes);
	json_set_u64(o, "files", run->resumed);
	json_set_u64(o, "bytes", run->resumed_bytes);
	json_set(to, "resumes", o);
}

static cJSON *
head_json(const struct report *r)
{
	const struct db_run *run = r->runs.rows;
	cJSON *o = json_object(), *checked = json_object();
	char time[32];

	json_set_str(o, "report", "tbtui verify");
	json_set_u64(o, "version", REPORT_VERSION);
	json_set_u64(checked, "models", run->models);
	json_set_u64(checked, "manifests", run->manifests);
	json_set_u64(checked, "blobs", run->blobs);
	json_set_u64(checked, "bytes", run->bytes);
	json_set(o, "checked", checked);
	json_set_bool(o, "clean", run_state_good(run->state));
	json_set_str(o, "state", run_state_word(run->state));
	json_set_i64(o, "run", run->id);
	json_set_str(o, "started", tb_time_rfc3339(run->started_ns, time));
	json_set_f64(o, "seconds", run->seconds);
	set_some(o, "program", run->program);
	json_set_bool(o, "deep", run->deep);
	json_set(o, "scope", scope_json(run->scope));
	set_some(o, "since", run->since_ns ? tb_time_rfc3339(run->since_ns, time) : NULL);
	set_resumes(o, run);
	set_some(o, "message", run->message);
	json_set_u64(o, "compared", run->compared);
	json_set_u64(o, "recorded", run->recorded);
	json_set_u64(o, "skipped", run->skipped);
	json_set_u64(o, "errors", run->errors);
	json_set_u64(o, "warnings", run->warnings);
	json_set_u64(o, "notes", run->notes);
	json_set(o, "states", states_json(&r->models));
	return o;
}

static cJSON *
root_json(const struct db_run_root *root)
{
	cJSON *o = json_object();

	json_set_str(o, "path", root->path);
	json_set_bool(o, "away", root->away);
	json_set_u64(o, "orphans", root->orphans);
	json_set_u64(o, "orphan_bytes", root->orphan_bytes);
	json_set_u64(o, "rest", root->rest);
	json_set_u64(o, "rest_bytes", root->rest_bytes);
	json_set_u64(o, "quarantined", root->held);
	json_set_u64(o, "quarantined_bytes", root->held_bytes);
	return o;
}

static cJSON *
finding_json(const struct db_finding *f)
{
	cJSON *o = json_object();

	json_set_str(o, "severity", severity_word(f->severity));
	json_set_str(o, "code", f->code);
	set_some(o, "model", f->model);
	set_some(o, "blob", f->blob);
	set_some(o, "tensor", f->tensor);
	if (f->has_offset)
		json_set_u64(o, "offset", f->offset);
	else
		json_set_str(o, "offset", NULL);
	set_some(o, "expected", f->expected);
	set_some(o, "actual", f->actual);
	set_some(o, "message", f->message);
	set_some(o, "model_path", f->model_path);
	if (f->has_bytes)
		json_set_u64(o, "bytes", f->bytes);
	else
		json_set_str(o, "bytes", NULL);
	set_some(o, "rows", f->rows);
	return o;
}

static cJSON *
model_json(const struct db_run_model *m)
{
	cJSON *o = json_object();

	json_set_str(o, "name", m->name);
	json_set_str(o, "path", m->path);
	json_set_str(o, "state", db_state_word(m->state));
	set_some(o, "kind", m->kind);
	set_some(o, "digest", m->digest);
	json_set_u64(o, "bytes", m->bytes);
	return o;
}

static cJSON *
file_json(const struct db_run_file *f)
{
	cJSON *o = json_object();

	json_set_str(o, "path", f->path);
	json_set_str(o, "state", run_file_word(f->state));
	json_set_u64(o, "bytes", f->bytes);
	set_some(o, "digest", f->digest);
	return o;
}

static void
put_model(struct report_out *o, const struct db_run_model *m)
{
	struct db_run_files files;

	put_json(&o->text, model_json(m), true);
	tb_buf_str(&o->text, ",\"files\":[");
	if (report_files(o, m, &files))
		for (size_t i = 0; i < files.n && report_more(o); i++) {
			tb_buf_str(&o->text, i ? ",\n" : "");
			put_json(&o->text, file_json(&files.rows[i]), false);
		}
	tb_arena_free(&files.mem);
	tb_buf_str(&o->text, "]}");
}

void
report_json(struct report_out *o)
{
	const struct report *r = o->r;

	put_json(&o->text, head_json(r), true);
	tb_buf_str(&o->text, ",\"roots\":[");
	for (size_t i = 0; i < r->roots.n && report_more(o); i++) {
		tb_buf_str(&o->text, i ? ",\n" : "");
		put_json(&o->text, root_json(&r->roots.rows[i]), false);
	}
	tb_buf_str(&o->text, "],\n\"findings\":[");
	for (size_t i = 0; i < r->findings.n && report_more(o); i++) {
		tb_buf_str(&o->text, i ? ",\n" : "");
		put_json(&o->text, finding_json(&r->findings.rows[i]), false);
	}
	tb_buf_str(&o->text, "],\n\"models\":[");
	for (size_t i = 0; i < r->models.n && report_more(o); i++) {
		tb_buf_str(&o->text, i ? ",\n" : "");
		put_model(o, &r->models.rows[i]);
	}
	tb_buf_str(&o->text, "],\n");
}
