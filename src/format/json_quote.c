#include "config.h"

#include "src/format/json_quote.h"

#include <string.h>

#include "src/base/text.h"

void
json_quote_go(struct tb_buf *out, const char *s)
{
	static const char escape[] = "\b\t\n\f\r\"\\", letter[] = "btnfr\"\\";
	size_t left = strlen(s), n;
	const char *e;
	uint32_t cp;
	char utf8[4];

	tb_buf_chr(out, '"');
	for (; left; s += n, left -= n) {
		n = tb_utf8_next(s, left, &cp);
		e = cp < 0x80 ? strchr(escape, (int)cp) : NULL;
		if (e)
			tb_buf_printf(out, "\\%c", letter[e - escape]);
		else if (cp < 0x20 || cp == '<' || cp == '>' || cp == '&' ||
			 cp == 0x2028 || cp == 0x2029)
			tb_buf_printf(out, "\\u%04x", cp);
		else if (cp == 0xfffd && n == 1)
			tb_buf_str(out, "\\ufffd");
		else
			tb_buf_add(out, utf8, tb_utf8_put(cp, utf8));
	}
	tb_buf_chr(out, '"');
}
