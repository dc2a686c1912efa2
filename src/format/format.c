#include "config.h"

#include "src/format/format.h"

#include "src/base/file.h"
#include "src/base/text.h"

const struct format *const format_rows[] = {
#define X(row) &row,
	FORMAT_LIST(X)
#undef X
	NULL
};

const struct format *
format_of_name(const char *name)
{
	const struct format *const *f = format_rows;

	while (*f && !tb_ends(name, (*f)->ending))
		f++;
	return *f;
}

const struct format *
format_of_media(enum media m)
{
	const struct format *const *f = format_rows;

	while (*f && !((*f)->layers & 1u << m))
		f++;
	return *f;
}

enum tb_status
format_of_file(const char *path, const struct format **out, struct tb_err *err)
{
	unsigned char head[FORMAT_HEAD];
	const struct format *const *format = format_rows;
	struct tb_file f;
	uint64_t size;
	enum tb_status status = tb_file_open(&f, path, err);

	*out = NULL;
	if (status)
		return status;
	size = f.id.size;
	if (size >= sizeof(head))
		status = tb_file_read(&f, 0, head, sizeof(head), err);
	tb_file_close(&f);
	if (status)
		return status;
	while (*format && (size < sizeof(head) || !(*format)->is(head, size)))
		format++;
	*out = *format;
	return *out ? TB_OK : tb_fail(err, TB_EFORMAT, "%s: neither safetensors nor GGUF", path);
}
