#include "config.h"

#include "src/store/model_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/headers.h"
#include "src/store/hub.h"

enum tb_status
build_problem(struct build *b, const char *digest, struct tb_err *err, const char *fmt, ...)
{
	struct model *m = b->m;
	struct model_problem p = { 0 };
	va_list ap;

	va_start(ap, fmt);
	p.message = tb_vasprintf(fmt, ap);
	va_end(ap);
	snprintf(p.digest, sizeof(p.digest), "%s", digest ? digest : "");
	if (!p.message ||
	    !tb_grow(&m->problems, &b->problems_cap, m->nproblems + 1, sizeof(p))) {
		free(p.message);
		return tb_nomem(err);
	}
	m->problems[m->nproblems++] = p;
	return TB_OK;
}

/* The entry of a snapshot stands for a blob, which several revisions may share. */
static enum tb_status
follow(struct model_file *f, struct tb_err *err)
{
	enum hub_link kind;
	char *blob;
	enum tb_status status = hub_follow(f->path, &kind, &blob, err);

	if (status || kind == HUB_PLAIN)
		return status;
	f->outside = kind == HUB_OUTSIDE;
	if (f->outside)
		return TB_OK;
	free(f->path);
	f->path = blob;
	if (!hub_digest(blob, f->digest) || !tb_starts(f->digest, "sha256:"))
		*f->digest = 0;
	return TB_OK;
}

enum tb_status
build_file(struct build *b, char *path, const char *name, struct model_file **out,
	   struct tb_err *err)
{
	struct model *m = b->m;
	struct model_file *f;

	if (!path || !tb_grow(&m->files, &b->files_cap, m->nfiles + 1, sizeof(*m->files))) {
		free(path);
		return tb_nomem(err);
	}
	f = *out = &m->files[m->nfiles++];
	*f = (struct model_file){ .path = path, .media = MEDIA_UNKNOWN, .missing = true };
	f->name = name ? tb_arena_str(b->arena, name) : NULL;
	return !name || f->name ? follow(f, err) : tb_nomem(err);
}

/* "blob sha256:… (NAME)", or the path. */
static const char *
file_label(const struct model_file *f, char out[512])
{
	if (*f->digest)
		snprintf(out, 512, "blob %s%s%.200s%s", f->digest, f->name ? " (" : "",
			 f->name ? f->name : "", f->name ? ")" : "");
	else
		snprintf(out, 512, "%s", f->path);
	return out;
}

/* A file that could not be opened: it is not there, it is no file, or it cannot be read,
 * which is something else. */
static enum tb_status
build_missing(struct build *b, struct model_file *f, const struct tb_err *why, struct tb_err *err)
{
	char label[512];
	bool absent = why->code == TB_ENOENT;
	enum tb_status status;

	if (why->code == TB_ENOMEM)
		return tb_pass(err, why);
	f->unread = why->code == TB_EIO;
	f->missing = !f->unread;
	if (f->unread && tb_file_ident(f->path, &f->id, NULL))
		f->id = (struct tb_ident){ 0 };
	status = build_problem(b, f->digest, err, "%s: %s", file_label(f, label),
			       absent ? "missing" : why->msg);
	if (!status)
		b->m->problems[b->m->nproblems - 1].absent = absent || f->unread;
	return status;
}

enum tb_status
build_small_bad(struct build *b, const char *path, const char *digest, const struct tb_err *why,
		struct tb_err *err)
{
	enum tb_status status;

	if (why->code == TB_ENOMEM)
		return tb_pass(err, why);
	status = build_problem(b, digest, err, "%s", why->msg);
	for (size_t i = 0; !status && why->code == TB_EIO && i < b->m->nfiles; i++) {
		if (strcmp(b->m->files[i].path, path) != 0)
			continue;
		b->m->files[i].unread = true;
		b->m->problems[b->m->nproblems - 1].absent = true;
	}
	return status;
}

