/* convert_target.c - what DST on the command line means. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/convert.h"
#include "src/store/ollama.h"
#include "src/store/split.h"

/* "dir/" is "dir"; an empty folder is as good as none. */
static enum tb_status
path_target(const char *dst, enum plan_dest dest, struct convert_target *out, struct tb_err *err)
{
	const char *home = getenv("HOME");
	char *path = tb_starts(dst, "~/") && home ? tb_path_join(home, dst + 2) : tb_strdup(dst);
	enum tb_status status;
	bool free_place;

	if (!path)
		return tb_nomem(err);
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
		path[--n] = 0;
	out->dest = dest;
	out->path = path;
	status = tb_dir_empty(path, &free_place, err);
	out->exists = !free_place;
	return status;
}

static enum tb_status
store_target(const struct op_ctx *ctx, const char *dst, struct convert_target *out,
	     struct tb_err *err)
{
	struct model_name name;
	char shown[640], *manifest = NULL;
	struct tb_err why = { 0 };
	enum tb_status status = name_parse(dst, &name, &why);

	if (!status)
		status = store_destination(&ctx->roots, &out->root, &why);
	if (status && strchr(dst, '/'))
		return tb_fail(err, status, "%.300s; if a folder is meant, write ./%.100s", why.msg,
			       dst);
	if (status == TB_ENOENT)
		return tb_fail(err, status, "%.300s, or write a folder: ./%.100s/", why.msg, dst);
	if (status)
		return tb_fail(err, status, "%s", why.msg);
	out->dest = PLAN_TO_STORE;
	out->name = tb_strdup(name_format(&name, shown));
	status = ollama_find_manifest(out->root, &name, &manifest, err);
	out->exists = manifest != NULL;
	free(manifest);
	return status || out->name ? status : tb_nomem(err);
}

enum tb_status
convert_target(const struct op_ctx *ctx, const char *dst, struct convert_target *out,
	       struct tb_err *err)
{
	const struct format *format = format_of_name(dst);
	enum tb_status status;

	*out = (struct convert_target){ 0 };
	if (!*dst)
		return tb_fail(err, TB_EUSAGE, "the destination has no name");
	if (format && !format->written)
		return tb_fail(err, TB_EUNSUP, "%s: %s files are not written yet", dst, format->title);
	if (format)
		status = path_target(dst, format->keys ? PLAN_TO_GGUF : PLAN_TO_FILE, out, err);
	else if (*dst == '.' || *dst == '/' || tb_starts(dst, "~/") || tb_ends(dst, "/") ||
		 tb_is_dir(dst))
		status = path_target(dst, PLAN_TO_DIR, out, err);
	else
		status = store_target(ctx, dst, out, err);
	if (status)
		convert_target_free(out);
	return status;
}

enum tb_status
convert_target_split(struct convert_target *t, size_t files, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *first = NULL;

	if (t->dest != PLAN_TO_GGUF || files < 2)
		return TB_OK;
	if (files > SPLIT_MAX)
		return tb_fail(err, TB_EUSAGE, "%s: would become %zu files, and readers take %u: let "
			       "them be larger", t->path, files, SPLIT_MAX);
	for (unsigned no = 1; no <= files && !status; no++) {
		char *path = split_name(t->path, no, (unsigned)files);

		if (!path)
			status = tb_nomem(err);
		else if (tb_exists(path))
			status = tb_fail(err, TB_EEXIST, "%s: exists already, and of several files none is "
					 "replaced: remove it, or name another destination", path);
		if (no == 1)
			first = path;
		else
			free(path);
	}
	if (status) {
		free(first);
		return status;
	}
	free(t->path);
	t->path = first;
	t->exists = false;
	return TB_OK;
}

enum tb_status
convert_part_parse(const char *s, size_t *part, size_t *parts, struct tb_err *err)
{
	const char *slash = strchr(s, '/');
	uint64_t i = 0, n = 0;
	char first[24];

	if (slash && (size_t)(slash - s) < sizeof(first)) {
		snprintf(first, sizeof(first), "%.*s", (int)(slash - s), s);
		if (tb_parse_u64(first, &i) && tb_parse_u64(slash + 1, &n) && i && i <= n &&
		    n <= CONVERT_PARTS_MAX) {
			*part = (size_t)i;
			*parts = (size_t)n;
			return TB_OK;
		}
	}
	return tb_fail(err, TB_EUSAGE, "--part: \"%.40s\" is not I/N, as in 3/8 (from 1/8 to 8/8)", s);
}

void
convert_target_free(struct convert_target *t)
{
	free(t->path);
	free(t->root);
	free(t->name);
	*t = (struct convert_target){ 0 };
}
