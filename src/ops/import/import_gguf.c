#include "config.h"

#include "src/ops/import/import_gguf.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/metadata/metadata.h"
#include "src/ops/output/output.h"
#include "src/store/model_meta.h"

#define WINDOW (1u << 20)

/* As Ollama writes it for GGUF files, the newline behind it included. */
static enum tb_status
add_config(const struct model *m, const struct gguf *g, struct ollama_writer *w,
	   struct tb_err *err)
{
	cJSON *doc = json_object(), *families = json_array();
	const char *type = NULL;
	char count[16], *text, *line;
	uint64_t n;
	enum tb_status status;

	if (gguf_u64(gguf_find(g, "general.file_type"), &n))
		type = metadata_file_type(n);
	json_push_str(families, m->arch);
	json_set_str(doc, "model_format", "gguf");
	json_set_str(doc, "model_family", m->arch);
	json_set(doc, "model_families", families);
	json_set_str(doc, "model_type", tb_human_count(m->params, count));
	json_set_str(doc, "file_type", type ? type : m->scheme);
	json_set_str(doc, "architecture", "amd64");
	json_set_str(doc, "os", "linux");
	text = json_print(doc);
	json_free(doc);
	line = text ? tb_asprintf("%s\n", text) : NULL;
	free(text);
	if (!line)
		return tb_nomem(err);
	status = ollama_add_bytes(w, MEDIA_CONFIG, NULL, line, strlen(line), err);
	free(line);
	return status;
}

static enum tb_status
copy(const struct tb_file *f, struct tb_out *out, struct tb_sha256 *sha, struct tb_job *job,
     struct tb_err *err)
{
	char *buf = malloc(WINDOW);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	for (uint64_t at = 0; at < f->id.size && !status; ) {
		size_t n = f->id.size - at < WINDOW ? (size_t)(f->id.size - at) : WINDOW;

		if ((status = tb_job_check(job, err)) ||
		    (status = tb_file_read(f, at, buf, n, err)))
			break;
		tb_sha256_add(sha, buf, n);
		status = tb_out_write(out, buf, n, err);
		tb_job_step(job, n, 0);
		at += n;
	}
	free(buf);
	return status;
}

static enum tb_status
add_layer(const struct tb_file *f, struct ollama_writer *w, struct tb_job *job,
	  struct tb_err *err)
{
	struct tb_out out = { .fd = -1 };
	struct tb_sha256 sha;
	char digest[TB_DIGEST_MAX];
	enum tb_status status = tb_sha256_init(&sha, err);

	if (status)
		return status;
	if ((status = ollama_blob_open(w, &out, err)) ||
	    (status = copy(f, &out, &sha, job, err))) {
		tb_sha256_free(&sha);
		tb_out_abort(&out);
		return status;
	}
	tb_sha256_done(&sha, digest);
	tb_job_step(job, 0, 1);
	return ollama_add_blob(w, MEDIA_MODEL, NULL, &out, digest, f->id.size, err);
}

enum tb_status
import_gguf(const struct model *m, struct ollama_writer *w, struct tb_job *job,
	    struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status;

	if (m->nfiles != 1)
		return tb_fail(err, TB_EUNSUP, "%s: is split into %zu files, which Ollama has no "
			       "place for", m->loc.path, m->nfiles);
	if ((status = model_meta_open(&mm, m, err)))
		return status;
	tb_job_total(job, mm.file.id.size, 1);
	status = space_check(w->root, mm.file.id.size, err);
	if (!status && !(status = add_layer(&mm.file, w, job, err)))
		status = add_config(m, &mm.g, w, err);
	model_meta_close(&mm);
	return status;
}
