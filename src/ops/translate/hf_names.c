/* hf_names.c - what Hugging Face calls a tensor of a GGUF, and how its numbers lie there:
 * translate_name.c the other way. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/translate/hf_parts.h"
#include "src/ops/translate/translate_rows.h"
#include "src/store/tensor_name.h"

struct undoing {
	struct hf_making *h;
	const struct translate *t;
	struct tensor *made;		/* has the GGUF's shape until it is undone */
	struct change *change;
	const char *into;		/* Hugging Face's name */
};

struct matrices { uint64_t n, rows, cols; };

static struct matrices
matrix_of(const struct tensor *t)
{
	struct matrices m = { 1, t->ndim ? t->dim[0] : 1, 1 };

	if (t->ndim < 2)
		return m;
	m.rows = t->dim[t->ndim - 2];
	m.cols = t->dim[t->ndim - 1];
	for (unsigned d = 0; d + 2 < t->ndim; d++)
		m.n *= t->dim[d];
	return m;
}

static bool
set_walk(struct undoing *u, struct strided w)
{
	u->change->moved = true;
	u->change->walk = w;
	return true;
}

/* The next piece of what the tensor goes into, which has the tensor's shape until somebody
 * says otherwise; NULL: no memory. */
static struct hf_piece *
add_piece(struct undoing *u, uint64_t each, uint64_t count, uint64_t index, uint64_t step)
{
	struct hf_view *v = u->h->v;
	struct hf_piece *p;

	if (!tb_grow(&v->pieces, &u->h->pieces_cap, v->npieces + 1, sizeof(*v->pieces)))
		return NULL;
	p = &v->pieces[v->npieces++];
	*p = (struct hf_piece){ .tensor = u->h->v->model->ntensors, .into = u->into,
		.ndim = u->made->ndim, .each = each, .count = count, .index = index, .step = step };
	memcpy(p->dim, u->made->dim, sizeof(p->dim));
	return p;
}

/* Of each matrix so many rows stand with those of another tensor's. */
static bool
join_halves(struct undoing *u, unsigned half)
{
	struct matrices m = matrix_of(u->made);
	struct hf_piece *p;

	if (u->made->ndim < 2 || !(p = add_piece(u, m.rows * m.cols, m.n, half, 2)))
		return false;
	p->dim[p->ndim - 2] *= 2;
	return true;
}

/* A stack becomes a tensor an expert. */
static bool
apart(struct undoing *u)
{
	uint64_t n = u->made->dim[0];
	struct hf_piece *p;

	if (u->made->ndim != 3 || !n || !(p = add_piece(u, u->made->elems / n, n, 0, 1)))
		return false;
	p->apart = true;
	p->ndim = 2;
	memmove(p->dim, p->dim + 1, 2 * sizeof(*p->dim));
	return true;
}

static bool
mla(struct undoing *u, bool v)
{
	const struct translate *t = u->t;
	struct tensor *made = u->made;
	struct hf_piece *p;
	uint64_t a, b, lora;

	if (made->ndim != 3 || !t->nope || !t->v_head || made->dim[0] != t->heads ||
	    made->dim[v ? 1 : 2] != (v ? t->v_head : t->nope))
		return false;
	a = made->dim[1];
	b = made->dim[2];
	lora = v ? b : a;
	if (!v) {
		made->dim[1] = b;
		made->dim[2] = a;
	}
	p = add_piece(u, a * b, t->heads, v, 2);
	if (!p)
		return false;
	p->ndim = 2;
	p->dim[0] = (uint64_t)t->heads * (t->nope + t->v_head);
	p->dim[1] = lora;
	if (!v) {
		p->change.moved = true;
		p->change.walk = (struct strided){ 3, { t->heads, b, a }, { a * b, 1, b }, 0 };
	}
	return true;
}

/* v head j * k_heads + k becomes k * r + j. */
static bool
untiled(const struct translate *t, uint64_t rows, uint64_t cols, uint64_t first, struct strided *out)
{
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0, each;

	if (!r || t->v_heads % t->k_heads || rows <= first || (rows - first) % t->v_heads)
		return false;
	each = (rows - first) / t->v_heads * cols;
	*out = (struct strided){ 3, { t->k_heads, r, each }, { each, t->k_heads * each, 1 },
				 first * cols };
	return true;
}

