/* plan_layout.c - which tensors are written, from which pieces, into which blobs. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf_write.h"
#include "src/ops/plan/plan_parts.h"
#include "src/store/tensor_name.h"

#define SHARD_MAX 5000000000u	/* what a file system and a download can bear */
#define EXPERTS_MAX 65536u	/* a shape of no elements may promise any number */

struct layout {
	struct plan *p;
	struct atom *atoms;
	size_t n, cap;
	struct plan_parts *parts;
	struct plan_blob *blobs;
	size_t nblobs, blobs_cap, changes_cap;
	enum tname_dialect names;
};

enum tb_status
layout_add(struct layout *l, const struct atom *from, struct tb_err *err)
{
	struct atom *a;

	if (!tb_grow(&l->atoms, &l->cap, l->n + 1, sizeof(*l->atoms)))
		return tb_nomem(err);
	a = &l->atoms[l->n++];
	*a = *from;
	a->name = tb_strdup(from->name);
	a->group = from->group ? tb_strdup(from->group) : NULL;
	return a->name && (a->group || !from->group) ? TB_OK : tb_nomem(err);
}

enum tb_status
layout_change(struct layout *l, const struct change *c, size_t *out, struct tb_err *err)
{
	struct plan_parts *p = l->parts;
	size_t n = p->nchanges ? p->nchanges : 1;

	if (!tb_grow(&p->changes, &l->changes_cap, n + 1, sizeof(*p->changes)))
		return tb_nomem(err);
	p->changes[0] = (struct change){ 0 };
	p->changes[n] = *c;
	p->nchanges = n + 1;
	*out = n;
	return TB_OK;
}

static enum tb_status
add_atom(struct layout *l, const char *name, const char *group, struct plan_piece piece,
	 uint64_t index, bool part, struct tb_err *err)
{
	const struct atom a = { .name = (char *)name, .group = (char *)group, .piece = piece,
				.index = index, .part = part ? ATOM_EXPERT : ATOM_WHOLE };

	return layout_add(l, &a, err);
}

/* All experts' slices of a stacked tensor. */
static enum tb_status
add_slices(struct layout *l, size_t row, const struct tname_expert *e, const char *group,
	   struct tb_err *err)
{
	const struct tensor *t = l->p->rows[row].src;
	uint64_t n = t->dim[0], each = n ? t->elems / n : 0;
	enum tb_status status = TB_OK;
	char name[TNAME_MAX];

