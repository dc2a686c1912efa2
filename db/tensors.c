/* tensors.c - lists of the tensors of a model: as a table, and as a tree. */
#include "config.h"

#include "db/list.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

static const struct db_sort keys[] = {
	{ .key = "name" }, { .key = "dtype" }, { .key = "shape" }, { .key = "scheme" },
	{ .key = "params" }, { .key = "size" }, { .key = "offset" }, { 0 }
};

/* The model that was asked for last, and its rows as they were. */
struct db_look {
	struct order shown, read;
	struct contents c;	/* of read.model */
	uint32_t *row;		/* in order; owned */
	size_t n;
	char *path;		/* of the file that was named last; owned */
	uint64_t file;
};

void
db_look_forget(struct db *db)
{
	struct db_look *l = db->look;

	if (!l)
		return;
	order_free(&l->shown);
	order_free(&l->read);
	contents_free(&l->c);
	free(l->row);
	free(l->path);
	free(l);
	db->look = NULL;
}

static enum tb_status
look_at(struct db *db, int64_t model, struct db_look **out, struct dict **d, struct tb_err *err)
{
	static const struct db_query all;
	enum tb_status status;
	bool same = false;

	if (!db->look)
		db->look = tb_calloc(1, sizeof(*db->look));
	*out = db->look;
	status = db->look ? order_same(db, &db->look->read, model, &all, &same, err)
			  : tb_nomem(err);
	*d = db->dict;
	if (status || (same && db->dict))
		return status;
	contents_free(&db->look->c);
	db->look->shown.valid = false;
	status = db_contents(db, model, &db->look->c, err);
	if (!status)
		status = db_dict(db, d, err);
	db->look->read.valid = !status;
	return status;
}

/* ---- the order of a table ---- */

struct ranking { const uint32_t *rank, *form, *row; size_t n; };

static uint32_t
rank_at(const void *arg, size_t i)
{
	const struct ranking *k = arg;
	uint32_t form = k->form[k->row[i]];

	return form < k->n ? k->rank[form] : 0;
}

static bool
order_by_form(struct db_look *l, const struct dict *d, const char *key, bool reverse)
{
	size_t nranks = 0;
	uint32_t *rank = dict_ranks(d, key, &nranks);
	uint32_t *order = tb_calloc(l->n + 1, sizeof(*order));
	struct ranking k = { rank, l->c.form, l->row, d->nforms };
	bool ok = rank && order && rank_order(rank_at, &k, l->n, nranks, reverse, order);

	for (size_t i = 0; ok && i < l->n; i++)
		order[i] = l->row[order[i]];
	free(rank);
	free(ok ? l->row : order);
	if (ok)
		l->row = order;
	return ok;
}

struct placed { uint32_t place, ord; uint64_t off; };

static int
placed_cmp(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return (x->ord > y->ord) - (x->ord < y->ord);
}

static bool
order_by_offset(struct db_look *l)
{
	struct placed *p = tb_calloc(l->n + 1, sizeof(*p));

	if (!p)
		return false;
	for (size_t i = 0; i < l->n; i++)
		p[i] = (struct placed){ l->c.place[l->row[i]], l->row[i], l->c.off[l->row[i]] };
	qsort(p, l->n, sizeof(*p), placed_cmp);
	for (size_t i = 0; i < l->n; i++)
		l->row[i] = p[i].ord;
	free(p);
	return true;
}

static enum tb_status
put_in_order(struct db_look *l, const struct dict *d, const struct db_query *q, const char *key,
	     struct tb_err *err)
{
	bool all = !q->filter || !*q->filter, ok = true;

	free(l->row);
	l->row = tb_calloc(l->c.n + 1, sizeof(*l->row));
	if (!l->row)
		return tb_nomem(err);
	l->n = 0;
	for (size_t i = 0; i < l->c.n; i++)
		if (all || db_match(q->filter, dict_name(d, l->c.name[i])))
			l->row[l->n++] = (uint32_t)i;
	if (!strcmp(key, "name") || !strcmp(key, "offset")) {
		ok = *key == 'n' || order_by_offset(l);
		for (size_t i = 0; q->reverse && i < l->n / 2; i++) {
			uint32_t t = l->row[i];

			l->row[i] = l->row[l->n - 1 - i];
			l->row[l->n - 1 - i] = t;
		}
	} else {
		ok = order_by_form(l, d, key, q->reverse);
	}
	return ok ? TB_OK : tb_nomem(err);
}

static enum tb_status
rows_of(struct db *db, int64_t model, const struct db_query *q, struct db_look **out,
	struct dict **d, struct tb_err *err)
{
	const struct db_sort *sort;
	bool same = false;
	enum tb_status status = db_sort_find(keys, q->sort, &sort, err);

	if (!status)
		status = look_at(db, model, out, d, err);
	if (!status)
		status = order_same(db, &(*out)->shown, model, q, &same, err);
	if (status || same)
		return status;
	status = put_in_order(*out, *d, q, sort->key, err);
	(*out)->shown.valid = !status;
	return status;
}

/* ---- windows ---- */

/* Rows that follow each other are mostly in one file. */
static enum tb_status
file_path(struct db *db, struct db_look *l, uint32_t place, struct tb_arena *mem, const char **out,
	  struct tb_err *err)
{
	uint64_t file = place < l->c.nfiles ? l->c.file[place] : 0;
	struct db_rows r;