static bool
untile_rows(struct undoing *u)
{
	struct matrices m = matrix_of(u->made);
	struct strided w;

	return m.n == 1 && untiled(u->t, m.rows, m.cols, 0, &w) && set_walk(u, w);
}

static bool
untile_cols(struct undoing *u)
{
	const struct translate *t = u->t;
	struct matrices m = matrix_of(u->made);
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0, each;

	if (!r || t->v_heads % t->k_heads || m.n != 1 || m.cols % t->v_heads)
		return false;
	each = m.cols / t->v_heads;
	return set_walk(u, (struct strided){ 4, { m.rows, t->k_heads, r, each },
					     { m.cols, each, t->k_heads * each, 1 }, 0 });
}

/* Kernels of one row a channel. */
static void
unsqueeze(struct tensor *t)
{
	t->dim[2] = t->dim[1];
	t->dim[1] = 1;
	t->ndim = 3;
}

/* q and k are as they are, v is tiled. */
static bool
untile_tail(struct undoing *u)
{
	uint64_t qk = 2 * (uint64_t)u->t->k_heads * u->t->k_dim;
	struct matrices m = matrix_of(u->made);
	struct hf_piece *p;
	struct strided w;

	if (!qk || u->made->ndim != 2 || !untiled(u->t, m.rows, m.cols, qk, &w))
		return false;
	if (strstr(u->into, "conv1d"))
		unsqueeze(u->made);
	if (!add_piece(u, qk * m.cols, 1, 0, 1) ||
	    !(p = add_piece(u, (m.rows - qk) * m.cols, 1, 1, 1)))
		return false;
	p->change.moved = true;
	p->change.walk = w;
	return true;
}

/* Each k head has rows of q, k, v and z; here are those of all heads from `first` on. */
static bool
join_group(struct undoing *u, uint64_t *first, uint64_t rows, unsigned nth)
{
	const struct translate *t = u->t;
	struct matrices m = matrix_of(u->made);
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0;
	struct hf_piece *p;

	if (!r || m.n != 1 || *first + rows * t->k_heads > m.rows ||
	    !(p = add_piece(u, rows * m.cols, t->k_heads, nth, 4)))
		return false;
	p->first = *first * m.cols;
	p->dim[0] = 2 * (uint64_t)t->k_heads * (t->k_dim + r * t->v_dim);
	*first += rows * t->k_heads;
	return true;
}

static bool
join_groups(struct undoing *u, bool z)
{
	const struct translate *t = u->t;
	uint64_t v = t->k_heads ? (uint64_t)t->v_heads / t->k_heads * t->v_dim : 0, at = 0;
	bool ok = z ? join_group(u, &at, v, 3)
		    : join_group(u, &at, t->k_dim, 0) && join_group(u, &at, t->k_dim, 1) &&
		      join_group(u, &at, v, 2);

	return ok && u->made->dim[0] == at;
}

static bool
unpair(struct undoing *u, uint32_t heads)
{
	struct matrices m = matrix_of(u->made);

	if (!u->t->pairs)
		return true;
	if (!heads || m.n != 1 || m.rows % heads || m.rows / heads % 2)
		return false;
	return set_walk(u, walk_to_halves(m.rows, m.cols, m.rows / heads));
}

static bool
flat(struct tensor *t)
{
	t->dim[0] = t->elems;
	t->ndim = 1;
	return true;
}

/* false: it has not the shape that it should have; or there is no memory. */
static bool
undo(struct undoing *u, enum translate_how how)
{
	switch (how) {
	case AS_IS:
		return strstr(u->into, "{e}") ? apart(u) : true;
	case NORM:
		u->change->what = u->t->norm_add != 0 ? CHANGE_ADD : CHANGE_NONE;
		u->change->number = -u->t->norm_add;
		return true;
	case PAIRS_Q:
		return unpair(u, u->t->heads);
	case PAIRS_K:
		return unpair(u, u->t->kv_heads);
	case NEG_EXP:
	case COLUMN_NEG_EXP:
	case V_HEADS_NEG_EXP:
		u->change->what = CHANGE_LOG_NEG;
		return flat(u->made) && (how != V_HEADS_NEG_EXP || untile_rows(u));
	case COLUMN:
	case GROUPS:
		return flat(u->made);
	case SQUEEZED:
		if (u->made->ndim == 2)
			unsqueeze(u->made);
		return true;
	case FIRST_ROWS:
	case LAST_ROWS:
		return join_halves(u, how == LAST_ROWS);
	case MLA_K:
	case MLA_V:
		return mla(u, how == MLA_V);
	case GROUPED_QKV:
	case GROUPED_Z:
		return join_groups(u, how == GROUPED_Z);
	case V_HEADS:
		return untile_rows(u);
	case V_HEADS_TAIL:
		return untile_tail(u);
	case V_HEADS_COLS:
		return untile_cols(u);
	default:
		return false;
	}
}

