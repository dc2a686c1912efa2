/* verify_kept.c - what a run keeps of what it saw: how each model stands, which files it
 * was made of, what else lies in the stores. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/journal.h"

#define MANIFEST_BYTES (64u << 20)

enum tb_status
verify_hash_manifest(struct verify_model *m, struct tb_err *err)
{
	const struct verify_file *f = m->files;
	size_t len;
	char *text;
	enum tb_status status;

	if (!m->nfiles || !f->manifest)
		return TB_OK;
	if (*f->digest) {	/* its bytes are hashed with those of all blobs */
		memcpy(m->manifest, f->digest, sizeof(m->manifest));
		return TB_OK;
	}
	status = tb_file_slurp(f->path, MANIFEST_BYTES, &text, &len, err);
	if (status)		/* gone meanwhile: nobody knows it */
		return status == TB_ENOMEM ? status : TB_OK;
	status = tb_sha256_bytes(text, len, m->manifest, err);
	free(text);
	return status;
}

/* ---- stores ---- */

/* What lies in a store's quarantine; what cannot be read there is left out. */
static enum tb_status
count_held(struct db_run_root *root, struct tb_err *err)
{
	uint64_t *numbers = NULL;
	size_t n = 0;
	enum tb_status status = journal_list(root->path, &numbers, &n, err);

	for (size_t i = 0; i < n && status != TB_ENOMEM; i++) {
		struct journal j;
		uint64_t things = 0, bytes = 0;

		status = journal_look(&j, root->path, numbers[i], err);
		if (status)
			continue;
		status = journal_held(&j, &things, &bytes, err);
		root->held += status ? 0 : things;
		root->held_bytes += status ? 0 : bytes;
		journal_free(&j);
	}
	free(numbers);
	return status == TB_ENOMEM ? status : TB_OK;
}

static bool
make_roots(struct verify_run *r)
{
	const struct store_roots *roots = &r->ctx->roots;

	if (!r->roots)
		r->roots = tb_calloc(roots->n + 1, sizeof(*r->roots));
	for (size_t i = 0; r->roots && i < roots->n; i++) {
		r->roots[i].path = roots->path[i];
		r->roots[i].away = store_root_away(roots, i);
	}
	return r->roots;
}

enum tb_status
verify_count_unused(struct verify_run *r, const struct blobdir_entry *e, bool orphan,
		    struct tb_err *err)
{
	struct db_run_root *at = NULL;
	size_t longest = 0;

	if (!make_roots(r))
		return tb_nomem(err);
	for (size_t i = 0; i < r->ctx->roots.n; i++) {
		size_t n = strlen(r->roots[i].path);

		if (n >= longest && tb_path_inside(e->path, r->roots[i].path, n)) {
			at = &r->roots[i];
			longest = n;
		}
	}
	if (at) {
		*(orphan ? &at->orphans : &at->rest) += 1;
		*(orphan ? &at->orphan_bytes : &at->rest_bytes) += e->id.size;
	}
	return TB_OK;
}

/* ---- models ---- */

static enum run_file_state
file_state(const struct verify_file *f)
{
	const struct verify_target *t = f->target;

	if (f->missing)
		return RUN_FILE_MISSING;
	if (f->manifest && !*f->digest)
		return RUN_FILE_RECORDED;
	if (!t || !*t->found)
		return RUN_FILE_UNREAD;
	return t->equal ? RUN_FILE_HASHED : t->bad ? RUN_FILE_DAMAGED : RUN_FILE_RECORDED;
}

/* The file's path as it is in the model's folder, or in the store that the model is in. */
static const char *
path_inside(const struct verify_model *m, const struct verify_file *f)
{
	const char *store = m->loc.path;
	size_t n = strlen(store);

	if (kind_is_folder(m->loc.kind) && tb_path_inside(f->path, store, n) && f->path[n])
		return f->path + n + 1;
	if (kind_has_manifest(m->loc.kind) && store_of_model(&m->loc, &store, &n) &&
	    tb_path_inside(f->path, store, n) && f->path[n])
		return f->path + n + 1;
	return tb_path_name(f->path);
}

