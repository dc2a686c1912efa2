#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/search.h"
#include "src/base/text.h"
#include "src/store/headers.h"

/* How a packed weight and its companions are called, and by whom. */
static const struct convention {
	const char *weight;		/* ending of the weight's name */
	const char *scale, *bias, *global;	/* endings instead of it; NULL: has none */
	enum dtype dtype;		/* of the weight */
	bool global_inverse;
	/* Codes in bytes, and these scales: the same bytes as U32 and U8, which everybody
	 * else writes.  DT_COUNT: no such thing. */
	enum dtype scales;
} conventions[] = {
	{ "", ".scale", ".bias", ".global_scale", DT_U32, false, DT_COUNT },	/* Ollama */
	{ ".weight", ".scales", ".biases", NULL, DT_U32, false, DT_COUNT },	/* MLX */
	{ ".weight", ".weight_scale", NULL, ".weight_scale_2", DT_U8, false,
	  DT_F8_E4M3 },							/* ModelOpt */
	{ ".weight_packed", ".weight_scale", NULL, ".weight_global_scale", DT_U8, true,
	  DT_F8_E4M3 },					/* compressed-tensors: nvfp4 */
	{ ".weight_packed", ".weight_scale", NULL, NULL, DT_U8, false, DT_U8 },	/* mxfp4 */
	{ ".weight", ".weight_scale", NULL, NULL, DT_F8_E4M3, false, DT_U8 },	/* mxfp8 */
	{ "_blocks", "_scales", NULL, NULL, DT_U8, false, DT_U8 },	/* gpt-oss: mxfp4 */
};
#define NCONVENTIONS (sizeof(conventions) / sizeof(*conventions))

static int
raw_cmp(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : (x->part.file > y->part.file) - (x->part.file < y->part.file);
}

void
build_order(struct build *b)
{
	if (b->nraws > 1)
		qsort(b->raws, b->nraws, sizeof(*b->raws), raw_cmp);
}

enum tb_status
build_sort(struct build *b, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t n = 0;

	build_order(b);
	for (size_t i = 0; i < b->nraws && !status; i++) {
		const struct model_file *files = b->m->files;
		const struct raw *r = &b->raws[i];
		struct raw *kept = n ? &b->raws[n - 1] : NULL;

		if (!kept || strcmp(kept->name, r->name) != 0) {
			b->raws[n++] = *r;
			continue;
		}
		status = build_problem(b, files[r->part.file].digest, err, "tensor %.200s: is in %s"
				       " and in %s", r->name, files[kept->part.file].path,
				       files[r->part.file].path);
		if (r->named && !kept->named)
			*kept = *r;
	}
	b->nraws = n;
	return status;
}

struct raw *
build_find(const struct build *b, const char *name)
{
	size_t at = TB_FIRST(b->nraws, i, strcmp(b->raws[i].name, name) < 0);

	return at < b->nraws && !strcmp(b->raws[at].name, name) ? &b->raws[at] : NULL;
}

struct raw *
build_companion(const struct build *b, struct tb_buf *key, const char *base, size_t n,
		const char *ending)
{
	if (!ending || tb_buf_failed(key))	/* tensors_add_tensor() says so */
		return NULL;
	tb_buf_clear(key);
	tb_buf_add(key, base, n);
	tb_buf_str(key, ending);
	return tb_buf_failed(key) ? NULL : build_find(b, tb_buf_cstr(key));
}

bool
build_take(struct raw *r, struct tensor_part *part)
{
	if (r) {
		*part = r->part;
		r->used = true;
	}
	return r != NULL;
}

/* Codes in bytes, under the scales that the convention has. */
static bool
byte_codes(const struct convention *c, const struct raw *w, const struct raw *scale)
{
	return w->part.dim[w->part.ndim - 1] % 4 == 0 &&
	       (scale->part.dtype == c->scales ||
		(c->scales == DT_U8 && scale->part.dtype == DT_F8_E8M0));
}

/* Finds the companions of a packed weight.  false: it has none. */
static bool
tensors_gather(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key)
{
	for (size_t i = 0; i < NCONVENTIONS; i++) {
		const struct convention *c = &conventions[i];
		size_t n = strlen(w->name) - strlen(c->weight);
		struct tensor_part *p = &t->weight;
		struct raw *scale;

		if (w->part.dtype != c->dtype || !tb_ends(w->name, c->weight))
			continue;
		scale = build_companion(b, key, w->name, n, c->scale);
		if (!scale || w->part.ndim == 0 ||
		    (c->scales != DT_COUNT && !byte_codes(c, w, scale)))
			continue;
		build_take(w, p);
		t->has_scale = build_take(scale, &t->scale);
		t->has_bias = build_take(build_companion(b, key, w->name, n, c->bias), &t->bias);
		t->has_global = build_take(build_companion(b, key, w->name, n, c->global), &t->global);
		t->global_inverse = t->has_global && c->global_inverse;
		/* gpt-oss gives the bytes of a group a dimension of their own. */
		if (*c->weight == '_' && p->ndim > 1 && p->ndim--)
			p->dim[p->ndim - 1] *= p->dim[p->ndim];
		if (c->scales != DT_COUNT) {
			p->dtype = DT_U32;
			p->dim[p->ndim - 1] /= 4;
			t->scale.dtype = DT_U8;
		} else if (t->scale.dtype == DT_F8_E8M0 || t->scale.dtype == DT_F8_E4M3) {
			t->scale.dtype = DT_U8;		/* as which MLX takes them */
		}
		t->name = *c->weight == '_' ? tb_arena_text(b->arena, w->name, n)
			: strcmp(c->weight, ".weight_packed") == 0
			? tb_arena_cat(b->arena, w->name, n, ".weight") : w->name;
		return true;
	}
	return false;
}

