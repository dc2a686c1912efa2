#include "config.h"

#include "src/cli/table.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/face/columns.h"

#define CELL_MAX (1u << 20)

static void
cell_add(struct cli_table *t, char *owned)
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
	cell_add(t, tb_strdup(text));
}

void
cli_cell_buf(struct cli_table *t, const struct tb_buf *b)
{
	cell_add(t, tb_buf_failed(b) ? NULL : tb_strdup(tb_buf_cstr(b)));
}

void
cli_cellf(struct cli_table *t, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = tb_vasprintf(fmt, ap);
	va_end(ap);
	cell_add(t, text);
}

void
cli_cell_u64(struct cli_table *t, uint64_t n)
{
	cli_cellf(t, "%ju", (uintmax_t)n);
}

void
cli_cells(struct cli_table *t, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, t);
	while ((text = va_arg(ap, const char *)))
		cli_cell(t, text);
	va_end(ap);
}

bool
cli_table_fit(const struct cli_table *t, const size_t *need, size_t room, size_t *out)
{
	size_t n = strlen(t->align), sum = 0;
	struct column *cols = tb_calloc(n, sizeof(*cols));
	short *width = tb_calloc(n, sizeof(*width));
	bool ok = cols && width;

	for (size_t c = 0; c < n; c++) {
		out[c] = need[c];
		sum += need[c] + (sum ? COLUMNS_GAP : 0);
	}
	for (size_t c = 0; ok && c < n && sum > room; c++) {
		bool whole = t->align[c] != 'm' && t->align[c] != 'e';
		size_t max = need[c] < SHRT_MAX ? need[c] : SHRT_MAX;

		cols[c] = (struct column){
			.title = "", .whole = whole, .max = (short)max,
			.min = (short)(whole || max < CLI_CUT_MIN ? max : CLI_CUT_MIN),
			.priority = t->drop ? (unsigned char)(t->drop[c] - '0') : 0,
		};
	}
	if (ok && sum > room) {
		columns_fit(cols, n, room < SHRT_MAX ? (int)room : SHRT_MAX, NULL, width);
		for (size_t c = 0; c < n; c++)
			out[c] = width[c] ? (size_t)width[c] : CLI_LEFT_OUT;
	}
	free(cols);
	free(width);
	return ok;
}

size_t
cli_columns(int fd)
{
	struct winsize w;

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : SIZE_MAX;
}

static void
table_row(const struct cli_table *t, char **cell, const size_t *width, size_t cols)
{
	struct tb_buf line = TB_BUF(CELL_MAX);
	size_t last = cols;

	for (size_t c = 0; c < cols; c++)
		last = width[c] != CLI_LEFT_OUT ? c : last;
	for (size_t c = 0, shown = 0; c < cols; c++) {
		if (width[c] == CLI_LEFT_OUT)
			continue;
		tb_buf_str(&line, shown++ ? "  " : "");
		if (t->align[c] == 'r')
			tb_text_right(&line, cell[c], width[c]);
		else if (t->align[c] == 'm')
			tb_text_middle(&line, cell[c], width[c], c != last);
		else
			tb_text_clip(&line, cell[c], width[c], c != last);
	}
	while (line.len && line.p[line.len - 1] == ' ')
		line.p[--line.len] = '\0';
	cli_put_buf(&line);
	putchar('\n');
	tb_buf_free(&line);
}

bool
cli_table_end(struct cli_table *t)
{
	size_t cols = strlen(t->align), *need = tb_calloc(cols + 1, sizeof(*need));
	size_t *width = tb_calloc(cols + 1, sizeof(*width));
	bool ok = !t->failed && need && width;

	for (size_t i = 0; ok && i < t->n; i++) {
		size_t w = tb_width(t->cell[i]);

		if (w > need[i % cols])
			need[i % cols] = w;
	}
	if (ok)
		ok = cli_table_fit(t, need, t->wide ? SIZE_MAX : cli_columns(STDOUT_FILENO), width);
	for (size_t i = 0; ok && i + cols <= t->n; i += cols)
		table_row(t, t->cell + i, width, cols);
	if (!ok)
		cli_lost();
	while (t->n)
		free(t->cell[--t->n]);
	free(t->cell);
	free(need);
	free(width);
	*t = (struct cli_table){ 0 };
	return ok;
}
