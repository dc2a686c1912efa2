#include "config.h"

#include "src/store/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/store/headers.h"

const char *
origin_name(enum origin o)
{
#define X(id, name) [id] = name,
	static const char *const names[] = { ORIGIN_LIST(X) };
#undef X

	return o < sizeof(names) / sizeof(*names) ? names[o] : "?";
}

const char *
tensor_dtype(const struct tensor *t)
{
	return scheme_form(&t->scheme) == FORM_BLOCKS ? ggml_info(t->scheme.ggml)->name
					     : dtype_name(t->weight.dtype);
}

enum tb_status
model_loc_copy(struct model_loc *out, const struct model_loc *in, struct tb_err *err)
{
	*out = (struct model_loc){ .kind = in->kind, .mtime_ns = in->mtime_ns };
	out->name = tb_strdup(in->name ? in->name : "");
	out->path = tb_strdup(in->path ? in->path : "");
	out->root = tb_strdup(in->root ? in->root : "");
	if (out->name && out->path && out->root)
		return TB_OK;
	model_loc_free(out);
	return tb_nomem(err);
}

void
model_loc_free(struct model_loc *loc)
{
	free(loc->name);
	free(loc->path);
	free(loc->root);
	*loc = (struct model_loc){ 0 };
}

static int
file_cmp(const void *a, const void *b)
{
	const struct tb_ident *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Two layers may share a blob, two names an inode: each counts once. */
static enum tb_status
count_bytes(struct model *m, struct tb_err *err)
{
	struct tb_ident *ids = tb_calloc(m->nfiles, sizeof(*ids));
	size_t n = 0;

	if (!ids)
		return tb_nomem(err);
	for (size_t i = 0; i < m->nfiles; i++)
		if (!m->files[i].missing)
			ids[n++] = m->files[i].id;
	if (n > 1)
		qsort(ids, n, sizeof(*ids), file_cmp);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || file_cmp(&ids[i - 1], &ids[i]) != 0)
			m->bytes += ids[i].size;
	free(ids);
	return TB_OK;
}

/* What a class is for is no part of the family: the first "For…", "LMHeadModel" and
 * "Model" behind a name end it. */
const char *
model_family(const char *arch, char out[MODEL_FAMILY_MAX])
{
	static const char *const ends[] = { "For", "LMHead", "Model", "PreTrained" };
	size_t len = strlen(arch), n = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *end = strstr(arch, ends[i]);

		if (end && end > arch && (size_t)(end - arch) < len)
			len = (size_t)(end - arch);
	}
	for (size_t i = 0; i < len && n + 1 < MODEL_FAMILY_MAX; i++)
		if (arch[i] != '_' && arch[i] != '-')
			out[n++] = arch[i] >= 'A' && arch[i] <= 'Z' ? (char)(arch[i] + 32) : arch[i];
	out[n] = 0;
	return out;
}

struct share { struct scheme scheme; uint64_t bytes; size_t tensors; };

#define MAX_SHARES 64

static int
share_cmp(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* What most of the bytes are stored as; vectors say nothing if there are matrices. */
static size_t
model_shares(const struct model *m, unsigned min_rank, struct share out[MAX_SHARES])
{
	size_t n = 0, j;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];

		if (t->ndim < min_rank || t->draft)
			continue;
		for (j = 0; j < n && !scheme_equal(&out[j].scheme, &t->scheme); j++)
			;
		if (j == MAX_SHARES)
			continue;
		if (j == n)
			out[n++] = (struct share){ .scheme = t->scheme };
		out[j].bytes += t->bytes;
		out[j].tensors++;
	}
	return n;
}

/* Is a GGUF file what it says, a mixture of some type?  Then that type, or what stands in
 * for it where rows do not fit, has most bytes, or (of a small model with a large
 * vocabulary) a third of the matrices. */
