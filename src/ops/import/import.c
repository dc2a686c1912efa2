#include "config.h"

#include "src/ops/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/model/values.h"
#include "src/ops/home/home.h"
#include "src/ops/import/import_plan.h"
#include "src/ops/output/output.h"
#include "src/store/ollama.h"

#define WINDOW (1u << 20)
#define JSON_MAX (256u << 20)	/* bytes of a tokenizer.json */

struct import {
	const struct model *m;
	struct import_plan plan;
	struct values_files *files;
	struct ollama_writer *parts;	/* one a blob: made in any order, listed in order */
	const struct ollama_amend *amend;
	const char *root;
	size_t nimage;			/* blobs of an image */
	struct tb_job *job;
};

/* One blob while it is written. */
struct stream {
	struct tb_out out;
	struct tb_sha256 sha;
	uint64_t size;
};

static enum tb_status
put(struct stream *s, const void *data, size_t len, struct tb_err *err)
{
	enum tb_status status = tb_out_write(&s->out, data, len, err);

	tb_sha256_add(&s->sha, data, len);
	s->size += len;
	return status;
}

static enum tb_status
import_put_header(struct import *im, const struct import_blob *b, struct stream *s,
		  struct tb_err *err)
{
	char group[16];
	struct st_meta meta[] = { { "quant_type", scheme_quant_type(&b->scheme) },
				  { "group_size", group } };
	bool quantized = !scheme_is_plain(&b->scheme);
	struct tb_buf header = TB_BUF(ST_HEADER_MAX + 8u);
	enum tb_status status;

	snprintf(group, sizeof(group), "%u", b->scheme.group);
	status = st_layout(im->plan.tensors + b->tensor, b->ntensors, meta, quantized ? 2 : 0,
			   &header, err);
	if (!status)
		status = put(s, header.p, header.len, err);
	tb_buf_free(&header);
	return status;
}

/* Scales that multiply, from those that divide. */
static enum tb_status
invert(const struct tensor *t, char *buf, struct tb_err *err)
{
	uint32_t n = (uint32_t)(t->global.len / sizeof(float));
	enum tb_status status = TB_OK;
	float v;

	if (t->global.dtype != DT_F32)
		return tb_fail(err, TB_EUNSUP, "tensor %.200s: its global scale is %s, not F32",
			       t->name, dtype_name(t->global.dtype));
	for (uint32_t i = 0; i < n && !status; i++) {
		status = values_global(t, buf, i, n, &v, err);
		memcpy(buf + i * sizeof(v), &v, sizeof(v));
	}
	return status;
}

static enum tb_status
copy_piece(struct import *im, const struct import_piece *p, char *buf, struct stream *s,
	   struct tb_err *err)
{
	const struct tensor_part *part = p->part;
	enum tb_status status = TB_OK;

	if (p->inverse && part->len > WINDOW)
		return tb_fail(err, TB_EFORMAT, "tensor %.200s: global scale of %ju bytes",
			       p->inverse->name, (uintmax_t)part->len);
	for (uint64_t at = 0; at < part->len && !status; ) {
		size_t n = part->len - at < WINDOW ? (size_t)(part->len - at) : WINDOW;

		status = tb_job_check(im->job, err);
		if (!status)
			status = values_files_read(im->files, part, at, buf, n, err);
		if (!status && p->inverse)
			status = invert(p->inverse, buf, err);
		if (!status)
			status = put(s, buf, n, err);
		tb_job_step(im->job, n, 0);
		at += n;
	}
	return status;
}

/* A file that is a blob of the store already is named once more. */
static bool
is_there(const struct import *im, const struct import_blob *b, struct ollama_writer *w)
{
	const struct model_file *f = &im->m->files[0];
	char *path = b->ntensors ? NULL : ollama_blob_path(im->root, tb_path_name(f->path));
	bool there = path && tb_same_place(path, f->path) &&
		     !ollama_add_there(w, b->media, NULL, tb_path_name(f->path), f->id.size, NULL);

	free(path);
	return there;
}

