/* convert_ready.c - what can be known before the first byte is written. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/dest.h"

enum tb_status
source_ready(const struct model_file *f, struct tb_err *err)
{
	struct tb_file file;
	enum tb_status status = tb_file_open(&file, f->path, err);

	if (status)
		return status;
	if (file.id.size != f->id.size || file.id.ino != f->id.ino)
		status = tb_fail(err, TB_EIO, "%s: has changed since it was opened", f->path);
	tb_file_close(&file);
	return status;
}

enum tb_status
sources_ready(const struct plan *p, struct tb_err *err)
{
	const struct model *m = p->model;
	bool *seen = tb_calloc(m->nfiles + 1, sizeof(*seen));
	enum tb_status status = seen ? TB_OK : tb_nomem(err);

	for (size_t i = 0; i < p->nrows && !status; i++)
		for (enum values_part k = 0; k < PART_COUNT && !status; k++) {
			const struct tensor_part *part = values_part_of(p->rows[i].src, k);

			if (!part || seen[part->file])
				continue;
			seen[part->file] = true;
			status = source_ready(&m->files[part->file], err);
		}
	free(seen);
	return status;
}

enum tb_status
place_ready(const char *path, struct tb_err *err)
{
	char *up = tb_path_parent(path);
	enum tb_status status = TB_OK;

	while (up && access(up, F_OK) && errno == ENOENT && strchr(up, '/') && up[1]) {
		char *next = tb_path_parent(up);

		free(up);
		up = next;
	}
	if (!up)
		return tb_nomem(err);
	if (tb_no_dir(up) && tb_exists(up))
		status = tb_fail(err, TB_EEXIST, "%s: cannot be made, for %s is no folder", path, up);
	else if (tb_exists(up) && access(up, W_OK | X_OK))
		status = tb_fail_errno(err, "%s: cannot be made: %s", path, up);
	free(up);
	return status;
}

/* Do the tensors lie in one file of the source as they would lie in the new one? */
static bool
lies_so(const struct plan *p, const struct plan_out *outs, const struct placed *at, size_t n,
	unsigned *file)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		const struct tensor *t = p->rows[outs[i].row].src;

		if (!plan_out_whole(p, &outs[i]))
			return false;
		for (enum values_part k = 0; k < PART_COUNT; k++) {
			const struct tensor_part *part = values_part_of(t, k);
			bool has = k < BLOB_PARTS && at[i].has[k];

			if ((part != NULL) != has)
				return false;
			if (!part)
				continue;
			if ((!first && part->file != *file) || part->off != at[i].off[k])
				return false;
			*file = part->file;
			first = false;
		}
	}
	return !first;
}

enum tb_status
source_same(const struct plan *p, size_t i, const struct model_file **out, struct tb_err *err)
{
	struct tb_buf head = TB_BUF(ST_HEADER_MAX + 16u);
	struct placed *placed = NULL;
	const struct model_file *f;
	uint64_t size;
	unsigned file = 0;
	bool same = false;
	size_t n;
	enum tb_status status = blob_layout(p, i, &head, &placed, &n, &size, err);

	*out = NULL;
	if (!status && lies_so(p, blob_outs(p, i, &n), placed, n, &file)) {
		f = &p->model->files[file];
		if (*f->digest && f->id.size == size)
			status = blob_starts(f->path, &head, &same, err);
		if (same)
			*out = f;
	}
	free(placed);
	tb_buf_free(&head);
	return status;
}
