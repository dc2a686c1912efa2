#include "config.h"

#include "src/ops/convert/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/quant/feedback.h"
#include "src/quant/ggml_encode.h"
#include "src/quant/search.h"

/* The narrowest group is 16 with a byte of scale, the widest scales are F32 for 32. */
static enum tb_status
make_room(struct window *w, size_t n, struct tb_err *err)
{
	*w = (struct window){
		.elems = n, .src = tb_aligned(4 * n), .f32 = tb_aligned(4 * n),
		.in = { tb_aligned(n), tb_aligned(n / 8), tb_aligned(n / 8) },
		.out = { tb_aligned(4 * n), tb_aligned(n / 8), tb_aligned(n / 8) },
	};
	if (w->src && w->f32 && w->in.codes && w->in.scales && w->in.biases && w->out.codes &&
	    w->out.scales && w->out.biases)
		return TB_OK;
	window_free(w);
	return tb_nomem(err);
}

enum tb_status
window_init(struct window *w, struct tb_err *err)
{
	return make_room(w, WINDOW_ELEMS, err);
}

enum tb_status
window_reserve(struct window *w, size_t n, struct tb_err *err)
{
	struct window larger;
	enum tb_status status;

	if (n <= w->elems)
		return TB_OK;
	if (n > WINDOW_ROW_MAX)
		return tb_fail(err, TB_EUNSUP, "rows of %zu columns are too long to be weighted or"
			       " searched: %u at most", n, WINDOW_ROW_MAX);
	status = make_room(&larger, n, err);
	if (status)
		return status;
	window_free(w);
	*w = larger;
	return TB_OK;
}

void
window_free(struct window *w)
{
	free(w->src);
	free(w->f32);
	free(w->in.codes);
	free(w->in.scales);
	free(w->in.biases);
	free(w->out.codes);
	free(w->out.scales);
	free(w->out.biases);
	*w = (struct window){ 0 };
}

enum tb_status
windows_new(struct window **out, unsigned n, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = tb_calloc(n, sizeof(**out));
	for (unsigned i = 0; *out && i < n && !status; i++)
		status = window_init(&(*out)[i], err);
	return *out ? status : tb_nomem(err);
}

void
windows_free(struct window *w, unsigned n)
{
	for (unsigned i = 0; w && i < n; i++)
		window_free(&w[i]);
	free(w);
}

static void
from_f32(enum dtype t, const float *src, size_t n, void *out)
{
	if (t == DT_BF16)
		tb_f32_to_bf16(src, n, out);
	else if (t == DT_F16)
		tb_f32_to_f16(src, n, out);
	else
		memcpy(out, src, 4 * n);
}

/* Numbers side by side, as every x86 and ARM has them; of any alignment. */
#define STRIDE 64
typedef uint16_t half_lanes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t word_lanes __attribute__((vector_size(16), aligned(1), may_alias));

/* An exponent of all ones is infinity or NaN.  n: bytes, whole strides. */
static bool
halves_not_finite(const uint8_t *p, size_t n, uint16_t mask)
{
	half_lanes a = { 0 }, b = a, c = a, d = a;
	uint64_t any[2];

	for (size_t i = 0; i < n; i += STRIDE) {
		const half_lanes *v = (const half_lanes *)(p + i);

		a |= (half_lanes)((v[0] & mask) == mask);
		b |= (half_lanes)((v[1] & mask) == mask);
		c |= (half_lanes)((v[2] & mask) == mask);
		d |= (half_lanes)((v[3] & mask) == mask);
	}
	a |= b | c | d;
	memcpy(any, &a, sizeof(any));
	return any[0] | any[1];
}

static bool
words_not_finite(const uint8_t *p, size_t n, uint32_t mask)
{
	word_lanes found = { 0 };
	uint64_t any[2];

	for (size_t i = 0; i < n; i += sizeof(word_lanes))
		found |= (word_lanes)((*(const word_lanes *)(p + i) & mask) == mask);
	memcpy(any, &found, sizeof(any));
	return any[0] | any[1];
}

static bool
strides_not_finite(enum dtype t, const uint8_t *p, size_t n)
{
	if (t == DT_F32)
		return words_not_finite(p, n, 0x7f800000);
	return halves_not_finite(p, n, t == DT_BF16 ? 0x7f80 : 0x7c00);
}

static bool
not_finite(enum dtype t, const uint8_t *p, size_t n)
{
	size_t bytes = n * (t == DT_F32 ? 4 : 2), whole = bytes - bytes % STRIDE;
	uint8_t rest[STRIDE] = { 0 };

	memcpy(rest, p + whole, bytes - whole);
	return strides_not_finite(t, p, whole) || strides_not_finite(t, rest, STRIDE);
}

