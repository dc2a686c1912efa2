/* bundle_gather.c - the files of models, and what they are called where they go. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/format/manifest.h"
#include "src/format/tar.h"
#include "src/ops/bundle/bundle_parts.h"
#include "src/store/store.h"

static enum tb_status
add_source(struct gather *w, const char *file, char *path, uint64_t size, const char *digest,
	   struct tb_err *err)
{
	struct bundle_file s = { { path, size, "" }, tb_strdup(file) };

	if (!path || !s.file || !tb_grow(&w->sources, &w->cap, w->n + 1, sizeof(s))) {
		free(path);
		free(s.file);
		return tb_nomem(err);
	}
	if (strlen(path) >= TAR_PATH_MAX) {
		free(path);
		free(s.file);
		return tb_fail(err, TB_ELIMIT, "%s: its path is too long for a bundle", file);
	}
	snprintf(s.m.digest, sizeof(s.m.digest), "%s", digest);
	w->sources[w->n++] = s;
	return TB_OK;
}

/* Nobody says what is in it: its bytes do. */
static enum tb_status
file_digest(struct gather *w, const char *path, char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, path, err);

	if (status)
		return status;
	tb_job_what(w->job, "hashing %s", path);
	status = tb_sha256_file(&f, NULL, NULL, digest, err);
	tb_file_close(&f);
	return status ? status : tb_job_check(w->job, err);
}

/* A model's name as a folder that no other model of the bundle has. */
static char *
folder_name(const struct bundle *b, const char *name)
{
	const char *last = tb_path_name(name);
	char *folder = tb_asprintf(BUNDLE_FILES "%.100s", *last ? last : "model"), *path;

	for (char *p = folder ? folder + strlen(BUNDLE_FILES) : NULL; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' || *p == '-' ||
		      (*p >= '0' && *p <= '9') || (*p == '.' && p[-1] != '/')))
			*p = '-';
	path = folder ? tb_strdup(folder) : NULL;
	for (unsigned i = 2, taken = 1; path && taken; i++) {
		taken = 0;
		for (size_t k = 0; k < b->nmodels; k++)
			taken |= tb_path_inside(b->models[k].path, path, strlen(path));
		if (taken) {
			free(path);
			path = tb_asprintf("%s-%u", folder, i);
		}
	}
	free(folder);
	return path;
}

static enum tb_status
add_manifest(struct gather *w, const struct model_file *f, char **out, struct tb_err *err)
{
	const char *at = NULL, *next = f->path;
	char digest[TB_DIGEST_MAX];
	enum tb_status status;

	while ((next = strstr(next, "/" BUNDLE_MANIFESTS)))
		at = ++next;
	if (!at)
		return tb_fail(err, TB_EUNSUP, "%s: is no manifest of a store", f->path);
	status = file_digest(w, f->path, digest, err);
	*out = tb_strdup(at);
	if (!status && !*out)
		status = tb_nomem(err);
	return status ? status : add_source(w, f->path, tb_strdup(at), f->id.size, digest, err);
}

static enum tb_status
add_loose(struct gather *w, const struct model_file *f, const char *folder, struct tb_err *err)
{
	const char *name = tb_path_name(f->name && *f->name ? f->name : f->path);
	char digest[TB_DIGEST_MAX];
	uint8_t bytes[TB_SHA256_LEN];
	enum tb_status status = TB_OK;

	if (*name == '.')
		return TB_OK;
	snprintf(digest, sizeof(digest), "%s", f->digest);
	if (!tb_digest_bytes(digest, bytes))
		status = file_digest(w, f->path, digest, err);
	if (status)
		return status;
	return add_source(w, f->path, tb_asprintf("%s/%s", folder, name), f->id.size, digest, err);
}

static enum tb_status
add_one(struct gather *w, const struct model *m, const struct model_file *f, const char *folder,
	struct bundle_model *to, struct tb_err *err)
{
	enum tb_status status;

