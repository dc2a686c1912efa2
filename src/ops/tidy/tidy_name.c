/* tidy_name.c - another name for a model, instead of its own or beside it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/ops/tidy/tidy_parts.h"
#include "src/store/ollama.h"

/* Where the new manifest will be; TB_EEXIST: one is there, spelled so or but for case. */
static enum tb_status
free_place(const char *root, const char *own, const char *name, char **to,
	   struct model_name *parsed, struct tb_err *err)
{
	enum tb_status status = name_parse(name, parsed, err);
	char *found = NULL;

	*to = NULL;
	if (!status)
		status = ollama_find_manifest(root, parsed, &found, err);
	if (!status && found && tb_same_place(found, own))
		status = tb_fail(err, TB_EEXIST, "%s: is what it is called already: names that differ in "
				 "case alone are the same", name);
	else if (!status && found)
		status = tb_fail(err, TB_EEXIST, "%s: exists already (%s); remove it first, or take "
				 "another name", name, found);
	free(found);
	if (!status && !(*to = ollama_manifest_path(root, parsed)))
		status = tb_nomem(err);
	return status;
}

static enum tb_status
name_ollama(struct tidy *t, const struct model_loc *loc, const char *name, struct tb_err *err)
{
	bool moves = t->kind == TIDY_MV;
	struct model_name parsed;
	char *to = NULL, *text = NULL;
	size_t at;
	enum tb_status status = tidy_root(t, loc->root, &at, err);

	if (!status)
		status = free_place(loc->root, loc->path, name, &to, &parsed, err);
	if (!status && !moves)
		status = tb_file_slurp(loc->path, MANIFEST_MAX, &text, NULL, err);
	if (!status)
		status = tidy_add(t, &(struct tidy_new){ .what = moves ? TIDY_MOVE : TIDY_COPY,
				  .model = loc->name, .path = loc->path, .to = to, .text = text,
				  .root = at }, err);
	free(text);
	free(to);
	return status;
}

/* A folder or file keeps its place: the new name is one of the same folder, or a path below the
 * one that is looked into. */
static enum tb_status
move_plain(struct tidy *t, struct op_ctx *ctx, const struct model_loc *loc, const char *name,
	   struct tb_err *err)
{
	char *root = tidy_store_of(ctx, loc->path), *dir = tb_path_parent(loc->path), *to = dir ? tb_path_join(dir, tb_path_name(name)) : NULL;
	char *asked = tb_path_parent(name);
	size_t at = 0;
	enum tb_status status = root && dir && to && asked ? TB_OK : tb_nomem(err);

	if (!status && (!*name || *tb_path_name(name) == '.' || tb_ends(name, "/")))
		status = tb_fail(err, TB_EUSAGE, "\"%s\": is no name for a model", name);
	else if (!status && strchr(name, '/') && !tb_same_place(asked, dir))
		status = tb_fail(err, TB_EUSAGE, "%s: a folder or file is renamed within its folder, %s; "
				 "move it with mv(1)", name, dir);
	if (!status && tb_exists(to))
		status = tb_fail(err, TB_EEXIST, "%s: exists already", to);
	if (!status)
		status = tidy_root(t, root, &at, err);
	if (!status)
		status = tidy_add(t, &(struct tidy_new){ .what = TIDY_MOVE, .model = loc->name,
				  .path = loc->path, .to = to, .root = at }, err);
	free(asked);
	free(to);
	free(dir);
	free(root);
	return status;
}

enum tb_status
tidy_name(struct tidy *t, struct op_ctx *ctx, struct tb_err *err)
{
	const struct store_kind *kind;
	struct model_loc loc;
	const char *path;
	enum tb_status status;
	size_t n;

	if (t->names.n != 2)
		return tb_fail(err, TB_EUSAGE, "two names are needed: that of the model, and the new one");
	status = store_resolve(&ctx->roots, t->names.v[0], &loc, err);
	if (status)
		return status;
	kind = store_of_model(&loc, &path, &n);
	if (kind_store(loc.kind) == &store_ollama && *loc.root)
		status = name_ollama(t, &loc, t->names.v[1], err);
	else if (kind || t->kind == TIDY_CP)
		status = tb_fail(err, TB_EUSAGE, "%s: only models of Ollama stores %s; \"tbtui import\" "
				 "makes one of it", loc.path, t->kind == TIDY_CP
				 ? "have more than one name" : "and folders are renamed");
	else
		status = move_plain(t, ctx, &loc, t->names.v[1], err);
	model_loc_free(&loc);
	return status;
}
