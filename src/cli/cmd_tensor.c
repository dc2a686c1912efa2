/* cmd_tensor.c - "tbtui tensor": facts, statistics, values and bytes of one tensor. */
#include "config.h"

#include "src/cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/format/json.h"
#include "src/ops/ctx.h"
#include "src/ops/digest.h"
#include "src/ops/inspect.h"

#define HEX_MAX (1u << 20)
#define BAR 50			/* columns of the longest bar */

struct task {
	struct op_ctx ctx;
	struct model *m;
	const struct tensor *t;
	/* what is asked for */
	bool stats, hist, digest;
	uint64_t bins;
	const char *values, *hex, *part;
	/* and what came of it */
	struct inspect_result res;
	struct digest_item sum;
	struct inspect_window win;
	float *v;			/* owned; NULL: not asked for */
	enum inspect_part of;
	uint64_t off, len;
	uint8_t *bytes;			/* owned; NULL: not asked for */
};

/* ---- what the options say ---- */

/* "A:B", "A:" or "A" (one); at most `max`. */
static bool
parse_range(const char *s, size_t len, uint64_t max, uint64_t *from, uint64_t *count)
{
	char text[64];
	char *colon;
	uint64_t to = max;

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = 0;
	colon = strchr(text, ':');
	if (colon)
		*colon++ = 0;
	if (!tb_parse_u64(text, from) || (colon && *colon && !tb_parse_u64(colon, &to)))
		return false;
	if (!colon)
		to = *from + 1;
	*count = to - *from;
	return *from <= to && to <= max;
}

static enum tb_status
parse_window(struct task *k, struct tb_err *err)
{
	const char *comma = strchr(k->values, ',');
	uint64_t rows, cols;
	size_t len = comma ? (size_t)(comma - k->values) : strlen(k->values);

	inspect_matrix(k->t, &rows, &cols);
	k->win = (struct inspect_window){ .cols = cols };
	if (!parse_range(k->values, len, rows, &k->win.row, &k->win.rows) ||
	    (comma && !parse_range(comma + 1, strlen(comma + 1), cols, &k->win.col, &k->win.cols)))
		return tb_fail(err, TB_EUSAGE, "--values %s: not R0:R1,C0:C1 within %ju x %ju",
			       k->values, (uintmax_t)rows, (uintmax_t)cols);
	return TB_OK;
}

static enum tb_status
read_values(struct task *k, struct tb_err *err)
{
	enum tb_status status = parse_window(k, err);

	if (status)
		return status;
	if (k->win.rows && k->win.cols > INSPECT_VALUES_MAX / k->win.rows)
		return tb_fail(err, TB_EUSAGE, "--values: at most %u at a time",
			       INSPECT_VALUES_MAX);
	k->v = tb_calloc((size_t)(k->win.rows * k->win.cols), sizeof(*k->v));
	if (!k->v)
		return tb_nomem(err);
	return inspect_values(k->m, k->t, &k->win, k->v, err);
}

static enum tb_status
find_part(struct task *k, const struct tensor_part **out, struct tb_err *err)
{
	static const char *const names[PART_COUNT] = { "weight", "scale", "bias", "global" };

	for (k->of = 0; k->of < PART_COUNT; k->of++)
		if (!strcmp(k->part ? k->part : "weight", names[k->of])) {
			*out = inspect_part_of(k->t, k->of);
			if (*out)
				return TB_OK;
			break;
		}
	return tb_fail(err, TB_EUSAGE, "tensor %s has no part \"%s\"", k->t->name, k->part);
}

static enum tb_status
read_hex(struct task *k, struct tb_err *err)
{
	const char *colon = strchr(k->hex, ':');
	char *off = tb_strndup(k->hex, colon ? (size_t)(colon - k->hex) : 0);
	bool good = off && colon && tb_parse_u64(off, &k->off) && tb_parse_u64(colon + 1, &k->len);
	const struct tensor_part *part;
	enum tb_status status;

	free(off);
	if (!good || k->len > HEX_MAX)
		return tb_fail(err, TB_EUSAGE, "--hex %s: not OFF:LEN with at most %u bytes",
			       k->hex, HEX_MAX);
	status = find_part(k, &part, err);
	if (status)
		return status;
	k->bytes = tb_calloc((size_t)k->len, 1);
	if (!k->bytes)
		return tb_nomem(err);
	return inspect_bytes(k->m, part, k->off, (size_t)k->len, k->bytes, err);
}

/* ---- JSON ---- */

static void
set_index(cJSON *o, const char *key, uint64_t index)
{
	if (index == INSPECT_NONE)
		json_set_str(o, key, NULL);
	else
		json_set_u64(o, key, index);
}

