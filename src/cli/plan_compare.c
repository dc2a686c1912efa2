/* plan_compare.c - several recipes side by side: what they take and cost, where they
 * differ, and a picture of size against error. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/cli/table.h"

#define KINDS_MAX 64
#define PICTURE_COLS 60
#define PICTURE_ROWS 12

struct kind { struct scheme scheme; uint64_t elems; };

static int
kind_cmp(const void *va, const void *vb)
{
	const struct kind *a = va, *b = vb;

	return (a->elems < b->elems) - (a->elems > b->elems);
}

/* The schemes of a plan by what they take of it: "int4 71%, int8 24%, BF16 5%". */
static void
plan_schemes(const struct plan *p, const bool *rows, struct tb_buf *out)
{
	struct kind kinds[KINDS_MAX];
	size_t n = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];
		size_t k = 0;

		if (rows && !rows[i])
			continue;
		all += r->src->elems;
		while (k < n && !scheme_equal(&kinds[k].scheme, &r->target))
			k++;
		if (k == KINDS_MAX)
			continue;
		if (k == n)
			kinds[n++] = (struct kind){ r->target, 0 };
		kinds[k].elems += r->src->elems;
	}
	qsort(kinds, n, sizeof(*kinds), kind_cmp);
	for (size_t k = 0; k < n; k++) {
		char name[SCHEME_NAME_MAX];

		tb_buf_printf(out, "%s%s", k ? ", " : "", scheme_name(&kinds[k].scheme, name));
		if (n > 1)
			tb_buf_printf(out, " %.0f%%", all ? 100 * (double)kinds[k].elems / (double)all : 0);
	}
}

static bool
totals(const struct cli *cli, const struct planned *p)
{
	struct cli_table t = { .align = "lmrrrrl", .drop = "0010342", .wide = cli->wide };
	char size[16];

	cli_cells(&t, "", "recipe", "size", "bits", "error", "worst", "tensors as", NULL);
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_total *sum = &p->list[i].plan->total;
		struct tb_buf kinds = TB_BUF(4096);

		cli_cellf(&t, "%c", (char)('A' + i % 26));
		cli_cells(&t, p->list[i].name, tb_human_bytes(sum->after, size), NULL);
		cli_cellf(&t, "%.2f", sum->bits);
		if (sum->error < 0)
			cli_cell(&t, "?");
		else
			cli_cellf(&t, "%.2f%%", sum->error * 100);
		if (sum->worst < 0)
			cli_cell(&t, "-");
		else
			cli_cellf(&t, "%.2f%%", sum->worst * 100);
		plan_schemes(p->list[i].plan, NULL, &kinds);
		cli_cell_buf(&t, &kinds);
		tb_buf_free(&kinds);
	}
	return cli_table_end(&t);
}

/* Names with their numbers as "*": all layers' tensors of one kind. */
static char *
pattern_of(const char *name)
{
	char *out = tb_strdup(name), *to = out;

	for (const char *c = name; out && *c; c++) {
		bool number = isdigit((unsigned char)*c) && c > name && c[-1] == '.';

		*to++ = number ? '*' : *c;
		while (number && isdigit((unsigned char)c[1]))
			c++;
	}
	if (out)
		*to = '\0';
	return out;
}

struct pattern { char *text; size_t row; };

static int
pattern_cmp(const void *va, const void *vb)
{
	const struct pattern *a = va, *b = vb;
	int d = tb_natural_cmp(a->text, b->text);

	return d ? d : (a->row > b->row) - (a->row < b->row);
}

static bool
differs(const struct planned *p, size_t row)
{
	for (size_t i = 1; i < p->n; i++)
		if (!scheme_equal(&p->list[i].plan->rows[row].target,
				  &p->list[0].plan->rows[row].target))
			return true;
	return false;
}

