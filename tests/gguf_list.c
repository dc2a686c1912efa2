/* gguf_list.c - what the GGUF reader makes of files, a line a tensor and a key: for
 * comparison with a reader that somebody else has written. */
#include "config.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/format/gguf.h"

static int
list(const char *path)
{
	struct tb_err err;
	struct tb_file f;
	struct gguf g;

	if (tb_file_open(&f, path, &err) || gguf_read(&g, &f, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		tb_file_close(&f);
		return 1;
	}
	printf("version %u, alignment %ju, data at %ju\n", g.version, (uintmax_t)g.alignment,
	       (uintmax_t)g.data_off);
	for (size_t i = 0; i < g.ntensors; i++) {
		const struct gguf_tensor *t = &g.tensors[i];

		printf("%s %s [", t->name, ggml_info(t->type)->name);
		for (unsigned d = 0; d < t->ndim; d++)
			printf("%s%ju", d ? ", " : "", (uintmax_t)t->ne[d]);
		printf("] %ju %ju\n", (uintmax_t)t->off, (uintmax_t)t->len);
	}
	for (size_t i = 0; i < g.nkv; i++) {
		const struct gguf_kv *k = &g.kv[i];

		printf("%s = %s %ju at %ju %ju %jx\n", k->key, gguf_value_name(k->type == GGUF_ARRAY
		       ? k->elem : k->type), (uintmax_t)k->count, (uintmax_t)k->off,
		       (uintmax_t)k->len, (uintmax_t)k->bits);
	}
	gguf_free(&g);
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