/* ---- names ---- */

static bool
same_rows(const struct slot_rule *a, const struct slot_rule *b)
{
	return !memcmp(a->before, b->before, sizeof(a->before)) &&
	       !memcmp(a->after, b->after, sizeof(a->after));
}

const struct slot_rule *
hf_gguf_rule(unsigned ways, const char *name, uint32_t *layer, uint32_t *expert)
{
	for (const struct slot_rule *r = NULL; (r = slot_rule_next(NULL, ways, r));)
		if (slot_rule_gguf(r) && r->before[0] == DIM_NONE &&
		    tname_match(r->pattern, name, layer, expert))
			return r;
	return NULL;
}

/* Mixtral's own names are made of the usual ones where they are wanted (plan_layout.c). */
const struct slot_rule *
hf_rule(const struct slot_rule *own, unsigned ways, const struct slot_rule *gguf)
{
	const struct slot_rule *r = NULL;

	while ((r = slot_rule_next(own, ways, r)) && !slot_rule_gguf(r))
		if (r->slot == gguf->slot && r->stacked == gguf->stacked && same_rows(r, gguf) &&
		    !strstr(r->pattern, "block_sparse_moe"))
			return r;
	return NULL;
}

/* The pattern of Hugging Face's name; NULL: none is known. */
static const char *
find_name(const struct translate *t, const char *name, uint32_t *layer, uint32_t *expert,
	  enum translate_how *how)
{
	const struct slot_rule *from, *to;

	for (const struct translate_name *r = translate_names; r->hf; r++)
		if (translate_name_back(r, t) && tname_match(r->gguf, name, layer, expert)) {
			*how = r->how;
			return r->hf;
		}
	from = hf_gguf_rule(t->ways, name, layer, expert);
	to = from ? hf_rule(t->own, t->ways, from) : NULL;
	if (!to)
		return NULL;
	*how = translate_slot_how(from);
	return to->pattern;
}

/* Behind all layers of Qwen's stand those that are called mtp. */
static bool
mtp_name(const struct translate *t, const char *pattern, uint32_t layer, char *out, size_t size)
{
	static const char *const words[][2] = { { "fc.", "eh_proj." },
		{ "pre_fc_norm_embedding.", "enorm." }, { "pre_fc_norm_hidden.", "hnorm." },
		{ "norm.", "shared_head.norm." } };
	const char *rest = strstr(pattern, "{n}.") + strlen("{n}.");
	int n = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && !n; i++)
		if (tb_starts(rest, words[i][1]))
			n = snprintf(out, size, "mtp.%s%s", words[i][0], rest + strlen(words[i][1]));
	if (!n)
		n = snprintf(out, size, "mtp.layers.%u.%s", layer - t->layers, rest);
	return n > 0 && (size_t)n < size;
}

/* {e} stays what it is: "*". */
static bool
write_name(const struct hf_making *h, const char *pattern, uint32_t layer, char *out, size_t size)
{
	bool nested = tb_ends(h->row->class_name, "ForConditionalGeneration");
	struct tname_layer at;

	if (tb_starts(h->t.gguf, "qwen3") && layer >= h->t.layers &&
	    tname_fill(pattern, layer, TNAME_ALL, out, size) && tname_layer(out, &at) && !at.stem)
		return mtp_name(&h->t, pattern, layer, out, size);
	if (tb_starts(pattern, "backbone.") || tb_starts(pattern, "lm_head."))
		*out = 0;
	else
		snprintf(out, size, "model.%s", nested ? "language_model." : "");
	return tname_fill(pattern, layer, TNAME_ALL, out + strlen(out), size - strlen(out));
}

/* Pieces of one tensor are tensors by themselves until they are written: "x.1.weight". */
static void
name_piece(const char *into, uint64_t nth, char *out, size_t size)
{
	size_t len = strlen(into), end = tb_ends(into, ".weight") ? strlen(".weight") : 0;

	snprintf(out, size, "%.*s.%ju%s", (int)(len - end), into, (uintmax_t)nth, into + len - end);
}

