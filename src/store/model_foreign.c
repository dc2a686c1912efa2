/* model_foreign.c - weights that AWQ, GPTQ, compressed-tensors and the makers of FP8
 * checkpoints pack: recognised by the names and shapes of their parts, which say more
 * than config.json does; that decides where they leave a choice. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/quant/foreign.h"
#include "src/store/model_build.h"

#define MAX_BITS 8

/* What config.json says of it. */
struct said {
	bool any;			/* there is such a block */
	bool v2;			/* checkpoint_format: gptq_v2 */
	unsigned bits[MAX_BITS], nbits;	/* a compressed-tensors model may have several */
	unsigned group[MAX_BITS], ngroups;	/* SCHEME_PER_ROW as well */
};

static void
say_group(struct said *s, const cJSON *v)
{
	uint64_t n;
	double minus;

	if (s->ngroups == MAX_BITS)
		return;
	if (json_u64(v, &n) && n && n < SCHEME_PER_ROW)
		s->group[s->ngroups++] = (unsigned)n;
	else if (json_f64(v, &minus) && minus == -1)
		s->group[s->ngroups++] = SCHEME_PER_ROW;
}

static void
say_bits(struct said *s, const cJSON *v)
{
	uint64_t n;

	if (s->nbits < MAX_BITS && json_u64(v, &n) && n >= 1 && n <= 8)
		s->bits[s->nbits++] = (unsigned)n;
}

static struct said
read_block(const cJSON *q)
{
	const char *format = json_str(json_get(q, "checkpoint_format"));
	struct said s = { .any = true, .v2 = format && !strcmp(format, "gptq_v2") };

	say_bits(&s, json_get(q, "bits"));
	say_bits(&s, json_get(q, "w_bit"));
	say_group(&s, json_get(q, "group_size"));
	say_group(&s, json_get(q, "q_group_size"));
	say_group(&s, json_first(json_get(q, "weight_block_size")));
	for (const cJSON *g = json_first(json_get(q, "config_groups")); g; g = json_next(g)) {
		say_bits(&s, json_path(g, "weights.num_bits"));
		say_group(&s, json_path(g, "weights.group_size"));
		say_group(&s, json_first(json_path(g, "weights.block_structure")));
	}
	return s;
}

static struct said
find_said(const struct build *b)
{
	static const char *const places[] = { "quantization_config", "compression_config",
		"text_config.quantization_config", "text_config.compression_config" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const cJSON *q = json_path(b->config, places[i]);

		if (json_str(json_get(q, "quant_method")))
			return read_block(q);
	}
	return (struct said){ 0 };
}

