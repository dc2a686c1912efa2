/* search.c - the tensors of all models by parts of their names.
 *
 * A name is stored once for all models, so there are few to be looked at; which models
 * have those that fit is then one pass over their lists of numbers.  That is some
 * milliseconds for a million tensors, whatever the words are, and needs no index. */
#include "config.h"

#include "db/list.h"

#include <stdlib.h>
#include <string.h>

#include "db/pack.h"
#include "src/base/mem.h"
#include "src/base/search.h"

static const struct db_sort keys[] = {
	{ .key = "model" }, { .key = "name" }, { .key = "size" }, { 0 }
};

struct listed { int64_t id; char *name; size_t start; };	/* name owned */

/* What was searched for last. */
struct db_search {
	struct order listed, order;
	/* all models, and the names.id of their tensors one after the other */
	struct listed *model;		/* owned; model[n].start: the end */
	size_t n, cap;
	uint32_t *name;			/* owned */
	size_t nnames, names_cap;
	uint32_t *form;			/* forms.id beside it, once asked for; owned */
	/* those that fit: indices into name, as they are or in order */
	uint8_t *fits;			/* by names.id; owned */
	uint32_t *hit;			/* owned */
	size_t nhits;
};

static void
forget_models(struct db_search *s)
{
	while (s->n)
		free(s->model[--s->n].name);
	s->nnames = 0;
	free(s->form);
	s->form = NULL;
	s->listed.valid = s->order.valid = false;
}

void
db_search_forget(struct db *db)
{
	struct db_search *s = db->search;

	if (!s)
		return;
	forget_models(s);
	order_free(&s->listed);
	order_free(&s->order);
	free(s->model);
	free(s->name);
	free(s->fits);
	free(s->hit);
	free(s);
	db->search = NULL;
}

/* ---- all models ---- */

/* Of the model i; those before it have theirs. */
static enum tb_status
add_names(struct db *db, struct db_search *s, size_t i, struct tb_err *err)
{
	struct db_rows r;

	s->model[i].start = s->nnames;
	rows_open(&r, db, NULL, true, err, "SELECT names FROM contents WHERE model = ?", "i",
		  s->model[i].id);
	if (rows_next(&r)) {
		const void *p = sqlite3_column_blob(r.st, 0);
		size_t len = (size_t)sqlite3_column_bytes(r.st, 0), n = pack_count(p, len);

		if (s->nnames + n >= UINT32_MAX ||
		    !tb_grow(&s->name, &s->names_cap, s->nnames + n, sizeof(*s->name)))
			r.failed = true;
		else if (pack_read32(p, len, s->name + s->nnames, n))	/* damaged: has none */
			s->nnames += n;
	}
	s->model[i + 1].start = s->nnames;
	return rows_end(&r);
}

static enum tb_status
list_models(struct db *db, struct db_search *s, const struct db_query *q, struct tb_err *err)
{
	const struct db_query all = { .roots = q->roots };
	struct db_rows r;
	bool same;
	enum tb_status status = order_same(db, &s->listed, 0, &all, &same, err);

	if (status || same)
		return status;
	forget_models(s);
	rows_open(&r, db, NULL, true, err, "SELECT m.id, m.name, r.path FROM models m JOIN roots r"
		  " ON r.id = m.root ORDER BY m.name COLLATE tb_natural, m.id", "");
	while (rows_next(&r)) {
		const char *name = (const char *)sqlite3_column_text(r.st, 1);

		if (!db_among(q->roots, (const char *)sqlite3_column_text(r.st, 2)))
			continue;
		if (!tb_grow(&s->model, &s->cap, s->n + 2, sizeof(*s->model)) ||
		    !(s->model[s->n].name = tb_strdup(name ? name : "")))
			r.failed = true;
		else
			s->model[s->n++].id = rows_i64(&r, 0);
	}
	status = rows_end(&r);
	for (size_t i = 0; i < s->n && !status; i++)
		status = add_names(db, s, i, err);
	s->listed.valid = !status;
	return status;
}

/* ---- those that fit ---- */

