/* cmd_tensors.c - "tbtui tensors": the logical tensors of one model, read from its files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/face/words.h"
#include "src/format/json.h"
#include "src/ops/digest/digest.h"

/* ---- order ---- */

typedef int cmp_fn(const struct tensor *a, const struct tensor *b);

#define DOWN(field) ((a->field < b->field) - (a->field > b->field))
#define UP(field) ((a->field > b->field) - (a->field < b->field))

static int
order_name(const struct tensor *a, const struct tensor *b)
{
	return tb_natural_cmp(a->name, b->name);
}

static int
order_size(const struct tensor *a, const struct tensor *b)
{
	return DOWN(bytes);
}

static int
order_params(const struct tensor *a, const struct tensor *b)
{
	return DOWN(elems);
}

static int
order_dtype(const struct tensor *a, const struct tensor *b)
{
	return UP(weight.dtype);
}

static int
order_scheme(const struct tensor *a, const struct tensor *b)
{
	char x[SCHEME_NAME_MAX], y[SCHEME_NAME_MAX];

	return strcmp(scheme_name(&a->scheme, x), scheme_name(&b->scheme, y));
}

static int
order_offset(const struct tensor *a, const struct tensor *b)
{
	return UP(weight.file) ? UP(weight.file) : UP(weight.off);
}

static const struct { const char *key; cmp_fn *cmp; } orders[] = {
	{ "name", order_name }, { "size", order_size }, { "params", order_params }, { "dtype", order_dtype },
	{ "scheme", order_scheme }, { "offset", order_offset },
};

struct tensor_row {
	const struct tensor *t;
	cmp_fn *cmp;
	const struct digest_item *sum;	/* NULL: not asked for */
};

static int
tensor_row_cmp(const void *a, const void *b)
{
	const struct tensor_row *x = a, *y = b;
	int d = x->cmp(x->t, y->t);

	return d ? d : (x->t > y->t) - (x->t < y->t);	/* natural order of names */
}

/* ---- output ---- */

void
cli_set_shape(cJSON *o, const char *key, const uint64_t *dim, unsigned ndim)
{
	cJSON *a = json_array();

	for (unsigned i = 0; i < ndim; i++)
		json_push_u64(a, dim[i]);
	json_set(o, key, a);
}

static void
part_json(cJSON *list, const struct model *m, const char *kind, const struct tensor_part *p)
{
	cJSON *o = json_object();

	json_set_str(o, "kind", kind);
	json_set_str(o, "dtype", dtype_name(p->dtype));
	cli_set_shape(o, "shape", p->dim, p->ndim);
	json_set_u64(o, "bytes", p->len);
	json_set_str(o, "file", m->files[p->file].path);
	json_set_u64(o, "offset", p->off);
	json_push(list, o);
}

void
cli_tensor_json(cJSON *o, const struct model *m, const struct tensor *t)
{
	cJSON *parts = json_array();
	char scheme[SCHEME_NAME_MAX];

	json_set_str(o, "name", t->name);
	json_set_str(o, "dtype", tensor_dtype(t));
	cli_set_shape(o, "shape", t->dim, t->ndim);
	json_set_str(o, "scheme", scheme_name(&t->scheme, scheme));
	json_set_u64(o, "group_size", t->scheme.group);
	json_set_u64(o, "bytes", t->bytes);
	json_set_str(o, "file", m->files[t->weight.file].path);
	json_set_u64(o, "offset", t->weight.off);
	if (t->has_scale)
		part_json(parts, m, "scale", &t->scale);
	if (t->has_bias)
		part_json(parts, m, scheme_foreign(&t->scheme) ? "zeros" : "bias", &t->bias);
	if (t->has_global)
		part_json(parts, m, "global_scale", &t->global);
	if (t->has_order)
		part_json(parts, m, "order", &t->order);
	json_set(o, "companions", parts);
	json_set_u64(o, "parameters", t->elems);
	cli_set_shape(o, "stored_shape", t->weight.dim, t->weight.ndim);
	json_set_str(o, "origin", origin_name(t->origin));
}

static enum cli_exit
tensors_json(const struct model *m, const struct tensor_row *rows, size_t n)
{
	cJSON *o = json_object(), *list = json_array();

	json_set_str(o, "model", m->loc.name);
	for (size_t i = 0; i < n; i++) {
		cJSON *row = json_object();

		cli_tensor_json(row, m, rows[i].t);
		if (rows[i].sum)
			json_set_str(row, "digest", *rows[i].sum->digest ? rows[i].sum->digest : NULL);
		json_push(list, row);
	}
	json_set(o, "tensors", list);
	return cli_print_json(o);
}

