#include "config.h"

#include "src/model/values.h"

#include <string.h>

#include "src/quant/foreign.h"
#include "src/quant/ggml.h"

enum tb_status
values_map(struct tb_map *map, const struct model *m, const struct tensor_part *p,
	   struct tb_err *err)
{
	const struct model_file *file = &m->files[p->file];
	struct tb_file f;
	enum tb_status status;

	if (file->missing)
		return tb_fail(err, TB_ENOENT, "%s: is missing", file->path);
	status = tb_file_open(&f, file->path, err);
	if (status)
		return status;
	if (!tb_ident_equal(&f.id, &file->id))
		status = tb_fail(err, TB_EIO, "%s: has changed since it was opened", f.path);
	else
		status = tb_map_open(map, &f, p->off, p->len, err);
	tb_file_close(&f);
	return status;
}

/* Whose parts are apart: neither plain nor in blocks. */
static bool
has_scale(const struct tensor *t)
{
	return t->scheme.kind != SCHEME_PLAIN && t->scheme.kind != SCHEME_GGML;
}

bool
values_plain(const struct values *r)
{
	return r->t->scheme.kind == SCHEME_PLAIN;
}

static enum tb_status
check_blocks(const struct tensor *t, struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];

	if (!ggml_decodable(t->scheme.ggml))
		return tb_fail(err, TB_EUNSUP, "tensor %s: nobody decodes %s", t->name,
			       scheme_name(&t->scheme, name));
	if (t->elems % t->scheme.group || scheme_code_bytes(&t->scheme, t->elems) > t->weight.len)
		return tb_fail(err, TB_EFORMAT, "tensor %s: it is shorter than its shape", t->name);
	return TB_OK;
}

/* Rows and columns of one matrix, and how many the tensor is; false: none. */
static bool
matrices(const struct tensor *t, uint64_t *rows, uint64_t *cols, uint64_t *many)
{
	*cols = t->ndim ? t->dim[t->ndim - 1] : 0;
	*rows = t->ndim > 1 ? t->dim[t->ndim - 2] : 1;
	*many = *rows && *cols ? t->elems / *rows / *cols : 0;
	return *many != 0;
}

static enum tb_status
check_foreign(const struct tensor *t, struct tb_err *err)
{
	unsigned size = dtype_bits(t->scale.dtype) / 8;
	uint64_t rows, cols, many;
	struct foreign_need need;

	if (!t->elems)
		return TB_OK;
	if (!matrices(t, &rows, &cols, &many) || !foreign_need(&t->scheme, rows, cols, &need) ||
	    !t->has_scale || !size || need.codes * many > t->weight.len ||
	    (need.scales * many * size > t->scale.len && t->scale.len != size) ||
	    (t->has_bias && need.zeros * many > t->bias.len) ||
	    (t->has_order && cols * many * 4 > t->order.len))
		return tb_fail(err, TB_EFORMAT, "tensor %s: a part is shorter than its shape",
			       t->name);
	return TB_OK;
}

/* What the scheme needs must be there: the decoder does not look back. */
static enum tb_status
check_sizes(const struct tensor *t, struct tb_err *err)
{
	uint64_t need, scales;

	if (t->scheme.kind == SCHEME_PLAIN) {
		if (!dtype_bytes(t->scheme.dtype, t->elems, &need) || need > t->weight.len)
			return tb_fail(err, TB_EFORMAT, "tensor %s: %ju elements of %s do not fit "
				       "%ju bytes", t->name, (uintmax_t)t->elems,
				       dtype_name(t->scheme.dtype), (uintmax_t)t->weight.len);
		return TB_OK;
	}
	if (t->scheme.kind == SCHEME_GGML)
		return check_blocks(t, err);
	if (scheme_foreign(&t->scheme))
		return check_foreign(t, err);
	if (!t->has_scale || t->has_bias != scheme_has_bias(&t->scheme) || !t->scheme.group ||
	    t->elems % t->scheme.group)
		return tb_fail(err, TB_EFORMAT, "tensor %s: its parts do not fit its scheme",
			       t->name);
	if (!dtype_bytes(t->scale.dtype, scheme_scales(&t->scheme, t->elems), &scales) ||
	    scheme_code_bytes(&t->scheme, t->elems) > t->weight.len || scales > t->scale.len ||
	    (t->has_bias && (scales > t->bias.len || t->bias.dtype != t->scale.dtype)))
		return tb_fail(err, TB_EFORMAT, "tensor %s: a part is shorter than its shape",
			       t->name);
	return TB_OK;
}