/* The names that hold each word of the text; a word with * ? [ is a glob. */
static enum tb_status
match_names(struct db_search *s, const struct dict *d, const char *text, struct tb_err *err)
{
	free(s->fits);
	s->fits = tb_calloc(d->nnames + 1, 1);
	if (!s->fits)
		return tb_nomem(err);
	for (size_t id = 0; id < d->nnames; id++)
		s->fits[id] = d->name[id] != NULL;
	while (text && *text) {
		size_t len;
		char *word;

		text += strspn(text, " \t");
		len = strcspn(text, " \t");
		if (!len)
			break;
		word = tb_strndup(text, len);
		if (!word)
			return tb_nomem(err);
		for (size_t id = 0; id < d->nnames; id++)
			if (s->fits[id])
				s->fits[id] = db_match(word, d->name[id]);
		free(word);
		text += len;
	}
	return TB_OK;
}

static enum tb_status
collect_hits(struct db_search *s, const struct dict *d, struct tb_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nnames; i++)
		n += s->name[i] < d->nnames && s->fits[s->name[i]];
	free(s->hit);
	s->nhits = 0;
	s->hit = tb_calloc(n + 1, sizeof(*s->hit));
	if (!s->hit)
		return tb_nomem(err);
	for (size_t i = 0; i < s->nnames; i++)
		if (s->name[i] < d->nnames && s->fits[s->name[i]])
			s->hit[s->nhits++] = (uint32_t)i;
	return TB_OK;
}

/* ---- orders ---- */

/* The model of a tensor, by its index in s->name. */
static size_t
model_of(const struct db_search *s, uint32_t at)
{
	return TB_FIRST(s->n, i, s->model[i].start <= at) - 1;
}

struct by_rank { const uint32_t *rank, *of, *hit; size_t n; };

static uint32_t
rank_at(const void *arg, size_t i)
{
	const struct by_rank *k = arg;
	uint32_t id = k->of[k->hit[i]];

	return id < k->n ? k->rank[id] : 0;
}

/* Fills s->form; NULL: that failed. */
static const uint32_t *
all_forms(struct db *db, struct db_search *s, struct tb_err *err)
{
	uint32_t *form = s->form;
	struct db_rows r;

	if (form)
		return form;
	form = tb_calloc(s->nnames + 1, sizeof(*form));
	for (size_t i = 0; form && i < s->n; i++) {
		size_t n = s->model[i + 1].start - s->model[i].start;

		rows_open(&r, db, NULL, true, err, "SELECT forms FROM contents WHERE model = ?",
			  "i", s->model[i].id);
		if (rows_next(&r))
			(void)pack_read32(sqlite3_column_blob(r.st, 0),
					  (size_t)sqlite3_column_bytes(r.st, 0),
					  form + s->model[i].start, n);
		if (rows_end(&r)) {
			free(form);
			return NULL;
		}
	}
	if (!form)
		(void)tb_nomem(err);
	s->form = form;
	return form;
}

static enum tb_status
sort_hits(struct db *db, struct db_search *s, struct dict *d, const char *key,
	  bool reverse, struct tb_err *err)
{
	bool size = !strcmp(key, "size"), ok;
	const uint32_t *form = size ? all_forms(db, s, err) : NULL, *rank;
	uint32_t *order, *sizes;
	struct by_rank k;
	size_t n = 0;

	if (size && !form)
		return err->code;
	sizes = size ? dict_ranks(d, key, &n) : NULL;
	rank = size ? sizes : dict_name_ranks(d, &n);
	order = tb_calloc(s->nhits + 1, sizeof(*order));
	k = (struct by_rank){ rank, size ? form : s->name, s->hit, size ? d->nforms : d->nnames };
	ok = rank && order && rank_order(rank_at, &k, s->nhits, n, reverse, order);
	for (size_t i = 0; ok && i < s->nhits; i++)
		order[i] = s->hit[order[i]];
	free(sizes);
	if (!ok) {
		free(order);
		return tb_nomem(err);
	}
	free(s->hit);
	s->hit = order;
	return TB_OK;
}

/* The last model first; the tensors of each as they are. */
static void
last_model_first(struct db_search *s)
{
	uint32_t *out = tb_calloc(s->nhits + 1, sizeof(*out));
	size_t end = s->nhits, to = 0;

	while (out && end) {
		size_t first = end - 1, model = model_of(s, s->hit[first]);

		while (first && s->hit[first - 1] >= s->model[model].start)
			first--;
		memcpy(out + to, s->hit + first, (end - first) * sizeof(*out));
		to += end - first;
		end = first;
	}
	if (out) {
		free(s->hit);
		s->hit = out;
	}
}

