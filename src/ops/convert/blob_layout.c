#include "config.h"

#include "src/ops/convert/blob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

/* What companions are called: Ollama's blobs, MLX's directories. */
static const char *const ollama_names[BLOB_PARTS] = { "", ".scale", ".bias", ".global_scale" };
static const char *const mlx_names[BLOB_PARTS] = { ".weight", ".scales", ".biases", NULL };
static const char *const gpt_oss_names[BLOB_PARTS] = { "_blocks", "_scales", NULL, NULL };

struct header {
	const struct plan *p;
	struct st_tensor *tensors;
	size_t *slot;			/* tensors[i] is slot[i] % BLOB_PARTS of out slot[i] / BLOB_PARTS */
	char **strings;			/* names and metadata; owned */
	struct st_meta *meta;
	size_t ntensors, nstrings, nmeta, outs;
};

const struct plan_out *
blob_outs(const struct plan *p, size_t blob, size_t *n)
{
	size_t i = 0, end = p->parts->nouts;

	while (i < end) {		/* they are in the order of their blobs */
		size_t mid = i + (end - i) / 2;

		if (p->parts->outs[mid].blob < blob)
			i = mid + 1;
		else
			end = mid;
	}
	for (end = i; end < p->parts->nouts && p->parts->outs[end].blob == blob; end++)
		;
	*n = end - i;
	return &p->parts->outs[i];
}

static const char *
header_keep(struct header *h, char *s)
{
	h->strings[h->nstrings++] = s;
	return s;
}

bool
out_is_gpt_oss(const struct plan *p, const struct plan_out *o)
{
	return p->dest == PLAN_TO_DIR && plan_gpt_oss(p, o->name, &p->rows[o->row].target);
}

static const char *
slot_name(struct header *h, const struct plan_out *o, enum values_part slot, bool quantized)
{
	size_t base = strlen(o->name);

	if (quantized && out_is_gpt_oss(h->p, o))
		return header_keep(h, tb_asprintf("%s%s", o->name, gpt_oss_names[slot]));
	if (!quantized || h->p->dest != PLAN_TO_DIR)
		return header_keep(h, tb_asprintf("%s%s", o->name,
						  quantized ? ollama_names[slot] : ""));
	if (tb_ends(o->name, ".weight"))
		base -= strlen(".weight");
	return header_keep(h, tb_asprintf("%.*s%s", (int)base, o->name, mlx_names[slot]));
}

/* The shape of a part: stored as it was, or the logical one with packed rows. */
static void
slot_shape(struct st_tensor *t, const struct plan *p, const struct plan_out *o, enum values_part slot)
{
	const struct plan_row *r = &p->rows[o->row];
	const struct tensor_part *part = values_part_of(r->src, slot);
	const struct scheme *s = &r->target;
	uint64_t *last;

	if (out_is_gpt_oss(p, o)) {	/* bytes; those of a group have a dimension of their own */
		t->dtype = DT_U8;
		t->ndim = o->ndim;
		memcpy(t->dim, o->dim, sizeof(t->dim));
		t->dim[t->ndim - 1] /= s->group;
		if (slot == PART_WEIGHT)
			t->dim[t->ndim++] = scheme_code_bytes(s, s->group);
		return;
	}
	if (plan_out_whole(p, o) || slot == PART_GLOBAL) {
		t->dtype = slot == PART_GLOBAL ? DT_F32 : part->dtype;
		t->ndim = part->ndim;
		memcpy(t->dim, part->dim, sizeof(t->dim));
		return;
	}
	if (r->src->origin == ORIGIN_UNKNOWN) {	/* of as many experts, whatever a row is */
		bool more = o->ndim > r->src->ndim, less = o->ndim < r->src->ndim;

		t->dtype = part->dtype;
		t->ndim = part->ndim + more - less;
		t->dim[0] = o->npieces;
		memcpy(t->dim + more, part->dim + less, (part->ndim - less) * sizeof(*t->dim));
		return;
	}
	t->ndim = o->ndim;
	memcpy(t->dim, o->dim, sizeof(t->dim));
	t->dtype = s->dtype;
	if (scheme_is_plain(s))
		return;
	last = &t->dim[t->ndim - 1];
	*last = slot == PART_WEIGHT ? scheme_code_bytes(s, *last) / 4 : *last / s->group;
	t->dtype = slot == PART_WEIGHT ? DT_U32 : scheme_scale_dtype(s, r->dtype);
}

