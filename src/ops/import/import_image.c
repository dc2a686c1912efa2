/* import_image.c - an image of a layout into a store: its blobs are a model's already, where their
 * types are Ollama's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/ops/import/import_plan.h"
#include "src/ops/output/output.h"
#include "src/store/ollama.h"

#define PIECE (1u << 20)

/* Hashed as it is copied: nothing wrong gets a name in a store. */
static enum tb_status
copy_blob(struct ollama_writer *w, const struct model_file *f, char *buf, struct tb_job *job,
	  struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct tb_sha256 sha = { 0 };
	struct tb_out out = { .fd = -1 };
	struct tb_file in;
	enum tb_status status = tb_file_open(&in, f->path, err);

	if (status)
		return status;
	status = tb_sha256_init(&sha, err);
	if (!status)
		status = ollama_blob_open(w, &out, err);
	for (uint64_t at = 0; at < in.id.size && !status;) {
		size_t n = in.id.size - at < PIECE ? (size_t)(in.id.size - at) : PIECE;

		status = tb_job_check(job, err);
		if (!status)
			status = tb_file_read(&in, at, buf, n, err);
		if (!status)
			status = tb_out_write(&out, buf, n, err);
		if (!status)
			tb_sha256_add(&sha, buf, n);
		at += n;
		tb_job_step(job, n, 0);
	}
	if (!status) {
		tb_sha256_done(&sha, digest);
		if (strcmp(digest, f->digest) != 0)
			status = tb_fail(err, TB_EFORMAT, "%s: is damaged: its SHA-256 is %.19s…; \"tbtui"
					 " verify\" says more", f->path, digest);
	}
	tb_sha256_free(&sha);
	if (!status)
		status = ollama_add_blob(w, f->media, f->name, &out, f->digest, in.id.size, err);
	tb_out_abort(&out);
	tb_file_close(&in);
	tb_job_step(job, 0, 1);
	return status;
}

enum tb_status
import_image(const struct model *m, struct ollama_writer *w, struct tb_job *job, struct tb_err *err)
{
	char *buf;
	bool config = false;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->nfiles && !status; i++) {
		const struct model_file *f = &m->files[i];

		config |= f->media == MEDIA_CONFIG && !f->is_manifest;
		if (!f->is_manifest && f->media == MEDIA_UNKNOWN)
			status = tb_fail(err, TB_EUNSUP, "%s: has a layer of type %.100s, which is none of "
					 "Ollama's", m->loc.name, f->media_type ? f->media_type : "?");
	}
	if (!status && !config)
		status = tb_fail(err, TB_EUNSUP, "%s: has no config of Ollama's", m->loc.name);
	if (status)
		return status;
	if (!(buf = malloc(PIECE)))
		return tb_nomem(err);
	tb_job_total(job, m->bytes, m->nfiles);
	for (size_t i = 0; i < m->nfiles && !status; i++)
		if (!m->files[i].is_manifest)
			status = copy_blob(w, &m->files[i], buf, job, err);
	free(buf);
	return status;
}
