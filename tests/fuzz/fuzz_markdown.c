/* An answer in Markdown, in pieces: rows are made of all of it, whatever it is, and the same
 * ones as of the whole. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/face/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
same(struct mdown *a, struct mdown *b)
{
	if (mdown_rows(a) != mdown_rows(b) || mdown_codes(a) != mdown_codes(b))
		abort();
	for (size_t i = 0; i < mdown_rows(a); i++) {
		struct mdown_row x = mdown_row(a, i), y = mdown_row(b, i);

		if (x.len != y.len || (x.len && memcmp(x.text, y.text, x.len)))
			abort();
		for (size_t k = 0; k < x.len; k++)
			if ((unsigned char)x.text[k] < ' ' || x.text[k] == 0x7f)
				abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned flags = size ? data[0] & 1 : 0;
	int width = size > 1 ? data[1] % 100 : 0;
	const char *text = (const char *)data + (size > 1 ? 2 : size);
	size_t len = size > 1 ? size - 2 : 0;
	struct mdown *all = mdown_new(flags), *parts = mdown_new(flags);

	if (!all || !parts)
		abort();
	mdown_add(all, text, len);
	mdown_end(all);
	mdown_lay(all, width);
	for (size_t at = 0, n; at < len; at += n) {
		uint32_t cp;

		n = tb_utf8_next(text + at, len - at, &cp);
		mdown_add(parts, text + at, n);
		if (at < 4096 || at % 64 == 0)
			mdown_lay(parts, width);
	}
	mdown_end(parts);
	mdown_lay(parts, width);
	same(all, parts);
	mdown_free(all);
	mdown_free(parts);
	return 0;
}