static bool
slot_exists(const struct plan *p, const struct plan_out *o, enum values_part slot)
{
	const struct plan_row *r = &p->rows[o->row];
	bool same = scheme_equal(&r->target, &r->src->scheme);

	switch (slot) {
	case PART_SCALE:
		return same ? r->src->has_scale : !scheme_is_plain(&r->target);
	case PART_BIAS:
		return same ? r->src->has_bias : scheme_has_bias(&r->target);
	case PART_GLOBAL:
		return same && r->src->has_global;
	default:
		return true;
	}
}

static enum tb_status
add_out(struct header *h, const struct plan_out *o, size_t index, struct tb_err *err)
{
	bool quantized = slot_exists(h->p, o, PART_SCALE);

	for (enum values_part s = 0; s < BLOB_PARTS; s++) {
		struct st_tensor *t = &h->tensors[h->ntensors];

		if (!slot_exists(h->p, o, s))
			continue;
		t->name = slot_name(h, o, s, quantized);
		if (!t->name)
			return tb_nomem(err);
		slot_shape(t, h->p, o, s);
		h->slot[h->ntensors++] = index * BLOB_PARTS + s;
	}
	return TB_OK;
}

static void
add_meta(struct header *h, char *key, char *value)
{
	h->meta[h->nmeta++] = (struct st_meta){ header_keep(h, key), header_keep(h, value) };
}

/* One line for the whole blob if everything in it is of one scheme, else one a
 * tensor. */
static void
ollama_meta(struct header *h, const struct plan_out *outs)
{
	const struct scheme *first = &h->p->rows[outs[0].row].target;
	bool uniform = true;

	for (size_t i = 0; i < h->outs; i++)
		uniform &= scheme_equal(first, &h->p->rows[outs[i].row].target);
	for (size_t i = 0; i < (uniform ? 1 : h->outs); i++) {
		const struct scheme *s = &h->p->rows[outs[i].row].target;
		const char *dot = uniform ? "" : ".", *name = uniform ? "" : outs[i].name;

		if (scheme_is_plain(s))
			continue;
		add_meta(h, tb_asprintf("%s%sgroup_size", name, dot), tb_asprintf("%u", s->group));
		add_meta(h, tb_asprintf("%s%squant_type", name, dot),
			 tb_strdup(scheme_quant_type(s)));
	}
}

static enum tb_status
header_fill(struct header *h, const struct plan_out *outs, struct tb_buf *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool quantized = false;

	for (size_t i = 0; i < h->outs && !status; i++) {
		status = add_out(h, &outs[i], i, err);
		quantized |= slot_exists(h->p, &outs[i], PART_SCALE);
	}
	if (status)
		return status;
	if (h->p->dest == PLAN_TO_DIR)	/* Transformers will not load what does not say "pt" */
		add_meta(h, tb_strdup("format"), tb_strdup(quantized ? "mlx" : "pt"));
	else
		ollama_meta(h, outs);
	for (size_t i = 0; i < h->nstrings; i++)
		if (!h->strings[i])
			return tb_nomem(err);
	return st_layout(h->tensors, h->ntensors, h->meta, h->nmeta, out, err);
}

enum tb_status
blob_layout(const struct plan *p, size_t blob, struct tb_buf *out, struct placed **placed,
	    size_t *n, uint64_t *size, struct tb_err *err)
{
	struct header h = { .p = p };
	const struct plan_out *outs = blob_outs(p, blob, &h.outs);
	enum tb_status status;

	*n = h.outs;
	*placed = tb_calloc(h.outs, sizeof(**placed));
	h.tensors = tb_calloc(h.outs * BLOB_PARTS, sizeof(*h.tensors));
	h.slot = tb_calloc(h.outs * BLOB_PARTS, sizeof(*h.slot));
	h.strings = tb_calloc(h.outs * (BLOB_PARTS + 4) + 2, sizeof(*h.strings));
	h.meta = tb_calloc(h.outs * 2 + 1, sizeof(*h.meta));
	status = *placed && h.tensors && h.slot && h.strings && h.meta
		? header_fill(&h, outs, out, err) : tb_nomem(err);
	*size = out->len;
	for (size_t i = 0; i < h.ntensors && !status; i++) {
		const struct st_tensor *t = &h.tensors[i];

		(*placed)[h.slot[i] / BLOB_PARTS].off[h.slot[i] % BLOB_PARTS] = t->off;
		(*placed)[h.slot[i] / BLOB_PARTS].has[h.slot[i] % BLOB_PARTS] = true;
		if (t->off + t->len > *size)
			*size = t->off + t->len;
	}
	for (size_t i = 0; i < h.nstrings; i++)
		free(h.strings[i]);
	free(h.tensors);
	free(h.slot);
	free(h.strings);
	free(h.meta);
	if (status) {
		free(*placed);
		*placed = NULL;
	}
	return status;
}
