/* st_list.c - what the safetensors reader makes of files, a line a tensor: for
 * comparison with a reader that somebody else has written. */
#include "config.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/format/safetensors.h"

static int
list(const char *path)
{
	struct tb_err err;
	struct st_header h;
	struct tb_file f;

	if (tb_file_open(&f, path, &err) || st_read(&h, &f, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		tb_file_close(&f);
		return 1;
	}
	for (size_t i = 0; i < h.ntensors; i++) {
		const struct st_tensor *t = &h.tensors[i];

		printf("%s %s [", t->name, dtype_name(t->dtype));
		for (unsigned d = 0; d < t->ndim; d++)
			printf("%s%ju", d ? ", " : "", (uintmax_t)t->dim[d]);
		printf("] %ju %ju\n", (uintmax_t)t->off, (uintmax_t)t->len);
	}
	for (size_t i = 0; i < h.nmeta; i++)
		printf("%s = %s\n", h.meta[i].key, h.meta[i].value);
	st_free(&h);
	tb_file_close(&f);
	return 0;
}

int
main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= list(argv[i]);
	return status;
}
