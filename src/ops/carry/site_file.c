/* site_file.c - a blob that is a file. */
#include "config.h"

#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/carry/site.h"

struct file_stream {
	struct site_stream base;
	struct tb_file f;
};

static enum tb_status
file_read(struct site_stream *base, uint64_t off, char *p, size_t n, struct tb_err *err)
{
	const struct file_stream *s = (const struct file_stream *)base;

	return tb_file_read(&s->f, off, p, n, err);
}

static void
file_close(struct site_stream *base)
{
	struct file_stream *s = (struct file_stream *)base;

	tb_file_close(&s->f);
	free(s);
}

enum tb_status
site_file_stream(struct site_stream **out, char *path, uint64_t size, struct tb_err *err)
{
	struct file_stream *s = path ? tb_calloc(1, sizeof(*s)) : NULL;
	enum tb_status status = s ? tb_file_open(&s->f, path, err) : tb_nomem(err);

	if (!status && s->f.id.size != size)
		status = tb_fail(err, TB_EFORMAT, "%s: is damaged: it has %ju bytes, not %ju", path,
				 (uintmax_t)s->f.id.size, (uintmax_t)size);
	free(path);
	if (status) {
		if (s)
			file_close(&s->base);
		return status;
	}
	s->base = (struct site_stream){ file_read, file_close };
	*out = &s->base;
	return TB_OK;
}