	if (n > EXPERTS_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: %ju experts", t->name, (uintmax_t)n);
	for (uint64_t i = 0; i < n && !status; i++)
		status = add_atom(l, tname_write(e, l->names, i, name), group,
				  (struct plan_piece){ row, i * each, each, 0 }, 0, false, err);
	return status;
}

/* Of a scheme that nobody knows the bytes can be put together and taken apart, where every part
 * of the tensor has the experts as its first dimension or none. */
static bool
divides(const struct tensor *t, bool stacked)
{
	for (enum values_part i = 0; i < PART_COUNT; i++) {
		const struct tensor_part *part = values_part_of(t, i);

		if (part && (i > PART_BIAS || part->ndim != t->ndim || !part->len ||
			     (stacked && part->dim[0] != t->dim[0])))
			return false;
	}
	return true;
}

static enum tb_status
add_expert(struct layout *l, size_t row, const struct tname_expert *e, struct tb_err *err)
{
	const struct tensor *t = l->p->rows[row].src;
	bool stack = plan_experts_stack(l->p->experts), packed = l->p->shared == PLAN_SHARED_PACKED;
	struct plan_piece all = { row, 0, t->elems, 0 };
	char group[TNAME_MAX], name[TNAME_MAX];

	tname_group(e, group);
	if (l->p->shared == PLAN_SHARED_DEFAULT)
		packed = !stack;
	if (e->shared)		/* has its blob to itself today, the older layout packs it */
		return add_atom(l, t->name, packed ? group : NULL, all, 0, false, err);
	if (!stack && e->stacked)
		return add_slices(l, row, e, group, err);
	if (!stack)
		return add_atom(l, tname_write(e, l->names, e->index, name), group, all, 0, false, err);
	return add_atom(l, tname_write(e, l->names, TNAME_ALL, name), group, all, e->index,
			!e->stacked, err);
}

/* A view's are those of its tensors. */
static enum tb_status
copy_changes(struct layout *l, struct tb_err *err)
{
	const struct hf_view *view = l->p->view;

	if (!view)
		return TB_OK;
	l->parts->changes = tb_calloc(l->p->nrows + 1, sizeof(*l->parts->changes));
	if (!l->parts->changes)
		return tb_nomem(err);
	l->parts->nchanges = l->changes_cap = l->p->nrows + 1;
	memcpy(l->parts->changes + 1, view->changes, l->p->nrows * sizeof(*view->changes));
	return TB_OK;
}

static size_t
change_of(const struct layout *l, size_t row)
{
	const struct change *c = l->p->view ? &l->parts->changes[row + 1] : NULL;

	return c && (c->moved || c->what != CHANGE_NONE) ? row + 1 : 0;
}

/* Does a view make several tensors of it, or it and others one? */
static bool
is_woven(const struct layout *l, size_t row)
{
	const struct hf_view *v = l->p->dest == PLAN_TO_GGUF ? NULL : l->p->view;

	for (size_t i = 0; v && i < v->npieces; i++)
		if (v->pieces[i].tensor == row)
			return true;
	return false;
}

static enum tb_status
lay_out_piece(struct layout *l, const struct hf_piece *p, struct tb_err *err)
{
	struct plan_piece piece = { p->tensor, p->first, p->each, 0 };
	const char *star = p->apart ? strchr(p->into, '*') : NULL;
	enum tb_status status = TB_OK;
	char name[TNAME_MAX];
	struct atom a = { .name = star ? name : (char *)p->into, .ndim = p->ndim,
			  .part = star ? ATOM_WHOLE : ATOM_WOVEN };

	memcpy(a.dim, p->dim, sizeof(p->dim));
	if (p->count > EXPERTS_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: made of %ju pieces", p->into, (uintmax_t)p->count);
	if (p->change.moved || p->change.what != CHANGE_NONE)
		status = layout_change(l, &p->change, &piece.change, err);
	for (uint64_t i = 0; i < p->count && !status; i++) {
		if (star)
			snprintf(name, sizeof(name), "%.*s%ju%s", (int)(star - p->into), p->into,
				 (uintmax_t)i, star + 1);
		a.piece = piece;
		a.piece.first += i * p->each;
		a.index = p->index + i * p->step;
		status = layout_add(l, &a, err);
	}
	return status;
}

static enum tb_status
add_woven(struct layout *l, size_t row, struct tb_err *err)
{
	const struct hf_view *v = l->p->view;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < v->npieces && !status; i++)
		if (v->pieces[i].tensor == row)
			status = lay_out_piece(l, &v->pieces[i], err);
	return status;
}

static enum tb_status
add_tensor_atoms(struct layout *l, size_t row, struct tb_err *err)
{
	const struct tensor *t = l->p->rows[row].src;
	struct plan_piece all = { row, 0, t->elems, change_of(l, row) };
	char name[TNAME_MAX];
	struct tname_expert e;

	if (plan_beside(l->p, t))
		return TB_OK;
	if (l->p->dest == PLAN_TO_GGUF)
		return plan_gguf_atoms(l->p, l, row, err);
	if (is_woven(l, row))
		return add_woven(l, row, err);
	if (l->p->experts == PLAN_EXPERTS_KEEP)
		return add_atom(l, t->name, NULL, all, 0, false, err);
	if (dtype_bits(t->weight.dtype) >= 8 && tname_expert(t->name, &e) &&
	    t->ndim == (e.stacked ? 3 : 2) && tname_room(t->name) &&
	    (t->origin != ORIGIN_UNKNOWN || divides(t, e.stacked)))
		return add_expert(l, row, &e, err);
	return add_atom(l, tname_in(t->name, l->names, name), NULL, all, 0, false, err);
}

/* Plain tensors by name, then groups; in a group by name as people count. */
static int
atom_cmp(const void *va, const void *vb)
{
	const struct atom *a = va, *b = vb;
	int d = (a->group != NULL) - (b->group != NULL);

	if (!d && a->group)
		d = strcmp(a->group, b->group);
	if (!d)
		d = a->group ? tb_natural_cmp(a->name, b->name) : 0;
	if (!d)
		d = strcmp(a->name, b->name);
	return d ? d : (a->index > b->index) - (a->index < b->index);
}

static bool
alike(const struct plan *p, const struct atom *a, const struct atom *b)
{
	const struct plan_row *x = &p->rows[a->piece.row], *y = &p->rows[b->piece.row];

	for (enum values_part i = 0; i < PART_COUNT && x->src->origin == ORIGIN_UNKNOWN; i++) {
		const struct tensor_part *v = values_part_of(x->src, i), *w = values_part_of(y->src, i);

		if (!v != !w || (v && (v->dtype != w->dtype || v->ndim != w->ndim ||
				       memcmp(v->dim, w->dim, v->ndim * sizeof(*v->dim)))))
			return false;
	}
	if (a->part != b->part || x->dtype != y->dtype || x->repack != y->repack)
		return false;
	if (a->part == ATOM_WOVEN)
		return a->ndim == b->ndim && !memcmp(a->dim, b->dim, a->ndim * sizeof(*a->dim));
	if (a->part == ATOM_ROWS)
		return a->ndim == b->ndim &&
		       !memcmp(a->dim + 1, b->dim + 1, (a->ndim - 1) * sizeof(*a->dim));
	return x->src->has_global == y->src->has_global && x->src->ndim == y->src->ndim &&
	       !memcmp(x->src->dim, y->src->dim, x->src->ndim * sizeof(*x->src->dim));
}

/* Are all numbers of a whole there, once each? */
static enum tb_status
check_woven(const struct layout *l, size_t i, size_t end, struct tb_err *err)
{
	const struct atom *a = &l->atoms[i];
	uint64_t want = 1, sum = 0;
	bool gap = false;

	for (unsigned d = 0; d < a->ndim; d++)
		want *= a->dim[d];
	for (size_t k = i; k < end; k++) {
		gap |= l->atoms[k].part != ATOM_WOVEN || l->atoms[k].index != k - i;
		sum += l->atoms[k].piece.elems;
	}
	return !gap && sum == want ? TB_OK
	     : tb_fail(err, TB_EFORMAT, "%s is made of several tensors, and one of them is missing or "
		       "has another shape", a->name);
}

/* Atoms [i, end) have one name. */
static enum tb_status
check_stack(const struct layout *l, size_t i, size_t end, struct tb_err *err)
{
	const struct atom *first = &l->atoms[i];

	if (!first->part && end - i > 1)
		return tb_fail(err, TB_EFORMAT, "two tensors would be called %s", first->name);
	if (first->part == ATOM_WOVEN && check_woven(l, i, end, err))
		return TB_EFORMAT;
	for (size_t k = i; k < end && first->part; k++) {
		const struct atom *a = &l->atoms[k];

		if (!a->part || a->index != k - i)
			return tb_fail(err, TB_EFORMAT, "%s: expert %zu is missing or twice there; "
				       "experts can be kept as they are", a->name, k - i);
		if (!alike(l->p, first, a))
			return tb_fail(err, TB_EFORMAT, "%s: expert %zu has another shape or type",
				       a->name, k - i);
		if (!scheme_equal(&l->p->rows[first->piece.row].target,
				  &l->p->rows[a->piece.row].target))
			return a->part == ATOM_WOVEN
				? tb_fail(err, TB_EUSAGE, "%s is made of several tensors, which cannot "
					  "have different schemes; give them one (--rule)", a->name)
				: tb_fail(err, TB_EUSAGE, "%s: experts stacked in one tensor cannot have "
					  "different schemes; per-expert layout can", a->name);
		if (l->p->rows[a->piece.row].src->has_global)
			return tb_fail(err, TB_EUNSUP, "%s: experts with global scales of their own "
				       "cannot be stacked", a->name);
	}
	return TB_OK;
}

/* The stacks of a group have as many experts each: a gap at the end of one shows only beside
 * the others.  Of two names in order, the one's atoms are [prev, first), the other's
 * [first, end). */
static enum tb_status
check_group(const struct layout *l, size_t prev, size_t first, size_t end, struct tb_err *err)
{
	const struct atom *a = &l->atoms[prev], *b = &l->atoms[first];

	if (prev == first || a->part != ATOM_EXPERT || b->part != ATOM_EXPERT ||
	    strcmp(a->group, b->group) || first - prev == end - first)
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "%.*s: %zu experts have a %s and %zu a %s; experts can be kept as "
		       "they are", (int)strlen(a->group), a->group, first - prev,
		       l->p->rows[a->piece.row].src->name, end - first,
		       l->p->rows[b->piece.row].src->name);
}