static void
total(struct tensor *t)
{
	t->elems = 1;
	for (unsigned i = 0; i < t->ndim; i++)
		t->elems *= t->dim[i];
	t->bytes = t->weight.len + (t->has_scale ? t->scale.len : 0) +
		   (t->has_bias ? t->bias.len : 0) + (t->has_global ? t->global.len : 0) +
		   (t->has_order ? t->order.len : 0);
}

static bool
is_draft(const struct build *b, const char *name)
{
	return *b->m->draft_prefix && tb_starts(name, b->m->draft_prefix);
}

static enum tb_status
tensors_add_tensor(struct build *b, struct raw *w, struct tensor *t, struct tb_buf *key,
		   struct tb_err *err)
{
	const bool blocks = scheme_form(&w->blocks) == FORM_BLOCKS;
	enum tb_status status;
	bool packed;

	*t = (struct tensor){ .name = w->name, .weight = w->part,
		.draft = w->draft || is_draft(b, w->name) };
	status = build_foreign(b, t, w, key, &packed, err);
	if (packed || status) {
		total(t);
		return status;
	}
	packed = !blocks && tensors_gather(b, t, w, key);
	if (!t->name || tb_buf_failed(key))
		return tb_nomem(err);
	t->ndim = t->weight.ndim;
	memcpy(t->dim, t->weight.dim, sizeof(t->dim));
	t->scheme = scheme_plain(t->weight.dtype);
	w->used = true;
	if (blocks) {	/* a row of the part is so many bytes, which are so many elements */
		t->scheme = w->blocks;
		t->origin = ORIGIN_TYPE;
		t->dim[t->ndim - 1] /= scheme_code_bytes(&t->scheme, t->scheme.group);
		t->dim[t->ndim - 1] *= t->scheme.group;
	} else if (packed) {
		status = build_scheme(b, t, w, err);
	}
	t->home = blocks ? DT_F32 : t->weight.dtype;
	total(t);
	return status;
}

/* The order in which weights look for their companions: a U8 tensor may be the
 * codes of one weight or the scales of another. */
static unsigned
tensors_turn(const struct raw *r)
{
	if (r->part.dtype == DT_U32 || tb_ends(r->name, ".weight_packed") || build_foreign_codes(r) ||
	    (r->part.dtype == DT_F8_E4M3 && tb_ends(r->name, ".weight")))
		return 0;
	return r->part.dtype == DT_U8 ? 1 : 2;
}

/* ---- all of them, in natural order ---- */

const char *
build_key(struct tb_arena *a, const char *name)
{
	char small[512], *key = small, *big = NULL;
	size_t room = 3 * strlen(name) + 1;
	const char *kept;

	if (room > sizeof(small))
		key = big = malloc(room);
	kept = key ? tb_arena_text(a, key, tb_natural_key(name, key)) : NULL;
	free(big);
	return kept;
}

struct ordered { const char *key; const struct tensor *t; unsigned file; bool ready; };

static int
ordered_cmp(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int d = strcmp(x->key, y->key);

	return d ? d : strcmp(x->t->name, y->t->name);
}

/* Layers stand in a manifest nearly as their names are ordered: then each is put in its
 * place with a few steps, and sorting is left for lists of which that is not true. */
static void
order(struct ordered *p, size_t n)
{
	size_t steps = 8 * n;

	for (size_t i = 1, k; i < n; i++) {
		const struct ordered one = p[i];

		for (k = i; k && steps && ordered_cmp(&p[k - 1], &one) > 0; k--, steps--)
			p[k] = p[k - 1];
		p[k] = one;
		if (!steps) {
			qsort(p, n, sizeof(*p), ordered_cmp);
			return;
		}
	}
}