static enum tb_status
read_global(struct values *r, const struct model *m, struct tb_err *err)
{
	const struct tensor *t = r->t;
	struct tb_map map;
	enum tb_status status;

	if (!t->has_global)
		return TB_OK;
	if (t->global.dtype != DT_F32 || t->global.len != 4)
		return tb_fail(err, TB_EUNSUP, "tensor %s: its global scale is not one F32",
			       t->name);
	status = values_map(&map, m, &t->global, err);
	if (status)
		return status;
	memcpy(&r->global, map.p, 4);
	tb_map_close(&map);
	if (t->global_inverse)
		r->global = 1 / r->global;
	return TB_OK;
}

/* Matrix number i as the decoder takes it. */
static struct foreign_src
foreign_at(const struct values *r, uint64_t i)
{
	const struct tensor *t = r->t;
	unsigned size = dtype_bits(t->scale.dtype) / 8;
	struct foreign_src q = { .scale_dtype = t->scale.dtype };
	struct foreign_need need = { 0 };
	uint64_t many;

	(void)(matrices(t, &q.rows, &q.cols, &many) &&
	       foreign_need(&t->scheme, q.rows, q.cols, &need));
	q.codes = r->weight.p + i * need.codes;
	q.scales = r->scale.p + (t->scale.len == size ? 0 : i * need.scales * size);
	q.zeros = t->has_bias ? r->bias.p + i * need.zeros : NULL;
	q.order = t->has_order ? r->order.p + i * q.cols * 4 : NULL;
	return q;
}

static enum tb_status
open_order(struct values *r, const struct model *m, struct tb_err *err)
{
	const struct tensor *t = r->t;
	enum tb_status status = values_map(&r->order, m, &t->order, err);
	uint64_t rows, cols, many, bad;

	if (status || !matrices(t, &rows, &cols, &many))
		return status;
	for (uint64_t i = 0; i < many; i++) {
		struct foreign_src q = foreign_at(r, i);

		bad = foreign_bad_order(&t->scheme, &q);
		if (bad < cols)
			return tb_fail(err, TB_EFORMAT, "tensor %s: the group of column %ju is none"
				       " of its groups (byte %ju of %s)", t->name, (uintmax_t)bad,
				       (uintmax_t)(t->order.off + (i * cols + bad) * 4),
				       m->files[t->order.file].path);
	}
	return TB_OK;
}

enum tb_status
values_open(struct values *r, const struct model *m, const struct tensor *t, struct tb_err *err)
{
	enum tb_status status = check_sizes(t, err);

	*r = (struct values){ .t = t, .weight = { .slot = -1 }, .scale = { .slot = -1 },
			      .bias = { .slot = -1 }, .order = { .slot = -1 }, .global = 1 };
	if (!status)
		status = values_map(&r->weight, m, &t->weight, err);
	if (!status && has_scale(t))
		status = values_map(&r->scale, m, &t->scale, err);
	if (!status && has_scale(t) && t->has_bias)
		status = values_map(&r->bias, m, &t->bias, err);
	if (!status && has_scale(t))
		status = read_global(r, m, err);
	if (!status && t->has_order && scheme_foreign(&t->scheme))	/* else it says nothing */
		status = open_order(r, m, err);
	if (status)
		values_close(r);
	return status;
}

void
values_close(struct values *r)
{
	tb_map_close(&r->weight);
	tb_map_close(&r->scale);
	tb_map_close(&r->bias);
	tb_map_close(&r->order);
}

