/* tensor_text.c - "tbtui tensor" for people. */
#include "config.h"

#include "src/cli/tensor_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/face/words.h"

#define BAR 50			/* columns of the longest bar */

static void
print_part(const struct tensor_task *k, enum values_part p)
{
	const struct tensor_part *part = values_part_of(k->t, p);
	bool blocks = p == PART_WEIGHT && scheme_form(&k->t->scheme) == FORM_BLOCKS;
	const uint64_t *dim;
	char shape[WORD_MAX];

	if (!part)
		return;
	dim = blocks ? k->t->dim : part->dim;	/* bytes of blocks say nothing to people */
	cli_line("%-13s%s%s%s, %ju bytes at %ju in %s", inspect_part_word(k->t, p),
		 blocks ? tensor_dtype(k->t) : dtype_name(part->dtype), part->ndim ? " " : "",
		 part->ndim ? word_shape(dim, part->ndim, " x ", shape) : "",
		 (uintmax_t)part->len, (uintmax_t)part->off, model_file_place(&k->m->files[part->file]));
}

static void
print_facts(const struct tensor_task *k)
{
	char shape[WORD_MAX], scheme[SCHEME_NAME_MAX], count[16], size[16];

	cli_line("name         %s", k->t->name);
	printf("shape        %s (%s values)\n", word_shape(k->t->dim, k->t->ndim, " x ", shape),
	       tb_human_count(k->t->elems, count));
	printf("scheme       %s (%s)\n", scheme_name(&k->t->scheme, scheme),
	       origin_name(k->t->origin));
	printf("size         %s\n", tb_human_bytes(k->t->bytes, size));
	for (enum values_part p = 0; p < INSPECT_PARTS; p++)
		print_part(k, p);
}

static void
print_bad(const struct tensor_task *k, const char *what, uint64_t n, uint64_t first)
{
	struct inspect_place p;

	printf("%-13s%ju", what, (uintmax_t)n);
	if (n) {
		inspect_place(k->t, first, &p);
		printf(", the first at %ju: row %ju, column %ju, offset %ju", (uintmax_t)first,
		       (uintmax_t)p.row, (uintmax_t)p.col, (uintmax_t)p.off);
	}
	putchar('\n');
}

static void
print_quantiles(const struct tensor_task *k)
{
	const struct inspect_dist *d = &k->res.dist;
	char count[16], label[16];

	for (unsigned i = 0; i < INSPECT_QUANTILES; i++) {
		snprintf(label, sizeof(label), "p%g", 100 * inspect_shares[i]);
		printf("%-13s%.9g\n", label, d->quantile[i]);
	}
	if (d->exact)
		printf("quantiles    exact\n");
	else if (d->counted < k->res.stats.count - k->res.stats.nans - k->res.stats.infs)
		printf("quantiles    of %s values in blocks all over the tensor\n",
		       tb_human_count(d->counted, count));
	else
		printf("quantiles    within 0.8 %%\n");
}

static void
print_stats(const struct tensor_task *k)
{
	const struct inspect_result *r = &k->res;
	const struct value_stats *s = &r->stats;
	char text[WORD_MAX];

	printf("\nmin          %.9g\nmax          %.9g\nabsmax       %.9g\n", s->min, s->max,
	       s->absmax);
	printf("mean         %.9g\nstd          %.9g\n", s->mean, s->std);
	printf("zeros        %ju (%.3g %%)\n", (uintmax_t)s->zeros,
	       s->count ? 100.0 * (double)s->zeros / (double)s->count : 0.0);
	print_bad(k, "NaN", s->nans, s->first_nan);
	print_bad(k, "Inf", s->infs, s->first_inf);
	print_quantiles(k);
	if (r->kept_ns)
		printf("kept         %s; --again computes\n", word_age(r->kept_ns, text));
	else if (r->seconds > 0)
		printf("read         %s/s\n",
		       tb_human_bytes((uint64_t)((double)r->bytes / r->seconds), text));
}

static void
print_hist(const struct inspect_hist *h)
{
	uint64_t most = 1;

	for (unsigned i = 0; i < h->n; i++)
		most = h->count[i] > most ? h->count[i] : most;
	putchar('\n');
	for (unsigned i = 0; i < h->n; i++) {
		double lo = h->lo + (h->hi - h->lo) * i / h->n;
		int bar = (int)ceil((double)h->count[i] * BAR / (double)most);

		printf("%12.5g %12ju ", lo, (uintmax_t)h->count[i]);
		for (int c = 0; c < bar; c++)
			putchar('#');
		putchar('\n');
	}
	printf("%12.5g\n", h->hi);
}

