/* translate_name.c - what a tensor of Hugging Face's is called in a GGUF, and how its numbers
 * lie there. */
#include "config.h"

#include "src/ops/translate/translate_rows.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/engine/arch.h"
#include "src/store/model.h"
#include "src/store/tensor_name.h"

/* The tensor as far as it is known. */
struct at {
	const struct translate *t;
	const struct tensor *src;
	const char *name;		/* its own, or what it would be called among the layers */
	uint32_t layer, expert;
	struct translated *out;
	unsigned n;
};

/* Rows, columns, and matrices of a shape; a vector is rows of one. */
struct matrices { uint64_t n, rows, cols; };

static struct matrices
matrix_of(const struct translated *o)
{
	struct matrices m = { 1, o->dim[0], 1 };

	if (o->ndim < 2)
		return m;
	m.rows = o->dim[o->ndim - 2];
	m.cols = o->dim[o->ndim - 1];
	for (unsigned d = 0; d + 2 < o->ndim; d++)
		m.n *= o->dim[d];
	return m;
}

static void
squeeze(struct translated *o)
{
	unsigned n = 0;

	for (unsigned d = 0; d < o->ndim; d++)
		if (o->dim[d] != 1)
			o->dim[n++] = o->dim[d];
	if (!n)
		o->dim[n++] = 1;
	o->ndim = n;
}

/* A vector as so many rows. */
static bool
split_vector(struct translated *o, uint64_t rows)
{
	if (o->ndim != 1 || !rows || o->dim[0] % rows)
		return false;
	o->dim[1] = o->dim[0] / rows;
	o->dim[0] = rows;
	o->ndim = 2;
	return true;
}

static void
set_walk(struct translated *o, struct strided w)
{
	o->change.moved = true;
	o->change.walk = w;
}

/* Half of the rows of each matrix. */
static bool
half_rows(struct translated *o, unsigned half)
{
	struct matrices m = matrix_of(o);

	if (o->ndim < 2 || m.rows % 2)
		return false;
	o->dim[o->ndim - 2] = m.rows / 2;
	set_walk(o, (struct strided){ 3, { m.n, m.rows / 2, m.cols }, { m.rows * m.cols, m.cols, 1 },
				      half * (m.rows / 2) * m.cols });
	return true;
}

/* Of the columns of each matrix one of `parts` stretches as rows. */
static bool
turn(struct translated *o, unsigned parts, unsigned nth)
{
	struct matrices m = matrix_of(o);
	uint64_t cols = m.cols / parts;

	if (o->ndim < 2 || m.cols % parts)
		return false;
	o->dim[o->ndim - 2] = cols;
	o->dim[o->ndim - 1] = m.rows;
	set_walk(o, (struct strided){ 3, { m.n, cols, m.rows }, { m.rows * m.cols, 1, m.cols },
				      nth * cols });
	return true;
}

static bool
every_other_row(struct translated *o, unsigned first)
{
	struct matrices m = matrix_of(o);

	if (o->ndim < 2 || m.rows % 2)
		return false;
	o->dim[o->ndim - 2] = m.rows / 2;
	set_walk(o, (struct strided){ 2, { m.n * m.rows / 2, m.cols }, { 2 * m.cols, 1 },
				      first * m.cols });
	return true;
}

static bool
every_other(struct translated *o, unsigned first)
{
	uint64_t *last = &o->dim[o->ndim - 1], all = *last, before = 1;

	for (unsigned d = 0; d + 1 < o->ndim; d++)
		before *= o->dim[d];
	if (all % 2)
		return false;
	*last = all / 2;
	set_walk(o, (struct strided){ 2, { before, all / 2 }, { all, 2 }, first });
	return true;
}

static bool
pairs(struct translated *o, const struct translate *t, uint32_t heads)
{
	struct matrices m = matrix_of(o);

	if (!t->pairs)
		return true;
	if (!heads || m.n != 1 || m.rows % heads || m.rows / heads % 2)
		return false;
	set_walk(o, walk_to_pairs(m.rows, m.cols, m.rows / heads));
	return true;
}

/* Each head has `nope` rows of k and `v_head` of v. */
static bool
mla(struct translated *o, const struct translate *t, bool v)
{
	struct matrices m = matrix_of(o);
	uint64_t head = (uint64_t)t->nope + t->v_head;

	if (!t->nope || !t->v_head || m.n != 1 || m.rows != head * t->heads)
		return false;
	o->ndim = 3;
	o->dim[0] = t->heads;
	o->dim[1] = v ? t->v_head : m.cols;
	o->dim[2] = v ? m.cols : t->nope;
	set_walk(o, (struct strided){ 3, { t->heads, o->dim[1], o->dim[2] },
				      { head * m.cols, v ? m.cols : 1, v ? 1 : m.cols },
				      v ? t->nope * m.cols : 0 });
	return true;
}

