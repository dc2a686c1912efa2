/* bom.c - the document: its head, a component for each model, its files in it. */
#include "config.h"

#include "src/ops/bom/bom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/bom/bom_parts.h"
#include "src/store/store.h"

struct bom {
	struct op_ctx *ctx;
	struct db *db;
	report_put_fn *put;
	void *arg;
	size_t n;			/* components that were put */
	struct tb_err *err;
};

/* Puts a document, which goes with that, between two texts; `open`: without its last brace. */
static enum tb_status
put_json(struct bom *b, const char *before, cJSON *doc, bool open)
{
	char *text = json_print(doc);
	enum tb_status status = text ? b->put(b->arg, before, strlen(before), b->err)
				     : tb_nomem(b->err);

	json_free(doc);
	if (!status)
		status = b->put(b->arg, text, strlen(text) - open, b->err);
	free(text);
	return status;
}

static enum tb_status
put_text(struct bom *b, const char *text)
{
	return b->put(b->arg, text, strlen(text), b->err);
}

/* ---- head ---- */

/* A UUID of random bits (RFC 9562, version 4). */
static enum tb_status
serial_number(char out[64], struct tb_err *err)
{
	unsigned char r[16];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return tb_fail_errno(err, "no random number for the document's serial number");
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	snprintf(out, 64, "urn:uuid:%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13],
		 r[14], r[15]);
	return TB_OK;
}

static cJSON *
metadata_json(int64_t run)
{
	cJSON *o = json_object(), *tools = json_object(), *list = json_array(), *tool = json_object();
	cJSON *properties = json_array();
	char time[32];

	json_set_str(o, "timestamp", tb_time_rfc3339(tb_now_ns(), time));
	json_set_str(tool, "type", "application");
	json_set_str(tool, "name", PACKAGE_NAME);
	json_set_str(tool, "version", PACKAGE_VERSION);
	json_push(list, tool);
	json_set(tools, "components", list);
	json_set(o, "tools", tools);
	if (run)
		bom_property_u64(properties, "run", (uint64_t)run);
	if (json_count(properties))
		json_set(o, "properties", properties);
	else
		json_free(properties);
	return o;
}

static enum tb_status
put_head(struct bom *b, int64_t run)
{
	cJSON *o;
	char serial[64];
	enum tb_status status = serial_number(serial, b->err);

	if (status)
		return status;
	o = json_object();
	json_set_str(o, "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
	json_set_str(o, "bomFormat", "CycloneDX");
	json_set_str(o, "specVersion", "1.6");
	json_set_str(o, "serialNumber", serial);
	json_set_u64(o, "version", 1);
	json_set(o, "metadata", metadata_json(run));
	status = put_json(b, "", o, true);
	return status ? status : put_text(b, ",\"components\":[\n");
}

/* ---- components ---- */

static void
set_hash(cJSON *component, const char *digest)
{
	cJSON *list, *o;

	if (!*digest)
		return;
	list = json_array();
	o = json_object();
	json_set_str(o, "alg", "SHA-256");
	json_set_str(o, "content", digest + strlen("sha256:"));
	json_push(list, o);
	json_set(component, "hashes", list);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct db_run_file *)a)->path, ((const struct db_run_file *)b)->path);
}

static cJSON *
file_json(const struct db_run_file *f)
{
	cJSON *o = json_object(), *properties = json_array();

	json_set_str(o, "type", "file");
	json_set_str(o, "name", f->path);
	set_hash(o, f->digest);
	bom_property_u64(properties, "bytes", f->bytes);
	bom_property(properties, "state", run_file_word(f->state));
	json_set(o, "properties", properties);
	return o;
}

/* Its files, each once, whoever names it twice. */
static enum tb_status
put_files(struct bom *b, const struct db_run_model *m)
{
	struct db_run_files files;
	const char *before = ",\"components\":[\n";
	enum tb_status status = db_run_files(b->db, m->list, &files, b->err);

	if (!status && files.n)
		qsort(files.rows, files.n, sizeof(*files.rows), by_path);
	for (size_t i = 0; !status && i < files.n; i++) {
		if (i && !by_path(&files.rows[i], &files.rows[i - 1]))
			continue;
		status = put_json(b, before, file_json(&files.rows[i]), false);
		before = ",\n";
	}
	if (!status && files.n)
		status = put_text(b, "]");
	tb_arena_free(&files.mem);
	return status;
}

/* "qwen3:8b" is version 8b of qwen3, as its store has it; other names have no version. */
static void
set_name(cJSON *o, const struct db_run_model *m)
{
	const char *colon = tb_starts(m->kind, "ollama") ? strrchr(m->name, ':') : NULL;
	char *name = colon && !strchr(colon, '/') && colon[1]
		   ? tb_strndup(m->name, (size_t)(colon - m->name)) : NULL;

	json_set_str(o, "name", name ? name : m->name);
	if (name)
		json_set_str(o, "version", colon + 1);
	free(name);
}