/* The sentence: where the first is, and how many in this stretch. */
static enum tb_status
say_not_finite(const struct tensor *t, enum dtype d, const uint8_t *p, size_t n, uint64_t first,
	       const char *what, struct tb_err *err)
{
	unsigned size = dtype_bits(d) / 8;
	size_t at = 0, count = 0;

	for (size_t i = n; i-- > 0;)
		if (not_finite(d, p + i * size, 1)) {
			at = i;
			count++;
		}
	return tb_fail(err, TB_EFORMAT, "tensor %s: element %ju %s (%zu of the %zu from %ju on)",
		       t->name, (uintmax_t)(first + at), what, count, n, (uintmax_t)first);
}

/* Where the parts of element i begin. */
static struct quant_parts
parts_at(const struct tensor *t, const struct quant_parts *p, uint64_t i)
{
	uint64_t scales = !t->has_scale ? 0
		: scheme_scales(&t->scheme, i) * (dtype_bits(t->scale.dtype) / 8);

	return (struct quant_parts){ (char *)p->codes + scheme_code_bytes(&t->scheme, i),
				     p->scales ? (char *)p->scales + scales : NULL,
				     p->biases ? (char *)p->biases + scales : NULL };
}

enum tb_status
window_gather(const struct values *v, const struct change *c, uint64_t first, size_t n,
	      const struct quant_parts *room, struct tb_err *err)
{
	const struct tensor *t = v->t;
	uint64_t group = t->scheme.group ? t->scheme.group : 1, place, run;
	enum tb_status status = TB_OK;

	if (!c || !c->moved)
		return values_read(v, first, n, room, err);
	if (scheme_is_plain(&t->scheme) && c->walk.step[c->walk.ndim - 1] != 1)
		return window_walk(v, &c->walk, first, n, (void *)room->codes, err);
	for (uint64_t i = 0; i < n && !status; i += run) {
		struct quant_parts at = parts_at(t, room, i);

		place = walk_place(&c->walk, first + i);
		run = walk_stretch(&c->walk, first + i, n - i);
		if (place % group || run % group)
			return tb_fail(err, TB_EUNSUP, "tensor %s: what has to be moved is no whole "
				       "groups of %ju; decode it (-q bf16) first", t->name,
				       (uintmax_t)group);
		status = values_read(v, place, run, &at, err);
	}
	return status;
}

/* Plain numbers become exact ones in w->f32 only where they are changed. */
static void
window_change(struct window *w, const struct tensor *t, const struct change *c, size_t n)
{
	enum dtype d = values_dtype(t);

	if (!w->decoded)
		dtype_to_f32(d, w->src, n, w->f32);
	w->decoded = true;
	for (size_t i = 0; i < n; i++)
		w->f32[i] = change_apply(c, w->f32[i]);
	from_f32(d, w->f32, n, w->src);
}

enum tb_status
window_load(struct window *w, const struct values *v, const struct change *c, uint64_t first,
	    size_t n, struct tb_err *err)
{
	const struct tensor *t = v->t;
	/* blocks may be longer than codes alone */
	const struct quant_parts src = { .codes = w->src };
	const struct quant_parts *room = t->has_scale ? &w->in : &src;
	enum tb_status status = window_gather(v, c, first, n, room, err);

	w->decoded = t->has_scale || scheme_form(&t->scheme) == FORM_BLOCKS;
	if (status)
		return status;
	if (w->decoded) {
		values_decode(v, room, n, w->f32);
		from_f32(values_dtype(t), w->f32, n, w->src);
	}
	if (c && c->what != CHANGE_NONE)
		window_change(w, t, c, n);
	return TB_OK;
}

enum tb_status
window_read(struct window *w, const struct values *v, const struct change *c, uint64_t first,
	    size_t n, struct tb_err *err)
{
	enum dtype d = values_dtype(v->t);
	enum tb_status status = window_load(w, v, c, first, n, err);

	if (status || !not_finite(d, w->src, n))
		return status;
	if (scheme_form(&v->t->scheme) == FORM_BLOCKS && !not_finite(DT_F32, (uint8_t *)w->f32, n))
		return say_not_finite(v->t, d, w->src, n, first,
				      "is too large for F16; decode it as bf16 (--decode)", err);
	return say_not_finite(v->t, d, w->src, n, first, "is infinite or NaN", err);
}

static uint64_t
last_dim(const struct tensor *t, unsigned back)
{
	return t->ndim > back ? t->dim[t->ndim - 1 - back] : 1;
}

static uint64_t
place_of(const struct change *c, uint64_t first)
{
	return c && c->moved ? walk_place(&c->walk, first) : first;
}

