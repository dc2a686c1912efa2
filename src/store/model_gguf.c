/* model_gguf.c - models in files alone, and what the keys of GGUF say of them; one may be
 * split over several files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/gguf.h"
#include "src/store/model_build.h"
#include "src/store/split.h"

#define ARCH_MAX 256

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
	struct st_header list = { 0 };
	struct tb_err why = { 0 };
	enum tb_status status;
	struct tb_file file;
	bool opened;
	struct gguf g;

	status = build_open(b, f, &file, &opened, err);
	if (status || !opened)
		return status;
	if (model_file_format(b->m, f)->keys(&g, &file, &why)) {
		status = build_bad(b, f, &why, err);
		tb_file_close(&file);
		return status;
	}
	status = gguf_list(&g, &list, err);
	if (!status)
		status = build_raws(b, index, &list, false, err);
	st_free(&list);
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
build_gguf_add_file(struct build *b, char *path, struct gguf_split *split, struct tb_err *err)
{
	struct model_file *f;
	enum tb_status status = build_file(b, path, path ? tb_path_name(path) : NULL, &f, err);

	if (status)
		return status;
	return split ? build_gguf(b, f, split, err) : build_weights(b, f, err);
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

		status = build_gguf_add_file(b, path, &s, err);
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

/* What the folder of tensors alone says of them. */
static enum tb_status
config_beside(struct build *b, struct tb_err *err)
{
	char *path = model_beside(&b->m->loc, "config.json");
	enum tb_status status = TB_OK;

	if (!path)
		return tb_nomem(err);
	if (kind_is_bare(b->m->loc.kind) && tb_exists(path))
		status = build_config(b, path, err);
	free(path);
	return status;
}

enum tb_status
build_file_alone(struct build *b, struct tb_err *err)
{
	struct split name;
	enum tb_status status;

	if (split_parse(b->m->loc.path, &name))
		status = open_split(b, &name, err);
	else
		status = build_gguf_add_file(b, tb_strdup(b->m->loc.path), NULL, err);
	if (!status && !b->nraws && b->m->nproblems)	/* nothing of it can be shown */
		status = build_nothing(b, err);
	if (!status)
		status = config_beside(b, err);
	return status ? status : build_sort(b, err);
}