static enum tb_status
search(struct db *db, const struct db_query *q, struct dict **d, struct tb_err *err)
{
	const struct db_sort *sort;
	bool same = false;
	enum tb_status status = db_sort_find(keys, q->sort, &sort, err);
	struct db_search *s;

	if (!db->search)
		db->search = tb_calloc(1, sizeof(*db->search));
	s = db->search;
	if (!s)
		return tb_nomem(err);
	if (!status)
		status = list_models(db, s, q, err);
	if (!status)
		status = db_dict(db, d, err);
	if (!status)
		status = order_same(db, &s->order, 0, q, &same, err);
	if (status || same)
		return status;
	status = match_names(s, *d, q->filter, err);
	if (!status)
		status = collect_hits(s, *d, err);
	if (!status && strcmp(sort->key, "model"))
		status = sort_hits(db, s, *d, sort->key, q->reverse, err);
	else if (!status && q->reverse)
		last_model_first(s);
	s->order.valid = !status;
	return status;
}

/* ---- windows ---- */

/* One model's lists while its rows are made. */
struct search_window { size_t model; struct contents c; const char *name; };

static enum tb_status
make_row(struct db *db, const struct dict *d, struct search_window *w, uint32_t at, struct tb_arena *mem,
	 struct db_tensor *out, struct tb_err *err)
{
	const struct db_search *s = db->search;
	size_t model = model_of(s, at), ord = at - s->model[model].start;
	enum tb_status status = TB_OK;
	struct db_rows r;

	if (!w->name || w->model != model) {
		contents_free(&w->c);
		status = db_contents(db, s->model[model].id, &w->c, err);
		w->model = model;
		w->name = tb_arena_str(mem, s->model[model].name);
	}
	if (status)
		return status;
	*out = (struct db_tensor){ .name = "", .scheme = "", .dtype = "?", .file = "" };
	if (ord < w->c.n && !tensor_row(d, &w->c, ord, mem, out))	/* else it has changed */
		return tb_nomem(err);
	out->model = s->model[model].id;
	out->model_name = w->name ? w->name : "";
	if (ord >= w->c.n || w->c.place[ord] >= w->c.nfiles)
		return w->name ? TB_OK : tb_nomem(err);
	rows_open(&r, db, mem, true, err, "SELECT path FROM files WHERE id = ?", "i",
		  (int64_t)w->c.file[w->c.place[ord]]);
	if (rows_next(&r))
		out->file = rows_text(&r, 0);
	return rows_end(&r);
}

enum tb_status
db_search(struct db *db, const struct db_query *q, struct db_tensors *out, struct tb_err *err)
{
	struct search_window w = { .name = NULL };
	struct dict *d = NULL;
	enum tb_status status;
	size_t first;

	*out = (struct db_tensors){ 0 };
	status = search(db, q, &d, err);
	if (status)
		return status;
	out->total = db->search->nhits;
	out->n = window_of(q, db->search->nhits, &first);
	out->rows = tb_arena_get(&out->mem, (out->n + 1) * sizeof(*out->rows));
	status = out->rows ? TB_OK : tb_nomem(err);
	for (size_t i = 0; i < out->n && !status; i++)
		status = make_row(db, d, &w, db->search->hit[first + i], &out->mem, &out->rows[i],
				  err);
	contents_free(&w.c);
	if (status) {
		tb_arena_free(&out->mem);
		*out = (struct db_tensors){ 0 };
	}
	return status;
}

enum tb_status
db_search_find(struct db *db, const struct db_query *q, int64_t model, uint64_t ord,
	       uint64_t *row, bool *found, struct tb_err *err)
{
	const struct db_search *s;
	struct dict *d;
	enum tb_status status = search(db, q, &d, err);
	uint64_t at = UINT64_MAX;

	*found = false;
	if (status)
		return status;
	s = db->search;
	for (size_t i = 0; i < s->n; i++)
		if (s->model[i].id == model && ord < s->model[i + 1].start - s->model[i].start)
			at = s->model[i].start + ord;
	for (size_t i = 0; i < s->nhits && !*found; i++) {
		*row = i;
		*found = s->hit[i] == at;
	}
	return TB_OK;
}