static enum tb_status
outside(struct build *b, const struct model_file *f, struct tb_err *err)
{
	return build_problem(b, NULL, err, "%s: a link that leads out of its repository, and is not"
			     " followed", f->path);
}

static enum tb_status
check_size(struct build *b, const struct model_file *f, struct tb_err *err)
{
	char label[512];

	if (!f->media_type || f->id.size == f->want_size)
		return TB_OK;
	return build_problem(b, f->digest, err, "%s: %ju bytes, the manifest says %ju",
			     file_label(f, label), (uintmax_t)f->id.size,
			     (uintmax_t)f->want_size);
}

enum tb_status
build_stat(struct build *b, struct model_file *f, struct tb_err *err)
{
	struct tb_err why = { 0 };

	if (f->outside)
		return outside(b, f, err);
	if (tb_file_ident(f->path, &f->id, &why))
		return build_missing(b, f, &why, err);
	f->missing = false;
	return check_size(b, f, err);
}

/* "<tensor>.quant_type" before "quant_type"; the group size belongs to the same level. */
static enum tb_status
build_read_meta(struct build *b, struct raw *r, const struct st_header *h, struct tb_err *err)
{
	const char *type = st_meta_of(h, r->name, ".quant_type"), *group;
	uint64_t n = 0;

	r->origin = type ? ORIGIN_TENSOR_META : ORIGIN_BLOB_META;
	group = type ? st_meta_of(h, r->name, ".group_size") : st_meta_find(h, "group_size");
	if (!type)
		type = st_meta_find(h, "quant_type");
	if (!type || !*type)
		return TB_OK;
	r->quant_type = tb_arena_str(b->arena, type);
	if (!r->quant_type)
		return tb_nomem(err);
	if (group && (!tb_parse_u64(group, &n) || n < 1 || n > 1024))
		return build_problem(b, b->m->files[r->part.file].digest, err, "tensor %.200s: "
				     "group_size \"%.40s\" is no number from 1 to 1024", r->name,
				     group);
	r->group = (unsigned)n;
	return TB_OK;
}

/* What the names of a file's tensors are led by, where they may be those of another: all
 * adapters change the same tensors. */
static size_t
prefix_of(const struct build *b, unsigned file, char out[32])
{
	const struct model_file *files = b->m->files;
	unsigned n = 1;

	*out = 0;
	if (files[file].media == MEDIA_DRAFT)
		memcpy(out, "draft.", 7);
	if (files[file].media != MEDIA_ADAPTER)
		return strlen(out);
	for (unsigned i = 0; i < file; i++)
		n += files[i].media == MEDIA_ADAPTER;
	if (n > 1)
		snprintf(out, 32, "adapter%u.", n);
	else
		memcpy(out, "adapter.", 9);
	return strlen(out);
}

enum tb_status
build_raws(struct build *b, unsigned file, const struct st_header *h, bool stays,
	   struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char prefix[32];
	size_t n = prefix_of(b, file, prefix);

	if (!tb_grow(&b->raws, &b->raws_cap, b->nraws + h->ntensors, sizeof(*b->raws)))
		return tb_nomem(err);
	for (size_t i = 0; i < h->ntensors && !status; i++) {
		const struct st_tensor *t = &h->tensors[i];
		struct raw *r = &b->raws[b->nraws++];

		*r = (struct raw){
			.name = stays && !n ? t->name : tb_arena_cat(b->arena, prefix, n, t->name),
			.draft = b->m->files[file].media == MEDIA_DRAFT,
			.part = { .file = file, .dtype = t->dtype, .ndim = t->ndim,
				  .off = t->off, .len = t->len } };
		memcpy(r->part.dim, t->dim, sizeof(t->dim));
		if (t->blocks) {	/* rows of blocks are bytes */
			r->blocks = scheme_ggml(t->blocks - 1u);
			r->part.dim[t->ndim - 1] = scheme_code_bytes(&r->blocks, t->dim[t->ndim - 1]);
		}
		if (!r->name)
			status = tb_nomem(err);
		else if (h->nmeta)
			status = build_read_meta(b, r, h, err);
	}
	return status;
}