static enum tb_status
write_blob(struct import *im, size_t index, char *buf, struct tb_err *err)
{
	const struct import_blob *b = &im->plan.blobs[index];
	struct ollama_writer *w = &im->parts[index];
	enum tb_status status = ollama_part_init(w, im->root, err);
	char digest[TB_DIGEST_MAX];
	struct stream s = { .out.fd = -1 };

	if (!status && is_there(im, b, w)) {
		tb_job_step(im->job, b->bytes, 1);
		return TB_OK;
	}
	if (!status)
		status = ollama_blob_open(w, &s.out, err);
	if (!status)
		status = tb_sha256_init(&s.sha, err);
	if (!status && b->ntensors)
		status = import_put_header(im, b, &s, err);
	for (size_t i = 0; i < b->npieces && !status; i++)
		status = copy_piece(im, &im->plan.pieces[b->piece + i], buf, &s, err);
	if (status) {
		tb_sha256_free(&s.sha);
		tb_out_abort(&s.out);
		return status;
	}
	tb_sha256_done(&s.sha, digest);
	tb_job_step(im->job, 0, 1);
	return ollama_add_blob(w, b->media, b->ntensors ? b->name : NULL, &s.out, digest, s.size, err);
}

static enum tb_status
import_part(void *arg, size_t index, unsigned worker, struct tb_err *err)
{
	struct import *im = arg;
	char *buf = malloc(WINDOW);
	enum tb_status status;

	(void)worker;
	tb_job_what(im->job, "%s", im->plan.blobs[index].name);
	status = buf ? write_blob(im, index, buf, err) : tb_nomem(err);
	free(buf);
	return status;
}

static enum tb_status
write_blobs(struct import *im, struct tb_pool *pool, struct ollama_writer *w, struct tb_err *err)
{
	size_t n = im->plan.nblobs;
	enum tb_status status = values_files_open(&im->files, im->m, err);

	im->parts = tb_calloc(n, sizeof(*im->parts));
	if (!status && !im->parts)
		status = tb_nomem(err);
	if (!status) {
		tb_job_total(im->job, im->plan.bytes, n);
		status = tb_pool_try(pool, n, import_part, im, im->job, err);
	}
	for (size_t i = 0; i < n && im->parts; i++) {	/* also to be taken back */
		struct tb_err late;

		if (ollama_merge(w, &im->parts[i], &late) && !status)
			status = tb_nomem(err);
	}
	values_files_close(im->files);
	free(im->parts);
	return status;
}

/* Every JSON file of the folder but the index, which speaks of shards that are no
 * more; and the chat template, which newer models keep beside them. */
static enum tb_status
add_json(const struct model *m, struct ollama_writer *w, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->nfiles && !status; i++) {
		const struct model_file *f = &m->files[i];
		char *text = NULL;
		size_t len;

		if (!kind_is_folder(m->loc.kind) || f->missing ||
		    tb_ends(f->name, ".safetensors.index.json") ||
		    (!tb_ends(f->name, ".json") && strcmp(f->name, "chat_template.jinja") != 0))
			continue;
		status = tb_file_slurp(f->path, JSON_MAX, &text, &len, err);
		if (!status)
			status = ollama_add_bytes(w, MEDIA_JSON, f->name, text, len, err);
		free(text);
	}
	return status;
}

/* The type most of the source has, if it has a word for it. */
static const char *
quant_type(const struct import_plan *p)
{
	const struct import_blob *most = NULL;

	for (size_t i = 0; i < p->nblobs; i++)
		if (!scheme_is_plain(&p->blobs[i].scheme) &&
		    (!most || p->blobs[i].bytes > most->bytes))
			most = &p->blobs[i];
	return most ? scheme_quant_type(&most->scheme) : NULL;
}

static enum tb_status
write_model(struct import *im, struct tb_pool *pool, struct ollama_writer *w,
	    const struct model_name *name, bool replace, struct tb_err *err)
{
	enum tb_status status = model_has_keys(im->m) ? import_plan_file(&im->plan, im->m, err)
						      : import_plan(&im->plan, im->m, err);
	char *config = NULL;

	if (!status)
		status = space_check(im->root, im->plan.bytes, err);
	if (!status)	/* first: a blob that is named once more is touched, and looks changed */
		status = import_config(im->m, quant_type(&im->plan), &config, err);
	if (!status)
		status = write_blobs(im, pool, w, err);
	if (!status)
		status = add_json(im->m, w, err);
	if (!status && im->amend)
		status = im->amend->fn(im->amend->arg, w, &config, err);
	if (!status)
		status = ollama_add_bytes(w, MEDIA_CONFIG, NULL, config, strlen(config), err);
	free(config);
	if (!status)
		status = tb_job_check(im->job, err);
	return status ? status : ollama_commit(w, name, replace, err);
}

