#include "config.h"

#include "ui/plot.h"

#include <math.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define DOTS 4	/* dots of a cell from top to bottom; two stand side by side */

/* Counts that share one column of dots. */
static size_t
merged(size_t n, int cols)
{
	size_t dots = cols > 0 ? (size_t)cols * 2 : 1;

	return n > dots ? (n + dots - 1) / dots : 1;
}

int
plot_cols(size_t n, int cols)
{
	size_t k = merged(n, cols);

	return (int)(((n + k - 1) / k + 1) / 2);
}

static uint64_t
column(const uint64_t *count, size_t n, size_t k, size_t i)
{
	uint64_t sum = 0;

	for (size_t j = i * k; j < n && j < (i + 1) * k; j++)
		sum += count[j];
	return sum;
}

static int
height(uint64_t c, uint64_t largest, int dots, bool log_scale)
{
	double share = !largest ? 0 : log_scale ? log1p((double)c) / log1p((double)largest)
						: (double)c / (double)largest;
	int h = (int)lround(share * dots);

	return c && !h ? 1 : h;
}

/* Dots of one column of dots inside the cell whose lowest dot is number `base`. */
static unsigned
dots_of(int h, int base, bool right)
{
	static const unsigned char bit[2][DOTS] = {	/* from the bottom */
		{ 0x40, 0x04, 0x02, 0x01 }, { 0x80, 0x20, 0x10, 0x08 }
	};
	unsigned dots = 0;

	for (int i = 0; i < DOTS && base + i < h; i++)
		dots |= bit[right][i];
	return dots;
}

static void
put_cell(struct tb_buf *out, unsigned left, unsigned right)
{
	unsigned both = left | right;
	char utf8[4];

	if (!both)
		tb_buf_chr(out, ' ');
	else if (theme_utf8())
		tb_buf_add(out, utf8, tb_utf8_put(0x2800 + both, utf8));
	else
		tb_buf_chr(out, both & 0x09 ? '#' : both & 0x12 ? '|' : both & 0x24 ? ':' : '.');
}

void
plot_row(struct tb_buf *out, const uint64_t *count, size_t n, int cols, int rows, int row,
	 bool log_scale)
{
	size_t k = merged(n, cols), columns = (n + k - 1) / k;
	int base = (rows - 1 - row) * DOTS, dots = rows * DOTS;
	uint64_t largest = 0;

	for (size_t i = 0; i < columns; i++) {
		uint64_t c = column(count, n, k, i);

		if (c > largest)
			largest = c;
	}
	for (size_t i = 0; i < columns; i += 2) {
		int left = height(column(count, n, k, i), largest, dots, log_scale);
		int right = height(column(count, n, k, i + 1), largest, dots, log_scale);

		put_cell(out, dots_of(left, base, false), dots_of(right, base, true));
	}
}