/* One line of the table: patterns [i, end) have one text. */
static void
difference(struct cli_table *t, const struct planned *p, const struct pattern *list, size_t i,
	   size_t end, bool *rows)
{
	bool any = false;

	for (size_t k = i; k < end; k++)
		any |= differs(p, list[k].row);
	if (!any)
		return;
	memset(rows, 0, p->plan->nrows * sizeof(*rows));
	for (size_t k = i; k < end; k++)
		rows[list[k].row] = true;
	cli_cell(t, list[i].text);
	for (size_t k = 0; k < p->n; k++) {
		struct tb_buf kinds = TB_BUF(4096);

		plan_schemes(p->list[k].plan, rows, &kinds);
		cli_cell_buf(t, &kinds);
		tb_buf_free(&kinds);
	}
}

/* What the recipes do not agree about. */
static bool
differences(const struct cli *cli, const struct planned *p)
{
	size_t n = p->plan->nrows;
	struct pattern *list = tb_calloc(n, sizeof(*list));
	bool *rows = tb_calloc(n, sizeof(*rows)), ok = list && rows;
	char *align = tb_calloc(p->n + 2, 1);
	struct cli_table t = { .align = align, .wide = cli->wide };

	ok = ok && align;
	for (size_t i = 0; i < n && ok; i++) {
		list[i] = (struct pattern){ pattern_of(p->plan->rows[i].src->name), i };
		ok = list[i].text != NULL;
	}
	if (ok) {
		qsort(list, n, sizeof(*list), pattern_cmp);
		memset(align, 'l', p->n + 1);
		*align = 'm';
		cli_cell(&t, "tensors that differ");
		for (size_t k = 0; k < p->n; k++)
			cli_cellf(&t, "%c", (char)('A' + k % 26));
		for (size_t i = 0, end; i < n; i = end) {
			for (end = i + 1; end < n && !strcmp(list[i].text, list[end].text);)
				end++;
			difference(&t, p, list, i, end, rows);
		}
		ok = cli_table_end(&t);
	}
	for (size_t i = 0; list && i < n; i++)
		free(list[i].text);
	free(list);
	free(rows);
	free(align);
	return ok;
}

/* Where x lies between low and high, of n places. */
static size_t
place(double x, double low, double high, size_t n)
{
	return high > low ? (size_t)((x - low) / (high - low) * (double)(n - 1) + 0.5) : 0;
}

/* Size to the right, error upwards, a letter for each recipe: what lies left of and below
 * another is better in both. */
static void
picture(const struct planned *p)
{
	char cell[PICTURE_ROWS][PICTURE_COLS + 1];
	double low = INFINITY, high = 0, worst = 0;
	char a[16], b[16];

	memset(cell, ' ', sizeof(cell));
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_total *t = &p->list[i].plan->total;

		if (t->error < 0)
			return;
		low = fmin(low, (double)t->after);
		high = fmax(high, (double)t->after);
		worst = fmax(worst, t->error);
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_total *t = &p->list[i].plan->total;
		size_t x = place((double)t->after, low, high, PICTURE_COLS);
		size_t y = PICTURE_ROWS - 1 - place(t->error, 0, worst, PICTURE_ROWS);

		while (x + 1 < PICTURE_COLS && cell[y][x] != ' ')
			x++;
		cell[y][x] = (char)('A' + i % 26);
	}
	putchar('\n');
	for (size_t y = 0; y < PICTURE_ROWS; y++) {
		cell[y][PICTURE_COLS] = '\0';
		if (y && y + 1 < PICTURE_ROWS)
			printf("%8s |%s\n", "", cell[y]);
		else
			printf("%7.2f%% |%s\n", y ? 0 : worst * 100, cell[y]);
	}
	printf("%8s +", "error");
	for (size_t x = 0; x < PICTURE_COLS; x++)
		putchar('-');
	printf("\n%10s%-*s%s\n", "", PICTURE_COLS - (int)strlen(tb_human_bytes((uint64_t)high, b)),
	       tb_human_bytes((uint64_t)low, a), b);
}

enum cli_exit
planned_compare(const struct cli *cli, const struct planned *p)
{
	if (!totals(cli, p))
		return CLI_FAILED;
	putchar('\n');
	if (!differences(cli, p))
		return CLI_FAILED;
	picture(p);
	return CLI_OK;
}