static bool
among(unsigned v, const unsigned *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

/* ---- shapes ---- */

/* The last dimensions of a part, 1 where it has none, and how often they are there. */
struct shape { uint64_t many, rows, cols; };

static struct shape
shape_of(const struct tensor_part *p)
{
	struct shape s = { 1, 1, 1 };
	unsigned n = p->ndim;

	if (n > 0)
		s.cols = p->dim[n - 1];
	if (n > 1)
		s.rows = p->dim[n - 2];
	for (unsigned i = 0; i + 2 < n; i++)
		s.many *= p->dim[i];
	return s;
}

/* Inputs that share a scale, when there are `groups` of them; 0: no whole number. */
static unsigned
group_of(const struct said *said, uint64_t cols, uint64_t groups)
{
	if (!groups || !cols)
		return 0;
	for (unsigned i = 0; i < said->ngroups; i++)
		if (said->group[i] < SCHEME_PER_ROW &&
		    (cols + said->group[i] - 1) / said->group[i] == groups)
			return said->group[i];
	if (groups == 1)
		return SCHEME_PER_ROW;
	return cols % groups || cols / groups >= SCHEME_PER_ROW ? 0 : (unsigned)(cols / groups);
}

static uint64_t
count_of(const struct tensor_part *p)
{
	struct shape s = shape_of(p);

	return s.many * s.rows * s.cols;
}

/* Do all parts have the bytes that the scheme wants, `many` times?  One scale may serve
 * for all. */
static bool
fits(const struct scheme *s, const struct tensor *t, uint64_t rows, uint64_t cols)
{
	uint64_t many = shape_of(&t->weight).many, scales = count_of(&t->scale);
	struct foreign_need need;

	if (!foreign_need(s, rows, cols, &need) || !many || need.codes > UINT64_MAX / many ||
	    t->weight.len != need.codes * many || need.scales > UINT64_MAX / many)
		return false;
	if (scales != need.scales * many && (s->group != SCHEME_PER_TENSOR || scales != 1))
		return false;
	if (t->has_bias && t->bias.len != need.zeros * many)
		return false;
	return (!t->has_order || t->order.len == cols * many * 4) &&
	       (dtype_floating(t->scale.dtype) && dtype_bits(t->scale.dtype) >= 8);
}

struct found { struct scheme s; uint64_t rows, cols; };
/* What the parts of t are; how many answers there are. */
typedef unsigned fit_fn(const struct said *said, const struct tensor *t, struct found out[MAX_BITS]);

static bool
put(struct found *out, enum scheme_kind kind, unsigned bits, unsigned group,
    const struct tensor *t, uint64_t rows, uint64_t cols)
{
	*out = (struct found){ { .kind = kind, .bits = bits, .group = group }, rows, cols };
	return group && fits(&out->s, t, rows, cols);
}

/* AWQ's scales are as wide as 8 words, GPTQ's as one. */
static unsigned
fit_qweight(const struct said *said, const struct tensor *t, struct found out[MAX_BITS])
{
	static const unsigned widths[] = { 2, 3, 4, 8 };
	struct shape w = shape_of(&t->weight), s = shape_of(&t->scale);
	unsigned n = 0;

	if (t->weight.ndim < 2)		/* its shape could not say what it is */
		return 0;
	if (s.cols != w.cols)
		return put(out, SCHEME_AWQ, 4, group_of(said, w.rows, s.rows), t, s.cols, w.rows);
	for (unsigned i = 0; i < 4; i++) {
		unsigned bits = widths[i];
		uint64_t cols = w.rows <= UINT64_MAX / 32 && w.rows * 32 % bits == 0
				? w.rows * 32 / bits : 0;
		enum scheme_kind kind = said->v2 ? SCHEME_GPTQ_V2 : SCHEME_GPTQ;

		if (t->has_order && cols != shape_of(&t->order).cols)
			continue;
		n += put(&out[n], kind, bits, group_of(said, cols, s.rows), t, s.cols, cols);
	}
	return n;
}

static unsigned
fit_packed(const struct said *said, const struct tensor *t, struct found out[MAX_BITS])
{
	static const unsigned usual[] = { 4, 8 };
	const unsigned *bits = said->nbits ? said->bits : usual;
	struct shape w = shape_of(&t->weight), s = shape_of(&t->scale);
	unsigned n = 0;

	for (unsigned i = 0; i < (said->nbits ? said->nbits : 2); i++) {
		uint64_t cols = w.cols <= UINT64_MAX / 32 ? w.cols * 32 / bits[i] : 0;
		unsigned group = s.rows == w.rows ? group_of(said, cols, s.cols)
				 : count_of(&t->scale) == 1 ? SCHEME_PER_TENSOR : 0;

		n += !among(bits[i], bits, i) &&
		     put(&out[n], SCHEME_CT_INT, bits[i], group, t, w.rows, cols);
	}
	return n;
}

/* A square of elements has a scale: of which side? */
static unsigned
block_side(const struct said *said, const struct shape *w, const struct shape *s)
{
	static const unsigned usual[] = { 128, 64, 32, 16, 256 };

	for (unsigned i = 0; i < said->ngroups + 5; i++) {
		unsigned b = i < said->ngroups ? said->group[i] : usual[i - said->ngroups];

		if (b < SCHEME_PER_ROW && (w->rows + b - 1) / b == s->rows &&
		    (w->cols + b - 1) / b == s->cols)
			return b;
	}
	return 0;
}

static unsigned
fit_bytes(const struct said *said, const struct tensor *t, struct found out[MAX_BITS])
{
	enum scheme_kind kind = t->weight.dtype == DT_I8 ? SCHEME_INT8 : SCHEME_FP8;
	struct shape w = shape_of(&t->weight), s = shape_of(&t->scale);
	uint64_t scales = count_of(&t->scale);
	unsigned group;

	if (scales == 1 || (scales == w.many && w.many > 1))
		group = SCHEME_PER_TENSOR;
	else if (scales == w.many * w.rows)
		group = SCHEME_PER_ROW;
	else if (kind == SCHEME_INT8)
		group = s.rows == w.rows ? group_of(said, w.cols, s.cols) : 0;
	else
		group = block_side(said, &w, &s);
	return put(out, kind, 8, group, t, w.rows, w.cols);
}

/* ---- names ---- */

/* Endings: of the weight, and instead of it those of its parts; NULL: has none.
 * `shape` is what the weight's shape says, too. */
static const struct form {
	const char *weight, *scale, *zeros, *order, *shape;
	enum dtype dtype;
	fit_fn *fit;
} forms[] = {
	{ ".qweight", ".scales", ".qzeros", ".g_idx", NULL, DT_I32, fit_qweight },
	{ ".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_g_idx",
	  ".weight_shape", DT_I32, fit_packed },
	{ "", "_scale_inv", NULL, NULL, NULL, DT_F8_E4M3, fit_bytes },
	{ "", "_scale", NULL, NULL, NULL, DT_F8_E4M3, fit_bytes },
	{ ".weight", ".weight_scale", ".weight_zero_point", NULL, NULL, DT_I8, fit_bytes },
};

/* MX scales are powers of two: U8 or E8M0 a group of 32, and no business of ours. */
static bool
mx_scales(const struct raw *w, const struct raw *scale)
{
	return scale->part.dtype == DT_U8 ||
	       (scale->part.dtype == DT_F8_E8M0 && w->part.ndim && scale->part.ndim &&
		scale->part.dim[scale->part.ndim - 1] * 32 == w->part.dim[w->part.ndim - 1]);
}

static const struct form *
gather(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *f = &forms[i];
		size_t n = strlen(w->name) - strlen(f->weight);
		struct tensor_part ignored;
		struct raw *scale;

		if (w->part.dtype != f->dtype || !w->part.ndim || !tb_ends(w->name, f->weight))
			continue;
		scale = build_companion(b, key, w->name, n, f->scale);
		if (!scale || scale->used || mx_scales(w, scale))
			continue;
		build_take(w, &t->weight);
		t->has_scale = build_take(scale, &t->scale);
		t->has_bias = build_take(build_companion(b, key, w->name, n, f->zeros), &t->bias);
		t->has_order = build_take(build_companion(b, key, w->name, n, f->order), &t->order);
		build_take(build_companion(b, key, w->name, n, f->shape), &ignored);
		t->name = *f->weight ? tb_arena_cat(b->arena, w->name, n, ".weight") : w->name;
		return f;
	}
	return NULL;
}

