/* fuzz_text.c - hostile strings on their way to a terminal, and hostile patterns. */
#include "config.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool held)
{
	if (!held)
		abort();
}

/* The first byte is the width; a NUL separates two strings. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf out = TB_BUF(1u << 20);
	size_t cols = size ? data[0] % 90u : 0;
	const char *second;
	char small[32], *s;

	setlocale(LC_ALL, "C.UTF-8");
	if (!size)
		return 0;
	s = tb_strndup((const char *)data + 1, size - 1);
	must(s != NULL);
	second = strlen(s) + 2 < size ? (const char *)data + strlen(s) + 2 : NULL;
	tb_text_clip(&out, s, cols, true);
	must(tb_width(tb_buf_cstr(&out)) == cols && tb_utf8_valid(tb_buf_cstr(&out), out.len));
	for (size_t i = 0; i < out.len; i++)
		must((unsigned char)out.p[i] >= 0x20 && out.p[i] != 0x7f);
	must(tb_utf8_valid(small, strlen(tb_text_clean(s, small, sizeof(small)))));
	tb_buf_clear(&out);
	tb_text_clean_lines(&out, s, strlen(s));
	must(tb_utf8_valid(tb_buf_cstr(&out), out.len));
	must(tb_natural_cmp(s, s) == 0);
	if (second) {
		char *t = tb_strndup(second, size - (size_t)(second - (const char *)data));
		int d;

		must(t != NULL);
		d = tb_natural_cmp(s, t);
		must((d < 0) == (tb_natural_cmp(t, s) > 0) && (d == 0) == !strcmp(s, t));
		(void)tb_glob(t, s);
		must(!tb_contains(s, t) || strlen(t) <= strlen(s));
		free(t);
	}
	tb_buf_free(&out);
	free(s);
	return 0;
}
