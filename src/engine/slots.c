#include "config.h"

#include "src/engine/slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/dtype.h"
#include "src/store/model.h"
#include "src/store/tensor_name.h"

#define NAME_MAX_LEN 256

/* A visit, so that what follows needs one argument. */
struct visit {
	const struct hparams *hp;
	const struct model *m;
	const struct slot_visitor *v;
	bool *used;		/* [m->ntensors] */
	bool head;		/* the model has a head of its own */
	struct named { const struct slot_rule *r; const char *stem; bool sought; } named[SLOT_COUNT];
	struct tb_err *err;
};

static enum tb_status
tell_wrong(struct visit *v, enum slot_fault fault, enum slot s, uint32_t layer, const char *name,
	   const struct tensor *t, const struct tb_err *why)
{
	struct slot_wrong w = { fault, s, layer, name, t, why };

	return v->v->wrong(v->v->arg, &w, v->err);
}

/* The next rule for a slot in this architecture; r NULL: the first. */
static const struct slot_rule *
next_rule(const struct visit *v, enum slot s, const struct slot_rule *r)
{
	const struct arch *a = v->hp->arch;

	while ((r = slot_rule_next(a->names, a->ways, r)) && r->slot != s)
		;
	return r;
}

/* The tensor that a rule means here, or NULL. */
static const struct tensor *
find_tensor(const struct visit *v, const char *pattern, uint32_t layer, uint32_t expert)
{
	char name[NAME_MAX_LEN];

	for (const char *const *p = tname_stems; *p; p++) {
		size_t n = strlen(*p);
		const struct tensor *t;

		memcpy(name, *p, n);
		if (tname_fill(pattern, layer, expert, name + n, NAME_MAX_LEN - n) &&
		    (t = model_tensor(v->m, name))) {
			v->used[t - v->m->tensors] = true;
			return t;
		}
	}
	return NULL;
}

static uint64_t
sum_dims(const struct hparams *hp, uint32_t layer, const enum dim *d)
{
	uint64_t sum = 0;

	for (; *d != DIM_NONE; d++)
		sum += hparams_dim(hp, layer, *d);
	return sum;
}

bool
slot_shape(const struct tensor *t, const uint64_t *want, unsigned n)
{
	unsigned i = 0;

	for (unsigned k = 0; k < t->ndim; k++) {
		while (i < n && want[i] == 1)
			i++;
		if (t->dim[k] != 1 && (i == n || t->dim[k] != want[i++]))
			return false;
	}
	while (i < n && want[i] == 1)
		i++;
	return i == n;
}

static enum tb_status
check_shape(const struct visit *v, const struct slot_rule *r, const struct slot_at *at,
	    struct tb_err *why)
{
	const struct slot_info *info = slot_info(at->slot);
	const struct tensor *t = at->t;
	uint64_t want[3], fold = r->folded ? hparams_dim(v->hp, at->layer, r->folded) : 1;
	unsigned n = 0;
	struct tb_buf is = TB_BUF(400), should = TB_BUF(400);
	enum tb_status status = TB_OK;

	if (r->stacked)
		want[n++] = at->experts;
	if (r->folded)
		want[n++] = fold;
	want[n++] = at->rows / fold;
	if (info->cols != DIM_NONE)
		want[n++] = hparams_dim(v->hp, at->layer, info->cols);
	if (r->turned) {
		uint64_t rows = want[1];

		want[1] = want[2];
		want[2] = rows;
	}
	if (!slot_shape(t, want, n)) {
		for (unsigned i = 0; i < t->ndim; i++)
			tb_buf_printf(&is, "%s%" PRIu64, i ? ", " : "", t->dim[i]);
		for (unsigned i = 0; i < n; i++)
			tb_buf_printf(&should, "%s%" PRIu64, i ? ", " : "", want[i]);
		status = tb_fail(why, TB_EFORMAT, "%s: shape [%s], but the model's description"
				 " makes it [%s]", t->name, tb_buf_cstr(&is), tb_buf_cstr(&should));
	}
	tb_buf_free(&is);
	tb_buf_free(&should);
	return status;
}