enum tb_status
build_open(struct build *b, struct model_file *f, struct tb_file *file, bool *opened,
	   struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status;

	*opened = false;
	if (f->outside)
		return outside(b, f, err);
	*opened = !tb_file_open(file, f->path, &why);
	if (!*opened)
		return build_missing(b, f, &why, err);
	f->id = file->id;
	f->missing = false;
	status = check_size(b, f, err);
	if (status)
		tb_file_close(file);
	return status;
}

enum tb_status
build_bad(struct build *b, const struct model_file *f, const struct tb_err *why,
	  struct tb_err *err)
{
	char label[512];

	if (why->code == TB_ENOMEM)
		return tb_pass(err, why);
	return build_problem(b, f->digest, err, "%s%s%s", *f->digest ? file_label(f, label) : "",
			     *f->digest ? ": " : "", why->msg);
}

static enum tb_status
use_header(struct build *b, struct model_file *f, struct header *h, struct tb_err *err)
{
	unsigned index = (unsigned)(f - b->m->files);
	struct build_ready *r;

	if (!tb_grow(&b->ready, &b->ready_cap, b->nready + 1, sizeof(*b->ready))) {
		headers_unref(h);
		return tb_nomem(err);
	}
	r = &b->ready[b->nready++];
	*r = (struct build_ready){ h, index };
	b->m->held = b->ready;
	b->m->nheld = b->nready;
	return h->nready ? TB_OK : build_raws(b, index, &h->h, true, err);
}

/* Only blobs belong to many models. */
static bool
build_shares(const struct build *b)
{
	return b->cache && kind_shares_blobs(b->m->loc.kind);
}

/* The file as another model has found it. */
static enum tb_status
known_header(struct build *b, struct model_file *f, bool *known, struct tb_err *err)
{
	struct header *h = build_shares(b) ? headers_find(b->cache, f->path) : NULL;
	enum tb_status status;

	*known = h != NULL;
	if (!h)
		return TB_OK;
	f->id = h->id;
	f->missing = false;
	status = check_size(b, f, err);
	if (!status)
		return use_header(b, f, h, err);
	headers_unref(h);
	return status;
}

static enum tb_status
fresh_header(struct build *b, struct model_file *f, struct st_header *h, struct tb_err *err)
{
	struct header *shared;
	enum tb_status status;

	if (build_shares(b)) {
		status = headers_put(b->cache, f->path, &f->id, h, &shared, err);
		return status ? status : use_header(b, f, shared, err);
	}
	status = build_raws(b, (unsigned)(f - b->m->files), h, false, err);
	st_free(h);
	return status;
}

enum tb_status
build_weights(struct build *b, struct model_file *f, struct tb_err *err)
{
	const struct format *format = model_file_format(b->m, f);
	struct tb_err why = { 0 };
	enum tb_status status;
	struct st_header h;
	struct tb_file file;
	bool done;

	if (format->keys)
		return build_gguf(b, f, NULL, err);
	status = known_header(b, f, &done, err);
	if (status || done)
		return status;
	status = build_open(b, f, &file, &done, err);
	if (status || !done)
		return status;
	if (!format->read(&h, &file, &why))
		status = fresh_header(b, f, &h, err);
	else
		status = build_bad(b, f, &why, err);
	tb_file_close(&file);
	return status;
}

enum tb_status
build_nothing(const struct build *b, struct tb_err *err)
{
	const struct model_file *f = b->m->nfiles ? b->m->files : NULL;

	return tb_fail(err, f && f->missing ? TB_ENOENT : f && f->unread ? TB_EIO : TB_EFORMAT, "%s",
		       b->m->problems[0].message);
}