struct encode_how
encode_how(enum flavour flavour, const struct plan_care *care, const struct tensor *t,
	   const struct change *c, uint64_t cols, uint64_t first)
{
	struct encode_how how = { .flavour = flavour, .cols = cols, .search = care->search,
				  .care = care };
	uint64_t own = last_dim(t, 0), place;

	if (!t->elems || !cols)
		return how;
	place = place_of(c, first);
	/* Of a turned matrix, or of half rows, other columns are known. */
	how.known = cols == own && (!c || !c->moved ||
				    (place % own == 0 && walk_stretch(&c->walk, first, own) == own));
	how.matrix = place / (own * last_dim(t, 1));
	if (how.known && care->weights)
		how.weights = care->weights(care->arg, t, how.matrix);
	return how;
}

uint64_t
encode_stretch(const struct encode_how *how, const struct tensor *t, const struct change *c,
	       uint64_t first, uint64_t most)
{
	uint64_t all = c && c->moved ? walk_elems(&c->walk) : t->elems, left = all - first, n = most;
	uint64_t matrix = last_dim(t, 0) * last_dim(t, 1), done = how->cols;

	/* where some of a stack are weighed, others may not be */
	if (how->search || (how->care && how->care->weights))
		n = most > how->cols ? most - most % how->cols : how->cols;
	n = n < left ? n : left;
	if (!how->care || !how->care->weights || t->ndim < 3)
		return n;
	while (done < n && place_of(c, first + done) / matrix == how->matrix)
		done += how->cols;
	return done < n ? done : n;
}

/* Rows that are weighed, or blocks.  One that F16 has no scale for would be infinite. */
static enum tb_status
encode_blocks(struct window *w, const struct tensor *t, const struct scheme *to,
	      const struct encode_how *how, uint64_t first, size_t n, struct tb_err *err)
{
	enum dtype d = values_dtype(t);
	char name[SCHEME_NAME_MAX];
	size_t bad;

	if (how->weights) {
		if (!w->decoded && d != DT_F32)
			dtype_to_f32(d, w->src, n, w->f32);
		ggml_encode(to->ggml, w->decoded || d != DT_F32 ? w->f32 : (const float *)w->src,
			    n / how->cols, how->cols, how->weights, w->out.codes);
	} else if (w->decoded) {
		quant_encode(to, how->flavour, DT_F32, w->f32, n, &w->out);
	} else {
		quant_encode(to, how->flavour, d, w->src, n, &w->out);
	}
	bad = ggml_overflow(to->ggml, w->out.codes, n / to->group);
	if (bad == n / to->group)
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "tensor %s: elements from %ju on are too large for %s",
		       t->name, (uintmax_t)(first + bad * to->group), scheme_name(to, name));
}

/* Groups with scales that are searched for, and errors that are made up for in whole rows. */
static enum tb_status
encode_searched(struct window *w, const struct tensor *t, const struct scheme *to,
		const struct encode_how *how, uint64_t first, size_t n, struct tb_err *err)
{
	const struct quant_weights weights = { how->weights, how->cols, first % how->cols };
	const struct quant_feedback *f = NULL;
	const struct plan_care *care = how->care;
	enum dtype d = values_dtype(t);
	enum tb_status status = TB_OK;

	if (how->known && care->feedback && !weights.at && n % how->cols == 0)
		status = care->feedback(care->arg, t, how->matrix, &f, err);
	if (status)
		return status;
	if (!f) {
		quant_search(to, how->flavour, d, w->src, n, &weights, &w->out);
		return TB_OK;
	}
	status = quant_encode_fed(to, how->flavour, d, w->src, n / how->cols, f, &w->out, err);
	care->done(care->arg, f);
	return status;
}

enum tb_status
window_encode(struct window *w, const struct tensor *t, const struct scheme *to,
	      const struct encode_how *how, uint64_t first, size_t n, struct tb_err *err)
{
	enum dtype d = values_dtype(t);

	if (scheme_form(to) == FORM_BLOCKS)
		return encode_blocks(w, t, to, how, first, n, err);
	if (scheme_form(to) == FORM_GROUPS && how->search)
		return encode_searched(w, t, to, how, first, n, err);
	if (!scheme_is_plain(to)) {
		quant_encode(to, how->flavour, d, w->src, n, &w->out);
		return TB_OK;
	}
	if (!w->decoded)		/* else they are there, as exact as they can be */
		dtype_to_f32(d, w->src, n, w->f32);
	from_f32(to->dtype, w->f32, n, w->out.codes);
	if (not_finite(to->dtype, w->out.codes, n))
		return say_not_finite(t, to->dtype, w->out.codes, n, first,
				      "is too large for the type", err);
	return TB_OK;
}

void
window_decode(struct window *w, const struct tensor *t, const struct scheme *from, size_t n)
{
	struct quant_src q = { w->out.codes, w->out.scales, w->out.biases,
			       scheme_scale_dtype(from, values_dtype(t)), 1 };

	quant_decode(from, &q, n, w->f32);
}
