/* A manifest; what is accepted prints to a text that parses and prints to the same. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf one = TB_BUF(8 << 20), two = TB_BUF(8 << 20);
	struct tb_err err = { 0 };
	struct manifest m;

	if (manifest_parse(&m, (const char *)data, size, "fuzz", &err)) {
		if (!err.code || !*err.msg)
			abort();
		return 0;
	}
	manifest_print(&m, &one);
	manifest_free(&m);
	if (!tb_buf_failed(&one)) {
		if (manifest_parse(&m, one.p, one.len, "again", &err))
			abort();
		manifest_print(&m, &two);
		manifest_free(&m);
		if (one.len != two.len || memcmp(one.p, two.p, one.len) != 0)
			abort();
	}
	tb_buf_free(&one);
	tb_buf_free(&two);
	return 0;
}
