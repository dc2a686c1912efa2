#include "config.h"

#include "src/cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define CELL_MAX (1u << 20)

static void
add(struct cli_table *t, char *owned)
{
	if (!owned || !tb_grow(&t->cell, &t->cap, t->n + 1, sizeof(*t->cell))) {
		free(owned);
		t->failed = true;
		return;
	}
	t->cell[t->n++] = owned;
}

void
cli_cell(struct cli_table *t, const char *text)
{
	add(t, tb_strdup(text));
}

void
cli_cellf(struct cli_table *t, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add(t, text);
}

static void
print_row(const struct cli_table *t, char **cell, const size_t *width, size_t cols)
{
	struct tb_buf line = TB_BUF(CELL_MAX);

	for (size_t c = 0; c < cols; c++) {
		bool last = c + 1 == cols;

		tb_buf_str(&line, c ? "  " : "");
		if (t->align[c] == 'r')
			tb_text_right(&line, cell[c], width[c]);
		else
			tb_text_clip(&line, cell[c], last ? SIZE_MAX : width[c], !last);
	}
	puts(tb_buf_cstr(&line));
	tb_buf_free(&line);
}

bool
cli_table_end(struct cli_table *t)
{
	size_t cols = strlen(t->align), *width = tb_calloc(cols + 1, sizeof(*width));
	bool ok = !t->failed && width;

	for (size_t i = 0; ok && i < t->n; i++) {
		size_t w = tb_width(t->cell[i]);

		if (w > width[i % cols])
			width[i % cols] = w;
	}
	for (size_t i = 0; ok && i + cols <= t->n; i += cols)
		print_row(t, t->cell + i, width, cols);
	while (t->n)
		free(t->cell[--t->n]);
	free(t->cell);
	free(width);
	*t = (struct cli_table){ 0 };
	return ok;
}