enum tb_status
values_check(const struct values *r, struct tb_err *err)
{
	if (tb_map_torn(&r->weight) || tb_map_torn(&r->scale) || tb_map_torn(&r->bias) ||
	    tb_map_torn(&r->order))
		return tb_fail(err, TB_EIO, "tensor %s: its file shrank while it was read",
			       r->t->name);
	return TB_OK;
}

const void *
values_plain_at(const struct values *r, uint64_t first)
{
	unsigned bits = dtype_bits(r->t->scheme.dtype);

	return r->weight.p + first / 8 * bits + first % 8 * bits / 8;
}

static void
foreign_f32(const struct values *r, uint64_t first, size_t n, float *out)
{
	uint64_t rows, cols, many;

	if (!matrices(r->t, &rows, &cols, &many))
		return;
	while (n) {
		uint64_t at = first % (rows * cols), left = rows * cols - at;
		struct foreign_src q = foreign_at(r, first / (rows * cols));
		size_t part = left < n ? (size_t)left : n;

		foreign_decode(&r->t->scheme, &q, at, part, out);
		first += part;
		out += part;
		n -= part;
	}
}

void
values_f32(const struct values *r, uint64_t first, size_t n, float *out)
{
	const struct scheme *s = &r->t->scheme;
	uint64_t scale;
	struct quant_src q;

	if (values_plain(r)) {
		dtype_to_f32(s->dtype, values_plain_at(r, first), n, out);
		return;
	}
	if (scheme_foreign(s)) {
		foreign_f32(r, first, n, out);
		return;
	}
	if (!has_scale(r->t)) {
		q = (struct quant_src){ .codes = r->weight.p + scheme_code_bytes(s, first) };
		quant_decode(s, &q, n, out);
		return;
	}
	scale = scheme_scales(s, first) * (dtype_bits(r->t->scale.dtype) / 8);
	q = (struct quant_src){
		.codes = r->weight.p + scheme_code_bytes(s, first),
		.scales = r->scale.p + scale,
		.biases = r->t->has_bias ? r->bias.p + scale : NULL,
		.scale_dtype = r->t->scale.dtype,
		.global = r->global,
	};
	quant_decode(s, &q, n, out);
}

bool
values_wide(const struct values *r)
{
	enum dtype d = r->t->scheme.dtype;

	return values_plain(r) && (d == DT_F64 || d == DT_I64 || d == DT_U64 || d == DT_I32 ||
				   d == DT_U32);
}

static void
widen(enum dtype d, const uint8_t *p, size_t n, double *out)
{
#define ROW(id, type) \
	case id: \
		for (size_t i = 0; i < n; i++) { \
			type v; \
\
			memcpy(&v, p + i * sizeof(v), sizeof(v)); \
			out[i] = (double)v; \
		} \
		break;
	switch (d) {
	ROW(DT_F64, double)
	ROW(DT_I64, int64_t)
	ROW(DT_U64, uint64_t)
	ROW(DT_I32, int32_t)
	default:
	ROW(DT_U32, uint32_t)
	}
#undef ROW
}

void
values_f64(const struct values *r, uint64_t first, size_t n, double *out)
{
	float v[VALUES_STEP];

	if (values_wide(r)) {
		widen(r->t->scheme.dtype, values_plain_at(r, first), n, out);
		return;
	}
	for (size_t i = 0, k; i < n; i += k) {
		k = n - i < VALUES_STEP ? n - i : VALUES_STEP;
		values_f32(r, first + i, k, v);
		for (size_t j = 0; j < k; j++)
			out[i + j] = (double)v[j];
	}
}

void
values_any(const struct values *r, uint64_t first, size_t n, float *out)
{
	float v[8 * VALUES_STEP];

	while (n) {
		uint64_t from = first / VALUES_STEP * VALUES_STEP;
		size_t skip = (size_t)(first - from), have = sizeof(v) / sizeof(*v), k;

		if (r->t->elems - from < have)
			have = (size_t)(r->t->elems - from);
		k = have - skip < n ? have - skip : n;
		values_f32(r, from, have, v);
		memcpy(out, v + skip, k * sizeof(*v));
		out += k;
		first += k;
		n -= k;
	}
}