/* Rows from `first` on, of which v head k * r + j becomes j * k_heads + k. */
static bool
tile_rows(struct translated *o, const struct translate *t, uint64_t first)
{
	struct matrices m = matrix_of(o);
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0, each;

	if (!r || t->v_heads % t->k_heads || m.n != 1 || m.rows <= first ||
	    (m.rows - first) % t->v_heads)
		return false;
	each = (m.rows - first) / t->v_heads;
	o->dim[0] = m.rows - first;
	set_walk(o, (struct strided){ 3, { r, t->k_heads, each * m.cols },
				      { each * m.cols, r * each * m.cols, 1 }, first * m.cols });
	return true;
}

static bool
tile_cols(struct translated *o, const struct translate *t)
{
	struct matrices m = matrix_of(o);
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0, each;

	if (!r || t->v_heads % t->k_heads || m.n != 1 || m.cols % t->v_heads)
		return false;
	each = m.cols / t->v_heads;
	set_walk(o, (struct strided){ 4, { m.rows, r, t->k_heads, each },
				      { m.cols, each, r * each, 1 }, 0 });
	return true;
}

/* Another piece of the same tensor: rows below those before. */
static struct translated *
rows_below(struct at *at)
{
	struct translated *o = &at->out[at->n - 1], *next = &at->out[at->n];

	*next = *o;
	o->rows = next->rows = true;
	next->index = o->index + 1;
	at->n++;
	return next;
}

/* q and k as they are, v tiled. */
static bool
tile_tail(struct at *at)
{
	struct translated *o = &at->out[at->n - 1], *v;
	uint64_t qk = 2 * (uint64_t)at->t->k_heads * at->t->k_dim;
	struct matrices m;

	squeeze(o);
	m = matrix_of(o);
	if (!qk || m.n != 1 || m.rows <= qk)
		return false;
	v = rows_below(at);
	o->dim[0] = qk;
	set_walk(o, (struct strided){ 1, { qk * m.cols }, { 1 }, 0 });
	return tile_rows(v, at->t, qk);
}

/* Each k head has rows of q, k, its v heads, their z: one of those for all heads. */
static bool
grouped(struct translated *o, const struct translate *t, uint64_t first, uint64_t rows)
{
	struct matrices m = matrix_of(o);
	uint64_t r = t->k_heads ? t->v_heads / t->k_heads : 0;
	uint64_t head = 2 * (uint64_t)t->k_dim + 2 * r * t->v_dim;

	if (!r || m.n != 1 || m.rows != head * t->k_heads)
		return false;
	o->dim[0] = rows * t->k_heads;
	set_walk(o, (struct strided){ 2, { t->k_heads, rows * m.cols }, { head * m.cols, 1 },
				      first * m.cols });
	return true;
}

static bool
grouped_qkv(struct at *at)
{
	const struct translate *t = at->t;
	struct translated *q = &at->out[at->n - 1], *k = rows_below(at), *v = rows_below(at);
	uint64_t dim = t->k_heads ? (uint64_t)t->v_heads / t->k_heads * t->v_dim : 0;

	return grouped(q, t, 0, t->k_dim) && grouped(k, t, t->k_dim, t->k_dim) &&
	       grouped(v, t, 2 * (uint64_t)t->k_dim, dim);
}

/* The last of at->out, which has the source's shape, becomes what the row says. */
static bool
apply(struct at *at, enum translate_how how)
{
	struct translated *o = &at->out[at->n - 1];
	const struct translate *t = at->t;
	uint64_t qkv = 0;

	switch (how) {
	case NORM:
		o->change.what = t->norm_add != 0 ? CHANGE_ADD : CHANGE_NONE;
		o->change.number = t->norm_add;
		return true;
	case PAIRS_Q:
		return pairs(o, t, t->heads);
	case PAIRS_K:
		return pairs(o, t, t->kv_heads);
	case NEG_EXP:
		o->change.what = CHANGE_NEG_EXP;
		return true;
	case COLUMN_NEG_EXP:
		o->change.what = CHANGE_NEG_EXP;
		return split_vector(o, o->dim[0]);
	case COLUMN:
		return split_vector(o, o->dim[0]);
	case GROUPS:
		return split_vector(o, t->groups);
	case SQUEEZED:
		squeeze(o);
		return true;
	case TURNED:
		return turn(o, 1, 0);
	case FIRST_TURNED:
	case LAST_TURNED:
		return turn(o, 2, how == LAST_TURNED);
	case FIRST_ROWS:
	case LAST_ROWS:
		return half_rows(o, how == LAST_ROWS);
	case EVEN:
	case ODD:
		return every_other(o, how == ODD);
	case EVEN_ROWS:
	case ODD_ROWS:
		return every_other_row(o, how == ODD_ROWS);
	case MLA_K:
	case MLA_V:
		return mla(o, t, how == MLA_V);
	case GROUPED_QKV:
		return grouped_qkv(at);
	case GROUPED_Z:
		qkv = 2 * (uint64_t)t->k_dim + (t->k_heads ? t->v_heads / t->k_heads * t->v_dim : 0);
		return grouped(o, t, qkv, qkv - 2 * (uint64_t)t->k_dim);
	case V_HEADS_NEG_EXP:
		o->change.what = CHANGE_NEG_EXP;
		return tile_rows(o, t, 0);
	case V_HEADS:
		return tile_rows(o, t, 0);
	case V_HEADS_TAIL:
		return tile_tail(at);
	case V_HEADS_COLS:
		return tile_cols(o, t);
	default:
		return true;
	}
}

