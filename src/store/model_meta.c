#include "config.h"

#include "src/store/model_meta.h"

bool
model_meta_speaks(const struct model *m, const struct model_file *f)
{
	const struct format *format = kind_format(m->loc.kind);

	return !f->missing && model_has_keys(m) && model_file_format(m, f) == format &&
	       (f->media == MEDIA_UNKNOWN || f->media == format->layer);
}

enum tb_status
model_meta_open(struct model_meta *out, const struct model *m, struct tb_err *err)
{
	const struct model_file *f = NULL;
	enum tb_status status;

	*out = (struct model_meta){ .file = { .fd = -1 } };
	for (size_t i = 0; i < m->nfiles && !f; i++)
		if (model_meta_speaks(m, &m->files[i]))
			f = &m->files[i];
	if (!f)
		return tb_fail(err, TB_ENOENT, "%s: has no GGUF metadata", m->loc.name);
	status = tb_file_open(&out->file, f->path, err);
	if (!status && !tb_ident_equal(&out->file.id, &f->id))
		status = tb_fail(err, TB_EIO, "%s: has changed since it was looked at", f->path);
	if (!status)
		status = kind_format(m->loc.kind)->keys(&out->g, &out->file, err);
	if (status)
		model_meta_close(out);
	return status;
}

void
model_meta_close(struct model_meta *mm)
{
	gguf_free(&mm->g);
	tb_file_close(&mm->file);
}
