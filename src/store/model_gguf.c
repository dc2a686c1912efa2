/* model_gguf.c - models in GGUF files, of which one may be split over several. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf.h"
#include "src/store/model_build.h"
#include "src/store/split.h"

#define ARCH_MAX 256

/* Our order of dimensions is the other way round, and rows of blocks are bytes. */
static struct raw
make_raw(const struct gguf_tensor *t, unsigned file)
{
	const struct ggml_info *info = ggml_info(t->type);
	struct scheme s = scheme_ggml(t->type);
	struct raw r = { .part = { .file = file, .dtype = info->dtype, .ndim = t->ndim,
				   .off = t->off, .len = t->len } };

	for (unsigned i = 0; i < t->ndim; i++)
		r.part.dim[t->ndim - 1 - i] = t->ne[i];
	if (s.kind == SCHEME_GGML) {
		r.blocks = s;
		r.part.dtype = DT_U8;
		r.part.dim[t->ndim - 1] = scheme_code_bytes(&s, t->ne[0]);
	}
	return r;
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

static enum tb_status
add_raws(struct build *b, unsigned file, const struct gguf *g, struct tb_err *err)
{
	bool draft = b->m->files[file].media == MEDIA_DRAFT;
	char prefix[32];
	size_t n = prefix_of(b, file, prefix);

	if (!tb_grow(&b->raws, &b->raws_cap, b->nraws + g->ntensors, sizeof(*b->raws)))
		return tb_nomem(err);
	for (size_t i = 0; i < g->ntensors; i++) {
		struct raw r = make_raw(&g->tensors[i], file);

		r.draft = draft;
		r.name = tb_arena_cat(b->arena, prefix, n, g->tensors[i].name);
		if (!r.name)
			return tb_nomem(err);
		b->raws[b->nraws++] = r;
	}
	return TB_OK;
}

/* The first file that has them says what it is and how it was made. */
static enum tb_status
read_arch(struct build *b, const struct model_file *f, const struct tb_file *file,
	  const struct gguf *g, struct tb_err *err)
{
	const struct gguf_kv *kv = gguf_find(g, "general.architecture");
	struct tb_err why = { 0 };
	uint64_t type;
	char *arch;

	if (!b->mixture && gguf_u64(gguf_find(g, "general.file_type"), &type))
		b->mixture = gguf_mixture(type);
	if (!kv || *b->m->arch)
		return TB_OK;
	if (!gguf_string(kv, file, ARCH_MAX, &arch, &why)) {
		free(b->m->arch);
		b->m->arch = arch;
		return TB_OK;
	}
	return build_bad(b, f, &why, err);
}

enum tb_status
build_gguf(struct build *b, struct model_file *f, struct gguf_split *split, struct tb_err *err)
{
	unsigned index = (unsigned)(f - b->m->files);
	struct tb_err why = { 0 };
	enum tb_status status;
	struct tb_file file;
	bool opened;
	struct gguf g;

	status = build_open(b, f, &file, &opened, err);
	if (status || !opened)
		return status;
	if (gguf_read(&g, &file, &why)) {
		status = build_bad(b, f, &why, err);
		tb_file_close(&file);
		return status;
	}
	status = add_raws(b, index, &g, err);
	if (!status && f->media != MEDIA_DRAFT)
		status = read_arch(b, f, &file, &g, err);
	if (split) {
		*split = (struct gguf_split){ .read = true, .ntensors = g.ntensors };
		split->said = gguf_u64(gguf_find(&g, "split.no"), &split->no) &&
			      gguf_u64(gguf_find(&g, "split.count"), &split->count) &&
			      gguf_u64(gguf_find(&g, "split.tensors.count"), &split->total);
	}
	gguf_free(&g);
	tb_file_close(&file);
	return status;
}

/* Does the file say of itself what its name says? */
static enum tb_status
check_split(struct build *b, const char *path, const struct split *name, unsigned no,
	    const struct gguf_split *s, struct tb_err *err)
{
	if (!s->read)
		return TB_OK;
	if (!s->said)
		return build_problem(b, NULL, err, "%s: named as one of %u files, but says nothing"
				     " of a split", path, name->count);
	if (s->no != no - 1 || s->count != name->count)
		return build_problem(b, NULL, err, "%s: says that it is file %ju of %ju", path,
				     (uintmax_t)s->no + 1, (uintmax_t)s->count);
	return TB_OK;
}

static enum tb_status
add_file(struct build *b, char *path, struct gguf_split *split, struct tb_err *err)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char *name = slash ? tb_strdup(slash + 1) : path ? tb_strdup(path) : NULL;
	struct model_file *f;
	enum tb_status status = name ? build_file(b, path, name, &f, err) : tb_nomem(err);

	if (!name)
		free(path);
	free(name);
	return status ? status : build_gguf(b, f, split, err);
}

static enum tb_status
open_split(struct build *b, const struct split *name, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t have = 0, total = 0;
	bool whole = true;

	for (unsigned no = 1; no <= name->count && !status; no++) {
		char *path = split_path(b->m->loc.path, name, no);
		struct gguf_split s = { 0 };

		status = add_file(b, path, &s, err);
		if (!status)
			status = check_split(b, b->m->files[b->m->nfiles - 1].path, name, no, &s,
					     err);
		whole &= s.read && s.said;
		have += s.ntensors;
		total = no == 1 ? s.total : total;
	}
	if (!status && whole && have != total)
		status = build_problem(b, NULL, err, "%s: the files have %ju tensors, the first says"
				       " %ju", b->m->loc.path, (uintmax_t)have, (uintmax_t)total);
	return status;
}

enum tb_status
build_gguf_file(struct build *b, struct tb_err *err)
{
	struct split name;
	enum tb_status status;

	if (split_parse(b->m->loc.path, &name))
		status = open_split(b, &name, err);
	else
		status = add_file(b, tb_strdup(b->m->loc.path), NULL, err);
	if (!status && !b->nraws && b->m->nproblems)	/* nothing of it can be shown */
		status = build_nothing(b, err);
	return status ? status : build_sort(b, err);
}