/* Nothing for the least, '@' for the most; '!' where something is NaN or infinite. */
static void
print_heat(const struct heat *h)
{
	static const char ramp[] = " .:-=+*#%@";
	float lo, hi;

	heat_range(h, false, &lo, &hi);
	printf("\nmean |w| in each of %u x %u cells, '%c' %.4g to '%c' %.4g\n", h->rows, h->cols,
	       ramp[0], (double)lo, ramp[sizeof(ramp) - 2], (double)hi);
	for (unsigned r = 0; r < h->rows; r++) {
		printf("%12ju |", (uintmax_t)heat_row(h, r));
		for (unsigned c = 0; c < h->cols; c++) {
			const struct heat_cell *cell = &h->cell[r * h->cols + c];

			putchar(cell->bad ? '!' : ramp[heat_level(cell, false, lo, hi,
								  sizeof(ramp) - 1)]);
		}
		printf("|\n");
	}
}

static bool
print_values(const struct tensor_task *k)
{
	char *align = tb_calloc((size_t)k->win.cols + 2, 1);
	struct cli_table t = { .align = align };
	bool good;

	if (!align)
		return false;
	memset(align, 'r', (size_t)k->win.cols + 1);
	putchar('\n');
	cli_cell(&t, "");
	for (uint64_t c = 0; c < k->win.cols; c++)
		cli_cell_u64(&t, k->win.col + c);
	for (uint64_t i = 0; i < k->win.rows; i++) {
		cli_cell_u64(&t, k->win.row + i);
		for (uint64_t c = 0; c < k->win.cols; c++)
			cli_cellf(&t, "%.6g", (double)k->v[i * k->win.cols + c]);
	}
	good = cli_table_end(&t);
	free(align);
	return good;
}

static void
print_hex(const struct tensor_task *k)
{
	putchar('\n');
	for (uint64_t i = 0; i < k->len; i += 16) {
		printf("%08jx ", (uintmax_t)(k->off + i));
		for (uint64_t c = i; c < i + 16; c++)
			if (c < k->len)
				printf(" %02x", k->bytes[c]);
			else
				printf("   ");
		printf("  ");
		for (uint64_t c = i; c < i + 16 && c < k->len; c++)
			putchar(k->bytes[c] >= 0x20 && k->bytes[c] < 0x7f ? k->bytes[c] : '.');
		putchar('\n');
	}
}

/* Codes are short, values are not. */
static void
print_numbers(const char *name, const double *v, unsigned n, bool whole)
{
	unsigned line = whole ? 12 : 5;

	for (unsigned i = 0; i < n; i++) {
		if (i % line == 0)
			printf("%s%-12s", i ? "\n" : "", i ? "" : name);
		printf(whole ? " %4.0f" : " %12.6g", v[i]);
	}
	putchar('\n');
}

static void
print_block(const struct tensor_task *k)
{
	const struct block *b = &k->taken;
	double v[BLOCK_VALUES];

	printf("\nblock        %ju of %ju: elements %ju to %ju, %ju bytes at %ju\n",
	       (uintmax_t)b->index, (uintmax_t)block_count(k->t), (uintmax_t)b->first,
	       (uintmax_t)(b->first + b->n - 1), (uintmax_t)b->len,
	       (uintmax_t)(k->t->weight.off + b->off));
	for (unsigned i = 0; i < b->nfields; i++)
		print_numbers(b->field[i].name, b->field[i].v, b->field[i].n, b->field[i].whole);
	for (unsigned i = 0; i < b->n; i++)
		v[i] = (double)b->value[i];
	print_numbers("values", v, b->n, false);
}

enum cli_exit
tensor_text(const struct tensor_task *k)
{
	bool good = true;

	print_facts(k);
	if (*k->sum.digest)
		printf("digest       %s\n", k->sum.digest);
	if (k->stats)
		print_stats(k);
	if (k->hist)
		print_hist(&k->res.hist);
	if (k->heat)
		print_heat(&k->map);
	if (k->v)
		good = print_values(k);
	if (k->bytes)
		print_hex(k);
	if (k->block)
		print_block(k);
	return good ? CLI_OK : CLI_FAILED;
}