/* Do the parts have the bytes that their scheme says? n elements in all. */
static enum tb_status
check_parts(const struct tensor *t, uint64_t n, struct tb_err *why)
{
	const struct scheme *s = &t->scheme;
	char name[SCHEME_NAME_MAX];
	uint64_t codes;
	bool known = !scheme_is_plain(s) || s->dtype == DT_F32 || s->dtype == DT_F16 ||
		     s->dtype == DT_BF16;

	if (!known || scheme_foreign(s) || !scheme_readable(s))
		return tb_fail(why, TB_EUNSUP, "%s: cannot compute with %s", t->name,
			       scheme_name(s, name));
	if (t->origin == ORIGIN_UNKNOWN || !scheme_fits(s, t->dim[t->ndim - 1]))
		return tb_fail(why, TB_EUNSUP, "%s: quantized in a way that is not known",
			       t->name);
	codes = scheme_is_plain(s) ? 0 : scheme_code_bytes(s, n);
	if (scheme_is_plain(s) || scheme_form(s) == FORM_BLOCKS)
		return (codes || dtype_bytes(s->dtype, n, &codes)) && t->weight.len == codes ? TB_OK
			: tb_fail(why, TB_EFORMAT, "%s: %" PRIu64 " bytes do not fit the shape",
				  t->name, t->weight.len);
	if (t->weight.len != codes || !t->has_scale || t->has_bias != scheme_has_bias(s) ||
	    scheme_scale_dtype(s, t->scale.dtype) != t->scale.dtype ||
	    t->scale.len != scheme_scales(s, n) * dtype_bits(t->scale.dtype) / 8 ||
	    (t->has_bias && (t->bias.len != t->scale.len || t->bias.dtype != t->scale.dtype)))
		return tb_fail(why, TB_EFORMAT, "%s: weight, scale and bias do not fit %s",
			       t->name, scheme_name(s, name));
	return TB_OK;
}

/* *fault: SLOT_FAULTS if the tensor is what the slot needs, else what it is not. */
static enum tb_status
check_slot(const struct visit *v, const struct slot_rule *r, const struct slot_at *at,
	   enum slot_fault *fault, struct tb_err *why)
{
	const struct slot_info *info = slot_info(at->slot);
	uint64_t n = at->rows * at->experts;
	enum tb_status status;

	*fault = SLOT_MISSHAPEN;
	if ((status = check_shape(v, r, at, why)))
		return status;
	if (info->cols != DIM_NONE)
		n *= hparams_dim(v->hp, at->layer, info->cols);
	status = check_parts(at->t, n, why);
	if (!status && (info->cols == DIM_NONE || slot_kernel(at->slot)) &&
	    !scheme_is_plain(&at->t->scheme))
		status = tb_fail(why, TB_EUNSUP, "%s: a quantized %s", at->t->name,
				 slot_kernel(at->slot) ? "convolution" : "vector");
	*fault = !status ? SLOT_FAULTS : status == TB_EUNSUP ? SLOT_UNSUP : SLOT_BROKEN;
	return status;
}

/* How the model calls the slot in some layer, of some expert; r NULL: it has none. */
static struct named
slot_named(struct visit *v, enum slot s)
{
	struct named *n = &v->named[s];
	uint32_t layer, expert;

	for (const struct slot_rule *r = NULL; !n->sought && (r = next_rule(v, s, r));)
		for (const char *const *p = tname_stems; *p && !n->r; p++)
			for (size_t i = 0; i < v->m->ntensors && !n->r; i++)
				if (tb_starts(v->m->tensors[i].name, *p) &&
				    tname_match(r->pattern, v->m->tensors[i].name + strlen(*p), &layer,
						&expert))
					*n = (struct named){ r, *p, false };
	n->sought = true;
	return *n;
}

/* As others of its kind are called, else as files of the model's kind would call it: behind
 * what stands before other tensors. */
static struct named
slot_name(struct visit *v, enum slot s)
{
	bool gguf = model_has_keys(v->m);
	struct named n = slot_named(v, s);

	if (n.r)
		return n;
	n.stem = gguf || s == SLOT_OUTPUT ? "" : NULL;
	for (enum slot other = 0; other < SLOT_COUNT && !n.stem; other++)
		n.stem = other == SLOT_OUTPUT ? NULL : slot_named(v, other).stem;
	while ((n.r = next_rule(v, s, n.r)))
		if (slot_rule_gguf(n.r) == gguf && (gguf || !n.r->stacked))
			break;
	n.stem = n.stem ? n.stem : tname_stems[0];
	return n;
}

static enum tb_status
absent(struct visit *v, enum slot s, uint32_t layer, uint32_t expert)
{
	struct named how = slot_name(v, s);
	char name[NAME_MAX_LEN];
	struct tb_err why;
	size_t n;

	if (how.r) {
		n = strlen(how.stem);
		memcpy(name, how.stem, n);
		if (tname_fill(how.r->pattern, layer, expert, name + n, sizeof(name) - n)) {
			(void)tb_fail(&why, TB_EFORMAT, "no tensor %s (%s of %s)", name,
				      slot_info(s)->name, v->hp->arch->name);
			return tell_wrong(v, SLOT_ABSENT, s, layer, name, NULL, &why);
		}
	}
	(void)tb_fail(&why, TB_EFORMAT, "no tensor for %s", slot_info(s)->name);
	return tell_wrong(v, SLOT_ABSENT, s, layer, slot_info(s)->name, NULL, &why);
}