	if (f->missing || f->unread)
		return tb_fail(err, TB_ENOENT, "%s: %s", f->path, f->missing ? "is missing"
			       : "cannot be read");
	if (f->is_manifest)
		status = add_manifest(w, f, &to->path, err);
	else if (kind_has_manifest(m->loc.kind))
		status = add_source(w, f->path, tb_asprintf(BUNDLE_BLOBS "sha256-%s",
				    f->digest + strlen("sha256:")), f->id.size, f->digest, err);
	else
		status = add_loose(w, f, folder, err);
	if (!status)
		to->bytes += f->id.size;
	return status;
}

/* Folders are called by their names, files by their first. */
static enum tb_status
add_files(struct gather *w, const struct model *m, struct bundle_model *to, struct tb_err *err)
{
	char *folder = kind_has_manifest(m->loc.kind) ? NULL : folder_name(w->b, m->loc.name);
	enum tb_status status = TB_OK;

	if (!folder && !kind_has_manifest(m->loc.kind))
		return tb_nomem(err);
	for (size_t i = 0; i < m->nfiles && !status; i++)
		status = add_one(w, m, &m->files[i], folder, to, err);
	if (!status && folder && !to->path) {
		to->path = kind_is_folder(m->loc.kind)
			   ? tb_strdup(folder)
			   : tb_asprintf("%s/%s", folder, tb_path_name(m->files[0].path));
		if (!to->path)
			status = tb_nomem(err);
	}
	free(folder);
	return status;
}

static enum tb_status
check_model(const struct model *m, const char *ref, struct tb_err *err)
{
	if (!kind_is_model(m->loc.kind))
		return tb_fail(err, TB_EUNSUP, "%s: is a container's image, no model", ref);
	if (kind_has_manifest(m->loc.kind) && !kind_shares_blobs(m->loc.kind))
		return tb_fail(err, TB_EUNSUP, "%s: is %s, which has no place in a bundle yet; "
			       "convert it into a folder first (tbtui quantize -q keep %.100s ./DIR)",
			       ref, kind_name(m->loc.kind), ref);
	if (m->nproblems)
		return tb_fail(err, TB_EFORMAT, "%s", m->problems[0].message);
	return m->nfiles ? TB_OK : tb_fail(err, TB_EFORMAT, "%s: has no files", ref);
}

static enum tb_status
add_model(struct gather *w, const struct op_ctx *ctx, const char *ref, struct tb_err *err)
{
	struct bundle *b = w->b;
	struct model_loc loc;
	struct model *m = NULL;
	struct bundle_model *to;
	bool twice = false;
	enum tb_status status = store_resolve(&ctx->roots, ref, &loc, err);

	if (status)
		return status;
	status = model_open(&m, &loc, err);
	model_loc_free(&loc);
	if (!status)
		status = check_model(m, ref, err);
	if (!status && !tb_grow(&b->models, &b->models_cap, b->nmodels + 1, sizeof(*b->models)))
		status = tb_nomem(err);
	if (!status) {
		to = &b->models[b->nmodels];
		*to = (struct bundle_model){ tb_strdup(m->loc.name), tb_strdup(kind_name(m->loc.kind)),
					     NULL, 0 };
		status = to->name && to->kind ? add_files(w, m, to, err) : tb_nomem(err);
		/* once, however often it is asked for */
		for (size_t i = 0; i < b->nmodels && !status && !twice; i++)
			twice = !strcmp(b->models[i].path, to->path);
		if (!status && !twice) {
			b->nmodels++;
		} else {
			free(to->name);
			free(to->kind);
			free(to->path);
		}
	}
	model_free(m);
	return status;
}

static int
source_by_path(const void *a, const void *b)
{
	return strcmp(((const struct bundle_file *)a)->m.path, ((const struct bundle_file *)b)->m.path);
}

