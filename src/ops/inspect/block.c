#include "config.h"

#include "src/ops/inspect/inspect.h"

#include "src/model/values.h"
#include "src/quant/bits.h"
#include "src/quant/ggml_fields.h"

#define PLAIN_BYTES 16u

/* Elements of a block. */
static unsigned
block_elems(const struct tensor *t)
{
	const struct scheme *s = &t->scheme;

	if (scheme_foreign(s))
		return 0;
	if (scheme_is_plain(s))
		return s->bits ? PLAIN_BYTES * 8 / s->bits : 0;
	return s->group <= BLOCK_VALUES ? s->group : 0;
}

uint64_t
block_count(const struct tensor *t)
{
	unsigned each = block_elems(t);

	return each ? (t->elems + each - 1) / each : 0;
}

uint64_t
block_at(const struct tensor *t, enum values_part p, uint64_t off)
{
	unsigned each = block_elems(t), size;
	uint64_t index = INSPECT_NONE;

	if (!each)
		return INSPECT_NONE;
	if (p == PART_WEIGHT) {
		index = off / scheme_code_bytes(&t->scheme, each);
	} else if (p == PART_SCALE || p == PART_BIAS) {
		size = dtype_bits(t->scale.dtype) / 8;
		index = size ? off / size : INSPECT_NONE;
	}
	return index < block_count(t) ? index : INSPECT_NONE;
}

static struct block_field *
add_field(struct block *b, const char *name, bool whole)
{
	struct block_field *f = &b->field[b->nfields++];

	*f = (struct block_field){ .name = name, .whole = whole };
	return f;
}

static void
ggml_fields(const struct tensor *t, const uint8_t *bytes, struct block *b)
{
	const struct ggml_field *f;

	for (unsigned i = 0; i < BLOCK_FIELDS && (f = ggml_field(t->scheme.ggml, i)); i++) {
		struct block_field *to = add_field(b, f->name, ggml_field_whole(f));

		to->n = ggml_field_read(f, bytes, to->v);
	}
}

static void
add_number(struct block *b, const char *name, float v)
{
	struct block_field *f = add_field(b, name, false);

	f->v[f->n++] = (double)v;
}

/* The number of the block in a part of its own. */
static float
number_of(const struct values *v, enum values_part p, uint64_t index)
{
	enum dtype d = v->t->scale.dtype;
	float out;

	if (d == DT_U8)
		d = scheme_scale_float(&v->t->scheme);
	dtype_to_f32(d, v->part[p].p + index * (dtype_bits(d) / 8), 1, &out);
	return out;
}

static void
group_fields(const struct values *v, const uint8_t *bytes, struct block *b)
{
	struct block_field *f;
	uint8_t code[BLOCK_VALUES];

	add_number(b, "scale", number_of(v, PART_SCALE, b->index));
	if (v->t->has_bias)
		add_number(b, "bias", number_of(v, PART_BIAS, b->index));
	if (v->t->has_global)
		add_number(b, "global", v->global);
	f = add_field(b, "codes", true);
	bits_unpack(bytes, b->n, v->t->scheme.bits, code);
	for (f->n = 0; f->n < b->n; f->n++)
		f->v[f->n] = code[f->n];
}

enum tb_status
block_read(const struct model *m, const struct tensor *t, uint64_t index, struct block *out,
	   struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];
	uint64_t n = block_count(t);
	unsigned each = block_elems(t);
	struct values v;
	enum tb_status status;

	*out = (struct block){ .index = index };
	if (!each)
		return tb_fail(err, TB_EUNSUP, "tensor %s: %s has no blocks that could be shown",
			       t->name, scheme_name(&t->scheme, name));
	if (index >= n)
		return tb_fail(err, TB_EUSAGE, "tensor %s: block %ju of %ju", t->name,
			       (uintmax_t)index, (uintmax_t)n);
	out->first = index * each;
	out->n = t->elems - out->first < each ? (unsigned)(t->elems - out->first) : each;
	out->off = scheme_code_bytes(&t->scheme, out->first);
	out->len = scheme_code_bytes(&t->scheme, out->n);
	status = values_open(&v, m, t, NULL, err);
	if (status)
		return status;
	values_any(&v, out->first, out->n, out->value);
	if (scheme_form(&t->scheme) == FORM_BLOCKS)
		ggml_fields(t, v.part[PART_WEIGHT].p + out->off, out);
	else if (!scheme_is_plain(&t->scheme))
		group_fields(&v, v.part[PART_WEIGHT].p + out->off, out);
	status = values_check(&v, err);
	values_close(&v);
	return status;
}
