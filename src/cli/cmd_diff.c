/* cmd_diff.c - "tbtui diff": two models, tensor by tensor. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/problems.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/face/words.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/diff/diff.h"

struct diff_task {
	struct op_ctx ctx;
	struct model *a, *b;
	struct diff_request req;
	struct diff_result res;
	bool all;			/* also what is the same */
	const char *sort;
};

/* ---- order ---- */

static int
diff_row_cmp(const void *a, const void *b, void *order)
{
	const struct diff_row *x = *(const struct diff_row *const *)a;
	const struct diff_row *y = *(const struct diff_row *const *)b;
	int d = diff_order(order)(x, y);

	return d ? d : (x > y) - (x < y);
}

/* ---- JSON ---- */

static cJSON *
side_json(const struct model *m, const struct diff_side *s)
{
	cJSON *o;
	char scheme[SCHEME_NAME_MAX];

	if (!s->t)
		return NULL;
	o = json_object();
	json_set_str(o, "name", s->t->name);
	if (s->expert != DIFF_WHOLE)
		json_set_u64(o, "expert", s->expert);
	cli_set_shape(o, "shape", s->dim, s->ndim);
	json_set_str(o, "dtype", dtype_name(s->t->weight.dtype));
	json_set_str(o, "scheme", scheme_name(&s->t->scheme, scheme));
	json_set_str(o, "file", m->files[s->t->weight.file].path);
	return o;
}

static void
set_place(cJSON *o, const char *key, uint64_t at)
{
	if (at == COMPARE_NONE)
		json_set_str(o, key, NULL);
	else
		json_set_u64(o, key, at);
}

static void
set_figures(cJSON *o, const struct compare *c)
{
	json_set_u64(o, "values", c->n);
	json_set_u64(o, "unequal", c->unequal);
	set_place(o, "first_unequal", c->first);
	json_set_u64(o, "nonfinite", c->odd);
	set_place(o, "first_nonfinite", c->first_odd);
	json_set_f64(o, "cosine", compare_cos(c));
	json_set_f64(o, "nmse", compare_nmse(c));
	json_set_f64(o, "max_abs_error", c->max);
	set_place(o, "max_abs_error_at", c->max_at);
}

static cJSON *
row_json(const struct diff_task *k, const struct diff_row *r)
{
	cJSON *o = json_object(), *a = side_json(k->a, &r->a), *b = side_json(k->b, &r->b);

	json_set_str(o, "name", r->name);
	json_set_str(o, "canonical", r->canon);
	json_set_str(o, "result", diff_word(r->verdict));
	if (a)
		json_set(o, "a", a);
	if (b)
		json_set(o, "b", b);
	if (a && b) {
		json_set_bool(o, "recoded", r->recoded);
		json_set_bool(o, "reshaped", r->reshaped);
		json_set_bool(o, "read", !r->known);
	}
	if (r->c.n)
		set_figures(o, &r->c);
	if (*r->message)
		json_set_str(o, "message", r->message);
	return o;
}

static enum cli_exit
diff_json(const struct diff_task *k, const struct diff_row *const *rows, size_t n)
{
	const struct diff_result *r = &k->res;
	cJSON *o = json_object(), *list = json_array(), *counts = json_object(), *all;

	json_set_str(o, "a", k->a->loc.name);
	json_set_str(o, "b", k->b->loc.name);
	json_set_bool(o, "same", diff_same(r));
	for (enum diff_verdict v = 0; v < DIFF_VERDICTS; v++)
		json_set_u64(counts, diff_word(v), r->count[v]);
	json_set(o, "counts", counts);
	if (r->all.n) {
		all = json_object();
		set_figures(all, &r->all);
		json_set(o, "all", all);
	}
	for (size_t i = 0; i < n; i++)
		json_push(list, row_json(k, rows[i]));
	json_set(o, "tensors", list);
	json_set_u64(o, "bytes_read", r->read);
	json_set_u64(o, "bytes_spared", r->spared);
	json_set_f64(o, "seconds", r->seconds);
	return cli_print_json(o);
}

/* ---- text ---- */

/* Both schemes where they differ: "BF16 int4". */
static void
diff_row(struct cli_table *t, const struct diff_row *r)
{
	const struct tensor *a = r->a.t, *b = !a || r->recoded ? r->b.t : NULL;
	const struct diff_side *s = &r->a;
	uint64_t cols = s->ndim > 1 ? s->dim[s->ndim - 1] : 0, at = r->c.max_at;
	char x[WORD_MAX], y[WORD_MAX];

	cli_cells(t, r->name, diff_text(r->verdict), NULL);
	cli_cellf(t, "%s%s%s", a ? scheme_name(&a->scheme, x) : "", a && b ? " " : "",
		  b ? scheme_name(&b->scheme, y) : "");
	if (r->c.odd)
		cli_cellf(t, "%ju NaN/Inf", (uintmax_t)r->c.odd);
	else if (r->c.n)
		cli_cellf(t, "%.6f", compare_cos(&r->c));
	else if (r->verdict == DIFF_SHAPE)
		cli_cellf(t, "%s %s", word_shape(r->a.dim, r->a.ndim, "x", x),
			  word_shape(r->b.dim, r->b.ndim, "x", y));
	else
		cli_cell(t, "");
	cli_cellf(t, r->c.n ? "%.2e" : "", compare_nmse(&r->c));
	cli_cellf(t, r->c.n ? "%.3g" : "", r->c.max);
	if (at == COMPARE_NONE)
		cli_cell(t, "");
	else if (cols)		/* row and column, or the only index */
		cli_cellf(t, "%ju,%ju", (uintmax_t)(at / cols), (uintmax_t)(at % cols));
	else
		cli_cell_u64(t, at);
}