static void
shape(struct plan_out *o, const struct tensor *t, const struct atom *a, size_t n)
{
	unsigned ndim = a->ndim ? a->ndim : t->ndim;
	const uint64_t *dim = a->ndim ? a->dim : t->dim;

	o->ndim = ndim;
	memcpy(o->dim, dim, sizeof(o->dim));
	if (a->part == ATOM_ROWS) {
		o->dim[0] = o->elems = 0;
		for (size_t k = 0; k < n; k++) {
			o->dim[0] += a[k].dim[0];
			o->elems += a[k].piece.elems;
		}
		return;
	}
	if (a->part == ATOM_WOVEN) {
		o->elems = 1;
		for (unsigned d = 0; d < ndim; d++)
			o->elems *= dim[d];
		return;
	}
	if (a->part) {
		memmove(o->dim + 1, dim, sizeof(*o->dim) * (TB_MAX_DIMS - 1));
		o->dim[0] = n;
		o->ndim++;
	} else if (!a->ndim && a->piece.elems != t->elems) {
		memmove(o->dim, t->dim + 1, sizeof(*o->dim) * (TB_MAX_DIMS - 1));
		o->ndim--;
	}
	o->elems = n * a->piece.elems;
}

bool
plan_gpt_oss(const struct plan *p, const char *name, const struct scheme *s)
{
	const char *mode = scheme_mode(s);

	return !strcmp(p->model->model_type, "gpt_oss") && mode && !strcmp(mode, "mxfp4") &&
	       !tb_ends(name, ".weight");
}

