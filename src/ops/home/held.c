/* held.c - which stores hold something that was taken away. */
#include "config.h"

#include "src/ops/home/home.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/store/journal.h"
#include "src/store/store_kind.h"

#define WALK_DEPTH 6

static bool
is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static enum tb_status
stores_below(const char *dir, unsigned depth, struct tb_names *out, struct tb_err *err)
{
	struct tb_names names = { 0 };
	struct tb_path has;
	enum tb_status status = TB_OK;

	if (is_folder(tb_path_in(&has, dir, JOURNAL_DIR)))
		status = tb_names_add(out, dir, err);
	/* Stores have their own where they begin; who cannot be read has none that we can. */
	if (status || !depth || store_kind_of(dir, false) || tb_names_read(&names, dir, NULL))
		return status;
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path = *names.v[i] == '.' || store_kind_of(names.v[i], true)
			   ? NULL : tb_path_join(dir, names.v[i]);

		if (path && is_folder(path))
			status = stores_below(path, depth - 1, out, err);
		free(path);
	}
	tb_names_free(&names);
	return status;
}

enum tb_status
home_quarantines(const struct op_ctx *ctx, struct tb_names *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t n = 0, k;

	*out = (struct tb_names){ 0 };
	for (size_t i = 0; i < ctx->roots.n && !status; i++)
		status = stores_below(ctx->roots.path[i], WALK_DEPTH, out, err);
	tb_names_sort(out);
	for (size_t i = 0; i < out->n; i++) {	/* links lead to one by many names */
		for (k = 0; k < n && !tb_same_place(out->v[k], out->v[i]); k++)
			;
		if (k < n)
			free(out->v[i]);
		else
			out->v[n++] = out->v[i];
	}
	out->n = n;
	if (status)
		tb_names_free(out);
	return status;
}

uint64_t
home_last_operation(const struct op_ctx *ctx, const char *root)
{
	struct tb_names stores;
	uint64_t last = root ? journal_last(root) : 0;

	if (home_quarantines(ctx, &stores, NULL))
		return last;
	for (size_t i = 0; i < stores.n; i++) {
		uint64_t n = journal_last(stores.v[i]);

		last = n > last ? n : last;
	}
	tb_names_free(&stores);
	return last;
}