static void
tensors_row(struct cli_table *t, const struct tensor_row *row)
{
	const struct tensor *x = row->t;
	char shape[WORD_MAX], scheme[SCHEME_NAME_MAX], count[16], size[16];

	cli_cells(t, x->name, tensor_dtype(x), word_shape(x->dim, x->ndim, " x ", shape),
		  scheme_name(&x->scheme, scheme), tb_human_count(x->elems, count),
		  tb_human_bytes(x->bytes, size), NULL);
	if (row->sum)
		cli_cell(t, *row->sum->digest ? row->sum->digest : "-");
}

static enum cli_exit
tensors_text(const struct cli *cli, const struct tensor_row *rows, size_t n)
{
	bool sums = n && rows->sum;
	struct cli_table t = { .align = sums ? "mlllrre" : "mlllrr", .wide = cli->wide,
			       .drop = sums ? "0523410" : "052341" };

	if (n)
		cli_cells(&t, "NAME", "DTYPE", "SHAPE", "SCHEME", "PARAMS", "SIZE",
			  sums ? "DIGEST" : NULL, NULL);
	for (size_t i = 0; i < n; i++)
		tensors_row(&t, &rows[i]);
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static bool
matches(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?[") ? tb_glob(pattern, name) : tb_contains(name, pattern);
}

struct tensors_task {
	const struct model *m;
	const char *pattern;
	cmp_fn *cmp;
	bool digests;
};

/* *items is the caller's to free, also when this fails. */
static enum tb_status
add_digests(const struct cli *cli, const struct tensors_task *k, struct tensor_row *rows, size_t n,
	    struct digest_item **items, struct tb_err *err)
{
	struct op_ctx ctx;
	enum tb_status status;

	*items = tb_calloc(n, sizeof(**items));
	if (!*items)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++) {
		(*items)[i].t = rows[i].t;
		rows[i].sum = &(*items)[i];
	}
	status = cli_ctx(cli, &ctx, err);
	if (status)
		return status;
	status = cli_digests(cli, &ctx, k->m, *items, n, err);
	op_ctx_free(&ctx);
	return status;
}

static enum cli_exit
tensors_print(const struct cli *cli, const struct tensors_task *k)
{
	const struct model *m = k->m;
	struct tensor_row *rows = tb_calloc(m->ntensors + 1, sizeof(*rows));
	struct digest_item *items = NULL;
	enum cli_exit status;
	struct tb_err err;
	size_t n = 0;

	if (!rows) {
		(void)tb_nomem(&err);
		return cli_fail(&err);
	}
	for (size_t i = 0; i < m->ntensors; i++)
		if (matches(k->pattern, m->tensors[i].name))
			rows[n++] = (struct tensor_row){ &m->tensors[i], k->cmp, NULL };
	if (n)
		qsort(rows, n, sizeof(*rows), tensor_row_cmp);
	if (k->digests && n && add_digests(cli, k, rows, n, &items, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? tensors_json(m, rows, n) : tensors_text(cli, rows, n);
	for (size_t i = 0; i < m->nproblems; i++)
		cli_note(cli, m->problems[i].message);
	for (size_t i = 0; i < n && items && status == CLI_OK; i++)
		status = *items[i].digest ? CLI_OK : CLI_FAILED;
	free(items);
	free(rows);
	if (!n && k->pattern && m->ntensors && !cli->json)
		cli_note(cli, "no tensor of the model has a name like that");
	/* Nothing listed is not fine, but for a vocabulary, which GGUF files may be alone. */
	if (status == CLI_OK && ((!n && (k->pattern || !model_has_keys(m))) || m->nproblems))
		status = CLI_WRONG;
	return status;
}

COMMAND(cli_tensors, "tensors", "[REF]", "the tensors of a model")
{
	struct tensors_task k = { 0 };
	const char *key = NULL;
	bool copies = false;
	const struct tb_opt opts[] = {
		{ 'f', "filter", TB_OPT_STR, &k.pattern, "PATTERN",
		  "a part of the name, or a glob" },
		{ 'S', "sort", TB_OPT_STR, &key, "KEY",
		  "name, size, params, dtype, scheme or offset" },
		{ 0, "digests", TB_OPT_FLAG, &k.digests, NULL,
		  "with what is the same wherever the same bytes are" },
		{ 0, "duplicates", TB_OPT_FLAG, &copies, NULL,
		  "without REF: those with kept digests that are on the disk more than once" },
		{ .name = NULL }
	};
	struct model *m = NULL;
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &status))
		return status;
	if (copies != (argc == 1))
		return cli_usage("tensors: a REF, or --duplicates without one");
	if (copies)
		return cli_copies(cli, false);
	k.cmp = key ? NULL : order_name;
	for (size_t i = 0; key && i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(key, orders[i].key))
			k.cmp = orders[i].cmp;
	if (!k.cmp)
		return cli_usage("--sort: name, size, params, dtype, scheme or offset");
	if (cli_model(cli, argv[1], &m, &err))
		return cli_fail(&err);
	k.m = m;
	status = tensors_print(cli, &k);
	model_free(m);
	return status;
}