static bool
is_mixture(const struct gguf_mixture *g, const struct share *s, size_t n)
{
	const struct scheme main = scheme_ggml(g->main), instead = scheme_ggml(g->instead);
	size_t own = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		bool is = scheme_equal(&s[i].scheme, &main) || scheme_equal(&s[i].scheme, &instead);

		if (is && i == 0)
			return true;
		own += is ? s[i].tensors : 0;
		all += s[i].tensors;
	}
	return own * 3 >= all;
}

static void
summarize(struct build *b)
{
	char first[SCHEME_NAME_MAX], second[SCHEME_NAME_MAX] = "";
	struct share s[MAX_SHARES];
	struct model *m = b->m;
	size_t n = model_shares(m, 2, s);

	for (size_t i = 0; i < m->ntensors; i++)
		*(m->tensors[i].draft ? &m->draft_params : &m->params) += m->tensors[i].elems;
	if (n == 0)
		n = model_shares(m, 0, s);
	if (n == 0) {	/* no file could be read: as the manifest has it */
		snprintf(m->scheme, sizeof(m->scheme), "%s", b->hint);
		return;
	}
	qsort(s, n, sizeof(*s), share_cmp);
	if (b->mixture && is_mixture(b->mixture, s, n)) {
		snprintf(m->scheme, sizeof(m->scheme), "%s", b->mixture->name);
		return;
	}
	scheme_name(&s[0].scheme, first);
	if (n > 1)
		scheme_name(&s[1].scheme, second);
	snprintf(m->scheme, sizeof(m->scheme), "%s%s%s", first, n > 1 ? "/" : "", second);
}

bool
model_has_keys(const struct model *m)
{
	return kind_has_keys(m->loc.kind);
}

const struct format *
model_file_format(const struct model *m, const struct model_file *f)
{
	if (f->media != MEDIA_UNKNOWN)
		return format_of_media(f->media);
	if (kind_has_manifest(m->loc.kind))
		return NULL;
	return kind_is_folder(m->loc.kind) ? format_of_name(f->name) : kind_format(m->loc.kind);
}

static enum tb_status
model_build(struct build *b, const struct model_loc *loc, struct tb_err *err)
{
	enum tb_status status = model_loc_copy(&b->m->loc, loc, err);
	struct model *m = b->m;

	b->arena = &m->names;
	m->arch = tb_strdup("");
	m->model_type = tb_strdup("");
	if (!status && (!m->arch || !m->model_type))
		status = tb_nomem(err);
	if (status)
		return status;
	if (kind_has_manifest(loc->kind))
		status = build_manifest(b, err);
	else if (kind_is_folder(loc->kind))
		status = build_dir(b, err);
	else
		status = build_file_alone(b, err);
	if (!status)
		status = build_tensors(b, err);
	if (!status)
		status = count_bytes(m, err);
	if (!status)
		summarize(b);
	return status;
}

enum tb_status
model_open_cached(struct model **out, const struct model_loc *loc, struct model_cache *cache,
		  struct tb_err *err)
{
	struct build b = { .m = tb_calloc(1, sizeof(struct model)), .cache = cache };
	enum tb_status status;

	*out = NULL;
	if (!b.m)
		return tb_nomem(err);
	status = model_build(&b, loc, err);
	free(b.raws);
	free(b.overrides);
	json_free(b.config);
	if (status)
		model_free(b.m);
	else
		*out = b.m;
	return status;
}

enum tb_status
model_open(struct model **out, const struct model_loc *loc, struct tb_err *err)
{
	return model_open_cached(out, loc, NULL, err);
}

void
model_free(struct model *m)
{
	const struct build_ready *held = m ? m->held : NULL;

	if (!m)
		return;
	for (size_t i = 0; i < m->nheld; i++)
		headers_unref(held[i].h);
	free(m->held);
	for (size_t i = 0; i < m->nfiles; i++) {
		free(m->files[i].path);
		free(m->files[i].text);
		free(m->files[i].from);
	}
	for (size_t i = 0; i < m->nproblems; i++)
		free(m->problems[i].message);
	free(m->files);
	free(m->problems);
	free(m->remark);
	free(m->tensors);
	free(m->arch);
	free(m->model_type);
	tb_arena_free(&m->names);
	model_loc_free(&m->loc);
	free(m);
}