static bool
diff_rows(const struct cli *cli, const struct diff_row *const *rows, size_t n)
{
	struct cli_table t = { .align = "mllrrrr", .drop = "0012013", .wide = cli->wide };

	if (n)
		cli_cells(&t, "TENSOR", "RESULT", "SCHEMES", "COSINE", "NMSE", "MAX ERROR", "AT",
			  NULL);
	for (size_t i = 0; i < n; i++)
		diff_row(&t, rows[i]);
	return cli_table_end(&t);
}

static void
diff_summary(const struct diff_task *k)
{
	const struct diff_result *r = &k->res;
	bool any = false;
	char text[16];

	printf("%zu tensor%s", r->n, tb_plural(r->n));
	for (enum diff_verdict v = DIFF_VERDICTS; v-- > 0;)
		if (r->count[v]) {
			printf("%s %ju %s", any ? "," : ":", (uintmax_t)r->count[v], diff_text(v));
			any = true;
		}
	putchar('\n');
	if (r->all.unequal)
		printf("all that was compared: cosine %.6f, NMSE %.3g, max error %.4g\n",
		       compare_cos(&r->all), compare_nmse(&r->all), r->all.max);
	if (r->spared)
		printf("%s not read: known to be the same\n", tb_human_bytes(r->spared, text));
}

static enum cli_exit
diff_print(const struct cli *cli, const struct diff_task *k)
{
	const struct diff_result *r = &k->res;
	const struct diff_row **rows = tb_calloc(r->n + 1, sizeof(*rows));
	enum cli_exit status = CLI_OK;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (*r->rows[i].message)
			cli_note(cli, r->rows[i].message);
	for (size_t i = 0; rows && i < r->n; i++)
		if (k->all || r->rows[i].verdict != DIFF_SAME)
			rows[n++] = &r->rows[i];
	if (n > 1)
		qsort_r(rows, n, sizeof(*rows), diff_row_cmp, (void *)k->sort);
	if (!rows)
		cli_lost();
	else if (cli->json)
		status = diff_json(k, rows, n);
	else if (!cli->quiet && !diff_rows(cli, rows, n))
		status = CLI_FAILED;
	else if (!cli->quiet)
		diff_summary(k);
	free(rows);
	if (status != CLI_OK)
		return status;
	return r->count[DIFF_UNREADABLE] ? CLI_FAILED : diff_same(r) ? CLI_OK : CLI_WRONG;
}

/* ---- the command ---- */

static enum tb_status
diff_work(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct diff_task *k = arg;

	return op_diff(&k->ctx, &k->req, job, &k->res, err);
}

static enum tb_status
diff_models(struct cli *cli, struct diff_task *k, char **argv, struct tb_err *err)
{
	enum tb_status status;

	if (!diff_order(k->sort))
		return tb_fail(err, TB_EUSAGE, "--sort: name, nmse, max, cos, size or result");
	status = cli_model(cli, argv[1], &k->a, err);
	if (!status)
		status = cli_model(cli, argv[2], &k->b, err);
	if (status)
		return status;
	k->req.a = k->a;
	k->req.b = k->b;
	status = cli_run(cli, "diff", diff_work, k, err);
	if (!status && !k->res.n)
		status = tb_fail(err, TB_ENOENT, "diff: no tensor%s%s to compare",
				 k->req.filter ? " with " : "", k->req.filter ? k->req.filter : "");
	return status;
}

COMMAND(cli_diff, "diff", "REF REF",
	"compare two models tensor by tensor, across formats")
{
	struct diff_task k = { .sort = "name" };
	bool values = false, bytes = false;
	const struct tb_opt opts[] = {
		{ 'f', "filter", TB_OPT_STR, &k.req.filter, "PATTERN",
		  "a part of the name, or a glob" },
		{ 0, "values", TB_OPT_FLAG, &values, NULL,
		  "compare values, however they are stored (the default)" },
		{ 0, "bytes", TB_OPT_FLAG, &bytes, NULL,
		  "compare bytes only; no figures" },
		{ 0, "read", TB_OPT_FLAG, &k.req.reread, NULL,
		  "read everything, even where digests settle it" },
		{ 'a', "all", TB_OPT_FLAG, &k.all, NULL, "also list what is the same" },
		{ 'S', "sort", TB_OPT_STR, &k.sort, "KEY",
		  "name, nmse, max, cos, size or result: worst first" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (values && bytes)
		return cli_usage("diff: one of --values, --bytes");
	k.req.mode = bytes ? DIFF_BY_BYTES : DIFF_BY_VALUE;
	if (cli_ctx(cli, &k.ctx, &err))
		return cli_fail(&err);
	if (diff_models(cli, &k, argv, &err))
		status = cli_fail(&err);
	else {
		status = diff_print(cli, &k);
		/* a part that cannot be read is not compared: what is left may be the same */
		if (cli_problems_note(cli, k.a) | cli_problems_note(cli, k.b))
			status = CLI_FAILED;
	}
	diff_result_free(&k.res);
	model_free(k.a);
	model_free(k.b);
	op_ctx_free(&k.ctx);
	return status;
}