static enum tb_status
verified_when(struct bom *b, const struct db_run_model *m, char time[32])
{
	struct db_runs runs;
	enum tb_status status = db_run_by_id(b->db, m->run, &runs, b->err);

	*time = 0;
	if (!status && runs.n)
		tb_time_rfc3339(runs.rows->started_ns, time);
	tb_arena_free(&runs.mem);
	return status;
}

/* What its files say, as far as they can be read. */
static enum tb_status
describe(struct bom *b, const struct db_run_model *m, cJSON *o, cJSON *properties)
{
	struct model_loc loc = { 0 };
	struct model *model = NULL;
	struct tb_err why;
	enum tb_status status = store_resolve(&b->ctx->roots, m->path, &loc, &why);

	if (!status)
		status = model_open(&model, &loc, &why);
	model_loc_free(&loc);
	if (status == TB_ENOMEM)
		return tb_pass(b->err, &why);
	if (status) {
		bom_property(properties, "problem", why.msg);
		return TB_OK;
	}
	status = bom_card(model, o, properties, &why);
	if (!status)
		status = bom_licences(model, o, &why);
	model_free(model);
	if (status == TB_ENOMEM)
		return tb_pass(b->err, &why);
	if (status)			/* it is there, and nobody knows what it says */
		bom_property(properties, "problem", why.msg);
	return TB_OK;
}

static enum tb_status
put_model(struct bom *b, const struct db_run_model *m)
{
	cJSON *o = json_object(), *properties = json_array();
	char ref[32], time[32];
	enum tb_status status;

	snprintf(ref, sizeof(ref), "model-%zu", b->n + 1);
	json_set_str(o, "type", "machine-learning-model");
	json_set_str(o, "bom-ref", ref);
	set_name(o, m);
	set_hash(o, m->digest);
	bom_property(properties, "kind", m->kind);
	bom_property(properties, "path", m->path);
	bom_property_u64(properties, "bytes", m->bytes);
	bom_property(properties, "state", db_state_word(m->state));
	status = verified_when(b, m, time);
	bom_property(properties, "verified", time);
	if (!status)
		status = describe(b, m, o, properties);
	json_set(o, "properties", properties);
	if (status) {
		json_free(o);
		return status;
	}
	status = put_json(b, b->n++ ? ",\n" : "", o, true);
	if (!status && m->list)
		status = put_files(b, m);
	return status ? status : put_text(b, "}");
}

/* The model that a person names, as it was last verified. */
static enum tb_status
put_ref(struct bom *b, const char *ref)
{
	struct model_loc loc = { 0 };
	struct db_run_models last = { 0 };
	enum tb_status status = store_resolve(&b->ctx->roots, ref, &loc, b->err);

	if (!status)
		status = db_run_model_last(b->db, loc.path, &last, b->err);
	if (!status && !last.n)
		status = tb_fail(b->err, TB_ENOENT, "%.200s was never verified, so that it has no digest: "
				 "\"tbtui verify %.200s\" first", ref, ref);
	if (!status)
		status = put_model(b, last.rows);
	tb_arena_free(&last.mem);
	model_loc_free(&loc);
	return status;
}

enum tb_status
op_bom(struct op_ctx *ctx, const struct bom_request *req, report_put_fn *put, void *arg,
       struct tb_job *job, struct tb_err *err)
{
	struct bom b = { .ctx = ctx, .put = put, .arg = arg, .err = err };
	struct report r = { 0 };
	enum tb_status status = db_open_read(&b.db, ctx->db_path, err);

	if (status)
		return status;
	if (!req->nrefs)
		status = report_load(&r, b.db, req->run, err);
	tb_job_total(job, 0, req->nrefs ? req->nrefs : r.models.n);
	if (!status)
		status = put_head(&b, req->nrefs ? 0 : r.runs.rows->id);
	for (size_t i = 0; !status && i < r.models.n; i++) {
		tb_job_step(job, 0, 1);
		status = tb_job_check(job, err);
		if (!status)
			status = put_model(&b, &r.models.rows[i]);
	}
	for (size_t i = 0; !status && i < req->nrefs; i++) {
		tb_job_step(job, 0, 1);
		status = tb_job_check(job, err);
		if (!status)
			status = put_ref(&b, req->refs[i]);
	}
	if (!status)
		status = put_text(&b, "\n]}\n");
	report_free(&r);
	db_close(b.db);
	return status;
}
