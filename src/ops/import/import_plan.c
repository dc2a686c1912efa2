#include "config.h"

#include "src/ops/import/import_plan.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/tensor_name.h"

/* An expert's tensor on its way into a stack. */
struct member {
	const struct tensor *t;
	struct tname_expert e;
};

static const char *
own(struct import_plan *p, char *name)
{
	if (!name || !tb_grow(&p->names, &p->names_cap, p->nnames + 1, sizeof(*p->names))) {
		free(name);
		return NULL;
	}
	return p->names[p->nnames++] = name;
}

static enum tb_status
begin_blob(struct import_plan *p, const char *name, struct import_blob **out, struct tb_err *err)
{
	if (!name || !tb_grow(&p->blobs, &p->blobs_cap, p->nblobs + 1, sizeof(*p->blobs)))
		return tb_nomem(err);
	*out = &p->blobs[p->nblobs++];
	**out = (struct import_blob){ .name = name, .media = MEDIA_TENSOR, .tensor = p->ntensors,
				      .piece = p->npieces };
	return TB_OK;
}

static enum tb_status
plan_add_piece(struct import_plan *p, struct import_blob *b, const struct tensor_part *part,
	       const struct tensor *inverse, struct tb_err *err)
{
	if (!tb_grow(&p->pieces, &p->pieces_cap, p->npieces + 1, sizeof(*p->pieces)))
		return tb_nomem(err);
	p->pieces[p->npieces++] = (struct import_piece){ part, inverse };
	b->npieces++;
	b->bytes += part->len;
	p->bytes += part->len;
	return TB_OK;
}

/* A tensor of the blob; stacked > 0 puts that dimension before the part's own. */
static enum tb_status
plan_add_tensor(struct import_plan *p, struct import_blob *b, const char *name,
		const struct tensor_part *part, uint64_t stacked, struct tb_err *err)
{
	struct st_tensor *t;

	if (!name || !tb_grow(&p->tensors, &p->tensors_cap, p->ntensors + 1, sizeof(*t)))
		return tb_nomem(err);
	if (stacked && part->ndim == TB_MAX_DIMS)
		return tb_fail(err, TB_EUNSUP, "tensor %.200s: too many dimensions to stack", name);
	t = &p->tensors[p->ntensors++];
	*t = (struct st_tensor){ .name = name, .dtype = part->dtype,
				 .ndim = part->ndim + (stacked > 0) };
	if (stacked)
		t->dim[0] = stacked;
	memcpy(t->dim + (stacked > 0), part->dim, part->ndim * sizeof(*t->dim));
	b->ntensors++;
	return TB_OK;
}

static enum tb_status
add_companion(struct import_plan *p, struct import_blob *b, const struct tensor *t,
	      const char *ending, const struct tensor_part *part, struct tb_err *err)
{
	bool inverse = part == &t->global && t->global_inverse;
	const char *name = own(p, tb_asprintf("%s%s", t->name, ending));
	enum tb_status status = plan_add_tensor(p, b, name, part, 0, err);

	return status ? status : plan_add_piece(p, b, part, inverse ? t : NULL, err);
}

/* quant_type says it to whoever reads the blob alone; not all schemes have a word. */
static bool
has_word(const struct tensor *t)
{
	return t->has_scale && t->origin != ORIGIN_UNKNOWN &&
	       scheme_ollama(&t->scheme);
}

static enum tb_status
add_single(struct import_plan *p, const struct tensor *t, struct tb_err *err)
{
	struct import_blob *b;
	enum tb_status status = begin_blob(p, t->name, &b, err);

	if (!status)
		status = plan_add_tensor(p, b, t->name, &t->weight, 0, err);
	if (!status)
		status = plan_add_piece(p, b, &t->weight, NULL, err);
	if (!status && t->has_scale)
		status = add_companion(p, b, t, ".scale", &t->scale, err);
	if (!status && t->has_bias)
		status = add_companion(p, b, t, ".bias", &t->bias, err);
	if (!status && t->has_global)
		status = add_companion(p, b, t, ".global_scale", &t->global, err);
	if (!status && has_word(t))
		b->scheme = t->scheme;
	return status;
}

static int
slice_cmp(const char *a, size_t na, const char *b, size_t nb)
{
	int d = memcmp(a, b, na < nb ? na : nb);

	return d ? d : (na > nb) - (na < nb);
}

static int
member_cmp(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int d = slice_cmp(x->t->name, x->e.prefix, y->t->name, y->e.prefix);

	if (!d)
		d = slice_cmp(x->e.proj, x->e.proj_len, y->e.proj, y->e.proj_len);
	return d ? d : (x->e.index > y->e.index) - (x->e.index < y->e.index);
}

static bool
same_group(const struct member *a, const struct member *b)
{
	return slice_cmp(a->t->name, a->e.prefix, b->t->name, b->e.prefix) == 0;
}

static bool
same_proj(const struct member *a, const struct member *b)
{
	return slice_cmp(a->e.proj, a->e.proj_len, b->e.proj, b->e.proj_len) == 0;
}

