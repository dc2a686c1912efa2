#define _GNU_SOURCE
/* fuzz_imatrix.c - importance matrices, old and new, with what is asked of them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/format/imatrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
use(const struct imatrix *im)
{
	static float block[8192u * 8192u];
	struct tb_err err;
	volatile float sum = 0;

	for (size_t i = 0; i < im->n; i++) {
		const struct imatrix_entry *e = &im->entries[i];
		size_t cols = e->n / e->ncounts;
		const float *c = imatrix_columns(e, cols, e->ncounts - 1, e->ncounts, &err);

		if (imatrix_find(im, e->name) != e || !c)
			abort();
		for (size_t k = 0; k < cols; k++)
			sum += c[k];
		if (e->gram)
			(void)!imatrix_gram(im, e, cols, e->ncounts - 1,
					    imatrix_blocks(cols, e->gram) - 1, block, &err);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_err err = { 0 };
	struct imatrix im;
	char path[64];
	int fd = memfd_create("imatrix", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!imatrix_read(&im, path, &err))
		use(&im);
	else if (!err.code || !*err.msg)
		abort();
	imatrix_free(&im);
	close(fd);
	return 0;
}
