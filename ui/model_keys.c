/* model_keys.c - the Metadata pane: a key a row, a value in full on demand. */
#include "config.h"

#include "ui/model_view.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define VALUE_MAX ((size_t)8 << 20)	/* bytes of a value on screen */

enum { COL_KEY, COL_TYPE, COL_VALUE, COL_FROM };

static const struct column keys_cols[] = {
	[COL_KEY] = { "KEY", 32, 48, false, SORTS_NOT, 0, .middle = true },
	[COL_TYPE] = { "TYPE", 14, 0, false, SORTS_NOT, 2 },
	[COL_VALUE] = { "VALUE", 24, 200, false, SORTS_NOT, 0 },
	[COL_FROM] = { "FROM", 11, 0, false, SORTS_NOT, 3 },
};

static bool
keys_match(const struct view *v, const void *row)
{
	const struct meta_row *r = row;

	return tb_contains(r->key, v->list.filter) || tb_contains(r->text, v->list.filter);
}

static const struct rows_source keys_rows = {
	ROWS_IN(struct model_view, meta.rows, meta.n), .match = keys_match,
};

static void
keys_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct meta_row *r = row;

	(void)v;
	switch (col) {
	case COL_KEY: tb_buf_str(&out->text, r->key); break;
	case COL_TYPE:
		tb_buf_str(&out->text, r->type);
		out->role = ROLE_DIM;
		break;
	case COL_VALUE:
		tb_buf_str(&out->text, r->text);
		if (!r->whole && !tb_ends(r->text, "…"))
			tb_buf_str(&out->text, "…");
		break;
	case COL_FROM:
		tb_buf_str(&out->text, meta_from_name(r->from));
		if (r->files > 1)
			tb_buf_printf(&out->text, " x%ju", (uintmax_t)r->files);
		out->role = ROLE_DIM;
		break;
	}
}

const struct table model_keys_table = {
	TABLE_COLS(keys_cols), .rows = &keys_rows, .cell = keys_cell,
	.empty = "No key and no value has that in it; Esc shows all.",
};

/* ---- one value ---- */

struct value {
	struct opened *o;	/* a reference */
	char *key;		/* owned */
	bool list;		/* elements, numbered */
	uint64_t n;
	struct tb_buf text;
};

static enum tb_status
add_item(void *arg, const char *text, size_t len, struct tb_err *err)
{
	struct value *val = arg;

	(void)err;
	if (val->text.len + len > VALUE_MAX - 128)
		return TB_ELIMIT;
	if (val->list)
		tb_buf_printf(&val->text, "%8ju  ", (uintmax_t)val->n);
	tb_buf_add(&val->text, text, len);
	tb_buf_chr(&val->text, '\n');
	val->n++;
	return TB_OK;
}

static enum tb_status
value_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct value *val = arg;
	enum tb_status status = metadata_each(val->o->m, val->key, add_item, val, job, err);

	if (status == TB_ELIMIT) {
		tb_buf_printf(&val->text, "… the rest is not shown: \"tbtui show MODEL --key %s\""
			      " has all\n", val->key);
		status = TB_OK;
	}
	return status ? status : tb_buf_status(&val->text, val->key, err);
}

static void
value_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct model_view *s = v->state;
	struct value *val = arg;

	if (status) {
		view_complain(v, err);
		return;
	}
	free(s->value_key);
	s->value_key = val->key;
	val->key = NULL;
	pager_set(&s->value, tb_buf_take(&val->text), true);
}

static void
value_free(void *arg)
{
	struct value *val = arg;

	opened_unref(val->o);
	free(val->key);
	tb_buf_free(&val->text);
	free(val);
}

static const struct job_ops value_job = {
	.run = value_run, .done = value_done, .free = value_free,
};

void
model_open_value(struct view *v)
{
	struct model_view *s = v->state;
	const struct meta_row *r = rows_current(v);
	struct value *val = r ? tb_calloc(1, sizeof(*val)) : NULL;

	if (!val)
		return;
	val->text = TB_BUF(VALUE_MAX + 65536);
	val->key = tb_strdup(r->key);
	val->list = strchr(r->type, '[') != NULL;
	val->o = opened_ref(s->o);
	if (val->key)
		(void)view_job(v, &value_job, val, "read %s", r->key);
	else
		value_free(val);
}