/* Of several answers the one that config.json lets expect, by its numbers and by the
 * length of a row, or none. */
static const struct found *
choose(const struct build *b, const struct said *said, const struct found *found, unsigned n)
{
	const struct found *best = n == 1 ? found : NULL;
	int most = 0;

	for (unsigned i = 0; n > 1 && i < n; i++) {
		int points = among(found[i].s.bits, said->bits, said->nbits) +
			     among(found[i].s.group, said->group, said->ngroups) +
			     config_width(b, found[i].cols);

		if (points == most)
			best = NULL;
		if (points > most)
			best = &found[i];
		most = points > most ? points : most;
	}
	return best;
}

static void
settle(struct tensor *t, const struct said *said, const struct found *f)
{
	bool bits = !said->nbits || among(f->s.bits, said->bits, said->nbits);
	bool group = !said->ngroups || among(f->s.group, said->group, said->ngroups);

	t->scheme = f->s;
	t->origin = said->any && bits && group ? ORIGIN_CONFIG : ORIGIN_SHAPES;
	if (t->ndim > 1)
		t->dim[t->ndim - 2] = f->rows;
	t->dim[t->ndim - 1] = f->cols;
}

enum tb_status
build_foreign(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key, bool *done,
	      struct tb_err *err)
{
	const struct form *form = w->blocks.kind == SCHEME_GGML ? NULL : gather(b, t, w, key);
	struct found found[MAX_BITS];
	const struct found *f;
	struct said said;

	*done = form != NULL;
	if (!form)
		return TB_OK;
	if (!t->name || tb_buf_failed(key))
		return tb_nomem(err);
	t->ndim = t->weight.ndim;
	memcpy(t->dim, t->weight.dim, sizeof(t->dim));
	t->scheme = scheme_plain(t->weight.dtype);
	said = find_said(b);
	f = choose(b, &said, found, form->fit(&said, t, found));
	if (f) {
		settle(t, &said, f);
		return TB_OK;
	}
	t->origin = ORIGIN_UNKNOWN;
	return build_problem(b, b->m->files[w->part.file].digest, err, "tensor %.200s: has scales,"
			     " but its layout is none that is known", t->name);
}