/* What MLX has no name or no place for, said before anything is written. */
static enum tb_status
check_mlx(const struct layout *l, const struct atom *a, struct tb_err *err)
{
	const struct plan_row *r = &l->p->rows[a->piece.row];

	if (l->p->dest != PLAN_TO_DIR || scheme_is_plain(&r->target))
		return TB_OK;
	if (r->src->has_global && scheme_equal(&r->target, &r->src->scheme))
		return tb_fail(err, TB_EUNSUP, "%s: an MLX directory has no place for its global "
			       "scale; requantize it", a->name);
	if (!tb_ends(a->name, ".weight") && !plan_gpt_oss(l->p, a->name, &r->target))
		return tb_fail(err, TB_EUNSUP, "%s: an MLX directory has no name for its scales, "
			       "for it does not end in .weight; write a file (NAME.safetensors)", a->name);
	return TB_OK;
}

static enum tb_status
add_out(struct layout *l, size_t i, size_t end, struct tb_err *err)
{
	struct plan_out *o = &l->parts->outs[l->parts->nouts];
	enum tb_status status = check_stack(l, i, end, err);

	for (size_t k = i; k < end && !status; k++)
		status = check_mlx(l, &l->atoms[k], err);
	if (status)
		return status;
	*o = (struct plan_out){ .piece = l->parts->npieces, .npieces = end - i,
				.row = l->atoms[i].piece.row };
	shape(o, l->p->rows[o->row].src, &l->atoms[i], end - i);
	o->name = l->atoms[i].name;
	l->atoms[i].name = NULL;
	for (size_t k = i; k < end; k++) {
		l->p->rows[l->atoms[k].piece.row].stack = o->row;
		o->changed |= l->atoms[k].piece.change != 0;
		l->parts->pieces[l->parts->npieces++] = l->atoms[k].piece;
	}
	l->parts->nouts++;
	return TB_OK;
}

