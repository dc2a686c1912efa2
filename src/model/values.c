/* values.c - a logical tensor: are its parts all there, and what do they say? */
#include "config.h"

#include "src/model/values_files.h"

#include <limits.h>
#include <string.h>

#include "src/quant/foreign.h"

const struct tensor_part *
values_part_of(const struct tensor *t, enum values_part p)
{
	switch (p) {
	case PART_WEIGHT:
		return &t->weight;
	case PART_SCALE:
		return t->has_scale ? &t->scale : NULL;
	case PART_BIAS:
		return t->has_bias ? &t->bias : NULL;
	case PART_GLOBAL:
		return t->has_global ? &t->global : NULL;
	case PART_ORDER:
		return t->has_order ? &t->order : NULL;
	default:
		return NULL;
	}
}

enum dtype
values_dtype(const struct tensor *t)
{
	if (scheme_form(&t->scheme) == FORM_BLOCKS)
		return t->home;
	if (!t->has_scale)
		return t->weight.dtype;
	return t->scale.dtype == DT_U8 ? DT_BF16 : t->scale.dtype;
}

/* Which parts its numbers are in.  A column's group says nothing where columns lie as
 * they are. */
static bool
needs(const struct tensor *t, enum values_part p)
{
	enum scheme_form form = scheme_form(&t->scheme);

	return p == PART_WEIGHT || (p == PART_ORDER ? form == FORM_MATRIX
				    : form == FORM_GROUPS || form == FORM_MATRIX);
}

/* ---- are its parts all there? ---- */

/* Rows and columns of one matrix, and how many the tensor is; false: none. */
static bool
matrices(const struct tensor *t, uint64_t *rows, uint64_t *cols, uint64_t *many)
{
	*cols = t->ndim ? t->dim[t->ndim - 1] : 0;
	*rows = t->ndim > 1 ? t->dim[t->ndim - 2] : 1;
	*many = *rows && *cols ? t->elems / *rows / *cols : 0;
	return *many != 0;
}

/* What one matrix (or all of another form) needs, and how many there are. */
static bool
needed(const struct tensor *t, struct foreign_need *need, uint64_t *many)
{
	const struct scheme *s = &t->scheme;
	uint64_t rows, cols;

	if (scheme_foreign(s))
		return matrices(t, &rows, &cols, many) && foreign_need(s, rows, cols, need);
	*need = (struct foreign_need){ 0 };
	*many = 1;
	if (scheme_is_plain(s))
		return dtype_bytes(s->dtype, t->elems, &need->codes);
	if (!s->group || t->elems % s->group)
		return false;
	*need = (struct foreign_need){ scheme_code_bytes(s, t->elems), 0,
				       scheme_scales(s, t->elems) };
	return true;
}

/* What the scheme needs must be there: the decoder does not look back. */
static bool
parts_fit(const struct tensor *t)
{
	unsigned size = dtype_bits(t->scale.dtype) / 8;
	uint64_t cols = t->ndim ? t->dim[t->ndim - 1] : 0, many, scales;
	struct foreign_need need;

	if (!needed(t, &need, &many) || need.codes * many > t->weight.len)
		return false;
	if (!needs(t, PART_SCALE))
		return true;
	scales = need.scales * many * size;
	if (!t->has_scale || !size)
		return false;
	if (scheme_foreign(&t->scheme))
		return (scales <= t->scale.len || t->scale.len == size) &&
		       (!t->has_bias || need.zeros * many <= t->bias.len) &&
		       (!t->has_order || cols * many * 4 <= t->order.len);
	return scales <= t->scale.len && t->has_bias == scheme_has_bias(&t->scheme) &&
	       (!t->has_bias || (scales <= t->bias.len && t->bias.dtype == t->scale.dtype));
}

static enum tb_status
check_parts(const struct tensor *t, struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];

	if (!scheme_readable(&t->scheme))
		return tb_fail(err, TB_EUNSUP, "tensor %s: nobody decodes %s", t->name,
			       scheme_name(&t->scheme, name));
	if (!t->elems || parts_fit(t))
		return TB_OK;
	return tb_fail(err, TB_EFORMAT, "tensor %s: a part is missing, or shorter than its shape "
		       "as %s needs", t->name, scheme_name(&t->scheme, name));
}

enum tb_status
values_global(const struct tensor *t, const void *bytes, uint32_t nth, uint32_t of, float *out,
	      struct tb_err *err)
{
	unsigned size = dtype_bits(t->global.dtype) / 8;
	bool one = t->global.len == size;