static cJSON *
stats_json(const struct inspect_result *r)
{
	const struct inspect_stats *s = &r->stats;
	cJSON *o = json_object();

	json_set_u64(o, "count", s->count);
	json_set_u64(o, "zeros", s->zeros);
	json_set_u64(o, "nans", s->nans);
	json_set_u64(o, "infs", s->infs);
	set_index(o, "first_nan", s->first_nan);
	set_index(o, "first_inf", s->first_inf);
	json_set_f64(o, "min", s->min);
	json_set_f64(o, "max", s->max);
	json_set_f64(o, "absmax", s->absmax);
	json_set_f64(o, "mean", s->mean);
	json_set_f64(o, "std", s->std);
	json_set_f64(o, "seconds", r->seconds);
	return o;
}

static cJSON *
hist_json(const struct inspect_hist *h)
{
	cJSON *o = json_object(), *counts = json_array();

	json_set_f64(o, "lo", h->lo);
	json_set_f64(o, "hi", h->hi);
	for (unsigned i = 0; i < h->n; i++)
		json_push_u64(counts, h->count[i]);
	json_set(o, "counts", counts);
	return o;
}

static cJSON *
pair_json(uint64_t from, uint64_t count)
{
	cJSON *a = json_array();

	json_push_u64(a, from);
	json_push_u64(a, from + count);
	return a;
}

static void
values_json(cJSON *o, const struct task *k)
{
	cJSON *rows = json_array();

	for (uint64_t i = 0; i < k->win.rows; i++) {
		cJSON *row = json_array();

		for (uint64_t c = 0; c < k->win.cols; c++)
			json_push_f64(row, (double)k->v[i * k->win.cols + c]);
		json_push(rows, row);
	}
	json_set(o, "rows", pair_json(k->win.row, k->win.rows));
	json_set(o, "cols", pair_json(k->win.col, k->win.cols));
	json_set(o, "values", rows);
}

static cJSON *
hex_json(const struct task *k)
{
	struct tb_buf hex = TB_BUF(2 * HEX_MAX);
	cJSON *o = json_object();

	for (uint64_t i = 0; i < k->len; i++)
		tb_buf_printf(&hex, "%02x", k->bytes[i]);
	json_set_str(o, "part", inspect_part_name(k->of));
	json_set_u64(o, "offset", k->off);
	json_set_str(o, "bytes", tb_buf_cstr(&hex));
	tb_buf_free(&hex);
	return o;
}

static enum cli_exit
print_json(const struct task *k)
{
	cJSON *o = json_object();

	json_set_str(o, "model", k->m->loc.name);
	cli_tensor_json(o, k->m, k->t);
	if (k->digest)
		json_set_str(o, "digest", *k->sum.digest ? k->sum.digest : NULL);
	if (k->stats)
		json_set(o, "stats", stats_json(&k->res));
	if (k->hist)
		json_set(o, "histogram", hist_json(&k->res.hist));
	if (k->v)
		values_json(o, k);
	if (k->bytes)
		json_set(o, "hex", hex_json(k));
	return cli_print_json(o);
}

/* ---- text ---- */

static void
print_part(const struct task *k, enum inspect_part p)
{
	const struct tensor_part *part = inspect_part_of(k->t, p);

	if (!part)
		return;
	printf("%-13s%s", inspect_part_name(p), dtype_name(part->dtype));
	for (unsigned i = 0; i < part->ndim; i++)
		printf("%s%ju", i ? " x " : " ", (uintmax_t)part->dim[i]);
	printf(", %ju bytes at %ju in ", (uintmax_t)part->len, (uintmax_t)part->off);
	cli_put(k->m->files[part->file].path);
	putchar('\n');
}

static void
print_facts(const struct task *k)
{
	char scheme[SCHEME_NAME_MAX], count[16], size[16];

	printf("name         ");
	cli_put(k->t->name);
	printf("\nshape        ");
	for (unsigned i = 0; i < k->t->ndim; i++)
		printf("%s%ju", i ? " x " : "", (uintmax_t)k->t->dim[i]);
	printf("%s (%s values)\n", k->t->ndim ? "" : "scalar", tb_human_count(k->t->elems, count));
	printf("scheme       %s (%s)\n", scheme_name(&k->t->scheme, scheme),
	       origin_name(k->t->origin));
	printf("size         %s\n", tb_human_bytes(k->t->bytes, size));
	for (enum inspect_part p = 0; p < PART_COUNT; p++)
		print_part(k, p);
}

static void
print_bad(const char *what, uint64_t n, uint64_t first)
{
	printf("%-13s%ju", what, (uintmax_t)n);
	if (n)
		printf(", the first at %ju", (uintmax_t)first);
	putchar('\n');
}

