/* show_sizes.c - parameters by group and scheme, and the memory that a run takes. */
#include "config.h"

#include "src/cli/show.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/table.h"

/* ---- parameters ---- */

static void
sum_cells(struct cli_table *t, const struct param_sum *s, bool active)
{
	char text[16];

	cli_cell_u64(t, s->tensors);
	cli_cell(t, tb_human_count(s->params, text));
	cli_cell(t, tb_human_bytes(s->bytes, text));
	cli_cell(t, active ? tb_human_count(s->active, text) : "");
}

static bool
groups_text(const struct show *s)
{
	const struct params *p = &s->figures.params;
	bool active = p->total.active != p->total.params;
	struct cli_table t = { .align = "lrrrr", .drop = "02013", .wide = s->cli->wide };
	struct tb_buf line = TB_BUF(1024);

	figures_params(p, &line);
	printf("\nParameters\n%s\n", tb_buf_cstr(&line));
	tb_buf_free(&line);
	cli_cells(&t, "GROUP", "TENSORS", "PARAMS", "SIZE", active ? "ACTIVE" : "", NULL);
	for (int g = 0; g < TNAME_ROLES; g++) {
		if (!p->group[g].tensors)
			continue;
		cli_cell(&t, tname_role_words((enum tname_role)g));
		sum_cells(&t, &p->group[g], active);
	}
	cli_cell(&t, "Total");
	sum_cells(&t, &p->total, active);
	return cli_table_end(&t);
}

bool
show_params(const struct show *s)
{
	struct cli_table t = { .align = "lrrrr", .drop = "02013", .wide = s->cli->wide };

	if (!s->figures.params.total.tensors)
		return true;
	if (!groups_text(s))
		return false;
	printf("\nTensors by scheme\n");
	cli_cells(&t, "SCHEME", "TENSORS", "PARAMS", "SIZE", "", NULL);
	for (size_t i = 0; i < s->figures.params.nschemes; i++) {
		char name[SCHEME_NAME_MAX];

		cli_cell(&t, scheme_name(&s->figures.params.scheme[i].scheme, name));
		sum_cells(&t, &s->figures.params.scheme[i].sum, false);
	}
	return cli_table_end(&t);
}

static cJSON *
sum_json(const struct param_sum *s)
{
	cJSON *o = json_object();

	json_set_u64(o, "tensors", s->tensors);
	json_set_u64(o, "parameters", s->params);
	json_set_u64(o, "bytes", s->bytes);
	json_set_u64(o, "active_parameters", s->active);
	json_set_u64(o, "bytes_per_token", s->read);
	return o;
}

void
show_set_params(const struct show *s, cJSON *o)
{
	const struct params *p = &s->figures.params;
	cJSON *groups = json_object(), *schemes = json_array();

	for (int g = 0; g < TNAME_ROLES; g++)
		if (p->group[g].tensors)
			json_set(groups, tname_role_key((enum tname_role)g), sum_json(&p->group[g]));
	json_set_u64(o, "active_parameters", p->total.active);
	json_set_u64(o, "experts", p->experts);
	json_set_u64(o, "experts_used", p->experts_used);
	json_set(o, "groups", groups);
	for (size_t i = 0; i < p->nschemes; i++) {
		cJSON *scheme = json_object();
		char name[SCHEME_NAME_MAX];

		json_set_str(scheme, "scheme", scheme_name(&p->scheme[i].scheme, name));
		json_set_u64(scheme, "tensors", p->scheme[i].sum.tensors);
		json_set_u64(scheme, "parameters", p->scheme[i].sum.params);
		json_set_u64(scheme, "bytes", p->scheme[i].sum.bytes);
		json_push(schemes, scheme);
	}
	json_set(o, "schemes", schemes);
}

/* ---- memory ---- */

static void
memory_line(const struct memory *m)
{
	char a[16], b[16];

	printf("weights %s, of which a token reads %s", tb_human_bytes(m->weights, a),
	       tb_human_bytes(m->token, b));
	if (m->work)
		printf("; room to work %s", tb_human_bytes(m->work, a));
	if (m->machine)
		printf("; this machine has %s, %s of it free", tb_human_bytes(m->machine, a),
		       tb_human_bytes(m->available, b));
	putchar('\n');
}

bool
show_memory(const struct show *s)
{
	struct cli_table t = { .align = "rrrrrl", .drop = "012103", .wide = s->cli->wide };
	const struct memory *m = &s->figures.memory;
	char f32[16], f16[16], int8[16], all[16];

	if (!m->weights)
		return true;
	puts("\nMemory to run");
	if (!m->runs)
		puts(FIGURES_NO_RUN);
	memory_line(m);
	if (!m->n) {
		puts(m->why);
		return true;
	}
	cli_cells(&t, "CONTEXT", "KV F32", "KV F16", "KV INT8", "ALL, KV F16", "", NULL);
	for (size_t i = 0; i < m->n; i++) {
		const struct memory_row *r = &m->row[i];

		cli_cell_u64(&t, r->context);
		cli_cells(&t, tb_human_bytes(r->kv[KV_F32], f32), tb_human_bytes(r->kv[KV_F16], f16),
			  tb_human_bytes(r->kv[KV_INT8], int8), tb_human_bytes(r->total, all),
			  figures_fit(m, r->total), NULL);
	}
	return cli_table_end(&t);
}

cJSON *
show_memory_json(const struct show *s)
{
	const struct memory *m = &s->figures.memory;
	cJSON *o = json_object(), *list = json_array();

	json_set_u64(o, "weights", m->weights);
	json_set_u64(o, "bytes_per_token", m->token);
	json_set_u64(o, "work", m->work);
	for (size_t i = 0; i < m->n; i++) {
		cJSON *row = json_object();

		json_set_u64(row, "context", m->row[i].context);
		json_set_u64(row, "kv_f32", m->row[i].kv[KV_F32]);
		json_set_u64(row, "kv_f16", m->row[i].kv[KV_F16]);
		json_set_u64(row, "kv_int8", m->row[i].kv[KV_INT8]);
		json_set_u64(row, "total", m->row[i].total);
		json_push(list, row);
	}
	json_set(o, "contexts", list);
	json_set_bool(o, "runs", m->runs);
	json_set_u64(o, "machine", m->machine);
	json_set_u64(o, "available", m->available);
	return o;
}