static enum tb_status
list_places(struct build *b, const struct tensor *made, size_t n, struct ordered *p,
	    struct tb_err *err)
{
	for (size_t i = 0; i < n; i++) {
		*p++ = (struct ordered){ build_key(b->arena, made[i].name), &made[i], 0, false };
		if (!p[-1].key)
			return tb_nomem(err);
	}
	for (size_t i = 0; i < b->nready; i++)
		for (size_t k = 0; k < b->ready[i].h->nready; k++) {
			const struct ready_tensor *r = &b->ready[i].h->ready[k];

			*p++ = (struct ordered){ r->key, &r->t, b->ready[i].file, true };
		}
	return TB_OK;
}

/* Whatever was taken as a companion is no tensor of its own. */
static enum tb_status
resolve(struct build *b, struct tensor *made, size_t *n, struct tb_err *err)
{
	struct tb_buf key = TB_BUF(ST_HEADER_MAX);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < b->nraws; i++)
		b->raws[i].used = false;
	*n = 0;
	for (unsigned now = 0; now < 3; now++)
		for (size_t i = 0; i < b->nraws && !status; i++)
			if (!b->raws[i].used && tensors_turn(&b->raws[i]) == now)
				status = tensors_add_tensor(b, &b->raws[i], &made[(*n)++], &key, err);
	tb_buf_free(&key);
	return status;
}

/* Two with one name, or what might be the scales of a tensor that is ready. */
static bool
conflict(const struct build *b, const struct ordered *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!strcmp(p[i - 1].t->name, p[i].t->name))
			return true;
	for (size_t i = 0; i < b->nraws && b->nready; i++)
		if (strstr(b->raws[i].name, ".weight."))
			return true;
	return false;
}

/* Tensors of other files may have to do with them after all: from the start, with every
 * entry of every header. */
static enum tb_status
start_over(struct build *b, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t n = b->nready;

	for (size_t i = 0; i < n && !status; i++)
		if (b->ready[i].h->nready)
			status = build_raws(b, b->ready[i].file, &b->ready[i].h->h, true, err);
	b->nready = 0;		/* m holds them still */
	return status ? status : build_sort(b, err);
}

/* Puts `made` itself in the order of p, which is used up: a second array of a million
 * tensors would be most of what the model needs. */
static void
reorder(struct tensor *made, struct ordered *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct tensor first = made[i];
		size_t to = i, from;

		while ((from = (size_t)(p[to].t - made)) != i) {
			made[to] = made[from];
			p[to].t = &made[to];
			to = from;
		}
		made[to] = first;
		p[to].t = &made[to];
	}
}

/* The model's tensors: `made` (owned) and those that are ready. */
static enum tb_status
take_all(struct build *b, struct tensor *made, size_t n, struct ordered *p, size_t all,
	 struct tb_err *err)
{
	struct model *m = b->m;

	if (n == all) {
		reorder(made, p, n);
		m->tensors = realloc(made, (n + 1) * sizeof(*made));
		if (!m->tensors)	/* then it is too large, and that is all */
			m->tensors = made;
		m->ntensors = n;
		return TB_OK;
	}
	m->tensors = malloc((all + 1) * sizeof(*m->tensors));
	for (size_t i = 0; m->tensors && i < all; i++) {
		struct tensor *t = &m->tensors[m->ntensors++];

		*t = *p[i].t;
		if (!p[i].ready)
			continue;
		/* what a file says of itself is ready; whether it is a draft says the model */
		t->draft = is_draft(b, t->name);
		t->weight.file = t->scale.file = t->bias.file = t->global.file = p[i].file;
		t->order.file = p[i].file;
	}
	free(made);
	return m->tensors ? TB_OK : tb_nomem(err);
}

static enum tb_status
build_all(struct build *b, bool *again, struct tb_err *err)
{
	size_t n = 0, nready = 0, all;
	struct tensor *made = b->nraws < SIZE_MAX / sizeof(*made) - 1
			    ? malloc((b->nraws + 1) * sizeof(*made)) : NULL;
	struct ordered *p = NULL;
	enum tb_status status = made ? resolve(b, made, &n, err) : tb_nomem(err);

	for (size_t i = 0; i < b->nready; i++)
		nready += b->ready[i].h->nready;
	all = n + nready;
	if (!status) {
		p = all < SIZE_MAX / sizeof(*p) ? malloc((all + 1) * sizeof(*p)) : NULL;
		status = p ? list_places(b, made, n, p, err) : tb_nomem(err);
	}
	if (!status)
		order(p, all);
	*again = !status && nready && conflict(b, p, all);
	if (!status && !*again) {
		status = take_all(b, made, n, p, all, err);
		made = NULL;
	}
	free(p);
	free(made);
	return status;
}

enum tb_status
build_tensors(struct build *b, struct tb_err *err)
{
	size_t problems = b->m->nproblems;
	bool again = false;
	enum tb_status status = build_all(b, &again, err);

	if (status || !again)
		return status;
	while (b->m->nproblems > problems)	/* they will be found again */
		free(b->m->problems[--b->m->nproblems].message);
	status = start_over(b, err);
	return status ? status : build_all(b, &again, err);
}