static bool
plan_same_shape(const struct tensor_part *a, const struct tensor_part *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim &&
	       memcmp(a->dim, b->dim, a->ndim * sizeof(*a->dim)) == 0;
}

/* The experts [m, m + n) of one projection become one tensor [n, …]. */
static enum tb_status
add_stack(struct import_plan *p, struct import_blob *b, const struct member *m, size_t n,
	  struct tb_err *err)
{
	const char *name = own(p, tb_asprintf("%.*s.%.*s.weight", (int)m->e.prefix, m->t->name,
					      (int)m->e.proj_len, m->e.proj));
	enum tb_status status = plan_add_tensor(p, b, name, &m->t->weight, n, err);

	for (size_t i = 0; i < n && !status; i++) {
		if (!plan_same_shape(&m->t->weight, &m[i].t->weight))
			return tb_fail(err, TB_EFORMAT, "tensor %.150s: dtype or shape differs from"
				       " that of %.150s", m[i].t->name, m->t->name);
		if (i && m[i - 1].e.index == m[i].e.index)
			return tb_fail(err, TB_EFORMAT, "tensor %.150s: the same expert as %.150s",
				       m[i].t->name, m[i - 1].t->name);
		status = plan_add_piece(p, b, &m[i].t->weight, NULL, err);
	}
	return status;
}

static enum tb_status
add_groups(struct import_plan *p, struct member *m, size_t n, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct import_blob *b = NULL;
	size_t end;

	if (n > 1)
		qsort(m, n, sizeof(*m), member_cmp);
	for (size_t i = 0; i < n && !status; i = end) {
		for (end = i + 1; end < n && same_group(&m[i], &m[end]) &&
				  same_proj(&m[i], &m[end]); end++)
			;
		if (i == 0 || !same_group(&m[i - 1], &m[i]))
			status = begin_blob(p, own(p, tb_strndup(m[i].t->name, m[i].e.prefix)), &b,
					    err);
		if (!status)
			status = add_stack(p, b, m + i, end - i, err);
	}
	return status;
}

static int
plan_name_cmp(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Plain tensors in bytewise order, then groups in order of their prefix; what is
 * quantized already stays as it comes, without the scales of activations that go with nvfp4
 * as others write it: nobody who reads the store wants them. */
static enum tb_status
plan_add_all(struct import_plan *p, const struct tensor **sorted, struct member *members, size_t n,
	     struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t nmembers = 0;

	for (size_t i = 0; i < n && !status; i++) {
		struct member m = { .t = sorted[i] };

		if (!p->prequantized && tname_expert(m.t->name, &m.e) &&
		    m.e.grouped)
			members[nmembers++] = m;
		else if (!p->prequantized || (!tb_ends(m.t->name, ".input_scale") &&
					      !tb_ends(m.t->name, ".input_global_scale")))
			status = add_single(p, m.t, err);
	}
	return status ? status : add_groups(p, members, nmembers, err);
}

static enum tb_status
plan_check_source(struct import_plan *p, const struct model *m, struct tb_err *err)
{
	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];

		p->prequantized |= t->has_scale;
		if ((t->weight.dtype == DT_F8_E4M3 || t->weight.dtype == DT_F8_E5M2) &&
		    tb_ends(t->name, ".weight"))
			return tb_fail(err, TB_EUNSUP, "tensor %.200s: %s weights cannot be imported:"
				       " a store has no place for their scales", t->name,
				       dtype_name(t->weight.dtype));
	}
	return TB_OK;
}

enum tb_status
import_plan(struct import_plan *p, const struct model *m, struct tb_err *err)
{
	const struct tensor **sorted = tb_calloc(m->ntensors, sizeof(*sorted));
	struct member *members = tb_calloc(m->ntensors, sizeof(*members));
	enum tb_status status;

	*p = (struct import_plan){ 0 };
	status = sorted && members ? plan_check_source(p, m, err) : tb_nomem(err);
	if (!status) {
		for (size_t i = 0; i < m->ntensors; i++)
			sorted[i] = &m->tensors[i];
		if (m->ntensors > 1)
			qsort(sorted, m->ntensors, sizeof(*sorted), plan_name_cmp);
		status = plan_add_all(p, sorted, members, m->ntensors, err);
	}
	free(sorted);
	free(members);
	if (status)
		import_plan_free(p);
	return status;
}

enum tb_status
import_plan_file(struct import_plan *p, const struct model *m, struct tb_err *err)
{
	struct import_blob *b;
	enum tb_status status;

	*p = (struct import_plan){ .whole.len = m->files[0].id.size };
	if (m->nfiles != 1)
		return tb_fail(err, TB_EUNSUP, "%s: is split into %zu files, which Ollama has no "
			       "place for", m->loc.path, m->nfiles);
	status = begin_blob(p, m->loc.name, &b, err);
	if (status)
		return status;
	b->media = kind_format(m->loc.kind)->layer;
	return plan_add_piece(p, b, &p->whole, NULL, err);
}

void
import_plan_free(struct import_plan *p)
{
	while (p->nnames)
		free(p->names[--p->nnames]);
	free(p->names);
	free(p->blobs);
	free(p->tensors);
	free(p->pieces);
	*p = (struct import_plan){ 0 };
}
