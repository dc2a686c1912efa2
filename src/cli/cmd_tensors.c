/* cmd_tensors.c - "tbtui tensors": the logical tensors of one model, read from its files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/far.h"
#include "src/cli/index.h"
#include "src/cli/problems.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/face/words.h"
#include "src/format/json.h"
#include "src/ops/digest/digest.h"

/* ---- order ---- */

/* id, name of the key */
#define ORDER_LIST(X) \
	X(BY_NAME, "name") \
	X(BY_SIZE, "size") \
	X(BY_PARAMS, "params") \
	X(BY_DTYPE, "dtype") \
	X(BY_SCHEME, "scheme") \
	X(BY_OFFSET, "offset")
#define X(id, key) id,
enum tensors_order { ORDER_LIST(X) ORDER_COUNT };
#undef X
#define X(id, key) [id] = key,
static const char *const order_keys[] = { ORDER_LIST(X) };
#undef X

struct tensor_row {
	const struct tensor *t;
	const struct digest_item *sum;	/* NULL: not asked for */
};

#define UP(field) ((a->field > b->field) - (a->field < b->field))

static int
tensor_row_cmp(const void *x, const void *y, void *order)
{
	const struct tensor *a = ((const struct tensor_row *)x)->t;
	const struct tensor *b = ((const struct tensor_row *)y)->t;
	char one[SCHEME_NAME_MAX], other[SCHEME_NAME_MAX];
	int d = 0;

	switch (*(const enum tensors_order *)order) {
	case BY_NAME: d = tb_natural_cmp(a->name, b->name); break;
	case BY_SIZE: d = -UP(bytes); break;
	case BY_PARAMS: d = -UP(elems); break;
	case BY_DTYPE: d = UP(weight.dtype); break;
	case BY_SCHEME:
		d = strcmp(scheme_name(&a->scheme, one), scheme_name(&b->scheme, other));
		break;
	case BY_OFFSET: d = UP(weight.file) ? UP(weight.file) : UP(weight.off); break;
	case ORDER_COUNT: break;
	}
	return d ? d : (a > b) - (a < b);	/* natural order of names */
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
	json_set_str(o, "file", model_file_place(&m->files[p->file]));
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
	json_set_str(o, "file", model_file_place(&m->files[t->weight.file]));
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

struct tensors_task {
	const struct model *m;
	const char *pattern;
	enum tensors_order order;
	bool digests;
	struct cli_far far;
};

static enum cli_exit
tensors_json(const struct tensors_task *k, const struct tensor_row *rows, size_t n)
{
	cJSON *o = json_object(), *list = json_array();
	const struct model *m = k->m;

	json_set_str(o, "model", m->loc.name);
	cli_far_json(&k->far, o);
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

static enum cli_exit
tensors_text(const struct cli *cli, const struct tensor_row *rows, size_t n)
{
	bool sums = n && rows->sum;
	struct cli_table t = { .align = sums ? "mlllrre" : "mlllrr", .wide = cli->wide,
			       .drop = sums ? "0523410" : "052341" };

	if (n)
		cli_cells(&t, "NAME", "DTYPE", "SHAPE", "SCHEME", "PARAMS", "SIZE",
			  sums ? "DIGEST" : NULL, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct tensor *x = rows[i].t;
		char shape[WORD_MAX], scheme[SCHEME_NAME_MAX], count[16], size[16];

		cli_cells(&t, x->name, tensor_dtype(x), word_shape(x->dim, x->ndim, " x ", shape),
			  scheme_name(&x->scheme, scheme), tb_human_count(x->elems, count),
			  tb_human_bytes(x->bytes, size), NULL);
		if (sums)
			cli_cell(&t, *rows[i].sum->digest ? rows[i].sum->digest : "-");
	}
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

struct digest_task {
	struct op_ctx *ctx;
	struct digest_request req;
	struct digest_result res;
};

static enum tb_status
run_digest(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct digest_task *k = arg;

	return op_digest(k->ctx, &k->req, job, &k->res, err);
}

enum tb_status
cli_digests(const struct cli *cli, struct op_ctx *ctx, const struct model *m,
	    struct digest_item *items, size_t n, struct tb_err *err)
{
	struct digest_task k = { .ctx = ctx, .req = { .model = m, .items = items, .n = n } };
	enum tb_status status = cli_run(cli, "digest", run_digest, &k, err);

	if (status)
		return status;
	cli_note(cli, k.res.notice);
	for (size_t i = 0; i < n; i++)
		if (items[i].err.code)
			cli_note(cli, items[i].err.msg);
	return TB_OK;
}

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
tensors_print(const struct cli *cli, struct tensors_task *k)
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
		if (!k->pattern || (strpbrk(k->pattern, "*?[")
				    ? tb_glob(k->pattern, m->tensors[i].name)
				    : tb_contains(m->tensors[i].name, k->pattern)))
			rows[n++].t = &m->tensors[i];
	if (n)
		qsort_r(rows, n, sizeof(*rows), tensor_row_cmp, &k->order);
	if (k->digests && n && add_digests(cli, k, rows, n, &items, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? tensors_json(k, rows, n) : tensors_text(cli, rows, n);
	(void)cli_problems_note(cli, m);
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

COMMAND(cli_tensors, "tensors", "[REF]", "list the tensors of a model")
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
		  "add a digest of each tensor: equal bytes have equal digests" },
		FAR_OPTS(k.far),
		{ 0, "duplicates", TB_OPT_FLAG, &copies, NULL,
		  "without REF: tensors with recorded digests that are on the disk "
		  "more than once" },
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
	while (key && k.order < ORDER_COUNT && strcmp(key, order_keys[k.order]))
		k.order++;
	if (k.order == ORDER_COUNT)
		return cli_usage("--sort: name, size, params, dtype, scheme or offset");
	if (k.far.on && k.digests)
		return cli_usage("tensors: --digests reads all of the model: pull it first");
	if (cli_far_model(cli, &k.far, argv[1], &m, &err)) {
		status = cli_fail(&err);
	} else {
		k.m = m;
		status = tensors_print(cli, &k);
		cli_far_note(cli, &k.far);
	}
	model_free(m);
	cli_far_end(&k.far);
	return status;
}
