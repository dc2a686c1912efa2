#include "config.h"

#include "src/cli/wrap.h"

#include <stdint.h>

#include "src/base/text.h"

/* A word wider than a line is broken by the terminal, as it would be anywhere. */
static void
put_word(struct wrap *w, struct tb_buf *out)
{
	size_t width = w->word.len ? tb_width(tb_buf_cstr(&w->word)) : 0;

	if (!width)
		return;
	if (w->col && w->col + w->blanks + width > w->columns) {
		tb_buf_chr(out, '\n');
		w->col = w->blanks = 0;
	}
	for (size_t i = 0; i < w->blanks; i++)
		tb_buf_chr(out, ' ');
	tb_buf_add(out, w->word.p, w->word.len);
	w->col += w->blanks + width;
	while (w->col > w->columns)
		w->col -= w->columns;
	w->blanks = 0;
	tb_buf_clear(&w->word);
}

void
wrap_add(struct wrap *w, const char *text, size_t len, struct tb_buf *out)
{
	uint32_t cp;

	for (size_t i = 0, n; i < len; i += n) {
		bool wide;

		n = tb_utf8_next(text + i, len - i, &cp);
		wide = tb_width_cp(cp) == 2;	/* a line may end behind each of them */
		if (cp == '\n' || cp == ' ' || cp == '\t' || wide)
			put_word(w, out);
		if (cp == '\n') {
			tb_buf_chr(out, '\n');
			w->col = w->blanks = 0;
		} else if (cp == ' ') {
			w->blanks++;
		} else if (cp == '\t') {
			w->blanks += 8 - (w->col + w->blanks) % 8;
		} else {
			tb_buf_add(&w->word, text + i, n);
		}
		if (wide)
			put_word(w, out);
	}
	if (w->columns == SIZE_MAX)
		put_word(w, out);
}

void
wrap_end(struct wrap *w, struct tb_buf *out)
{
	put_word(w, out);
	w->col = w->blanks = 0;
	tb_buf_free(&w->word);
}