const struct tensor *
model_tensor(const struct model *m, const char *name)
{
	size_t at = TB_FIRST(m->ntensors, i, tb_natural_cmp(m->tensors[i].name, name) < 0);

	return at < m->ntensors && !strcmp(m->tensors[at].name, name) ? &m->tensors[at] : NULL;
}

const struct tensor *
model_foreign(const struct model *m)
{
	for (size_t i = 0; i < m->ntensors; i++)
		if (scheme_foreign(&m->tensors[i].scheme))
			return &m->tensors[i];
	return NULL;
}

enum tb_status
model_blame(const struct model *m, const char *tensor, struct tb_err *err)
{
	const struct model_problem *worst = m->problems;

	if (!m->nproblems)
		return err->code;
	for (size_t i = 0; i < m->nproblems; i++)
		if (strstr(m->problems[i].message, tensor)) {
			worst = &m->problems[i];
			break;
		}
	return tb_fail(err, err->code, "%.200s; not all of the model can be read: %s", err->msg,
		       worst->message);
}

const char *
model_file_place(const struct model_file *f)
{
	return f->from ? f->from : f->path;
}

enum tb_status
model_file_read(const struct model_file *f, size_t max, char **out, size_t *len, struct tb_err *err)
{
	if (!f->text)
		return tb_file_slurp(f->path, max, out, len, err);
	*len = strlen(f->text);
	*out = tb_strdup(f->text);
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
slurp(const struct model_file *f, size_t max, char **out, size_t *len, struct tb_err *err)
{
	enum tb_status status = model_file_read(f, max, out, len, err);

	return status && f->name ? tb_wrap(err, status, "%.100s", f->name) : status;
}

char *
model_beside(const struct model_loc *loc, const char *name)
{
	size_t folder = (size_t)(tb_path_name(loc->path) - loc->path);

	return tb_asprintf("%.*s%s", (int)folder, loc->path, name);
}

/* A file of tensors alone says nothing of the model that it is of: its folder does. */
static enum tb_status
read_sibling(const struct model *m, const char *name, size_t max, char **out, size_t *len,
	    struct tb_err *err)
{
	char *path = model_beside(&m->loc, name);
	enum tb_status status;

	if (!path)
		return tb_nomem(err);
	if (tb_exists(path))
		status = tb_file_slurp(path, max, out, len, err);
	else
		status = tb_fail(err, TB_ENOENT, "%.200s: there is no %s beside it", m->loc.name, name);
	free(path);
	return status;
}

enum tb_status
model_read(const struct model *m, const char *name, size_t max, char **out, size_t *len,
	   struct tb_err *err)
{
	*out = NULL;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];

		if (f->name && strcmp(f->name, name) == 0 &&
		    (f->media == MEDIA_JSON || !f->media_type) && !f->outside)
			return slurp(f, max, out, len, err);
	}
	if (kind_is_bare(m->loc.kind) && !strchr(name, '/'))
		return read_sibling(m, name, max, out, len, err);
	return tb_fail(err, TB_ENOENT, "%.200s: has no %s", m->loc.name, name);
}

enum tb_status
model_read_layer(const struct model *m, enum media kind, unsigned i, size_t max, char **out,
		 size_t *len, struct tb_err *err)
{
	*out = NULL;
	for (size_t j = 0; j < m->nfiles; j++)
		if (*m->files[j].digest && m->files[j].media == kind && i-- == 0)
			return slurp(&m->files[j], max, out, len, err);
	return tb_fail(err, TB_ENOENT, "%.200s: has no %s layer", m->loc.name, media_name(kind));
}