/* Vectors, norms and what decides between experts are not worth less than F32. */
static bool
always_f32(const struct translated *o)
{
	static const char *const ends[] = { "_norm.weight", ".ffn_gate_inp.weight",
		".ffn_gate_inp_shexp.weight", ".ssm_conv1d.weight", ".shortconv.conv.weight" };

	if (o->ndim < 2 || !tb_ends(o->name, ".weight"))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (tb_ends(o->name, ends[i]))
			return true;
	return false;
}

/* Is a piece as large as it is said to be, and from within its tensor?  What config.json says
 * may be anything. */
static bool
sound(const struct translated *o, uint64_t source)
{
	const struct strided *w = &o->change.walk;
	uint64_t n = 1, end = w->first, far;

	for (unsigned d = 0; d < o->ndim; d++)
		if (__builtin_mul_overflow(n, o->dim[d], &n))
			return false;
	if (!o->change.moved || !n)
		return n == source;
	for (unsigned d = 0; d < w->ndim; d++)
		if (!w->dim[d] || __builtin_mul_overflow(w->dim[d] - 1, w->step[d], &far) ||
		    __builtin_add_overflow(end, far, &end))
			return false;
	return n <= source && end < source && walk_elems(w) == n;
}

static enum tb_status
bad_shape(const struct at *at, const char *gguf, struct tb_err *err)
{
	return tb_fail(err, TB_EFORMAT, "%s: has not the shape that config.json makes it, so it "
		       "cannot become %s", at->src->name, gguf);
}

static enum tb_status
become(struct at *at, const char *gguf, enum translate_how how, bool expert, struct tb_err *err)
{
	struct translated *o = &at->out[at->n];
	unsigned first = at->n++;
	bool f32;

	*o = (struct translated){ .ndim = at->src->ndim, .expert = expert, .index = at->expert };
	memcpy(o->dim, at->src->dim, sizeof(*o->dim) * at->src->ndim);
	if (!o->ndim) {
		o->ndim = 1;
		o->dim[0] = 1;
	}
	if (!expert)
		o->index = 0;
	if (!tname_fill(gguf, at->layer, 0, o->name, sizeof(o->name)) || !apply(at, how))
		return bad_shape(at, gguf, err);
	f32 = always_f32(o);
	for (unsigned i = first; i < at->n; i++) {
		if (!sound(&at->out[i], at->src->elems))
			return bad_shape(at, gguf, err);
		at->out[i].f32 = f32;
	}
	return TB_OK;
}

static bool
matches(const char *pattern, struct at *at)
{
	const char *name = at->name;

	if (tname_match(pattern, name, &at->layer, &at->expert))
		return true;
	for (const char *const *p = tname_stems; *p; p++)
		if (tb_starts(name, *p) &&
		    tname_match(pattern, name + strlen(*p), &at->layer, &at->expert))
			return true;
	return false;
}

/* The name that GGUF has for the same slot, packed with the same others. */
static const struct slot_rule *
gguf_rule(const struct slot_rule *hf, unsigned ways)
{
	bool expert = slot_expert(hf->slot);

	for (const struct slot_rule *r = NULL; (r = slot_rule_next(NULL, ways, r));)
		if (r->slot == hf->slot && slot_rule_gguf(r) && (!expert || r->stacked) &&
		    !memcmp(r->before, hf->before, sizeof(r->before)) &&
		    !memcmp(r->after, hf->after, sizeof(r->after)))
			return r;
	return NULL;
}

