#include "config.h"

#include "src/ops/convert/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/ops/plan/plan_parts.h"

/* The narrowest group is 16 with a byte of scale, the widest scales are F32 for 32. */
#define SCALE_BYTES (WINDOW_ELEMS / 8)

enum tb_status
window_init(struct window *w, struct tb_err *err)
{
	*w = (struct window){ tb_aligned(4 * WINDOW_ELEMS), tb_aligned(4 * WINDOW_ELEMS),
			      { tb_aligned(WINDOW_ELEMS), tb_aligned(SCALE_BYTES),
				tb_aligned(SCALE_BYTES) },
			      { tb_aligned(4 * WINDOW_ELEMS), tb_aligned(SCALE_BYTES),
				tb_aligned(SCALE_BYTES) } };
	if (w->src && w->f32 && w->in.codes && w->in.scales && w->in.biases && w->out.codes &&
	    w->out.scales && w->out.biases)
		return TB_OK;
	window_free(w);
	return tb_nomem(err);
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
part_read(const struct model *m, const struct tensor_part *p, uint64_t off, void *buf, size_t len,
	  struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status;

	if (off > p->len || len > p->len - off)
		return tb_fail(err, TB_EFORMAT, "%s: a tensor is shorter than its shape",
			       m->files[p->file].path);
	status = tb_file_open(&f, m->files[p->file].path, err);
	if (status)
		return status;
	status = tb_file_read(&f, p->off + off, buf, len, err);
	tb_file_close(&f);
	return status;
}

static void
to_f32(enum dtype t, const void *src, size_t n, float *out)
{
	if (t == DT_BF16)
		tb_bf16_to_f32(src, n, out);
	else if (t == DT_F16)
		tb_f16_to_f32(src, n, out);
	else
		memcpy(out, src, 4 * n);
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

/* An exponent of all ones is infinity or NaN.  Eight bytes at a time: of a word in
 * which such lanes became 0, "some lane is 0" is the old trick with borrows. */
static bool
not_finite(enum dtype t, const uint8_t *p, size_t n)
{
	uint64_t one = t == DT_F32 ? 0x0000000100000001u : 0x0001000100010001u;
	uint64_t mask = one * (t == DT_F32 ? 0x7f800000u : t == DT_BF16 ? 0x7f80u : 0x7c00u);
	uint64_t high = one << (t == DT_F32 ? 31 : 15), found = 0, v;
	size_t bytes = n * (t == DT_F32 ? 4 : 2), i;

	for (i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&v, p + i, 8);
		v = (v & mask) ^ mask;
		found |= (v - one) & ~v & high;
	}
	v = 0;
	memcpy(&v, p + i, bytes - i);
	v = (v & mask) ^ mask;
	return found || ((v - one) & ~v & high);
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

enum tb_status
window_global(const struct model *m, const struct tensor *t, float *out, struct tb_err *err)
{
	enum tb_status status;

	*out = 1;
	if (!t->has_global)
		return TB_OK;
	if (t->global.dtype != DT_F32 || t->global.len != 4)
		return tb_fail(err, TB_EUNSUP, "tensor %s: its global scale is not one F32", t->name);
	status = part_read(m, &t->global, 0, out, 4, err);
	if (!status && t->global_inverse)
		*out = 1 / *out;
	return status;
}

enum tb_status
window_read_packed(struct window *w, const struct model *m, const struct tensor *t, uint64_t first,
		   size_t n, struct tb_err *err)
{
	struct plan_bytes at = plan_bytes(&t->scheme, plan_source_dtype(t), first);
	struct plan_bytes len = plan_bytes(&t->scheme, plan_source_dtype(t), n);
	enum tb_status status;

	status = part_read(m, &t->weight, at.codes, w->in.codes, len.codes, err);
	if (!status && t->has_scale)
		status = part_read(m, &t->scale, at.scales, w->in.scales, len.scales, err);
	if (!status && t->has_bias)
		status = part_read(m, &t->bias, at.biases, w->in.biases, len.biases, err);
	return status;
}

static enum tb_status
read_quantized(struct window *w, const struct model *m, const struct tensor *t, uint64_t first,
	       size_t n, struct tb_err *err)
{
	struct quant_src q = { w->in.codes, w->in.scales, t->has_bias ? w->in.biases : NULL,
			       t->scale.dtype, 1 };
	enum tb_status status = window_global(m, t, &q.global, err);

	if (!status)
		status = window_read_packed(w, m, t, first, n, err);
	if (status)
		return status;
	quant_decode(&t->scheme, &q, n, w->f32);
	from_f32(plan_source_dtype(t), w->f32, n, w->src);
	return TB_OK;
}

enum tb_status
window_load(struct window *w, const struct model *m, const struct tensor *t, uint64_t first,
	    size_t n, struct tb_err *err)
{
	unsigned size = dtype_bits(plan_source_dtype(t)) / 8;

	if (t->has_scale)
		return read_quantized(w, m, t, first, n, err);
	return part_read(m, &t->weight, first * size, w->src, n * size, err);
}

enum tb_status
window_read(struct window *w, const struct model *m, const struct tensor *t, uint64_t first,
	    size_t n, struct tb_err *err)
{
	enum dtype d = plan_source_dtype(t);
	enum tb_status status = window_load(w, m, t, first, n, err);

	if (status || !not_finite(d, w->src, n))
		return status;
	return say_not_finite(t, d, w->src, n, first, "is infinite or NaN", err);
}

enum tb_status
window_encode(struct window *w, const struct tensor *t, const struct scheme *to,
	      enum flavour flavour, uint64_t first, size_t n, struct tb_err *err)
{
	enum dtype d = plan_source_dtype(t);

	if (to->kind != SCHEME_PLAIN) {
		quant_encode(to, flavour, d, w->src, n, &w->out);
		return TB_OK;
	}
	if (!t->has_scale)		/* else they are there, as exact as they can be */
		to_f32(d, w->src, n, w->f32);
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
			       scheme_scale_dtype(from, plan_source_dtype(t)), 1 };

	if (from->kind == SCHEME_PLAIN)
		to_f32(from->dtype, w->out.codes, n, w->f32);
	else
		quant_decode(from, &q, n, w->f32);
}
