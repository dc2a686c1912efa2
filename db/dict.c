#include "config.h"

#include "db/dict.h"

#include <stdlib.h>
#include <string.h>

#include "db/pack.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define ID_MAX (UINT32_C(1) << 28)	/* an index with greater numbers was tampered with */

void
db_dict_forget(struct db *db)
{
	struct dict *d = db->dict;

	if (!d)
		return;
	free(d->name);
	free(d->form);
	free(d->rank);
	tb_arena_free(&d->mem);
	free(d);
	db->dict = NULL;
}

static enum tb_status
read_names(struct db *db, struct dict *d, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT id, name FROM names WHERE id >= ?", "i",
		  (int64_t)d->nnames);
	while (rows_next(&r)) {
		uint64_t id = rows_u64(&r, 0);
		const char *text = (const char *)sqlite3_column_text(r.st, 1);

		if (id >= ID_MAX || !text)
			continue;
		text = tb_arena_text(&d->mem, text, (size_t)sqlite3_column_bytes(r.st, 1));
		if (!text || !tb_grow(&d->name, &d->names_cap, id + 1, sizeof(*d->name))) {
			r.failed = true;
			continue;
		}
		d->name[id] = text;
		d->nnames = id + 1;
	}
	return rows_end(&r);
}

static enum tb_status
read_forms(struct db *db, struct dict *d, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT id, scheme, dtype, shape, elems, bytes"
		  " FROM forms WHERE id >= ?", "i", (int64_t)d->nforms);
	while (rows_next(&r)) {
		uint64_t id = rows_u64(&r, 0), dtype = rows_u64(&r, 2);
		const char *scheme = (const char *)sqlite3_column_text(r.st, 1);
		const char *shape = (const char *)sqlite3_column_text(r.st, 3);

		if (id >= ID_MAX || !scheme || !shape)
			continue;
		scheme = tb_arena_str(&d->mem, scheme);
		shape = tb_arena_str(&d->mem, shape);
		if (!scheme || !shape ||
		    !tb_grow(&d->form, &d->forms_cap, id + 1, sizeof(*d->form))) {
			r.failed = true;
			continue;
		}
		d->form[id] = (struct form){ scheme, shape,
			dtype < DT_COUNT ? (enum dtype)dtype : DT_COUNT,
			rows_u64(&r, 4), rows_u64(&r, 5) };
		d->nforms = id + 1;
	}
	return rows_end(&r);
}

enum tb_status
db_dict(struct db *db, struct dict **out, struct tb_err *err)
{
	enum tb_status status;

	if (!db->dict)
		db->dict = tb_calloc(1, sizeof(*db->dict));
	*out = db->dict;
	if (!db->dict)
		return tb_nomem(err);
	status = read_names(db, db->dict, err);
	return status ? status : read_forms(db, db->dict, err);
}

const char *
dict_name(const struct dict *d, uint32_t id)
{
	return id < d->nnames && d->name[id] ? d->name[id] : "?";
}

const struct form *
dict_form(const struct dict *d, uint32_t id)
{
	static const struct form none = { "?", "", DT_COUNT, 0, 0 };

	return id < d->nforms && d->form[id].scheme ? &d->form[id] : &none;
}

/* ---- what a model consists of ---- */

static enum tb_status
unpack(struct db *db, sqlite3_stmt *st, struct contents *c, struct tb_err *err)
{
	const void *p[5];
	size_t len[5], n, nfiles;
	bool whole;

	for (int i = 0; i < 5; i++) {
		p[i] = sqlite3_column_blob(st, i);
		len[i] = (size_t)sqlite3_column_bytes(st, i);
	}
	n = c->n = pack_count(p[0], len[0]);
	nfiles = c->nfiles = pack_count(p[4], len[4]);
	c->room = tb_calloc(n * 20 + nfiles * 8 + 8, 1);
	if (!c->room)
		return tb_nomem(err);
	c->off = c->room;
	c->file = c->off + n;
	c->name = (uint32_t *)(c->file + nfiles);
	c->form = c->name + n;
	c->place = c->form + n;
	whole = pack_read32(p[0], len[0], c->name, n) && pack_read32(p[1], len[1], c->form, n) &&
		pack_read32(p[2], len[2], c->place, n) && pack_read64(p[3], len[3], c->off, n) &&
		pack_read64(p[4], len[4], c->file, nfiles);
	return whole ? TB_OK : db_found_damage(db, err);
}

enum tb_status
db_contents(struct db *db, int64_t model, struct contents *out, struct tb_err *err)
{
	struct db_rows r;
	enum tb_status status = TB_OK;

	*out = (struct contents){ 0 };
	rows_open(&r, db, NULL, true, err, "SELECT names, forms, places, offsets, files"
		  " FROM contents WHERE model = ?", "i", model);
	if (rows_next(&r))
		status = unpack(db, r.st, out, err);
	if (rows_end(&r))
		return r.status;
	return status;
}

void
contents_free(struct contents *c)
{
	free(c->room);
	*c = (struct contents){ 0 };
}

/* ---- order ---- */

typedef int form_cmp(const struct form *a, const struct form *b);

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int
by_dtype(const struct form *a, const struct form *b)
{
	return ORDER(a->dtype, b->dtype);
}

static int
by_shape(const struct form *a, const struct form *b)
{
	return -tb_natural_cmp(a->shape, b->shape);
}

static int
by_scheme(const struct form *a, const struct form *b)
{
	return strcmp(a->scheme, b->scheme);
}

static int
by_elems(const struct form *a, const struct form *b)
{
	return ORDER(b->elems, a->elems);
}

static int
by_bytes(const struct form *a, const struct form *b)
{
	return ORDER(b->bytes, a->bytes);
}

/* What comes first is what people look for: the largest, the first letter. */
static const struct { const char *key; form_cmp *cmp; } orders[] = {
	{ "dtype", by_dtype }, { "shape", by_shape }, { "scheme", by_scheme },
	{ "params", by_elems }, { "size", by_bytes },
};

struct ranked { const struct dict *d; form_cmp *cmp; uint32_t id; };

static int
form_rank_cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->cmp(dict_form(x->d, x->id), dict_form(y->d, y->id));
}

static int
dict_name_cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return tb_natural_cmp(dict_name(x->d, x->id), dict_name(y->d, y->id));
}

static uint32_t *
ranks(const struct dict *d, size_t n, form_cmp *cmp, int (*order)(const void *, const void *),
      size_t *nranks)
{
	struct ranked *r = tb_calloc(n + 1, sizeof(*r));
	uint32_t *rank = tb_calloc(n + 1, sizeof(*rank));

	if (!r || !rank) {
		free(r);
		free(rank);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ d, cmp, (uint32_t)i };
	qsort(r, n, sizeof(*r), order);
	*nranks = 0;
	for (size_t i = 0; i < n; i++)
		rank[r[i].id] = (uint32_t)(i && order(&r[i - 1], &r[i]) ? ++*nranks : *nranks);
	++*nranks;
	free(r);
	return rank;
}

uint32_t *
dict_ranks(const struct dict *d, const char *key, size_t *nranks)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(orders[i].key, key))
			return ranks(d, d->nforms, orders[i].cmp, form_rank_cmp, nranks);
	return NULL;
}

const uint32_t *
dict_name_ranks(struct dict *d, size_t *nranks)
{
	if (!d->rank || d->ranked != d->nnames) {
		free(d->rank);
		d->rank = ranks(d, d->nnames, NULL, dict_name_cmp, &d->nranks);
		d->ranked = d->nnames;
	}
	*nranks = d->nranks;
	return d->rank;
}