/* Blocks move as wholes. */
static bool
moves_blocks(const struct tensor *t, const struct change *c)
{
	uint64_t group = t->scheme.group ? t->scheme.group : 1;

	for (unsigned d = 0; d + 1 < c->walk.ndim; d++)
		if (c->walk.step[d] % group)
			return false;
	return c->walk.step[c->walk.ndim - 1] == 1 && c->walk.dim[c->walk.ndim - 1] % group == 0 &&
	       c->walk.first % group == 0;
}

static enum tb_status
check_moves(const struct undoing *u, size_t first)
{
	const struct hf_view *v = u->h->v;
	bool ok = !u->change->moved || moves_blocks(u->made, u->change);

	for (size_t i = first; i < v->npieces; i++)
		ok &= !v->pieces[i].change.moved || moves_blocks(u->made, &v->pieces[i].change);
	if (ok || scheme_is_plain(&u->made->scheme))
		return TB_OK;
	return tb_fail(u->h->err, TB_EUNSUP, "%.200s: tensor %.100s is packed in blocks that lie across "
		       "what Hugging Face's files have elsewhere; make a GGUF of F16 of it first (-q f16)",
		       u->h->gguf->loc.path, u->made->name);
}

static enum tb_status
no_shape(const struct undoing *u, enum translate_how how)
{
	bool never = how == EVEN || how == ODD || how == EVEN_ROWS || how == ODD_ROWS ||
		     how == TURNED || how == FIRST_TURNED || how == LAST_TURNED;

	return tb_fail(u->h->err, never ? TB_EUNSUP : TB_EFORMAT, "%.200s: tensor %.100s %s %.100s",
		       u->h->gguf->loc.path, u->made->name, never ? "cannot be woven again into"
		       : "has not the shape that its keys say, so it cannot become", u->into);
}

enum tb_status
hf_take_row(struct hf_making *h, const struct tensor *t, bool *taken)
{
	struct model *m = h->v->model;
	struct undoing u = { .h = h, .t = &h->t, .made = &m->tensors[m->ntensors],
			     .change = &h->v->changes[m->ntensors] };
	char name[TNAME_MAX], own[TNAME_MAX];
	size_t first = h->v->npieces;
	uint32_t layer = 0, expert = 0;
	enum translate_how how = AS_IS;
	enum tb_status status;
	const char *all;

	*taken = false;
	if (tb_starts(t->name, "rope_freqs.") || tb_starts(t->name, "rope_factors_"))
		return TB_OK;
	u.into = find_name(&h->t, t->name, &layer, &expert, &how);
	if (!u.into)
		return tb_fail(h->err, TB_EUNSUP, "%.200s: tensor %.100s has no name in Hugging Face's"
			       " files of %s", h->gguf->loc.path, t->name, h->t.type);
	*u.made = *t;
	if (!undo(&u, how))
		return no_shape(&u, how);
	status = check_moves(&u, first);
	if (status)
		return status;
	if (!write_name(h, u.into, layer, name, sizeof(name)) || strlen(name) + 16 > sizeof(name))
		return tb_fail(h->err, TB_EFORMAT, "%.100s: its name is too long", t->name);
	all = strstr(name, "*.");	/* a stack is not called by an expert's number */
	snprintf(own, sizeof(own), "%.*s%s", all ? (int)(all - name) : (int)strlen(name), name,
		 all ? all + 2 : "");
	for (size_t i = first; i < h->v->npieces; i++) {
		h->v->pieces[i].into = tb_arena_str(&m->names, name);
		if (!h->v->pieces[i].into)
			return tb_nomem(h->err);
		if (i == first && h->v->pieces[i].step > 1)
			name_piece(name, h->v->pieces[i].index, own, sizeof(own));
	}
	if (scheme_is_plain(&u.made->scheme)) {		/* one part, of the same shape */
		u.made->weight.ndim = u.made->ndim;
		memcpy(u.made->weight.dim, u.made->dim, sizeof(u.made->dim));
	}
	u.made->name = tb_arena_str(&m->names, own);
	if (!u.made->name)
		return tb_nomem(h->err);
	m->ntensors++;
	*taken = true;
	return TB_OK;
}
