/* tensor_json.c - "tbtui tensor --json". */
#include "config.h"

#include "src/cli/tensor_task.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/tensors.h"
#include "src/format/json.h"

static void
set_index(cJSON *o, const char *key, uint64_t index)
{
	if (index == INSPECT_NONE)
		json_set_str(o, key, NULL);
	else
		json_set_u64(o, key, index);
}

/* Where the first of its kind is, as people and other tools count. */
static void
set_position(cJSON *o, const char *key, const struct tensor *t, uint64_t index)
{
	struct inspect_place p;
	cJSON *at;

	if (index == INSPECT_NONE)
		return;
	inspect_place(t, index, &p);
	at = json_object();
	json_set_u64(at, "row", p.row);
	json_set_u64(at, "col", p.col);
	json_set_u64(at, "offset", p.off);
	json_set(o, key, at);
}

static cJSON *
quantiles_json(const struct inspect_dist *d)
{
	cJSON *o = json_object();
	char key[16];

	for (unsigned i = 0; i < INSPECT_QUANTILES; i++) {
		snprintf(key, sizeof(key), "p%g", 100 * inspect_shares[i]);
		json_set_f64(o, key, d->quantile[i]);
	}
	json_set_u64(o, "counted", d->counted);
	json_set_bool(o, "exact", d->exact);
	return o;
}

static cJSON *
stats_json(const struct inspect_result *r, const struct tensor *t)
{
	const struct value_stats *s = &r->stats;
	cJSON *o = json_object();
	char when[32];

	json_set_u64(o, "count", s->count);
	json_set_u64(o, "zeros", s->zeros);
	json_set_u64(o, "nans", s->nans);
	json_set_u64(o, "infs", s->infs);
	set_index(o, "first_nan", s->first_nan);
	set_index(o, "first_inf", s->first_inf);
	set_position(o, "first_nan_at", t, s->first_nan);
	set_position(o, "first_inf_at", t, s->first_inf);
	json_set_f64(o, "min", s->min);
	json_set_f64(o, "max", s->max);
	json_set_f64(o, "absmax", s->absmax);
	json_set_f64(o, "mean", s->mean);
	json_set_f64(o, "std", s->std);
	json_set(o, "quantiles", quantiles_json(&r->dist));
	json_set_f64(o, "seconds", r->seconds);
	json_set_str(o, "kept", r->kept_ns ? tb_time_rfc3339(r->kept_ns, when) : NULL);
	return o;
}

static cJSON *
pair_json(uint64_t a, uint64_t b)
{
	cJSON *pair = json_array();

	json_push_u64(pair, a);
	json_push_u64(pair, b);
	return pair;
}

static void
cells_json(cJSON *o, const struct heat *h, bool max)
{
	cJSON *rows = json_array();

	for (unsigned r = 0; r < h->rows; r++) {
		cJSON *row = json_array();

		for (unsigned c = 0; c < h->cols; c++) {
			const struct heat_cell *cell = &h->cell[r * h->cols + c];

			json_push_f64(row, (double)(max ? cell->max : cell->mean));
		}
		json_push(rows, row);
	}
	json_set(o, max ? "max" : "mean", rows);
}

static void
values_json(cJSON *o, const struct tensor_task *k)
{
	cJSON *rows = json_array();

	for (uint64_t i = 0; i < k->win.rows; i++) {
		cJSON *row = json_array();

		for (uint64_t c = 0; c < k->win.cols; c++)
			json_push_f64(row, (double)k->v[i * k->win.cols + c]);
		json_push(rows, row);
	}
	json_set(o, "rows", pair_json(k->win.row, k->win.row + k->win.rows));
	json_set(o, "cols", pair_json(k->win.col, k->win.col + k->win.cols));
	json_set(o, "values", rows);
}

static cJSON *
hex_json(const struct tensor_task *k)
{
	struct tb_buf hex = TB_BUF(2 * TENSOR_HEX_MAX);
	cJSON *o = json_object();

	for (uint64_t i = 0; i < k->len; i++)
		tb_buf_printf(&hex, "%02x", k->bytes[i]);
	json_set_str(o, "part", inspect_part_name(k->of));
	json_set_u64(o, "offset", k->off);
	json_set_buf(o, "bytes", &hex);
	tb_buf_free(&hex);
	return o;
}

static cJSON *
numbers_json(const double *v, unsigned n)
{
	cJSON *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_push_f64(a, v[i]);
	return a;
}

static cJSON *
block_json(const struct tensor_task *k)
{
	const struct block *b = &k->taken;
	cJSON *o = json_object(), *fields = json_object();
	double v[BLOCK_VALUES];

	json_set_u64(o, "index", b->index);
	json_set_u64(o, "blocks", block_count(k->t));
	json_set_u64(o, "first", b->first);
	json_set_u64(o, "offset", k->t->weight.off + b->off);
	json_set_u64(o, "bytes", b->len);
	for (unsigned i = 0; i < b->nfields; i++)
		json_set(fields, b->field[i].name, numbers_json(b->field[i].v, b->field[i].n));
	json_set(o, "fields", fields);
	for (unsigned i = 0; i < b->n; i++)
		v[i] = (double)b->value[i];
	json_set(o, "values", numbers_json(v, b->n));
	return o;
}

enum cli_exit
tensor_json(const struct tensor_task *k)
{
	cJSON *o = json_object(), *part, *list;
	const struct heat *h = &k->map;

	json_set_str(o, "model", k->m->loc.name);
	cli_tensor_json(o, k->m, k->t);
	if (k->digest)
		json_set_str(o, "digest", *k->sum.digest ? k->sum.digest : NULL);
	if (k->stats)
		json_set(o, "stats", stats_json(&k->res, k->t));
	if (k->hist) {
		part = json_object();
		list = json_array();
		json_set_f64(part, "lo", k->res.hist.lo);
		json_set_f64(part, "hi", k->res.hist.hi);
		for (unsigned i = 0; i < k->res.hist.n; i++)
			json_push_u64(list, k->res.hist.count[i]);
		json_set(part, "counts", list);
		json_set(o, "histogram", part);
	}
	if (k->heat) {
		part = json_object();
		list = json_array();
		cells_json(part, h, false);
		cells_json(part, h, true);
		for (unsigned i = 0; i < h->rows * h->cols; i++)
			if (h->cell[i].bad)
				json_push(list, pair_json(i / h->cols, i % h->cols));
		json_set(part, "not_finite", list);
		json_set(o, "heat", part);
	}
	if (k->v)
		values_json(o, k);
	if (k->bytes)
		json_set(o, "hex", hex_json(k));
	if (k->block)
		json_set(o, "block", block_json(k));
	cli_far_json(&k->far, o);
	return cli_print_json(o);
}
