/* diff_match.c - which tensor of one model is which of the other. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/engine/canon.h"
#include "src/ops/diff/diff_run.h"

/* A stack is taken apart only where the other side has single experts, and then only
 * when there are no more of them than any model has. */
#define EXPERTS_MAX 8192u

struct entry {
	const char *key;		/* in the result's memory */
	const struct tensor *t;
	struct canon *canon;		/* of a stacked tensor, as a whole; owned; else NULL */
	uint32_t expert;
	bool pairs;
	float add;
};

struct entries {
	struct entry *rows;		/* owned; by key once sorted */
	size_t n, cap;
	uint32_t head_dim;		/* of tensors with pairs */
	struct tb_arena *mem;
	struct tb_err *err;
};

static void
entries_free(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->rows[i].canon);
	free(e->rows);
}

static enum tb_status
entries_add(struct entries *e, const char *key, const struct tensor *t, uint32_t expert)
{
	if (!tb_grow(&e->rows, &e->cap, e->n + 1, sizeof(*e->rows)))
		return tb_nomem(e->err);
	key = tb_arena_str(e->mem, key);
	e->rows[e->n] = (struct entry){ .key = key, .t = t, .expert = expert };
	return key ? (e->n++, TB_OK) : tb_nomem(e->err);
}

static int
entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int d = strcmp(x->key, y->key);

	return d ? d : (x->t > y->t) - (x->t < y->t);
}

static void
entries_sort(struct entries *e)
{
	if (e->n > 1)
		qsort(e->rows, e->n, sizeof(*e->rows), entry_cmp);
}

/* Two tensors of a model that would be called the same: all but the first keep the name
 * that they have, behind a sign that is in no canonical name. */
static enum tb_status
entries_tell_apart(struct entries *e)
{
	const char *last = NULL;
	size_t changed = 0;

	entries_sort(e);
	for (size_t i = 0; i < e->n; i++) {
		struct entry *x = &e->rows[i];
		char *own;

		if (!last || strcmp(last, x->key)) {
			last = x->key;
			continue;
		}
		own = x->expert == DIFF_WHOLE ? tb_asprintf("=%s", x->t->name)
					      : tb_asprintf("=%s[%u]", x->t->name, x->expert);
		x->key = own ? tb_arena_str(e->mem, own) : NULL;
		free(own);
		if (!x->key)
			return tb_nomem(e->err);
		changed++;
	}
	if (changed)
		entries_sort(e);
	return TB_OK;
}

static enum tb_status
entries_collect(struct entries *e, const struct model *m)
{
	struct canon_model cm;
	enum tb_status status = TB_OK;

	canon_model(&cm, m);
	e->head_dim = cm.head_dim;
	for (size_t i = 0; i < m->ntensors && !status; i++) {
		const struct tensor *t = &m->tensors[i];
		struct canon c;

		if (!canon_of(&cm, t, &c) || c.otherwise) {
			status = entries_add(e, t->name, t, DIFF_WHOLE);
			continue;
		}
		if ((status = entries_add(e, c.name, t, DIFF_WHOLE)))
			break;
		e->rows[e->n - 1].pairs = c.pairs;
		e->rows[e->n - 1].add = c.add;
		if (!c.stacked)
			continue;
		e->rows[e->n - 1].canon = tb_calloc(1, sizeof(c));
		if (!e->rows[e->n - 1].canon)
			return tb_nomem(e->err);
		*e->rows[e->n - 1].canon = c;
	}
	return status ? status : entries_tell_apart(e);
}

static bool
entries_have(const struct entries *e, const char *key)
{
	size_t at = TB_FIRST(e->n, i, strcmp(e->rows[i].key, key) < 0);

	return at < e->n && !strcmp(e->rows[at].key, key);
}

/* Has the other side single experts where this tensor is a stack? */
static bool
wants_apart(const struct entry *x, const struct entries *other)
{
	uint64_t experts = x->canon ? x->t->dim[0] : 0;
	char name[CANON_MAX];

	return experts > 0 && experts <= EXPERTS_MAX && x->t->elems % experts == 0 &&
	       !entries_have(other, x->key) && canon_expert(x->canon, 0, name) &&
	       entries_have(other, name);
}

static enum tb_status
entries_take_apart(struct entries *e, const struct entries *other)
{
	size_t n = e->n;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n && !status; i++) {
		struct entry x = e->rows[i];
		char name[CANON_MAX];

		if (!wants_apart(&x, other))
			continue;
		for (uint32_t k = 1; k < x.t->dim[0] && !status; k++)
			if (canon_expert(x.canon, k, name))
				status = entries_add(e, name, x.t, k);
		if (status || !canon_expert(x.canon, 0, name))
			continue;
		free(x.canon);
		e->rows[i] = (struct entry){ .key = tb_arena_str(e->mem, name), .t = x.t };
		if (!e->rows[i].key) {
			e->rows[i].key = "";
			status = tb_nomem(e->err);
		}
	}
	return status ? status : entries_tell_apart(e);
}

/* ---- rows ---- */