static int
by_file_path(const void *a, const void *b)
{
	const struct db_run_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* What `sha256sum FILE... | LC_ALL=C sort -k2 | sha256sum` says of those files. */
static enum tb_status
hash_list(const struct db_run_file *files, size_t n, char digest[TB_DIGEST_MAX],
	  struct tb_err *err)
{
	struct tb_buf text = TB_BUF(256u << 20);
	enum tb_status status;

	for (size_t i = 0; i < n; i++) {
		const char *s = files[i].path;
		bool odd = strpbrk(s, "\\\n\r");

		tb_buf_printf(&text, "%s%s  ", odd ? "\\" : "", files[i].digest + 7);
		for (; *s; s++)
			if (*s == '\\' || *s == '\n' || *s == '\r')
				tb_buf_str(&text, *s == '\\' ? "\\\\" : *s == '\n' ? "\\n" : "\\r");
			else
				tb_buf_chr(&text, *s);
		tb_buf_chr(&text, '\n');
	}
	status = tb_buf_status(&text, "the list of a model's files", err);
	if (!status)
		status = tb_sha256_bytes(tb_buf_cstr(&text), text.len, digest, err);
	tb_buf_free(&text);
	return status;
}

/* The digest of a model; "" where a file of it was not read. */
static enum tb_status
hash_model(const struct verify_model *m, const struct db_run_file *files, size_t n,
	   char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	*digest = 0;
	if (kind_has_manifest(m->loc.kind)) {
		memcpy(digest, m->manifest, sizeof(m->manifest));
		return TB_OK;
	}
	for (size_t i = 0; i < n; i++)
		if (!*files[i].digest)
			return TB_OK;
	if (n == 1 && !kind_is_folder(m->loc.kind)) {
		memcpy(digest, files->digest, TB_DIGEST_MAX);
		return TB_OK;
	}
	return n ? hash_list(files, n, digest, err) : TB_OK;
}

/* Its files: as the manifest has them, else by path. */
static enum tb_status
list_files(const struct verify_model *m, struct db_run_file **out, struct tb_err *err)
{
	struct db_run_file *v = tb_calloc(m->nfiles + 1, sizeof(*v));

	*out = v;
	if (!v)
		return tb_nomem(err);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct verify_file *f = &m->files[i];

		v[i] = (struct db_run_file){
			.state = file_state(f), .path = path_inside(m, f), .bytes = f->id.size,
			.digest = f->target ? f->target->found
				: f->manifest && !*f->digest ? m->manifest : "",
		};
	}
	if (m->nfiles && !kind_has_manifest(m->loc.kind))
		qsort(v, m->nfiles, sizeof(*v), by_file_path);
	return TB_OK;
}

static enum tb_status
keep_model(struct verify_run *r, const struct verify_model *m, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct db_verified v = {
		.run = r->out->run, .when_ns = tb_now_ns(), .name = m->loc.name,
		.stamp = m->stamp, .errors = m->errors, .state = verify_model_state(m),
		.kind = kind_name(m->loc.kind), .digest = digest, .bytes = m->bytes,
		.files = m->nfiles,
	};
	struct db_run_file *files;
	enum tb_status status = list_files(m, &files, err);

	if (!status)
		status = hash_model(m, files, m->nfiles, digest, err);
	if (!status)
		status = db_run_files_put(r->db, files, m->nfiles, &v.list, err);
	if (!status)
		status = db_verified_model(r->db, m->loc.path, &v, err);
	free(files);
	return status;
}

enum tb_status
verify_keep(struct verify_run *r, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < r->ntargets; i++)
		for (size_t k = 0; k < r->targets[i].nuses; k++) {
			struct verify_use u = r->targets[i].uses[k];

			r->models[u.model].equal += r->targets[i].equal;
			r->models[u.model].files[u.file].target = &r->targets[i];
		}
	if (!r->req->nrefs && !make_roots(r))
		return tb_nomem(err);
	for (size_t i = 0; !status && r->roots && i < r->ctx->roots.n; i++)
		status = count_held(&r->roots[i], err);
	if (!status)
		status = db_begin(r->db, err);
	if (status)
		return status;
	for (size_t i = 0; !status && i < r->nmodels; i++)
		if (kind_is_model(r->models[i].loc.kind) && !r->models[i].gone)
			status = keep_model(r, &r->models[i], err);
	for (size_t i = 0; !status && r->roots && i < r->ctx->roots.n; i++)
		status = db_run_root_put(r->db, r->out->run, &r->roots[i], err);
	return db_end(r->db, status, err);
}