static void
print_stats(const struct inspect_result *r)
{
	const struct inspect_stats *s = &r->stats;
	char rate[16];

	printf("\nmin          %.9g\nmax          %.9g\nabsmax       %.9g\n", s->min, s->max,
	       s->absmax);
	printf("mean         %.9g\nstd          %.9g\n", s->mean, s->std);
	printf("zeros        %ju (%.3g %%)\n", (uintmax_t)s->zeros,
	       s->count ? 100.0 * (double)s->zeros / (double)s->count : 0.0);
	print_bad("NaN", s->nans, s->first_nan);
	print_bad("Inf", s->infs, s->first_inf);
	if (r->seconds > 0)
		printf("read         %s/s\n",
		       tb_human_bytes((uint64_t)((double)r->bytes / r->seconds), rate));
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

static bool
print_values(const struct task *k)
{
	char *align = tb_calloc((size_t)k->win.cols + 2, 1);
	struct cli_table t = { .align = align };

	if (!align)
		return false;
	memset(align, 'r', (size_t)k->win.cols + 1);
	putchar('\n');
	cli_cell(&t, "");
	for (uint64_t c = 0; c < k->win.cols; c++)
		cli_cellf(&t, "%ju", (uintmax_t)(k->win.col + c));
	for (uint64_t i = 0; i < k->win.rows; i++) {
		cli_cellf(&t, "%ju", (uintmax_t)(k->win.row + i));
		for (uint64_t c = 0; c < k->win.cols; c++)
			cli_cellf(&t, "%.6g", (double)k->v[i * k->win.cols + c]);
	}
	if (!cli_table_end(&t)) {
		free(align);
		return false;
	}
	free(align);
	return true;
}

static void
print_hex(const struct task *k)
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

static enum cli_exit
print_text(const struct task *k)
{
	bool good = true;

	print_facts(k);
	if (*k->sum.digest)
		printf("digest       %s\n", k->sum.digest);
	if (k->stats)
		print_stats(&k->res);
	if (k->hist)
		print_hist(&k->res.hist);
	if (k->v)
		good = print_values(k);
	if (k->bytes)
		print_hex(k);
	return good ? CLI_OK : CLI_FAILED;
}

/* ---- the command ---- */

static enum tb_status
run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *k = arg;
	struct inspect_request req = { k->m, k->t, k->hist ? (unsigned)k->bins : 0 };

	return inspect_run(&k->ctx, &req, &k->res, job, err);
}

static enum tb_status
digest(const struct cli *cli, struct task *k, struct tb_err *err)
{
	enum tb_status status;

	k->sum.t = k->t;
	status = cli_digests(cli, &k->ctx, k->m, &k->sum, 1, err);
	if (!status && k->sum.err.code) {
		*err = k->sum.err;
		status = err->code;
	}
	return status;
}

static enum tb_status
work(struct cli *cli, const char *name, struct task *k, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	k->t = model_tensor(k->m, name);
	if (!k->t)
		return tb_fail(err, TB_ENOENT, "%s: no tensor %s", k->m->loc.name, name);
	if (!k->bins || k->bins > INSPECT_BINS_MAX)
		return tb_fail(err, TB_EUSAGE, "--bins: 1 to %d", INSPECT_BINS_MAX);
	if (k->values)
		status = read_values(k, err);
	if (!status && k->hex)
		status = read_hex(k, err);
	if (!status && (k->stats || k->hist))
		status = cli_run(cli, "tensor", run, k, err);
	return status || !k->digest ? status : digest(cli, k, err);
}

enum cli_exit
cli_tensor(struct cli *cli, int argc, char **argv)
{
	struct task k = { .bins = 32 };
	const struct tb_opt opts[] = {
		{ 0, "digest", TB_OPT_FLAG, &k.digest, NULL, "the same wherever the same bytes are" },
		{ 0, "stats", TB_OPT_FLAG, &k.stats, NULL, "statistics over all values" },
		{ 0, "hist", TB_OPT_FLAG, &k.hist, NULL, "a histogram" },
		{ 0, "bins", TB_OPT_U64, &k.bins, "N", "of the histogram (32)" },
		{ 0, "values", TB_OPT_STR, &k.values, "R0:R1,C0:C1",
		  "rows and columns of values, without R1 and C1" },
		{ 0, "hex", TB_OPT_STR, &k.hex, "OFF:LEN", "bytes as they are in the file" },
		{ 0, "part", TB_OPT_STR, &k.part, "PART",
		  "whose bytes: weight, scale, bias or global" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (cli_ctx(cli, &k.ctx, &err))
		return cli_fail(&err);
	if (cli_model(cli, argv[1], &k.m, &err) || work(cli, argv[2], &k, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? print_json(&k) : print_text(&k);
	free(k.v);
	free(k.bytes);
	model_free(k.m);
	op_ctx_free(&k.ctx);
	return status;
}