/* What was an image's is a model's again: the same blobs. */
static enum tb_status
write_image(struct import *im, struct ollama_writer *w, const struct model_name *name,
	    bool replace, struct tb_err *err)
{
	enum tb_status status = space_check(im->root, im->m->bytes, err);

	if (!status)
		status = import_image(im->m, w, im->job, err);
	if (!status)
		status = tb_job_check(im->job, err);
	im->plan.bytes = im->m->bytes;
	im->nimage = im->m->nfiles - 1;
	return status ? status : ollama_commit(w, name, replace, err);
}

static enum tb_status
open_source(const char *path, struct model **out, struct tb_err *err)
{
	struct store_roots none = { 0 };
	char name[SCHEME_NAME_MAX];
	struct model_loc loc;
	enum tb_status status = tb_exists(path) || tb_starts(path, "oci:")
		? store_resolve(&none, path, &loc, err)
		: tb_fail(err, TB_ENOENT, "%s: no such file or folder", path);

	if (status)
		return status;
	if (kind_has_manifest(loc.kind) && kind_store(loc.kind) != &store_oci)
		status = tb_fail(err, TB_EUNSUP, "%s: is %s; safetensors and GGUF files can be "
				 "imported", path, kind_name(loc.kind));
	else
		status = model_open(out, &loc, err);
	model_loc_free(&loc);
	if (!status && (*out)->nproblems)
		status = tb_fail(err, TB_EFORMAT, "%s", (*out)->problems[0].message);
	else if (!status && !(*out)->ntensors)
		status = tb_fail(err, TB_EFORMAT, "%s: has no tensors", path);
	else if (!status && model_foreign(*out))
		status = tb_fail(err, TB_EUNSUP, "%s: %.200s is %s, which Ollama does not read", path,
				 model_foreign(*out)->name,
				 scheme_name(&model_foreign(*out)->scheme, name));
	return status;
}

static enum tb_status
import_run(struct import *im, const struct op_ctx *ctx, const struct model_name *name,
	   bool replace, struct kept *kept, struct tb_err *err)
{
	struct ollama_writer w = { 0 };
	enum tb_status status = TB_OK;
	char *taken = NULL, shown[640];

	if (!replace)
		status = ollama_find_manifest(im->root, name, &taken, err);
	if (taken)	/* known before a byte is copied; the commit looks again */
		status = tb_fail(err, TB_EEXIST, "%s: exists already", name_format(name, shown));
	free(taken);
	if (status)
		return status;
	status = ollama_writer_init(&w, im->root, err);
	if (!status && kind_has_manifest(im->m->loc.kind))
		status = write_image(im, &w, name, replace, err);
	else if (!status)
		status = write_model(im, ctx->pool, &w, name, replace, err);
	if (tb_written(status))
		keep_manifest(kept, &w);
	else if (status == TB_EEXIST)
		tb_fail(err, status, "%s: exists already (made meanwhile); name another, or replace "
			"it", name_format(name, shown));
	ollama_writer_free(&w);
	return status;
}

enum tb_status
op_import(const struct op_ctx *ctx, const struct import_request *req, struct tb_job *job,
	  struct import_result *out, struct tb_err *err)
{
	struct import im = { .job = job };
	double start = tb_monotonic();
	struct model *m = NULL;
	struct model_name name;
	enum tb_status status;
	char shown[640];

	*out = (struct import_result){ 0 };
	status = name_parse(req->name, &name, err);
	if (!status)
		status = store_destination(&ctx->roots, &out->root, err);
	if (!status)
		status = open_source(req->path, &m, err);
	/* The name now: behind the commit nothing else may fail. */
	if (!status && !(out->name = tb_strdup(name_format(&name, shown))))
		status = tb_nomem(err);
	if (!status) {
		im.m = m;
		im.root = out->root;
		im.amend = req->amend;
		status = import_run(&im, ctx, &name, req->replace, &out->kept, err);
	}
	if (tb_written(status)) {
		out->tensors = m->ntensors;
		out->blobs = im.nimage ? im.nimage : im.plan.nblobs;
		out->bytes = im.plan.bytes;
		out->seconds = tb_monotonic() - start;
	} else {
		import_result_free(out);
	}
	import_plan_free(&im.plan);
	model_free(m);
	return status;
}

void
import_result_free(struct import_result *r)
{
	free(r->name);
	free(r->root);
	kept_free(&r->kept);
	*r = (struct import_result){ 0 };
}
