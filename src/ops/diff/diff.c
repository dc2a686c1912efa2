#include "config.h"

#include "src/ops/diff/diff.h"

#include <string.h>

#include "src/base/text.h"
#include "src/ops/diff/diff_run.h"

#define X(id, word, text) [id] = { word, text },
static const struct { const char *word, *text; } verdicts[] = { DIFF_LIST(X) };
#undef X

const char *
diff_word(enum diff_verdict v)
{
	return verdicts[v].word;
}

const char *
diff_text(enum diff_verdict v)
{
	return verdicts[v].text;
}

bool
diff_same(const struct diff_result *r)
{
	return r->count[DIFF_SAME] + r->count[DIFF_SAME_VALUES] == r->n;
}

void
diff_result_free(struct diff_result *r)
{
	tb_arena_free(&r->mem);
	*r = (struct diff_result){ 0 };
}

enum tb_status
op_diff(struct op_ctx *ctx, const struct diff_request *req, struct tb_job *job,
	struct diff_result *out, struct tb_err *err)
{
	double start = tb_monotonic();
	enum tb_status status;

	*out = (struct diff_result){ 0 };
	status = diff_match(req, out, err);
	if (!status)
		status = diff_known(ctx, req, out, err);
	/* Equal bytes of other encodings do not exist. */
	for (size_t i = 0; i < out->n && !status && req->mode == DIFF_BY_BYTES; i++)
		out->rows[i].known |= out->rows[i].verdict == DIFF_VALUES &&
				      !diff_same_coding(&out->rows[i]);
	if (!status)
		status = diff_compare(ctx, req, job, out, err);
	if (status) {
		diff_result_free(out);
		return status;
	}
	for (size_t i = 0; i < out->n; i++)
		out->count[out->rows[i].verdict]++;
	out->seconds = tb_monotonic() - start;
	return TB_OK;
}

/* ---- orders ---- */

static int
order_by_name(const struct diff_row *a, const struct diff_row *b)
{
	int d = tb_natural_cmp(a->name, b->name);

	return d ? d : strcmp(a->canon, b->canon);
}

static int
order_by_result(const struct diff_row *a, const struct diff_row *b)
{
	return (a->verdict > b->verdict) - (a->verdict < b->verdict);
}

/* Rows with figures come before those without; NaN counts as the worst of figures. */
static int
worse(const struct diff_row *a, const struct diff_row *b, double x, double y)
{
	if ((a->c.n > 0) != (b->c.n > 0))
		return a->c.n > 0 ? -1 : 1;
	if ((x != x) != (y != y))
		return x != x ? -1 : 1;
	return (x < y) - (x > y);
}

static int
order_by_nmse(const struct diff_row *a, const struct diff_row *b)
{
	return worse(a, b, compare_nmse(&a->c), compare_nmse(&b->c));
}

static int
order_by_max(const struct diff_row *a, const struct diff_row *b)
{
	return worse(a, b, a->c.max, b->c.max);
}

static int
order_by_cos(const struct diff_row *a, const struct diff_row *b)
{
	return worse(a, b, -compare_cos(&a->c), -compare_cos(&b->c));
}

static int
order_by_size(const struct diff_row *a, const struct diff_row *b)
{
	uint64_t x = a->a.t ? a->a.elems : a->b.elems, y = b->a.t ? b->a.elems : b->b.elems;

	return (x < y) - (x > y);
}

static const struct { const char *key; diff_cmp_fn *cmp; } orders[] = {
	{ "name", order_by_name }, { "nmse", order_by_nmse }, { "max", order_by_max },
	{ "cos", order_by_cos }, { "size", order_by_size }, { "result", order_by_result },
};

diff_cmp_fn *
diff_order(const char *key)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(key, orders[i].key))
			return orders[i].cmp;
	return NULL;
}