	*out = 1;
	if (!t->has_global)
		return TB_OK;
	if (!dtype_floating(t->global.dtype) || !size ||
	    (!one && t->global.len != (uint64_t)size * of))
		return tb_fail(err, TB_EFORMAT, "tensor %s: its global scale is not one number",
			       t->name);
	dtype_to_f32(t->global.dtype, (const uint8_t *)bytes + (one ? 0 : (size_t)nth * size), 1,
		     out);
	if (t->global_inverse && *out == 0)
		return tb_fail(err, TB_EFORMAT, "tensor %s: its global scale is zero", t->name);
	if (t->global_inverse)
		*out = 1 / *out;
	return TB_OK;
}

enum tb_status
values_read_global(const struct model *m, const struct tensor *t, struct values_files *fs,
		   float *out, struct tb_err *err)
{
	uint8_t raw[8] = { 0 };		/* one number, whatever its dtype */
	size_t len = t->global.len < sizeof(raw) ? (size_t)t->global.len : sizeof(raw);
	enum tb_status status = fs ? values_files_read(fs, &t->global, 0, raw, len, err)
				   : values_bytes(m, &t->global, 0, len, raw, err);

	return status ? status : values_global(t, raw, 0, 1, out, err);
}

/* Matrix number i as the decoder takes it. */
static struct foreign_src
foreign_at(const struct values *v, uint64_t i)
{
	const struct tensor *t = v->t;
	unsigned size = dtype_bits(t->scale.dtype) / 8;
	struct foreign_src q = { .scale_dtype = t->scale.dtype };
	struct foreign_need need = { 0 };
	uint64_t many;

	(void)(matrices(t, &q.rows, &q.cols, &many) &&
	       foreign_need(&t->scheme, q.rows, q.cols, &need));
	q.codes = v->part[PART_WEIGHT].p + i * need.codes;
	q.scales = v->part[PART_SCALE].p + (t->scale.len == size ? 0 : i * need.scales * size);
	q.zeros = t->has_bias ? v->part[PART_BIAS].p + i * need.zeros : NULL;
	q.order = t->has_order ? v->part[PART_ORDER].p + i * q.cols * 4 : NULL;
	return q;
}

static enum tb_status
check_order(const struct values *v, struct tb_err *err)
{
	const struct tensor *t = v->t;
	uint64_t rows, cols, many, bad;

	if (!t->has_order || !needs(t, PART_ORDER) || !matrices(t, &rows, &cols, &many))
		return TB_OK;
	for (uint64_t i = 0; i < many; i++) {
		struct foreign_src q = foreign_at(v, i);

		bad = foreign_bad_order(&t->scheme, &q);
		if (bad < cols)
			return tb_fail(err, TB_EFORMAT, "tensor %s: the group of column %ju is none"
				       " of its groups (byte %ju of %s)", t->name, (uintmax_t)bad,
				       (uintmax_t)(t->order.off + (i * cols + bad) * 4),
				       v->m->files[t->order.file].path);
	}
	return TB_OK;
}

/* ---- opening ---- */

static void
values_init(struct values *v, const struct model *m, const struct tensor *t)
{
	*v = (struct values){ .m = m, .t = t, .global = 1 };
	for (enum values_part p = 0; p < PART_COUNT; p++)
		v->part[p].slot = -1;
}

static enum tb_status
map_parts(struct values *v, bool all, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (enum values_part p = 0; p < PART_COUNT && !status; p++) {
		const struct tensor_part *part = values_part_of(v->t, p);

		if (part && (all || (p != PART_GLOBAL && needs(v->t, p))))
			status = values_map(&v->part[p], v->m, part, err);
	}
	return status;
}

enum tb_status
values_open(struct values *v, const struct model *m, const struct tensor *t,
	    struct values_files *fs, struct tb_err *err)
{
	enum tb_status status = check_parts(t, err);
	char name[SCHEME_NAME_MAX];

	values_init(v, m, t);
	v->files = fs;
	if (!status && fs && scheme_foreign(&t->scheme))
		status = tb_fail(err, TB_EUNSUP, "tensor %s: %s is read as a whole", t->name,
				 scheme_name(&t->scheme, name));
	if (!status && !fs)
		status = map_parts(v, false, err);
	if (!status && t->has_global && needs(t, PART_GLOBAL))
		status = values_read_global(m, t, fs, &v->global, err);
	if (!status)
		status = check_order(v, err);
	if (status)
		values_close(v);
	return status;
}

enum tb_status
values_open_parts(struct values *v, const struct model *m, const struct tensor *t,
		  struct tb_err *err)
{
	enum tb_status status;

	values_init(v, m, t);
	status = map_parts(v, true, err);
	if (status)
		values_close(v);
	return status;
}

void
values_close(struct values *v)
{
	for (enum values_part p = 0; p < PART_COUNT; p++)
		tb_map_close(&v->part[p]);
}