	if (!l->path || file != l->file) {
		free(l->path);
		l->path = NULL;
		rows_open(&r, db, NULL, true, err, "SELECT path FROM files WHERE id = ?", "i",
			  (int64_t)file);
		if (rows_next(&r))
			l->path = tb_strdup((const char *)sqlite3_column_text(r.st, 0));
		if (rows_end(&r))
			return r.status;
		l->file = file;
	}
	*out = tb_arena_str(mem, l->path ? l->path : "");
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
make_rows(struct db *db, struct db_look *l, const struct dict *d, size_t first,
	  struct db_tensors *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < out->n && !status; i++) {
		uint32_t ord = l->row[first + i];

		if (!tensor_row(d, &l->c, ord, &out->mem, &out->rows[i]))
			return tb_nomem(err);
		out->rows[i].model = l->read.model;
		status = file_path(db, l, l->c.place[ord], &out->mem, &out->rows[i].file, err);
	}
	return status;
}

enum tb_status
db_tensors(struct db *db, int64_t model, const struct db_query *q, struct db_tensors *out,
	   struct tb_err *err)
{
	static const struct db_query all;
	struct db_look *l;
	struct dict *d;
	enum tb_status status;
	size_t first;

	*out = (struct db_tensors){ 0 };
	q = q ? q : &all;
	status = rows_of(db, model, q, &l, &d, err);
	if (status)
		return status;
	out->total = l->n;
	out->n = window_of(q, l->n, &first);
	out->rows = tb_arena_get(&out->mem, (out->n + 1) * sizeof(*out->rows));
	status = out->rows ? make_rows(db, l, d, first, out, err) : tb_nomem(err);
	if (status) {
		tb_arena_free(&out->mem);
		*out = (struct db_tensors){ 0 };
	}
	return status;
}

enum tb_status
db_tensors_find(struct db *db, int64_t model, const struct db_query *q, uint64_t ord,
		uint64_t *row, bool *found, struct tb_err *err)
{
	struct db_look *l;
	struct dict *d;
	enum tb_status status = rows_of(db, model, q, &l, &d, err);

	*found = false;
	for (size_t i = 0; !status && !*found && i < l->n; i++) {
		*row = i;
		*found = l->row[i] == ord;
	}
	return status;
}

/* ---- the tree ---- */

struct tree {
	const struct db_look *look;
	const struct dict *dict;
	struct db_branches *out;
	size_t cap, prefix;		/* bytes of the parent's path and its dot */
};

static struct db_branch *
new_branch(struct tree *t, size_t ord, const char *name, size_t len, bool leaf)
{
	struct db_branches *out = t->out;
	struct db_branch *more = rows_push(&out->mem, out->rows, &out->n, &t->cap, sizeof(*more));
	struct db_branch *b;

	if (!more)
		return NULL;
	out->rows = more;
	b = &out->rows[out->n - 1];
	*b = (struct db_branch){ .leaf = leaf, .first = ord };
	b->path = tb_arena_text(&out->mem, name, len);
	b->scheme = tb_arena_str(&out->mem, dict_form(t->dict, t->look->c.form[ord])->scheme);
	if (!b->path || !b->scheme)
		return NULL;
	b->label = len >= t->prefix ? b->path + t->prefix : b->path;
	return b;
}

/* Natural order keeps what shares a component together, so only the last row can be
 * the one to add to. */
static bool
add_to_tree(struct tree *t, size_t ord)
{
	const char *name = dict_name(t->dict, t->look->c.name[ord]);
	const struct form *f = dict_form(t->dict, t->look->c.form[ord]);
	size_t len = strlen(name);
	const char *dot = len > t->prefix ? strchr(name + t->prefix, '.') : NULL;
	struct db_branch *b = t->out->n ? &t->out->rows[t->out->n - 1] : NULL;

	if (dot)
		len = (size_t)(dot - name);
	if (!b || b->leaf || !dot || strncmp(b->path, name, len) || b->path[len])
		b = new_branch(t, ord, name, len, !dot);
	if (!b)
		return false;
	b->count++;
	b->elems += f->elems;
	b->bytes += f->bytes;
	if (*b->scheme && strcmp(b->scheme, f->scheme))
		b->scheme = "";
	return true;
}

enum tb_status
db_children(struct db *db, int64_t model, const struct db_branch *parent,
	    struct db_branches *out, struct tb_err *err)
{
	struct tree t = { .out = out, .prefix = parent ? strlen(parent->path) + 1 : 0 };
	struct db_look *l;
	struct dict *d;
	enum tb_status status = look_at(db, model, &l, &d, err);
	size_t first, end;

	*out = (struct db_branches){ 0 };
	if (status)
		return status;
	t.look = l;
	t.dict = d;
	first = parent ? (size_t)parent->first : 0;
	end = parent && parent->count < l->c.n ? first + (size_t)parent->count : l->c.n;
	for (size_t i = first; i < end && i < l->c.n; i++)
		if (!add_to_tree(&t, i)) {
			tb_arena_free(&out->mem);
			*out = (struct db_branches){ 0 };
			return tb_nomem(err);
		}
	out->total = out->n;
	return TB_OK;
}