bool
plan_out_whole(const struct plan *p, const struct plan_out *o)
{
	const struct plan_row *r = &p->rows[o->row];

	return o->npieces == 1 && !o->changed &&
	       o->elems == r->src->elems && scheme_equal(&r->target, &r->src->scheme);
}

static uint64_t
out_bytes(const struct plan *p, const struct plan_out *o)
{
	const struct plan_row *r = &p->rows[o->row];
	struct plan_bytes b = plan_bytes(&r->target, r->dtype, o->elems);

	if (plan_out_whole(p, o))
		return r->before;
	if (r->src->origin == ORIGIN_UNKNOWN)	/* several of them, or a part of one */
		return !o->elems ? 0 : o->elems < r->src->elems ? r->before / (r->src->elems / o->elems)
			: r->before * (o->elems / r->src->elems);
	return b.codes + b.scales + b.biases + (r->src->has_global ? 4 : 0);
}

/* Outs [i, end) in one blob. */
static enum tb_status
add_blob(struct layout *l, const char *name, size_t i, size_t end, struct tb_err *err)
{
	struct plan_blob *b;

	if (!tb_grow(&l->blobs, &l->blobs_cap, l->nblobs + 1, sizeof(*l->blobs)))
		return tb_nomem(err);
	b = &l->blobs[l->nblobs];
	*b = (struct plan_blob){ .name = tb_strdup(name), .tensors = end - i };
	if (!b->name)
		return tb_nomem(err);
	for (; i < end; i++) {
		struct plan_out *o = &l->parts->outs[i];

		o->blob = l->nblobs;
		b->bytes += out_bytes(l->p, o);
		for (size_t k = 0; k < o->npieces; k++)
			l->p->rows[l->parts->pieces[o->piece + k].row].blob = l->nblobs;
	}
	l->nblobs++;
	return TB_OK;
}

/* groups[i]: of out i, NULL for none. */
static enum tb_status
store_blobs(struct layout *l, char *const *groups, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const struct plan_row *rows = l->p->rows;
	const struct plan_out *outs = l->parts->outs;
	size_t n = l->parts->nouts;

	for (size_t i = 0, end; i < n && !status; i = end) {
		bool uniform = true;	/* one scheme, or unquantized one dtype */

		for (end = i + 1; groups[i] && end < n && !strcmp(groups[i], groups[end]); end++)
			;
		for (size_t k = i + 1; k < end; k++)
			uniform &= scheme_equal(&rows[outs[i].row].target, &rows[outs[k].row].target);
		if (groups[i] && l->p->experts != PLAN_EXPERTS_PROJECTION &&
		    (l->p->experts == PLAN_EXPERTS_EACH || uniform)) {
			status = add_blob(l, groups[i], i, end, err);
			continue;
		}
		for (size_t k = i; k < end && !status; k++)
			status = add_blob(l, outs[k].name, k, k + 1, err);
	}
	return status;
}

static uint64_t
shard_max(const struct plan *p)
{
	if (p->dest == PLAN_TO_FILE)
		return UINT64_MAX;
	return p->shard_max ? p->shard_max : p->dest == PLAN_TO_DIR ? SHARD_MAX : UINT64_MAX;
}