/* A slot that a tensor must fill, unless another one does as well and has one. */
static bool
needed(const struct visit *v, enum slot s, uint32_t layer)
{
	enum slot other = slot_instead(s);
	const struct slot_rule *r = NULL;

	while (other != SLOT_COUNT && (r = next_rule(v, other, r)))
		if (find_tensor(v, r->pattern, layer, 0))
			return false;
	return slot_expert(s) || hparams_needs(v->hp, layer, s);
}

/* One tensor, or one expert's part of it; *last: no other expert need be asked. */
static enum tb_status
visit_one(struct visit *v, enum slot s, uint32_t layer, uint32_t expert, bool *last)
{
	const struct tensor *t = NULL;
	const struct slot_rule *r = NULL;	/* the best that a tensor answers to */
	enum slot_fault fault;
	struct slot_at at;
	uint64_t before;
	struct tb_err why;

	while (!t && (r = next_rule(v, s, r)))
		t = find_tensor(v, r->pattern, layer, expert);
	*last = !t;
	if (!t)
		return needed(v, s, layer) ? absent(v, s, layer, expert) : TB_OK;
	/* Which of its rows are the slot's (an expert's of it). */
	at = (struct slot_at){ .slot = s, .layer = layer, .expert = expert, .t = t, .experts = 1,
			       .rule = r };
	if (r->stacked) {
		at.nth = expert;
		at.experts = v->hp->experts;
	}
	before = sum_dims(v->hp, layer, r->before);
	at.rows = before + hparams_dim(v->hp, layer, slot_info(s)->rows) + sum_dims(v->hp, layer, r->after);
	at.first = at.rows * at.nth + before;
	v->head |= s == SLOT_OUTPUT;
	if (check_slot(v, r, &at, &fault, &why)) {
		*last = r->stacked;
		return tell_wrong(v, fault, s, layer, t->name, t, &why);
	}
	return v->v->fits ? v->v->fits(v->v->arg, &at, v->err) : TB_OK;
}

/* Of a layer behind those that are run, or of what else guesses tokens ahead. */
static bool
of_draft(const struct hparams *hp, const char *name)
{
	struct tname_layer l;

	return tb_starts(name, "mtp.") ||
	       (hp->draft_layers && tname_layer(name, &l) && l.number >= hp->layers &&
		l.number - hp->layers < hp->draft_layers);
}

/* Of a file that is no part of the model's own weights: adapters are another matter
 * (adapter.h), and what sees or hears is not asked by text. */
static bool
beside(const struct model *m, const struct tensor *t)
{
	enum media media = m->files[t->weight.file].media;

	return media == MEDIA_ADAPTER || media == MEDIA_PROJECTOR || media == MEDIA_DRAFT;
}

/* A tensor that nothing uses means that we would compute something else than the
 * model does: better said than done. */
static enum tb_status
visit_unused(struct visit *v)
{
	enum tb_status status = TB_OK;
	struct tb_err why;

	for (size_t i = 0; i < v->m->ntensors && !status; i++) {
		const struct tensor *t = &v->m->tensors[i];

		if (v->used[i] || t->draft || beside(v->m, t) || slot_ignored(t->name) ||
		    of_draft(v->hp, t->name))
			continue;
		(void)tb_fail(&why, TB_EUNSUP, "%s: no such tensor is known in %s; without it the "
			      "model would not be what it is", t->name, v->hp->arch->name);
		status = tell_wrong(v, SLOT_UNUSED, SLOT_COUNT, 0, t->name, t, &why);
	}
	return status;
}

/* Nobody reads it, and it may be there all the same. */
static void
pass_over(const struct visit *v, enum slot s, uint32_t layer)
{
	for (const struct slot_rule *r = NULL; (r = next_rule(v, s, r));)
		(void)find_tensor(v, r->pattern, layer, 0);
}

enum tb_status
slots_visit(const struct hparams *hp, const struct model *m, const struct slot_visitor *visitor,
	    struct tb_err *err)
{
	struct visit v = { .hp = hp, .m = m, .v = visitor, .err = err,
			   .used = tb_calloc(m->ntensors, sizeof(bool)) };
	enum tb_status status = v.used ? TB_OK : tb_nomem(err);

	for (enum slot s = 0; s < SLOT_COUNT && !status; s++) {
		uint32_t layers = slot_layered(s) ? hp->layers : 1;
		uint32_t experts = slot_expert(s) ? hp->experts : 1;

		for (uint32_t i = 0; i < layers && !status; i++) {
			bool last = !hparams_has(hp, i, s);

			if (last && arch_has(hp->arch, slot_info(s)->part) && hparams_idle(hp, i, s))
				pass_over(&v, s, i);

			for (uint32_t e = 0; e < experts && !status && !last; e++)
				status = visit_one(&v, s, i, e, &last);
		}
	}
	if (!status && !v.head && hp->tied_known && !hp->tied)
		status = absent(&v, SLOT_OUTPUT, 0, 0);
	if (!status)
		status = visit_unused(&v);
	free(v.used);
	return status;
}