enum translate_how
translate_slot_how(const struct slot_rule *r)
{
	if (slot_norm(r->slot))
		return NORM;
	if (r->after[0] != DIM_NONE)
		return AS_IS;
	switch (r->slot) {
	case SLOT_Q:
	case SLOT_Q_BIAS:
		return PAIRS_Q;
	case SLOT_K:
	case SLOT_K_BIAS:
		return PAIRS_K;
	default:
		return AS_IS;
	}
}

static enum tb_status
by_slot(struct at *at, struct tb_err *err)
{
	const struct slot_rule *r = NULL, *gguf;
	unsigned ways = at->t->ways;

	while ((r = slot_rule_next(at->t->own, ways, r)) && !slot_rule_gguf(r)) {
		if (r->before[0] != DIM_NONE || !matches(r->pattern, at) ||
		    (r->stacked && at->src->ndim != 3))
			continue;
		gguf = gguf_rule(r, ways);
		if (gguf)
			return become(at, gguf->pattern, translate_slot_how(r),
				      slot_expert(r->slot) && !r->stacked, err);
	}
	return tb_fail(err, TB_EUNSUP, "%s: it is not known what GGUF calls this tensor of %s models; "
		       "leave it out, or convert to safetensors", at->src->name, at->t->type);
}

/* What no text model in a GGUF has. */
static bool
left_out(const struct translate *t, const char *name)
{
	static const char *const others[] = { "visual.*", "model.visual.*",
		"*.rotary_emb.inv_freq", "audio_tower.*", "model.audio_tower.*",
		"model.embed_vision.*", "model.embed_audio.*", NULL };
	struct tname_layer l;

	for (const char *const *p = others; *p; p++)
		if (tb_glob(*p, name))
			return true;
	if (!t->mtp && (tb_starts(name, "mtp.") || tb_starts(name, "model.mtp.")))
		return true;
	return slot_ignored(name) ||
	       (t->fewer_layers && tname_layer(name, &l) && l.number >= t->layers);
}

/* "mtp.layers.0.x" stands behind all layers, and so do its norms: as others call them. */
static const char *
name_among_layers(const struct translate *t, const char *name, char *out, size_t size)
{
	static const char *const words[][2] = { { "fc.", "eh_proj." },
		{ "pre_fc_norm_embedding.", "enorm." }, { "pre_fc_norm_hidden.", "hnorm." },
		{ "norm.", "shared_head.norm." } };
	const char *mtp = tb_starts(name, "model.mtp.") ? name + strlen("model.") : name;
	struct tname_layer l;
	int len = 0;

	if (!tb_starts(mtp, "mtp."))
		return name;
	if (tname_layer(mtp, &l) && l.number < t->mtp)
		len = snprintf(out, size, "layers.%ju%s", (uintmax_t)(t->layers + l.number),
			       mtp + l.len);
	for (size_t i = 0; !len && i < sizeof(words) / sizeof(*words); i++)
		if (tb_starts(mtp + 4, words[i][0]))
			len = snprintf(out, size, "layers.%u.%s%s", t->layers, words[i][1],
				       mtp + 4 + strlen(words[i][0]));
	return len > 0 && (size_t)len < size ? out : name;
}

enum tb_status
translate_to_gguf(const struct translate *t, const struct tensor *src,
		  struct translated out[TRANSLATE_PARTS], unsigned *n, struct tb_err *err)
{
	char among[TNAME_MAX];
	struct at at = { .t = t, .src = src, .out = out };
	const char *pattern = NULL;
	enum tb_status status = TB_OK;

	*n = 0;
	if (left_out(t, src->name))
		return TB_OK;
	at.name = name_among_layers(t, src->name, among, sizeof(among));
	for (const struct translate_name *r = translate_names; r->hf && !status; r++) {
		if (pattern ? strcmp(pattern, r->hf) != 0 : !matches(r->hf, &at))
			continue;
		if (!translate_name_for(r, t))
			continue;
		pattern = r->hf;
		if (r->how != LEFT_OUT)
			status = become(&at, r->gguf, r->how, strstr(r->hf, "{e}") != NULL, err);
	}
	if (!pattern)
		status = by_slot(&at, err);
	*n = at.n;
	return status;
}

enum tb_status
translate_same(const struct tensor *src, struct translated *out, struct tb_err *err)
{
	*out = (struct translated){ .ndim = src->ndim };
	memcpy(out->dim, src->dim, sizeof(*out->dim) * src->ndim);
	if (strlen(src->name) >= sizeof(out->name))
		return tb_fail(err, TB_EFORMAT, "%.200s: too long a name for a GGUF", src->name);
	snprintf(out->name, sizeof(out->name), "%s", src->name);
	out->f32 = always_f32(out);
	return TB_OK;
}