/* With what a GGUF fills up behind it. */
static uint64_t
room_of(const struct plan *p, const struct plan_out *o)
{
	uint64_t bytes = out_bytes(p, o);

	return p->dest == PLAN_TO_GGUF ? bytes + -bytes % GGUF_ALIGNMENT : bytes;
}

/* One file, or shards. */
static enum tb_status
file_blobs(struct layout *l, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t max = shard_max(l->p);
	size_t n = l->parts->nouts;

	for (size_t i = 0, end; i < n && !status; i = end) {
		uint64_t bytes = room_of(l->p, &l->parts->outs[i]);

		for (end = i + 1; end < n; end++) {
			bytes += room_of(l->p, &l->parts->outs[end]);
			if (bytes > max)
				break;
		}
		status = add_blob(l, l->p->dest == PLAN_TO_GGUF ? "model.gguf" : "model.safetensors", i,
				  end, err);
	}
	return status;
}

/* Of models whose own names are Mixtral's. */
static bool
like_mixtral(const char *model_type)
{
	static const char *const types[] = { "mixtral", "minimax", "minimax_m2", "phimoe" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(model_type, types[i]))
			return true;
	return false;
}

static enum tb_status
build(struct layout *l, struct tb_err *err)
{
	enum tb_status status = copy_changes(l, err);
	char **groups;

	l->names = l->p->dest != PLAN_TO_DIR
			? l->p->experts == PLAN_EXPERTS_SWITCH ? TNAME_SWITCH : TNAME_OLLAMA
		   : like_mixtral(l->p->model->model_type) ? TNAME_MIXTRAL : TNAME_DIR;
	for (size_t i = 0; i < l->p->nrows && !status; i++) {
		l->p->rows[i].stack = i;	/* what is left out has no part in any */
		l->p->rows[i].blob = 0;
		status = add_tensor_atoms(l, i, err);
	}
	if (status)
		return status;
	qsort(l->atoms, l->n, sizeof(*l->atoms), atom_cmp);
	l->parts->outs = tb_calloc(l->n, sizeof(*l->parts->outs));
	l->parts->pieces = tb_calloc(l->n, sizeof(*l->parts->pieces));
	groups = tb_calloc(l->n, sizeof(*groups));
	if (!l->parts->outs || !l->parts->pieces || !groups)
		status = tb_nomem(err);
	for (size_t i = 0, prev = 0, end; i < l->n && !status; i = end) {
		for (end = i + 1; end < l->n && !strcmp(l->atoms[i].name, l->atoms[end].name);)
			end++;
		groups[l->parts->nouts] = l->atoms[i].group;
		status = add_out(l, i, end, err);
		if (!status)
			status = check_group(l, prev, i, end, err);
		prev = i;
	}
	if (!status)
		status = l->p->dest == PLAN_TO_STORE ? store_blobs(l, groups, err)
						     : file_blobs(l, err);
	free(groups);
	return status;
}

void
plan_parts_free(struct plan_parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < parts->nouts; i++)
		free(parts->outs[i].name);
	free(parts->outs);
	free(parts->pieces);
	free(parts->changes);
	free(parts);
}

void
plan_blobs_free(struct plan_blob *blobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(blobs[i].name);
	free(blobs);
}

enum tb_status
plan_layout(struct plan *p, struct tb_err *err)
{
	struct layout l = { .p = p, .parts = tb_calloc(1, sizeof(*l.parts)) };
	enum tb_status status = l.parts ? build(&l, err) : tb_nomem(err);

	for (size_t i = 0; i < l.n; i++) {
		free(l.atoms[i].name);
		free(l.atoms[i].group);
	}
	free(l.atoms);
	if (status) {
		plan_parts_free(l.parts);
		plan_blobs_free(l.blobs, l.nblobs);
		return status;
	}
	plan_parts_free(p->parts);
	plan_blobs_free(p->blobs, p->nblobs);
	p->parts = l.parts;
	p->blobs = l.blobs;
	p->nblobs = l.nblobs;
	return TB_OK;
}