enum tb_status
values_check(const struct values *v, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	unsigned last = UINT_MAX;

	for (enum values_part p = 0; p < PART_COUNT && !status; p++) {
		const struct tensor_part *part = values_part_of(v->t, p);

		if (tb_map_torn(&v->part[p]))
			return tb_fail(err, TB_EIO, "tensor %s: its file shrank while it was read",
				       v->t->name);
		if (!part || !v->part[p].len || part->file == last)
			continue;
		last = part->file;
		status = values_file_check(&v->m->files[last], err);
	}
	return status;
}

/* ---- its numbers ---- */

static void
foreign_f32(const struct values *v, uint64_t first, size_t n, float *out)
{
	uint64_t rows, cols, many;

	if (!matrices(v->t, &rows, &cols, &many))
		return;
	while (n) {
		uint64_t at = first % (rows * cols), left = rows * cols - at;
		struct foreign_src q = foreign_at(v, first / (rows * cols));
		size_t part = left < n ? (size_t)left : n;

		foreign_decode(&v->t->scheme, &q, at, part, out);
		first += part;
		out += part;
		n -= part;
	}
}

/* The parts of one in groups, blocks, or plain. */
static struct quant_src
source(const struct values *v, const void *codes, const void *scales, const void *biases)
{
	const struct tensor *t = v->t;

	return (struct quant_src){ codes, scales, t->has_bias ? biases : NULL,
				   t->has_scale ? t->scale.dtype : DT_F32, v->global };
}

void
values_f32(const struct values *v, uint64_t first, size_t n, float *out)
{
	const struct scheme *s = &v->t->scheme;
	struct quant_src q;

	if (scheme_foreign(s)) {
		foreign_f32(v, first, n, out);
		return;
	}
	q = source(v, v->part[PART_WEIGHT].p, v->part[PART_SCALE].p, v->part[PART_BIAS].p);
	q = quant_src_at(s, &q, first);
	quant_decode(s, &q, n, out);
}

enum tb_status
values_read(const struct values *v, uint64_t first, size_t n, const struct quant_parts *room,
	    struct tb_err *err)
{
	const struct tensor *t = v->t;
	const struct scheme *s = &t->scheme;
	unsigned size = t->has_scale ? dtype_bits(t->scale.dtype) / 8 : 0;
	uint64_t at = scheme_scales(s, first) * size, len = scheme_scales(s, n) * size;
	enum tb_status status = values_files_read(v->files, &t->weight, scheme_code_bytes(s, first),
						  room->codes, scheme_code_bytes(s, n), err);

	if (!status && len)
		status = values_files_read(v->files, &t->scale, at, room->scales, len, err);
	if (!status && len && t->has_bias)
		status = values_files_read(v->files, &t->bias, at, room->biases, len, err);
	return status;
}

void
values_decode(const struct values *v, const struct quant_parts *room, size_t n, float *out)
{
	struct quant_src q = source(v, room->codes, room->scales, room->biases);

	quant_decode(&v->t->scheme, &q, n, out);
}

const void *
values_plain_at(const struct values *v, uint64_t first)
{
	return v->part[PART_WEIGHT].p + scheme_code_bytes(&v->t->scheme, first);
}

bool
values_wide(const struct values *v)
{
	enum dtype d = v->t->scheme.dtype;

	return scheme_is_plain(&v->t->scheme) &&
	       (d == DT_F64 || d == DT_I64 || d == DT_U64 || d == DT_I32 || d == DT_U32);
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
values_f64(const struct values *v, uint64_t first, size_t n, double *out)
{
	float some[VALUES_STEP];

	if (values_wide(v)) {
		widen(v->t->scheme.dtype, values_plain_at(v, first), n, out);
		return;
	}
	for (size_t i = 0, k; i < n; i += k) {
		k = n - i < VALUES_STEP ? n - i : VALUES_STEP;
		values_f32(v, first + i, k, some);
		for (size_t j = 0; j < k; j++)
			out[i + j] = (double)some[j];
	}
}

/* Through a window that begins and ends where the decoder can. */
void
values_any(const struct values *v, uint64_t first, size_t n, float *out)
{
	float some[8 * VALUES_STEP];

	while (n) {
		uint64_t from = first / VALUES_STEP * VALUES_STEP;
		size_t skip = (size_t)(first - from), have = sizeof(some) / sizeof(*some), k;

		if (v->t->elems - from < have)
			have = (size_t)(v->t->elems - from);
		k = have - skip < n ? have - skip : n;
		values_f32(v, from, have, some);
		memcpy(out, some + skip, k * sizeof(*some));
		out += k;
		first += k;
		n -= k;
	}
}