static void
set_side(struct diff_side *s, const struct entry *x)
{
	unsigned drop = x->expert == DIFF_WHOLE ? 0 : 1;

	*s = (struct diff_side){ .t = x->t, .expert = x->expert, .elems = x->t->elems,
				 .ndim = x->t->ndim - drop, .pairs = x->pairs, .add = x->add };
	memcpy(s->dim, x->t->dim + drop, s->ndim * sizeof(*s->dim));
	if (drop) {
		s->elems = x->t->elems / x->t->dim[0];
		s->first = s->elems * x->expert;
	}
}

static const char *
row_label(struct tb_arena *mem, const struct diff_row *r)
{
	const struct diff_side *s = r->a.t ? &r->a : &r->b;
	const char *kept;
	char *text;

	if (r->a.t && r->b.t && r->a.expert != DIFF_WHOLE && r->b.expert == DIFF_WHOLE)
		s = &r->b;
	if (s->expert == DIFF_WHOLE)
		return tb_arena_str(mem, s->t->name);
	text = tb_asprintf("%s[%u]", s->t->name, s->expert);
	kept = text ? tb_arena_str(mem, text) : NULL;
	free(text);
	return kept;
}

/* The next dimension that is not 1, or 0 at the end. */
static uint64_t
next_dim(const struct diff_side *s, unsigned *i)
{
	while (*i < s->ndim && s->dim[*i] == 1)
		++*i;
	return *i < s->ndim ? s->dim[(*i)++] : 0;
}

static bool
same_dims(const struct diff_side *a, const struct diff_side *b)
{
	return a->ndim == b->ndim && !memcmp(a->dim, b->dim, a->ndim * sizeof(*a->dim));
}

/* Dimensions of 1 say nothing. */
static bool
same_shape(const struct diff_side *a, const struct diff_side *b)
{
	unsigned i = 0, k = 0;
	uint64_t x, y;

	if (same_dims(a, b) || a->elems != b->elems)
		return a->elems == b->elems;
	do {
		x = next_dim(a, &i);
		y = next_dim(b, &k);
	} while (x == y && x);
	return x == y && i == a->ndim && k == b->ndim;
}

static bool
filter_takes(const char *filter, const char *name)
{
	return strpbrk(filter, "*?[") ? tb_glob(filter, name) : tb_contains(name, filter);
}

static enum tb_status
match_row(const struct diff_request *req, struct diff_result *out, const struct entry *a,
	const struct entry *b, struct tb_err *err)
{
	struct diff_row *r = &out->rows[out->n];
	const char *filter = req->filter;

	*r = (struct diff_row){ .canon = a ? a->key : b->key, .message = "" };
	compare_init(&r->c);
	if (a)
		set_side(&r->a, a);
	if (b)
		set_side(&r->b, b);
	r->name = row_label(&out->mem, r);
	if (!r->name)
		return tb_nomem(err);
	r->verdict = !b ? DIFF_ONLY_A : !a ? DIFF_ONLY_B
		   : same_shape(&r->a, &r->b) ? DIFF_VALUES : DIFF_SHAPE;
	if (a && b) {
		r->recoded = !scheme_equal(&a->t->scheme, &b->t->scheme);
		r->reshaped = !same_dims(&r->a, &r->b);
	}
	out->n += !filter || !*filter || filter_takes(filter, r->name) ||
		  filter_takes(filter, r->canon) ||
		  (r->b.t && filter_takes(filter, r->b.t->name));
	return TB_OK;
}

static enum tb_status
match_all(const struct diff_request *req, const struct entries *a, const struct entries *b,
      struct diff_result *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t i = 0, k = 0;

	out->rows = tb_arena_get(&out->mem, (a->n + b->n + 1) * sizeof(*out->rows));
	if (!out->rows)
		return tb_nomem(err);
	while ((i < a->n || k < b->n) && !status) {
		int d = i == a->n ? 1 : k == b->n ? -1
		      : strcmp(a->rows[i].key, b->rows[k].key);

		status = match_row(req, out, d <= 0 ? &a->rows[i] : NULL,
				 d >= 0 ? &b->rows[k] : NULL, err);
		i += d <= 0;
		k += d >= 0;
	}
	return status;
}

static int
row_cmp(const void *a, const void *b)
{
	return diff_order("name")(a, b);
}

enum tb_status
diff_match(const struct diff_request *req, struct diff_result *out, struct tb_err *err)
{
	struct entries a = { .mem = &out->mem, .err = err }, b = a;
	enum tb_status status = entries_collect(&a, req->a);

	if (!status)
		status = entries_collect(&b, req->b);
	if (!status)
		status = entries_take_apart(&a, &b);
	if (!status)
		status = entries_take_apart(&b, &a);
	if (!status)
		status = match_all(req, &a, &b, out, err);
	for (size_t i = 0; i < out->n; i++) {
		out->rows[i].a.head_dim = a.head_dim;
		out->rows[i].b.head_dim = b.head_dim;
	}
	if (!status && out->n > 1)
		qsort(out->rows, out->n, sizeof(*out->rows), row_cmp);
	entries_free(&a);
	entries_free(&b);
	return status;
}
