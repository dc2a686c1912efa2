#define _GNU_SOURCE
/* fuzz_bundle.c - archives that say what is in them. */
#include "config.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/ops/bundle/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bundle_source src = { memfd_create("bundle", 0), "bundle" };
	struct bundle_damage damage;
	struct tb_err err = { 0 };
	struct bundle b;

	if (src.fd < 0 || write(src.fd, data, size) != (ssize_t)size || lseek(src.fd, 0, SEEK_SET))
		abort();
	if (op_bundle_verify(&src, NULL, &b, &damage, &err)) {
		if (!err.code || !*err.msg)
			abort();
	} else if (!damage.n && damage.good != b.nmembers) {
		abort();
	} else {
		bundle_damage_free(&damage);
		bundle_free(&b);
	}
	close(src.fd);
	return 0;
}