/* Sorted, each path once; the list of members borrows the paths' copies. */
static enum tb_status
settle(struct gather *w, struct tb_err *err)
{
	struct bundle *b = w->b;
	size_t n = 0;

	if (w->n)
		qsort(w->sources, w->n, sizeof(*w->sources), source_by_path);
	for (size_t i = 0; i < w->n; i++) {
		if (n && !strcmp(w->sources[n - 1].m.path, w->sources[i].m.path)) {
			if (strcmp(w->sources[n - 1].m.digest, w->sources[i].m.digest) != 0)
				return tb_fail(err, TB_EEXIST, "%s and %s: two models of one name "
					       "cannot be in one bundle", w->sources[n - 1].file,
					       w->sources[i].file);
			free(w->sources[i].m.path);
			free(w->sources[i].file);
			w->sources[i] = (struct bundle_file){ 0 };
			continue;
		}
		w->sources[n++] = w->sources[i];
		if (n <= i)
			w->sources[i] = (struct bundle_file){ 0 };
	}
	w->n = n;
	if (n > BUNDLE_MEMBERS_MAX)
		return tb_fail(err, TB_ELIMIT, "a bundle has at most %u members", BUNDLE_MEMBERS_MAX);
	b->members = tb_calloc(n, sizeof(*b->members));
	if (!b->members)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++) {
		b->members[i] = w->sources[i].m;
		b->members[i].path = tb_strdup(w->sources[i].m.path);
		b->nmembers++;
		if (!b->members[i].path)
			return tb_nomem(err);
		b->bytes += b->members[i].size;
	}
	return TB_OK;
}

enum tb_status
bundle_gather(struct gather *w, const struct op_ctx *ctx, const char *const *refs, size_t n,
	      struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && !status; i++)
		status = add_model(w, ctx, refs[i], err);
	return status ? status : settle(w, err);
}

void
gather_free(struct gather *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->sources[i].m.path);
		free(w->sources[i].file);
	}
	free(w->sources);
	*w = (struct gather){ 0 };
}

/* ---- their bytes ---- */

static enum tb_status
copy_bytes(const struct bundle_file *s, const struct tb_file *f, char *buf, bundle_put *put,
	   void *arg, struct tb_job *job, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct tb_sha256 sha = { 0 };
	enum tb_status status = tb_sha256_init(&sha, err);

	for (uint64_t at = 0; at < s->m.size && !status;) {
		size_t n = s->m.size - at < BUNDLE_CHUNK ? (size_t)(s->m.size - at) : BUNDLE_CHUNK;

		status = tb_job_check(job, err);
		if (!status)
			status = tb_file_read(f, at, buf, n, err);
		if (!status) {
			tb_sha256_add(&sha, buf, n);
			status = put(arg, buf, n, err);
		}
		tb_job_step(job, n, 0);
		at += n;
	}
	if (status) {
		tb_sha256_free(&sha);
		return status;
	}
	tb_sha256_done(&sha, digest);
	if (strcmp(digest, s->m.digest) != 0)
		status = tb_fail(err, TB_EFORMAT, "%s: is damaged, or has changed: its SHA-256 is %s, not "
				 "%.19s…; tbtui verify says more", s->file, digest, s->m.digest);
	return status;
}

enum tb_status
bundle_copy(const struct bundle_file *s, char *buf, bundle_put *put, void *arg,
	    struct tb_job *job, struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, s->file, err);

	if (status)
		return status;
	tb_job_what(job, "%s", s->m.path);
	if (f.id.size != s->m.size)
		status = tb_fail(err, TB_EFORMAT, "%s: has %ju bytes, not %ju", s->file,
				 (uintmax_t)f.id.size, (uintmax_t)s->m.size);
	else
		status = copy_bytes(s, &f, buf, put, arg, job, err);
	tb_job_step(job, 0, 1);
	tb_file_close(&f);
	return status;
}
